//! The bytes of a map, read in pieces: no more of it is in memory at once than a piece, or its longest line.

use std::cell::Cell;
use std::path::Path;

use tesson_core::{DataError, Error, Fetch, Listing, Location, ResourceId};
use xxhash_rust::xxh3::Xxh3;

use super::fault::ImageMapFault;
use crate::lines::{LineFile, Reads, lines, most_read};

/// The map file among the resources.
pub(super) const MAP: ResourceId = ResourceId(0);

/// Bytes that are read at once.
pub(super) const PIECE: u64 = 256 << 10;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// A map that is about to be read.
pub(super) struct MapText<'a> {
    fetch: &'a dyn Fetch,
    path: &'a Path,
    /// Bytes of each read.
    piece: u64,
    /// The bytes before the first line.
    prologue: &'static [u8],
    pub(super) size: u64,
    /// True if the names in a folder stand for the lines of a map.
    pub(super) is_folder: bool,
}

/// A line of a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct TextLine<'a> {
    /// The line, from 1.
    pub(super) number: u32,
    /// Where it begins.
    pub(super) offset: u64,
    /// The bytes, with the line feed if there is one.
    pub(super) bytes: &'a [u8],
}

impl<'a> MapText<'a> {
    /// Looks at the beginning of a map, which is read in pieces of so many bytes.
    ///
    /// # Errors
    /// Unreadable storage.
    pub(super) fn open(fetch: &'a dyn Fetch, path: &'a Path, piece: u64) -> Result<MapText<'a>, Error> {
        let size = fetch.size(MAP)?;
        let mut begin = Vec::new();
        fetch.read(MAP, 0..size.min(Listing::START.len() as u64), &mut begin)?;
        let is_folder = begin.starts_with(Listing::START);
        let prologue = if is_folder {
            Listing::START
        } else if begin.starts_with(BYTE_ORDER_MARK) {
            BYTE_ORDER_MARK
        } else {
            b""
        };
        Ok(MapText { fetch, path, piece, prologue, size, is_folder })
    }

    /// Calls `each` with every line, and returns a hash of all bytes with this seed.
    ///
    /// # Errors
    /// Errors of `each`, a line that is too long, and unreadable storage.
    pub(super) fn each_line(
        &self,
        seed: u64,
        mut each: impl FnMut(TextLine<'_>) -> Result<(), Error>,
    ) -> Result<u64, Error> {
        let mut hash = Xxh3::with_seed(seed);
        hash.update(self.prologue);
        let first = self.prologue.len() as u64;
        let n = Cell::new(0);
        lines(
            LineFile { file: MAP, first },
            self.fetch,
            Reads { from: first, end: self.size, bytes: self.piece },
            |_, offset| self.too_long(offset, n.get() + 1),
            |line| {
                hash.update(line.bytes);
                let number = n.get() + 1;
                n.set(number);
                each(TextLine { number, offset: line.offset, bytes: line.bytes })?;
                Ok(true)
            },
        )?;
        Ok(hash.digest())
    }

    /// Bytes that the lines of one record may have.
    pub(super) fn longest(&self) -> u64 {
        most_read(self.fetch)
    }

    /// The error of a line, or of a record of several, that is longer than memory allows.
    pub(super) fn too_long(&self, offset: u64, line: u32) -> Error {
        let fault = ImageMapFault::LongLine { limit: self.longest() };
        DataError::new(fault, Location { file: self.path.into(), offset, line: Some(line.into()) }).into()
    }
}
