//! How many minibatches each rank has in a stretch of the data, counted in one pass over its order.

use tesson_core::Index;

use super::{Planner, order_of};
use crate::PlanRefusal;
use crate::order::Next;
use crate::size::{Room, Size};
use crate::truncate::{PendingSequence, Rows};
use crate::{Consumed, Cursor, Demand, LastSequence, RowsShape, Steps};

/// A stretch: the steps of each rank, and where it ends.
pub(super) struct Stretch {
    pub(super) steps: Vec<u64>,
    pub(super) end: Cursor,
    pub(super) data_end: bool,
}

impl Planner {
    /// Counts the steps of the stretch that begins at the cursor, in an order of its own: the one that plans is not moved.
    pub(super) fn count(
        &self,
        index: &Index,
        demand: Demand,
        rows: Option<RowsShape>,
    ) -> Result<Stretch, PlanRefusal> {
        let stops_when_full = self.info.stops_when_full;
        let tally = |rank| match rows {
            Some(shape) => Tally::Rows(RowsTally { rows: shape.rows_of(demand.workers, rank), steps: 0 }),
            None => {
                let room = Room::of(Demand { rank, ..demand }, self.spec.most_sequences(), true).own;
                Tally::Whole(WholeTally { room, stops_when_full, taken: Size::NOTHING, steps: 0 })
            }
        };
        let data_end = self.spec.end(index)?.unwrap_or(u64::MAX);
        let epoch_end = self.spec.epoch_end(self.cursor.position);
        let mut counter = StepCounter {
            tallies: (0..demand.workers).map(tally).collect(),
            consumed: self.consumed.as_deref(),
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
        Ok(Stretch { steps: counter.tallies.into_iter().map(Tally::steps).collect(), end, data_end })
    }
}

/// Counts the steps of all ranks, sequence by sequence.
struct StepCounter<'a> {
    tallies: Vec<Tally>,
    consumed: Option<&'a Consumed>,
    last_sequence: LastSequence,
    /// The position at which the stretch ends, if its sweep does not end before.
    end: u64,
    at: Cursor,
    /// Whether the sequence in which the data end is left out.
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
        if !self.consumed.is_some_and(|consumed| consumed.holds(self.at.position, next.home)) {
            let rank = next.home % self.tallies.len() as u64;
            match &mut self.tallies[rank as usize] {
                Tally::Whole(tally) => tally.add(length),
                Tally::Rows(tally) if self.last_sequence == LastSequence::Cut => tally.add(length.min(left)),
                Tally::Rows(tally) => tally.add(length),
            }
        }
        self.at.position += length;
        self.at.sequence += 1;
        true
    }
}

/// Counts the minibatches of one rank.
enum Tally {
    Whole(WholeTally),
    Rows(RowsTally),
}

impl Tally {
    fn steps(self) -> u64 {
        match self {
            Tally::Whole(tally) => tally.steps,
            Tally::Rows(tally) => tally.steps(),
        }
    }
}

/// Minibatches of whole sequences.
struct WholeTally {
    room: Size,
    stops_when_full: bool,
    taken: Size,
    steps: u64,
}

impl WholeTally {
    fn add(&mut self, length: u64) {
        let is_full = self.stops_when_full && self.room.is_used_up_by(self.taken);
        if self.taken == Size::NOTHING || is_full || !self.room.fits(self.taken, length) {
            self.steps += 1;
            self.taken = Size::NOTHING;
        }
        self.taken.add(length);
    }
}

/// Truncated minibatches.
struct RowsTally {
    rows: Rows<()>,
    steps: u64,
}

impl RowsTally {
    fn add(&mut self, length: u64) {
        let row = loop {
            match self.rows.hungry() {
                Some(row) => break row,
                None => self.take(),
            }
        };
        // No state is made of it.
        let pending = PendingSequence { sequence: 0, sweep_end: false, sweep: 0, keep: None };
        self.rows.push(row, (), pending, u32::try_from(length).unwrap_or(u32::MAX));
    }

    fn take(&mut self) {
        self.rows.take(&mut Vec::new());
        self.steps += 1;
    }

    fn steps(mut self) -> u64 {
        while !self.rows.is_empty() {
            self.take();
        }
        self.steps
    }
}
