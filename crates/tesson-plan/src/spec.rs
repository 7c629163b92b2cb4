//! What a planner is built from.

use std::sync::Arc;

use tesson_core::Index;

use crate::{Bucketing, Cursor, Demand, ExcludedSequences, OrderSpec, Planned, Sharing};
use crate::{PlanRefusal, Result};

/// Where the data end (spec/engine.md §6.1). Counts the samples of all ranks.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Sweep after sweep, for ever.
    Endless,
    /// After so many sweeps; 0 ends at once.
    Sweeps(u64),
    /// With the sequence that holds this sample, counted from 1. 0 is refused at the first read.
    Samples(u64),
}

/// How the sequence is treated in which [`Limit::Samples`] ends.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub enum LastSequence {
    /// It is delivered whole, as in the reference: the data end after their limit.
    #[default]
    Whole,
    /// It is left out: the data end before their limit.
    LeftOut,
    /// Its first samples are delivered: the data end exactly there.
    Cut,
}

/// How the data end, beside where.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Ending {
    /// The sequence that the limit cuts through.
    pub last_sequence: LastSequence,
    /// Whether a last minibatch with room left is dropped.
    pub drop_last: bool,
}

/// How ranks that would run out before others are treated, so that all deliver the same number of minibatches.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum EqualSteps {
    /// Minibatches that not every rank has data for are dropped.
    Drop,
    /// A rank that has run out repeats its own sequences, from where the sweep began; by position a rank whose share is
    /// empty gets that of another.
    Repeat,
    /// A rank that has run out delivers empty minibatches.
    Empty,
}

/// Everything that decides which sequence comes when, beside the index and what each call asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanSpec {
    /// The order of the sequences.
    pub order: OrderSpec,
    /// How ranks share them.
    pub sharing: Sharing,
    /// Where the data end.
    pub limit: Limit,
    /// How they end there.
    pub ending: Ending,
    /// Whether a minibatch continues with the next sweep when one ends.
    pub cross_sweep_ends: bool,
    /// Samples of all ranks in an epoch, whose end ends a minibatch, too (spec/engine.md §14). A sequence that lies
    /// across it belongs to the earlier epoch. `None`: there are no epochs but sweeps.
    pub epoch_size: Option<u64>,
    /// Whether the size of a minibatch is divided among the workers beforehand (the default of CNTK) or limits the
    /// samples that all pass together.
    pub local_timeline: bool,
    /// Sequences of all ranks that a minibatch may hold beside the samples that a call asks for, at least 1; divided among
    /// the workers as the samples are. `None`: any number.
    pub most_sequences: Option<u64>,
    /// Whether sequences of similar length are put together, within what a window takes in. Only in shuffled orders on
    /// the timeline of all ranks.
    pub bucketing: Option<Bucketing>,
    /// Whether all ranks deliver the same number of minibatches of each sweep, or of what an epoch or the end of the data
    /// leaves of it. Under sharing by chunk for minibatches that end with their sweep.
    pub equal_steps: Option<EqualSteps>,
    /// Sequences that are planned like all others and not delivered.
    pub excluded: Option<Arc<ExcludedSequences>>,
}

/// "For ever", in samples: the largest position that CNTK's shuffled orders reach.
pub(crate) const ENDLESS: u64 = (1 << 63) - 1;

impl PlanSpec {
    /// The position at which the data end, or `None` while the index grows and that is not known; it lies beyond
    /// all that is known then.
    ///
    /// # Errors
    /// [`PlanRefusal`] if the limit cannot be met: 0 samples, or more than 2^63 − 1 in a shuffled order.
    pub(crate) fn end(&self, index: &Index) -> Result<Option<u64>> {
        let end = match self.limit {
            Limit::Endless => ENDLESS,
            Limit::Samples(0) => {
                return Err(PlanRefusal::LimitOfNothing);
            }
            Limit::Samples(samples) => samples,
            Limit::Sweeps(0) => 0,
            Limit::Sweeps(_) if !index.is_complete() => return Ok(None),
            Limit::Sweeps(sweeps) => index.n_samples().saturating_mul(sweeps),
        };
        if end > ENDLESS && self.order.is_shuffled() && !self.order.is_local() {
            return Err(PlanRefusal::LimitTooLarge { end });
        }
        Ok(Some(end))
    }

    /// Sequences of all ranks that a minibatch may hold.
    pub(crate) fn most_sequences(&self) -> u64 {
        self.most_sequences.unwrap_or(u64::MAX)
    }

    /// How the sequence is treated that the next end lies in: one that lies across the end of an epoch belongs to the
    /// earlier epoch, whole.
    pub(crate) fn last_sequence_before(&self, epoch_end: Option<u64>) -> LastSequence {
        match epoch_end {
            None => self.ending.last_sequence,
            Some(_) => LastSequence::Whole,
        }
    }

    /// Refuses sizes that nothing can be read with, and buckets of an order that has none.
    ///
    /// # Errors
    /// [`PlanRefusal`] with what is expected.
    pub(crate) fn check(&self) -> Result<()> {
        if self.most_sequences == Some(0) {
            return Err(PlanRefusal::NoSequences);
        }
        if let Some(Bucketing { samples: 0, .. } | Bucketing { sequences: 0, .. }) = self.bucketing {
            return Err(PlanRefusal::EmptyBuckets);
        }
        if self.bucketing.is_some() && !self.order.can_be_bucketed() {
            return Err(PlanRefusal::BucketingNeedsShuffling { order: self.order.name() });
        }
        Ok(())
    }

    /// The position at which the epoch ends that this position lies in.
    pub(crate) fn epoch_end(&self, position: u64) -> Option<u64> {
        let samples = self.epoch_size?.max(1);
        Some((position / samples + 1).saturating_mul(samples))
    }

    /// Whether the data end at a cursor of a local timeline, where each rank counts its own sweeps and samples
    /// (spec/engine.md §8).
    pub(crate) fn ends_locally(&self, at: Cursor, workers: u64, rank: u64) -> bool {
        match self.limit {
            Limit::Sweeps(sweeps) => at.sweep >= sweeps,
            _ => self.local_end(workers, rank).is_some_and(|end| at.position >= end),
        }
    }

    /// After how many of its own samples a rank's data end on a local timeline, if samples are what ends them.
    pub(crate) fn local_end(&self, workers: u64, rank: u64) -> Option<u64> {
        let Limit::Samples(n) = self.limit else { return None };
        Some(n / workers + u64::from(rank < n % workers))
    }

    /// Whether this is the first time that this rank (sharing by chunk) or any rank (sharing by position) meets a
    /// sequence, had it run with this demand from the start: what is charged once is charged then.
    ///
    /// Meant for the few sequences that have faults. In shuffled orders shared by chunk it works out the chunk
    /// orders of earlier sweeps, `workers` of them on the average.
    pub fn first_visit(&self, index: &Index, planned: Planned, sweep: u64, demand: Demand) -> bool {
        if sweep == 0 || self.sharing == Sharing::Position || demand.workers == 1 {
            return sweep == 0;
        }
        let order = self.order.definition();
        // Shares that are not drawn anew repeat after as many sweeps as there are workers.
        let sweeps = if order.info().redraws_shares { sweep } else { sweep.min(demand.workers) };
        (0..sweeps).all(|earlier| order.home(index, planned, earlier) % demand.workers != demand.rank)
    }
}
