//! Lengths of sequences, and the padding that minibatches of them have.

use serde::{Deserialize, Serialize};
use tesson::{Demand, Error, Source};
use tesson_core::Index;
use tesson_engine::Layout;
use tesson_plan::{Bucketing, PlanSpec};

use crate::figures::Histogram;
use crate::tally::histogram;

/// Counted lengths of sequences, in samples.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Lengths {
    /// The shortest.
    pub min: u32,
    /// The longest.
    pub max: u32,
    /// The mean.
    pub mean: f64,
    /// How they are distributed.
    pub histogram: Option<Histogram>,
}

/// Lengths that are looked at for a histogram, at most: evenly spaced ones of more sequences.
const HISTOGRAM_LENGTHS: u64 = 1 << 20;

impl Lengths {
    /// The lengths of all sequences of an index.
    pub fn of(index: &Index) -> Lengths {
        let columns = index.chunk_ids().map(|c| index.lengths(c));
        let lengths = columns.flat_map(|column| (0..column.len()).map(move |i| column.get(i)));
        let (min, max) = lengths.fold((u32::MAX, 0), |(min, max), n| (min.min(n), max.max(n)));
        let mean = index.n_samples() as f64 / index.n_sequences().max(1) as f64;
        let stride = index.n_sequences().div_ceil(HISTOGRAM_LENGTHS).max(1);
        let some = || {
            let numbers = (0..index.n_sequences()).step_by(stride as usize);
            numbers.map(|number| f64::from(index.length(index.sequence(number)))).collect()
        };
        let histogram = (max > min).then(|| histogram(some(), true));
        Lengths { min: min.min(max), max, mean, histogram }
    }
}

/// The shares of padding in the configured order, with and without buckets.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Paddings {
    /// Samples of a minibatch.
    pub samples: u64,
    /// Sequences of a minibatch, where they are limited.
    pub sequences: Option<u64>,
    /// True if the configuration has buckets.
    pub is_on: bool,
    /// Padding without buckets.
    pub without: Padding,
    /// The samples of a bucket and the padding with buckets, in orders that can have them.
    pub with: Option<(u64, Padding)>,
}

impl Paddings {
    /// The padding of minibatches of so many samples.
    ///
    /// # Errors
    /// Those of [`Source::plan`].
    pub fn of(source: &mut Source, index: &Index, samples: u64) -> Result<Paddings, Error> {
        let mut plan = None;
        source.plan_with(
            |spec| plan = Some(spec.clone()),
            Demand { samples, workers: 1, rank: 0 },
            |_| false,
        )?;
        let PlanSpec { order, bucketing, most_sequences: sequences, .. } =
            plan.expect("the closure is called");
        let buckets = bucketing.unwrap_or(Bucketing { samples, sequences: sequences.unwrap_or(u64::MAX) });
        let may_be = order.is_shuffled() && !source.is_truncated() && source.shares_a_timeline();
        let with = if may_be {
            Some((buckets.samples, Padding::of(source, index, samples, Some(buckets))?))
        } else {
            None
        };
        let without = Padding::of(source, index, samples, None)?;
        Ok(Paddings { samples, sequences, is_on: bucketing.is_some(), without, with })
    }
}

/// Share of cells without a sample, in minibatches cut by counted lengths.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Padding {
    /// With each sequence in its own slot, padded to the longest of its minibatch.
    pub padded: f64,
    /// With several short sequences in one slot.
    pub packed: f64,
}

impl Padding {
    fn of(
        source: &mut Source,
        index: &Index,
        minibatch_size: u64,
        bucketing: Option<Bucketing>,
    ) -> Result<Padding, Error> {
        let (mut samples, mut padded, mut packed) = (0, 0, 0);
        let demand = Demand { samples: minibatch_size, workers: 1, rank: 0 };
        let mut lengths: Vec<u32> = Vec::new();
        let in_buckets = |plan: &mut PlanSpec| plan.bucketing = bucketing;
        source.plan_with(in_buckets, demand, |plan| {
            lengths.clear();
            lengths.extend(plan.own.iter().map(|p| index.length(*p)));
            let layout = Layout::of(&lengths);
            let steps = u64::from(layout.steps);
            samples += lengths.iter().map(|&n| u64::from(n)).sum::<u64>();
            padded += steps * lengths.len() as u64;
            packed += steps * u64::from(layout.rows);
            true
        })?;
        let share = |cells: u64| if cells == 0 { 0.0 } else { 1.0 - samples as f64 / cells as f64 };
        Ok(Padding { padded: share(padded), packed: share(packed) })
    }
}
