//! Blocks: at every multiple of 64 KiB a header of 24 bytes interrupts whatever chunk is there.

use highway::{HighwayHash, HighwayHasher, Key};

use crate::record::Problem;

/// From one block header to the next.
pub(super) const BLOCK: u64 = 1 << 16;

/// Bytes of a block header.
pub(super) const HEADER: u64 = 24;

/// The hash of everything in a file.
pub(super) fn hash(bytes: &[u8]) -> u64 {
    const KEY: Key =
        Key([0x2F69_6C65_6765_6952, 0x0A73_6472_6F63_6572, 0x2F69_6C65_6765_6952, 0x0A73_6472_6F63_6572]);
    HighwayHasher::new(KEY).hash64(bytes)
}

/// The place behind so many bytes of a chunk from `at` on. Right before a block header that place is the header's.
pub(super) fn advance(mut at: u64, mut bytes: u64) -> u64 {
    // Whole blocks are gone over at once.
    if bytes > BLOCK {
        let blocks = bytes / (BLOCK - HEADER) - 1;
        at += blocks * BLOCK;
        bytes -= blocks * (BLOCK - HEADER);
    }
    while bytes > 0 {
        let begin = at.max(at / BLOCK * BLOCK + HEADER);
        let part = bytes.min((begin / BLOCK + 1) * BLOCK - begin);
        at = begin + part;
        bytes -= part;
    }
    at
}

/// The header in front of a block, in a chunk from `begin` to `end`, that stands at `at`.
pub(super) fn header(begin: u64, at: u64, end: u64) -> [u8; HEADER as usize] {
    let mut header = [0; HEADER as usize];
    header[8..16].copy_from_slice(&(at - begin).to_le_bytes());
    header[16..].copy_from_slice(&(end - at).to_le_bytes());
    let sum = hash(&header[8..]);
    header[..8].copy_from_slice(&sum.to_le_bytes());
    header
}

/// Bytes of a file from somewhere on, from which a chunk is taken.
pub(super) struct Cursor<'a> {
    /// The bytes, and the place in the file of the first.
    pub(super) raw: &'a [u8],
    pub(super) base: u64,
    /// The place in the file that is next.
    pub(super) at: u64,
    /// Where the chunk begins.
    pub(super) chunk: u64,
}

impl<'a> Cursor<'a> {
    /// Takes so many bytes of the chunk. They are put together in `gather` where block headers stand between them, which
    /// are checked.
    pub(super) fn take<'b>(&mut self, n: u64, gather: &'b mut Vec<u8>) -> Result<&'b [u8], Problem>
    where
        'a: 'b,
    {
        let end = self.at.saturating_add(n);
        if !self.at.is_multiple_of(BLOCK) && end <= self.at / BLOCK * BLOCK + BLOCK {
            let bytes = self.raw(self.at, end)?;
            self.at = end;
            return Ok(bytes);
        }
        // All of it must be there before any of it is copied.
        self.raw(self.at, end.max(self.at))?;
        gather.clear();
        let mut left = n;
        while left > 0 {
            if self.at.is_multiple_of(BLOCK) {
                self.check_header()?;
                self.at += HEADER;
            }
            let part = left.min((self.at / BLOCK + 1) * BLOCK - self.at);
            gather.extend_from_slice(self.raw(self.at, self.at + part)?);
            self.at += part;
            left -= part;
        }
        Ok(gather)
    }

    fn check_header(&self) -> Result<(), Problem> {
        let header = self.raw(self.at, self.at + HEADER)?;
        let expected = u64::from_le_bytes(*header.first_chunk().expect("it has 24 bytes"));
        let found = hash(&header[8..]);
        if found == expected {
            return Ok(());
        }
        Err(Problem::Hash { of: "block header", found, expected, chunk: self.chunk })
    }

    fn raw(&self, from: u64, to: u64) -> Result<&'a [u8], Problem> {
        let range = (from - self.base) as usize..(to - self.base) as usize;
        let cut = || Problem::Truncated {
            needed: to - self.chunk,
            left: self.base + self.raw.len() as u64 - self.chunk,
        };
        self.raw.get(range).ok_or_else(cut)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn going_over_bytes_goes_over_the_headers_between_them() {
        assert_eq!(advance(100, 0), 100);
        assert_eq!(advance(100, 65_436), 65_536);
        assert_eq!(advance(100, 65_437), 65_536 + 25);
        assert_eq!(advance(65_536, 1), 65_536 + 25);
        assert_eq!(advance(65_536, 65_512), 131_072);
        for (at, bytes) in [(64, 1_000_000), (65_536, 65_513), (131_071, 65_537), (3 * BLOCK + 30, 131_024)] {
            let one_by_one = (0..bytes).fold(at, |at, _| advance(at, 1));
            assert_eq!(advance(at, bytes), one_by_one, "{bytes} from {at}");
        }
    }
}
