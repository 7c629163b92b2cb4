//! Local files, read by `pread`.

use std::fs::{File, Metadata};
use std::io;
use std::path::Path;
use std::time::UNIX_EPOCH;
#[cfg(target_os = "linux")]
use std::{num::NonZeroU64, ops::Range};

use super::{Resource, Store};

/// The local file system.
#[derive(Clone, Copy, Debug, Default)]
pub struct FileStore;

impl Store for FileStore {
    fn open(&self, path: &Path) -> io::Result<Box<dyn Resource>> {
        let (file, meta) = open_regular(path)?;
        Ok(Box::new(LocalFile { file, size: meta.len(), modified_ns: modified_ns(&meta) }))
    }
}

struct LocalFile {
    file: File,
    size: u64,
    modified_ns: Option<u128>,
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
        std::os::unix::fs::FileExt::read_at(&self.file, into, offset)
    }

    #[cfg(target_os = "linux")]
    fn will_need(&self, range: Range<u64>) {
        use rustix::fs::{Advice, fadvise};
        // A hint: that it could not be given changes nothing but the time.
        let _ = fadvise(&self.file, range.start, NonZeroU64::new(range.end - range.start), Advice::WillNeed);
    }

    #[cfg(windows)]
    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        std::os::windows::fs::FileExt::seek_read(&self.file, into, offset)
    }
}

/// Opens a file for reading. Anything but a regular file is refused before it is opened: opening a pipe would wait for
/// a writer, and text formats need random access.
pub(super) fn open_regular(path: &Path) -> io::Result<(File, Metadata)> {
    let meta = std::fs::metadata(path)?;
    if !meta.is_file() {
        let kind = if meta.is_dir() { "a directory" } else { "no regular file" };
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("is {kind}, a file that can be read at any position is expected"),
        ));
    }
    let file = File::open(path)?;
    let meta = file.metadata()?;
    Ok((file, meta))
}

pub(super) fn modified_ns(meta: &Metadata) -> Option<u128> {
    meta.modified().ok()?.duration_since(UNIX_EPOCH).ok().map(|d| d.as_nanos())
}
