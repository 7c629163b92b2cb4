//! What worker threads do, and what they do first.

use std::cmp::Reverse;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use tesson_core::{ByteRun, Chunk, ChunkAccess, Scratch};

use super::growth::Growth;
use super::plan::PLANNED_AT_ONCE;
use super::ticket::{Ticket, Work};
use super::{
    BATCHES_SHARE, CorpusIndex, PipelineConfig, PlanningContext, Presence, Shared, State, decode_room,
};
use crate::arrays::Arrays;
use crate::transform::ChainMemory;

/// A minibatch that misses this many blocks, or blocks of so many storage bytes, does not wait for them while the
/// allowance for rows lasts.
const MANY_BLOCKS: usize = 8;
const MANY_BYTES: u64 = 4 << 20;

/// Small minibatches are made together: up to so many, of so many bytes in all.
const MADE_AT_ONCE: usize = 32;
const MADE_AT_ONCE_BYTES: usize = 256 << 10;

/// What a worker has taken on.
pub(super) enum Job {
    Plan(Box<PlanningContext>, usize),
    /// A block, and what it is made of; the bytes reserved for it.
    Load(u32, BlockSource, usize),
    /// The byte run after this one.
    Cut(Option<ByteRun>),
    /// Minibatches, with the blocks that are there.
    Make(Vec<Task>),
}

/// A minibatch to be made.
pub(super) struct Task {
    pub(super) number: u64,
    pub(super) work: Box<Work>,
}

/// What a block is loaded from.
pub(super) enum BlockSource {
    Rows(u32, std::ops::Range<u32>),
    ByteRun(ByteRun),
}

/// Memory of one worker, kept from job to job.
pub(super) struct WorkerScratch {
    pub(super) scratch: Scratch,
    pub(super) bytes: Vec<u8>,
    /// What files are read into that stay in pages, one for each stream of them.
    pub(super) files: Vec<Vec<u8>>,
    pub(super) chunk: Chunk,
    pub(super) chains: ChainMemory,
    /// What the next minibatches are packed into.
    pub(super) arrays: Vec<Arrays>,
}

impl WorkerScratch {
    pub(super) fn new(setup: &PipelineConfig) -> WorkerScratch {
        let scratch = Scratch { room: decode_room(setup.memory_limit), ..Scratch::default() };
        WorkerScratch {
            scratch,
            bytes: Vec::new(),
            files: Vec::new(),
            chunk: Chunk::empty(),
            chains: ChainMemory::new(Arc::clone(&setup.sample_room)),
            arrays: Vec::new(),
        }
    }
}

impl Shared {
    /// What a worker does until the pipeline ends.
    pub(super) fn work(&self) {
        let _alarm = Alarm(self);
        let mut worker = WorkerScratch::new(&self.setup);
        let mut state = self.lock();
        while !self.stop.load(Ordering::SeqCst) && !self.setup.canceller.is_cancelled() && !state.broken {
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
            let generation = state.generation;
            let more = state.resting > 0 && self.has_more(&state);
            drop(state);
            if more {
                self.work.notify_one();
            }
            state = match job {
                Job::Plan(planning, room) => self.plan(planning, room, generation),
                Job::Load(block, source, reserved) => self.load(block, &source, reserved, &mut worker),
                Job::Cut(after) => self.cut(after, &mut worker),
                Job::Make(tasks) => self.make(tasks, generation, &mut worker),
            };
        }
    }

    /// Whether another worker would probably find something to do.
    fn has_more(&self, state: &State) -> bool {
        let planning = state.planning.is_some() && state.running && !state.plan_over;
        !state.ready.is_empty()
            || !state.queue.is_empty()
            || (planning && state.tickets.len() < self.depth(state))
            || state.growth.as_ref().is_some_and(|g| g.wanted && !g.is_sealed())
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
        let most = (MADE_AT_ONCE_BYTES.checked_div(state.batch_bytes).unwrap_or(1)).clamp(1, MADE_AT_ONCE);
        let mut tasks = Vec::new();
        while tasks.len() < most {
            let Some(&Reverse(number)) = state.ready.peek() else { break };
            if !state.fits(number, &self.setup) {
                break;
            }
            state.ready.pop();
            tasks.extend(state.start(number, &self.setup));
        }
        (!tasks.is_empty()).then_some(Job::Make(tasks))
    }

    /// Makes the minibatch in front of sequences fetched one by one, if it misses many blocks and the allowance lasts.
    fn pick_scattered(&self, state: &mut State) -> Option<Job> {
        let (items, missing) = state.tickets.front().and_then(Ticket::wait)?;
        let by_row = matches!(&self.corpus_index, CorpusIndex::Indexed { corpus, table, .. }
            if corpus.facts().access != ChunkAccess::WholeOnly && !table.has_large_whole());
        let many = missing >= MANY_BLOCKS || missing as u64 * self.block_bytes >= MANY_BYTES;
        let front = state.front;
        if !by_row || !many || state.row_allowance <= 0 || !state.fits(front, &self.setup) {
            return None;
        }
        state.row_allowance -= items as i64 * self.row_cost as i64;
        state.start(front, &self.setup).map(|task| Job::Make(vec![task]))
    }

    fn pick_plan(&self, state: &mut State) -> Option<Job> {
        let depth = self.depth(state);
        let news = match &mut state.growth {
            Some(growth) if growth.wanted => growth.has_news(),
            _ => true,
        };
        if !state.running || state.plan_over || state.tickets.len() >= depth || !news {
            return None;
        }
        let room = (depth - state.tickets.len()).min(PLANNED_AT_ONCE);
        let mut planning = state.planning.take()?;
        state.sync_index(&mut planning);
        planning.planner.released(state.delivered);
        Some(Job::Plan(planning, room))
    }

    /// Loads the next block of the queue. It stays in the queue where memory has no room for it, and leaves it where the
    /// minibatches that needed it have been made without it.
    fn pick_load(&self, state: &mut State) -> Option<Job> {
        while let Some(&block) = state.queue.front() {
            if !matches!(state.blocks[block as usize].presence, Presence::Queued) {
                state.queue.pop_front();
                continue;
            }
            if !state.is_needed(block) {
                state.blocks[block as usize].presence = Presence::Absent;
                state.queue.pop_front();
                continue;
            }
            let (source, reserved) = self.source(state, block);
            // Growing corpora are read in order and have no other way to a sequence than its block.
            let forced = matches!(source, BlockSource::ByteRun(_)) && state.loading == 0;
            let idle = self.idle_bytes();
            // The load uses pages of the blocks that are evicted for it, if it has files that lie in pages.
            let takes_pages = reserved as u64 <= self.kept_by_worker();
            if takes_pages {
                self.block_pool.set_page_limit(usize::MAX);
            }
            let has_room = state.make_room(reserved, idle, &self.setup);
            if takes_pages || !has_room {
                self.block_pool.set_page_limit(state.page_limit(idle, &self.setup));
            }
            if !has_room && !forced {
                return None;
            }
            state.queue.pop_front();
            state.used += reserved;
            if !takes_pages {
                self.block_pool.set_page_limit(state.page_limit(idle, &self.setup));
            }
            state.loading += 1;
            state.blocks[block as usize].presence = Presence::Loading;
            return Some(Job::Load(block, source, reserved));
        }
        None
    }

    fn pick_cut(&self, state: &mut State) -> Option<Job> {
        let may_cut = |growth: &Growth| growth.may_cut(self.setup.threads);
        if state.outgrown || !state.growth.as_ref().is_some_and(may_cut) {
            return None;
        }
        let reserve = state.reserved(self.idle_bytes(), &self.setup);
        let growth = state.growth.as_mut()?;
        // Pieces are larger than they are meant to be where sequences are.
        let run = 4 * (self.setup.run_bytes as usize).max(growth.last_run_bytes() / 2);
        let room = state.used + reserve + run <= self.setup.block_budget;
        // A minibatch that is planned leaves with the memory it holds before a caller waits for the next one.
        let forced = growth.wanted && state.loading == 0 && state.tickets.is_empty();
        if !room && !forced {
            return None;
        }
        // All that is in memory belongs to the one minibatch that the planner cannot finish yet.
        let stuck = forced && !growth.has_news() && state.planning.is_some();
        // Its arrays will take as much again.
        if stuck && state.used > self.setup.largest_batch() / 2 {
            state.outgrown = true;
            self.done.notify_all();
            return None;
        }
        let after = growth.start_cut()?;
        state.loading += 1;
        Some(Job::Cut(after))
    }

    /// Makes the first minibatch that waits for blocks, of which no other can be loaded: it fetches its sequences instead.
    /// Where that reads as much as large blocks do, only the one in front does, once nothing is on its way.
    fn pick_without_blocks(&self, state: &mut State) -> Option<Job> {
        // Blocks are left in the queue only where there is no room for the next one.
        let CorpusIndex::Indexed { table, .. } = &self.corpus_index else { return None };
        if state.queue.is_empty() {
            return None;
        }
        let first = state.tickets.iter().position(Ticket::is_waiting)?;
        if table.has_large_whole() && (first > 0 || state.loading > 0) {
            return None;
        }
        let number = state.front + first as u64;
        if !state.fits(number, &self.setup) {
            return None;
        }
        state.start(number, &self.setup).map(|task| Job::Make(vec![task]))
    }
}

impl State {
    /// Whether there is memory for making a minibatch. There is for the one in front if its caller waits for it: then it
    /// has most likely let the last one go.
    fn fits(&mut self, number: u64, setup: &PipelineConfig) -> bool {
        // What is drawn for one that its caller never takes would be lost, so none is made ahead.
        if setup.transforms.draw_in_order() && (number > self.front || self.awaited == 0) {
            self.held_back = true;
            return false;
        }
        // All that is planned fits, as none costs more than twice its bytes: the rule for small minibatches.
        if self.outside == 0
            && self.taken + self.made + self.planned.saturating_mul(2) <= setup.batches_budget()
        {
            return true;
        }
        let cost = self.ticket(number).map_or(0, |ticket| ticket.cost(setup));
        let in_front = self.tickets.front().filter(|t| t.is_waiting()).map_or(0, |t| t.cost(setup));
        let left = setup.largest_batch().saturating_sub(self.outside);
        let room = setup.batches_budget().min(left / (BATCHES_SHARE - 1));
        let fits = match number <= self.front {
            // Memory of a large one that was taken is of no use for a small one, and its caller may still hold it.
            true => self.awaited > 0 || cost.max(self.taken) <= room,
            false => self.taken + self.made + in_front + cost <= room,
        };
        self.held_back |= !fits;
        fits
    }

    /// Takes a ticket's work on, with the blocks that are there. It does not wait for the others any more.
    fn start(&mut self, number: u64, setup: &PipelineConfig) -> Option<Task> {
        let ticket = self.ticket(number)?;
        let cost = ticket.cost(setup);
        let work = ticket.start()?;
        ticket.charged = cost;
        self.made += cost;
        for (&block, _) in work.blocks.iter().zip(&work.held).filter(|(_, held)| held.is_none()) {
            self.blocks[block as usize].waiters.retain(|&(waiter, _)| waiter != number);
        }
        Some(Task { number, work })
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
