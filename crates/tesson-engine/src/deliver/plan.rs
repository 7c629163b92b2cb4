//! Planning ahead: from the planner's batches to tickets that know their blocks.
//!
//! For the next editor: one thread plans at a time, because a plan depends on the one before; it has the planner to
//! itself and no lock. Meanwhile a caller may have moved elsewhere. Then the generation differs, and the plans are
//! dropped; the planner goes back in any case, as the caller waits for it (`planner_free`). Errors of the planner
//! become tickets like minibatches do: they are reported when their turn comes and not when they are found.

use std::sync::MutexGuard;

use tesson_core::{Error, Fetch, SequenceId, Storage};
use tesson_plan::Progress;

use super::Shared;
use super::planning::PlanningContext;
use super::state::State;
use super::ticket::Work;
use crate::block::BlockId;

/// Minibatches planned in one go, at most.
pub(super) const PLANNED_AT_ONCE: usize = 32;

/// A minibatch of at least this part of what is decoded at once is a block of its own.
const BLOCK_PARTS: u64 = 2;

/// True if a sequence is the next one in storage, or the first of the next chunk.
fn follows(a: SequenceId, b: SequenceId) -> bool {
    (b.chunk, b.sequence) == (a.chunk, a.sequence + 1) || (b.chunk.0, b.sequence) == (a.chunk.0 + 1, 0)
}

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

    /// True if a minibatch is best read as a block of its own: its columns are then the minibatch's arrays, and none is copied
    /// (decision 83). That is so where sequences pass by in their stored order, and the minibatch is neither so small that a
    /// block holds several, nor so large that threads would wait for each other.
    fn is_block(&self, work: &Work) -> bool {
        let Some(blocks) = self.corpus_index.blocks().filter(|_| self.setup.passes_by()) else {
            return false;
        };
        let storage = self.size.of_sequence().saturating_mul(work.items.len() as u64);
        let most = self.setup.memory.budget.prefetch / (2 * self.setup.threads as u64);
        (self.setup.run_bytes() / BLOCK_PARTS..=most.min(self.size.of_chunk())).contains(&storage)
            && work.bytes <= most
            && blocks.reads_rows()
            && self.setup.streams.iter().all(|stream| stream.storage == Storage::Values)
            && work.others.is_empty()
            && work.plan.own.is_sorted_by(|a, b| follows(*a, *b))
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
                    work.is_block = self.is_block(&work);
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
