//! Local files, read by `pread`.
//!
//! A corpus may have more files than a process may have open: a prepared dataset has a thousand shards, and a thousand is the
//! usual limit. Beyond [`HELD`] of them, or a quarter of what the process may have, files are opened for each read, which costs some
//! microseconds; reads are of many kilobytes.

use std::fs::{File, Metadata};
use std::io::{self, Read, Seek};
use std::path::{self, Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::UNIX_EPOCH;
#[cfg(target_os = "linux")]
use std::{num::NonZeroU64, ops::Range};

use tesson_core::Listing;

use super::{Entry, EntryKind, FolderName, Resource, Store};

/// The local file system.
#[derive(Clone, Copy, Debug, Default)]
pub struct FileStore;

impl Store for FileStore {
    fn open(&self, path: &Path) -> io::Result<Box<dyn Resource>> {
        let path = without_scheme(path, SCHEME);
        let (file, meta) = open_regular(path)?;
        let handle = Handle::of(file, path)?;
        Ok(Box::new(LocalFile { handle, size: meta.len(), modified_ns: modified_ns(&meta) }))
    }

    fn with_open(&self, path: &Path, act: &mut dyn FnMut(&dyn Resource)) -> io::Result<()> {
        let (file, meta) = open_regular(without_scheme(path, SCHEME))?;
        // Each thread has one at most: these may go beyond what is held for longer.
        N_HELD.fetch_add(1, Ordering::Relaxed);
        act(&LocalFile { handle: Handle::Held(file), size: meta.len(), modified_ns: modified_ns(&meta) });
        Ok(())
    }

    fn stream(&self, path: &Path) -> io::Result<Box<dyn Read + Send>> {
        Ok(Box::new(File::open(without_scheme(path, SCHEME))?))
    }

    fn entry(&self, path: &Path) -> io::Result<Entry> {
        entry(without_scheme(path, SCHEME))
    }

    fn names(&self, folder: &Path) -> io::Result<Vec<FolderName>> {
        super::folder::names(without_scheme(folder, SCHEME))
    }

    fn list(&self, folder: &Path) -> io::Result<Listing> {
        super::folder::list(without_scheme(folder, SCHEME))
    }

    fn local_path(&self, path: &Path) -> Option<PathBuf> {
        Some(without_scheme(path, SCHEME).into())
    }

    fn shared(&self) -> Arc<dyn Store> {
        Arc::new(*self)
    }

    fn remedy(&self, path: &Path, error: &io::Error) -> Option<String> {
        super::remedy::of(without_scheme(path, SCHEME), error)
    }
}

/// The scheme of URLs that stand for local files. Names of local files are URLs of it without the scheme.
pub(super) const SCHEME: &str = "file";

/// The path in a URL of a scheme; the name itself if it is none. Nothing in it is unescaped.
pub(super) fn without_scheme<'a>(name: &'a Path, scheme: &str) -> &'a Path {
    let rest = name.to_str().and_then(|name| name.strip_prefix(scheme)?.strip_prefix("://"));
    rest.map_or(name, Path::new)
}

/// The entry of a local name.
pub(crate) fn entry(path: &Path) -> io::Result<Entry> {
    let meta = std::fs::metadata(path)?;
    let kind = match () {
        () if meta.is_file() => EntryKind::File,
        () if meta.is_dir() => EntryKind::Folder,
        () => EntryKind::Other,
    };
    Ok(Entry { kind, size: meta.len(), modified_ns: modified_ns(&meta) })
}

/// Files that the process keeps open, at most.
const HELD: usize = 128;

/// The number of files kept open, reduced for a low limit of the process, whose threads, sockets and libraries need
/// handles too.
fn held() -> usize {
    static LIMITED: OnceLock<usize> = OnceLock::new();
    *LIMITED.get_or_init(|| {
        #[cfg(unix)]
        let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
        #[cfg(not(unix))]
        let limit = None;
        limit.map_or(HELD, |limit| HELD.min(usize::try_from(limit / 4).unwrap_or(HELD)))
    })
}

/// How many there are.
static N_HELD: AtomicUsize = AtomicUsize::new(0);

struct LocalFile {
    handle: Handle,
    size: u64,
    modified_ns: Option<u128>,
}

enum Handle {
    Held(File),
    /// Opened for each read.
    Named(PathBuf),
}

impl Handle {
    fn of(file: File, path: &Path) -> io::Result<Handle> {
        let one_more = |n| (n < held()).then_some(n + 1);
        match N_HELD.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more) {
            Ok(_) => Ok(Handle::Held(file)),
            Err(_) => path::absolute(path).map(Handle::Named),
        }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        if let Handle::Held(_) = self {
            N_HELD.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl LocalFile {
    /// Uses the file, which is the one that was opened first.
    fn with<T>(&self, act: impl FnOnce(&File) -> io::Result<T>) -> io::Result<T> {
        let path = match &self.handle {
            Handle::Held(file) => return act(file),
            Handle::Named(path) => path,
        };
        let (file, meta) = open_regular(path)?;
        if (meta.len(), modified_ns(&meta)) != (self.size, self.modified_ns) {
            return Err(io::Error::other("the file has changed since it was opened first"));
        }
        act(&file)
    }
}

impl Resource for LocalFile {
    fn size(&self) -> u64 {
        self.size
    }

    fn modified_ns(&self) -> Option<u128> {
        self.modified_ns
    }

    #[cfg(unix)]
    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        self.with(|file| std::os::unix::fs::FileExt::read_at(file, into, offset))
    }

    #[cfg(target_os = "linux")]
    fn will_need(&self, range: Range<u64>) {
        use rustix::fs::{Advice, fadvise};
        // A hint: that it could not be given changes nothing but the time.
        let len = NonZeroU64::new(range.end - range.start);
        let _ = self.with(|file| Ok(fadvise(file, range.start, len, Advice::WillNeed)?));
    }

    fn is_local(&self) -> bool {
        true
    }

    #[cfg(windows)]
    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        self.with(|file| std::os::windows::fs::FileExt::seek_read(file, into, offset))
    }
}

/// Opens a file for reading. Anything but a regular file is refused before it is opened: opening a pipe would wait for
/// a writer, and text formats need random access.
pub(crate) fn open_regular(path: &Path) -> io::Result<(File, Metadata)> {
    let meta = std::fs::metadata(path)?;
    if !meta.is_file() {
        let (kind, found) = if meta.is_dir() {
            (io::ErrorKind::IsADirectory, "a directory")
        } else {
            (io::ErrorKind::InvalidInput, "no regular file")
        };
        return Err(io::Error::new(
            kind,
            format!("is {found}, a file that can be read at any position is expected"),
        ));
    }
    let mut file = File::open(path)?;
    let meta = file.metadata()?;
    if is_lfs_pointer(&mut file, meta.len())? {
        let what =
            "is a pointer of Git LFS that stands for the file; fetch the file itself with `git lfs pull`";
        return Err(io::Error::new(io::ErrorKind::InvalidData, what));
    }
    Ok((file, meta))
}

/// The beginning of the pointer that Git LFS leaves instead of a file that it has not fetched. A pointer has fewer
/// bytes than [`LFS_BYTES`].
const LFS: &[u8] = b"version https://git-lfs.github.com/spec/";
const LFS_BYTES: u64 = 1024;

/// True if a file is such a pointer. Its position afterwards is its beginning.
fn is_lfs_pointer(file: &mut File, size: u64) -> io::Result<bool> {
    if !(LFS.len() as u64..LFS_BYTES).contains(&size) {
        return Ok(false);
    }
    let mut start = [0; LFS.len()];
    let mut read = 0;
    while read < start.len() {
        match file.read(&mut start[read..]) {
            Ok(0) => break,
            Ok(n) => read += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    file.rewind()?;
    Ok(start == LFS)
}

pub(super) fn modified_ns(meta: &Metadata) -> Option<u128> {
    meta.modified().ok()?.duration_since(UNIX_EPOCH).ok().map(|d| d.as_nanos())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_files_are_read_than_may_be_open() {
        let folder = std::env::temp_dir().join(format!("tesson-many-files-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let name = |i: usize| folder.join(i.to_string());
        let n = 3 * HELD;
        (0..n).for_each(|i| std::fs::write(name(i), i.to_string()).unwrap());
        let open: Vec<Box<dyn Resource>> = (0..n).map(|i| FileStore.open(&name(i)).unwrap()).collect();
        assert!(N_HELD.load(Ordering::Relaxed) <= HELD);
        let read = |i: usize| {
            let mut bytes = vec![0; 10];
            let n = open[i].read_at(0, &mut bytes)?;
            io::Result::Ok(String::from_utf8_lossy(&bytes[..n]).into_owned())
        };
        for i in (0..n).rev() {
            open[i].will_need(0..1);
            assert_eq!(read(i).unwrap(), i.to_string());
        }
        // One that is opened anew has to be the same.
        std::fs::write(name(n - 1), "another").unwrap();
        assert!(read(n - 1).unwrap_err().to_string().contains("has changed"));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
