//! Equal steps: all ranks get the same number of minibatches, so that none waits for another for ever.
//!
//! Under sharing by chunk each rank cuts its own sequences, so ranks run out at different times. Where that is not
//! wanted, the data are divided into *stretches*, each a sweep, or what an epoch or the end of the data leave of it. When a
//! stretch begins, one pass over its order counts the minibatches of every rank. How many all of them give is the
//! smallest of these numbers ([`EqualSteps::Drop`]) or the largest; it goes into the cursor, and from there into states.
//!
//! Under sharing by position every rank has every step anyway; here shares that are empty are dropped or filled.

use tesson_core::{Index, UsageError};

use super::{Orders, Planner, Progress};
use crate::cut::{Room, Size};
use crate::order::{Order, Walk};
use crate::share::Share;
use crate::{BatchPlan, Cursor, Demand, EqualSteps, LastSequence, Sharing, Steps};

/// More workers than anybody has: what is kept for each of them would fill memory.
const MOST_WORKERS: u64 = 1 << 20;

/// Counts a rank's minibatches of one stretch.
#[derive(Copy, Clone)]
struct Tally {
    room: Size,
    taken: Size,
    steps: u64,
}

impl Tally {
    fn add(&mut self, length: u64, stops_when_full: bool) {
        let is_full = stops_when_full && self.room.is_used_up_by(self.taken);
        if self.taken == Size::NOTHING || is_full || !self.room.fits(self.taken, length) {
            self.steps += 1;
            self.taken = Size::NOTHING;
        }
        self.taken.add(length);
    }
}

/// A stretch: its steps by rank, and where it ends.
struct Stretch {
    tallies: Vec<Tally>,
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
        self.check_steps(index, self.cursor, Some(demand))?;
        let first = self.cursor.sweep;
        while !self.cursor.steps.is_running() {
            if self.cursor.sweep > first + 1 {
                return Err(UsageError(format!(
                    "no step of a whole sweep has data for all {} workers; take fewer, smaller chunks, or share by position",
                    demand.workers
                )));
            }
            if self.begin_stretch(index, demand, mode)? {
                out.data_end = true;
                out.after = self.cursor;
                return Ok(Progress::Planned);
            }
        }
        let mut steps = self.cursor.steps;
        let mut at = self.cursor;
        self.cut_within(index, demand, &mut at, out)?;
        if out.own.is_empty() && mode == EqualSteps::Repeat {
            out.repeated = true;
            let mut again = steps.again();
            self.go_back(index, again);
            self.cut_within(index, demand, &mut again, out)?;
            if out.own.is_empty() && again != steps.begin() {
                again = steps.begin();
                self.go_back(index, again);
                self.cut_within(index, demand, &mut again, out)?;
            }
            (steps.again_position, steps.again_sequence) = (again.position, again.sequence);
            if again.sweep > steps.sweep {
                (steps.again_position, steps.again_sequence) = (steps.begin_position, steps.begin_sequence);
            }
        }
        steps.given += 1;
        (out.sweep_end, out.data_end, out.is_step) = (false, false, true);
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

    /// Counts the steps of the stretch that begins here, or passes over it if there are none; says whether the data end here.
    fn begin_stretch(&mut self, index: &Index, demand: Demand, mode: EqualSteps) -> Result<bool, UsageError> {
        if self.spec.end(index)?.is_some_and(|end| self.cursor.position >= end) {
            return Ok(true);
        }
        let begin = self.cursor;
        let Stretch { tallies, end, data_end } = self.count(index, demand)?;
        let steps = tallies.iter().map(|tally| tally.steps);
        let of = if mode == EqualSteps::Drop { steps.min() } else { steps.max() }.unwrap_or(0);
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
    fn count(&self, index: &Index, demand: Demand) -> Result<Stretch, UsageError> {
        let sequences = self.spec.most_sequences.unwrap_or(u64::MAX);
        let tally = |rank| {
            let room = Room::of(Demand { rank, ..demand }, sequences, true).own;
            Tally { room, taken: Size::NOTHING, steps: 0 }
        };
        let mut tallies: Vec<Tally> = (0..demand.workers).map(tally).collect();
        let (end, epoch_end) = (self.spec.end(index)?, self.spec.epoch_end(self.cursor.position));
        let end = end.unwrap_or(u64::MAX);
        let stop = epoch_end.map_or(end, |epoch_end| end.min(epoch_end));
        let left_out = epoch_end.is_none() && self.spec.ending.last_sequence == LastSequence::LeftOut;
        let stops_when_full = matches!(self.order, Orders::AsStored);
        let mut at = Cursor { steps: Steps::default(), ..self.cursor };
        let mut is_cut = false;
        let mut each = |home: u64, length: u64| {
            if at.position >= stop {
                return false;
            }
            if left_out && stop - at.position < length {
                is_cut = true;
                return false;
            }
            if !self.consumed.as_ref().is_some_and(|consumed| consumed.holds(at.position, home)) {
                tallies[(home % demand.workers) as usize].add(length, stops_when_full);
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
        Ok(Stretch { tallies, end: at, data_end: is_cut || at.position >= end })
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
        let is_within = |at: &Cursor| at.sweep == steps.sweep && at.position < steps.end_position;
        while out.own.is_empty() && is_within(at) {
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
