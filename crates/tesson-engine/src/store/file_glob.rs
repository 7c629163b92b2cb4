//! Local files that a pattern matches.

use std::io;
use std::path::PathBuf;

/// The files that `*`, `?` and `[…]` in a local name stand for, by name.
///
/// # Errors
/// A pattern that is none, and a folder that cannot be read, as half a sentence.
pub(crate) fn file_glob(pattern: &str) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for file in glob::glob(pattern).map_err(io::Error::other)? {
        let file = file.map_err(io::Error::other)?;
        if file.is_file() {
            files.push(file);
        }
    }
    Ok(files)
}
