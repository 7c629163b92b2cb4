//! Local files as one mapping for the life of the source.

use std::io;
use std::path::Path;
use std::sync::Arc;

use tesson_core::Listing;
use tesson_memory::mapped_file::MappedFile;

use super::file::{modified_ns, open_regular};
use super::{Resource, Store};

/// The local file system through memory mappings, for files that are promised not to change while they are read: a
/// file that is cut short while it is mapped ends the process.
#[derive(Clone, Copy, Debug, Default)]
pub struct MmapStore;

impl Store for MmapStore {
    fn open(&self, path: &Path) -> io::Result<Box<dyn Resource>> {
        let (file, meta) = open_regular(path)?;
        Ok(Box::new(Mapped { map: MappedFile::map(&file)?, modified_ns: modified_ns(&meta) }))
    }

    fn list(&self, folder: &Path) -> io::Result<Listing> {
        super::folder::list(folder)
    }

    fn shared(&self) -> Arc<dyn Store> {
        Arc::new(*self)
    }

    fn remedy(&self, path: &Path, error: &io::Error) -> Option<String> {
        super::remedy::of(path, error)
    }
}

struct Mapped {
    map: MappedFile,
    modified_ns: Option<u128>,
}

impl Resource for Mapped {
    fn size(&self) -> u64 {
        self.map.len() as u64
    }

    fn modified_ns(&self) -> Option<u128> {
        self.modified_ns
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        Ok(super::memory::copy_at(&self.map, offset, into))
    }

    fn mapped(&self) -> Option<&[u8]> {
        Some(&self.map)
    }
}
