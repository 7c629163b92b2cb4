//! Planning ahead: from the planner's batches to tickets that know their blocks.
//!
//! For the next editor: one thread plans at a time, because a plan depends on the one before; it has the planner to
//! itself and no lock. Meanwhile a caller may have moved elsewhere. Then the generation differs, and the plans are
//! dropped; the planner goes back in any case, as the caller waits for it (`planner_free`). Errors of the planner
//! become tickets like minibatches do: they are reported when their turn comes and not when they are found.

use std::sync::MutexGuard;

use tesson_core::{Error, Fetch};
use tesson_plan::Progress;

use super::Shared;
use super::planning::PlanningContext;
use super::state::State;
use crate::block::BlockId;

/// Minibatches planned in one go, at most.
pub(super) const PLANNED_AT_ONCE: usize = 32;

impl Shared {
    /// Tells the store of blocks whose sequences will be read one by one from now on.
    fn announce(&self, fresh: &[BlockId]) {
        let Some(blocks) = self.corpus_index.blocks() else { return };
        for &block in fresh {
            let span = blocks.table.span(block);
            let (resource, first) = blocks.corpus.span(span.sequence(0));
            let (_, last) = blocks.corpus.span(span.sequence(span.sequences.len() as u32 - 1));
            self.setup.resources.will_need(resource, first.start..last.end);
        }
    }

    /// Plans up to `most` minibatches, unless what is planned has been discarded when it is done.
    pub(super) fn plan(
        &self,
        mut planning: Box<PlanningContext>,
        most: usize,
        generation: u64,
    ) -> MutexGuard<'_, State> {
        let mut planned = Vec::with_capacity(most);
        let mut over = false;
        let mut wanted = false;
        while planned.len() < most && !over && !wanted {
            let demand = planning.demand();
            let mut work = planning.work();
            let (planner, index) = planning.parts();
            match planner.next_batch(index, demand, &mut work.plan) {
                Ok(Progress::Planned) => {
                    over = work.plan.data_end;
                    planning.prepare(&mut work, &self.setup);
                    planning.measure(&mut work, &self.setup);
                    planned.push(Ok(work));
                }
                Ok(Progress::NeedIndex) => {
                    wanted = true;
                    planning.recycle(work);
                }
                Err(e) => {
                    over = true;
                    planned.push(Err(Error::from(e)));
                }
            }
        }
        // Outside of the lock: a store may ask the system for each of these ranges.
        let fresh = planning.take_fresh();
        if self.setup.reading.by_row {
            self.announce(&fresh);
        }
        let mut state = self.lock();
        if state.planning.generation() == generation {
            for work in planned {
                state.admit(work, &self.setup);
            }
            state.planning.set_over(over);
            if let Some(growth) = &mut state.growth {
                growth.set_wanted(wanted);
                if let Some(e) = growth.stopped().filter(|_| wanted) {
                    state.planning.set_over(true);
                    state.admit(Err(e), &self.setup);
                }
            }
        }
        state.planning.give_back(planning);
        self.planner_free.notify_all();
        if state.planning.is_over() && state.awaited > 0 {
            self.done.notify_all();
        }
        state
    }
}
