//! Resources that lie in memory.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tesson_core::{Listing, nearest};

use super::{Resource, Store};

/// Named byte strings, such as `memory://train.ctf`.
#[derive(Clone, Debug, Default)]
pub struct MemoryStore(BTreeMap<PathBuf, Arc<[u8]>>);

impl MemoryStore {
    /// A store without resources.
    pub fn new() -> MemoryStore {
        MemoryStore::default()
    }

    /// The paths of what is in a folder, relative to it.
    fn below<'a>(&'a self, folder: &'a Path) -> impl Iterator<Item = &'a Path> {
        let inside =
            move |path: &'a PathBuf| path.strip_prefix(folder).ok().filter(|rest| *rest != Path::new(""));
        self.0.keys().filter_map(inside)
    }

    /// Adds one more resource.
    #[must_use]
    pub fn with(mut self, path: impl Into<PathBuf>, bytes: impl Into<Arc<[u8]>>) -> MemoryStore {
        self.0.insert(path.into(), bytes.into());
        self
    }
}

impl Store for MemoryStore {
    fn open(&self, path: &Path) -> io::Result<Box<dyn Resource>> {
        match self.0.get(path) {
            Some(bytes) => Ok(Box::new(Bytes(bytes.clone()))),
            None if self.below(path).next().is_some() => {
                Err(io::Error::new(io::ErrorKind::IsADirectory, "is a folder in memory"))
            }
            None => Err(io::Error::new(io::ErrorKind::NotFound, "no resource of this name in memory")),
        }
    }

    fn list(&self, folder: &Path) -> io::Result<Listing> {
        let mut listing = Listing::default();
        let mut listed: Vec<&Path> = Vec::new();
        // Paths are ordered by their parts, and so are those in a listing.
        for path in self.below(folder) {
            let parents: Vec<&Path> = path.ancestors().skip(1).take_while(|p| *p != Path::new("")).collect();
            listed.retain(|known| parents.contains(known));
            for parent in parents.into_iter().rev() {
                if !listed.contains(&parent) {
                    listing.push(&format!("{}/", super::folder::name(parent)?));
                    listed.push(parent);
                }
            }
            listing.push(&super::folder::name(path)?);
        }
        Ok(listing)
    }

    fn shared(&self) -> Arc<dyn Store> {
        Arc::new(self.clone())
    }

    fn remedy(&self, path: &Path, _error: &io::Error) -> Option<String> {
        let near = nearest(path.to_str()?, self.0.keys().filter_map(|known| known.to_str()))?;
        Some(format!("did you mean `{near}`?"))
    }
}

/// Bytes as a resource.
struct Bytes(Arc<[u8]>);

impl Resource for Bytes {
    fn size(&self) -> u64 {
        self.0.len() as u64
    }

    fn modified_ns(&self) -> Option<u128> {
        None
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        Ok(copy_at(&self.0, offset, into))
    }

    fn is_local(&self) -> bool {
        true
    }

    fn mapped(&self) -> Option<&[u8]> {
        Some(&self.0)
    }
}

/// Copies what lies at `offset`; returns how many bytes that was.
pub(super) fn copy_at(bytes: &[u8], offset: u64, into: &mut [u8]) -> usize {
    let from = usize::try_from(offset).unwrap_or(usize::MAX).min(bytes.len());
    let n = into.len().min(bytes.len() - from);
    into[..n].copy_from_slice(&bytes[from..from + n]);
    n
}
