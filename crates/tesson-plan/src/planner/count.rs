//! Counting each rank's minibatches in a stretch of the data, in one pass over its order.
//!
//! The count repeats what cutting will do, for all ranks at once: `Tally::add` for whole sequences ([`crate::cut`]),
//! [`Slots`] for truncated minibatches. A rule of cutting that changes must change here, or ranks stop at different
//! steps. The sequences come from an order of their own, so that the planner's order keeps what it has worked out.

use tesson_core::Index;

use super::{Planner, order_of};
use crate::Result;
use crate::order::Next;
use crate::size::{Room, Size};
use crate::truncate::{PendingSequence, Slots};
use crate::{Consumed, Cursor, Demand, ExcludedSequences, LastSequence, SlotsShape, Steps};

/// A stretch: the number of steps of each rank, and where the stretch ends.
pub(super) struct Stretch {
    pub(super) steps: Vec<u64>,
    pub(super) end: Cursor,
    pub(super) data_end: bool,
}

impl Planner {
    /// Counts the steps of the stretch that begins at the cursor, in a second order: the planner's own does not move.
    pub(super) fn count(&self, index: &Index, demand: Demand, slots: Option<SlotsShape>) -> Result<Stretch> {
        let data_end = self.spec.end(index)?.unwrap_or(u64::MAX);
        let epoch_end = self.spec.epoch_end(self.cursor.position);
        let mut counter = StepCounter {
            tallies: (0..demand.workers).map(|rank| self.tally(Demand { rank, ..demand }, slots)).collect(),
            consumed: self.consumed.as_deref(),
            // Whole minibatches keep the slots of excluded sequences; truncated ones close up over them.
            excluded: self.spec.excluded.as_deref().filter(|_| slots.is_some()),
            last_sequence: self.spec.last_sequence_before(epoch_end),
            end: epoch_end.map_or(data_end, |epoch_end| data_end.min(epoch_end)),
            at: Cursor { steps: Steps::default(), ..self.cursor },
            is_cut: false,
        };
        order_of(&self.spec).visit(index, &self.cursor, &mut |run| run.iter().all(|next| counter.add(next)));
        let mut end = counter.at;
        if end.sequence == index.n_sequences() {
            end = Cursor { position: end.position, sweep: end.sweep + 1, ..Cursor::default() };
        }
        let data_end = counter.is_cut || end.position >= data_end;
        Ok(Stretch { steps: counter.tallies.into_iter().map(Tally::finish).collect(), end, data_end })
    }

    /// The tally of a rank before its first sequence.
    fn tally(&self, demand: Demand, slots: Option<SlotsShape>) -> Tally {
        let batch = match slots {
            Some(shape) => Batch::Slots(shape.slots_of(demand.share())),
            None => Batch::Whole {
                room: Room::of(demand, self.spec.most_sequences(), true).own,
                stops_when_full: self.info.stops_when_full,
                taken: Size::NOTHING,
            },
        };
        Tally { steps: 0, batch }
    }
}

/// Counts the steps of all ranks, sequence by sequence.
struct StepCounter<'a> {
    tallies: Vec<Tally>,
    consumed: Option<&'a Consumed>,
    excluded: Option<&'a ExcludedSequences>,
    last_sequence: LastSequence,
    /// The position at which the stretch ends, if its sweep does not end before.
    end: u64,
    at: Cursor,
    /// True once the sequence in which the data end has been left out.
    is_cut: bool,
}

impl StepCounter<'_> {
    /// Counts a sequence. `false`: the stretch ends before it.
    #[inline]
    fn add(&mut self, next: &Next) -> bool {
        let length = u64::from(next.length);
        let left = self.end.saturating_sub(self.at.position);
        if left == 0 {
            return false;
        }
        if self.last_sequence == LastSequence::LeftOut && left < length {
            self.is_cut = true;
            return false;
        }
        let is_left_out = self.excluded.is_some_and(|excluded| excluded.holds(next.planned));
        if !is_left_out && !self.consumed.is_some_and(|consumed| consumed.holds(self.at.position, next.home))
        {
            let rank = next.home % self.tallies.len() as u64;
            let tally = &mut self.tallies[rank as usize];
            let is_cut = self.last_sequence == LastSequence::Cut && matches!(tally.batch, Batch::Slots(_));
            tally.add(if is_cut { length.min(left) } else { length });
        }
        self.at.position += length;
        self.at.sequence += 1;
        true
    }
}

/// Counts the minibatches of one rank.
struct Tally {
    steps: u64,
    /// The minibatch that is being filled.
    batch: Batch,
}

enum Batch {
    /// Of whole sequences.
    Whole { room: Size, stops_when_full: bool, taken: Size },
    /// Truncated.
    Slots(Slots<()>),
}

impl Tally {
    fn add(&mut self, length: u64) {
        match &mut self.batch {
            Batch::Whole { room, stops_when_full, taken } => {
                let is_full = *stops_when_full && room.is_used_up_by(*taken);
                if *taken == Size::NOTHING || is_full || !room.fits(*taken, length) {
                    self.steps += 1;
                    *taken = Size::NOTHING;
                }
                taken.add(length);
            }
            Batch::Slots(slots) => {
                let slot = loop {
                    match slots.hungry() {
                        Some(slot) => break slot,
                        None => self.steps += take(slots),
                    }
                };
                // The slots are only counted and never saved, so these fields have no meaning.
                let pending = PendingSequence { sequence: 0, sweep_end: false, sweep: 0, keep: None };
                slots.push(slot, (), pending, u32::try_from(length).unwrap_or(u32::MAX));
            }
        }
    }

    /// The number of minibatches, including those that drain the slots.
    fn finish(mut self) -> u64 {
        if let Batch::Slots(slots) = &mut self.batch {
            while !slots.is_empty() {
                self.steps += take(slots);
            }
        }
        self.steps
    }
}

/// Takes one minibatch.
fn take(slots: &mut Slots<()>) -> u64 {
    slots.take(&mut Vec::new());
    1
}
