//! Going to minibatch number `n` from the start of the data, without returning those before it.
//!
//! `jump` computes by a division what `Planner::cut` would decide one minibatch at a time. It may do so only where
//! every minibatch holds the same number of sequences; `sequences_of_each` lists the conditions. A change of a
//! rule of cutting changes that list, too. Everything else is planned step by step, which is always right.
//! `tests/steps.rs` compares both.

use tesson_core::Index;

use super::Planner;
use crate::{BatchPlan, Cursor, Demand, EqualSteps, Limit, Result, Share, Sharing};

/// The minibatch sizes that the calls of a run ask for: one, or one for each position (sizes that change from epoch
/// to epoch).
#[derive(Copy, Clone)]
pub enum StepSizes<'a> {
    /// This number of samples, over all workers, at every call.
    Constant(u64),
    /// The number of samples for a position, which is counted in samples since the start.
    At(&'a dyn Fn(u64) -> u64),
}

impl StepSizes<'_> {
    /// Samples that the call at a position asks for.
    pub fn at(&self, position: u64) -> u64 {
        match self {
            StepSizes::Constant(samples) => *samples,
            StepSizes::At(samples) => samples(position),
        }
    }
}

impl Planner {
    /// Goes to the beginning of minibatch number `step` of a run, counted from 0 at the start of the data. Returns
    /// the number of minibatches before the position that was reached: less than `step` if the data end earlier.
    ///
    /// Takes one division where every minibatch holds the same number of sequences: all sequences have one length, on
    /// the timeline of all ranks, for a single worker or sharing by position, with one size and without buckets,
    /// epochs and equal steps. A windowed order is then worked out up to that position; the `global` order and data
    /// as stored need nothing more. In all other cases every minibatch before it is planned, which costs about 50 ns
    /// a sequence.
    ///
    /// The index must be complete.
    ///
    /// # Errors
    /// The errors of [`Planner::start`] and [`Planner::next_batch`].
    pub fn seek_step(&mut self, index: &Index, step: u64, sizes: StepSizes<'_>, share: Share) -> Result<u64> {
        let demand = |position| share.demand(sizes.at(position));
        self.start(index, demand(0))?;
        let mut given = match sizes {
            StepSizes::Constant(_) => self.jump(index, step, demand(0))?,
            StepSizes::At(_) => 0,
        };
        let mut plan = BatchPlan::default();
        while given < step {
            self.next_batch(index, demand(self.cursor.position), &mut plan)?;
            if plan.is_end() {
                break;
            }
            given += 1;
            if plan.data_end {
                break;
            }
        }
        Ok(given)
    }

    /// Goes to the minibatch that holds the first sequence of a sweep, if its number can be computed
    /// ([`Planner::seek_step`]), or else to the first of all. Returns the number of the minibatch.
    ///
    /// # Errors
    /// The errors of [`Planner::seek_step`].
    pub fn seek_sweep(
        &mut self,
        index: &Index,
        sweep: u64,
        sizes: StepSizes<'_>,
        share: Share,
    ) -> Result<u64> {
        let demand = share.demand(sizes.at(0));
        self.start(index, demand)?;
        match (sizes, self.sequences_of_each(index, demand)) {
            (StepSizes::Constant(_), Some(every)) => {
                let n = index.n_sequences();
                let step = if self.spec.cross_sweep_ends {
                    sweep.saturating_mul(n) / every
                } else {
                    sweep.saturating_mul(self.steps_of_sweep(n, every))
                };
                self.jump(index, step, demand)
            }
            _ => Ok(0),
        }
    }

    /// Goes to the last minibatch up to `step` whose position can be computed, and returns its number.
    fn jump(&mut self, index: &Index, step: u64, demand: Demand) -> Result<u64> {
        let Some(every) = self.sequences_of_each(index, demand) else { return Ok(0) };
        let (n, length) = (index.n_sequences(), index.n_samples() / index.n_sequences());
        // The last minibatches of the data may be cut short or dropped (`Ending`), so the jump stops two before the
        // end.
        let Some(end) =
            self.spec.end(index)?.and_then(|end| (end / length).checked_sub(every.saturating_mul(2)))
        else {
            return Ok(0);
        };
        let steps_of_sweep = self.steps_of_sweep(n, every);
        if steps_of_sweep == 0 {
            return Ok(0);
        }
        let number_of = |step: u64| {
            if self.spec.cross_sweep_ends {
                step.checked_mul(every)
            } else if self.spec.drops_last_of_sweeps() {
                // What is dropped is passed by the call after it.
                let Some(before) = step.checked_sub(1) else { return Some(0) };
                (before / steps_of_sweep)
                    .checked_mul(n)?
                    .checked_add((before % steps_of_sweep + 1).checked_mul(every)?)
            } else {
                (step / steps_of_sweep)
                    .checked_mul(n)?
                    .checked_add((step % steps_of_sweep).checked_mul(every)?)
            }
        };
        let last =
            if self.spec.cross_sweep_ends { end / every } else { (end / n).saturating_mul(steps_of_sweep) };
        let step = step.min(last);
        let Some(number) = number_of(step).filter(|&number| number <= end) else { return Ok(0) };
        let cursor = Cursor {
            position: number * length,
            sweep: number / n,
            sequence: number % n,
            ..Cursor::default()
        };
        self.order.rewind(index, &cursor);
        self.set_cursor(cursor);
        Ok(step)
    }

    /// The number of minibatches in every sweep of endless data; `None` if sweeps differ, or if only planning can
    /// tell.
    ///
    /// The index must be complete.
    pub fn steps_of_every_sweep(&self, index: &Index, demand: Demand) -> Option<u64> {
        let every = self.sequences_of_each(index, demand)?;
        let n = index.n_sequences();
        let is_regular =
            self.spec.limit == Limit::Endless && (!self.spec.cross_sweep_ends || n.is_multiple_of(every));
        is_regular.then(|| self.steps_of_sweep(n, every)).filter(|&steps| steps > 0)
    }

    /// Minibatches of `every` sequences in a sweep of `n`.
    fn steps_of_sweep(&self, n: u64, every: u64) -> u64 {
        if self.spec.drops_last_of_sweeps() { n / every } else { n.div_ceil(every) }
    }

    /// The number of sequences, of all ranks together, in every minibatch but the last ones of a sweep or of the
    /// data; `None` if minibatches differ.
    fn sequences_of_each(&self, index: &Index, demand: Demand) -> Option<u64> {
        let spec = &self.spec;
        let shares_minibatches = demand.workers == 1 || spec.sharing == Sharing::Position;
        // Dealt out, all minibatches are those of a single worker, unless some are dropped.
        let gives_shares = spec.sharing == Sharing::Position && spec.equal_steps != Some(EqualSteps::Drop);
        let is_regular = shares_minibatches
            && !self.info.is_local
            && spec.bucketing.is_none()
            && (spec.equal_steps.is_none() || gives_shares)
            && spec.epoch_size.is_none()
            && spec.limit != Limit::Sweeps(0);
        let length = u64::from(index.common_length().filter(|_| is_regular)?);
        let every = (demand.samples / length).max(1).min(spec.most_sequences());
        // Where minibatches are never quite full, the last one of a sweep may be dropped and no shorter than others.
        let is_full = every == spec.most_sequences() || every.saturating_mul(length) >= demand.samples;
        (is_full || !spec.drops_last_of_sweeps()).then_some(every)
    }
}
