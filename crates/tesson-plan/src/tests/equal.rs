//! Equal steps: every rank gives as many minibatches as all others.

use proptest::prelude::*;

use super::*;
use crate::{BatchPlan, BatchShare, EqualSteps, LastSequence, ResumeState, Share, merge_states};

const MODES: [EqualSteps; 3] = [EqualSteps::Drop, EqualSteps::Repeat, EqualSteps::Empty];

/// A minibatch: its sequences, whether a sweep ends with it, and whether it repeats some.
type Step = (Vec<(u64, SequenceId)>, bool, bool);

/// All steps of a rank until the end of the data.
fn steps_of(planner: &mut Planner, index: &Index, demand: Demand) -> Vec<Step> {
    let mut plan = BatchPlan::default();
    let mut steps = Vec::new();
    loop {
        planner.next_batch(index, demand, &mut plan).unwrap();
        if plan.is_end() {
            return steps;
        }
        let own = plan.own_slots().map(|p| (p.sweep, p.planned)).collect();
        steps.push((own, plan.sweep_end, plan.kind == crate::BatchKind::RepeatedStep));
        if plan.data_end {
            return steps;
        }
    }
}

fn read(spec: &PlanSpec, index: &Index, demand: Demand) -> Vec<Step> {
    let mut planner = Planner::new(spec.clone());
    planner.start(index, demand).unwrap();
    steps_of(&mut planner, index, demand)
}

fn with_equal_steps(order: OrderSpec, mode: EqualSteps) -> PlanSpec {
    PlanSpec { cross_sweep_ends: false, equal_steps: Some(mode), limit: Limit::Sweeps(3), ..spec(order) }
}

fn any_end() -> impl Strategy<Value = (Limit, Option<u64>)> {
    prop_oneof![
        3 => Just((Limit::Sweeps(3), None)),
        1 => (1u64..300).prop_map(|n| (Limit::Samples(n), None)),
        1 => (5u64..80).prop_map(|n| (Limit::Sweeps(3), Some(n))),
    ]
}

fn own(steps: &[Step]) -> Vec<(u64, SequenceId)> {
    steps.iter().filter(|(_, _, repeated)| !repeated).flat_map(|(own, ..)| own.iter().copied()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]

    #[test]
    fn all_ranks_give_the_same_number_of_steps_in_every_sweep(
        chunks in any_chunks(), order in any_order(), end in any_end(), samples in 1u64..60, workers in 1u64..6,
        most in prop::option::of(1u64..9), last in 0usize..3,
    ) {
        let index = index_of(&chunks);
        let workers = workers.min(index.n_chunks() as u64);
        let last_sequence = [LastSequence::Whole, LastSequence::LeftOut, LastSequence::Cut][last];
        let (limit, epoch_size) = end;
        for mode in MODES {
            let ending = Ending { last_sequence, drop_last: false };
            // Epochs so short that no step of them has data for all are an error where steps are dropped.
            let epoch_size = epoch_size.filter(|_| mode != EqualSteps::Drop);
            let spec = PlanSpec { limit, epoch_size, ending, most_sequences: most, ..with_equal_steps(order, mode) };
            let alone = PlanSpec { equal_steps: None, ..spec.clone() };
            let ranks: Vec<Vec<Step>> = (0..workers).map(|rank| read(&spec, &index, demand(samples, workers, rank))).collect();
            let ends = |steps: &[Step]| steps.iter().map(|(_, end, _)| *end).collect::<Vec<_>>();
            for (rank, steps) in ranks.iter().enumerate() {
                prop_assert_eq!(ends(steps), ends(&ranks[0]), "{:?} rank {}", mode, rank);
                // What a rank is given is what it would be given alone, or the beginning of it.
                let all = own(&read(&alone, &index, demand(samples, workers, rank as u64)));
                let given = own(steps);
                match mode {
                    EqualSteps::Drop => {
                        prop_assert!(given.iter().all(|sequence| all.contains(sequence)));
                        prop_assert!(steps.iter().all(|(own, ..)| !own.is_empty()));
                    }
                    _ => prop_assert_eq!(given, all, "{:?} rank {} of {}", mode, rank, workers),
                }
            }
            let empty = ranks.iter().flatten().any(|(own, ..)| own.is_empty());
            prop_assert!(mode == EqualSteps::Empty || !empty || epoch_size.is_some() || limit != Limit::Sweeps(3));
            let repeats = ranks.iter().flatten().any(|(.., repeated)| *repeated);
            prop_assert!(mode == EqualSteps::Repeat || !repeats);
            // Every step is needed by some rank.
            for i in 0..ranks[0].len() {
                prop_assert!(ranks.iter().any(|steps| !steps[i].2 && !steps[i].0.is_empty()));
            }
        }
    }

    #[test]
    fn no_rank_drops_more_than_it_must(
        chunks in any_chunks(), order in any_order(), samples in 1u64..60, workers in 1u64..6,
    ) {
        let index = index_of(&chunks);
        let workers = workers.min(index.n_chunks() as u64);
        let one = |mode| PlanSpec { limit: Limit::Sweeps(1), ..with_equal_steps(order, mode) };
        let count = |spec: PlanSpec| {
            (0..workers).map(|rank| read(&spec, &index, demand(samples, workers, rank)).len()).collect::<Vec<_>>()
        };
        let alone: Vec<usize> = (0..workers)
            .map(|rank| {
                let spec = PlanSpec { equal_steps: None, ..one(EqualSteps::Drop) };
                let steps = read(&spec, &index, demand(samples, workers, rank));
                steps.iter().filter(|(own, ..)| !own.is_empty()).count()
            })
            .collect();
        let (least, most) = (*alone.iter().min().unwrap(), *alone.iter().max().unwrap());
        prop_assert_eq!(count(one(EqualSteps::Drop)), vec![least; workers as usize]);
        prop_assert_eq!(count(one(EqualSteps::Repeat)), vec![most; workers as usize]);
        prop_assert_eq!(count(one(EqualSteps::Empty)), vec![most; workers as usize]);
    }

    #[test]
    fn every_step_can_be_resumed_from(
        chunks in any_chunks(), order in any_order(), end in any_end(), samples in 1u64..40, workers in 2u64..5, rank in 0u64..5,
        mode in 0usize..3,
    ) {
        let index = index_of(&chunks);
        let workers = workers.min(index.n_chunks() as u64);
        let demand = demand(samples, workers, rank % workers);
        let (limit, epoch_size) = end;
        let epoch_size = epoch_size.filter(|_| MODES[mode] != EqualSteps::Drop);
        let spec = PlanSpec { limit, epoch_size, ..with_equal_steps(order, MODES[mode]) };
        let mut planner = Planner::new(spec.clone());
        let expected = read(&spec, &index, demand);
        let mut plan = BatchPlan::default();
        for passed in 1..=expected.len() {
            planner.next_batch(&index, demand, &mut plan).unwrap();
            let state = ResumeState { cursor: plan.after, share: Some(Share { workers, rank: demand.rank }), ..states::full() };
            prop_assert_eq!(&ResumeState::from_bytes(&state.to_bytes()).unwrap(), &state);
            prop_assert_eq!(&ResumeState::from_json(&state.to_json()).unwrap(), &state);
            let mut fresh = Planner::new(spec.clone());
            fresh.restore(&index, &state, Some(demand)).unwrap().unwrap();
            if !plan.data_end {
                prop_assert_eq!(&steps_of(&mut fresh, &index, demand)[..], &expected[passed..]);
            }
        }
    }

    #[test]
    fn other_workers_go_on_from_the_states_of_all_ranks(
        chunks in any_chunks(), order in any_order(), samples in 1u64..40, workers in 1u64..5, then in 1u64..5, passed in 0usize..9,
    ) {
        let index = index_of(&chunks);
        let n = index.n_chunks() as u64;
        let (workers, then) = (workers.min(n), then.min(n));
        let spec = with_equal_steps(order, EqualSteps::Empty);
        let mut states = Vec::new();
        let mut delivered = Vec::new();
        for rank in 0..workers {
            let demand = demand(samples, workers, rank);
            let mut planner = Planner::new(spec.clone());
            planner.start(&index, demand).unwrap();
            let mut plan = BatchPlan::default();
            for _ in 0..passed {
                planner.next_batch(&index, demand, &mut plan).unwrap();
                delivered.extend(plan.own_slots().map(|p| (p.sweep, p.planned)));
            }
            states.push(ResumeState { cursor: planner.cursor(), share: Some(Share { workers, rank }), ..states::full() });
        }
        let merged = merge_states(&states).unwrap();
        let mut counts = Vec::new();
        for rank in 0..then {
            let demand = demand(samples, then, rank);
            let mut planner = Planner::new(spec.clone());
            planner.restore(&index, &merged, Some(demand)).unwrap().unwrap();
            let steps = steps_of(&mut planner, &index, demand);
            delivered.extend(own(&steps));
            counts.push(steps.len());
        }
        prop_assert!(counts.iter().all(|&n| n == counts[0]), "{:?}", counts);
        prop_assert_eq!(sorted(delivered), every_sequence(&index, 3));
    }

    #[test]
    fn by_position_shares_that_are_empty_are_dropped_or_filled(
        chunks in any_chunks(), order in any_order(), samples in 1u64..60, workers in 1u64..6,
    ) {
        let index = index_of(&chunks);
        let by_position = |mode| PlanSpec {
            sharing: Sharing::Position,
            cross_sweep_ends: true,
            limit: Limit::Sweeps(2),
            ..with_equal_steps(order, mode)
        };
        let whole = read(&by_position(EqualSteps::Empty), &index, demand(samples, 1, 0));
        let share = |mode, rank| read(&by_position(mode), &index, demand(samples, workers, rank));
        if whole.iter().any(|(own, ..)| own.len() as u64 >= workers) {
            let full = whole.iter().filter(|(own, ..)| own.len() as u64 >= workers).count();
            for rank in 0..workers {
                let found = share(EqualSteps::Drop, rank);
                prop_assert_eq!(found.len(), full);
                prop_assert!(found.iter().all(|(own, ..)| !own.is_empty()));
            }
        }
        for rank in 0..workers {
            let found = share(EqualSteps::Repeat, rank);
            prop_assert_eq!(found.len(), whole.len());
            for ((own, ..), (all, ..)) in found.iter().zip(&whole) {
                let from = rank as usize % all.len().min(workers as usize);
                let expected: Vec<_> = all.iter().skip(from).step_by(workers as usize).copied().collect();
                prop_assert_eq!(own, &expected);
            }
        }
    }

    #[test]
    fn every_rank_knows_how_many_sequences_the_others_have(
        chunks in any_chunks(), order in any_order(), samples in 1u64..60, workers in 2u64..6,
        mode in prop::option::of(prop::sample::select(&MODES)),
    ) {
        let index = index_of(&chunks);
        let spec = PlanSpec {
            sharing: Sharing::Position,
            equal_steps: mode,
            ..with_equal_steps(order, EqualSteps::Empty)
        };
        let mut ranks: Vec<_> =
            (0..workers).map(|rank| (Planner::new(spec.clone()), BatchPlan::default(), demand(samples, workers, rank))).collect();
        while !ranks[0].1.data_end {
            let is_refused = ranks
                .iter_mut()
                .any(|(planner, plan, demand)| planner.next_batch(&index, *demand, plan).is_err());
            if is_refused || ranks[0].1.is_end() {
                break;
            }
            let counts = ranks.iter().map(|(_, plan, _)| plan.own.len() as u64);
            let (least, most) = (counts.clone().min().unwrap(), counts.max().unwrap());
            for (_, plan, _) in &ranks {
                let sequences = (plan.own.len() + plan.foreign.len()) as u64;
                let owners = if mode == Some(EqualSteps::Repeat) { workers.min(sequences) } else { workers };
                prop_assert_eq!(plan.share(None), Some(BatchShare { workers, least, most, owners, sequences }));
            }
        }
    }
}

#[test]
fn sizes_change_where_a_sweep_ends_only() {
    let index = index_of(&vec![vec![2; 6]; 4]);
    let mut planner = Planner::new(with_equal_steps(chunk_window(2, 1), EqualSteps::Drop));
    let mut plan = BatchPlan::default();
    planner.next_batch(&index, demand(8, 2, 0), &mut plan).unwrap();
    let cursor = plan.after;
    let e = planner.next_batch(&index, demand(4, 2, 0), &mut plan).unwrap_err().to_string();
    assert_eq!(
        e,
        "step 2 of 6 equal ones is due, of 8 samples for 2 workers, and the call asks for 4 samples for 2; sizes and workers may change where the sweep ends"
    );
    let e = planner.resume(&index, cursor, Some(demand(8, 3, 0))).unwrap_err().to_string();
    assert!(e.contains("for 3; sizes and workers"), "{e}");
    while !plan.sweep_end {
        planner.next_batch(&index, demand(8, 2, 0), &mut plan).unwrap();
    }
    planner.next_batch(&index, demand(4, 3, 0), &mut plan).unwrap();
    assert_eq!((plan.own.len(), plan.after.steps.workers), (1, 3));
}

#[test]
fn ranks_that_never_get_anything_are_refused_where_steps_are_dropped() {
    let index = index_of(&[vec![1, 1], vec![1, 1]]);
    let start =
        |mode| Planner::new(with_equal_steps(chunk_window(1, 0), mode)).start(&index, demand(4, 3, 2));
    assert!(start(EqualSteps::Drop).unwrap_err().to_string().starts_with("3 workers share 2 chunks"));
    let empty = read(&with_equal_steps(chunk_window(1, 0), EqualSteps::Repeat), &index, demand(4, 3, 2));
    assert!(empty.len() == 3 * 2 && empty.iter().all(|(own, ..)| own.is_empty()), "{empty:?}");
    let crossing =
        PlanSpec { cross_sweep_ends: true, ..with_equal_steps(chunk_window(1, 0), EqualSteps::Empty) };
    let e = Planner::new(crossing).start(&index, demand(4, 2, 0)).unwrap_err().to_string();
    assert!(e.starts_with("equal steps are for minibatches that end with their sweep"), "{e}");
}

#[test]
fn minibatches_that_are_dropped_without_exception_are_refused() {
    let index = index_of(&[vec![1; 20]]);
    let first = |samples, workers, limit| {
        let by_position = PlanSpec {
            sharing: Sharing::Position,
            limit,
            ..with_equal_steps(chunk_window(1, 0), EqualSteps::Drop)
        };
        let mut plan = BatchPlan::default();
        let planned = Planner::new(by_position).next_batch(&index, demand(samples, workers, 0), &mut plan);
        planned.map(|_| plan.own.len()).map_err(|e| e.to_string())
    };
    for limit in [Limit::Sweeps(1), Limit::Sweeps(3), Limit::Endless] {
        let e = first(10, 16, limit).unwrap_err();
        assert!(
            e.starts_with(
                "no minibatch of 10 samples of a whole sweep has a sequence for each of 16 workers"
            ),
            "{e}"
        );
        assert_eq!(first(20, 16, limit), Ok(2));
    }
}

#[test]
fn a_state_of_steps_that_cannot_be_of_the_corpus_is_refused() {
    let index = index_of(&vec![vec![2; 6]; 4]);
    let mut planner = Planner::new(with_equal_steps(chunk_window(2, 1), EqualSteps::Drop));
    let mut plan = BatchPlan::default();
    planner.next_batch(&index, demand(8, 2, 0), &mut plan).unwrap();
    let mut cursor = plan.after;
    cursor.steps.end_sequence = 99;
    let e = planner.resume(&index, cursor, None).unwrap_err().to_string();
    assert_eq!(e, "the state's steps are of sequences 0 to 99 of 24, the corpus has 24");
}
