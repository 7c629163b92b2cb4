//! The specification of a plan: everything that a planner is built from.

use std::sync::Arc;

use tesson_core::{Index, SequenceId};

use crate::{Bucketing, Cursor, Demand, ExcludedSequences, OrderSpec, Share, Sharing};
use crate::{PlanRefusal, Result};

/// The end of the data (spec/engine.md §6.1), counted in samples of all ranks.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Limit {
    /// No end: sweep after sweep.
    Endless,
    /// After this number of sweeps; 0 ends at once.
    Sweeps(u64),
    /// With the sequence that holds this sample, counted from 1. 0 is refused at the first read.
    Samples(u64),
}

/// The treatment of the sequence in which [`Limit::Samples`] ends.
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

/// The treatment of the last sequence and the last minibatch.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Ending {
    /// The treatment of the sequence in which the limit lies.
    pub last_sequence: LastSequence,
    /// `true`: a last minibatch with room left is dropped, that of the data, or of each sweep where minibatches end with their
    /// sweep and ranks share by position; `false`: it is delivered.
    pub drop_last: bool,
}

/// The way in which all ranks get the same number of minibatches, although some run out of sequences before others.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum EqualSteps {
    /// Minibatches that not every rank has data for are dropped.
    Drop,
    /// A rank that has run out repeats its own sequences from the beginning of the sweep; under sharing by position a
    /// rank with an empty share gets that of another.
    Repeat,
    /// A rank that has run out delivers empty minibatches.
    Empty,
}

/// Everything that decides which sequence comes when, beside the index and what each call asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanSpec {
    /// The order of the sequences.
    pub order: OrderSpec,
    /// The way in which ranks share them.
    pub sharing: Sharing,
    /// Where the data end.
    pub limit: Limit,
    /// The treatment of the last sequence and minibatch there.
    pub ending: Ending,
    /// `true`: a minibatch continues with the next sweep when one ends; `false`: it ends with its sweep.
    pub cross_sweep_ends: bool,
    /// Samples of all ranks in an epoch; its end also ends a minibatch (spec/engine.md §14). A sequence that lies
    /// across it belongs to the earlier epoch. `None`: a sweep is an epoch.
    pub epoch_size: Option<u64>,
    /// `true`: the size of a minibatch is divided among the workers beforehand (the default of CNTK); `false`: it
    /// limits the samples that all workers pass together (spec/engine.md §6.3).
    pub local_timeline: bool,
    /// The most sequences of all ranks in a minibatch, at least 1, in addition to the limit in samples of each call;
    /// divided among the workers as the samples are. `None`: any number.
    pub most_sequences: Option<u64>,
    /// The buckets in which sequences of similar length are grouped, within the randomization window; only in
    /// shuffled orders on the timeline of all ranks. `None`: no buckets.
    pub bucketing: Option<Bucketing>,
    /// The way in which all ranks deliver the same number of minibatches of each sweep, or of the part that an epoch
    /// or the end of the data leaves of it; under sharing by chunk only if minibatches end with their sweep. `None`:
    /// ranks may run out at different times.
    pub equal_steps: Option<EqualSteps>,
    /// Sequences that are planned like all others and not delivered.
    pub excluded: Option<Arc<ExcludedSequences>>,
}

/// The end of endless data, in samples: the largest position that CNTK's shuffled orders reach.
pub(crate) const ENDLESS: u64 = (1 << 63) - 1;

impl PlanSpec {
    /// True if the last minibatch of each sweep is dropped where it has room left, and not only that of the data.
    pub fn drops_last_of_sweeps(&self) -> bool {
        self.ending.drop_last && !self.cross_sweep_ends && self.sharing == Sharing::Position
    }

    /// The position at which the data end. `None` while the index grows and the end, beyond the index so far, is not
    /// known.
    ///
    /// # Errors
    /// [`PlanRefusal`] if the limit is 0 samples, or more than 2^63 − 1 in a shuffled order.
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

    /// The most sequences of all ranks that a minibatch may hold.
    pub(crate) fn most_sequences(&self) -> u64 {
        self.most_sequences.unwrap_or(u64::MAX)
    }

    /// The treatment of the sequence in which the next end lies. A sequence across the end of an epoch belongs to the
    /// earlier epoch, whole.
    pub(crate) fn last_sequence_before(&self, epoch_end: Option<u64>) -> LastSequence {
        match epoch_end {
            None => self.ending.last_sequence,
            Some(_) => LastSequence::Whole,
        }
    }

    /// Refuses sizes of 0, and bucketing of an order that does not support it.
    ///
    /// # Errors
    /// [`PlanRefusal`] with the expected values.
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

    /// The end of the epoch in which a position lies.
    pub(crate) fn epoch_end(&self, position: u64) -> Option<u64> {
        let samples = self.epoch_size?.max(1);
        Some((position / samples + 1).saturating_mul(samples))
    }

    /// True if the data end at a cursor of a local timeline, where each rank counts its own sweeps and samples
    /// (spec/engine.md §8).
    pub(crate) fn ends_locally(&self, at: Cursor, share: Share) -> bool {
        match self.limit {
            Limit::Sweeps(sweeps) => at.sweep >= sweeps,
            _ => self.local_end(share).is_some_and(|end| at.position >= end),
        }
    }

    /// The number of its own samples after which a rank's data end on a local timeline; `None` if the limit is not
    /// one in samples.
    pub(crate) fn local_end(&self, share: Share) -> Option<u64> {
        let Limit::Samples(n) = self.limit else { return None };
        Some(share.part_of(n))
    }

    /// True if this rank (sharing by chunk) or any rank (sharing by position) meets a sequence for the first time,
    /// assuming that it ran with this demand from the start. A fault that is charged once is charged then.
    ///
    /// Meant for the few sequences that have faults. In shuffled orders shared by chunk it works out the chunk
    /// orders of earlier sweeps, `workers` of them on the average.
    pub fn first_visit(&self, index: &Index, planned: SequenceId, sweep: u64, demand: Demand) -> bool {
        if sweep == 0 || self.sharing == Sharing::Position || demand.workers == 1 {
            return sweep == 0;
        }
        let order = self.order.definition();
        // Shares that are not drawn again in each sweep repeat after `workers` sweeps.
        let sweeps = if order.info().redraws_shares { sweep } else { sweep.min(demand.workers) };
        (0..sweeps).all(|earlier| order.home(index, planned, earlier) % demand.workers != demand.rank)
    }
}
