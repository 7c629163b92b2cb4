//! Files that are read without a source: for checks, conversions and indexes.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use tesson_core::{Error, Fetch, ResourceId};

use crate::fetch::Resources;
use crate::source::Canceller;
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
        let paths = paths.iter().map(|path| Arc::from(path.as_ref()));
        Ok(OpenFiles(Resources::open(paths, store, Arc::default(), canceller.0.clone(), largest)?))
    }

    /// When a file was last changed, in nanoseconds since 1970, where that is known.
    pub fn modified_ns(&self, resource: ResourceId) -> Option<u128> {
        self.0.files()[resource.0 as usize].1.modified_ns()
    }
}

impl Fetch for OpenFiles {
    fn size(&self, resource: ResourceId) -> u64 {
        self.0.size(resource)
    }

    fn largest(&self) -> u64 {
        self.0.largest()
    }

    fn read(&self, resource: ResourceId, range: Range<u64>, into: &mut Vec<u8>) -> Result<(), Error> {
        self.0.read(resource, range, into)
    }

    fn read_over(&self, resource: ResourceId, range: Range<u64>, into: &mut Vec<u8>) -> Result<(), Error> {
        self.0.read_over(resource, range, into)
    }

    fn mapped(&self, resource: ResourceId, range: Range<u64>) -> Option<&[u8]> {
        self.0.mapped(resource, range)
    }

    fn will_need(&self, resource: ResourceId, range: Range<u64>) {
        self.0.will_need(resource, range);
    }

    fn cancelled(&self) -> bool {
        self.0.cancelled()
    }
}
