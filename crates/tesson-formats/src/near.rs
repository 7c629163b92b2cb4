//! Parts of a file that lie close to each other, read together.

use std::ops::Range;

use tesson_core::{Error, Fetch, ResourceId};

/// Bytes that are read at once, where neighbouring parts are wanted.
const READ: u64 = 1 << 20;

/// A part of a file, and those after it that were read with it.
pub(crate) struct NearBytes {
    file: ResourceId,
    bytes: Vec<u8>,
    /// Where they lie in the file.
    range: Range<u64>,
}

impl NearBytes {
    /// Nothing yet, in a buffer that is overwritten.
    pub(crate) fn new(file: ResourceId, buffer: Vec<u8>) -> NearBytes {
        NearBytes { file, bytes: buffer, range: 0..0 }
    }

    /// The bytes of a range. If they have to be read, those up to the last of the `ends` of parts that are wanted next, the
    /// first of them this one, are read with them as far as they lie close by.
    pub(crate) fn get(
        &mut self,
        wanted: Range<u64>,
        ends: impl Iterator<Item = u64>,
        fetch: &dyn Fetch,
    ) -> Result<&[u8], Error> {
        if !(self.range.start <= wanted.start && wanted.end <= self.range.end) {
            let near = ends.take_while(|&end| wanted.start <= end && end <= wanted.start + READ);
            let end = near.last().unwrap_or(0).max(wanted.end);
            fetch.read_over(self.file, wanted.start..end, &mut self.bytes)?;
            self.range = wanted.start..end;
        }
        let start = (wanted.start - self.range.start) as usize;
        Ok(&self.bytes[start..start + (wanted.end - wanted.start) as usize])
    }

    /// The buffer, to be used again.
    pub(crate) fn into_buffer(self) -> Vec<u8> {
        self.bytes
    }
}
