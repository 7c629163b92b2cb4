//! States of all ranks, merged, lose and repeat nothing.

use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::{BatchPlan, ResumeState, Share, merge_states};

const SWEEPS: u64 = 3;

/// A rank of a run: its planner, its cursor, and what it has delivered.
struct Rank {
    planner: Planner,
    demand: Demand,
    state: ResumeState,
}

impl Rank {
    fn new(spec: &PlanSpec, index: &Index, from: &ResumeState, demand: Demand) -> Rank {
        let mut planner = Planner::new(spec.clone());
        let cursor = planner.restore(index, from, Some(demand)).unwrap().unwrap();
        let share = (spec.sharing == Sharing::Chunk).then_some(demand.share());
        Rank { planner, demand, state: ResumeState { cursor, share, ..from.clone() } }
    }

    /// Reads a number of minibatches, or to the end.
    fn read(&mut self, index: &Index, calls: usize, delivered: &mut Vec<(u64, SequenceId)>) {
        let mut plan = BatchPlan::default();
        for _ in 0..calls {
            self.planner.next_batch(index, self.demand, &mut plan).unwrap();
            delivered.extend(plan.own_slots().map(|p| (p.sweep, p.planned)));
            self.state.cursor = plan.after;
            self.state.consumed.take_if(|c| !c.is_ahead_of(plan.after));
            if plan.data_end {
                return;
            }
        }
    }
}

/// Ranks that resume from a state, each for as many calls as `calls` says, in turn.
fn read_on(
    spec: &PlanSpec,
    index: &Index,
    from: &ResumeState,
    samples: u64,
    workers: u64,
    calls: &[usize],
    delivered: &mut Vec<(u64, SequenceId)>,
) -> Vec<ResumeState> {
    let ranks = (0..workers).map(|rank| {
        let mut rank = Rank::new(spec, index, from, demand(samples, workers, rank));
        let calls = calls[rank.demand.rank as usize % calls.len()];
        if calls == 0 {
            // The state of a source that has read nothing yet is of no rank.
            return from.clone();
        }
        rank.read(index, calls, delivered);
        rank.state
    });
    ranks.collect()
}

fn through_bytes_and_json(state: ResumeState) -> ResumeState {
    let binary = ResumeState::from_bytes(&state.to_bytes()).unwrap();
    let text = ResumeState::from_json(&binary.to_json()).unwrap();
    assert_eq!(text, state);
    text
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    #[test]
    fn any_number_of_workers_goes_on_from_merged_states(
        chunks in any_chunks(),
        order in any_order(),
        cross_sweep_ends: bool,
        samples in 1u64..40,
        workers in prop::collection::vec(1u64..5, 3),
        first in prop::collection::vec(0usize..9, 5),
        second in prop::collection::vec(0usize..9, 5),
        then in any_sharing(),
    ) {
        let index = index_of(&chunks);
        let limit = Limit::Sweeps(SWEEPS);
        let spec = PlanSpec { limit, cross_sweep_ends, ..spec(order) };
        let mut delivered = Vec::new();
        let start = states::full();
        let states = read_on(&spec, &index, &start, samples, workers[0], &first, &mut delivered);
        let merged = through_bytes_and_json(merge_states(&states).unwrap());
        // Once more in the middle of what was merged, and then to the end, in either sharing.
        let states = read_on(&spec, &index, &merged, samples, workers[1], &second, &mut delivered);
        let merged = through_bytes_and_json(merge_states(&states).unwrap());
        let spec = PlanSpec { sharing: then, ..spec };
        read_on(&spec, &index, &merged, samples, workers[2], &[usize::MAX], &mut delivered);
        prop_assert_eq!(sorted(delivered), every_sequence(&index, SWEEPS));
    }

    #[test]
    fn a_state_shared_by_position_is_resumed_by_chunk(
        chunks in any_chunks(), order in any_order(), samples in 1u64..40, workers in prop::collection::vec(1u64..5, 2), calls in 0usize..9,
    ) {
        let index = index_of(&chunks);
        let limit = Limit::Sweeps(SWEEPS);
        let by_position = PlanSpec { limit, sharing: Sharing::Position, ..spec(order) };
        let by_chunk = PlanSpec { sharing: Sharing::Chunk, ..by_position.clone() };
        let mut delivered = Vec::new();
        let states = read_on(&by_position, &index, &states::full(), samples, workers[0], &[calls], &mut delivered);
        prop_assert!(states.iter().all(|s| s == &states[0]), "the state is the same on every rank");
        read_on(&by_chunk, &index, &states[0], samples, workers[1], &[usize::MAX], &mut delivered);
        prop_assert_eq!(sorted(delivered), every_sequence(&index, SWEEPS));
    }
}

fn state(workers: u64, rank: u64, position: u64) -> ResumeState {
    let mut state = ResumeState { share: Some(Share { workers, rank }), faults: 2, ..states::full() };
    state.cursor.position = position;
    state
}

fn check_refused(states: &[ResumeState], code: &str, expected: &str) {
    let found = merge_states(states).unwrap_err();
    assert_eq!((found.code(), found.to_string().as_str()), (code, expected));
}

/// The refusal of states that are not those of all ranks of one run.
fn check_ranks_refused(states: &[ResumeState], expected: &str) {
    let all = "merge the states of all ranks of one run, each once";
    check_refused(states, "resume.not-all-ranks", &format!("the states cannot be merged: {expected}; {all}"));
}

#[test]
fn only_the_states_of_all_ranks_are_merged() {
    check_ranks_refused(&[], "the number of states is 0, expected at least 1");
    check_ranks_refused(&[state(2, 0, 1), state(2, 0, 1)], "a rank is 0, twice, expected each once");
    check_ranks_refused(
        &[state(3, 0, 1), state(3, 1, 1)],
        "the number of states is 2, expected 3, that of the workers",
    );
    check_ranks_refused(&[ResumeState::bare(3)], "a state is a bare position, expected a full one");
    let mut other = (**states::full().fingerprint.as_ref().unwrap()).clone();
    other.order = chunk_window(4, 8);
    let other = ResumeState { fingerprint: Some(Arc::new(other)), ..state(2, 1, 0) };
    check_refused(
        &[state(2, 0, 1), other],
        "resume.other-source",
        "the state does not belong to this source: the randomization seed is 8 in the state and 7 here; restore it into a \
         source of the same data and options",
    );
}

#[test]
fn ranks_that_have_read_nothing_are_merged_with_those_that_have() {
    let began = |position: u64| ResumeState { share: None, faults: 0, ..state(3, 0, position) };
    let merged = merge_states(&[began(0), state(3, 1, 12), began(0)]).unwrap();
    assert_eq!((merged.cursor.position, merged.faults, merged.share), (0, 2, None));
    assert_eq!(merged.consumed.unwrap().layers[0].positions, [0, 12, 0]);
    // A run that began elsewhere: what is before that has been consumed on every rank.
    let merged = merge_states(&[state(2, 1, 12), began(5)]).unwrap();
    assert_eq!(merged.consumed.unwrap().layers[0].positions, [5, 12]);
    check_ranks_refused(
        &[began(20), state(2, 1, 12)],
        "the position of a state without a rank is 20, expected at most 12, that of the slowest rank: where the run began",
    );
    check_ranks_refused(
        &[began(3), state(3, 1, 12), began(4)],
        "the position of a state without a rank is 4, expected 3, that of the others: where the run began",
    );
    check_ranks_refused(
        &[began(0), state(3, 1, 12)],
        "the number of states is 2, expected 3, that of the workers",
    );
}

#[test]
fn a_merged_state_stands_at_the_last_rank_and_adds_the_faults_up() {
    let merged = merge_states(&[state(2, 1, 9), state(2, 0, 12)]).unwrap();
    assert_eq!((merged.cursor.position, merged.faults, merged.share), (9, 4, None));
    assert_eq!(merged.consumed.unwrap().layers[0].positions, [12, 9]);
    let even = merge_states(&[state(2, 1, 9), state(2, 0, 9)]).unwrap();
    assert_eq!(even.consumed, None);
}

#[test]
fn a_single_ranks_state_is_no_state_of_all_ranks() {
    let index = index_of(&[vec![1], vec![1]]);
    let by_position = PlanSpec { sharing: Sharing::Position, ..spec(chunk_window(4, 7)) };
    let mut planner = Planner::new(by_position);
    let error = planner.restore(&index, &state(2, 1, 0), None).unwrap_err();
    assert!(
        error.to_string().contains("rank 1 of 2") && error.to_string().contains("merge_states"),
        "{error}"
    );
    planner.restore(&index, &state(1, 0, 0), None).unwrap().unwrap();
}
