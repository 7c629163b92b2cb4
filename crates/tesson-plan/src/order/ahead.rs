//! The next sequences of an order, worked out together.

use std::ops::Range;

use tesson_core::Index;

use super::Next;
use crate::Planned;

/// Most sequences worked out together.
const MOST: u64 = 64;

/// Fewest: as many when somebody has just gone to another place and may want a single sequence.
const FEWEST: u64 = 4;

/// The next sequences of a sweep.
///
/// The lengths of shuffled sequences lie all over the index. Looked up one by one, between decisions that depend on
/// them, each would be waited for; looked up together they are fetched together.
#[derive(Default)]
pub(super) struct Ahead {
    sweep: u64,
    first: u64,
    next: Vec<Next>,
}

impl Ahead {
    /// Up to where sequences are worked out, if `sequence` of the sweep is.
    pub(super) fn end(&self, sweep: u64, sequence: u64) -> Option<u64> {
        let range = self.range();
        (sweep == self.sweep && range.contains(&sequence)).then_some(range.end)
    }

    fn range(&self) -> Range<u64> {
        self.first..self.first + self.next.len() as u64
    }

    /// Works out sequences from `from` on, before `end`; says up to which. `find` tells where one lies, and its home.
    pub(super) fn fill(
        &mut self,
        index: &Index,
        sweep: u64,
        from: u64,
        end: u64,
        find: impl Fn(u64) -> (Planned, u64),
    ) -> u64 {
        let goes_on = sweep == self.sweep && from == self.range().end;
        let n = if goes_on { 2 * self.next.len() as u64 } else { 0 };
        let end = end.min(from + n.clamp(FEWEST, MOST));
        (self.sweep, self.first) = (sweep, from);
        self.next.clear();
        self.next.extend((from..end).map(|sequence| {
            let (planned, home) = find(sequence);
            Next { planned, home, length: 0 }
        }));
        for next in &mut self.next {
            next.length = index.lengths(next.planned.chunk as usize).get(next.planned.sequence as usize);
        }
        end
    }

    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        self.next.clear();
    }

    /// A sequence that has been worked out.
    #[inline]
    pub(super) fn get(&self, sequence: u64) -> Next {
        self.next[(sequence - self.first) as usize]
    }
}
