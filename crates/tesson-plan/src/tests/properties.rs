//! Properties of every plan.

use proptest::prelude::*;

use super::*;
use crate::{BatchPlan, BatchShare, ResumeState};

fn limited(order: OrderSpec, sharing: Sharing, sweeps: u64) -> PlanSpec {
    PlanSpec { sharing, limit: Limit::Sweeps(sweeps), ..spec(order) }
}

/// All that a rank gets, with the sweep of each sequence.
fn share_of(spec: &PlanSpec, index: &Index, demand: Demand) -> Vec<Vec<(u64, SequenceId)>> {
    let mut planner = Planner::new(spec.clone());
    planner.start(index, demand).unwrap();
    all_batches(&mut planner, index, demand)
}

proptest! {
    #[test]
    fn workers_together_get_each_sequence_of_each_sweep_once(
        chunks in any_chunks(), order in any_order(), sharing in any_sharing(), samples in 1u64..60, workers in 1u64..7,
    ) {
        let index = index_of(&chunks);
        let spec = limited(order, sharing, 3);
        let shares = (0..workers).flat_map(|rank| share_of(&spec, &index, demand(samples, workers, rank)));
        prop_assert_eq!(sorted(shares.flatten()), every_sequence(&index, 3));
    }

    #[test]
    fn epochs_cut_minibatches_and_change_nothing_else(
        chunks in any_chunks(), order in any_order(), samples in 1u64..60, epoch in 1u64..50,
    ) {
        let index = index_of(&chunks);
        let spec = limited(order, Sharing::Chunk, 3);
        let whole = share_of(&spec, &index, demand(samples, 1, 0)).concat();
        let spec = PlanSpec { epoch_size: Some(epoch), ..spec };
        let cut = share_of(&spec, &index, demand(samples, 1, 0));
        let length = |p: &SequenceId| u64::from(index.length(*p));
        let mut position = 0;
        for batch in &cut {
            let end = (position / epoch + 1) * epoch;
            for (_, planned) in batch {
                prop_assert!(position < end);
                position += length(planned);
            }
        }
        prop_assert_eq!(cut.concat(), whole);
    }

    #[test]
    fn shares_by_position_are_the_single_workers_minibatches_dealt_out(
        chunks in any_chunks(), order in any_order(), samples in 1u64..60, workers in 1u64..7,
    ) {
        let index = index_of(&chunks);
        let spec = limited(order, Sharing::Position, 2);
        let alone = share_of(&spec, &index, demand(samples, 1, 0));
        let shares: Vec<_> = (0..workers).map(|rank| share_of(&spec, &index, demand(samples, workers, rank))).collect();
        for (i, batch) in alone.iter().enumerate() {
            for (k, sequence) in batch.iter().enumerate() {
                let (rank, turn) = (k % workers as usize, k / workers as usize);
                prop_assert_eq!(shares[rank][i].get(turn), Some(sequence));
            }
            prop_assert_eq!(shares.iter().map(|s| s[i].len()).sum::<usize>(), batch.len());
        }
    }

    #[test]
    fn places_number_own_and_foreign_sequences_in_plan_order(
        chunks in any_chunks(), order in any_order(), samples in 1u64..60, workers in 1u64..7, rank in 0u64..7,
    ) {
        let index = index_of(&chunks);
        let (demand, alone) = (demand(samples, workers, rank % workers), demand(samples, 1, 0));
        let spec = limited(order, Sharing::Position, 2);
        let (mut one, mut other) = (Planner::new(spec.clone()), Planner::new(spec));
        let (mut plan, mut whole) = (BatchPlan::default(), BatchPlan::default());
        while !whole.data_end {
            one.next_batch(&index, alone, &mut whole).unwrap();
            other.next_batch(&index, demand, &mut plan).unwrap();
            let mut places: Vec<_> = plan.own_slots().chain(plan.foreign_slots()).collect();
            places.sort_by_key(|place| place.number);
            prop_assert_eq!(places, whole.own_slots().collect::<Vec<_>>());
            prop_assert_eq!(plan.after, whole.after);
            let counts: Vec<u64> = (0..workers)
                .map(|rank| (0..whole.own.len() as u64).filter(|i| i % workers == rank && i % 3 != 0).count() as u64)
                .collect();
            let slots: Vec<_> = plan.own_slots().chain(plan.foreign_slots()).collect();
            let (least, most) = (*counts.iter().min().unwrap(), *counts.iter().max().unwrap());
            prop_assert_eq!(
                plan.share(Some(&|i| slots[i].number % 3 == 0)),
                (workers > 1).then_some(BatchShare { workers, least, most, owners: workers, sequences: counts.iter().sum() })
            );
            prop_assert_eq!(plan.share(None), plan.share(Some(&|_| false)));
        }
    }

    #[test]
    fn every_minibatch_can_be_resumed_from(
        chunks in any_chunks(), spec in any_spec(), demand in any_demand(), calls in 1usize..25,
    ) {
        let index = index_of(&chunks);
        let mut planner = Planner::new(spec.clone());
        planner.start(&index, demand).unwrap();
        let mut plan = BatchPlan::default();
        let mut history = Vec::new();
        for _ in 0..calls {
            planner.next_batch(&index, demand, &mut plan).unwrap();
            history.push((plan.own.clone(), plan.sweep_end, plan.data_end, plan.after));
        }
        for i in 0..calls - 1 {
            let mut fresh = Planner::new(spec.clone());
            let state = ResumeState { cursor: history[i].3, ..states::full() };
            fresh.restore(&index, &state, Some(demand)).unwrap().unwrap();
            fresh.next_batch(&index, demand, &mut plan).unwrap();
            prop_assert_eq!(&(plan.own.clone(), plan.sweep_end, plan.data_end, plan.after), &history[i + 1]);
        }
    }

    #[test]
    fn first_visits_are_those_of_a_run_from_the_start(
        chunks in any_chunks(), order in any_order(), sharing in any_sharing(), workers in 1u64..5, rank in 0u64..5,
    ) {
        let index = index_of(&chunks);
        let spec = limited(order, sharing, 5);
        let demand = demand(7, workers, rank % workers);
        let mut planner = Planner::new(spec.clone());
        planner.start(&index, demand).unwrap();
        let mut seen = Vec::new();
        let mut plan = BatchPlan::default();
        while !plan.data_end {
            planner.next_batch(&index, demand, &mut plan).unwrap();
            let mut places: Vec<_> = plan.own_slots().chain(plan.foreign_slots()).collect();
            places.sort_by_key(|place| place.number);
            for place in places {
                let new = !seen.contains(&place.planned);
                prop_assert_eq!(spec.first_visit(&index, place.planned, place.sweep, demand), new);
                seen.push(place.planned);
            }
        }
    }

    #[test]
    fn retired_chunks_do_not_come_again_in_their_sweep(
        chunks in any_chunks(), order in any_order(), samples in 1u64..60, workers in 1u64..4, rank in 0u64..4,
    ) {
        let index = index_of(&chunks);
        let demand = demand(samples, workers, rank % workers);
        let spec = limited(order, Sharing::Chunk, 3);
        let mut planner = Planner::new(spec);
        planner.start(&index, demand).unwrap();
        let mut plan = BatchPlan::default();
        let (mut done, mut sweep) = (Vec::new(), 0);
        while !plan.data_end {
            planner.next_batch(&index, demand, &mut plan).unwrap();
            if let Some(planned) = plan.own_slots().find(|p| p.sweep == sweep && done.contains(&p.planned.chunk)) {
                prop_assert!(false, "{:?} after its chunk was done", planned);
            }
            let mut now = Vec::new();
            planner.take_retired(&index, &mut now);
            if plan.after.sweep != sweep {
                sweep = plan.after.sweep;
                done.clear();
            } else {
                prop_assert!(now.iter().all(|chunk| !done.contains(chunk)));
                done.extend(now);
            }
        }
    }
}
