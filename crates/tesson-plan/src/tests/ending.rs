//! How the data end: inside a sequence, and with a minibatch that is not full.

use proptest::prelude::*;

use super::*;
use crate::{BatchPlan, LastSequence};

/// Own sequences of each minibatch as counted lengths, the last of the data as much of it as is given.
fn lengths_of(spec: &PlanSpec, index: &Index, demand: Demand) -> Vec<Vec<u64>> {
    let mut planner = Planner::new(spec.clone());
    planner.start(index, demand).unwrap();
    let mut plan = BatchPlan::default();
    let mut all = Vec::new();
    loop {
        planner.next_batch(index, demand, &mut plan).unwrap();
        if plan.is_end() {
            return all;
        }
        let length = |p: &SequenceId| u64::from(index.length(*p));
        let mut lengths: Vec<u64> = plan.own.iter().map(length).collect();
        if let (Some(keep), Some(last)) = (plan.keep_of_last, lengths.last_mut()) {
            assert!(u64::from(keep) < *last && keep > 0, "{keep} of {last}");
            *last = keep.into();
        }
        all.push(lengths);
        if plan.data_end {
            return all;
        }
    }
}

fn any_order_at_all() -> impl Strategy<Value = OrderSpec> {
    prop_oneof![
        any_order(),
        Just(OrderSpec::LocalPlain),
        Just(OrderSpec::Tumbling(Tumbling { window: Window::Chunks(3), seed: 1 })),
    ]
}

proptest! {
    #[test]
    fn the_data_end_after_before_or_inside_the_sequence_that_the_limit_lies_in(
        chunks in any_chunks(), order in any_order_at_all(), limit in 1u64..120, samples in 1u64..40,
    ) {
        let index = index_of(&chunks);
        let read = |last_sequence| {
            let ending = Ending { last_sequence, drop_last: false };
            let spec = PlanSpec { limit: Limit::Samples(limit), ending, ..spec(order) };
            lengths_of(&spec, &index, demand(samples, 1, 0)).concat()
        };
        let (whole, before, inside) =
            (read(LastSequence::Whole), read(LastSequence::LeftOut), read(LastSequence::Cut));
        let sum = |all: &[u64]| all.iter().sum::<u64>();
        prop_assert!(sum(&whole) >= limit && sum(&whole[..whole.len() - 1]) < limit);
        prop_assert_eq!(sum(&inside), limit);
        prop_assert_eq!(inside.len(), whole.len());
        let fits = sum(&whole) == limit;
        prop_assert_eq!(&before[..], &whole[..whole.len() - usize::from(!fits)]);
    }

    #[test]
    fn the_last_minibatch_of_each_sweep_is_dropped_where_they_end_with_sweeps(
        chunks in any_chunks(), order in any_order(), sweeps in 1u64..4, samples in 1u64..40, most in prop_oneof![Just(None), (1u64..9).prop_map(Some)],
    ) {
        let index = index_of(&chunks);
        let read = |drop_last, sweeps| {
            let ending = Ending { drop_last, ..Ending::default() };
            let (limit, sharing, most_sequences) = (Limit::Sweeps(sweeps), Sharing::Position, most);
            PlanSpec { limit, ending, sharing, cross_sweep_ends: false, most_sequences, ..spec(order) }
        };
        let sweeps_of = |to: u64| lengths_of(&read(false, to), &index, demand(samples, 1, 0));
        let is_full = |lengths: &[u64]| lengths.iter().sum::<u64>() >= samples || most == Some(lengths.len() as u64);
        let mut expected = Vec::new();
        for sweep in 0..sweeps {
            let mut of_sweep = sweeps_of(sweep + 1).split_off(if sweep == 0 { 0 } else { sweeps_of(sweep).len() });
            of_sweep.pop_if(|last| !is_full(last));
            prop_assume!(!of_sweep.is_empty());
            expected.append(&mut of_sweep);
        }
        prop_assert_eq!(lengths_of(&read(true, sweeps), &index, demand(samples, 1, 0)), expected);
    }

    #[test]
    fn a_last_minibatch_with_room_is_dropped_and_no_other(
        chunks in any_chunks(), order in any_order_at_all(), sharing in any_sharing(), sweeps in 1u64..3, samples in 1u64..40,
    ) {
        let index = index_of(&chunks);
        let read = |drop_last| {
            let ending = Ending { drop_last, ..Ending::default() };
            let spec = PlanSpec { limit: Limit::Sweeps(sweeps), ending, sharing, ..spec(order) };
            lengths_of(&spec, &index, demand(samples, 1, 0))
        };
        let (all, full) = (read(false), read(true));
        let last: u64 = all[all.len() - 1].iter().sum();
        prop_assert_eq!(&full[..], &all[..all.len() - usize::from(last < samples)]);
    }
}
