//! The windows in which sequences are shuffled, and the window of each place (spec/engine.md §5.2).
//!
//! Both kinds are written as the specification has them, with integers that round down: `size / 2` of an odd size and
//! the strict comparisons decide which chunks belong to a window, and with that the whole order.

use std::fmt;

use crate::{PlanRefusal, Result};

use tesson_core::{ChunkId, Index};

/// The size of the window in which sequences are shuffled.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Window {
    /// In chunks, at least 1.
    Chunks(u64),
    /// In samples.
    Samples(u64),
}

impl Window {
    /// The size of the window, and that of the whole corpus in the same unit.
    pub(super) fn size_of_total(self, index: &Index) -> (u64, u64) {
        match self {
            Window::Chunks(chunks) => (chunks, index.n_chunks() as u64),
            Window::Samples(samples) => (samples, index.n_samples()),
        }
    }

    /// The size of a chunk in the unit of the window.
    pub(super) fn size_of_chunk(self, index: &Index, chunk: ChunkId) -> u64 {
        match self {
            Window::Chunks(_) => 1,
            Window::Samples(_) => index.chunk(chunk).n_samples,
        }
    }

    /// True if a corpus has no sequence that is beyond any place's window.
    pub(super) fn holds_all(self, index: &Index) -> bool {
        match self {
            Window::Chunks(chunks) => chunks >= index.n_chunks() as u64,
            Window::Samples(samples) => samples / 2 > index.n_samples(),
        }
    }

    /// The size without its unit.
    pub(crate) fn size(self) -> u64 {
        match self {
            Window::Chunks(size) | Window::Samples(size) => size,
        }
    }

    /// Refuses what no order with windows supports: windows that are too small, and 2^32 sequences or more, since
    /// positions have 32 bits.
    pub(super) fn check(self, index: &Index, least_samples: u64) -> Result<()> {
        let (least, unit) = match self {
            Window::Chunks(_) => (1, "chunks"),
            Window::Samples(_) => (least_samples, "samples"),
        };
        if self.size() < least {
            return Err(PlanRefusal::EmptyWindow { unit });
        }
        if index.n_sequences() > u32::MAX.into() {
            return Err(PlanRefusal::TooManyForWindow { sequences: index.n_sequences() });
        }
        Ok(())
    }
}

impl fmt::Display for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Window::Chunks(n) => write!(f, "{n} chunks"),
            Window::Samples(n) => write!(f, "{n} samples"),
        }
    }
}

/// The window `[begin, end)` of each of `n` places, for windows of `size` chunks.
pub(super) fn in_chunks(n: usize, size: u64) -> impl Iterator<Item = (usize, usize)> {
    let n = n as u64;
    let half = size / 2;
    (0..n).map(move |place| {
        let begin = place.saturating_sub(half);
        let end = begin.saturating_add(size);
        let (begin, end) = if end > n { (n.saturating_sub(size), n) } else { (begin, end) };
        (begin as usize, end as usize)
    })
}

/// The window `[begin, end)` of each place, for windows of `size` samples. `before[p]` counts the samples before
/// place `p`; its last entry is their sum.
pub(super) fn in_samples(before: &[u64], size: u64) -> impl Iterator<Item = (usize, usize)> + '_ {
    let half = size / 2;
    let n = before.len() - 1;
    let (mut begin, mut end) = (0, 1);
    (0..n).map(move |place| {
        while before[place] - before[begin] > half {
            begin += 1;
        }
        end = end.max(place + 1);
        while end < n && before[end + 1] - before[place] < half {
            end += 1;
        }
        (begin, end)
    })
}

/// The windows of the places of chunks that are alike. Places need no table then: both ends of a window, and of the slots whose
/// windows hold a place, follow from its number.
#[derive(Copy, Clone, Debug)]
pub(super) struct AlikeWindows {
    n: u64,
    kind: AlikeKind,
}

#[derive(Copy, Clone, Debug)]
enum AlikeKind {
    /// Of `size` chunks, pushed back at both ends; all of them at most.
    Pushed { half: u64, size: u64 },
    /// As far as they go: so many chunks before a place, and up to so many places on.
    Cut { before: u64, after: u64 },
}

impl AlikeWindows {
    /// The windows of `n` places of chunks with so many samples each, of which there is one.
    pub(super) fn new(n: usize, window: Window, samples: u64) -> AlikeWindows {
        let n = n as u64;
        let kind = match window {
            Window::Chunks(size) => AlikeKind::Pushed { half: size / 2, size: size.min(n) },
            Window::Samples(size) => {
                let half = size / 2;
                AlikeKind::Cut { before: half / samples, after: (half.saturating_sub(1) / samples).max(1) }
            }
        };
        AlikeWindows { n, kind }
    }

    /// The window `[begin, end)` of a place.
    pub(super) fn window(self, place: usize) -> (usize, usize) {
        let place = place as u64;
        let (begin, end) = match self.kind {
            AlikeKind::Pushed { half, size } => {
                let begin = place.saturating_sub(half).min(self.n - size);
                (begin, begin + size)
            }
            AlikeKind::Cut { before, after } => {
                (place.saturating_sub(before), place.saturating_add(after).min(self.n))
            }
        };
        (begin as usize, end as usize)
    }

    /// The slots `[begin, end)` whose windows hold a place.
    pub(super) fn reach(self, place: usize) -> (usize, usize) {
        let place = place as u64;
        let (begin, end) = match self.kind {
            AlikeKind::Pushed { half, size } => {
                let begin = if place < size { 0 } else { place - size + 1 + half };
                let end = if place >= self.n - size { self.n } else { place + 1 + half };
                (begin, end)
            }
            AlikeKind::Cut { before, after } => {
                ((place + 1).saturating_sub(after), place.saturating_add(before).saturating_add(1))
            }
        };
        (begin as usize, end.min(self.n) as usize)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check_chunks(n: usize, size: u64, expected: &[(usize, usize)]) {
        assert_eq!(in_chunks(n, size).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn windows_lie_around_their_place_and_are_pushed_back_at_both_ends() {
        check_chunks(4, 1, &[(0, 1), (1, 2), (2, 3), (3, 4)]);
        check_chunks(4, 2, &[(0, 2), (0, 2), (1, 3), (2, 4)]);
        check_chunks(4, 3, &[(0, 3), (0, 3), (1, 4), (1, 4)]);
        check_chunks(3, 128, &[(0, 3), (0, 3), (0, 3)]);
        check_chunks(2, u64::MAX, &[(0, 2), (0, 2)]);
    }

    fn check_samples(samples: &[u64], size: u64, expected: &[(usize, usize)]) {
        let mut before = vec![0];
        samples.iter().for_each(|s| before.push(before[before.len() - 1] + s));
        assert_eq!(in_samples(&before, size).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn windows_hold_half_their_samples_on_each_side() {
        check_samples(&[6, 6, 3, 9], 9, &[(0, 1), (1, 2), (2, 3), (2, 4)]);
        check_samples(&[6, 6, 3, 9], 14, &[(0, 1), (0, 2), (1, 3), (2, 4)]);
        check_samples(&[6, 6, 9, 3], 14, &[(0, 1), (0, 2), (1, 3), (3, 4)]);
        check_samples(&[6, 6, 9, 3], 0, &[(0, 1), (1, 2), (2, 3), (3, 4)]);
    }

    proptest! {
        #[test]
        fn windows_of_chunks_that_are_alike_are_those_of_any(n in 1usize..40, size in 1u64..90, samples in 1u64..9, in_samples: bool) {
            let window = if in_samples { Window::Samples(size) } else { Window::Chunks(size) };
            let before: Vec<u64> = (0..=n as u64).map(|place| place * samples).collect();
            let expected: Vec<_> = match window {
                Window::Chunks(size) => in_chunks(n, size).collect(),
                Window::Samples(size) => super::in_samples(&before, size).collect(),
            };
            let alike = AlikeWindows::new(n, window, samples);
            let found: Vec<_> = (0..n).map(|place| alike.window(place)).collect();
            prop_assert_eq!(&found, &expected);
            for place in 0..n {
                let holds = |slot: &usize| (expected[*slot].0..expected[*slot].1).contains(&place);
                let slots: Vec<usize> = (0..n).filter(holds).collect();
                let reach = slots.first().map(|&first| (first, slots[slots.len() - 1] + 1));
                prop_assert_eq!(Some(alike.reach(place)), reach);
            }
        }
    }
}
