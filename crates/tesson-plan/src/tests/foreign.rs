//! A rank that only counts the sequences of others gets the same plans as one that lists them.

use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::{BatchPlan, Bucketing, Cursor, EqualSteps, ExcludedSequences, LastSequence};

/// Chunks of one length throughout, of one length each, and of any lengths, some of them long enough for several minibatches.
fn chunks_to_deal() -> impl Strategy<Value = Vec<Vec<u32>>> {
    let sizes = || prop::collection::vec(1usize..90, 1..5);
    let one_length =
        (1u32..5, sizes()).prop_map(|(length, sizes)| sizes.into_iter().map(|n| vec![length; n]).collect());
    let alike =
        (1u32..5, 1usize..40, 1usize..6).prop_map(|(length, n, chunks)| vec![vec![length; n]; chunks]);
    let each = prop::collection::vec((1u32..5, 1usize..50), 1..5)
        .prop_map(|chunks| chunks.into_iter().map(|(length, n)| vec![length; n]).collect());
    let any =
        prop::collection::vec(prop::collection::vec(prop_oneof![8 => 1u32..4, 1 => 0u32..20], 1..90), 1..5)
            .prop_map(|mut chunks: Vec<Vec<u32>>| {
                // Some sample there must be.
                chunks[0][0] = 1;
                chunks
            });
    prop_oneof![one_length, alike, each, any, any_chunks()]
}

/// All that concerns sharing by position and the end of the data, of sweeps and of epochs.
fn spec_to_deal() -> impl Strategy<Value = PlanSpec> {
    let endings = (
        prop::sample::select(vec![LastSequence::Whole, LastSequence::LeftOut, LastSequence::Cut]),
        any::<bool>(),
    )
        .prop_map(|(last_sequence, drop_last)| Ending { last_sequence, drop_last });
    let order = prop_oneof![2 => Just(OrderSpec::AsStored), 1 => any_order(), 2 => any::<u64>().prop_map(|seed| OrderSpec::Global(Global { seed }))];
    let steps =
        prop::option::of(prop::sample::select(vec![EqualSteps::Drop, EqualSteps::Repeat, EqualSteps::Empty]));
    let buckets = prop::option::weighted(0.1, Just(Bucketing { samples: 9, sequences: 4 }));
    let sizes = (prop::option::weighted(0.3, 1u64..300), prop::option::weighted(0.3, 1u64..40));
    (order, any_limit(), endings, any::<bool>(), sizes, steps, buckets).prop_map(
        |(order, limit, ending, cross_sweep_ends, (epoch_size, most_sequences), equal_steps, bucketing)| {
            PlanSpec {
                sharing: Sharing::Position,
                limit,
                ending,
                cross_sweep_ends,
                epoch_size,
                most_sequences,
                equal_steps,
                bucketing: bucketing.filter(|_| order.is_shuffled()),
                ..spec(order)
            }
        },
    )
}

#[derive(Clone, Debug)]
enum Call {
    Next(Demand),
    /// Goes back to the cursor after an earlier call, counted back from now.
    Resume(usize, Demand),
    Seek(u64, Demand),
}

fn any_call() -> impl Strategy<Value = Call> {
    let demand = || {
        (prop_oneof![1u64..12, 1u64..90, 60u64..300], 1u64..7)
            .prop_flat_map(|(samples, workers)| (Just(samples), Just(workers), 0..workers))
            .prop_map(|(samples, workers, rank)| Demand { samples, workers, rank })
    };
    prop_oneof![
        12 => demand().prop_map(Call::Next),
        1 => (0usize..8, demand()).prop_map(|(back, demand)| Call::Resume(back, demand)),
        1 => (0u64..600, demand()).prop_map(|(to, demand)| Call::Seek(to, demand)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, ..ProptestConfig::default() })]

    #[test]
    fn counted_sequences_of_others_are_those_that_would_be_listed(
        chunks in chunks_to_deal(),
        spec in spec_to_deal(),
        most in prop_oneof![4 => Just(usize::MAX), 1 => 1usize..60],
        out in prop::option::weighted(0.1, prop::collection::vec(any::<prop::sample::Index>(), 1..6)),
        calls in prop::collection::vec(any_call(), 1..30),
    ) {
        let index = index_of(&chunks);
        let excluded = out.map(|places| {
            let number = |place: prop::sample::Index| place.index(index.n_sequences() as usize) as u64;
            Arc::new(ExcludedSequences::new(places.into_iter().map(|place| index.sequence(number(place)))))
        });
        let spec = PlanSpec { excluded, ..spec };
        let mut listing = Planner::new(spec.clone()).with_most_sequences(most);
        let mut counting = Planner::new(spec).with_most_sequences(most).counting_foreign();
        let (mut listed, mut counted) = (BatchPlan::default(), BatchPlan::default());
        let mut past = vec![Cursor::default()];
        for call in calls {
            match call {
                Call::Next(demand) => {
                    let expected = listing.next_batch(&index, demand, &mut listed);
                    prop_assert_eq!(counting.next_batch(&index, demand, &mut counted), expected.clone(), "{:?}", demand);
                    prop_assert_eq!(counting.cursor(), listing.cursor());
                    if expected.is_err() {
                        continue;
                    }
                    let slots = |plan: &BatchPlan| plan.own_slots().collect::<Vec<_>>();
                    prop_assert_eq!(slots(&counted), slots(&listed), "{:?}", demand);
                    prop_assert_eq!(counted.after, listed.after);
                    let ends = |plan: &BatchPlan| (plan.sweep_end, plan.data_end, plan.is_end(), plan.is_unplanned());
                    prop_assert_eq!(ends(&counted), ends(&listed));
                    prop_assert_eq!((counted.keep_of_last, counted.kind), (listed.keep_of_last, listed.kind));
                    prop_assert_eq!(counted.share(None), listed.share(None));
                    let n_own = listed.own.len();
                    let left_out = |number: usize| number < n_own && number.is_multiple_of(2);
                    prop_assert_eq!(counted.share(Some(&left_out)), listed.share(Some(&left_out)));
                    past.push(counted.after);
                }
                Call::Resume(back, demand) => {
                    let cursor = past[(past.len() - 1).saturating_sub(back)];
                    let expected = listing.resume(&index, cursor, Some(demand));
                    prop_assert_eq!(counting.resume(&index, cursor, Some(demand)), expected);
                }
                Call::Seek(to, demand) => {
                    let expected = listing.seek(&index, to, Some(demand));
                    prop_assert_eq!(counting.seek(&index, to, Some(demand)), expected);
                }
            }
        }
    }
}

#[test]
fn sequences_of_others_are_not_listed_where_they_are_counted() {
    let mixed = [vec![1, 2, 3, 1, 2, 3, 1, 2, 3], vec![2; 9]];
    let equal = [vec![2; 9], vec![2; 7]];
    let global = OrderSpec::Global(Global { seed: 1 });
    for (chunks, order, are_counted) in [
        (&mixed, OrderSpec::AsStored, true),
        (&equal, OrderSpec::AsStored, true),
        (&equal, global, true),
        (&mixed, global, false),
        (&equal, chunk_window(2, 1), false),
    ] {
        let mut planner =
            Planner::new(PlanSpec { sharing: Sharing::Position, ..spec(order) }).counting_foreign();
        let mut plan = BatchPlan::default();
        planner.next_batch(&index_of(chunks), demand(16, 2, 0), &mut plan).unwrap();
        assert_eq!(plan.foreign.is_empty(), are_counted, "{order:?}");
        let share = plan.share(None).unwrap();
        assert!(share.sequences > plan.own.len() as u64, "{share:?}");
    }
}
