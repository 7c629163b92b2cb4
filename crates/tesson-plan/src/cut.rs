//! Cutting minibatches (spec/engine.md §6, §7): what may go into one. Each order loops over its own sequences.

use tesson_core::Index;

use crate::share::Share;
use crate::size::Room;
use crate::{BatchPlan, Consumed, LastSequence, PlanSpec, Planned};

/// How a minibatch fills its room once it is cut.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Fill {
    /// The data end before its first sequence.
    Nothing,
    Full,
    /// More would have fit.
    HasRoom,
    /// It would hold more sequences than memory allows; the plan is incomplete.
    TooLarge,
}

/// What has been put into a room.
pub(crate) struct Filling {
    room: Room,
    pub(crate) taken: Room,
    /// The next own sequence is taken however long it is: it would never be delivered otherwise.
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
    pub(crate) planned: Planned,
    pub(crate) length: u64,
    /// It belongs to this rank, and was not consumed before states were merged.
    pub(crate) own: bool,
    pub(crate) consumed: bool,
    /// Samples from its beginning to the end of the data.
    pub(crate) left: u64,
}

/// What stays the same while one minibatch is cut.
pub(crate) struct Cut<'a> {
    pub(crate) index: &'a Index,
    pub(crate) spec: &'a PlanSpec,
    pub(crate) share: Share,
    pub(crate) room: Room,
    /// Where the data end; `None` if that is beyond all that is known.
    pub(crate) end: Option<u64>,
    pub(crate) last_sequence: LastSequence,
    pub(crate) consumed: Option<&'a Consumed>,
    /// Sequences that a minibatch may hold.
    pub(crate) most: usize,
}

impl Cut<'_> {
    /// Applies [`LastSequence`] to a sequence that the end of the data lies in, `left` samples after its beginning.
    /// Returns whether the sequence is left out.
    #[cold]
    pub(crate) fn ends_in(&self, left: u64, own: bool, out: &mut BatchPlan) -> bool {
        match self.last_sequence {
            LastSequence::Whole => {}
            LastSequence::LeftOut => out.data_end = true,
            // Less than the sequence has, so it fits.
            LastSequence::Cut => out.keep_of_last = own.then_some(left as u32),
        }
        self.last_sequence == LastSequence::LeftOut
    }

    /// Puts a sequence into the minibatch, or passes over it if it is another rank's. `false`: the minibatch ends before it.
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
            if out.own.len() == self.most {
                into.too_large = true;
                return false;
            }
            out.own.push(planned);
            into.taken.own.add(length);
            into.forced = false;
        }
        if !consumed {
            into.taken.global.add(length);
        }
        true
    }
}
