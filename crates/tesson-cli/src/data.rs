//! The data that commands name: asked of the store that reads them, not of the file system.

use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

use tesson::store::{Entry, Store, Stores};

use crate::failure::Failure;

/// The stores of the command line: local files, and members of archives.
pub(crate) fn stores() -> Stores {
    Stores::local()
}

/// The entry of a name.
pub(crate) fn entry(path: &Path) -> io::Result<Entry> {
    stores().entry(path)
}

/// True if there is anything of this name.
pub(crate) fn exists(path: &Path) -> bool {
    entry(path).is_ok()
}

/// True if it is a folder.
pub(crate) fn is_folder(path: &Path) -> bool {
    entry(path).is_ok_and(|found| found.is_folder())
}

/// The size of a file in bytes.
pub(crate) fn size(path: &Path) -> Result<u64, Failure> {
    entry(path).map(|found| found.size).map_err(|e| Failure::file(path, e))
}

/// The first bytes of a regular file; nothing of what cannot be read, which is reported when it is opened.
pub(crate) fn beginning(path: &Path, most: usize) -> Vec<u8> {
    tesson_engine::store::beginning(&stores(), path, most)
}

/// A file to be read from its beginning.
pub(crate) fn stream(path: &Path) -> io::Result<BufReader<Box<dyn Read + Send>>> {
    stores().stream(path).map(BufReader::new)
}

/// The first few names in a folder, each with the folder before it; none of a folder that cannot be listed.
pub(crate) fn inside(folder: &Path, most: usize) -> impl Iterator<Item = PathBuf> {
    let folder = folder.to_path_buf();
    let names = stores().names(&folder).unwrap_or_default();
    names.into_iter().take(most).map(move |inside| folder.join(inside.name))
}
