//! Files that are read without a source: for checks, conversions and indexes.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use tesson_core::{Error, Fetch, ReadContext, ResourceId};

use crate::executor::Canceller;
use crate::fetch::Resources;
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
        Ok(OpenFiles(Resources::open(paths, store, Arc::default(), canceller.clone(), largest)?))
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

impl Fetch for OpenFiles {
    fn size(&self, resource: ResourceId) -> Result<u64, Error> {
        Fetch::size(&self.0, resource)
    }

    fn read_after(
        &self,
        resource: ResourceId,
        range: Range<u64>,
        keep: usize,
        into: &mut Vec<u8>,
    ) -> Result<(), Error> {
        self.0.read_after(resource, range, keep, into)
    }

    fn mapped(&self, resource: ResourceId, range: Range<u64>) -> Option<&[u8]> {
        self.0.mapped(resource, range)
    }

    fn will_need(&self, resource: ResourceId, range: Range<u64>) {
        self.0.will_need(resource, range);
    }

    fn context(&self) -> &dyn ReadContext {
        self.0.context()
    }
}
