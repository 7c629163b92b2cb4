//! Minibatches by their number, and sequences that are left out.

use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::{BatchPlan, BatchSlot, Bucketing, Cursor, EqualSteps, ExcludedSequences, Share, StepSizes};

/// Corpora of sequences with one length, for which steps are computed, and others.
fn any_lengths() -> impl Strategy<Value = Vec<Vec<u32>>> {
    let regular = (1u32..4, prop::collection::vec(1usize..9, 1..9))
        .prop_map(|(length, chunks)| chunks.into_iter().map(|n| vec![length; n]).collect());
    prop_oneof![any_chunks(), regular]
}

fn any_further_order() -> impl Strategy<Value = OrderSpec> {
    let tumbling =
        (1u64..5, 0u64..4).prop_map(|(chunks, seed)| Tumbling { window: Window::Chunks(chunks), seed });
    prop_oneof![
        6 => any_order(),
        1 => Just(OrderSpec::LocalPlain),
        2 => tumbling.prop_map(OrderSpec::Tumbling),
    ]
}

/// The treatment of the last minibatch, and of equal steps.
fn any_steps() -> impl Strategy<Value = (bool, Option<EqualSteps>)> {
    let equal =
        prop_oneof![2 => Just(None), 1 => Just(Some(EqualSteps::Repeat)), 1 => Just(Some(EqualSteps::Drop))];
    (any::<bool>(), equal)
}

fn take_steps(spec: &mut PlanSpec, (drop_last, equal_steps): (bool, Option<EqualSteps>)) {
    spec.ending.drop_last = drop_last;
    spec.equal_steps = equal_steps.filter(|_| spec.sharing == Sharing::Position);
}

/// The slots of each of the first minibatches, up to so many, and the cursor after each; `None` where a sweep has none.
fn batches(
    index: &Index,
    at: &mut Planner,
    demand: Demand,
    most: usize,
) -> Option<Vec<(Vec<BatchSlot>, Cursor)>> {
    let (mut plan, mut all) = (BatchPlan::default(), Vec::new());
    while all.len() < most && !plan.data_end {
        at.next_batch(index, demand, &mut plan).ok()?;
        if plan.is_end() {
            break;
        }
        all.push((plan.own_slots().collect(), plan.after));
    }
    Some(all)
}

proptest! {
    #[test]
    fn a_step_is_found_where_planning_comes_to_it(
        chunks in any_lengths(), order in any_further_order(), mut spec in any_spec(), demand in any_demand(), bucketed in any::<bool>(),
        steps in any_steps(),
    ) {
        let index = index_of(&chunks);
        spec.order = order;
        take_steps(&mut spec, steps);
        if bucketed && order.is_shuffled() && !order.is_local() {
            spec.bucketing = Some(Bucketing { samples: demand.samples, sequences: u64::MAX });
        }
        let mut from_the_start = Planner::new(spec.clone());
        // A rank may have no data at all, and some limits are refused.
        if from_the_start.start(&index, demand).is_err() {
            return Ok(());
        }
        let is_endless = spec.limit == Limit::Endless;
        let most = if is_endless { 40 } else { usize::MAX };
        let Some(all) = batches(&index, &mut from_the_start, demand, most) else { return Ok(()) };
        let (sizes, share) = (StepSizes::Constant(demand.samples), demand.share());
        for step in 0..=all.len() {
            let mut planner = Planner::new(spec.clone());
            prop_assert_eq!(planner.seek_step(&index, step as u64, sizes, share).unwrap(), step as u64);
            if let Some((_, after)) = step.checked_sub(1).map(|before| &all[before]) {
                prop_assert_eq!(planner.cursor(), *after);
            }
            // A later sweep of an endless plan may be refused.
            let most = if is_endless { all.len() - step } else { usize::MAX };
            let following = batches(&index, &mut planner, demand, most).unwrap();
            prop_assert_eq!(&following[..], &all[step..]);
        }
        if !is_endless {
            let mut planner = Planner::new(spec);
            prop_assert_eq!(planner.seek_step(&index, u64::MAX, sizes, share).unwrap(), all.len() as u64);
        }
    }

    #[test]
    fn every_sweep_has_the_steps_that_are_computed(
        chunks in any_lengths(), order in any_further_order(), mut spec in any_spec(), demand in any_demand(), steps in any_steps(),
    ) {
        let index = index_of(&chunks);
        (spec.order, spec.limit) = (order, Limit::Endless);
        take_steps(&mut spec, steps);
        let mut planner = Planner::new(spec);
        if planner.start(&index, demand).is_err() {
            return Ok(());
        }
        if let Some(steps) = planner.steps_of_every_sweep(&index, demand) {
            let mut plan = BatchPlan::default();
            for step in 1..=3 * steps {
                planner.next_batch(&index, demand, &mut plan).unwrap();
                // Of a dropped minibatch the next one says that the sweep has ended.
                let sweep = plan.own_slots().map(|slot| slot.sweep).max();
                prop_assert!(sweep.is_none_or(|sweep| sweep == (step - 1) / steps));
            }
        }
    }

    #[test]
    fn the_global_order_needs_no_corpus(n in 1usize..3000, seed in any::<u64>(), sweep in 0u64..3) {
        let index = index_of(&[vec![1; n]]);
        let global = Global { seed };
        let mut planner = Planner::new(PlanSpec { limit: Limit::Sweeps(3), ..spec(OrderSpec::Global(global)) });
        planner.seek(&index, sweep * n as u64, None).unwrap();
        let mut plan = BatchPlan::default();
        planner.next_batch(&index, demand(n as u64, 1, 0), &mut plan).unwrap();
        let planned: Vec<_> = plan.own.iter().map(|planned| u64::from(planned.sequence)).collect();
        let order = global.of_sweep(n as u64, sweep);
        prop_assert_eq!(planned, (0..n as u64).map(order).collect::<Vec<_>>());
    }

    #[test]
    fn what_is_left_out_moves_nothing_else(
        chunks in any_chunks(), order in any_further_order(), sharing in any_sharing(), samples in 1u64..40,
        (workers, rank) in (1u64..4).prop_flat_map(|workers| (Just(workers), 0..workers)), every in 2usize..5,
    ) {
        let index = index_of(&chunks);
        let demand = demand(samples, workers, rank);
        let whole = PlanSpec { sharing, limit: Limit::Sweeps(3), ..spec(order) };
        let mut planner = Planner::new(whole.clone());
        if planner.start(&index, demand).is_err() {
            return Ok(());
        }
        let out: Vec<_> = every_sequence(&index, 1).into_iter().step_by(every)
            .map(|(_, chunk, sequence)| SequenceId { chunk: ChunkId(chunk), sequence }).collect();
        let expected: Vec<_> = batches(&index, &mut planner, demand, usize::MAX).unwrap().into_iter()
            .map(|(slots, after)| (slots.into_iter().filter(|slot| !out.contains(&slot.planned)).collect::<Vec<_>>(), after))
            .collect();
        let spec = PlanSpec { excluded: Some(Arc::new(ExcludedSequences::new(out))), ..whole };
        let mut planner = Planner::new(spec);
        planner.start(&index, demand).unwrap();
        let found = batches(&index, &mut planner, demand, usize::MAX).unwrap();
        prop_assert_eq!(found, expected);
    }
}

#[test]
fn a_step_far_away_is_computed_without_planning_what_lies_before() {
    // 10^9 sequences of 3 samples: planning them all would take minutes.
    let mut index = Index::new();
    for _ in 0..1000 {
        index.push(CompactLengths::Constant { value: 3, n: 1_000_000 }, 1);
    }
    index.seal();
    for order in [OrderSpec::AsStored, OrderSpec::Global(Global { seed: 5 })] {
        let mut planner = Planner::new(spec(order));
        let step = 10_000_000_000;
        assert_eq!(planner.seek_step(&index, step, StepSizes::Constant(770), Share::ALL), Ok(step));
        // 256 sequences each.
        let number = step * 256;
        let expected = (number * 3, number / 1_000_000_000, number % 1_000_000_000);
        let Cursor { position, sweep, sequence, .. } = planner.cursor();
        assert_eq!((position, sweep, sequence), expected);
    }
}
