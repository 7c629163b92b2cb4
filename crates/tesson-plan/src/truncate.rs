//! Truncated reading (spec/engine.md §9.3, §9.4): slots in which sequences lie end to end; a minibatch takes the same
//! number of samples from each.
//!
//! A pure fold: the caller fills slots with sequences and their parsed lengths (the plan knows only counted ones),
//! and takes the samples of the next minibatch from them. The sequences pending in slots are part of the state, with
//! the cursor in the first of each.
//!
//! Advice for the next editor. A slot asks for another sequence while it holds no *more* samples than a minibatch
//! takes (`T ≥ waiting` in spec/engine.md §9.3), so it always reads ahead by one sequence: the recorded sweep ends and the end of
//! the data depend on that. The right splice goes back before the end of the sequence is tested, so that a full slot
//! of one sequence repeats samples even of its end (spec/engine.md §9.4). `planner/count.rs` fills slots in the same way to count
//! equal steps: change both.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::Share;

/// Sequences cut into pieces of equal length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Truncation {
    /// Samples of a slot in one minibatch.
    pub length: SegmentLength,
    /// Samples that a slot with one sequence repeats (spec/engine.md §9.4), fewer than the length.
    pub right_splice: u64,
    /// True if sparse streams stay sparse; otherwise they become dense, as in the reference.
    pub keep_sparse: bool,
}

/// A sequence in a slot that has not been delivered to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PendingSequence {
    /// Number of the sequence in the corpus, below 2^63.
    pub sequence: u64,
    /// True if a sweep ended when it was fetched; reported once it has been delivered to its end.
    pub sweep_end: bool,
    /// Its sweep, below 2^63, on which its random draws depend.
    pub sweep: u64,
    /// The number of its first samples that are delivered, if the data end inside it.
    pub keep: Option<u32>,
}

/// One slot, in a state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SlotState {
    /// Samples of the first sequence that have been delivered.
    pub cursor: u32,
    /// Its sequences, the first one first.
    pub waiting: Vec<PendingSequence>,
}

/// The slots of a source, in a state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SlotsState {
    /// The slots, in order.
    pub slots: Vec<SlotState>,
}

impl SlotsState {
    /// True if no sequence is pending.
    pub fn is_empty(&self) -> bool {
        self.pending().next().is_none()
    }

    /// The sequences that are pending, slot by slot.
    pub fn pending(&self) -> impl Iterator<Item = &PendingSequence> {
        self.slots.iter().flat_map(|slot| &slot.waiting)
    }
}

/// Consecutive samples of a sequence in a minibatch, and their slot and steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment<T> {
    /// The sequence.
    pub sequence: T,
    /// The slot.
    pub slot: u32,
    /// The step at which the sequence begins; negative if that was in an earlier minibatch.
    pub begin: i64,
    /// The step after the sequence's last; beyond the minibatch if the sequence continues in the next one.
    pub end: i64,
    /// The samples, counted within the sequence.
    pub samples: (u32, u32),
}

/// A sequence in a slot: the caller's name for it, and its length.
#[derive(Clone)]
struct Held<T> {
    what: T,
    pending: PendingSequence,
    length: u32,
}

#[derive(Clone)]
struct Slot<T> {
    held: VecDeque<Held<T>>,
    cursor: u32,
    /// Samples after the cursor.
    left: u64,
}

/// How long the pieces are that sequences are cut into.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SegmentLength {
    /// Samples of a slot in a minibatch, at least 1: the size of the minibatch decides how many slots it has.
    Samples(u64),
    /// Slots of a minibatch, at least 1: its size is divided by them, so the length changes with it.
    BySlots(u64),
    /// Slots of a minibatch where their number changes from epoch to epoch: slots, at least 1, and for how many epochs. The last
    /// number holds for all later epochs; there are at least two.
    BySlotsOfEpoch(Arc<[(u64, u64)]>),
}

impl SegmentLength {
    /// Samples of a slot in a minibatch of so many samples, in an epoch counted from 0.
    pub fn samples(&self, of_minibatch: u64, epoch: u64) -> u64 {
        match self.by_slots(epoch) {
            Ok(slots) => (of_minibatch / slots).max(1),
            Err(length) => length,
        }
    }

    /// Slots of a minibatch of so many samples, in an epoch counted from 0.
    pub fn slots(&self, of_minibatch: u64, epoch: u64) -> u64 {
        match self.by_slots(epoch) {
            Ok(slots) => slots.min(of_minibatch),
            Err(length) => (of_minibatch / length).max(1),
        }
    }

    /// True if the number of slots depends on the epoch, whatever the size of minibatches.
    pub fn changes_by_epoch(&self) -> bool {
        matches!(self, SegmentLength::BySlotsOfEpoch(_))
    }

    /// The slots of an epoch, or else the length.
    fn by_slots(&self, epoch: u64) -> Result<u64, u64> {
        match self {
            SegmentLength::Samples(length) => Err(*length),
            SegmentLength::BySlots(slots) => Ok(*slots),
            SegmentLength::BySlotsOfEpoch(runs) => {
                let mut left = epoch;
                let (last, before) = runs.split_last().expect("there are at least two");
                for (slots, epochs) in before {
                    match left.checked_sub(*epochs) {
                        None => return Ok(*slots),
                        Some(rest) => left = rest,
                    }
                }
                Ok(last.0)
            }
        }
    }
}

/// The number and size of the slots of all workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotsShape {
    /// The number of slots, at least 1.
    pub n: u64,
    /// Samples of a slot in a minibatch, at least 1.
    pub length: u32,
    /// The number of last samples that a slot repeats if it is full of one sequence, less than `length`
    /// (spec/engine.md §9.4).
    pub right_splice: u32,
}

impl SlotsShape {
    /// The slots that a worker fills, empty.
    pub fn slots_of<T: Clone>(&self, share: Share) -> Slots<T> {
        Slots::new(share.part_of(self.n) as usize, self.length, self.right_splice)
    }
}

/// The slots of one worker. `T` is the caller's name for a sequence.
#[derive(Clone)]
pub struct Slots<T> {
    length: u32,
    right_splice: u32,
    slots: Vec<Slot<T>>,
    /// The number of slots that take further sequences. Those after them deliver what they hold, and the last ones leave when
    /// they are empty.
    open: usize,
    /// A sweep ended in a fetch that brought nothing: reported with the next sequence.
    pending_end: bool,
}

impl<T: Clone> Slots<T> {
    /// `n` empty slots for minibatches of `length` samples, at least 1. A slot that is full of one sequence repeats
    /// its last `right_splice` samples, fewer than `length`.
    pub fn new(n: usize, length: u32, right_splice: u32) -> Slots<T> {
        let slot = Slot { held: VecDeque::new(), cursor: 0, left: 0 };
        Slots { length, right_splice, slots: vec![slot; n], open: n, pending_end: false }
    }

    /// Adds empty slots up to `n`, which take no sequences but by [`Slots::push`]: for those of an epoch with more slots that
    /// hold unfinished sequences.
    pub fn add_closed(&mut self, n: usize) {
        let slot = Slot { held: VecDeque::new(), cursor: 0, left: 0 };
        self.slots.resize(self.slots.len().max(n), slot);
    }

    /// Number of slots.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// True if no sequence is pending in any slot.
    pub fn is_empty(&self) -> bool {
        self.slots.iter().all(|slot| slot.held.is_empty())
    }

    /// The first slot that needs another sequence before a minibatch can be made, as long as there are any left. An
    /// open slot always holds more samples than it delivers.
    pub fn hungry(&self) -> Option<usize> {
        self.slots[..self.open].iter().position(|slot| slot.left <= u64::from(self.length))
    }

    /// True if each of `workers`, among which the slots are dealt out, has a sample.
    pub fn serve(&self, workers: usize) -> bool {
        let has = |rank| self.slots.iter().skip(rank).step_by(workers).any(|slot| slot.left > 0);
        (0..workers).all(has)
    }

    /// True if every slot that takes sequences has all the samples that it delivers next.
    pub fn are_full(&self) -> bool {
        self.slots[..self.open].iter().all(|slot| slot.left >= u64::from(self.length))
    }

    /// Appends a sequence of `length` samples to a slot. A sequence without samples is not kept, but the end of a
    /// sweep that came with it is.
    pub fn push(&mut self, slot: usize, what: T, mut pending: PendingSequence, length: u32) {
        if length == 0 {
            self.pending_end |= pending.sweep_end;
            return;
        }
        pending.sweep_end |= std::mem::take(&mut self.pending_end);
        self.slots[slot].left += u64::from(length);
        self.slots[slot].held.push_back(Held { what, pending, length });
    }

    /// Records that a sweep ended without a sequence.
    pub fn sweep_ended(&mut self) {
        self.pending_end = true;
    }

    /// Sets the saved cursor of a slot; its sequences have been pushed already.
    ///
    /// `false` if the cursor lies beyond the first sequence.
    #[must_use]
    pub fn set_cursor(&mut self, slot: usize, cursor: u32) -> bool {
        let slot = &mut self.slots[slot];
        if cursor > 0 && slot.held.front().is_none_or(|front| cursor >= front.length) {
            return false;
        }
        slot.cursor = cursor;
        slot.left -= u64::from(cursor);
        true
    }

    /// Appends the segments of the next minibatch, slot by slot. Returns true if a sweep ended with one of its
    /// sequences.
    pub fn take(&mut self, into: &mut Vec<Segment<T>>) -> bool {
        let (length, splice) = (self.length, self.right_splice);
        let numbered = self.slots.iter_mut().zip(0..);
        let end = numbered.fold(false, |end, (slot, number)| slot.take(number, length, splice, into) || end);
        while self.slots.len() > self.open && self.slots.last().is_some_and(|slot| slot.held.is_empty()) {
            self.slots.pop();
        }
        end
    }

    /// True if a sequence of a sweep before this one is pending.
    pub fn holds_before(&self, sweep: u64) -> bool {
        self.slots.iter().flat_map(|slot| &slot.held).any(|held| held.pending.sweep < sweep)
    }

    /// Samples that are pending.
    pub fn left(&self) -> u64 {
        self.slots.iter().map(|slot| slot.left).sum()
    }

    /// Drops all sequences that are pending.
    pub fn clear(&mut self) {
        for slot in &mut self.slots {
            (slot.cursor, slot.left) = (0, 0);
            slot.held.clear();
        }
        self.pending_end = false;
    }

    /// The sequences that are held, slot by slot.
    pub fn held(&self) -> impl Iterator<Item = &T> {
        self.slots.iter().flat_map(|slot| &slot.held).map(|held| &held.what)
    }

    /// The pending sequences, for a state.
    pub fn state(&self) -> SlotsState {
        let slot = |slot: &Slot<T>| SlotState {
            cursor: slot.cursor,
            waiting: slot.held.iter().map(|held| held.pending).collect(),
        };
        SlotsState { slots: self.slots.iter().map(slot).collect() }
    }
}

impl<T: Clone> Slot<T> {
    fn take(&mut self, number: u32, length: u32, splice: u32, into: &mut Vec<Segment<T>>) -> bool {
        let m = self.left.min(length.into()) as u32;
        let first = into.len();
        let mut sweep_end = false;
        let mut at = 0;
        while at < m {
            let Some(front) = self.held.front() else { break };
            let n = (front.length - self.cursor).min(m - at);
            let begin = i64::from(at) - i64::from(self.cursor);
            into.push(Segment {
                sequence: front.what.clone(),
                slot: number,
                begin,
                end: begin + i64::from(front.length),
                samples: (self.cursor, self.cursor + n),
            });
            at += n;
            self.cursor += n;
            self.left -= u64::from(n);
            if at == m && m == length && into.len() == first + 1 {
                // A full slot of one sequence goes back before its end is looked at (spec/engine.md §9.4).
                self.cursor -= splice;
                self.left += u64::from(splice);
            }
            if self.cursor == front.length {
                sweep_end |= front.pending.sweep_end;
                self.held.pop_front();
                self.cursor = 0;
            }
        }
        sweep_end
    }
}
