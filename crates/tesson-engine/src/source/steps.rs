//! Minibatches by their number, and the minibatches that a sequence comes in: planned, without reading data.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use tesson_core::{Error, Indexed, Key, SequenceId};
use tesson_plan::{
    BatchPlan, BatchSlot, Cursor, Demand, EqualSteps, Planner, ResumeState, Share, Sharing, StepSizes,
};

use super::Source;
use super::truncated::{self, TruncatedPlan};
use crate::refusal::EngineRefusal;

/// The demands of a run's calls, from the start of the data on. Step 0 is the first of them.
#[derive(Copy, Clone)]
pub struct RunCalls<'a> {
    /// Samples of a minibatch, over all workers.
    pub sizes: StepSizes<'a>,
    /// The number of workers.
    pub workers: u64,
    /// Whose minibatches; `None`: those of all ranks.
    pub rank: Option<u64>,
}

/// A minibatch, as it was or will be delivered.
#[derive(Clone, Debug, Default)]
pub struct PlannedStep {
    /// Its sequences, rank by rank, for each in the order of the minibatch. Those that turn out to be invalid are among them.
    pub sequences: Vec<StepSequence>,
    /// True if a sweep ends with it, for the first of the ranks that have it.
    pub sweep_end: bool,
}

/// A sequence of a minibatch, and where it lies.
#[derive(Clone, Debug)]
pub struct StepSequence {
    /// The rank that delivers it.
    pub rank: u64,
    /// Its key.
    pub key: Key,
    /// The sweep that it is of.
    pub sweep: u64,
    /// Its chunk and its number there.
    pub planned: SequenceId,
    /// Its samples in the minibatch, by counted length: all of them, but where the data end inside it or minibatches are truncated.
    pub samples: Range<u32>,
    /// The file that it lies in (of the first deserializer), and its bytes there; none for what is in no file.
    pub location: Option<(Arc<Path>, Range<u64>)>,
}

/// A minibatch that a sequence comes in.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct KeyDelivery {
    /// The number of the minibatch among those of its rank.
    pub step: u64,
    /// The rank.
    pub rank: u64,
    /// The sweep.
    pub sweep: u64,
    /// The sequence: several may have one key.
    pub planned: SequenceId,
}

/// A planned sequence on its way to a [`StepSequence`].
struct Found {
    rank: u64,
    sweep: u64,
    planned: SequenceId,
    samples: Range<u32>,
}

impl Source {
    /// Which sequences minibatch number `step` of a run holds, counted from 0 at the start of the data. Neither reads data
    /// nor changes where the source stands; keys are read where the index does not hold them.
    ///
    /// Takes one division where all minibatches hold as many sequences ([`Planner::seek_step`]), otherwise plans those
    /// before it: about 50 ns a sequence, for each rank where they share by chunk. Truncated minibatches are planned as if
    /// all sequences were as long as the index says.
    ///
    /// # Errors
    /// A step beyond the end of the data, calls that can never be met, and what [`Source::indexed`] answers.
    pub fn which(&mut self, step: u64, calls: RunCalls<'_>) -> Result<PlannedStep, Error> {
        self.check_process()?;
        let indexed = self.indexed()?.clone();
        let (mut found, mut sweep_end, mut most) = (Vec::new(), None, 0);
        for share in self.shares(&calls)? {
            let (steps, end) = if self.truncated.is_some() {
                self.truncated_step(&indexed, step, &calls, share, &mut found)?
            } else {
                self.whole_step(&indexed, step, &calls, share, &mut found)?
            };
            most = most.max(steps);
            sweep_end = sweep_end.or(end);
        }
        let Some(sweep_end) = sweep_end else {
            return Err(EngineRefusal::StepBeyondEnd { step, steps: most }.into());
        };
        found.retain(|found| calls.rank.is_none_or(|rank| found.rank == rank));
        found.sort_by_key(|found| found.rank);
        Ok(PlannedStep { sequences: self.located(&indexed, found)?, sweep_end })
    }

    /// The minibatches in which the sequences of a key come in a sweep, in the order of their steps: none if the data end
    /// before. Keys are compared as texts. Does not change where the source stands; keys are read where the index does not
    /// hold them.
    ///
    /// Goes through the order of the sweep, and through those before it where [`Source::which`] plans them.
    ///
    /// # Errors
    /// A key that no sequence has, and as [`Source::which`].
    pub fn where_is(
        &mut self,
        key: &str,
        sweep: u64,
        calls: RunCalls<'_>,
    ) -> Result<Vec<KeyDelivery>, Error> {
        self.check_process()?;
        let indexed = self.indexed()?.clone();
        let shares = self.shares(&calls)?;
        let (wanted, _) = self.find_key(&indexed, key, usize::MAX)?;
        if wanted.is_empty() {
            return Err(self.unknown_key(&indexed, key)?);
        }
        let mut deliveries = Vec::new();
        for share in shares {
            let mut visit = |step, found: Found| {
                if found.sweep == sweep && wanted.contains(&found.planned) {
                    let Found { rank, sweep, planned, .. } = found;
                    deliveries.push(KeyDelivery { step, rank, sweep, planned });
                }
            };
            if self.truncated.is_some() {
                self.visit_truncated(&indexed, sweep, &calls, share, &mut visit)?
            } else {
                self.visit_whole(&indexed, sweep, &calls, share, &mut visit)?
            }
        }
        deliveries.retain(|delivery| calls.rank.is_none_or(|rank| delivery.rank == rank));
        deliveries.sort_by_key(|delivery| (delivery.step, delivery.rank));
        deliveries.dedup();
        Ok(deliveries)
    }

    /// Goes to where minibatch number `step` of a run begins: the next call delivers it, and the state is that of a run that
    /// has delivered all before it, without faults: those of what was skipped are not charged, and the faults charged
    /// so far stay. From a merged state on, what ranks had delivered beyond its position is left out still, unless the step
    /// lies before that.
    ///
    /// Costs as much as [`Source::which`]. Truncated minibatches before the step are read, since only that finds out what rows hold
    /// then; their faults are charged. `calls` names one rank, or there is a single worker, or ranks share by position.
    ///
    /// # Errors
    /// Those of [`Source::which`], those of [`Source::next`] for truncated minibatches; several ranks at once that share by chunk. The
    /// source is then as it was.
    pub fn skip_to(&mut self, step: u64, calls: RunCalls<'_>) -> Result<(), Error> {
        self.check_process()?;
        self.check_resumable()?;
        let by_chunk = self.plan.sharing == Sharing::Chunk;
        let rank = match calls.rank {
            None if by_chunk && calls.workers > 1 => {
                return Err(EngineRefusal::SkipOfAllRanks { workers: calls.workers }.into());
            }
            rank => rank.unwrap_or(0),
        };
        let share = Share { workers: calls.workers, rank };
        if self.truncated.is_some() {
            return self.read_up_to(step, &calls, share);
        }
        let index = self.indexed()?.index.clone();
        let mut planner = Planner::new(self.plan.clone());
        let steps = planner.seek_step(&index, step, calls.sizes, share)?;
        if steps < step {
            return Err(EngineRefusal::StepBeyondEnd { step, steps }.into());
        }
        let cursor = planner.cursor();
        // What other ranks had delivered before states were merged is still ahead; further back it is to come again.
        let consumed = self.position.state().consumed.clone();
        let consumed =
            consumed.filter(|c| cursor.position >= self.position.cursor().position && c.is_ahead_of(cursor));
        let state = ResumeState {
            consumed,
            share: Some(share).filter(|share| by_chunk && share.workers > 1),
            ..self.position.state_at(cursor, self.position.faults())
        };
        self.restore(&state)
    }

    /// How many minibatches of such calls come before the next one of a state, from the start of the data on. Truncated ones are
    /// those that ranks share by position: only there a position counts what all ranks have fetched.
    ///
    /// # Errors
    /// Those of [`Source::which`].
    pub(crate) fn steps_before(&mut self, state: &ResumeState, demand: Demand) -> Result<u64, Error> {
        let cursor = state.cursor;
        if cursor == Cursor::default() {
            return Ok(0);
        }
        let index = self.indexed()?.index.clone();
        if let Some(truncated) = self.truncated.as_ref().filter(|_| self.plan.sharing == Sharing::Position) {
            let passed = truncated::passed(state, &index);
            let mut steps = 0;
            truncated.for_each_plan(self, self.plan.clone(), &index, Cursor::default(), demand, |plan| {
                steps += u64::from(plan.passed <= passed);
                plan.passed < passed
            })?;
            return Ok(steps);
        }
        let mut plan = self.plan.clone();
        let mut share = demand.share();
        if plan.sharing == Sharing::Position && plan.equal_steps != Some(EqualSteps::Drop) {
            // Whatever a rank gets of them, the minibatches are those of a single worker.
            (plan.equal_steps, share) = (None, Share::ALL);
        }
        let mut planner = Planner::new(plan);
        let mut steps =
            planner.seek_sweep(&index, cursor.sweep, StepSizes::Constant(demand.samples), share)?;
        let mut plan = BatchPlan::default();
        let is_before = |at: Cursor| (at.sweep, at.sequence) < (cursor.sweep, cursor.sequence);
        while is_before(planner.cursor()) {
            planner.next_batch(&index, share.demand(demand.samples), &mut plan)?;
            if plan.is_end() {
                break;
            }
            steps += 1;
        }
        Ok(steps)
    }

    /// Truncated sequences that no rank got to their ends in the sweep that ended with the last minibatch.
    pub(crate) fn cut_short(&self) -> u64 {
        self.truncated.as_ref().map_or(0, |truncated| truncated.cut_short())
    }

    /// Reads truncated minibatches from the start of the data on, up to a step.
    fn read_up_to(&mut self, step: u64, calls: &RunCalls<'_>, share: Share) -> Result<(), Error> {
        let StepSizes::Constant(samples) = calls.sizes else {
            return Err(EngineRefusal::TruncatedSchedule.into());
        };
        let before = self.state().clone();
        let start = ResumeState { share: None, ..self.position.state_at(Cursor::default(), 0) };
        self.restore(&start)?;
        let mut read = || {
            for steps in 0..step {
                if self.next(share.demand(samples))?.is_none() {
                    return Err(EngineRefusal::StepBeyondEnd { step, steps }.into());
                }
            }
            Ok(())
        };
        let done = read();
        if done.is_err() {
            self.restore(&before)?;
        }
        done
    }

    /// The shares that have to be planned for the ranks of a run: where they share by position those of all are planned as
    /// the minibatches of a single worker.
    fn shares(&self, calls: &RunCalls<'_>) -> Result<Vec<Share>, Error> {
        let RunCalls { sizes, workers, rank } = *calls;
        Demand { samples: sizes.at(0), workers, rank: rank.unwrap_or(0) }.validate()?;
        if self.is_dealt() {
            return Ok(vec![Share::ALL]);
        }
        Ok(rank.map_or(0..workers, |rank| rank..rank + 1).map(|rank| Share { workers, rank }).collect())
    }

    /// True if a single worker's minibatches, dealt out, are those of all ranks.
    fn is_dealt(&self) -> bool {
        self.plan.sharing == Sharing::Position && self.plan.equal_steps.is_none()
    }

    /// The rank that gets the sequence of a slot or row of a share.
    fn rank_of(&self, number: u64, share: Share, calls: &RunCalls<'_>) -> u64 {
        if self.is_dealt() { number % calls.workers } else { share.rank }
    }

    /// Adds the sequences of a step. Returns the number of steps there are, if fewer, and whether a sweep ends with this one.
    fn whole_step(
        &self,
        indexed: &Indexed,
        step: u64,
        calls: &RunCalls<'_>,
        share: Share,
        found: &mut Vec<Found>,
    ) -> Result<(u64, Option<bool>), Error> {
        let mut planner = Planner::new(self.plan.clone());
        let steps = planner.seek_step(&indexed.index, step, calls.sizes, share)?;
        let mut plan = BatchPlan::default();
        if steps < step {
            return Ok((steps, None));
        }
        let samples = calls.sizes.at(planner.cursor().position);
        planner.next_batch(&indexed.index, share.demand(samples), &mut plan)?;
        if plan.is_end() {
            return Ok((steps, None));
        }
        self.add(indexed, &plan, calls, share, &mut |sequence| found.push(sequence));
        Ok((steps, Some(plan.sweep_end)))
    }

    /// Visits the own sequences of a minibatch.
    fn add(
        &self,
        indexed: &Indexed,
        plan: &BatchPlan,
        calls: &RunCalls<'_>,
        share: Share,
        each: &mut dyn FnMut(Found),
    ) {
        let last = plan.own.len().wrapping_sub(1);
        for (i, BatchSlot { number, planned, sweep }) in plan.own_slots().enumerate() {
            let counted = indexed.index.length(planned);
            let keep = plan.keep_of_last.filter(|_| i == last);
            let samples = 0..keep.map_or(counted, |keep| keep.min(counted));
            each(Found { rank: self.rank_of(number, share, calls), sweep, planned, samples });
        }
    }

    /// Visits the minibatches that may hold sequences of a sweep.
    fn visit_whole(
        &self,
        indexed: &Indexed,
        sweep: u64,
        calls: &RunCalls<'_>,
        share: Share,
        each: &mut dyn FnMut(u64, Found),
    ) -> Result<(), Error> {
        let index = &indexed.index;
        let mut planner = Planner::new(self.plan.clone());
        let mut step = planner.seek_sweep(index, sweep, calls.sizes, share)?;
        let mut plan = BatchPlan::default();
        // A rank that repeats has passed its own sequences of the sweep before.
        let is_in = |at: Cursor| at.sweep <= sweep || at.steps.is_running() && at.steps.sweep <= sweep;
        while !plan.data_end && is_in(planner.cursor()) {
            let samples = calls.sizes.at(planner.cursor().position);
            planner.next_batch(index, share.demand(samples), &mut plan)?;
            if plan.is_end() {
                break;
            }
            self.add(indexed, &plan, calls, share, &mut |found| each(step, found));
            step += 1;
        }
        Ok(())
    }

    /// Like [`Source::whole_step`], for truncated minibatches.
    fn truncated_step(
        &self,
        indexed: &Indexed,
        step: u64,
        calls: &RunCalls<'_>,
        share: Share,
        found: &mut Vec<Found>,
    ) -> Result<(u64, Option<bool>), Error> {
        let (mut steps, mut sweep_end) = (0, None);
        self.for_each_truncated(indexed, calls, share, &mut |plan| {
            if steps == step {
                self.add_segments(plan, calls, share, &mut |sequence| found.push(sequence));
                sweep_end = Some(plan.sweep_end);
                return false;
            }
            steps += 1;
            true
        })?;
        Ok((steps, sweep_end))
    }

    fn add_segments(
        &self,
        plan: &TruncatedPlan,
        calls: &RunCalls<'_>,
        share: Share,
        each: &mut dyn FnMut(Found),
    ) {
        for segment in &plan.segments {
            let (from, to) = segment.samples;
            each(Found {
                rank: self.rank_of(segment.slot.into(), share, calls),
                sweep: segment.sequence.sweep,
                planned: segment.sequence.planned,
                samples: from..to,
            });
        }
    }

    /// Like [`Source::visit_whole`], for truncated minibatches.
    fn visit_truncated(
        &self,
        indexed: &Indexed,
        sweep: u64,
        calls: &RunCalls<'_>,
        share: Share,
        each: &mut dyn FnMut(u64, Found),
    ) -> Result<(), Error> {
        let mut step = 0;
        self.for_each_truncated(indexed, calls, share, &mut |plan| {
            self.add_segments(plan, calls, share, &mut |found| each(step, found));
            step += 1;
            // Rows run ahead of each other: all are past the sweep when none holds an earlier one.
            plan.segments.is_empty() || plan.segments.iter().any(|s| s.sequence.sweep <= sweep)
        })
    }

    fn for_each_truncated(
        &self,
        indexed: &Indexed,
        calls: &RunCalls<'_>,
        share: Share,
        each: &mut dyn FnMut(&TruncatedPlan) -> bool,
    ) -> Result<(), Error> {
        let StepSizes::Constant(samples) = calls.sizes else {
            return Err(EngineRefusal::TruncatedSchedule.into());
        };
        let Some(truncated) = &self.truncated else { return Ok(()) };
        let (start, demand) = (Cursor::default(), share.demand(samples));
        truncated.for_each_plan(self, self.plan.clone(), &indexed.index, start, demand, each)
    }

    /// Looks up keys and places of sequences, the keys of each chunk once.
    fn located(&self, indexed: &Indexed, found: Vec<Found>) -> Result<Vec<StepSequence>, Error> {
        let keys = self.keys_of_chunks(indexed, found.iter().map(|found| found.planned.chunk))?;
        let locate = |Found { rank, sweep, planned, samples }: Found| {
            let (resource, bytes) = indexed.corpus.locate(planned, &*self.resources)?;
            let key = keys[&planned.chunk].get(planned.sequence as usize);
            let location = self.resources.path(resource).map(|file| (file, bytes));
            Ok(StepSequence { rank, key, sweep, planned, samples, location })
        };
        found.into_iter().map(locate).collect()
    }
}
