//! A cache in a file of its own: what it belongs to, then a payload with its checksum.
//!
//! Layout, little-endian: the header that says what the cache belongs to, whatever that is; 8 bytes, the size of the
//! payload; 8 bytes, the XXH3 of the payload; the payload. One that does not fit is as good as none.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::xxh3_64;

/// The payload of a cache that has this header and came whole.
pub(crate) fn read(path: &Path, header: &[u8]) -> Option<Vec<u8>> {
    let mut all = fs::read(path).ok()?;
    let rest = all.strip_prefix(header)?;
    let (size, rest) = rest.split_at_checked(8)?;
    let (sum, payload) = rest.split_at_checked(8)?;
    let fits = size == (payload.len() as u64).to_le_bytes() && sum == xxh3_64(payload).to_le_bytes();
    let from = all.len() - payload.len();
    fits.then(|| all.split_off(from))
}

/// Writes a cache: to a temporary file that replaces the old one when it is whole.
///
/// # Errors
/// What the file system answers.
pub(crate) fn write(path: &Path, header: &[u8], payload: &[u8]) -> io::Result<()> {
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(format!(".{}.tmp", std::process::id()));
    let temporary = PathBuf::from(temporary);
    let mut head = header.to_vec();
    head.extend((payload.len() as u64).to_le_bytes());
    head.extend(xxh3_64(payload).to_le_bytes());
    let written = fs::File::create(&temporary)
        .and_then(|mut f| f.write_all(&head).and_then(|()| f.write_all(payload)))
        .and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        // What is left of it is of no use; that it cannot be removed either changes nothing.
        let _ = fs::remove_file(&temporary);
    }
    written
}
