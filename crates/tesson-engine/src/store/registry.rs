//! The registry of stores: which one reads a name.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tesson_core::Listing;

use super::members::MemberStore;
use super::{Entry, FileStore, FolderName, MmapStore, Resource, Store, file, members, mmap};

/// Stores, chosen by the scheme of a URL: `mmap:///data/train.ctf` is read by the store of `mmap`. Names without a scheme, and
/// those of a scheme that no store has, belong to one store, which says what it does not read. A store is given whole URLs.
///
/// ```
/// use std::path::Path;
/// use std::sync::Arc;
///
/// use tesson_engine::store::{MemoryStore, Store, Stores, read_whole};
///
/// let memory = MemoryStore::new().with("memory://train.ctf", *b"|x 1\n");
/// let stores = Stores::local().with("memory", Arc::new(memory));
/// assert_eq!(read_whole(&stores, Path::new("memory://train.ctf"))?, b"|x 1\n");
/// # Ok::<(), tesson_core::StoreError>(())
/// ```
#[derive(Clone)]
pub struct Stores {
    default: Arc<dyn Store>,
    by_scheme: BTreeMap<String, Arc<dyn Store>>,
}

impl Stores {
    /// Local files: read where no scheme says anything else, mapped by `mmap://`, and as members of archives by
    /// `zip://ARCHIVE@/MEMBER`.
    pub fn local() -> Stores {
        Stores::new(Arc::new(FileStore))
    }

    /// A registry whose names without a scheme belong to this store.
    pub fn new(default: Arc<dyn Store>) -> Stores {
        let members = MemberStore::new(Arc::clone(&default));
        Stores { default, by_scheme: BTreeMap::new() }
            .with(file::SCHEME, Arc::new(FileStore))
            .with(mmap::SCHEME, Arc::new(MmapStore))
            .with(members::SCHEME, Arc::new(members))
    }

    /// Adds a store for a scheme, in place of one that it has.
    #[must_use]
    pub fn with(mut self, scheme: &str, store: Arc<dyn Store>) -> Stores {
        self.by_scheme.insert(scheme.to_owned(), store);
        self
    }

    /// The store that reads a name.
    fn of(&self, path: &Path) -> &dyn Store {
        let scheme = path.to_str().and_then(|name| name.split_once("://")).map(|(scheme, _)| scheme);
        &**scheme.and_then(|scheme| self.by_scheme.get(scheme)).unwrap_or(&self.default)
    }
}

impl Default for Stores {
    fn default() -> Stores {
        Stores::local()
    }
}

impl Store for Stores {
    fn open(&self, path: &Path) -> io::Result<Box<dyn Resource>> {
        self.of(path).open(path)
    }

    fn with_open(&self, path: &Path, act: &mut dyn FnMut(&dyn Resource)) -> io::Result<()> {
        self.of(path).with_open(path, act)
    }

    fn stream(&self, path: &Path) -> io::Result<Box<dyn Read + Send>> {
        self.of(path).stream(path)
    }

    fn entry(&self, path: &Path) -> io::Result<Entry> {
        self.of(path).entry(path)
    }

    fn names(&self, folder: &Path) -> io::Result<Vec<FolderName>> {
        self.of(folder).names(folder)
    }

    fn list(&self, folder: &Path) -> io::Result<Listing> {
        self.of(folder).list(folder)
    }

    fn local_path(&self, path: &Path) -> Option<PathBuf> {
        self.of(path).local_path(path)
    }

    fn shared(&self) -> Arc<dyn Store> {
        Arc::new(self.clone())
    }

    fn remedy(&self, path: &Path, error: &io::Error) -> Option<String> {
        self.of(path).remedy(path, error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{MemoryStore, read_whole};

    #[test]
    fn a_scheme_chooses_the_store_and_a_name_without_one_is_the_default_stores() {
        let elsewhere = MemoryStore::new().with("far://a", *b"far");
        let stores =
            Stores::new(Arc::new(MemoryStore::new().with("a", *b"near"))).with("far", Arc::new(elsewhere));
        let read = |name: &str| read_whole(&stores, Path::new(name)).map_err(|e| e.to_string());
        assert_eq!(read("a").unwrap(), b"near");
        assert_eq!(read("far://a").unwrap(), b"far");
        assert!(read("far://b").unwrap_err().contains("no resource of this name in memory"));
        assert!(read("unknown://a").unwrap_err().contains("no resource of this name in memory"));
    }

    #[test]
    fn local_files_are_read_by_name_by_url_and_mapped() {
        let file = std::env::temp_dir().join(format!("tesson-schemes-{}", std::process::id()));
        std::fs::write(&file, "bytes").unwrap();
        let stores = Stores::local();
        for scheme in ["", "file://", "mmap://"] {
            let name = PathBuf::from(format!("{scheme}{}", file.display()));
            assert_eq!(read_whole(&stores, &name).unwrap(), b"bytes");
            assert_eq!(stores.open(&name).unwrap().mapped().is_some(), scheme == "mmap://");
            assert_eq!(stores.local_path(&name).unwrap(), file);
            assert!(stores.entry(&name).unwrap().is_file());
            assert!(stores.names(name.parent().unwrap()).unwrap().iter().any(|n| file.ends_with(&n.name)));
        }
        std::fs::remove_file(file).unwrap();
    }
}
