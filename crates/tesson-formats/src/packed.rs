//! Files that are compressed as a whole, by gzip or Zstandard, read at any position of what they unpack to.
//!
//! A file is unpacked once when it is opened: that finds its size, compares its checksums and keeps positions from which
//! unpacking can begin. Nothing unpacked is kept.

use std::path::Path;

use tesson_core::{DataError, DataErrorKind, Error, Fetch, FormatFaults, Location, ResourceId};

use crate::codecs::{Gunzip, UnpackError, Unzstd, begin_gunzip, begin_unzstd};

tesson_core::error_kinds! {
    /// A fault of a compressed file.
    pub enum PackedFault {
        /// A compressed file is damaged, or cannot be unpacked.
        Damaged { packing: &'static str = "gzip", why: String = "the file ends within compressed data".into() }
            = "packed.damaged": "the file is compressed by {packing} and cannot be unpacked: {why}"
            => "Copy or write the file again, or unpack it.",
    }
}

impl FormatFaults for PackedFault {}

/// How a file is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// One or more members of gzip (RFC 1952).
    Gzip,
    /// Frames of Zstandard (RFC 8878).
    Zstd,
}

impl Packing {
    /// The compression of a file that begins with these bytes, four or more, if it has one.
    pub fn of(beginning: &[u8]) -> Option<Packing> {
        match beginning {
            [0x1F, 0x8B, 8, ..] => Some(Packing::Gzip),
            // A frame, or one that is to be skipped.
            [0x28, 0xB5, 0x2F, 0xFD, ..] | [0x50..=0x5F, 0x2A, 0x4D, 0x18, ..] => Some(Packing::Zstd),
            _ => None,
        }
    }

    /// The name without the ending that says how the file is compressed.
    pub fn stem(name: &str) -> &str {
        let ends = [".gz", ".zst", ".zstd"];
        let is_end = |end: &&str| {
            name.get(name.len().saturating_sub(end.len())..)
                .is_some_and(|found| found.eq_ignore_ascii_case(end))
        };
        ends.iter().find(|end| is_end(end)).map_or(name, |end| &name[..name.len() - end.len()])
    }

    fn name(self) -> &'static str {
        match self {
            Packing::Gzip => "gzip",
            Packing::Zstd => "Zstandard",
        }
    }

    /// The first `most` bytes that a file unpacks to, or all of them.
    ///
    /// # Errors
    /// Unreadable storage, and damage before these bytes.
    pub fn beginning(
        self,
        path: &Path,
        resource: ResourceId,
        fetch: &dyn Fetch,
        most: usize,
    ) -> Result<Vec<u8>, Error> {
        let found = match self {
            Packing::Gzip => begin_gunzip(resource, fetch, most),
            Packing::Zstd => begin_unzstd(resource, fetch, most),
        };
        found.map_err(|error| self.error(path, error))
    }

    fn error(self, path: &Path, error: UnpackError) -> Error {
        match error {
            UnpackError::Error(error) => error,
            UnpackError::Damaged(offset, why) => {
                let fault: DataErrorKind = PackedFault::Damaged { packing: self.name(), why }.into();
                DataError::new(fault, Location { file: path.into(), offset, line: None }).into()
            }
        }
    }
}

/// A compressed file that has been unpacked once.
pub struct PackedFile(Codec);

enum Codec {
    Gzip(Gunzip),
    Zstd(Unzstd),
}

impl PackedFile {
    /// Unpacks a file once.
    ///
    /// # Errors
    /// Unreadable storage, damage, and checksums that differ.
    pub fn new(
        packing: Packing,
        path: &Path,
        resource: ResourceId,
        fetch: &dyn Fetch,
    ) -> Result<PackedFile, Error> {
        let codec = match packing {
            Packing::Gzip => Gunzip::new(resource, fetch).map(Codec::Gzip),
            Packing::Zstd => Unzstd::new(resource, fetch).map(Codec::Zstd),
        };
        codec.map(PackedFile).map_err(|error| packing.error(path, error))
    }

    /// Bytes of memory held.
    pub fn memory(&self) -> usize {
        match &self.0 {
            Codec::Gzip(codec) => codec.memory(),
            Codec::Zstd(codec) => codec.memory(),
        }
    }

    /// Calls `act` with what the file unpacks to, which every resource is there. Locations of errors are in that.
    pub fn with_unpacked<T>(&self, path: &Path, fetch: &dyn Fetch, act: impl FnOnce(&dyn Fetch) -> T) -> T {
        match &self.0 {
            Codec::Gzip(codec) => act(&codec.unpacked(path, fetch)),
            Codec::Zstd(codec) => act(&codec.unpacked(path, fetch)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compression_is_told_by_content_and_stripped_from_names() {
        assert_eq!(Packing::of(&[0x1F, 0x8B, 8, 0]), Some(Packing::Gzip));
        assert_eq!(Packing::of(&[0x28, 0xB5, 0x2F, 0xFD]), Some(Packing::Zstd));
        assert_eq!(Packing::of(&[0x5A, 0x2A, 0x4D, 0x18]), Some(Packing::Zstd));
        assert_eq!(Packing::of(b"x,y\n"), None);
        for (name, stem) in [
            ("a.csv.gz", "a.csv"),
            ("ä.JSONL.ZST", "ä.JSONL"),
            ("a.mds.zstd", "a.mds"),
            ("gz", "gz"),
            ("ä", "ä"),
        ] {
            assert_eq!(Packing::stem(name), stem);
        }
    }
}
