//! Delivery: minibatches are planned ahead, made by any thread in any order, and handed out in plan order.
//!
//! All threads share one [`State`] under a lock; what takes time (planning, loading, packing) is done outside of it on
//! things taken out of it. A *ticket* is a planned minibatch; it is ready to be packed when all blocks it needs are in
//! memory. Nothing here decides what a minibatch holds: that is the plan's, so no schedule of threads can change it.

mod growth;
mod job;
mod make;
mod plan;
mod residency;
mod single;
mod stored;
mod ticket;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tesson_core::{
    Corpus, DecodeRoom, Deserializer, Error, Index, SEQUENCES_IN_MEMORY, StreamInfo, UsageError,
};
use tesson_memory::packed::StreamToPack;
use tesson_memory::process_memory::ProcessMemory;
use tesson_plan::{Cursor, Demand, PlanSpec, Planner};

use crate::arrays::ArraysPool;
use crate::block::{BlockTable, ChunkPool, Resident};
use crate::executor::{Canceller, Interrupt, POLL, Workers, no_thread};
use crate::fetch::Resources;
use crate::pack::{Pools, packed_streams};
use crate::refusal::EngineRefusal;
use crate::sample_room::SampleRoom;
use crate::stats::Counters;
use crate::transform::Transforms;
use growth::Growth;
pub(crate) use ticket::Packed;
use ticket::{Outcome, Ticket, Work};

/// A caller that takes minibatches faster than several workers make them is woken for many at a time, because it takes a
/// worker's core whenever it is; but not where it waited longer than this.
const QUICK: Duration = Duration::from_millis(4);

/// Sequences are fetched by themselves, ahead of their blocks, until this much has been spent on it, or this part of what
/// the corpus is stored in: the first minibatches of a random order need not wait for all blocks they touch.
const ROW_ALLOWANCE: u64 = 32 << 20;
const ROW_SHARE: u64 = 64;

/// What fetching a sequence by itself is taken to cost at least, in bytes of reading.
const ROW_COST: u64 = 2048;

/// Most minibatches planned ahead.
const MOST_TICKETS: usize = 256;

/// Minibatches that are being made, or wait for their caller, take this part of the memory limit at most. One that takes
/// more is made alone, when its caller waits for it.
const BATCHES_SHARE: usize = 4;

/// Memory for chunks that lies ready: this part of it at most for small blocks that stay.
const SMALL_SHARE: usize = 16;

/// And this part for pages of files that stay, unless they may take more: the room of blocks that are not in memory.
const PAGES_SHARE: usize = 2;

/// What is asked of the lengths that sequences turn out to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LengthRule {
    Any,
    /// Every stream has one sample of each sequence (spec/engine.md §9.2).
    Frames,
    /// All streams have as many samples of a sequence (spec/engine.md §9.3).
    Equal,
}

/// Bytes of memory that lies ready for chunks and blocks, at most.
struct PoolLimits {
    /// Of chunks that are used once.
    used_once: usize,
    /// Of small blocks that stay.
    small: usize,
    /// Of pages of files that stay.
    pages: usize,
}

impl PipelineConfig {
    /// Bytes that minibatches may take that are made before their caller waits for them.
    fn batches_budget(&self) -> usize {
        self.memory_limit / BATCHES_SHARE
    }

    /// Whether blocks are read in order and evicted at once: packing them would cost more than it saves.
    fn passes_by(&self) -> bool {
        let order = &self.spec.order;
        !order.is_shuffled() && !order.is_local() && !self.retain
    }

    /// Bytes of the pools, where the caller needs so many beside what it takes.
    fn pool_limits(&self, outside: usize) -> PoolLimits {
        let bytes = self.chunk_pool_bytes.min(self.memory_limit.saturating_sub(outside) / 4);
        let has_pages = self.transforms.has_encoded() && !self.passes_by();
        let (small, pages) = (bytes / SMALL_SHARE, if has_pages { bytes / PAGES_SHARE } else { 0 });
        PoolLimits { used_once: bytes - small - pages, small, pages }
    }

    fn largest_batch(&self) -> usize {
        largest_batch(self.memory_limit as u64) as usize
    }

    /// Bytes of a minibatch's sequences that are fetched at once, about.
    fn part_bytes(&self) -> usize {
        (self.memory_limit / PARTS).max(SEQUENCE_AT_LEAST)
    }

    fn has_sparse(&self) -> bool {
        self.streams.iter().any(|stream| stream.sparse)
    }
}

/// Bytes of the largest minibatch under a memory limit: beside it there is memory for making it. Small limits leave that
/// aside, as they would refuse minibatches of one sequence otherwise.
pub(crate) fn largest_batch(memory_limit: u64) -> u64 {
    let share = memory_limit - memory_limit / BATCHES_SHARE as u64;
    share.max(memory_limit.min(SMALL_LIMIT as u64))
}

/// The least limit under which a minibatch of so many bytes is [not too large](largest_batch).
pub(crate) fn limit_for(bytes: u64) -> u64 {
    const SHARE: u64 = BATCHES_SHARE as u64;
    let share = (u128::from(bytes) * u128::from(SHARE)).div_ceil(u128::from(SHARE) - 1);
    if bytes <= SMALL_LIMIT as u64 { bytes } else { u64::try_from(share).unwrap_or(u64::MAX) }
}

/// What may be decoded of one sequence under a memory limit.
pub(crate) fn decode_room(memory_limit: usize) -> DecodeRoom {
    let share = memory_limit / SEQUENCES_IN_MEMORY as usize;
    DecodeRoom { sequence: share.max(SEQUENCE_AT_LEAST), ..DecodeRoom::default() }
}

/// What may be decoded of a byte run: as much as is made of the largest numbers of which none is missing.
pub(crate) fn run_room(bytes: u64) -> usize {
    4 * bytes as usize
}

/// Bytes of dense values that one sequence may have under any limit: twice the text that it may have, as `0 ` makes four
/// bytes of two.
const SEQUENCE_AT_LEAST: usize = 512 << 10;

/// Up to this limit a minibatch may take all of it.
const SMALL_LIMIT: usize = 4 * SEQUENCE_AT_LEAST;

/// Sequences that are fetched for a minibatch take this part of the memory limit at a time.
const PARTS: usize = 32;

/// What a pipeline needs to know and never changes.
pub(crate) struct PipelineConfig {
    pub(crate) deserializer: Arc<dyn Deserializer>,
    pub(crate) spec: PlanSpec,
    pub(crate) streams: Vec<Arc<StreamInfo>>,
    pub(crate) transforms: Arc<Transforms>,
    pub(crate) resources: Arc<Resources>,
    pub(crate) counters: Arc<Counters>,
    pub(crate) process_memory: Arc<ProcessMemory>,
    pub(crate) canceller: Canceller,
    pub(crate) threads: usize,
    /// Bytes that everything together may take.
    pub(crate) memory_limit: usize,
    /// What is set aside for encoded samples while they are decoded.
    pub(crate) sample_room: Arc<SampleRoom>,
    /// Bytes of decoded blocks that may be in memory.
    pub(crate) block_budget: usize,
    /// Bytes of packed minibatches that may wait for their caller.
    pub(crate) prefetch_bytes: usize,
    /// Whether minibatches are made before they are asked for.
    pub(crate) prefetch: bool,
    /// Whether blocks stay in memory after their sweep is done with them.
    pub(crate) retain: bool,
    /// Whether sequences are always fetched by themselves: blocks are never loaded.
    pub(crate) by_row: bool,
    pub(crate) length_rule: LengthRule,
    /// Whether faults of sequences that other workers deliver are looked at too.
    pub(crate) charge_foreign: bool,
    /// Bytes of dense values that a sample has in all streams together while it is fetched.
    pub(crate) sample_bytes: u64,
    /// Bytes of dense values that a sample has in all streams together while its minibatch is made: what transforms make is
    /// there beside what they are given.
    pub(crate) made_sample_bytes: u64,
    /// Storage bytes that are decoded at once.
    pub(crate) run_bytes: u64,
    /// Bytes of decoded blocks' memory that may wait to be decoded into again.
    pub(crate) chunk_pool_bytes: usize,
}

/// What the corpus is read from.
#[derive(Clone)]
pub(crate) enum CorpusIndex {
    /// An index is complete.
    Indexed { index: Arc<Index>, corpus: Arc<dyn Corpus>, table: Arc<BlockTable> },
    /// The index grows with what is decoded, in order.
    Growing,
}

/// The planner and what it plans on: taken out of the state while a thread plans.
pub(crate) struct PlanningContext {
    pub(crate) planner: Planner,
    pub(crate) corpus_index: CorpusIndex,
    /// The index while it grows.
    grown: Index,
    demand: Demand,
    /// For each block: the last plan that needs it, by serial number, and the block's number in that plan.
    stamps: Vec<(u64, u32)>,
    serial: u64,
    /// Blocks that no plan of their sweep needed before the last ones.
    fresh: Vec<u32>,
    /// Memory of minibatches that have been made.
    #[expect(clippy::vec_box, reason = "tickets hand them on in their boxes")]
    works: Vec<Box<Work>>,
}

impl PlanningContext {
    pub(crate) fn new(planner: Planner, corpus_index: CorpusIndex) -> PlanningContext {
        let demand = Demand { samples: 1, workers: 1, rank: 0 };
        PlanningContext {
            planner,
            corpus_index,
            grown: Index::new(),
            demand,
            stamps: Vec::new(),
            serial: 0,
            fresh: Vec::new(),
            works: Vec::new(),
        }
    }

    /// The planner beside the index it plans on.
    pub(crate) fn parts(&mut self) -> (&mut Planner, &Index) {
        match &self.corpus_index {
            CorpusIndex::Indexed { index, .. } => (&mut self.planner, index),
            CorpusIndex::Growing => (&mut self.planner, &self.grown),
        }
    }

    /// The block that holds a sequence, and where it lies in it.
    fn find(&self, chunk: u32, sequence: u32) -> (u32, u32) {
        match &self.corpus_index {
            CorpusIndex::Indexed { table, .. } => table.find(chunk, sequence),
            CorpusIndex::Growing => (chunk, sequence),
        }
    }
}

/// A block's way through memory.
enum Presence {
    Absent,
    Queued,
    Loading,
    Resident(Resident),
}

struct Block {
    presence: Presence,
    /// The last ticket that needs it, if any ticket does.
    last_ticket: Option<u64>,
    /// Bytes it holds or has reserved.
    bytes: usize,
    /// Its sweep is done with it, it stays only while there is room.
    idle: bool,
    /// Its sweep is done with it before it is even there.
    unwanted: bool,
    /// The tickets that need it and have been planned before it was there, and its number among each one's blocks.
    waiters: Waiters,
}

/// Tickets by number, each with the number of a block among its own.
type Waiters = Vec<(u64, u32)>;

impl Block {
    fn absent() -> Block {
        Block {
            presence: Presence::Absent,
            last_ticket: None,
            bytes: 0,
            idle: false,
            unwanted: false,
            waiters: Vec::new(),
        }
    }
}

/// What all threads share.
struct State {
    /// The planner, unless a thread is planning.
    planning: Option<Box<PlanningContext>>,
    /// Changes whenever what was planned is discarded.
    generation: u64,
    /// Whether there is something to plan: a demand is known.
    running: bool,
    /// The plan has come to its end, or to an error.
    plan_over: bool,
    tickets: VecDeque<Ticket>,
    /// Memory of minibatches that have been made, for the next plans.
    #[expect(clippy::vec_box, reason = "tickets hand them on in their boxes")]
    works: Vec<Box<Work>>,
    /// Number of the ticket in front.
    front: u64,
    /// Where the plan stands after the last minibatch handed out.
    delivered: Cursor,
    /// Tickets whose blocks are all there.
    ready: BinaryHeap<Reverse<u64>>,
    blocks: Vec<Block>,
    /// Memory of blocks' waiters, to be used again.
    idle_waiters: Vec<Waiters>,
    /// Blocks to be loaded, in the order in which they are needed.
    queue: VecDeque<u32>,
    /// Loads and cuts under way.
    loading: usize,
    /// Blocks that may be evicted.
    idle: VecDeque<u32>,
    /// Bytes of blocks in memory, and of those being loaded.
    used: usize,
    row_allowance: i64,
    growth: Option<Growth>,
    /// Average bytes of a packed minibatch, 0 before the first.
    batch_bytes: usize,
    /// Bytes that the minibatches of all tickets will have, as far as their plans tell.
    planned: usize,
    /// Bytes of the minibatches that are being made or wait for their caller.
    made: usize,
    /// Bytes of the minibatch that was taken last: its caller may keep it until there is another one.
    taken: usize,
    /// Bytes that the caller needs beside what it takes.
    outside: usize,
    /// A minibatch is not made yet because others fill the memory.
    held_back: bool,
    /// How many tickets in front a caller waits for; 0 if none does.
    awaited: usize,
    /// A corpus grows, and what has been read for one minibatch leaves no memory for finding out where it ends.
    outgrown: bool,
    /// A byte run of a corpus that grows makes more than there is memory for: only by an index can it be divided.
    too_wide: bool,
    /// Workers that wait for something to do.
    resting: usize,
    /// A worker has panicked.
    broken: bool,
}

struct Shared {
    setup: PipelineConfig,
    corpus_index: CorpusIndex,
    /// What may be spent at most on fetching sequences by themselves, ahead of their blocks.
    row_allowance: i64,
    /// Storage bytes of a sequence, on the average.
    row_storage: u64,
    /// What fetching a sequence by itself costs, in bytes of reading.
    row_cost: u64,
    /// Storage bytes of a block, on the average.
    block_bytes: u64,
    pools: Pools,
    arrays_pool: Arc<ArraysPool>,
    /// The streams that blocks in memory have packed.
    packed_streams: Vec<StreamToPack>,
    /// Memory for chunks that are used once.
    chunk_pool: Arc<ChunkPool>,
    /// Memory for blocks: the same where they are used once.
    block_pool: Arc<ChunkPool>,
    state: Mutex<State>,
    /// The pipeline is dropped; its source may have another one.
    stop: AtomicBool,
    /// There may be something to do.
    work: Condvar,
    /// The ticket in front is done, or there will be none.
    done: Condvar,
    /// The planning context is back in the state.
    planner_free: Condvar,
}

/// The result of waiting for the next minibatch.
#[expect(
    clippy::large_enum_variant,
    reason = "it is looked into at once, and boxing would allocate for each minibatch"
)]
pub(crate) enum Taken {
    Made(Packed),
    /// Nothing is left that was planned.
    End,
    /// What is read for the next minibatch fills the memory before its end is found: only an index tells what it holds.
    Outgrown,
}

/// The threads that make minibatches.
pub(crate) struct Pipeline {
    shared: Arc<Shared>,
    workers: Workers,
    /// How many minibatches must be done before a waiting caller is woken.
    wake_after: usize,
}

impl Pipeline {
    pub(crate) fn new(setup: PipelineConfig, planning: PlanningContext) -> Pipeline {
        let corpus_index = planning.corpus_index.clone();
        let blocks = match &corpus_index {
            CorpusIndex::Indexed { table, .. } => (0..table.len()).map(|_| Block::absent()).collect(),
            CorpusIndex::Growing => Vec::new(),
        };
        let growth = matches!(corpus_index, CorpusIndex::Growing).then(Growth::new);
        let (storage, n_sequences) = match &corpus_index {
            CorpusIndex::Indexed { index, .. } => (storage_bytes(index), index.n_sequences()),
            CorpusIndex::Growing => (0, 0),
        };
        let row_storage = storage / n_sequences.max(1);
        let block_bytes = storage / blocks.len().max(1) as u64;
        let row_allowance = (storage / ROW_SHARE + 1).min(ROW_ALLOWANCE) as i64;
        let state = State {
            planning: Some(Box::new(planning)),
            generation: 0,
            running: false,
            plan_over: false,
            tickets: VecDeque::new(),
            works: Vec::new(),
            front: 0,
            delivered: Cursor::default(),
            ready: BinaryHeap::new(),
            blocks,
            idle_waiters: Vec::new(),
            queue: VecDeque::new(),
            loading: 0,
            idle: VecDeque::new(),
            used: 0,
            row_allowance,
            growth,
            batch_bytes: 0,
            planned: 0,
            made: 0,
            taken: 0,
            outside: 0,
            held_back: false,
            awaited: 0,
            outgrown: false,
            too_wide: false,
            resting: 0,
            broken: false,
        };
        let memory_limit = setup.memory_limit;
        let is_indexed = matches!(corpus_index, CorpusIndex::Indexed { .. });
        let PoolLimits { used_once, small, pages } = setup.pool_limits(0);
        let chunk_pool = Arc::new(ChunkPool::new(used_once));
        let block_pool = match is_indexed && !setup.passes_by() {
            true => Arc::new(ChunkPool::of_small(small, pages)),
            false => chunk_pool.clone(),
        };
        let packed_streams = packed_streams(&setup.streams);
        let pools = Pools::new(setup.streams.len(), memory_limit);
        let shared = Arc::new(Shared {
            chunk_pool,
            block_pool,
            setup,
            corpus_index,
            row_allowance,
            row_storage,
            row_cost: row_storage.max(ROW_COST),
            block_bytes,
            pools,
            arrays_pool: Arc::new(ArraysPool::new(memory_limit)),
            packed_streams,
            state: Mutex::new(state),
            stop: AtomicBool::new(false),
            work: Condvar::new(),
            done: Condvar::new(),
            planner_free: Condvar::new(),
        });
        Pipeline { shared, workers: Workers::default(), wake_after: 1 }
    }

    /// Discards what was planned, lets `seek` move the planner, and prefetches from there for `demand` (or waits for one).
    pub(crate) fn restart<T>(
        &mut self,
        demand: Option<Demand>,
        seek: impl FnOnce(&mut Planner, &Index) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.wake_after = 1;
        let shared = &self.shared;
        let mut state = shared.lock();
        state.discard_prefetch();
        state.row_allowance = state.row_allowance.max(shared.row_allowance / 4);
        let mut planning = loop {
            shared.check(&state)?;
            match state.planning.take() {
                Some(planning) => break planning,
                None => {
                    let waited = shared.planner_free.wait_timeout(state, POLL);
                    state = waited.unwrap_or_else(PoisonError::into_inner).0;
                }
            }
        };
        drop(state);
        shared.lock().sync_index(&mut planning);
        let (planner, index) = planning.parts();
        let result = seek(planner, index);
        let stands = planner.cursor();
        if let Some(demand) = demand {
            planning.demand = demand;
        }
        let mut state = shared.lock();
        state.planning = Some(planning);
        state.delivered = stands;
        state.running = demand.is_some() && result.is_ok();
        drop(state);
        shared.work.notify_all();
        if demand.is_some() {
            self.start_workers()?;
        }
        result
    }

    /// Leaves so many bytes to the caller, for what it makes of what it takes: blocks, and memory that is kept for reuse, make
    /// way.
    pub(crate) fn reserve(&self, bytes: usize) {
        let Shared { setup, pools, chunk_pool, block_pool, .. } = &*self.shared;
        let left = setup.memory_limit.saturating_sub(bytes);
        pools.set_limit(left);
        let PoolLimits { used_once, small, .. } = setup.pool_limits(bytes);
        chunk_pool.set_limit(used_once);
        if !Arc::ptr_eq(chunk_pool, block_pool) {
            block_pool.set_limit(small);
        }
        let mut state = self.shared.lock();
        state.outside = bytes;
        let idle = self.shared.idle_bytes();
        state.shrink(idle, setup);
        block_pool.set_page_limit(state.page_limit(idle, setup));
    }

    /// The next minibatch in plan order. Waits until it is done or `interrupted` says to stop.
    pub(crate) fn take(&mut self, interrupted: &mut dyn FnMut() -> bool) -> Result<Taken, Error> {
        let shared = &self.shared;
        let mut since: Option<Instant> = None;
        let mut state = shared.lock();
        loop {
            if state.tickets.front().is_some_and(Ticket::is_done) {
                let taken = state.pop();
                let depth = shared.request_more(state);
                if let Some(since) = since {
                    self.wake_after = shared.count_stall(since.elapsed(), depth);
                }
                return taken;
            }
            shared.check(&state)?;
            if state.plan_over && state.tickets.is_empty() {
                return Ok(Taken::End);
            }
            if state.is_stuck() {
                return Ok(Taken::Outgrown);
            }
            since.get_or_insert_with(Instant::now);
            state = shared.wait_for_front(state, self.wake_after, interrupted)?;
        }
    }

    /// Starts the workers, or as many as the system allows.
    fn start_workers(&mut self) -> Result<(), UsageError> {
        while self.workers.len() < self.shared.setup.threads {
            let shared = self.shared.clone();
            match self.workers.start("tesson", move || shared.work()) {
                Ok(()) => {}
                Err(_) if !self.workers.is_empty() => break,
                Err(e) => return Err(no_thread(&e)),
            }
        }
        Ok(())
    }
}

impl Drop for Pipeline {
    /// Tells the workers to end, which dropping them waits for.
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        // Under the lock, so that no worker is between looking for work and waiting for it.
        drop(self.shared.lock());
        self.shared.work.notify_all();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn check(&self, state: &State) -> Result<(), Error> {
        if state.broken {
            return Err(EngineRefusal::WorkerPanicked.into());
        }
        self.setup.canceller.check()
    }

    /// After a minibatch has been taken: wakes a worker if there is room for more of them. Returns how many there may be.
    fn request_more(&self, mut state: MutexGuard<'_, State>) -> usize {
        let depth = self.depth(&state);
        let held_back = std::mem::take(&mut state.held_back);
        let wake = state.resting > 0 && (held_back || state.tickets.len() <= depth / 2);
        self.setup.counters.queued.store(state.tickets.len() as u64, Ordering::Relaxed);
        drop(state);
        if wake {
            self.work.notify_one();
        }
        depth
    }

    /// Counts a caller's wait; returns how many minibatches its next one should be for.
    fn count_stall(&self, stalled: Duration, depth: usize) -> usize {
        self.setup.counters.stalls.fetch_add(1, Ordering::Relaxed);
        self.setup.counters.stalled_us.fetch_add(stalled.as_micros() as u64, Ordering::Relaxed);
        if self.setup.threads > 1 && stalled < QUICK { (depth / 2).max(1) } else { 1 }
    }

    /// Waits a while for `n` tickets in front. Asks `interrupted` if they have not been done by then.
    fn wait_for_front<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        n: usize,
        interrupted: &mut dyn FnMut() -> bool,
    ) -> Result<MutexGuard<'a, State>, Error> {
        state.awaited = n;
        if state.resting > 0 {
            self.work.notify_one();
        }
        Interrupt::new(interrupted).wait(&self.done, &self.state, state, |state| state.awaited = 0)
    }

    /// Bytes of former minibatches that wait to be used again.
    fn idle_bytes(&self) -> usize {
        self.pools.idle_bytes() + self.arrays_pool.idle_bytes()
    }

    /// How many minibatches may be planned and packed in advance.
    fn depth(&self, state: &State) -> usize {
        if !self.setup.prefetch {
            return 1;
        }
        match state.batch_bytes {
            0 => 2 + 2 * self.setup.threads,
            bytes => (self.setup.prefetch_bytes / bytes).clamp(1 + self.setup.threads.min(8), MOST_TICKETS),
        }
    }
}

/// Storage bytes of a corpus.
fn storage_bytes(index: &Index) -> u64 {
    (0..index.n_chunks()).map(|c| index.chunk(c).bytes).sum()
}

impl State {
    /// Drops all tickets. Blocks stay.
    fn discard_prefetch(&mut self) {
        self.generation += 1;
        self.running = false;
        self.plan_over = false;
        self.outgrown = self.too_wide;
        self.front += self.tickets.len() as u64;
        self.tickets.clear();
        (self.planned, self.made) = (0, 0);
        self.ready.clear();
        for block in self.queue.drain(..) {
            // A block is in the queue twice if it was not needed for a while; it may have been loaded already.
            let presence = &mut self.blocks[block as usize].presence;
            if matches!(presence, Presence::Queued) {
                *presence = Presence::Absent;
            }
        }
        for block in &mut self.blocks {
            block.last_ticket = None;
            block.waiters.clear();
        }
        if let Some(growth) = &mut self.growth {
            growth.rewind();
        }
    }

    /// Takes the ticket in front, which is done. What it made goes to the caller in one move: it is some hundred bytes.
    fn pop(&mut self) -> Result<Taken, Error> {
        let Some(ticket) = self.tickets.pop_front() else { return Ok(Taken::End) };
        self.front += 1;
        self.planned -= ticket.bytes;
        self.made -= ticket.charged;
        self.taken = ticket.charged;
        match ticket.into_outcome() {
            Some(Outcome::Failed(e)) => Err(e),
            Some(Outcome::Made(mut work)) => match work.packed.take() {
                Some(packed) => {
                    self.delivered = packed.after;
                    self.works.push(work);
                    Ok(Taken::Made(packed))
                }
                None => Ok(Taken::End),
            },
            None => Ok(Taken::End),
        }
    }

    /// Whether a corpus has outgrown memory and all has been delivered that could be planned before: only an index leads on.
    fn is_stuck(&self) -> bool {
        let waits = |growth: &Growth| growth.wanted && !growth.has_news();
        self.outgrown
            && self.tickets.is_empty()
            && self.loading == 0
            && self.planning.is_some()
            && self.growth.as_ref().is_some_and(waits)
    }

    /// Whether a caller waits and so many tickets in front are done.
    fn is_served(&self, n: usize) -> bool {
        self.awaited > 0 && self.tickets.len() >= n && self.tickets.iter().take(n).all(Ticket::is_done)
    }

    fn ticket(&mut self, number: u64) -> Option<&mut Ticket> {
        let at = number.checked_sub(self.front)?;
        self.tickets.get_mut(usize::try_from(at).ok()?)
    }
}
