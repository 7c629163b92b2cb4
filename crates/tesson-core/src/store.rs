//! A store: where named bytes are kept.
//!
//! This is the one way from a name to bytes, for deserializers, prepared datasets and conversions alike. What implements it
//! lies in `tesson-engine` and in users' programs; here is what a store can be asked.

use std::io::{self, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::{Listing, StoreError};

/// A place where named resources are kept. Names are paths, or URLs whose scheme belongs to the store.
///
/// A store that only opens resources is a whole one: the other methods have answers that are made of
/// [`Store::open`], or say that the store has no folders.
pub trait Store: Send + Sync {
    /// Opens a resource.
    ///
    /// # Errors
    /// When there is none of this name, or it cannot be read at random positions.
    fn open(&self, path: &Path) -> io::Result<Box<dyn Resource>>;

    /// Opens a resource for as long as `act` works with it. A store may do that without allocating memory.
    ///
    /// # Errors
    /// The errors of [`Store::open`]; `act` is not called then.
    fn with_open(&self, path: &Path, act: &mut dyn FnMut(&dyn Resource)) -> io::Result<()> {
        act(&*self.open(path)?);
        Ok(())
    }

    /// Opens a resource to be read once, from its beginning. A store may so read what has no positions, such as a pipe.
    ///
    /// # Errors
    /// The errors of [`Store::open`].
    fn stream(&self, path: &Path) -> io::Result<Box<dyn Read + Send>> {
        Ok(Box::new(Sequential { resource: self.open(path)?, at: 0 }))
    }

    /// The kind and the size of what has a name, without reading it.
    ///
    /// # Errors
    /// When there is nothing of this name, or that cannot be found out.
    fn entry(&self, path: &Path) -> io::Result<Entry> {
        match self.open(path) {
            Ok(resource) => Ok(Entry {
                kind: EntryKind::File,
                size: resource.size(),
                modified_ns: resource.modified_ns(),
            }),
            Err(e) if e.kind() == io::ErrorKind::IsADirectory => {
                Ok(Entry { kind: EntryKind::Folder, size: 0, modified_ns: None })
            }
            Err(e) => Err(e),
        }
    }

    /// The names in a folder, sorted by their bytes, without what is in the folders below it.
    ///
    /// # Errors
    /// The errors of [`Store::list`].
    fn names(&self, folder: &Path) -> io::Result<Vec<FolderName>> {
        let listing = self.list(folder)?.into_bytes();
        let names = Listing::names(&listing).into_iter().flatten();
        Ok(names
            .filter_map(|name| {
                let own = name.strip_suffix('/').unwrap_or(name);
                let is_folder = own.len() < name.len();
                (!own.contains('/')).then(|| FolderName { name: own.to_owned(), is_folder })
            })
            .collect())
    }

    /// The names in a folder and in those below it, each folder's sorted by their bytes.
    ///
    /// # Errors
    /// When `folder` is none, when it cannot be listed, and where the store has no folders.
    fn list(&self, folder: &Path) -> io::Result<Listing> {
        let what = format!("{} is in a store without folders", folder.display());
        Err(io::Error::new(io::ErrorKind::Unsupported, what))
    }

    /// The local file that a name stands for, beside which caches may lie; `None` for what is elsewhere.
    fn local_path(&self, _path: &Path) -> Option<PathBuf> {
        None
    }

    /// A handle of this store, to open more resources while data are read.
    fn shared(&self) -> Arc<dyn Store>;

    /// Half a sentence that says what to do about an error of opening `path`, if anything is known.
    fn remedy(&self, _path: &Path, _error: &io::Error) -> Option<String> {
        None
    }
}

/// An open resource, read at any position by any thread.
pub trait Resource: Send + Sync {
    /// Its size in bytes when it was opened.
    fn size(&self) -> u64;

    /// When it was last changed, in nanoseconds since 1970, where that is known.
    fn modified_ns(&self) -> Option<u128>;

    /// Fills `into` from `offset` on, as far as one read goes; 0 means the end.
    ///
    /// # Errors
    /// Errors of the system. `Interrupted`, `WouldBlock` and `TimedOut` are tried again by the caller.
    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize>;

    /// Says that this range will be read soon, in small reads: a store that can reads it ahead.
    fn will_need(&self, _range: Range<u64>) {}

    /// True if what has been read once is at hand on this machine, so that reading it again costs a copy. Formats then look over a
    /// large part first and read it in small pieces after that.
    fn is_local(&self) -> bool {
        false
    }

    /// All bytes in place, if they lie in memory.
    fn mapped(&self) -> Option<&[u8]> {
        None
    }
}

/// The kind, size and age of what has a name in a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Which kind of thing it is.
    pub kind: EntryKind,
    /// Its size in bytes, of a file.
    pub size: u64,
    /// When it was last changed, in nanoseconds since 1970, where that is known.
    pub modified_ns: Option<u128>,
}

/// The kinds of things that names stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A file that can be read at any position.
    File,
    /// A folder.
    Folder,
    /// Anything else, such as a pipe: reading it may wait, and what is read of it is gone.
    Other,
}

impl Entry {
    /// True if it can be read at any position.
    pub fn is_file(&self) -> bool {
        self.kind == EntryKind::File
    }

    /// True if it is a folder.
    pub fn is_folder(&self) -> bool {
        self.kind == EntryKind::Folder
    }
}

/// A name in a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FolderName {
    /// The name, without those of the folders above it.
    pub name: String,
    /// True for the name of a folder.
    pub is_folder: bool,
}

/// A resource read from its beginning to its end.
struct Sequential {
    resource: Box<dyn Resource>,
    at: u64,
}

impl Read for Sequential {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let n = self.resource.read_at(self.at, into)?;
        self.at += n as u64;
        Ok(n)
    }
}

/// All bytes of a resource.
///
/// # Errors
/// When there is none of this name, or it cannot be read.
pub fn read_whole(store: &dyn Store, path: &Path) -> Result<Vec<u8>, StoreError> {
    let resource = store.open(path).map_err(|e| unreadable(store, path, e))?;
    read_to_end(&*resource, u64::MAX).map_err(|e| unreadable(store, path, e))
}

/// The first bytes of a file, at most so many; nothing of what cannot be read, which opening it reports. What is read of a pipe
/// is gone, so that is not opened.
pub fn beginning(store: &dyn Store, path: &Path, most: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    if store.entry(path).is_ok_and(|found| found.is_file())
        && let Ok(stream) = store.stream(path)
        && stream.take(most as u64).read_to_end(&mut bytes).is_err()
    {
        bytes.clear();
    }
    bytes
}

/// Bytes of a configuration, a state or a description, at most.
const SMALL_BYTES: u64 = 64 << 20;

/// Reads a whole configuration, state or description.
///
/// # Errors
/// Errors of the store; a resource of more than 64 MiB, before it is read.
pub fn read_small(store: &dyn Store, path: &Path) -> io::Result<Vec<u8>> {
    let resource = store.open(path)?;
    let check = |bytes: u64| {
        if bytes > SMALL_BYTES {
            let what = format!("has {bytes} bytes, expected at most {SMALL_BYTES} in a file of this kind");
            Err(io::Error::new(io::ErrorKind::FileTooLarge, what))
        } else {
            Ok(())
        }
    };
    check(resource.size())?;
    // It may have grown since.
    let bytes = read_to_end(&*resource, SMALL_BYTES + 1)?;
    check(bytes.len() as u64)?;
    Ok(bytes)
}

/// The text in a configuration or a state: of at most 64 MiB, in UTF-8.
///
/// # Errors
/// A larger one, one that cannot be read, with what may help.
pub fn read_text(store: &dyn Store, path: &Path) -> Result<String, StoreError> {
    let text = read_small(store, path).and_then(|bytes| {
        let mut text = String::from_utf8(bytes).map_err(|e| {
            let what = format!("{}, expected text in UTF-8; save the file in that encoding", e.utf8_error());
            io::Error::new(io::ErrorKind::InvalidData, what)
        })?;
        // Editors of Windows mark UTF-8 by a byte order mark.
        if text.starts_with('\u{feff}') {
            text.drain(..'\u{feff}'.len_utf8());
        }
        Ok(text)
    });
    text.map_err(|e| unreadable(store, path, e))
}

/// The error of a resource that cannot be opened, with what may help.
pub fn unreadable(store: &dyn Store, path: &Path, e: io::Error) -> StoreError {
    let remedy = store.remedy(path, &e);
    StoreError::new(path.into(), None, e).with_remedy(remedy)
}

/// Bytes that one read of a whole resource asks for.
const PART: usize = 64 << 10;

/// The bytes of a resource, the first `most` of them.
fn read_to_end(resource: &dyn Resource, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut part = vec![0; PART];
    while (bytes.len() as u64) < most {
        match resource.read_at(bytes.len() as u64, &mut part) {
            Ok(0) => break,
            Ok(n) => bytes.extend_from_slice(&part[..n]),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(bytes)
}
