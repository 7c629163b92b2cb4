//! Equal steps: all ranks get the same number of minibatches, so that none waits for another for ever.
//!
//! Under sharing by chunk each rank cuts its own sequences, so ranks run out at different times. Where that is not
//! wanted, the data are divided into *stretches*, each a sweep, or what an epoch or the end of the data leave of it. When a
//! stretch begins, one pass over its order counts the minibatches of every rank. How many all of them give is the
//! smallest of these numbers ([`EqualSteps::Drop`]) or the largest; it goes into the cursor, and from there into states.
//!
//! Truncated minibatches are counted as if every sequence were as long as the index says; who makes them keeps to the number.
//!
//! Under sharing by position every rank has every step anyway; here shares that are empty are dropped or filled.

use tesson_core::{Index, UsageError};

use super::{Orders, Planner, Progress};
use crate::cut::{Room, Size};
use crate::order::{Order, Walk};
use crate::share::Share;
use crate::truncate::{Rows, Waits};
use crate::{BatchKind, BatchPlan, Cursor, Demand, EqualSteps, LastSequence, RowsShape, Sharing, Steps};

/// More workers than anybody has: what is kept for each of them would fill memory.
const MOST_WORKERS: u64 = 1 << 20;

/// Counts a rank's minibatches of one stretch.
enum Tally {
    Whole(WholeTally),
    Rows(RowsTally),
}

/// Minibatches of whole sequences.
struct WholeTally {
    room: Size,
    taken: Size,
    steps: u64,
}

impl WholeTally {
    fn add(&mut self, length: u64, stops_when_full: bool) {
        let is_full = stops_when_full && self.room.is_used_up_by(self.taken);
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
                None => self.give(),
            }
        };
        // No state is made of it.
        let waits = Waits { sequence: 0, sweep_end: false, sweep: 0, keep: None };
        self.rows.push(row, (), waits, u32::try_from(length).unwrap_or(u32::MAX));
    }

    fn give(&mut self) {
        self.rows.take(&mut Vec::new());
        self.steps += 1;
    }

    fn end(&mut self) {
        while !self.rows.is_empty() {
            self.give();
        }
    }
}

/// A stretch: the steps of each rank, and where it ends.
struct Stretch {
    steps: Vec<u64>,
    end: Cursor,
    data_end: bool,
}

impl Planner {
    /// Whether ranks would run out at different times and are kept together.
    pub(super) fn keeps_together(&self, demand: Demand) -> Option<EqualSteps> {
        self.spec.equal_steps.filter(|_| self.spec.sharing == Sharing::Chunk && demand.workers > 1)
    }

    /// What must hold for ranks to be kept together.
    pub(super) fn check_equal_steps(&self, index: &Index, demand: Demand) -> Result<(), UsageError> {
        let Some(mode) = self.keeps_together(demand) else { return Ok(()) };
        let workers = demand.workers;
        if self.spec.order.is_local() || !self.spec.local_timeline || self.spec.cross_sweep_ends {
            return Err(UsageError(
                "equal steps are for minibatches that end with their sweep, on the timeline of all ranks; share by position"
                    .into(),
            ));
        }
        if workers > MOST_WORKERS {
            return Err(UsageError(format!(
                "{workers} workers are kept together, at most {MOST_WORKERS} are possible"
            )));
        }
        let owners = match self.order {
            Orders::AsStored => index.n_sequences(),
            _ => index.n_chunks() as u64,
        };
        if mode == EqualSteps::Drop && workers > owners {
            return Err(UsageError(format!(
                "{workers} workers share {owners} chunks or sequences: some get none, and no step has data for all; take fewer workers, or share by position"
            )));
        }
        Ok(())
    }

    /// Whether steps that are under way at a cursor can be gone on with.
    pub(super) fn check_steps(
        &self,
        index: &Index,
        at: Cursor,
        demand: Option<Demand>,
    ) -> Result<(), UsageError> {
        let steps = at.steps;
        if self.spec.equal_steps.is_none() || !steps.is_running() {
            return Ok(());
        }
        let n = index.n_sequences();
        let is_of_the_corpus = steps.n_sequences == n
            && steps.end_sequence <= n
            && steps.begin_sequence < steps.end_sequence
            && (steps.begin_sequence..=steps.end_sequence).contains(&steps.again_sequence)
            && (at.sweep == steps.sweep || steps.sweep.checked_add(1) == Some(at.sweep));
        if index.is_complete() && !is_of_the_corpus {
            return Err(UsageError(format!(
                "the state's steps are of sequences {} to {} of {}, the corpus has {n}",
                steps.begin_sequence, steps.end_sequence, steps.n_sequences
            )));
        }
        let Some(Demand { samples, workers, .. }) = demand else { return Ok(()) };
        let sequences = self.spec.most_sequences.unwrap_or(0);
        if (samples, sequences, workers) == (steps.samples, steps.sequences, steps.workers) {
            return Ok(());
        }
        Err(UsageError(format!(
            "step {} of {} equal ones is due, of {} for {} workers, and the call asks for {} for {workers}; sizes and workers may change where the sweep ends",
            steps.given + 1,
            steps.of,
            size(steps.samples, steps.sequences),
            steps.workers,
            size(samples, sequences),
        )))
    }

    /// Plans the next of equal steps.
    pub(super) fn next_equal(
        &mut self,
        index: &Index,
        demand: Demand,
        mode: EqualSteps,
        out: &mut BatchPlan,
    ) -> Result<Progress, UsageError> {
        if !index.is_complete() {
            return Ok(Progress::NeedIndex);
        }
        if !self.begin_steps(index, demand, mode, None)? {
            out.data_end = true;
            out.after = self.cursor;
            return Ok(Progress::Planned);
        }
        let mut steps = self.cursor.steps;
        let mut at = self.cursor;
        out.kind = BatchKind::Step;
        self.cut_within(index, demand, &mut at, out)?;
        if out.own.is_empty() && mode == EqualSteps::Repeat {
            out.kind = BatchKind::RepeatedStep;
            let mut again = steps.again();
            self.go_back(index, again);
            self.cut_within(index, demand, &mut again, out)?;
            if out.own.is_empty() && again != steps.begin() {
                again = steps.begin();
                self.go_back(index, again);
                self.cut_within(index, demand, &mut again, out)?;
            }
            steps.repeat_from(again);
        }
        steps.given += 1;
        (out.sweep_end, out.data_end) = (false, false);
        self.cursor = Cursor { steps, ..at };
        if steps.given == steps.of {
            self.cursor = steps.end();
            out.sweep_end = self.cursor.sweep > steps.sweep;
            out.data_end = steps.data_end;
        }
        self.consumed.take_if(|consumed| !consumed.is_ahead_of(self.cursor));
        out.after = self.cursor;
        Ok(Progress::Planned)
    }

    /// The steps of truncated minibatches at a cursor: those that are under way, or those of the next stretch that has any,
    /// where the cursor that is returned stands then. `None` at the end of the data.
    ///
    /// Ranks are kept together under sharing by chunk, where each fills `shape` rows of its own.
    ///
    /// # Errors
    /// As [`Planner::start`], and another demand than that of the steps under way.
    pub fn steps_of_rows(
        &mut self,
        index: &Index,
        at: Cursor,
        demand: Demand,
        shape: RowsShape,
    ) -> Result<Option<Cursor>, UsageError> {
        self.check(index, Some(demand))?;
        let Some(mode) = self.spec.equal_steps else { return Ok(None) };
        if demand.workers > shape.n {
            return Err(UsageError(format!(
                "{} workers share {} rows, each needs one",
                demand.workers, shape.n
            )));
        }
        self.cursor = at;
        Ok(self.begin_steps(index, demand, mode, Some(shape))?.then_some(self.cursor))
    }

    /// Makes steps be under way, if none are: those of the next stretch that has any. `false`: the data end before.
    fn begin_steps(
        &mut self,
        index: &Index,
        demand: Demand,
        mode: EqualSteps,
        rows: Option<RowsShape>,
    ) -> Result<bool, UsageError> {
        self.check_steps(index, self.cursor, Some(demand))?;
        let first = self.cursor.sweep;
        while !self.cursor.steps.is_running() {
            if self.cursor.sweep > first + 1 {
                return Err(UsageError(format!(
                    "no step of a whole sweep has data for all {} workers; take fewer, smaller chunks, or share by position",
                    demand.workers
                )));
            }
            if self.begin_stretch(index, demand, mode, rows)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Counts the steps of the stretch that begins here, or passes over it if there are none; says whether the data end here.
    fn begin_stretch(
        &mut self,
        index: &Index,
        demand: Demand,
        mode: EqualSteps,
        rows: Option<RowsShape>,
    ) -> Result<bool, UsageError> {
        if self.spec.end(index)?.is_some_and(|end| self.cursor.position >= end) {
            return Ok(true);
        }
        let begin = self.cursor;
        let Stretch { steps, end, data_end } = self.count(index, demand, rows)?;
        let of = if mode == EqualSteps::Drop { steps.iter().min() } else { steps.iter().max() };
        let of = of.copied().unwrap_or(0);
        if of == 0 {
            self.cursor = end;
            return Ok(data_end);
        }
        self.cursor.steps = Steps {
            samples: demand.samples,
            sequences: self.spec.most_sequences.unwrap_or(0),
            workers: demand.workers,
            given: 0,
            of,
            sweep: begin.sweep,
            begin_position: begin.position,
            begin_sequence: begin.sequence,
            again_position: begin.position,
            again_sequence: begin.sequence,
            end_position: end.position,
            end_sequence: if end.sweep > begin.sweep { index.n_sequences() } else { end.sequence },
            data_end,
            n_sequences: index.n_sequences(),
        };
        Ok(false)
    }

    /// One pass over the stretch from here on. An order of its own is asked, so that the one that plans stays where it is.
    fn count(&self, index: &Index, demand: Demand, rows: Option<RowsShape>) -> Result<Stretch, UsageError> {
        let sequences = self.spec.most_sequences.unwrap_or(u64::MAX);
        let tally = |rank| match rows {
            Some(shape) => Tally::Rows(RowsTally { rows: shape.rows_of(demand.workers, rank), steps: 0 }),
            None => {
                let room = Room::of(Demand { rank, ..demand }, sequences, true).own;
                Tally::Whole(WholeTally { room, taken: Size::NOTHING, steps: 0 })
            }
        };
        let mut tallies: Vec<Tally> = (0..demand.workers).map(tally).collect();
        let (end, epoch_end) = (self.spec.end(index)?, self.spec.epoch_end(self.cursor.position));
        let end = end.unwrap_or(u64::MAX);
        let stop = epoch_end.map_or(end, |epoch_end| end.min(epoch_end));
        let last = if epoch_end.is_none() { self.spec.ending.last_sequence } else { LastSequence::Whole };
        let stops_when_full = matches!(self.order, Orders::AsStored);
        let mut at = Cursor { steps: Steps::default(), ..self.cursor };
        let mut is_cut = false;
        let mut each = |home: u64, length: u64| {
            if at.position >= stop {
                return false;
            }
            if last == LastSequence::LeftOut && stop - at.position < length {
                is_cut = true;
                return false;
            }
            if !self.consumed.as_ref().is_some_and(|consumed| consumed.holds(at.position, home)) {
                match &mut tallies[(home % demand.workers) as usize] {
                    Tally::Whole(tally) => tally.add(length, stops_when_full),
                    Tally::Rows(tally) if last == LastSequence::Cut => {
                        tally.add(length.min(stop - at.position));
                    }
                    Tally::Rows(tally) => tally.add(length),
                }
            }
            at.position += length;
            at.sequence += 1;
            true
        };
        match Orders::of(&self.spec) {
            Orders::AsStored => {
                let n = index.n_sequences();
                let mut walk = Walk::new(index, self.cursor.sequence);
                let first = self.cursor.sweep.wrapping_mul(n);
                (self.cursor.sequence..n).all(|i| each(first.wrapping_add(i), walk.step().1));
            }
            Orders::Windowed(mut order) => pass_over(&mut *order, index, self.cursor, each),
            Orders::Bucketed(mut order) => pass_over(&mut *order, index, self.cursor, each),
            Orders::Global(mut order) => pass_over(&mut *order, index, self.cursor, each),
            Orders::Local(_) => unreachable!("refused before"),
        }
        if at.sequence == index.n_sequences() {
            at = Cursor { position: at.position, sweep: at.sweep + 1, ..Cursor::default() };
        }
        let steps = tallies.into_iter().map(|tally| match tally {
            Tally::Whole(tally) => tally.steps,
            Tally::Rows(mut tally) => {
                tally.end();
                tally.steps
            }
        });
        Ok(Stretch { steps: steps.collect(), end: at, data_end: is_cut || at.position >= end })
    }

    /// Cuts minibatches until one has a sequence of ours or the stretch is over.
    fn cut_within(
        &mut self,
        index: &Index,
        demand: Demand,
        at: &mut Cursor,
        out: &mut BatchPlan,
    ) -> Result<(), UsageError> {
        let steps = self.cursor.steps;
        while out.own.is_empty() && steps.hold(*at) {
            out.forget_sweeps();
            let share = Share::new(demand.workers, demand.rank);
            let room = Room::of(demand, self.spec.most_sequences.unwrap_or(u64::MAX), true);
            self.cut(index, demand, (share, room), at, out)?;
        }
        Ok(())
    }

    /// Drops or fills steps of which some rank would have no share; says whether the step counts.
    pub(super) fn settle_shares(&mut self, demand: Demand, out: &mut BatchPlan) -> bool {
        let n = out.own.len() as u64;
        match self.spec.equal_steps {
            Some(EqualSteps::Drop) if n > 0 && n < demand.workers => return false,
            Some(EqualSteps::Repeat) if n > 0 => {
                out.deal(demand.workers, demand.rank % demand.workers.min(n))
            }
            _ => out.deal(demand.workers, demand.rank),
        }
        true
    }
}

/// A size in words, 0 sequences being any number.
fn size(samples: u64, sequences: u64) -> String {
    match sequences {
        0 => format!("{samples} samples"),
        _ => format!("{samples} samples and {sequences} sequences"),
    }
}

fn pass_over<O: Order>(order: &mut O, index: &Index, from: Cursor, mut each: impl FnMut(u64, u64) -> bool) {
    order.enter(index, from.sweep);
    let mut ready = from.sequence;
    for sequence in from.sequence..index.n_sequences() {
        if sequence == ready {
            ready = order.prepare(index, sequence);
        }
        let next = order.get(sequence);
        if !each(next.home, next.length.into()) {
            return;
        }
    }
}
