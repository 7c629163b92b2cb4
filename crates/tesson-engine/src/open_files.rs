//! Files that are read without a source: for checks, conversions and indexes.

use std::path::Path;
use std::sync::Arc;

use tesson_core::{Error, Fetch, ResourceId};

use crate::executor::Canceller;
use crate::fetch::Resources;
use crate::source::StatsReader;
use crate::store::Store;

/// Open files, read as a source reads its own: short reads are put together, passing failures tried again.
pub struct OpenFiles(Resources);

impl OpenFiles {
    /// Opens files by name; the first is resource 0. At most `largest` bytes are brought together in one buffer.
    ///
    /// # Errors
    /// The first file that cannot be opened.
    pub fn open<P: AsRef<Path>>(
        paths: &[P],
        store: &dyn Store,
        largest: u64,
        canceller: &Canceller,
    ) -> Result<OpenFiles, Error> {
        let paths = paths.iter().map(|path| (Arc::from(path.as_ref()), false));
        Ok(OpenFiles(Resources::open(paths, store, Arc::default(), canceller.clone(), largest)?))
    }

    /// Something that reads the counters of their bytes while another thread reads them.
    pub fn stats_reader(&self) -> StatsReader {
        StatsReader::new(Arc::clone(&self.0.counters))
    }

    /// Their bytes.
    pub fn fetch(&self) -> &dyn Fetch {
        &self.0
    }

    /// The size of a file when it was opened, in bytes.
    pub fn size(&self, resource: ResourceId) -> u64 {
        self.0.files()[resource.0 as usize].1.size()
    }

    /// When a file was last changed, in nanoseconds since 1970, where that is known.
    pub fn modified_ns(&self, resource: ResourceId) -> Option<u128> {
        self.0.files()[resource.0 as usize].1.modified_ns()
    }
}
