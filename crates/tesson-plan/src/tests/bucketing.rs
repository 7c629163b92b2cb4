//! Bucketing: what must hold of it in every shuffled order.

use proptest::prelude::*;

use super::*;
use crate::{BatchPlan, Bucketing, ResumeState};

fn bucketed(order: OrderSpec, samples: u64) -> PlanSpec {
    PlanSpec {
        limit: Limit::Sweeps(2),
        sharing: Sharing::Position,
        bucketing: Some(Bucketing { samples, sequences: u64::MAX }),
        ..spec(order)
    }
}

fn any_shuffled_order() -> impl Strategy<Value = OrderSpec> {
    let window = prop_oneof![(1u64..16).prop_map(Window::Chunks), (1u64..60).prop_map(Window::Samples)];
    prop_oneof![
        3 => (window, any::<u64>()).prop_map(|(window, seed)| OrderSpec::ChunkWindow(ChunkWindow { window, seed })),
        1 => any::<u64>().prop_map(|seed| OrderSpec::Global(Global { seed })),
    ]
}

fn length(index: &Index, planned: SequenceId) -> u32 {
    index.length(planned)
}

fn read(spec: &PlanSpec, index: &Index, demand: Demand) -> Vec<Vec<(u64, SequenceId)>> {
    let mut planner = Planner::new(spec.clone());
    planner.start(index, demand).unwrap();
    all_batches(&mut planner, index, demand)
}

proptest! {
    #[test]
    fn every_sweep_holds_every_sequence_once_and_no_size_changes_where_it_comes(
        chunks in any_chunks(), order in any_shuffled_order(), bucket in 1u64..40, samples in 1u64..60, workers in 1u64..4,
    ) {
        let index = index_of(&chunks);
        let spec = bucketed(order, bucket);
        let whole = read(&spec, &index, demand(samples, 1, 0)).concat();
        prop_assert_eq!(sorted(whole.iter().copied()), every_sequence(&index, 2));
        prop_assert_eq!(&read(&spec, &index, demand(1, 1, 0)).concat(), &whole);
        let by_chunk = PlanSpec { sharing: Sharing::Chunk, ..spec };
        let shares = (0..workers).flat_map(|rank| read(&by_chunk, &index, demand(samples, workers, rank)).concat());
        prop_assert_eq!(sorted(shares), sorted(whole));
    }

    /// With minibatches of the size of a bucket each is one, except where the next one is small enough to be there, too:
    /// then the lengths of a minibatch are those of neighbours in the sorted pool.
    #[test]
    fn a_pool_of_one_window_is_cut_into_runs_of_its_sorted_lengths(
        chunks in any_chunks(), seed: u64, bucket in 1u64..40,
    ) {
        let index = index_of(&chunks);
        let spec = bucketed(chunk_window(1 << 20, seed), bucket);
        let mut lengths: Vec<u32> =
            index.chunk_ids().flat_map(|c| (0..index.lengths(c).len()).map(move |s| (c, s)))
                .map(|(c, s)| index.lengths(c).get(s)).collect();
        lengths.sort_unstable();
        let mut buckets: Vec<Vec<u32>> = vec![Vec::new()];
        for n in lengths {
            let last = buckets.last_mut().unwrap();
            if !last.is_empty() && u64::from(last.iter().sum::<u32>() + n) > bucket {
                buckets.push(vec![n]);
            } else {
                last.push(n);
            }
        }
        let sweep = read(&PlanSpec { limit: Limit::Sweeps(1), ..spec }, &index, demand(bucket, 1, 0));
        let mut found = Vec::new();
        for batch in sweep {
            let mut rest: Vec<u32> = batch.iter().map(|&(_, p)| length(&index, p)).collect();
            while !rest.is_empty() {
                let whole = buckets.iter().filter(|b| rest.starts_with(b)).max_by_key(|b| b.len());
                let whole = whole.expect("minibatches begin and end with buckets").clone();
                rest.drain(..whole.len());
                found.push(whole);
            }
        }
        found.sort();
        buckets.sort();
        prop_assert_eq!(found, buckets);
    }

    #[test]
    fn any_minibatch_is_resumed_from_and_any_position_sought(
        chunks in any_chunks(), order in any_shuffled_order(), bucket in 1u64..40, samples in 1u64..30, calls in 2usize..25,
    ) {
        let index = index_of(&chunks);
        let (spec, demand) = (bucketed(order, bucket), demand(samples, 1, 0));
        let spec = PlanSpec { limit: Limit::Endless, ..spec };
        let mut planner = Planner::new(spec.clone());
        let mut plan = BatchPlan::default();
        let mut history = Vec::new();
        for _ in 0..calls {
            planner.next_batch(&index, demand, &mut plan).unwrap();
            history.push((plan.own.clone(), plan.sweep_end, plan.after));
        }
        for i in (0..calls - 1).rev() {
            let after = history[i].2;
            let state = ResumeState { cursor: after, ..states::full() };
            let mut fresh = Planner::new(spec.clone());
            for planner in [&mut fresh, &mut planner] {
                planner.restore(&index, &state, Some(demand)).unwrap().unwrap();
                planner.next_batch(&index, demand, &mut plan).unwrap();
                prop_assert_eq!(&(plan.own.clone(), plan.sweep_end, plan.after), &history[i + 1]);
            }
            prop_assert_eq!(fresh.seek(&index, after.position, None).unwrap(), Some(after));
        }
    }

    #[test]
    fn retired_chunks_do_not_come_again_in_their_sweep(
        chunks in any_chunks(), order in any_shuffled_order(), bucket in 1u64..40,
    ) {
        let index = index_of(&chunks);
        let mut planner = Planner::new(bucketed(order, bucket));
        let mut plan = BatchPlan::default();
        let (mut done, mut sweep): (Vec<ChunkId>, u64) = (Vec::new(), 0);
        while !plan.data_end {
            planner.next_batch(&index, demand(7, 1, 0), &mut plan).unwrap();
            let comes_again = plan.own_slots().any(|p| p.sweep == sweep && done.contains(&p.planned.chunk));
            prop_assert!(!comes_again, "{:?} of chunks {:?}", plan, done);
            let mut now = Vec::new();
            planner.take_retired(&index, &mut now);
            if plan.after.sweep != sweep {
                sweep = plan.after.sweep;
                done.clear();
            } else {
                done.extend(now);
            }
        }
    }
}

/// The number of cells in minibatches that are padded to the longest sequence, and how many of them hold samples.
fn cells(spec: &PlanSpec, index: &Index, demand: Demand) -> (u64, u64) {
    let lengths = |batch: &Vec<(u64, SequenceId)>| -> Vec<u64> {
        batch.iter().map(|&(_, p)| length(index, p).into()).collect()
    };
    let batches: Vec<Vec<u64>> = read(spec, index, demand).iter().map(lengths).collect();
    let padded = batches.iter().map(|b| b.len() as u64 * b.iter().max().unwrap()).sum();
    (padded, batches.iter().flatten().sum())
}

#[test]
fn padding_goes_and_lengths_do_not_come_sorted() {
    let chunks: Vec<Vec<u32>> =
        (0..40u32).map(|c| (0..50).map(|s| 1 + (c * 37 + s * s * 11) % 60).collect()).collect();
    let index = index_of(&chunks);
    for order in [chunk_window(10, 3), OrderSpec::Global(Global { seed: 3 })] {
        let spec = bucketed(order, 256);
        let plain = PlanSpec { bucketing: None, ..spec.clone() };
        let (before, samples) = cells(&plain, &index, demand(256, 1, 0));
        let (after, same) = cells(&spec, &index, demand(256, 1, 0));
        assert_eq!(samples, same);
        assert!(before * 10 > samples * 15, "{before} cells for {samples} samples");
        assert!(after * 10 < samples * 11, "{after} cells for {samples} samples");
        let longest: Vec<u32> = read(&spec, &index, demand(256, 1, 0))
            .iter()
            .map(|batch| batch.iter().map(|&(_, p)| length(&index, p)).max().unwrap())
            .collect();
        let rises = longest.windows(2).filter(|pair| pair[0] < pair[1]).count();
        assert!((longest.len() / 3..longest.len() * 2 / 3).contains(&rises), "{rises} of {}", longest.len());
    }
}

#[test]
fn sequences_limit_a_bucket_too() {
    let index = index_of(&[vec![1; 50], vec![2; 50]]);
    let bucketing = Some(Bucketing { samples: Demand::ANY_SAMPLES, sequences: 8 });
    let spec = PlanSpec { bucketing, most_sequences: Some(8), ..bucketed(chunk_window(9, 1), 1) };
    let batches = read(&spec, &index, demand(Demand::ANY_SAMPLES, 1, 0));
    assert_eq!(batches.iter().filter(|batch| batch.len() == 8).count(), 2 * 12);
    let mixed = |batch: &&Vec<(u64, SequenceId)>| batch.iter().any(|(_, p)| p.chunk != batch[0].1.chunk);
    assert!(batches.iter().filter(mixed).count() <= 2, "one bucket a sweep holds both lengths");
}

#[test]
fn what_is_not_shuffled_is_not_bucketed() {
    let index = index_of(&[vec![1, 2]]);
    let refused = |spec: PlanSpec| Planner::new(spec).start(&index, demand(4, 1, 0)).unwrap_err().to_string();
    assert_eq!(
        refused(bucketed(OrderSpec::AsStored, 4)),
        "bucketing is for shuffled orders, this one is as_stored"
    );
    assert!(refused(bucketed(chunk_window(1, 0), 0)).contains("at least 1 is expected"));
}
