//! Loading of a user's chunks.

use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tesson_core::{
    Chunk, ChunkAccess, ChunkId, Corpus, CorpusFacts, DataErrorKind, Error, Fetch, Index, Keys, ResourceId,
    Scattered, Scratch, SequenceId, SequenceSelection, number_of,
};

use super::chunk::select;
use super::deserializer::Calls;

/// A user's chunks, indexed.
pub(super) struct UserCorpus {
    calls: Arc<Calls>,
    index: Arc<Index>,
    /// The keys of each chunk's sequences.
    keys: Vec<Keys>,
    kept: Kept,
    facts: CorpusFacts,
}

impl UserCorpus {
    pub(super) fn new(calls: Arc<Calls>, index: Arc<Index>, keys: Vec<Keys>, kept: Kept) -> UserCorpus {
        let memory = keys.iter().map(|k| size_of::<Keys>() + k.bytes()).sum::<usize>() + kept.limit;
        let facts = CorpusFacts::new(memory).with_access(ChunkAccess::WholeOnly);
        UserCorpus { calls, index, keys, kept, facts }
    }

    /// A chunk that is not kept, read anew and compared with the index.
    fn read(&self, number: u32, fetch: &dyn Fetch) -> Result<Chunk, Error> {
        if fetch.cancelled() {
            return Err(Error::Cancelled);
        }
        let mut chunk = self.calls.read(number)?;
        let indexed = self.index.lengths(ChunkId(number));
        if indexed.len() != chunk.lengths.len() {
            let what = format!(
                "{}, {} when it was indexed",
                number_of(chunk.lengths.len(), "sequence"),
                indexed.len()
            );
            return Err(self.calls.error(number, DataErrorKind::Changed { what }));
        }
        if let Some(i) = (0..indexed.len()).find(|&i| indexed.get(i) != chunk.lengths[i]) {
            let what = format!(
                "sequence {i} has {}, {} when it was indexed",
                number_of(chunk.lengths[i], "sample"),
                indexed.get(i)
            );
            return Err(self.calls.error(number, DataErrorKind::Changed { what }));
        }
        chunk.keys = self.keys[number as usize].clone();
        Ok(chunk)
    }

    /// A chunk of which only a part is wanted: cached, or read and cached for calls that want another part.
    fn share(&self, number: u32, fetch: &dyn Fetch) -> Result<Arc<Chunk>, Error> {
        if let Some(chunk) = self.kept.get(number) {
            return Ok(chunk);
        }
        self.calls.in_turn(|| match self.kept.get(number) {
            // Another thread has read it in the meantime.
            Some(chunk) => Ok(chunk),
            None => {
                let chunk = Arc::new(self.read(number, fetch)?);
                self.kept.put(number, &chunk);
                Ok(chunk)
            }
        })
    }
}

impl Corpus for UserCorpus {
    fn facts(&self) -> &CorpusFacts {
        &self.facts
    }

    fn load(
        &self,
        chunk: ChunkId,
        wanted: SequenceSelection<'_>,
        fetch: &dyn Fetch,
        _scratch: &mut Scratch,
        out: &mut Chunk,
    ) -> Result<(), Error> {
        let number = chunk.0;
        match wanted {
            SequenceSelection::Range(range) if range.len() == self.index.lengths(chunk).len() => {
                *out = match self.kept.take(number) {
                    Some(kept) => Arc::unwrap_or_clone(kept),
                    None => self.calls.in_turn(|| self.read(number, fetch))?,
                };
            }
            SequenceSelection::Range(range) => select(&*self.share(number, fetch)?, range, out),
            SequenceSelection::List(rows) => select(&*self.share(number, fetch)?, rows.iter().copied(), out),
        }
        Ok(())
    }

    fn keys(
        &self,
        chunk: ChunkId,
        _n_sequences: u32,
        _fetch: &dyn Fetch,
        _scratch: &mut Scratch,
    ) -> Result<Option<Keys>, Error> {
        Ok(Some(self.keys[chunk.index()].clone()))
    }

    fn scattered(&self) -> Option<&dyn Scattered> {
        None
    }

    fn span(&self, _: SequenceId) -> (ResourceId, Range<u64>) {
        (ResourceId::NONE, 0..0)
    }

    fn save(&self, _index: &Index, _into: &mut Vec<u8>) {}
}

/// The chunks used last, up to a number of bytes.
pub(super) struct Kept {
    limit: usize,
    /// The one used last is the last.
    chunks: Mutex<Vec<(u32, Arc<Chunk>)>>,
}

impl Kept {
    /// Keeps this many bytes at most.
    pub(super) fn new(limit: u64) -> Kept {
        Kept { limit: usize::try_from(limit).unwrap_or(usize::MAX), chunks: Mutex::new(Vec::new()) }
    }

    fn chunks(&self) -> MutexGuard<'_, Vec<(u32, Arc<Chunk>)>> {
        self.chunks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn get(&self, number: u32) -> Option<Arc<Chunk>> {
        let mut chunks = self.chunks();
        let at = chunks.iter().position(|(n, _)| *n == number)?;
        chunks[at..].rotate_left(1);
        chunks.last().map(|(_, chunk)| chunk.clone())
    }

    /// Takes a chunk out of the cache.
    fn take(&self, number: u32) -> Option<Arc<Chunk>> {
        let mut chunks = self.chunks();
        let at = chunks.iter().position(|(n, _)| *n == number)?;
        Some(chunks.remove(at).1)
    }

    fn put(&self, number: u32, chunk: &Arc<Chunk>) {
        let mut chunks = self.chunks();
        let mut room = self.limit;
        chunks.retain(|(n, _)| *n != number);
        chunks.push((number, chunk.clone()));
        // From the one used last on, as many as there is room for.
        let keep =
            chunks.iter().rev().take_while(|(_, c)| room.checked_sub(c.bytes()).map(|r| room = r).is_some());
        let keep = keep.count();
        let drop = chunks.len() - keep;
        chunks.drain(..drop);
    }
}
