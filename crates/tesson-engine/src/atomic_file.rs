//! Files that appear under their name when they are complete: written to a temporary file beside the target, then published.
//!
//! The temporary file is created exclusively under an unpredictable name: nothing that already lies in the folder, a link
//! or a pipe least of all, is opened or overwritten.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Bytes of the target's name that the temporary name begins with, at most: file systems allow 255 in all.
const NAME_BYTES: usize = 200;

/// Attempts to find a name that no file has; the second is needed once in 2⁶⁴ times.
const ATTEMPTS: usize = 8;

/// The temporary files of this process, for [`remove_unfinished`].
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn unfinished() -> MutexGuard<'static, Vec<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes every temporary file of this process, and lets no further one be created: for a program that a signal is about
/// to end, which runs no destructors.
pub fn remove_unfinished() {
    let unfinished = unfinished();
    for temporary in &*unfinished {
        // The process ends whether or not the file can be removed.
        let _ = fs::remove_file(temporary);
    }
    // Creating another one waits for the lock, until the process is gone.
    std::mem::forget(unfinished);
}

/// What publishing does with a file that already has the target's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// Replaces it.
    Replace,
    /// Keeps it, and fails with [`io::ErrorKind::AlreadyExists`].
    Keep,
}

/// A file being written, under a temporary name until [`AtomicFile::commit`]. Dropped before that, it is removed.
#[derive(Debug)]
pub struct AtomicFile {
    target: PathBuf,
    /// Empty once the file has its final name.
    temporary: PathBuf,
}

impl AtomicFile {
    /// Creates the temporary file beside `target`, and opens it for writing.
    ///
    /// # Errors
    /// A target that exists and is neither a regular file nor a link, which would be lost by replacing it; what the file
    /// system answers.
    pub fn create(target: &Path) -> io::Result<(AtomicFile, File)> {
        let found = match fs::symlink_metadata(target) {
            Ok(found) => Some(found.file_type()),
            Err(e) if e.kind() == io::ErrorKind::NotFound => None,
            Err(e) => return Err(e),
        };
        // A link is replaced, what it leads to stays as it is.
        if let Some(found) = found.filter(|found| !found.is_file() && !found.is_symlink()) {
            let kind = if found.is_dir() { "a directory" } else { "a pipe or a device" };
            let what = format!("is {kind}; expected a regular file to replace, or a new name");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
        }
        let mut result = Err(io::ErrorKind::AlreadyExists.into());
        for _ in 0..ATTEMPTS {
            let temporary = temporary_name(target);
            let mut unfinished = unfinished();
            result = OpenOptions::new().write(true).create_new(true).open(&temporary);
            match result {
                Ok(file) => {
                    unfinished.push(temporary.clone());
                    return Ok((AtomicFile { target: target.into(), temporary }, file));
                }
                Err(ref e) if e.kind() == io::ErrorKind::AlreadyExists => {}
                Err(_) => break,
            }
        }
        result.map(|_| unreachable!("an open file is returned above"))
    }

    /// Gives the file its final name, in one step: `existing` holds whenever another program creates a file of that name.
    ///
    /// # Errors
    /// [`io::ErrorKind::AlreadyExists`] with [`Existing::Keep`]; what the file system answers. The temporary file is then
    /// removed.
    pub fn commit(mut self, existing: Existing) -> io::Result<()> {
        match existing {
            Existing::Replace => fs::rename(&self.temporary, &self.target)?,
            Existing::Keep => publish_new(&self.temporary, &self.target)?,
        }
        self.forget();
        Ok(())
    }

    /// Takes the temporary file off the list: it has another name, or is removed.
    fn forget(&mut self) {
        unfinished().retain(|temporary| *temporary != self.temporary);
        self.temporary.clear();
    }

    /// Where the file lies until it is committed.
    pub fn temporary(&self) -> &Path {
        &self.temporary
    }
}

impl Drop for AtomicFile {
    fn drop(&mut self) {
        if !self.temporary.as_os_str().is_empty() {
            // The error that kept it from being completed is reported; one of removing it adds nothing.
            let _ = fs::remove_file(&self.temporary);
            self.forget();
        }
    }
}

/// Renames `temporary` to a name that no file has.
fn publish_new(temporary: &Path, target: &Path) -> io::Result<()> {
    match fs::hard_link(temporary, target) {
        Ok(()) => fs::remove_file(temporary),
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Err(e),
        // A file system without hard links: an empty file reserves the name until the complete one replaces it.
        Err(_) => {
            OpenOptions::new().write(true).create_new(true).open(target)?;
            fs::rename(temporary, target)
        }
    }
}

/// Writes a small file: it holds all the bytes, or what it held before.
///
/// # Errors
/// As [`AtomicFile::create`] and [`AtomicFile::commit`].
pub fn write(target: &Path, bytes: &[u8]) -> io::Result<()> {
    let (guard, mut file) = AtomicFile::create(target)?;
    file.write_all(bytes)?;
    guard.commit(Existing::Replace)
}

/// `<name>.<16 hexadecimal digits>.tmp` in the folder of `target`.
fn temporary_name(target: &Path) -> PathBuf {
    // The system's random numbers, by the only way to them in the standard library: the keys of its hash tables.
    let random = RandomState::new().hash_one(target);
    let name = target.file_name().filter(|name| name.len() <= NAME_BYTES);
    let mut name = name.unwrap_or(OsStr::new("tesson")).to_owned();
    name.push(OsString::from(format!(".{random:016x}.tmp")));
    target.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An empty folder of the test's own.
    fn folder(test: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("tesson-atomic-{test}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    fn names(folder: &Path) -> Vec<OsString> {
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect()
    }

    #[test]
    fn a_file_appears_under_its_name_when_it_is_committed() {
        let folder = folder("commit");
        let target = folder.join("file");
        fs::write(&target, "old").unwrap();
        let (guard, mut file) = AtomicFile::create(&target).unwrap();
        file.write_all(b"new").unwrap();
        assert_eq!(fs::read_to_string(&target).unwrap(), "old");
        guard.commit(Existing::Replace).unwrap();
        assert_eq!(fs::read_to_string(&target).unwrap(), "new");
        assert_eq!(names(&folder), ["file"]);
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_file_that_appears_while_another_is_written_is_kept() {
        let folder = folder("appears");
        let target = folder.join("file");
        let (guard, mut file) = AtomicFile::create(&target).unwrap();
        file.write_all(b"new").unwrap();
        fs::write(&target, "another program's").unwrap();
        let e = guard.commit(Existing::Keep).unwrap_err();
        assert_eq!(e.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read_to_string(&target).unwrap(), "another program's");
        assert_eq!(names(&folder), ["file"]);
        fs::remove_file(&target).unwrap();
        let (guard, mut file) = AtomicFile::create(&target).unwrap();
        file.write_all(b"new").unwrap();
        guard.commit(Existing::Keep).unwrap();
        assert_eq!(fs::read_to_string(&target).unwrap(), "new");
        assert_eq!(names(&folder), ["file"]);
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn one_that_is_never_completed_leaves_nothing() {
        let folder = folder("dropped");
        drop(AtomicFile::create(&folder.join("file")).unwrap());
        assert_eq!(names(&folder), [] as [&str; 0]);
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn files_are_listed_until_they_are_committed_or_dropped() {
        let folder = folder("listed");
        let is_listed = |path: &Path| unfinished().iter().any(|temporary| temporary == path);
        let (one, _) = AtomicFile::create(&folder.join("one")).unwrap();
        let (two, _) = AtomicFile::create(&folder.join("two")).unwrap();
        let paths = [one.temporary().to_path_buf(), two.temporary().to_path_buf()];
        assert!(paths.iter().all(|path| is_listed(path)));
        one.commit(Existing::Keep).unwrap();
        drop(two);
        assert!(!paths.iter().any(|path| is_listed(path)));
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn two_writers_of_one_file_have_temporary_files_of_their_own() {
        let folder = folder("two");
        let (one, _) = AtomicFile::create(&folder.join("file")).unwrap();
        let (two, _) = AtomicFile::create(&folder.join("file")).unwrap();
        assert_ne!(one.temporary(), two.temporary());
        drop((one, two));
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn names_as_long_as_they_may_be_can_be_written() {
        let folder = folder("long");
        let target = folder.join("n".repeat(255));
        write(&target, b"all").unwrap();
        assert_eq!(fs::read_to_string(&target).unwrap(), "all");
        fs::remove_dir_all(&folder).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn links_are_replaced_and_never_followed() {
        let folder = folder("links");
        let (target, other) = (folder.join("file"), folder.join("other"));
        fs::write(&other, "untouched").unwrap();
        for name in ["file", "file.tmp", &format!("file.{}.tmp", std::process::id())] {
            std::os::unix::fs::symlink(&other, folder.join(name)).unwrap();
        }
        write(&target, b"new").unwrap();
        assert_eq!(fs::read_to_string(&other).unwrap(), "untouched");
        assert!(!target.is_symlink());
        assert_eq!(fs::read_to_string(&target).unwrap(), "new");
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_directory_is_not_replaced() {
        let folder = folder("directory");
        let e = write(&folder, b"new").unwrap_err();
        assert_eq!(e.to_string(), "is a directory; expected a regular file to replace, or a new name");
        fs::remove_dir_all(&folder).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn a_device_is_not_replaced() {
        let e = write(Path::new("/dev/null"), b"new").unwrap_err();
        assert_eq!(e.to_string(), "is a pipe or a device; expected a regular file to replace, or a new name");
    }
}
