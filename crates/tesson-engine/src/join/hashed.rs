//! Text keys as 64-bit hashes (`hashSequenceKeys`).

use std::ops::Range;
use std::sync::Arc;

use tesson_core::{
    Chunk, ChunkId, Corpus, CorpusFacts, Error, Fetch, Index, Keys, ResourceId, Scattered, Scratch,
    SequenceId, SequenceSelection,
};

/// A corpus whose text keys are numbers: their djb2 hashes (spec/engine.md §3.1). Different texts of the same hash are
/// one key.
pub(super) struct Hashed(pub(super) Arc<dyn Corpus>);

/// The hash of a text: from 5381 on, times 33, exclusive or the byte.
fn hash(text: &[u8]) -> u64 {
    text.iter().fold(5381, |h: u64, &byte| h.wrapping_mul(33) ^ u64::from(byte))
}

fn hashed(keys: &Keys) -> Option<Keys> {
    let ends = match keys {
        Keys::Texts { ends, .. } => ends,
        Keys::Runs { keys, ends } => {
            return Some(Keys::Runs { keys: Box::new(hashed(keys)?), ends: ends.clone() });
        }
        _ => return None,
    };
    Some(Keys::Numbers((0..ends.len()).filter_map(|i| keys.text(i)).map(hash).collect()))
}

fn hash_keys(chunk: &mut Chunk) {
    if let Some(keys) = hashed(&chunk.keys) {
        chunk.keys = keys;
    }
}

impl Corpus for Hashed {
    fn facts(&self) -> &CorpusFacts {
        self.0.facts()
    }

    fn load(
        &self,
        chunk: ChunkId,
        wanted: SequenceSelection<'_>,
        fetch: &dyn Fetch,
        scratch: &mut Scratch,
        out: &mut Chunk,
    ) -> Result<(), Error> {
        self.0.load(chunk, wanted, fetch, scratch, out)?;
        hash_keys(out);
        Ok(())
    }

    fn scattered(&self) -> Option<&dyn Scattered> {
        self.0.scattered().is_some().then_some(self)
    }

    fn keys(
        &self,
        chunk: ChunkId,
        n_sequences: u32,
        fetch: &dyn Fetch,
        scratch: &mut Scratch,
    ) -> Result<Option<Keys>, Error> {
        let keys = self.0.keys(chunk, n_sequences, fetch, scratch)?;
        Ok(keys.map(|keys| hashed(&keys).unwrap_or(keys)))
    }

    fn span(&self, at: SequenceId) -> (ResourceId, Range<u64>) {
        self.0.span(at)
    }

    fn locate(&self, at: SequenceId, fetch: &dyn Fetch) -> Result<(ResourceId, Range<u64>), Error> {
        self.0.locate(at, fetch)
    }

    fn save(&self, index: &Index, into: &mut Vec<u8>) {
        self.0.save(index, into);
    }
}

impl Scattered for Hashed {
    fn load_scattered(
        &self,
        sequences: &[SequenceId],
        fetch: &dyn Fetch,
        scratch: &mut Scratch,
        out: &mut Chunk,
    ) -> Result<(), Error> {
        let inner = self.0.scattered().expect("it is asked only if there is a way");
        inner.load_scattered(sequences, fetch, scratch, out)?;
        hash_keys(out);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_djb2_over_the_bytes() {
        assert_eq!(hash(b""), 5381);
        assert_eq!(hash(b"a"), (5381 * 33) ^ 97);
        assert_eq!(hash(b"ab"), (((5381 * 33) ^ 97) * 33) ^ 98);
        // Signs are no matter: a byte beyond 127 is the number it is.
        assert_eq!(hash(&[200]), (5381 * 33) ^ 200);
    }
}
