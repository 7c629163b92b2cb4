//! Memory of minibatches: what those take that are planned, made or taken, and whether another one may be made.
//!
//! Small minibatches are the rule, and for them the answer is one sum. A large one is made when the one in front of it is out of
//! the way, so that two of them are never in memory because the caller was slow.
//!
//! For the next editor: each minibatch is counted in `planned` from its plan to its delivery, and in `made` as well
//! from the start of its making, first with the cost of making it and then with its real size. What goes into a sum
//! has to come out with the same number, which the ticket therefore keeps. The front minibatch is never refused while
//! its caller waits: any other rule can wait for memory that only the caller's next call would free.

use crate::memory_budget::BATCHES_SHARE;

/// Most minibatches planned ahead.
const MOST_TICKETS: usize = 256;

/// Small minibatches are made together: up to so many, of so many bytes in all.
const MADE_AT_ONCE: usize = 32;
const MADE_AT_ONCE_BYTES: usize = 256 << 10;

/// Limits on the memory of minibatches, in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct BatchLimits {
    /// Those that are made before their caller waits for them.
    pub(super) ahead: usize,
    /// The largest one.
    pub(super) largest: usize,
    /// Those that are packed and wait for their caller.
    pub(super) prefetch: usize,
    /// True if the shapes of samples are open, so that plans do not tell how large minibatches are.
    pub(super) is_open: bool,
}

/// A minibatch that could be made now.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    /// No other is handed out before it.
    pub(super) is_front: bool,
    /// A caller waits, for the one in front at least.
    pub(super) is_awaited: bool,
    /// Bytes that it takes while it is made.
    pub(super) cost: usize,
    /// Bytes that the one in front will take, if it is not being made yet.
    pub(super) front_cost: usize,
}

/// The memory of all minibatches of a pipeline.
#[derive(Debug)]
pub(super) struct BatchBudget {
    limits: BatchLimits,
    /// Average bytes of a packed minibatch, 0 before the first.
    average: usize,
    /// Bytes that the minibatches of all tickets will have, as far as their plans tell.
    planned: usize,
    /// Bytes of the minibatches that are being made or wait for their caller.
    made: usize,
    /// Bytes of the minibatch that was taken last: its caller may keep it until there is another one.
    taken: usize,
    /// Bytes that the caller needs beside what it takes.
    outside: usize,
    /// A minibatch is not made yet because others fill the memory.
    held_back: bool,
}

impl BatchBudget {
    pub(super) fn new(limits: BatchLimits) -> BatchBudget {
        BatchBudget { limits, average: 0, planned: 0, made: 0, taken: 0, outside: 0, held_back: false }
    }

    /// A minibatch of so many bytes has been planned.
    pub(super) fn plan(&mut self, bytes: usize) {
        self.planned = self.planned.saturating_add(bytes);
    }

    /// A minibatch is being made, which takes so many bytes.
    pub(super) fn start(&mut self, cost: usize) {
        self.made += cost;
    }

    /// A minibatch has been made: it takes `bytes` instead of what it took meanwhile.
    pub(super) fn finish(&mut self, cost: usize, bytes: usize) {
        self.made = self.made - cost + bytes;
    }

    /// A minibatch has been taken, which was planned to have `planned` bytes and takes `bytes`.
    pub(super) fn take(&mut self, planned: usize, bytes: usize) {
        self.planned -= planned;
        self.made -= bytes;
        self.taken = bytes;
    }

    /// Forgets the minibatches that were planned or made, when their plans are discarded.
    pub(super) fn discard(&mut self) {
        (self.planned, self.made) = (0, 0);
    }

    /// Keeps the average size of minibatches up to date.
    pub(super) fn note_size(&mut self, bytes: usize) {
        let bytes = bytes.max(1);
        let before = if self.average == 0 { bytes } else { self.average };
        self.average = usize::div_ceil(7 * before + bytes, 8);
    }

    /// Bytes that the caller needs beside what it takes.
    pub(super) fn outside(&self) -> usize {
        self.outside
    }

    /// Leaves so many bytes to the caller.
    pub(super) fn set_outside(&mut self, bytes: usize) {
        self.outside = bytes;
    }

    /// A minibatch that could be made waits until another one has been taken.
    pub(super) fn hold_back(&mut self) {
        self.held_back = true;
    }

    /// Returns true if a minibatch was held back for lack of memory, and clears the mark.
    pub(super) fn take_held_back(&mut self) -> bool {
        std::mem::take(&mut self.held_back)
    }

    /// How many minibatches may be planned and packed in advance, by so many threads.
    pub(super) fn depth(&self, threads: usize) -> usize {
        match self.average {
            0 => 2 + 2 * threads,
            bytes => (self.limits.prefetch / bytes).clamp(1 + threads.min(8), MOST_TICKETS),
        }
    }

    /// How many minibatches are made together.
    pub(super) fn made_at_once(&self) -> usize {
        (MADE_AT_ONCE_BYTES.checked_div(self.average).unwrap_or(1)).clamp(1, MADE_AT_ONCE)
    }

    /// True if everything planned fits even when each minibatch costs twice its bytes, the most it can take: the
    /// quick answer for small minibatches.
    pub(super) fn all_fit(&self) -> bool {
        let planned = self.planned.saturating_mul(2);
        !self.limits.is_open && self.outside == 0 && self.taken + self.made + planned <= self.limits.ahead
    }

    /// Bytes that a minibatch takes whatever its plan tells: where shapes are open as much as the others did, and before the first
    /// so much that none is made beside it.
    pub(super) fn least(&self) -> usize {
        match (self.limits.is_open, self.average) {
            (false, _) => 0,
            (true, 0) => self.limits.ahead,
            (true, average) => average,
        }
    }

    /// True if there is memory for making a minibatch. The one in front may always be made while its caller waits for
    /// it: the caller has most likely let the last one go.
    pub(super) fn fits(&mut self, candidate: Candidate) -> bool {
        let Candidate { is_front, is_awaited, cost, front_cost } = candidate;
        let left = self.limits.largest.saturating_sub(self.outside);
        let room = self.limits.ahead.min(left / (BATCHES_SHARE - 1));
        let fits = if is_front {
            // Memory of a large one that was taken is of no use for a small one, and its caller may still hold it.
            is_awaited || cost.max(self.taken) <= room
        } else {
            self.taken + self.made + front_cost + cost <= room
        };
        self.held_back |= !fits;
        fits
    }

    /// Bytes that minibatches and the caller will take of the room for blocks: minibatches as they are larger than what is set
    /// aside for them. The one in front costs `front`; `idle` bytes of former ones wait to be used again.
    pub(super) fn reserved(&self, front: usize, idle: usize) -> usize {
        let others = self.planned.max(self.made).min(self.limits.ahead);
        // Blocks that are loaded now are still there when the minibatch in front has been taken and the next is made.
        let taken = self.taken.max(front);
        (taken + front + others + idle).saturating_sub(2 * self.limits.prefetch) + self.outside
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: BatchLimits = BatchLimits { ahead: 1000, largest: 3000, prefetch: 100, is_open: false };

    fn front(cost: usize, is_awaited: bool) -> Candidate {
        Candidate { is_front: true, is_awaited, cost, front_cost: cost }
    }

    fn other(cost: usize, front_cost: usize) -> Candidate {
        Candidate { is_front: false, is_awaited: false, cost, front_cost }
    }

    #[test]
    fn small_minibatches_are_made_whatever_their_order() {
        let mut budget = BatchBudget::new(LIMITS);
        (0..5).for_each(|_| budget.plan(100));
        assert!(budget.all_fit());
        budget.plan(1);
        assert!(!budget.all_fit());
        // What the caller keeps beside them makes every one be looked at.
        let mut budget = BatchBudget::new(LIMITS);
        budget.set_outside(1);
        assert!(!budget.all_fit());
    }

    #[test]
    fn a_large_one_waits_for_those_before_it_and_its_caller_never_does() {
        let mut budget = BatchBudget::new(LIMITS);
        budget.plan(800);
        budget.plan(800);
        assert!(budget.fits(front(800, false)) && !budget.take_held_back());
        assert!(!budget.fits(other(800, 800)) && budget.take_held_back());
        budget.start(800);
        budget.finish(800, 700);
        budget.take(800, 700);
        // The caller has it, so the next one waits until it is asked for.
        assert!(!budget.fits(other(400, 0)) && budget.fits(other(300, 0)));
        assert!(!budget.fits(front(1001, false)) && budget.fits(front(1001, true)));
    }

    #[test]
    fn what_the_caller_needs_is_taken_off_the_room() {
        let mut budget = BatchBudget::new(LIMITS);
        assert!(budget.fits(front(1000, false)));
        budget.set_outside(1500);
        assert!(budget.fits(front(500, false)) && !budget.fits(front(501, false)));
        assert_eq!((budget.reserved(0, 0), budget.reserved(150, 50)), (1500, 1650));
    }

    #[test]
    fn the_smaller_minibatches_are_the_more_are_made_ahead_and_together() {
        let mut budget = BatchBudget::new(LIMITS);
        assert_eq!((budget.depth(2), budget.made_at_once()), (6, 1));
        budget.note_size(1);
        assert_eq!((budget.depth(2), budget.made_at_once()), (100, 32));
        (0..100).for_each(|_| budget.note_size(1 << 20));
        assert_eq!((budget.depth(2), budget.made_at_once()), (3, 1));
    }

    #[test]
    fn minibatches_of_open_shapes_are_as_large_as_those_before_them() {
        let mut budget = BatchBudget::new(BatchLimits { is_open: true, ..LIMITS });
        budget.plan(0);
        // The first one is made alone.
        assert!(!budget.all_fit() && budget.least() == 1000);
        budget.start(budget.least());
        assert!(!budget.fits(other(budget.least(), 0)));
        budget.finish(1000, 300);
        budget.note_size(300);
        assert!(budget.least() == 300 && budget.fits(other(300, 300)));
    }

    #[test]
    fn what_is_discarded_takes_nothing() {
        let mut budget = BatchBudget::new(LIMITS);
        budget.plan(usize::MAX);
        budget.plan(1);
        budget.start(600);
        budget.discard();
        assert!(budget.all_fit());
        assert_eq!(budget.reserved(0, 0), 0);
    }
}
