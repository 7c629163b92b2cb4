//! Small text files, and errors of opening files that say what may help.

use std::io;
use std::path::Path;

use tesson_core::StoreError;

use super::{FileStore, Store, read_small};

/// The text in a configuration or a state: a regular file of at most 64 MiB.
///
/// # Errors
/// Another kind of file, a larger one, one that cannot be read, with what may help.
pub fn read_text(path: &Path) -> Result<String, StoreError> {
    let text = read_small(path).and_then(|bytes| {
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
    text.map_err(|e| unreadable(path, e))
}

/// The error of a file that cannot be opened, with what may help.
pub fn unreadable(path: &Path, e: io::Error) -> StoreError {
    let remedy = FileStore.remedy(path, &e);
    StoreError::new(path.into(), None, e).with_remedy(remedy)
}
