//! A stretch of the file, of which as much is in memory at once as fits a core's cache.

use std::ops::Range;

use tesson_core::{Error, Fetch};

use super::FILE;

/// Bytes that are read at once. What a core copies out of them should still be in its cache.
pub(super) const READ: u64 = 256 << 10;

/// Longer records are read several at once, up to so many bytes: the beginning of one that did not fit is read again.
const MOST: u64 = 1 << 20;

/// Of what may be read at once this part is: each worker holds as much, and columns beside it.
const SHARE: u64 = 8;

/// Bytes on their way from the file to columns.
pub(super) struct Window<'a> {
    fetch: &'a dyn Fetch,
    bytes: &'a mut Vec<u8>,
    /// Where `bytes` begin in the file.
    start: u64,
    /// Nothing is read from here on.
    end: u64,
    /// All bytes of the stretch, where they are in memory already.
    kept: Option<&'a [u8]>,
}

impl<'a> Window<'a> {
    /// A window on nothing; `bytes` is memory for it.
    pub(super) fn new(fetch: &'a dyn Fetch, bytes: &'a mut Vec<u8>) -> Window<'a> {
        bytes.clear();
        Window { fetch, bytes, start: 0, end: 0, kept: None }
    }

    /// Looks at this stretch of the file from now on.
    pub(super) fn go(&mut self, stretch: Range<u64>) {
        self.bytes.clear();
        (self.start, self.end, self.kept) = (stretch.start, stretch.end, None);
    }

    /// Looks at this stretch, of which nothing has to be read if `kept` has its bytes.
    pub(super) fn go_to(&mut self, stretch: Range<u64>, kept: Option<&'a [u8]>) {
        self.go(stretch);
        self.kept = kept;
    }

    /// The bytes from `at` on: at least `least` of them, unless the stretch ends before, and more if they are at hand.
    pub(super) fn look(&mut self, at: u64, least: u64) -> Result<&[u8], Error> {
        self.look_by(at, least, READ.max((8 * least).min(MOST)))
    }

    /// Like [`Window::look`]; where something has to be read, it reads `most` bytes, or fewer where there is little
    /// memory.
    pub(super) fn look_by(&mut self, at: u64, least: u64, most: u64) -> Result<&[u8], Error> {
        if let Some(kept) = self.kept {
            return Ok(&kept[(at - self.start) as usize..]);
        }
        let end = self.end.min(at + least);
        if at < self.start || end > self.start + self.bytes.len() as u64 {
            let all = at..self.end.min(at + least.max(most.min(self.fetch.largest() / SHARE)));
            if let Some(bytes) = self.fetch.mapped(FILE, all.clone()) {
                return Ok(bytes);
            }
            self.start = at;
            self.fetch.read_over(FILE, all, self.bytes)?;
        }
        Ok(&self.bytes[(at - self.start) as usize..])
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::Memory;
    use super::*;

    #[test]
    fn what_is_asked_for_is_there_as_far_as_the_stretch_goes() {
        let memory = Memory::new((0..=255).collect());
        let mut bytes = Vec::new();
        let mut window = Window::new(&memory, &mut bytes);
        window.go(10..100);
        for (at, least, most) in [(10, 4, 8), (12, 8, 1), (95, 8, 64), (30, 1, 1), (100, 4, 4)] {
            let found = window.look_by(at, least, most).unwrap();
            assert!(found.len() as u64 >= least.min(100 - at) && found.len() as u64 <= 100 - at, "{at}");
            assert!(found.iter().zip(at as u8..).all(|(&found, expected)| found == expected), "{at}");
        }
        let kept: Vec<u8> = (20..40).collect();
        window.go_to(20..40, Some(&kept));
        assert_eq!(window.look(38, 8).unwrap(), [38, 39]);
        assert!(window.look(40, 8).unwrap().is_empty());
    }
}
