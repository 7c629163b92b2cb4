//! Line feeds, a bit mask of 64 bytes at a time.
//!
//! For the next editor: the pass over a file that makes its index runs this loop over every byte. The last block is
//! copied into a buffer of zeros instead of being read past the end; zeros are no line feeds.

/// The positions of line feeds, ascending.
pub(crate) struct Feeds<'a> {
    bytes: &'a [u8],
    /// Where the block after the mask's begins.
    next: usize,
    mask: u64,
}

impl<'a> Feeds<'a> {
    /// Those from `from` on.
    pub(crate) fn new(bytes: &'a [u8], from: usize) -> Feeds<'a> {
        Feeds { bytes, next: from, mask: 0 }
    }
}

impl Iterator for Feeds<'_> {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        while self.mask == 0 {
            let rest = self.bytes.get(self.next..)?;
            self.mask = match rest.first_chunk::<64>() {
                Some(block) => mask(block),
                None if rest.is_empty() => return None,
                None => {
                    let mut block = [0; 64];
                    block[..rest.len()].copy_from_slice(rest);
                    mask(&block)
                }
            };
            self.next += 64;
        }
        let feed = self.next - 64 + self.mask.trailing_zeros() as usize;
        self.mask &= self.mask - 1;
        Some(feed)
    }
}

/// A bit for every line feed.
#[cfg(target_arch = "x86_64")]
#[inline]
fn mask(block: &[u8; 64]) -> u64 {
    use std::arch::x86_64::{_mm_cmpeq_epi8, _mm_loadu_si128, _mm_movemask_epi8, _mm_set1_epi8};
    let part = |at: usize| {
        // SAFETY: SSE2 is part of x86-64, and `at + 16` is at most 64. Bit by bit this is 20 times as slow.
        let bits = unsafe {
            let bytes = _mm_loadu_si128(block.as_ptr().add(at).cast());
            _mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(b'\n' as i8)))
        };
        u64::from(bits as u16) << at
    };
    part(0) | part(16) | part(32) | part(48)
}

/// A bit for every line feed.
#[cfg(target_arch = "aarch64")]
#[inline]
fn mask(block: &[u8; 64]) -> u64 {
    use std::arch::aarch64::{vceqq_u8, vdupq_n_u8};

    use super::neon::{mask, quarters};
    // SAFETY: NEON is part of this architecture. Emulated only, so not measured; on x86-64 bit by bit is 20 times as slow.
    unsafe { mask(quarters(block).map(|quarter| vceqq_u8(quarter, vdupq_n_u8(b'\n')))) }
}

/// A bit for every line feed.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
#[inline]
fn mask(block: &[u8; 64]) -> u64 {
    block.iter().enumerate().fold(0, |mask, (i, &b)| mask | u64::from(b == b'\n') << i)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_feed_is_found_once() {
        let mut bytes = vec![b'x'; 300];
        for at in [0, 1, 15, 16, 63, 64, 127, 200, 299] {
            bytes[at] = b'\n';
        }
        for from in [0, 1, 2, 64, 65, 299, 300] {
            let found: Vec<usize> = Feeds::new(&bytes, from).collect();
            let expected: Vec<usize> = (from..300).filter(|&i| bytes[i] == b'\n').collect();
            assert_eq!(found, expected, "from {from}");
        }
    }
}
