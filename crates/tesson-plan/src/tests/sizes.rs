//! Minibatches of a given number of sequences.

use proptest::prelude::*;

use super::*;

/// Own sequences of each minibatch of two sweeps, as counted lengths.
fn lengths_of(spec: &PlanSpec, index: &Index, demand: Demand) -> Vec<Vec<u64>> {
    let mut planner = Planner::new(spec.clone());
    planner.start(index, demand).unwrap();
    let length = |p: &SequenceId| u64::from(index.length(*p));
    let batches = all_batches(&mut planner, index, demand);
    batches.iter().map(|batch| batch.iter().map(|(_, p)| length(p)).collect()).collect()
}

fn any_order_at_all() -> impl Strategy<Value = OrderSpec> {
    prop_oneof![
        any_order(),
        Just(OrderSpec::LocalPlain),
        Just(OrderSpec::Tumbling(Tumbling { window: Window::Chunks(3), seed: 1 })),
    ]
}

fn two_sweeps(order: OrderSpec, most_sequences: u64) -> PlanSpec {
    PlanSpec { limit: Limit::Sweeps(2), most_sequences: Some(most_sequences), ..spec(order) }
}

proptest! {
    #[test]
    fn the_smaller_of_both_limits_wins_and_is_used_up(
        chunks in any_chunks(), order in any_order_at_all(), samples in 1u64..60, most in 1u64..9,
    ) {
        let index = index_of(&chunks);
        let found = lengths_of(&two_sweeps(order, most), &index, demand(samples, 1, 0));
        let sum = |lengths: &[u64]| lengths.iter().sum::<u64>();
        for (batch, next) in found.iter().zip(&found[1..]) {
            prop_assert!(batch.len() as u64 <= most && (sum(batch) <= samples || batch.len() == 1), "{:?}", batch);
            let full = batch.len() as u64 == most || sum(batch) + next[0] > samples;
            prop_assert!(full, "{:?} before {:?}", batch, next);
        }
        let index_samples = index.n_samples();
        prop_assert_eq!(found.iter().map(|batch| sum(batch)).sum::<u64>(), 2 * index_samples);
    }

    #[test]
    fn sequences_are_divided_among_the_workers_as_samples_are(
        chunks in any_chunks(), order in any_order_at_all(), most in 1u64..20, workers in 1u64..4,
    ) {
        let index = index_of(&chunks);
        for rank in 0..workers.min(index.n_chunks() as u64) {
            let share = (most / workers + u64::from(rank < most % workers)).max(1);
            let found = lengths_of(&two_sweeps(order, most), &index, demand(Demand::ANY_SAMPLES, workers, rank));
            prop_assert!(found.iter().all(|batch| batch.len() as u64 <= share), "{:?}", found);
            // Only where the data end, or a sweep does that is followed by none of its own, is a minibatch not full.
            let full = found.iter().rev().skip(1).filter(|batch| batch.len() as u64 == share).count();
            prop_assert!(full + 3 >= found.len(), "{:?}", found);
        }
    }
}

#[test]
fn a_minibatch_of_no_sequences_is_refused() {
    let index = index_of(&[vec![1, 2]]);
    let mut planner = Planner::new(two_sweeps(OrderSpec::AsStored, 0));
    let e = planner.start(&index, demand(4, 1, 0)).unwrap_err();
    assert_eq!(e.to_string(), "minibatches of 0 sequences are asked for, at least 1 is expected");
}
