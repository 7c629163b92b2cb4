//! Results that arrive in any order, taken in theirs.
//!
//! Numbered results are independent of the schedule of threads. There is no limit here: callers bound the jobs that
//! they give.

use std::collections::BTreeMap;

/// Results by number, of which the next one is taken when it has arrived.
#[derive(Debug)]
pub(crate) struct Reorder<T> {
    next: u64,
    arrived: BTreeMap<u64, T>,
}

impl<T> Default for Reorder<T> {
    fn default() -> Reorder<T> {
        Reorder { next: 0, arrived: BTreeMap::new() }
    }
}

impl<T> Reorder<T> {
    /// The number of the result that is taken next.
    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    /// Adds a result, unless it comes after its turn was [skipped](Reorder::skip_to).
    pub(crate) fn put(&mut self, number: u64, result: T) {
        if number >= self.next {
            self.arrived.insert(number, result);
        }
    }

    /// The next result, if it has arrived.
    pub(crate) fn take(&mut self) -> Option<T> {
        let result = self.arrived.remove(&self.next)?;
        self.next += 1;
        Some(result)
    }

    /// Leaves out all results before this number.
    pub(crate) fn skip_to(&mut self, number: u64) {
        self.next = number;
        self.arrived = self.arrived.split_off(&number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_taken_in_order_and_those_before_a_skip_never() {
        let mut reorder = Reorder::default();
        reorder.put(1, "b");
        assert_eq!(reorder.take(), None);
        reorder.put(0, "a");
        assert_eq!((reorder.take(), reorder.take(), reorder.take()), (Some("a"), Some("b"), None));
        reorder.put(3, "d");
        reorder.put(5, "f");
        reorder.skip_to(5);
        reorder.put(4, "e");
        assert_eq!((reorder.take(), reorder.next()), (Some("f"), 6));
    }
}
