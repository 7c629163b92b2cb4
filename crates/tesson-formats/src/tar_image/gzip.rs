//! Archives that are compressed as a whole by gzip: indexed and loaded through what they unpack to.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tesson_core::{
    Chunk, ChunkId, Corpus, CorpusFacts, DataError, Error, Fetch, Index, Indexed, Keys, Location, ResourceId,
    Scattered, Scratch, SequenceId, SequenceSelection,
};

use super::fault::TarImageFault;
use crate::codecs::{Gunzip, UnpackError};
use crate::images::embedded::FILE;

/// True if a file begins as gzip does.
pub(super) fn is_compressed(fetch: &dyn Fetch) -> Result<bool, Error> {
    let mut begin = Vec::new();
    fetch.read(FILE, 0..fetch.size(FILE)?.min(2), &mut begin)?;
    Ok(begin == [0x1F, 0x8B])
}

/// Indexes what an archive unpacks to, as `index` does.
pub(super) fn indexed(
    file: &Path,
    fetch: &dyn Fetch,
    index: impl FnOnce(&dyn Fetch) -> Result<Indexed, Error>,
) -> Result<Indexed, Error> {
    let gunzip = Gunzip::new(FILE, fetch).map_err(|error| match error {
        UnpackError::Error(error) => error,
        UnpackError::Damaged(offset, why) => {
            let at = Location { file: file.into(), offset, line: None };
            DataError::new(TarImageFault::BadGzip { why }, at).into()
        }
    })?;
    let Indexed { index, corpus } = index(&gunzip.unpacked(file, fetch))?;
    let mut facts = corpus.facts().clone();
    facts.memory += gunzip.memory();
    let file = file.to_owned();
    Ok(Indexed { index, corpus: Arc::new(GunzippedCorpus { file, gunzip, corpus, facts }) })
}

/// A corpus of what a file unpacks to. Locations are in that.
struct GunzippedCorpus {
    file: PathBuf,
    gunzip: Gunzip,
    corpus: Arc<dyn Corpus>,
    facts: CorpusFacts,
}

impl Corpus for GunzippedCorpus {
    fn facts(&self) -> &CorpusFacts {
        &self.facts
    }

    fn load(
        &self,
        chunk: ChunkId,
        wanted: SequenceSelection<'_>,
        fetch: &dyn Fetch,
        scratch: &mut Scratch,
        out: &mut Chunk,
    ) -> Result<(), Error> {
        self.corpus.load(chunk, wanted, &self.gunzip.unpacked(&self.file, fetch), scratch, out)
    }

    fn keys(
        &self,
        chunk: ChunkId,
        n_sequences: u32,
        fetch: &dyn Fetch,
        scratch: &mut Scratch,
    ) -> Result<Option<Keys>, Error> {
        self.corpus.keys(chunk, n_sequences, &self.gunzip.unpacked(&self.file, fetch), scratch)
    }

    fn scattered(&self) -> Option<&dyn Scattered> {
        None
    }

    fn span(&self, at: SequenceId) -> (ResourceId, Range<u64>) {
        self.corpus.span(at)
    }

    fn save(&self, index: &Index, into: &mut Vec<u8>) {
        self.corpus.save(index, into);
    }
}
