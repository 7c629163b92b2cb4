//! Files and archive members that data list: opened when they are first read, a bounded number of them at a time.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tesson_core::{Error, ListedAt, NamedResource, NamedResources, StoreError, StoreErrorKind};

use crate::archive::{self, Archive};
use crate::store::{OpenResources, Resource, Store};

/// The listed resources of one deserializer.
pub(crate) struct NamedFiles {
    /// Their numbers among all resources.
    pub(crate) ids: Range<u32>,
    names: Arc<NamedResources>,
    /// The files that list them.
    lists: Vec<Arc<Path>>,
    store: Arc<dyn Store>,
    open: OpenResources,
    /// Archives whose directory has been read.
    archives: Mutex<BTreeMap<u32, SharedArchive>>,
    /// Bytes that further directories may take.
    room: AtomicU64,
}

/// An archive that all readers share; empty until one of them has read its directory.
type SharedArchive = Arc<Mutex<Option<Arc<Archive>>>>;

/// A listed resource that is open.
pub(crate) enum Opened {
    File(Arc<dyn Resource>),
    Member { archive: Arc<Archive>, name: Box<str>, size: u64 },
}

impl Resource for Opened {
    fn size(&self) -> u64 {
        match self {
            Opened::File(file) => file.size(),
            Opened::Member { size, .. } => *size,
        }
    }

    fn modified_ns(&self) -> Option<u128> {
        None
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Opened::File(file) => file.read_at(offset, into),
            Opened::Member { archive, name, .. } => archive.read(name, offset, into).map(|()| into.len()),
        }
    }
}

thread_local! {
    /// Memory of each thread for the name that it unpacks: images are opened one after the other.
    static NAME: Cell<String> = const { Cell::new(String::new()) };
}

/// True if no file was found: nothing has the name, or a directory has it.
fn is_no_file(error: &StoreError) -> bool {
    error.kind() == StoreErrorKind::NotFound || error.source.kind() == io::ErrorKind::IsADirectory
}

impl NamedFiles {
    pub(crate) fn new(
        first: u32,
        names: Arc<NamedResources>,
        lists: Vec<Arc<Path>>,
        store: Arc<dyn Store>,
        room: u64,
    ) -> NamedFiles {
        let ids = first..first + names.len() as u32;
        let (open, archives) = (OpenResources::default(), Mutex::default());
        NamedFiles { ids, names, lists, store, open, archives, room: room.into() }
    }

    /// The first file that lists some.
    pub(crate) fn first_list(&self) -> Option<Arc<Path>> {
        self.lists.first().cloned()
    }

    /// Bytes of memory that names take.
    pub(crate) fn memory(&self) -> usize {
        self.names.bytes()
    }

    /// Works with the name of a resource.
    fn with_name<T>(&self, number: u32, act: impl FnOnce(NamedResource<'_>) -> T) -> T {
        let mut name = NAME.take();
        let result = act(self.names.get(number, &mut name));
        NAME.set(name);
        result
    }

    /// How a resource is called in errors: a member by its archive's name, `@/` and its own.
    pub(crate) fn path(&self, number: u32) -> Arc<Path> {
        self.with_name(number, |named| match named {
            NamedResource::File { path, .. } => Path::new(path).into(),
            NamedResource::Member { archive, name, .. } => {
                Path::new(&format!("{}@/{name}", self.path(archive).display())).into()
            }
        })
    }

    /// True if a resource is listed as a member of an archive. Such an archive need not exist.
    pub(crate) fn is_member(&self, number: u32) -> bool {
        self.with_name(number, |named| matches!(named, NamedResource::Member { .. }))
    }

    /// A resource, opened unless it is open already.
    pub(crate) fn open(&self, number: u32) -> Result<Opened, StoreError> {
        self.with_name(number, |named| match named {
            NamedResource::File { path, at } => self.file(number, path, at).map(Opened::File),
            NamedResource::Member { archive, name, at } => {
                let archive = match self.archive(archive) {
                    // A file whose name looks like that of a member.
                    Err(e) if is_no_file(&e) => {
                        let path = self.path(number);
                        return self
                            .file(number, &path.to_string_lossy(), at)
                            .map(Opened::File)
                            .map_err(|_| e);
                    }
                    archive => archive?,
                };
                let size = archive.size(name).map_err(|e| self.error(number, None, e))?;
                Ok(Opened::Member { archive, name: name.into(), size })
            }
        })
    }

    /// Works with a resource that is open only meanwhile, unless it is within another.
    pub(crate) fn with_open(
        &self,
        number: u32,
        act: &mut dyn FnMut(&dyn Resource),
    ) -> Result<(), StoreError> {
        self.with_name(number, |named| match named {
            NamedResource::File { path, at } => {
                let path = Path::new(path);
                self.store.with_open(path, act).map_err(|e| self.listed(path.into(), at, None, e))
            }
            NamedResource::Member { .. } => {
                act(&self.open(number)?);
                Ok(())
            }
        })
    }

    /// The error of reading a resource, with the line that lists it.
    pub(crate) fn with_line(&self, number: u32, error: Error) -> Error {
        let Error::Store(error) = error else { return error };
        error.with_remedy(Some(self.listing(number))).into()
    }

    /// An error of a resource, with the line that lists it.
    fn error(&self, number: u32, offset: Option<u64>, error: io::Error) -> StoreError {
        self.listed(self.path(number), self.listed_at(number), offset, error)
    }

    fn file(&self, number: u32, path: &str, at: ListedAt) -> Result<Arc<dyn Resource>, StoreError> {
        let path = Path::new(path);
        let open = || self.store.open(path).map_err(|e| self.listed(path.into(), at, None, e));
        self.open.get(number, open)
    }

    /// An archive. Its directory is read once, by the first thread that needs it.
    fn archive(&self, number: u32) -> Result<Arc<Archive>, StoreError> {
        let place = {
            let mut archives = self.archives.lock().unwrap_or_else(PoisonError::into_inner);
            archives.entry(number).or_default().clone()
        };
        let mut known = place.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(archive) = &*known {
            return Ok(archive.clone());
        }
        let file = self.with_name(number, |named| match named {
            NamedResource::File { path, at } => self.file(number, path, at),
            NamedResource::Member { .. } => unreachable!("archives are files"),
        })?;
        let archive = self.directory(file).map_err(|e| self.error(number, None, e))?;
        Ok(known.insert(Arc::new(archive)).clone())
    }

    /// An archive whose directory has room beside those of the others.
    fn directory(&self, file: Arc<dyn Resource>) -> io::Result<Archive> {
        let archive = Archive::open(file, self.room.load(Ordering::Relaxed))?;
        // Other threads may have read directories meanwhile.
        let left = |room: u64| room.checked_sub(archive.bytes());
        let claimed = self.room.fetch_update(Ordering::Relaxed, Ordering::Relaxed, left);
        claimed.map_err(archive::too_large)?;
        Ok(archive)
    }

    fn listed(&self, path: Arc<Path>, at: ListedAt, offset: Option<u64>, error: io::Error) -> StoreError {
        let error = match self.beside_list(&path, at, &error).or_else(|| self.store.remedy(&path, &error)) {
            Some(hint) => io::Error::new(error.kind(), format!("{error}; {hint}")),
            None => error,
        };
        StoreError::new(path, offset, error).with_remedy(Some(self.line(at)))
    }

    /// The remedy for a file that is not where its list names it, but beside the list.
    fn beside_list(&self, path: &Path, at: ListedAt, error: &io::Error) -> Option<String> {
        if error.kind() != io::ErrorKind::NotFound || path.is_absolute() || at.line == ListedAt::IN_FOLDER {
            return None;
        }
        let folder = self.lists.get(at.root.0 as usize)?.parent()?;
        // In the working directory it would have been found.
        let is_there = folder != Path::new("") && self.store.open(&folder.join(path)).is_ok();
        is_there.then(|| {
            format!(
                "relative names start from the working directory, and the file lies beside the list: set `root` to `{}`",
                folder.display()
            )
        })
    }

    /// The line that lists a resource, as half a sentence.
    pub(crate) fn listing(&self, number: u32) -> String {
        self.line(self.listed_at(number))
    }

    fn listed_at(&self, number: u32) -> ListedAt {
        self.with_name(number, |(NamedResource::File { at, .. } | NamedResource::Member { at, .. })| at)
    }

    fn line(&self, at: ListedAt) -> String {
        let list = self.lists.get(at.root.0 as usize).map(|list| list.display().to_string());
        let list = list.unwrap_or_default();
        match at.line {
            ListedAt::IN_FOLDER => format!("it was found in the folder {list}"),
            line => format!("line {line} of {list} lists it"),
        }
    }
}
