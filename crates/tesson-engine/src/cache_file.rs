//! A cache in a file of its own: what it belongs to, then a payload with its checksum.
//!
//! Layout, little-endian: the header that says what the cache belongs to, whatever that is; 8 bytes, the size of the
//! payload; 8 bytes, the XXH3 of the payload; the payload. One that does not fit is as good as none.

use std::io::{self, Read, Write};
use std::path::Path;

use xxhash_rust::xxh3::xxh3_64;

use crate::atomic_file::{AtomicFile, Existing};
use crate::store::open_regular;

/// The largest payload that an index of so many bytes of data can have. Indexes are far smaller; a file that declares
/// more is none, and is not read.
pub(crate) fn most_bytes(data: u64) -> u64 {
    data.saturating_mul(16).saturating_add(64 << 10)
}

/// The payload of a cache that has this header, is complete, and has at most so many bytes. Anything else is not read
/// beyond the header; anything but a regular file is not even opened.
pub(crate) fn read(path: &Path, header: &[u8], most: u64) -> Option<Vec<u8>> {
    let (mut file, meta) = open_regular(path).ok()?;
    let mut head = vec![0; header.len() + 16];
    file.read_exact(&mut head).ok()?;
    let rest = head.strip_prefix(header)?;
    let (size, sum) = rest.split_at(8);
    let size = u64::from_le_bytes(size.try_into().ok()?);
    if size > most || meta.len() != head.len() as u64 + size {
        return None;
    }
    let mut payload = Vec::with_capacity(usize::try_from(size).ok()?);
    file.take(size).read_to_end(&mut payload).ok()?;
    let fits = payload.len() as u64 == size && *sum == xxh3_64(&payload).to_le_bytes();
    fits.then_some(payload)
}

/// Writes a cache: to a temporary file that replaces the old one when it is complete.
///
/// # Errors
/// What the file system answers.
pub(crate) fn write(path: &Path, header: &[u8], payload: &[u8]) -> io::Result<()> {
    let mut head = header.to_vec();
    head.extend((payload.len() as u64).to_le_bytes());
    head.extend(xxh3_64(payload).to_le_bytes());
    let (guard, mut file) = AtomicFile::create(path)?;
    file.write_all(&head)?;
    file.write_all(payload)?;
    guard.commit(Existing::Replace)
}
