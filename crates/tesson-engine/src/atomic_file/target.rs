//! Targets of writing: looked at before hours of work, at whose end the same rules hold.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The kind of thing that has the name of an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Nothing, or nothing that can be seen: writing says why.
    Free,
    /// A folder.
    Folder,
    /// Anything else. A link counts, wherever it leads.
    Taken,
}

impl Target {
    /// Looks at a name.
    pub fn of(path: &Path) -> Target {
        match fs::symlink_metadata(path) {
            Ok(found) if found.is_dir() => Target::Folder,
            Ok(_) => Target::Taken,
            Err(_) => Target::Free,
        }
    }
}

/// True if two names lead to one file after links are followed.
#[cfg(unix)]
pub fn is_same_file(one: &Path, other: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let id = |path: &Path| fs::metadata(path).ok().map(|found| (found.dev(), found.ino()));
    id(one).is_some_and(|one| Some(one) == id(other))
}

/// True if two names lead to one file after links are followed.
#[cfg(not(unix))]
pub fn is_same_file(one: &Path, other: &Path) -> bool {
    matches!((fs::canonicalize(one), fs::canonicalize(other)), (Ok(one), Ok(other)) if one == other)
}

/// Makes a folder, and those above it that are missing.
///
/// # Errors
/// Errors of the file system.
pub fn create_folder(path: &Path) -> io::Result<()> {
    fs::create_dir_all(path)
}

/// A folder that gets its name when it is complete. Unlike a file it is kept when its writer is killed: what is in it is
/// what the next writer resumes from.
#[derive(Debug)]
pub struct UnfinishedFolder {
    target: PathBuf,
    folder: PathBuf,
}

impl UnfinishedFolder {
    /// The folder `folder`, made unless it is there, which will be `target`.
    ///
    /// # Errors
    /// Errors of the file system.
    pub fn open(folder: PathBuf, target: PathBuf) -> io::Result<UnfinishedFolder> {
        create_folder(&folder)?;
        Ok(UnfinishedFolder { target, folder })
    }

    /// Where it lies until it is complete.
    pub fn path(&self) -> &Path {
        &self.folder
    }

    /// The name that it gets.
    pub fn target(&self) -> &Path {
        &self.target
    }

    /// Removes its files, not its folders.
    ///
    /// # Errors
    /// Errors of the file system.
    pub fn remove_files(&self) -> io::Result<()> {
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            if !entry.file_type()?.is_dir() {
                fs::remove_file(entry.path())?;
            }
        }
        Ok(())
    }

    /// Gives the folder its name, in one step.
    ///
    /// # Errors
    /// Errors of the file system, such as that there is one of this name.
    pub fn publish(&self) -> io::Result<()> {
        fs::rename(&self.folder, &self.target)
    }
}

/// Removes a folder and all that is in it.
///
/// # Errors
/// Errors of the file system.
pub fn remove_folder(path: &Path) -> io::Result<()> {
    fs::remove_dir_all(path)
}
