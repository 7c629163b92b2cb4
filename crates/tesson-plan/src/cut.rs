//! Cutting minibatches (spec/engine.md §6, §7): the rules for what a minibatch may hold. Each order loops over its
//! own sequences and calls [`Cut::put`] for each.
//!
//! Advice for the next editor: the order of the tests in `put` is the specification's (spec/engine.md §6.2). The size comes first,
//! so a minibatch that is full ends without touching the end of the data; a forced sequence skips that test and no
//! other. `planner/count.rs` counts by the same rules and `planner/seek_step.rs` computes with them: change all
//! three. [`Cut::run`] takes together what `put` would take one by one, as long as neither the room nor the data come to their
//! end; the rest is left to `put`. `put` runs for every sequence of every rank, so it is inlined, and the rare endings are in `ends_in`, which
//! is cold.

use tesson_core::{Index, SequenceId};

use crate::share::Share;
use crate::size::{Room, Size};
use crate::{BatchPlan, Consumed, LastSequence, PlanSpec};

/// How far a minibatch has filled its room when it has been cut.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Fill {
    /// The data end before its first sequence.
    Nothing,
    Full,
    /// More would have fit.
    HasRoom,
    /// The minibatch would hold more sequences than memory allows; the plan is incomplete.
    TooLarge,
}

/// The sizes that have been put into a room.
pub(crate) struct Filling {
    room: Room,
    pub(crate) taken: Room,
    /// The next own sequence is taken however long it is; otherwise it would never be delivered.
    pub(crate) forced: bool,
    too_large: bool,
}

impl Filling {
    pub(crate) fn of(room: Room, forced: bool) -> Filling {
        Filling { room, taken: Room::EMPTY, forced, too_large: false }
    }

    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.room.is_used_up_by(self.taken)
    }

    pub(crate) fn fill(&self) -> Fill {
        match (self.too_large, self.is_full()) {
            (true, _) => Fill::TooLarge,
            (false, true) => Fill::Full,
            (false, false) => Fill::HasRoom,
        }
    }
}

/// The sequence that comes next.
pub(crate) struct Candidate {
    pub(crate) planned: SequenceId,
    pub(crate) length: u64,
    /// True if it belongs to this rank and was not consumed before states were merged.
    pub(crate) own: bool,
    pub(crate) consumed: bool,
    /// Samples from its beginning to the end of the data.
    pub(crate) left: u64,
}

/// The values that stay the same while one minibatch is cut.
pub(crate) struct Cut<'a> {
    pub(crate) index: &'a Index,
    pub(crate) spec: &'a PlanSpec,
    pub(crate) share: Share,
    /// If given, only this share of the minibatch is listed, dealt out by number, and the other sequences are counted. Then
    /// `share` is everything, and nothing was consumed before.
    pub(crate) dealt: Option<Share>,
    pub(crate) room: Room,
    /// The position at which the data end; `None` if it lies beyond the index so far.
    pub(crate) end: Option<u64>,
    pub(crate) last_sequence: LastSequence,
    pub(crate) consumed: Option<&'a Consumed>,
    /// The most sequences that a minibatch may hold.
    pub(crate) most: usize,
}

impl Cut<'_> {
    /// Applies [`LastSequence`] to the sequence in which the data end, `left` samples after its beginning. Returns
    /// true if the sequence is left out.
    #[cold]
    pub(crate) fn ends_in(&self, left: u64, own: bool, out: &mut BatchPlan) -> bool {
        match self.last_sequence {
            LastSequence::Whole => {}
            LastSequence::LeftOut => out.data_end = true,
            // `left` is less than the sequence's length, which has 32 bits.
            LastSequence::Cut => out.keep_of_last = own.then_some(left as u32),
        }
        self.last_sequence == LastSequence::LeftOut
    }

    /// Puts a sequence into the minibatch, or skips it if it belongs to another rank. `false`: the minibatch ends
    /// before it.
    #[inline]
    pub(crate) fn put(&self, candidate: Candidate, into: &mut Filling, out: &mut BatchPlan) -> bool {
        let Candidate { planned, length, own, consumed, left } = candidate;
        if !into.forced && !consumed && into.room.is_exceeded_by(into.taken, length, own) {
            return false;
        }
        if left == 0 || left < length && self.ends_in(left, own, out) {
            return false;
        }
        if own {
            if out.n_planned() == self.most as u64 {
                into.too_large = true;
                return false;
            }
            match self.dealt {
                None => out.push(planned),
                Some(share) => out.deal_run(share, 1, |_| planned),
            }
            into.taken.own.add(length);
            into.forced = false;
        }
        if !consumed {
            into.taken.global.add(length);
        }
        true
    }

    /// Takes room for sequences that `put` would take, `n` of them at most, `left` samples before the end of the data:
    /// so many that room is left and the data go on. Returns how many, and their samples. `fit` answers that for a number of
    /// sequences and of samples that may not be exceeded.
    ///
    /// Only where all sequences count alike: where a share of them is dealt out.
    pub(crate) fn run(
        &self,
        n: u64,
        left: u64,
        into: &mut Filling,
        out: &BatchPlan,
        fit: impl FnOnce(u64, u64) -> (u64, u64),
    ) -> (u64, u64) {
        if into.forced {
            return (0, 0);
        }
        let Size { samples, sequences } = into.room.minus(into.taken).least();
        let most = (self.most as u64).saturating_sub(out.n_planned());
        let (n, samples) =
            fit(n.min(most).min(sequences.saturating_sub(1)), samples.min(left).saturating_sub(1));
        into.taken.add_all(Size { samples, sequences: n });
        (n, samples)
    }
}

/// How many sequences of one length, at least 1, do not exceed a number of sequences and one of samples ([`Cut::run`]).
pub(crate) fn fit_of_length(length: u32) -> impl Fn(u64, u64) -> (u64, u64) {
    let length = u64::from(length);
    move |most, samples| {
        let n = most.min(samples / length);
        (n, n * length)
    }
}
