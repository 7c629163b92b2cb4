//! The planner's results: positions, planned sequences, and minibatches of them.

use tesson_core::SequenceId;

use crate::{ExcludedSequences, Share};

/// A position in the data, and the number of the sequence that comes next.
///
/// On local timelines (spec/engine.md §8) position and sweep are those of this rank alone.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct Cursor {
    /// Samples since the start, over all ranks and sweeps.
    pub position: u64,
    /// The sweep.
    pub sweep: u64,
    /// Number, in the sweep's order, of the sequence that comes next. On local timelines: of the next entry of the window.
    pub sequence: u64,
    /// On local timelines: the position at which the window begins.
    pub window: WindowStart,
    /// With equal steps: those in progress.
    pub steps: Steps,
}

/// A stretch of the data in which all ranks deliver the same number of minibatches
/// ([`EqualSteps`](crate::EqualSteps)). All zero while no such steps are in progress.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct Steps {
    /// Samples of a minibatch, of all ranks.
    pub samples: u64,
    /// Sequences of a minibatch, of all ranks; 0 for any number.
    pub sequences: u64,
    /// The number of ranks.
    pub workers: u64,
    /// The number of steps already delivered.
    pub given: u64,
    /// The number of steps in all.
    pub of: u64,
    /// The sweep to which they belong.
    pub sweep: u64,
    /// The position at which they begin.
    pub begin_position: u64,
    /// The sequence of the sweep with which they begin.
    pub begin_sequence: u64,
    /// The position from which this rank repeats if it has run out.
    pub again_position: u64,
    /// The sequence of the sweep from which this rank repeats.
    pub again_sequence: u64,
    /// The position at which they end.
    pub end_position: u64,
    /// The sequence of the sweep after their last, `n_sequences` if they end with the sweep.
    pub end_sequence: u64,
    /// Sequences in a sweep.
    pub n_sequences: u64,
    /// True if the data end with them.
    pub data_end: bool,
}

impl Steps {
    /// True if some have not been delivered yet.
    pub fn is_running(&self) -> bool {
        self.given < self.of
    }

    /// The cursor at which they begin.
    pub fn begin(&self) -> Cursor {
        self.cursor(self.begin_position, self.begin_sequence)
    }

    /// The cursor from which this rank repeats if it has run out.
    pub fn again(&self) -> Cursor {
        self.cursor(self.again_position, self.again_sequence)
    }

    /// Makes the rank repeat from a cursor, or from the beginning if the cursor is at none of the sequences.
    pub fn repeat_from(&mut self, again: Cursor) {
        let from = if self.hold(again) { again } else { self.begin() };
        (self.again_position, self.again_sequence) = (from.position, from.sequence);
    }

    /// True if a cursor is at one of their sequences.
    pub fn hold(&self, at: Cursor) -> bool {
        at.sweep == self.sweep && at.position < self.end_position
    }

    /// The cursor at which all ranks continue afterwards.
    pub fn end(&self) -> Cursor {
        if self.end_sequence < self.n_sequences {
            return self.cursor(self.end_position, self.end_sequence);
        }
        Cursor { position: self.end_position, sweep: self.sweep.saturating_add(1), ..Cursor::default() }
    }

    fn cursor(&self, position: u64, sequence: u64) -> Cursor {
        Cursor { position, sweep: self.sweep, sequence, ..Cursor::default() }
    }
}

/// The position at which a window of a local timeline (spec/engine.md §8) begins, as it was before the window was
/// filled.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct WindowStart {
    /// In stored order the chunk, in shuffled orders the place in the order of the chunks.
    pub place: u64,
    /// The sweep to which that order of chunks belongs; 0 in stored order.
    pub sweep: u64,
}

impl Cursor {
    /// A position without its sequence, as a rank without data has it.
    pub(crate) fn unplaced(position: u64) -> Cursor {
        Cursor { position, sweep: u64::MAX, sequence: u64::MAX, ..Cursor::default() }
    }

    /// True if the sequence of this position has not been looked up.
    pub fn is_unplaced(self) -> bool {
        self.sequence == u64::MAX
    }
}

/// A slot of a minibatch of all ranks together, and the sequence in it.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct BatchSlot {
    /// The number of the slot, own and foreign sequences counted alike, in plan order.
    pub number: u64,
    /// The sequence.
    pub planned: SequenceId,
    /// The sweep of the sequence; a minibatch may cross sweep ends.
    pub sweep: u64,
}

/// The kind of a minibatch: ordinary, or one of equal steps.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub enum BatchKind {
    /// Not one of equal steps.
    #[default]
    Ordinary,
    /// One of the equal steps of all ranks ([`EqualSteps`](crate::EqualSteps)); it may be empty.
    Step,
    /// An equal step that repeats sequences of the same sweep, because the rank has run out of others.
    RepeatedStep,
}

/// How many sequences of a minibatch each rank gets under [`Sharing::Position`](crate::Sharing::Position).
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct BatchShare {
    /// The number of ranks.
    pub workers: u64,
    /// The smallest number of sequences of a rank.
    pub least: u64,
    /// The largest number of sequences of a rank.
    pub most: u64,
    /// The number of ranks with a share of their own; the others repeat one of these shares.
    pub owners: u64,
    /// Sequences of all ranks together, each counted once.
    pub sequences: u64,
}

/// One minibatch: which sequences, in which order, and the position after it.
#[derive(Debug, Default)]
pub struct BatchPlan {
    /// The sequences to deliver, in order.
    pub own: Vec<SequenceId>,
    /// Under [`Sharing::Position`](crate::Sharing::Position): the sequences of the same minibatch that other ranks
    /// deliver, in order. Their faults are charged on every rank, so that all states are the same. Empty where they are
    /// counted only ([`Planner::counting_foreign`](crate::Planner::counting_foreign)).
    pub foreign: Vec<SequenceId>,
    /// True if the minibatch reached the end of a sweep, even if it ends exactly there.
    pub sweep_end: bool,
    /// True if the data end here. See [`BatchPlan::is_end`].
    pub data_end: bool,
    /// The position after the minibatch.
    pub after: Cursor,
    /// The number of samples to keep of the last own sequence, if the data end inside it.
    pub keep_of_last: Option<u32>,
    /// Ordinary, or one of equal steps.
    pub kind: BatchKind,
    /// The number of own and foreign sequences, those that are not listed or were left out included.
    planned: u64,
    /// For each sweep that begins in the minibatch: its number, and the number of its first sequence here.
    sweeps: Vec<(u64, u64)>,
    /// The share of the minibatch that was dealt to this rank; all of it for one worker.
    dealt: Share,
    /// The number of ranks with a share of their own: all of them, unless some repeat the share of another.
    shares: u64,
    /// If sequences were left out: the numbers that the remaining own and foreign ones had before.
    kept: Option<(Vec<u64>, Vec<u64>)>,
}

impl BatchPlan {
    /// A minibatch of one sequence, independent of any order.
    pub fn of_one(planned: SequenceId, sweep: u64) -> BatchPlan {
        let mut plan = BatchPlan::default();
        plan.clear();
        plan.begin_sweep(sweep);
        plan.push(planned);
        plan
    }

    /// True if this is the end itself and not a minibatch. A minibatch without own sequences is not the end if other
    /// ranks have sequences in it, or if its own were left out.
    pub fn is_end(&self) -> bool {
        self.data_end && self.is_unplanned() && self.planned == 0
    }

    /// True if no own sequences were planned. False if some were planned and then left out.
    pub fn is_unplanned(&self) -> bool {
        self.own.is_empty() && self.kept.is_none() && self.kind == BatchKind::Ordinary
    }

    /// How many sequences each rank gets, without those for which `is_left_out` answers true; it is given numbers
    /// that count the own and then the foreign sequences that are listed. `None` for a single rank, and where ranks
    /// share chunks.
    pub fn share(&self, is_left_out: Option<&dyn Fn(usize) -> bool>) -> Option<BatchShare> {
        let Share { workers, .. } = self.dealt;
        if workers == 1 {
            return None;
        }
        let n = self.planned;
        if is_left_out.is_none() && self.kept.is_none() {
            let (least, most) = (n / self.shares, n.div_ceil(self.shares));
            return Some(BatchShare { workers, least, most, owners: self.shares, sequences: n });
        }
        // Ranks beyond `shares` repeat one of these shares, so they add nothing to count.
        let mut counts: Vec<u64> = (0..self.shares).map(|rank| Share { workers, rank }.part_of(n)).collect();
        let listed = || self.own_slots().chain(self.foreign_slots());
        let count_of = |slot: BatchSlot| (slot.number % workers) as usize;
        if self.kept.is_some() {
            // Where some were left out, all that stay are listed.
            counts.fill(0);
            listed().for_each(|slot| counts[count_of(slot)] += 1);
        }
        if let Some(is_left_out) = is_left_out {
            for (_, slot) in listed().enumerate().filter(|(number, _)| is_left_out(*number)) {
                counts[count_of(slot)] -= 1;
            }
        }
        let (least, most) = (counts.iter().min().copied()?, counts.iter().max().copied()?);
        let sequences = counts.iter().sum();
        Some(BatchShare { workers, least, most, owners: self.shares, sequences })
    }

    /// The own sequences with their slots.
    pub fn own_slots(&self) -> impl Iterator<Item = BatchSlot> + '_ {
        let Share { workers, rank } = self.dealt;
        let kept = self.kept.as_ref().map(|(own, _)| own.as_slice());
        self.own.iter().enumerate().map(move |(i, &planned)| {
            let i = kept.map_or(i as u64, |kept| kept[i]);
            self.slot(i * workers + rank, planned)
        })
    }

    /// The foreign sequences with their slots.
    pub fn foreign_slots(&self) -> impl Iterator<Item = BatchSlot> + '_ {
        let Share { workers, rank } = self.dealt;
        let kept = self.kept.as_ref().map(|(_, foreign)| foreign.as_slice());
        self.foreign.iter().enumerate().map(move |(i, &planned)| {
            let i = kept.map_or(i as u64, |kept| kept[i]);
            // The foreign sequences are in plan order with gaps: of each round of `workers` slots, the one of this
            // rank is missing.
            let (deal, other) = (i / (workers - 1), i % (workers - 1));
            self.slot(deal * workers + other + u64::from(other >= rank), planned)
        })
    }

    fn slot(&self, number: u64, planned: SequenceId) -> BatchSlot {
        let run = self.sweeps.partition_point(|&(_, first)| first <= number);
        let sweep = self.sweeps[..run].last().map_or(0, |&(sweep, _)| sweep);
        BatchSlot { number, planned, sweep }
    }

    /// Makes the plan empty, keeping its memory.
    pub(crate) fn clear(&mut self) {
        self.own.clear();
        self.foreign.clear();
        self.planned = 0;
        self.sweeps.clear();
        (self.dealt, self.shares) = (Share::ALL, 1);
        self.kept = None;
        self.sweep_end = false;
        self.data_end = false;
        self.keep_of_last = None;
        self.kind = BatchKind::Ordinary;
    }

    /// Forgets the sweeps recorded so far, before any sequence is added.
    pub(crate) fn forget_sweeps(&mut self) {
        self.sweeps.clear();
    }

    /// Makes the plan the end itself.
    pub(crate) fn drop_all(&mut self) {
        self.own.clear();
        self.foreign.clear();
        self.planned = 0;
        self.sweep_end = false;
        self.keep_of_last = None;
    }

    /// Records that the sequences added from now on belong to this sweep.
    pub(crate) fn begin_sweep(&mut self, sweep: u64) {
        self.sweeps.push((sweep, self.planned));
    }

    /// The number of sequences so far, listed or not.
    pub(crate) fn n_planned(&self) -> u64 {
        self.planned
    }

    /// Adds a sequence.
    #[inline]
    pub(crate) fn push(&mut self, planned: SequenceId) {
        self.own.push(planned);
        self.planned += 1;
    }

    /// Counts `n` sequences, and adds those of them that are dealt to a share; `planned` names one by its number among
    /// them.
    pub(crate) fn deal_run(&mut self, share: Share, n: u64, mut planned: impl FnMut(u64) -> SequenceId) {
        let Share { workers, rank } = share;
        let turn = self.planned % workers;
        let mut next = if turn <= rank { rank - turn } else { workers - turn + rank };
        while next < n {
            self.own.push(planned(next));
            next = next.saturating_add(workers);
        }
        self.planned += n;
    }

    /// Records that this is the share of a minibatch that was dealt out: [`BatchPlan::deal`] of one that holds only
    /// that share.
    pub(crate) fn note_dealt(&mut self, share: Share, shares: u64) {
        (self.dealt, self.shares) = (share, shares);
        let last = self.planned.wrapping_sub(1);
        self.keep_of_last = self.keep_of_last.filter(|_| last % share.workers == share.rank);
    }

    /// Keeps every `workers`-th sequence, from number `rank` on, and makes the others foreign.
    ///
    /// The first `shares` ranks have shares of their own; the others repeat one of these.
    pub(crate) fn deal(&mut self, share: Share, shares: u64) {
        let Share { workers, rank } = share;
        if workers == 1 {
            return;
        }
        self.note_dealt(share, shares);
        // A counter instead of `i % workers`: this runs for every sequence of all ranks, on each of them.
        let (mut turn, mut kept) = (0, 0);
        for i in 0..self.own.len() {
            let planned = self.own[i];
            if turn == rank {
                self.own[kept] = planned;
                kept += 1;
            } else {
                self.foreign.push(planned);
            }
            turn = if turn + 1 == workers { 0 } else { turn + 1 };
        }
        self.own.truncate(kept);
    }

    /// Removes sequences from a minibatch that has been dealt out. The others keep their slots.
    pub(crate) fn leave_out(&mut self, excluded: &ExcludedSequences) {
        let stays = |planned: &SequenceId| !excluded.holds(*planned);
        if self.own.iter().chain(&self.foreign).all(stays) {
            return;
        }
        // The data end inside the last sequence that was planned; if it is left out, nothing is cut.
        self.keep_of_last = self.keep_of_last.filter(|_| self.own.last().is_some_and(stays));
        let places = |all: &[SequenceId]| (0..).zip(all).filter(|(_, p)| stays(p)).map(|(i, _)| i).collect();
        self.kept = Some((places(&self.own), places(&self.foreign)));
        self.own.retain(stays);
        self.foreign.retain(stays);
    }
}
