//! Equal steps: all ranks get the same number of minibatches, so that no rank waits for another for ever.
//!
//! Under sharing by chunk each rank cuts its own sequences, so ranks run out at different times. To prevent that, the
//! data are divided into *stretches*, each a sweep, or the part of one that an epoch or the end of the data leaves.
//! At the beginning of a stretch one pass over its order counts the minibatches of every rank. All ranks deliver the
//! smallest of these numbers ([`EqualSteps::Drop`]) or the largest; it is stored in the cursor, and so in states: a
//! resumed run does not count again.
//!
//! Truncated minibatches are counted as if every sequence were as long as the index says; the caller that makes them
//! keeps to that number even if decoding finds a shorter one.
//!
//! Under sharing by position every rank has every step anyway: only empty shares are dropped or filled, in
//! `planner.rs`.
//!
//! Advice for the next editor: the order of [`Steps`]' fields is that of states (`resume/steps.rs`). Sizes and
//! workers may change only between stretches, since the count holds for one size; decision 11 says what else was
//! considered.

use tesson_core::Index;

use super::count::Stretch;
use super::{Part, Planner, Progress};
use crate::size::Room;
use crate::{BatchKind, BatchPlan, Cursor, Demand, EqualSteps, Sharing, SlotsShape, Steps};
use crate::{PlanRefusal, Result};

/// Most workers with equal steps: the counts of more would fill memory.
const MOST_WORKERS: u64 = 1 << 20;

impl Planner {
    /// The mode of equal steps, if ranks would run out at different times without it.
    pub(super) fn equal_steps(&self, demand: Demand) -> Option<EqualSteps> {
        self.spec.equal_steps.filter(|_| self.spec.sharing == Sharing::Chunk && demand.workers > 1)
    }

    /// Refuses demands and specifications that equal steps cannot be counted for.
    pub(super) fn check_equal_steps(&self, index: &Index, demand: Demand) -> Result<()> {
        let Some(mode) = self.equal_steps(demand) else { return Ok(()) };
        let workers = demand.workers;
        if self.info.is_local || !self.spec.local_timeline || self.spec.cross_sweep_ends {
            return Err(PlanRefusal::EqualStepsNeedSweeps);
        }
        if workers > MOST_WORKERS {
            return Err(PlanRefusal::TooManyWorkers { workers, most: MOST_WORKERS });
        }
        let owners = self.info.n_shared(index);
        if mode == EqualSteps::Drop && workers > owners {
            return Err(PlanRefusal::MoreWorkersThanData { workers, owners });
        }
        Ok(())
    }

    /// Checks that the steps in progress at a cursor can be resumed.
    pub(super) fn check_steps(&self, index: &Index, at: Cursor, demand: Option<Demand>) -> Result<()> {
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
            let (begin, end, of) = (steps.begin_sequence, steps.end_sequence, steps.n_sequences);
            return Err(PlanRefusal::StateSteps { begin, end, of, n });
        }
        let Some(Demand { samples, workers, .. }) = demand else { return Ok(()) };
        let sequences = self.spec.most_sequences.unwrap_or(0);
        if (samples, sequences, workers) == (steps.samples, steps.sequences, steps.workers) {
            return Ok(());
        }
        Err(PlanRefusal::StepsUnderWay {
            step: steps.given + 1,
            of: steps.of,
            size: size(steps.samples, steps.sequences),
            workers: steps.workers,
            asked: size(samples, sequences),
            asked_workers: workers,
        })
    }

    /// Plans the next of equal steps.
    pub(super) fn next_step(
        &mut self,
        index: &Index,
        demand: Demand,
        mode: EqualSteps,
        out: &mut BatchPlan,
    ) -> Result<Progress> {
        if !index.is_complete() {
            return Ok(Progress::NeedIndex);
        }
        if !self.begin_steps(index, demand, mode, None)? {
            out.data_end = true;
            return Ok(Progress::Planned);
        }
        let mut steps = self.cursor.steps;
        let mut at = self.cursor;
        out.kind = BatchKind::Step;
        self.cut_within(index, demand, &mut at, out)?;
        if out.own.is_empty() && mode == EqualSteps::Repeat {
            out.kind = BatchKind::RepeatedStep;
            let mut again = steps.again();
            self.order.rewind(index, &again);
            self.cut_within(index, demand, &mut again, out)?;
            if out.own.is_empty() && again != steps.begin() {
                again = steps.begin();
                self.order.rewind(index, &again);
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
        Ok(Progress::Planned)
    }

    /// Finds the steps of truncated minibatches at a cursor: those in progress, or those of the next stretch that has
    /// any. Returns the cursor at which they begin or continue; `None` at the end of the data.
    ///
    /// Ranks take equal steps under sharing by chunk, where each fills its own slots of `shape`.
    ///
    /// # Errors
    /// The errors of [`Planner::start`], and [`PlanRefusal`] for another demand than that of the steps in progress.
    pub fn steps_of_rows(
        &mut self,
        index: &Index,
        at: Cursor,
        demand: Demand,
        shape: SlotsShape,
    ) -> Result<Option<Cursor>> {
        self.check(index, Some(demand))?;
        let Some(mode) = self.spec.equal_steps else { return Ok(None) };
        if demand.workers > shape.n {
            return Err(PlanRefusal::MoreWorkersThanRows { workers: demand.workers, rows: shape.n });
        }
        self.cursor = at;
        Ok(self.begin_steps(index, demand, mode, Some(shape))?.then_some(self.cursor))
    }

    /// Begins the steps of the next stretch that has any, if none are in progress. `false`: the data end before.
    fn begin_steps(
        &mut self,
        index: &Index,
        demand: Demand,
        mode: EqualSteps,
        rows: Option<SlotsShape>,
    ) -> Result<bool> {
        self.check_steps(index, self.cursor, Some(demand))?;
        let first = self.cursor.sweep;
        while !self.cursor.steps.is_running() {
            if self.cursor.sweep > first + 1 {
                return Err(PlanRefusal::NoStepForAll { workers: demand.workers });
            }
            if self.begin_stretch(index, demand, mode, rows)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Counts the steps of the stretch that begins at the cursor, or skips the stretch if it has none. Returns true
    /// if the data end here.
    fn begin_stretch(
        &mut self,
        index: &Index,
        demand: Demand,
        mode: EqualSteps,
        rows: Option<SlotsShape>,
    ) -> Result<bool> {
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

    /// Cuts minibatches until one has a sequence of this rank or the stretch is over.
    fn cut_within(
        &mut self,
        index: &Index,
        demand: Demand,
        at: &mut Cursor,
        out: &mut BatchPlan,
    ) -> Result<()> {
        let steps = self.cursor.steps;
        while out.own.is_empty() && steps.hold(*at) {
            out.forget_sweeps();
            let room = Room::of(demand, self.spec.most_sequences(), true);
            let part = Part { share: demand.share(), dealt: None, room };
            self.cut(index, demand, part, at, out)?;
        }
        Ok(())
    }
}

/// A size in words; 0 sequences stand for any number.
fn size(samples: u64, sequences: u64) -> String {
    match sequences {
        0 => format!("{samples} samples"),
        _ => format!("{samples} samples and {sequences} sequences"),
    }
}
