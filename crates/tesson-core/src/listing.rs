//! A folder in the place of a file: its contents as bytes, which a deserializer reads like those of any file.

use std::io;

use crate::PackedTexts;
use crate::store::Resource;

/// The names in a folder and in all folders below it. Deserializers that
/// [take folders](crate::DeserializerFacts::takes_folders) get its bytes where the configuration names a folder.
///
/// Names are kept packed, and become bytes as they are read: a listing is a [`Resource`].
///
/// ```
/// use tesson_core::Listing;
///
/// let mut listing = Listing::default();
/// listing.push("cat/");
/// listing.push("cat/1.jpg");
/// let bytes = listing.into_bytes();
/// assert_eq!(Listing::names(&bytes).unwrap().collect::<Vec<_>>(), ["cat/", "cat/1.jpg"]);
/// assert!(Listing::names(b"cat/1.jpg\t0\n").is_none(), "a file");
/// ```
#[derive(Clone, Debug, Default)]
pub struct Listing {
    names: PackedTexts,
    /// Where each group of names begins in the bytes, counted from the first name.
    groups: Vec<u64>,
    /// Bytes of all names, with a line feed each.
    bytes: u64,
}

impl Listing {
    /// The beginning of a listing, which no text file has. The names follow, one a line.
    pub const START: &[u8] = b"\0folder\n";

    /// Adds a name, relative to the folder, with `/` between its parts; that of a folder ends with `/`.
    ///
    /// # Panics
    /// If there is a line feed in it.
    pub fn push(&mut self, name: &str) {
        assert!(!name.contains('\n'), "names are lines");
        if self.names.len().is_multiple_of(PackedTexts::GROUP) {
            self.groups.push(self.bytes);
        }
        self.names.push(name.as_bytes());
        self.bytes += name.len() as u64 + 1;
    }

    /// The listing as the bytes of a file.
    pub fn into_bytes(self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(Listing::START.len() + self.bytes as usize);
        bytes.extend_from_slice(Listing::START);
        let mut name = Vec::new();
        for group in 0..self.names.n_groups() {
            self.names.each_of_group(group, &mut name, |name| {
                bytes.extend_from_slice(name);
                bytes.push(b'\n');
                true
            });
        }
        bytes
    }

    /// The names, as they were added; `None` for bytes of a file.
    pub fn names(bytes: &[u8]) -> Option<impl Iterator<Item = &str>> {
        let names = bytes.strip_prefix(Listing::START)?;
        Some(std::str::from_utf8(names).ok()?.lines())
    }

    /// Bytes of memory that it takes.
    pub fn memory(&self) -> usize {
        self.names.bytes() + self.groups.capacity() * size_of::<u64>()
    }
}

/// Appends the bytes of `from` after the first `at` to what is filled of `into`; `at` counts down over those passed.
fn copy(from: &[u8], at: &mut u64, into: &mut [u8], filled: &mut usize) {
    let skipped = (*at).min(from.len() as u64) as usize;
    *at -= skipped as u64;
    let n = (from.len() - skipped).min(into.len() - *filled);
    into[*filled..*filled + n].copy_from_slice(&from[skipped..skipped + n]);
    *filled += n;
}

impl Resource for Listing {
    fn size(&self) -> u64 {
        Listing::START.len() as u64 + self.bytes
    }

    fn modified_ns(&self) -> Option<u128> {
        None
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        let (mut at, mut filled) = (offset, 0);
        copy(Listing::START, &mut at, into, &mut filled);
        let first = self.groups.partition_point(|&begin| begin <= at).saturating_sub(1);
        at -= self.groups.get(first).copied().unwrap_or(0);
        let mut name = Vec::new();
        for group in first..self.names.n_groups() {
            let goes_on = self.names.each_of_group(group, &mut name, |name| {
                copy(name, &mut at, into, &mut filled);
                copy(b"\n", &mut at, into, &mut filled);
                filled < into.len()
            });
            if !goes_on {
                break;
            }
        }
        Ok(filled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listing_is_read_at_any_offset_as_its_bytes_are() {
        for n in [0, 1, 31, 32, 33, 100] {
            let mut listing = Listing::default();
            (0..n).for_each(|i| listing.push(&format!("folder/é{}", i * 7)));
            let bytes = listing.clone().into_bytes();
            assert_eq!(listing.size(), bytes.len() as u64);
            for offset in 0..=bytes.len() {
                for length in [0, 1, 5, 300, 5000] {
                    let mut into = vec![0; length];
                    let read = listing.read_at(offset as u64, &mut into).unwrap();
                    let expected = &bytes[offset..bytes.len().min(offset + length)];
                    assert_eq!(&into[..read], expected, "{n} names, {length} bytes from {offset}");
                }
            }
        }
    }
}
