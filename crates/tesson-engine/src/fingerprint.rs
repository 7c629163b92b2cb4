//! What identifies a corpus, whatever its path and times are.

use std::ops::Range;

use tesson_core::{Error, Fetch, ResourceId};
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

/// Bytes at both ends of each file that are part of the fingerprint.
const END: u64 = 64 << 10;

/// A hash of the sizes of these files and of the first and last 64 KiB of each.
pub(crate) fn corpus(resources: &dyn Fetch, files: Range<usize>) -> Result<u64, Error> {
    let mut hash = Xxh3::new();
    let mut bytes = Vec::new();
    for number in files {
        let id = ResourceId(number as u32);
        let size = resources.size(id)?;
        hash.update(&size.to_le_bytes());
        bytes.clear();
        resources.read(id, 0..size.min(END), &mut bytes)?;
        resources.read(id, size.saturating_sub(END).max(size.min(END))..size, &mut bytes)?;
        hash.update(&bytes);
    }
    Ok(hash.digest())
}

/// A hash of a text.
pub(crate) fn text(text: &str) -> u64 {
    xxh3_64(text.as_bytes())
}
