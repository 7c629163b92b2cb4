//! Local files as one mapping for the life of the source.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tesson_core::Listing;
use tesson_memory::mapped_file::MappedFile;

use super::file::{FileStore, modified_ns, open_regular, without_scheme};
use super::{Entry, FolderName, Resource, Store};

/// The local file system through memory mappings, for files that are promised not to change while they are read: a
/// file that is cut short while it is mapped ends the process.
#[derive(Clone, Copy, Debug, Default)]
pub struct MmapStore;

impl Store for MmapStore {
    fn open(&self, path: &Path) -> io::Result<Box<dyn Resource>> {
        let (file, meta) = open_regular(local(path))?;
        Ok(Box::new(Mapped { map: MappedFile::map(&file)?, modified_ns: modified_ns(&meta) }))
    }

    fn stream(&self, path: &Path) -> io::Result<Box<dyn Read + Send>> {
        FileStore.stream(local(path))
    }

    fn entry(&self, path: &Path) -> io::Result<Entry> {
        FileStore.entry(local(path))
    }

    fn names(&self, folder: &Path) -> io::Result<Vec<FolderName>> {
        FileStore.names(local(folder))
    }

    fn list(&self, folder: &Path) -> io::Result<Listing> {
        FileStore.list(local(folder))
    }

    fn local_path(&self, path: &Path) -> Option<PathBuf> {
        FileStore.local_path(local(path))
    }

    fn shared(&self) -> Arc<dyn Store> {
        Arc::new(*self)
    }

    fn remedy(&self, path: &Path, error: &io::Error) -> Option<String> {
        FileStore.remedy(local(path), error)
    }
}

/// The scheme of URLs that stand for mapped files.
pub(super) const SCHEME: &str = "mmap";

/// The local name of a file, given by that or by a URL.
pub(crate) fn local(path: &Path) -> &Path {
    without_scheme(without_scheme(path, SCHEME), super::file::SCHEME)
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

    fn is_local(&self) -> bool {
        true
    }

    fn mapped(&self) -> Option<&[u8]> {
        Some(&self.map)
    }
}
