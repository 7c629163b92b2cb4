//! Files that appear under their name when they are complete: written to a temporary file beside the target, then published.
//!
//! The temporary file is created exclusively under an unpredictable name: nothing that already lies in the folder, a link
//! or a pipe least of all, is opened or overwritten.
//!
//! All that the libraries write goes through here, so that one place knows how: also files that grow over several runs
//! (`growing_file`), and what is found out about names and folders before (`target`).

mod growing_file;
mod target;

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

pub use growing_file::GrowingFile;
pub use target::{Target, UnfinishedFolder, create_folder, is_same_file, remove_folder};

/// Bytes of the target's name that the temporary name begins with, at most: file systems allow 255 in all.
const NAME_BYTES: usize = 200;

/// Attempts to find a name that no file has; the second is needed once in 2⁶⁴ times.
const ATTEMPTS: usize = 8;

/// Names of a folder that are looked at for files left over from killed writers, at most: a dataset of 99,999 shards would
/// be listed as often.
const MOST_LISTED: usize = 4096;

/// The temporary files of this process, for [`remove_unfinished`].
static UNFINISHED: Unfinished = Unfinished::new();

fn unfinished() -> MutexGuard<'static, Vec<PathBuf>> {
    UNFINISHED.of(process::id())
}

/// The temporary files of a process. A forked child has a list of its own: its parent writes the files of this one, and a thread of
/// the parent may have held its lock, which no thread of the child releases.
#[derive(Default)]
struct Unfinished {
    /// 0 until a process takes the list.
    process: AtomicU32,
    temporary: Mutex<Vec<PathBuf>>,
    of_child: OnceLock<Box<Unfinished>>,
}

impl Unfinished {
    const fn new() -> Unfinished {
        Unfinished {
            process: AtomicU32::new(0),
            temporary: Mutex::new(Vec::new()),
            of_child: OnceLock::new(),
        }
    }

    fn of(&self, process: u32) -> MutexGuard<'_, Vec<PathBuf>> {
        let mut list = self;
        while let Err(other) = list.process.compare_exchange(0, process, Ordering::SeqCst, Ordering::SeqCst)
            && other != process
        {
            list = list.of_child.get_or_init(Box::default);
        }
        list.temporary.lock().unwrap_or_else(PoisonError::into_inner)
    }
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

/// How publishing treats an existing file of the target's name.
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
    /// The process that writes it: its copy in a forked child removes nothing.
    writer: u32,
    /// Locked until the file has its final name or is gone, which tells others that its writer is there.
    _locked: Arc<File>,
}

/// The writable side of a file that is not published yet.
#[derive(Debug)]
pub struct NewFile(Arc<File>);

impl NewFile {
    /// Waits until the disk has what was written.
    ///
    /// # Errors
    /// Those of the system.
    pub fn sync_data(&self) -> io::Result<()> {
        self.0.sync_data()
    }

    /// Its size in bytes.
    ///
    /// # Errors
    /// Those of the system.
    pub fn size(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (&*self.0).write(bytes).map_err(with_limit)
    }

    fn flush(&mut self) -> io::Result<()> {
        (&*self.0).flush().map_err(with_limit)
    }
}

/// An error of writing, with the limit of the process that it is about.
fn with_limit(e: io::Error) -> io::Error {
    match largest_file().filter(|_| e.kind() == io::ErrorKind::FileTooLarge) {
        Some(bytes) => {
            let what = format!(
                "a file of this process may have {bytes} bytes at most; raise the limit (`ulimit -f`)"
            );
            io::Error::new(e.kind(), what)
        }
        None => e,
    }
}

/// The size that files of this process may have, if it is limited.
#[cfg(target_os = "linux")]
fn largest_file() -> Option<u64> {
    rustix::process::getrlimit(rustix::process::Resource::Fsize).current
}

#[cfg(not(target_os = "linux"))]
fn largest_file() -> Option<u64> {
    None
}

impl AtomicFile {
    /// Creates the temporary file beside `target`, and opens it for writing. What killed writers of this target have left
    /// there is removed.
    ///
    /// # Errors
    /// A target that exists and is neither a regular file nor a link, which would be lost by replacing it; what the file
    /// system answers.
    pub fn create(target: &Path) -> io::Result<(AtomicFile, NewFile)> {
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
        remove_stale(target);
        for _ in 0..ATTEMPTS {
            let temporary = temporary_name(target)?;
            let mut unfinished = unfinished();
            match OpenOptions::new().write(true).create_new(true).open(&temporary) {
                Ok(file) if is_ours(&file, &temporary) => {
                    let (writer, file) = (process::id(), Arc::new(file));
                    unfinished.push(temporary.clone());
                    let guard =
                        AtomicFile { target: target.into(), temporary, writer, _locked: Arc::clone(&file) };
                    return Ok((guard, NewFile(file)));
                }
                Ok(_) => {}
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
                Err(e) => return Err(e),
            }
        }
        // Not `AlreadyExists`, which is about the target.
        Err(io::Error::other(format!(
            "found no free name for a temporary file beside it in {ATTEMPTS} attempts"
        )))
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
        if !self.temporary.as_os_str().is_empty() && self.writer == process::id() {
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
/// Those of [`AtomicFile::create`] and [`AtomicFile::commit`].
pub fn write(target: &Path, bytes: &[u8]) -> io::Result<()> {
    let (guard, mut file) = AtomicFile::create(target)?;
    file.write_all(bytes)?;
    guard.commit(Existing::Replace)
}

/// The part of a target's name that its temporary names begin with.
fn stem(target: &Path) -> &OsStr {
    target.file_name().filter(|name| name.len() <= NAME_BYTES).unwrap_or(OsStr::new("tesson"))
}

/// `<name>.<16 hexadecimal digits>.tmp` in the folder of `target`. The digits are drawn from the system each time: a forked
/// child that drew them from a generator of its own would draw those of its brothers.
fn temporary_name(target: &Path) -> io::Result<PathBuf> {
    let random = getrandom::u64().map_err(io::Error::from)?;
    let mut name = stem(target).to_owned();
    name.push(OsString::from(format!(".{random:016x}.tmp")));
    Ok(target.with_file_name(name))
}

/// Locks a file that was just created; false if another process took it for one of a killed writer meanwhile.
fn is_ours(file: &File, temporary: &Path) -> bool {
    match file.try_lock() {
        Ok(()) => temporary.exists(),
        Err(TryLockError::WouldBlock) => false,
        // Without locks in the file system, no other process takes it for a leftover.
        Err(TryLockError::Error(_)) => true,
    }
}

/// Removes temporary files of a target whose writer is gone: they are not locked. Only a hint of tidiness: a folder that
/// cannot be listed is reported, if need be, by what comes next.
fn remove_stale(target: &Path) {
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.take(MOST_LISTED).flatten() {
        let is_stale = || {
            // Neither a link nor a pipe is opened.
            entry.file_type().is_ok_and(|kind| kind.is_file())
                && File::open(entry.path())
                    .is_ok_and(|file| file.try_lock().is_ok() && fs::remove_file(entry.path()).is_ok())
        };
        if is_temporary_name(&entry.file_name(), stem(target)) && is_stale() {
            tracing::info!("{}: removed, its writer was killed", entry.path().display());
        }
    }
}

/// True if [`temporary_name`] could have drawn this name for this stem.
fn is_temporary_name(name: &OsStr, stem: &OsStr) -> bool {
    let rest = name.as_encoded_bytes().strip_prefix(stem.as_encoded_bytes());
    let digits = rest.and_then(|rest| rest.strip_prefix(b".")?.strip_suffix(b".tmp"));
    digits.is_some_and(|digits| {
        digits.len() == 16 && digits.iter().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
    })
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
    fn what_a_killed_writer_has_left_is_removed_by_the_next_one_of_the_same_target() {
        let folder = folder("stale");
        let target = folder.join("file");
        let (living, _living) = AtomicFile::create(&target).unwrap();
        let left = [
            "file.0123456789abcdef.tmp",
            "other.0123456789abcdef.tmp",
            "file.0123456789ABCDEF.tmp",
            "file.tmp",
        ];
        left.iter().for_each(|name| fs::write(folder.join(name), "half").unwrap());
        write(&target, b"whole").unwrap();
        let mut found = names(&folder);
        found.sort();
        let mut expected =
            [&["file", living.temporary().file_name().unwrap().to_str().unwrap()][..], &left[1..]].concat();
        expected.sort_unstable();
        assert_eq!(found, expected);
        drop(living);
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_forked_child_has_a_list_of_its_own_that_no_thread_of_its_parent_has_locked() {
        static LISTS: Unfinished = Unfinished::new();
        let mut of_parent = LISTS.of(1);
        of_parent.push("a.tmp".into());
        let mut of_child = LISTS.of(2);
        assert!(of_child.is_empty());
        of_child.push("b.tmp".into());
        drop(of_child);
        assert_eq!(*LISTS.of(2), [Path::new("b.tmp")]);
        assert!(LISTS.of(3).is_empty());
        assert_eq!(*of_parent, [Path::new("a.tmp")]);
    }

    #[test]
    fn threads_that_come_first_share_a_list() {
        static LISTS: Unfinished = Unfinished::new();
        std::thread::scope(|scope| {
            (0..8).for_each(|i| drop(scope.spawn(move || LISTS.of(1).push(i.to_string().into()))));
        });
        assert_eq!(LISTS.of(1).len(), 8);
    }

    #[test]
    fn the_copy_of_a_guard_in_a_forked_child_removes_nothing() {
        let folder = folder("forked");
        let (mut guard, _file) = AtomicFile::create(&folder.join("file")).unwrap();
        guard.writer = 0;
        let temporary = guard.temporary().to_path_buf();
        drop(guard);
        assert!(temporary.exists());
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
