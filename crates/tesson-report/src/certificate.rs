//! Certificates: what another machine can check, that it reads the same examples in the same order.

use tesson::{Demand, Error, Source, SourceConfig};
use tesson_core::{Index, SequenceId};
use tesson_plan::{Limit, PlanSpec, SegmentLength, Truncation};
use xxhash_rust::xxh3::Xxh3;

use crate::figures::Certificate;
use crate::order::Grouping;

/// Positions of the sweep that go into a digest.
const POSITIONS: u64 = 1000;

/// Keys at each end of the sweep.
const KEYS: usize = 3;

/// Calls `each` with the number in storage of each example of the first sweep, in the order of a single worker, which
/// `change` may change. `each` returns whether to continue.
pub(crate) fn sweep(
    source: &mut Source,
    index: &Index,
    change: impl FnOnce(&mut PlanSpec),
    mut each: impl FnMut(u64) -> bool,
) -> Result<(), Error> {
    let demand = Demand { samples: Demand::ANY_SAMPLES, workers: 1, rank: 0 };
    let one_sweep = |spec: &mut PlanSpec| {
        change(spec);
        // What minibatches hold does not change the order, except in buckets; small ones are planned in little memory.
        (spec.limit, spec.most_sequences, spec.bucketing) = (Limit::Sweeps(1), Some(4096), None);
        (spec.cross_sweep_ends, spec.epoch_size, spec.equal_steps) = (false, None, None);
        spec.ending.drop_last = false;
    };
    source
        .plan_with(one_sweep, demand, |plan| plan.own.iter().all(|&sequence| each(index.number_of(sequence))))
}

/// The certificate of the order of a source of this configuration: of its first sweep for a single worker, before examples come into buckets
/// or are cut, and of how that is done. `command` is the one that checks it.
///
/// # Errors
/// Those of [`Source::plan`], and unreadable keys.
pub fn certificate(
    source: &mut Source,
    config: &SourceConfig,
    command: String,
) -> Result<Certificate, Error> {
    let index = source.indexed()?.index.clone();
    let n = index.n_sequences();
    let positions = POSITIONS.min(n);
    // Evenly spaced from the first to the last.
    let place = |i: u64| if positions > 1 { i * (n - 1) / (positions - 1) } else { 0 };
    let mut spec = None;
    let (mut first, mut last) = (Vec::new(), std::collections::VecDeque::new());
    let (mut digest, mut examples, mut next) = (Xxh3::new(), 0, 0);
    sweep(
        source,
        &index,
        |plan| spec = Some(plan.order),
        |number| {
            let position = examples;
            examples += 1;
            if first.len() < KEYS {
                first.push(number);
            }
            last.push_back(number);
            if last.len() > KEYS {
                last.pop_front();
            }
            if next < positions && position == place(next) {
                next += 1;
                for part in [position, number, index.length(index.sequence(number)).into()] {
                    digest.update(&part.to_le_bytes());
                }
            }
            true
        },
    )?;
    let order = spec.expect("planning calls the closure");
    digest.update(order.name().as_bytes());
    digest.update(&[order.version()]);
    for number in [n, index.n_samples(), examples] {
        digest.update(&number.to_le_bytes());
    }
    let grouping = Grouping::of(config);
    digest_of_grouping(&grouping, &mut digest);
    Ok(Certificate {
        order: order.name().to_owned(),
        order_version: order.version().into(),
        grouping: grouping.figures(),
        examples,
        samples: index.n_samples(),
        first: keys(source, &index, &first)?,
        last: keys(source, &index, last.make_contiguous())?,
        positions: next,
        digest: format!("{:032x}", digest.digest128()),
        command,
    })
}

/// Adds how minibatches are made of the order. Nothing for whole examples in their order, whose digests stay what they were.
fn digest_of_grouping(grouping: &Grouping, digest: &mut Xxh3) {
    if let Some(samples) = grouping.bucket_samples {
        digest.update(b"buckets");
        digest.update(&samples.to_le_bytes());
    }
    let Some(Truncation { length, right_splice, .. }) = &grouping.truncation else { return };
    digest.update(b"pieces");
    let numbers = match length {
        SegmentLength::Samples(samples) => vec![0, *samples],
        SegmentLength::BySlots(slots) => vec![1, *slots],
        SegmentLength::BySlotsOfEpoch(runs) => {
            runs.iter().flat_map(|&(slots, epochs)| [slots, epochs]).collect()
        }
    };
    numbers.iter().chain([right_splice]).for_each(|number| digest.update(&number.to_le_bytes()));
}

/// The keys of examples.
fn keys(source: &mut Source, index: &Index, numbers: &[u64]) -> Result<Vec<String>, Error> {
    let wanted: Vec<SequenceId> = numbers.iter().map(|&number| index.sequence(number)).collect();
    Ok(source.keys_of(&wanted)?.iter().map(ToString::to_string).collect())
}
