//! Where bytes come from.

mod fake;
mod file;
mod folder;
mod memory;
mod mmap;
mod open_resources;
mod remedy;
mod text;

use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use tesson_core::{Listing, StoreError};

pub use fake::{FakeStore, InjectedFault, Schedule};
pub(crate) use file::open_regular;
pub use file::{FileStore, read_small};
pub(crate) use memory::Bytes;
pub use memory::MemoryStore;
pub use mmap::MmapStore;
pub use open_resources::OpenResources;
pub use text::{read_text, unreadable};

/// A place where named resources are kept.
pub trait Store: Send + Sync {
    /// Opens a resource.
    ///
    /// # Errors
    /// When there is none of this name, or it cannot be read at random positions.
    fn open(&self, path: &Path) -> io::Result<Box<dyn Resource>>;

    /// Opens a resource for as long as `act` works with it. A store may do that without allocating memory.
    ///
    /// # Errors
    /// As [`Store::open`]; `act` is not called then.
    fn with_open(&self, path: &Path, act: &mut dyn FnMut(&dyn Resource)) -> io::Result<()> {
        act(&*self.open(path)?);
        Ok(())
    }

    /// What is in a folder and in those below it, each folder's names sorted by their bytes.
    ///
    /// # Errors
    /// When `folder` is none, when it cannot be listed, and where the store has no folders.
    fn list(&self, folder: &Path) -> io::Result<Listing> {
        let what = format!("{} is in a store without folders", folder.display());
        Err(io::Error::new(io::ErrorKind::Unsupported, what))
    }

    /// The same store, to open more resources while data are read.
    fn shared(&self) -> Arc<dyn Store>;

    /// Half a sentence that says what to do about an error of opening `path`, if anything is known.
    fn remedy(&self, _path: &Path, _error: &io::Error) -> Option<String> {
        None
    }
}

/// All bytes of a resource.
///
/// # Errors
/// When there is none of this name, or it cannot be read.
pub fn read_whole(store: &dyn Store, path: &Path) -> Result<Vec<u8>, StoreError> {
    let wrong = |e| {
        let remedy = store.remedy(path, &e);
        StoreError::new(path.into(), None, e).with_remedy(remedy)
    };
    let resource = store.open(path).map_err(wrong)?;
    let mut bytes = Vec::new();
    let mut part = vec![0; PART];
    loop {
        match resource.read_at(bytes.len() as u64, &mut part) {
            Ok(0) => return Ok(bytes),
            Ok(n) => bytes.extend_from_slice(&part[..n]),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(wrong(e)),
        }
    }
}

/// Bytes that one read of a whole resource asks for.
const PART: usize = 64 << 10;

/// An open resource, read at any position by any thread.
pub trait Resource: Send + Sync {
    /// Its size in bytes when it was opened.
    fn size(&self) -> u64;

    /// When it was last changed, in nanoseconds since 1970, where that is known.
    fn modified_ns(&self) -> Option<u128>;

    /// Fills `into` from `offset` on, as far as one read goes; 0 means the end.
    ///
    /// # Errors
    /// What the system answers. `Interrupted`, `WouldBlock` and `TimedOut` are tried again by the caller.
    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize>;

    /// Says that this range will be read soon, in small reads: a store that can reads it ahead.
    fn will_need(&self, _range: Range<u64>) {}

    /// All bytes in place, if they lie in memory.
    fn mapped(&self) -> Option<&[u8]> {
        None
    }
}
