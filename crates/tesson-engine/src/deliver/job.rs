//! The main loop of worker threads, and the order in which they choose jobs.
//!
//! For the next editor: every `pick_…` runs under the lock and only takes something out of the state; the work follows
//! without the lock, and its function locks again and returns the guard. The order of the picks in [`Shared::pick`] is
//! the whole scheduling policy. Making comes before planning and loading, because a finished minibatch frees blocks and
//! a caller may wait for it; loading comes before cutting, because queued blocks are known to be needed. A pick that
//! finds no memory returns `None` and leaves its job where it is, so that the next pick gets its turn. For each way in
//! which all picks can fail there must be somebody who notifies `work` later, or the pipeline stops: a worker that
//! looks again after its job, a caller that takes a minibatch, or a restart.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use tesson_core::{ByteRun, Chunk, Scratch};

use super::corpus_index::IndexedBlocks;
use super::growth::{Cut, Growth};
use super::plan::PLANNED_AT_ONCE;
use super::planning::PlanningContext;
use super::state::{State, Task};
use super::ticket::{Ticket, Wait};
use super::{PipelineConfig, Shared};
use crate::arrays::Arrays;
use crate::block::{BlockId, BlockSpan};
use crate::memory_budget::decode_room;
use crate::transform::ChainMemory;

/// A minibatch that misses this many blocks, or blocks of so many storage bytes, does not wait for them while the
/// allowance for rows lasts.
const MANY_BLOCKS: usize = 8;
const MANY_BYTES: u64 = 4 << 20;

/// A job that a worker has taken.
pub(super) enum Job {
    /// Plan at most `most` minibatches.
    Plan {
        planning: Box<PlanningContext>,
        most: usize,
    },
    Load(Load),
    /// The next byte run.
    Cut(Cut),
    /// Minibatches, with the blocks that are there.
    Make(Vec<Task>),
}

/// A block to be loaded, and the bytes that are reserved for it.
pub(super) struct Load {
    pub(super) block: BlockId,
    pub(super) source: BlockSource,
    pub(super) reserved: usize,
}

/// The data that a block is loaded from.
pub(super) enum BlockSource {
    Rows(BlockSpan),
    ByteRun(ByteRun),
}

/// Memory of one worker, kept from job to job.
pub(super) struct WorkerScratch {
    pub(super) scratch: Scratch,
    pub(super) bytes: Vec<u8>,
    /// Buffers into which files are read before they are kept in pages, one for each stream of files.
    pub(super) files: Vec<Vec<u8>>,
    pub(super) chunk: Chunk,
    pub(super) chains: ChainMemory,
    /// Arrays for the next minibatches to be packed into.
    pub(super) arrays: Vec<Arrays>,
}

impl WorkerScratch {
    pub(super) fn new(setup: &PipelineConfig) -> WorkerScratch {
        let scratch = Scratch { room: decode_room(setup.memory.limit), ..Scratch::default() };
        WorkerScratch {
            scratch,
            bytes: Vec::new(),
            files: Vec::new(),
            chunk: Chunk::empty(),
            chains: ChainMemory::new(Arc::clone(&setup.memory.sample_room)),
            arrays: Vec::new(),
        }
    }
}

impl Shared {
    /// Runs a worker's jobs until its era ends.
    pub(super) fn work(&self, era: u64) {
        let _alarm = Alarm(self);
        let mut worker = WorkerScratch::new(&self.setup);
        let mut state = self.lock();
        let goes_on = |state: &State| {
            self.era.load(Ordering::SeqCst) == era && !self.setup.canceller.is_cancelled() && !state.broken
        };
        while goes_on(&state) {
            let Some(job) = self.pick(&mut state) else {
                // It has a core to spare, whatever else the caller would wait for.
                if state.is_served(1) || state.is_stuck() {
                    self.done.notify_all();
                }
                state.resting += 1;
                state = self.work.wait(state).unwrap_or_else(PoisonError::into_inner);
                state.resting -= 1;
                continue;
            };
            let generation = state.planning.generation();
            // Workers wake each other one at a time: if all were woken for each job they would contend for the lock,
            // and most would find nothing.
            let more = state.resting > 0 && self.has_more(&state);
            drop(state);
            if more {
                self.work.notify_one();
            }
            state = match job {
                Job::Plan { planning, most } => self.plan(planning, most, generation),
                Job::Load(load) => self.load(load, &mut worker),
                Job::Cut(cut) => self.cut(cut, &mut worker),
                Job::Make(tasks) => self.make(tasks, generation, &mut worker),
            };
        }
    }

    /// True if another worker would probably find something to do.
    fn has_more(&self, state: &State) -> bool {
        let plans = state.planning.is_free() && state.planning.is_wanted();
        state.tickets.ready().is_some()
            || state.residency.has_queued()
            || (plans && state.tickets.len() < self.depth(state))
            || state.is_growth_behind()
    }

    /// Chooses what to do next: what brings the minibatch in front nearer, first.
    fn pick(&self, state: &mut State) -> Option<Job> {
        self.pick_ready(state)
            .or_else(|| self.pick_scattered(state))
            .or_else(|| self.pick_plan(state))
            .or_else(|| self.pick_load(state))
            .or_else(|| self.pick_cut(state))
            .or_else(|| self.pick_without_blocks(state))
    }

    /// Takes on what is ready: one minibatch, or several small ones, whose caller is then woken once for all of them.
    fn pick_ready(&self, state: &mut State) -> Option<Job> {
        let most = state.batches.made_at_once();
        let mut tasks = Vec::new();
        while tasks.len() < most
            && let Some(id) = state.tickets.ready()
            && state.fits(id, &self.setup)
        {
            state.tickets.take_ready();
            tasks.extend(state.start(id, &self.setup));
        }
        (!tasks.is_empty()).then_some(Job::Make(tasks))
    }

    /// Makes the minibatch in front of sequences fetched one by one, if it misses many blocks and the allowance lasts.
    fn pick_scattered(&self, state: &mut State) -> Option<Job> {
        let Wait { sequences, missing_blocks: missing } = state.tickets.front().and_then(Ticket::wait)?;
        let by_row = self.corpus_index.blocks().is_some_and(IndexedBlocks::reads_rows);
        let many = missing >= MANY_BLOCKS || missing as u64 * self.size.of_block() >= MANY_BYTES;
        let front = state.tickets.front_id();
        if !by_row || !many || state.rows.is_spent() || !state.fits(front, &self.setup) {
            return None;
        }
        state.rows.spend(sequences);
        state.start(front, &self.setup).map(|task| Job::Make(vec![task]))
    }

    fn pick_plan(&self, state: &mut State) -> Option<Job> {
        let depth = self.depth(state);
        if !state.planning.is_wanted() || state.tickets.len() >= depth || !state.has_news() {
            return None;
        }
        let most = (depth - state.tickets.len()).min(PLANNED_AT_ONCE);
        let planning = state.planning.take_to_plan(state.growth.as_mut())?;
        Some(Job::Plan { planning, most })
    }

    /// Loads the next block of the queue. It stays in the queue where memory has no room for it, and leaves it where the
    /// minibatches that needed it have been made without it.
    fn pick_load(&self, state: &mut State) -> Option<Job> {
        let block = state.residency.next_queued(state.tickets.front_id())?;
        let (source, reserved) = self.source(state, block);
        // Growing corpora are read in order and have no other way to a sequence than its block: without this
        // exception to the limit a block that never fits would stop the pipeline. One load at a time keeps the excess
        // to a single block.
        let forced = matches!(source, BlockSource::ByteRun(_)) && !state.residency.is_loading();
        let beside = self.beside();
        // The load uses pages of the blocks that are evicted for it, if it has files that lie in pages.
        let takes_pages = reserved as u64 <= self.kept_by_worker();
        if takes_pages {
            self.block_pool.set_page_limit(usize::MAX);
        }
        let has_room = state.make_room(reserved, beside, &self.setup);
        if takes_pages || !has_room {
            self.block_pool.set_page_limit(state.page_limit(beside, &self.setup));
        }
        if !has_room && !forced {
            return None;
        }
        state.residency.start_load(block, reserved);
        if !takes_pages {
            self.block_pool.set_page_limit(state.page_limit(beside, &self.setup));
        }
        Some(Job::Load(Load { block, source, reserved }))
    }

    fn pick_cut(&self, state: &mut State) -> Option<Job> {
        let may_cut = |growth: &Growth| growth.may_cut(self.setup.threads);
        if !state.growth.as_ref().is_some_and(may_cut) {
            return None;
        }
        let reserve = state.reserved(self.beside(), &self.setup);
        let growth = state.growth.as_mut()?;
        // Pieces are larger than they are meant to be where sequences are.
        let run = 4 * (self.setup.run_bytes() as usize).max(growth.last_run_bytes() / 2);
        let has_room = state.residency.has_room(reserve + run);
        // A planned minibatch leaves, with the memory it holds, before a caller waits for the next one. If there is
        // none, only another byte run can finish the one that the planner stands in, whatever the limit says.
        let forced = growth.is_wanted() && !state.residency.is_loading() && state.tickets.is_empty();
        if !has_room && !forced {
            return None;
        }
        // All that is in memory belongs to the one minibatch that the planner cannot finish yet.
        let stuck = forced && !growth.has_news() && state.planning.is_free();
        // Its arrays will take as much again.
        if stuck && state.residency.used() > self.setup.largest_batch() / 2 {
            growth.outgrow();
            self.done.notify_all();
            return None;
        }
        let cut = growth.start_cut()?;
        state.residency.start_cut();
        Some(Job::Cut(cut))
    }

    /// Makes the first minibatch that waits for blocks, of which no other can be loaded: it fetches its sequences instead.
    /// Where that reads as much as large blocks do, only the one in front does, once nothing is on its way and memory that waits
    /// to be used again has been freed for a block.
    fn pick_without_blocks(&self, state: &mut State) -> Option<Job> {
        let blocks = self.corpus_index.blocks()?;
        // Blocks are left in the queue only where there is no room for the next one.
        if !state.residency.has_queued() {
            return None;
        }
        let first = state.tickets.first_waiting()?;
        if blocks.table.has_large_whole() {
            if first > state.tickets.front_id() || state.residency.is_loading() {
                return None;
            }
            // The buffers of these arrays go to the pools.
            self.arrays_pool.clear();
            self.pools.clear();
            if let Some(load) = self.pick_load(state) {
                return Some(load);
            }
        }
        if !state.fits(first, &self.setup) {
            return None;
        }
        state.start(first, &self.setup).map(|task| Job::Make(vec![task]))
    }
}

/// Marks the pipeline broken when a worker panics: callers get an error instead of waiting for ever.
struct Alarm<'a>(&'a Shared);

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.lock().broken = true;
            self.0.done.notify_all();
            self.0.work.notify_all();
        }
    }
}
