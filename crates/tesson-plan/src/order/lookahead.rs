//! The next sequences of an order, worked out a few at a time.
//!
//! For the next editor: this is a cache, and filling it must not change any state of the order. It doubles from a few
//! sequences, because after a seek often one is wanted, and stops at a number that keeps enough loads in flight.

use std::ops::Range;

use tesson_core::{Index, SequenceId};

use super::Next;

/// The most sequences that are worked out together.
const MOST: u64 = 64;

/// The fewest: after a jump perhaps a single sequence is wanted.
const FEWEST: u64 = 4;

/// The next sequences of a sweep.
///
/// The lengths of shuffled sequences are spread over the whole index. Looked up one by one, between decisions that
/// depend on them, each would wait for memory; in a loop of their own the loads overlap.
#[derive(Default)]
pub(super) struct Lookahead {
    sweep: u64,
    first: u64,
    next: Vec<Next>,
}

impl Lookahead {
    /// True if `sequence` of the sweep is worked out.
    pub(super) fn holds(&self, sweep: u64, sequence: u64) -> bool {
        sweep == self.sweep && self.range().contains(&sequence)
    }

    fn range(&self) -> Range<u64> {
        self.first..self.first + self.next.len() as u64
    }

    /// Works out the first sequences of a range. `find` returns a sequence and its home.
    pub(super) fn fill(
        &mut self,
        index: &Index,
        sweep: u64,
        range: Range<u64>,
        find: impl Fn(u64) -> (SequenceId, u64),
    ) {
        let from = range.start;
        let follows = sweep == self.sweep && from == self.range().end;
        let n = if follows { 2 * self.next.len() as u64 } else { 0 };
        let end = range.end.min(from + n.clamp(FEWEST, MOST));
        (self.sweep, self.first) = (sweep, from);
        self.next.clear();
        self.next.extend((from..end).map(|sequence| {
            let (planned, home) = find(sequence);
            Next { planned, home, length: 0 }
        }));
        for next in &mut self.next {
            next.length = index.length(next.planned);
        }
    }

    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        self.next.clear();
    }

    /// The sequences that are worked out, beginning with number `sequence`.
    #[inline]
    pub(super) fn from(&self, sequence: u64) -> &[Next] {
        &self.next[(sequence - self.first) as usize..]
    }
}
