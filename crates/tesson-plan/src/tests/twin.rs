//! The planner and the plain model agree on whatever is done to them.

use proptest::prelude::*;
use tesson_core::{CompactLengths, Index};

use super::model::{Batch, Model};
use super::*;
use crate::{BatchPlan, Cursor, Progress};

#[derive(Clone, Debug)]
enum Call {
    Next(Demand),
    /// Goes back to the cursor after an earlier call, counted back from now.
    Resume(usize, Demand),
    Seek(u64, Option<Demand>),
    /// Promises not to go back before the cursor of an earlier call, counted back from now; the test keeps that
    /// promise.
    Release(usize),
}

fn any_call() -> impl Strategy<Value = Call> {
    prop_oneof![
        12 => any_demand().prop_map(Call::Next),
        2 => (0usize..8, any_demand()).prop_map(|(back, demand)| Call::Resume(back, demand)),
        1 => (0u64..300, prop::option::of(any_demand())).prop_map(|(to, demand)| Call::Seek(to, demand)),
        1 => (0usize..4).prop_map(Call::Release),
    ]
}

fn found(plan: &BatchPlan) -> Batch {
    Batch {
        own: plan.own.clone(),
        foreign: plan.foreign.clone(),
        sweep_end: plan.sweep_end,
        data_end: plan.data_end,
        after: plan.after.position,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, ..ProptestConfig::default() })]

    #[test]
    fn the_planner_does_what_the_model_does(
        chunks in any_chunks(),
        spec in any_spec(),
        calls in prop::collection::vec(any_call(), 1..30),
    ) {
        let index = index_of(&chunks);
        let mut planner = Planner::new(spec.clone());
        let mut model = Model::new(&chunks, &spec);
        let mut plan = BatchPlan::default();
        let mut past = vec![Cursor::default()];
        for call in calls {
            let before = past.len() - 1;
            match call {
                Call::Next(demand) => {
                    prop_assert_eq!(planner.next_batch(&index, demand, &mut plan).unwrap(), Progress::Planned);
                    prop_assert_eq!(found(&plan), model.next(demand), "{:?}", demand);
                    past.push(plan.after);
                }
                Call::Resume(back, demand) => {
                    let cursor = past[before.saturating_sub(back)];
                    let at = planner.resume(&index, cursor, Some(demand)).unwrap().unwrap();
                    model.seek(cursor.position, Some(demand));
                    prop_assert_eq!(at.position, model.position);
                    past.push(at);
                }
                Call::Seek(to, demand) => {
                    let at = planner.seek(&index, to, demand).unwrap().unwrap();
                    model.seek(to, demand);
                    prop_assert_eq!(at.position, model.position);
                    past.push(at);
                }
                Call::Release(back) => {
                    let oldest = past[before.saturating_sub(back)];
                    planner.released(oldest);
                }
            }
        }
    }

    #[test]
    fn a_growing_index_gives_what_the_complete_one_gives(
        chunks in any_chunks(),
        limit in any_limit(),
        sharing in any_sharing(),
        cross_sweep_ends: bool,
        local_timeline: bool,
        demand in any_demand(),
        pieces in prop::collection::vec(0usize..3, 80),
    ) {
        let spec = PlanSpec {
            order: OrderSpec::AsStored,
            sharing,
            limit,
            ending: Ending::default(),
            cross_sweep_ends,
            epoch_size: None,
            local_timeline,
            most_sequences: None,
        bucketing: None,
        equal_steps: None,
        excluded: None,
        };
        let complete = index_of(&chunks);
        let (mut one, mut other) = (Planner::new(spec.clone()), Planner::new(spec));
        let (mut expected, mut plan) = (BatchPlan::default(), BatchPlan::default());
        let (mut growing, mut chunk) = (Index::new(), 0);
        other.start(&growing, demand).unwrap();
        one.start(&complete, demand).unwrap();
        for piece in pieces {
            one.next_batch(&complete, demand, &mut expected).unwrap();
            while other.next_batch(&growing, demand, &mut plan).unwrap() == Progress::NeedIndex {
                for _ in 0..=piece {
                    if chunk < chunks.len() {
                        growing.push(CompactLengths::new(&chunks[chunk]), 1);
                        chunk += 1;
                    }
                }
                // Sometimes the end is known with the last chunk, sometimes only when it is asked for.
                if chunk == chunks.len() && !growing.is_complete() && (piece > 0 || growing.n_chunks() == chunk) {
                    growing.seal();
                }
            }
            prop_assert_eq!(found(&plan), found(&expected));
            prop_assert_eq!(plan.after, expected.after);
            if plan.data_end {
                break;
            }
        }
    }
}
