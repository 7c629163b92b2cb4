//! An archive as the engine sees it.

use std::path::PathBuf;
use std::sync::Arc;

use tesson_core::{
    Defects, DeserializerFacts, Error, Fetch, Indexed, Parallelism, StreamInfo, StreamMismatch,
    StreamingDecoder,
};

use super::options::TarOptions;
use super::{gzip, index};
use crate::files::DataFile;

/// One archive.
pub(super) struct TarArchive {
    file: PathBuf,
    options: Arc<TarOptions>,
    streams: Vec<StreamInfo>,
    identity: String,
}

impl TarArchive {
    /// An archive with the streams and the identity that all have.
    pub(super) fn new(file: PathBuf, options: Arc<TarOptions>, facts: &DeserializerFacts) -> TarArchive {
        TarArchive { file, options, streams: facts.streams.clone(), identity: facts.identity.clone() }
    }
}

impl DataFile for TarArchive {
    fn streams(&self) -> &[StreamInfo] {
        &self.streams
    }

    fn identity(&self) -> String {
        self.identity.clone()
    }

    fn prepare(&mut self, _: &dyn Fetch) -> Result<(), Error> {
        Ok(())
    }

    fn index(
        &self,
        fetch: &dyn Fetch,
        _: &dyn Parallelism,
        defects: &mut Defects<'_>,
    ) -> Result<Indexed, Error> {
        let mut index = |fetch: &dyn Fetch| index::read(&self.file, &self.options, fetch, defects);
        if gzip::is_compressed(fetch)? { gzip::indexed(&self.file, fetch, index) } else { index(fetch) }
    }

    fn restore(&self, _: &[u8]) -> Option<Indexed> {
        None
    }

    fn mismatches(&self, _: &dyn Fetch) -> Result<Vec<StreamMismatch>, Error> {
        Ok(Vec::new())
    }

    fn streaming(&self) -> Option<&dyn StreamingDecoder> {
        None
    }
}
