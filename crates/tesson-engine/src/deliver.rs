//! Delivery: minibatches are planned ahead, made by any thread in any order, and handed out in plan order.
//!
//! All threads share one [`State`] under a lock; what takes time (planning, loading, packing) is done outside of it on
//! things taken out of it. A *ticket* is a planned minibatch; it is ready to be packed when all blocks it needs are in
//! memory. Nothing here decides what a minibatch holds: that is the plan's, so no schedule of threads can change it.
//!
//! For the next editor: what the state knows is in parts that need no threads and have tests of their own ([`Tickets`],
//! [`Residency`], [`BatchBudget`], [`RowAllowance`], [`Growth`], [`Planning`]); [`State`] has what concerns several of them, and
//! `Shared` what takes the lock. `job.rs` decides what a worker does next, and `plan.rs`, `load.rs` and `make.rs` do it. A
//! condition with waiters is notified where it becomes true, while the lock is held: `work` for workers, `done` for the
//! caller, `planner_free` for who moves the planner. Anything taken out of the state may come back after a restart, so
//! [`Planning::generation`] is compared before it is used.
//!
//! [`Tickets`]: tickets::Tickets
//! [`Residency`]: residency::Residency
//! [`BatchBudget`]: batch_budget::BatchBudget
//! [`RowAllowance`]: row_allowance::RowAllowance
//! [`Growth`]: growth::Growth
//! [`Planning`]: planning::Planning
//! [`Planning::generation`]: planning::Planning::generation

mod batch_budget;
mod batch_files;
mod config;
mod corpus_index;
mod growth;
mod job;
mod load;
mod make;
mod plan;
mod planning;
mod present_blocks;
mod residency;
mod row_allowance;
mod single;
mod state;
mod stored;
mod ticket;
mod tickets;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tesson_core::{Error, Index, UsageError};
use tesson_memory::packed::StreamToPack;
use tesson_plan::{Demand, Planner};

use crate::arrays::ArraysPool;
use crate::block::ChunkPool;
use crate::executor::{Interrupt, POLL, Workers, no_thread};
use crate::pack::{Pools, packed_streams};
use crate::refusal::EngineRefusal;
pub use batch_files::BatchOrigins;
pub(crate) use batch_files::{BatchFiles, RunResources};
use config::PoolLimits;
pub(crate) use config::{LengthRule, PipelineConfig, PipelineMemory, Reading, SampleBytes};
use corpus_index::CorpusSize;
pub(crate) use corpus_index::{CorpusIndex, IndexedBlocks};
pub(crate) use planning::PlanningContext;
use state::{Beside, State};
pub(crate) use ticket::Packed;
use ticket::Ticket;

/// A caller that takes minibatches faster than several workers make them is woken for many at a time, because it takes a
/// worker's core whenever it is; but not where it waited longer than this.
const QUICK: Duration = Duration::from_millis(4);

struct Shared {
    setup: PipelineConfig,
    corpus_index: CorpusIndex,
    files: Arc<BatchFiles>,
    size: CorpusSize,
    pools: Pools,
    arrays_pool: Arc<ArraysPool>,
    /// The streams that blocks in memory have packed.
    packed_streams: Vec<StreamToPack>,
    /// Memory for chunks that are used once.
    chunk_pool: Arc<ChunkPool>,
    /// Memory for blocks: the same where they are used once.
    block_pool: Arc<ChunkPool>,
    state: Mutex<State>,
    /// How often workers have been told to end: those that were started before do.
    era: AtomicU64,
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
    /// The data read for the next minibatch fill the memory before its end is found: an index is needed to continue.
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
        let corpus_index = planning.corpus_index().clone();
        let state = State::new(&setup, planning);
        let memory_limit = setup.memory.limit;
        let is_indexed = corpus_index.blocks().is_some();
        let PoolLimits { used_once, small, pages } = setup.pool_limits(0);
        let chunk_pool = Arc::new(ChunkPool::new(used_once));
        let block_pool = if is_indexed && !setup.passes_by() {
            Arc::new(ChunkPool::of_small(small, pages))
        } else {
            chunk_pool.clone()
        };
        let packed_streams = packed_streams(&setup.streams);
        let pools = Pools::new(setup.streams.len(), memory_limit);
        let shared = Arc::new(Shared {
            chunk_pool,
            block_pool,
            size: corpus_index.size(),
            files: Arc::new(BatchFiles::new(corpus_index.clone(), setup.resources.clone())),
            corpus_index,
            setup,
            pools,
            arrays_pool: Arc::new(ArraysPool::new(memory_limit)),
            packed_streams,
            state: Mutex::new(state),
            era: AtomicU64::new(0),
            work: Condvar::new(),
            done: Condvar::new(),
            planner_free: Condvar::new(),
        });
        Pipeline { shared, workers: Workers::default(), wake_after: 1 }
    }

    /// Where the files of its minibatches' sequences are looked up.
    pub(crate) fn files(&self) -> Arc<BatchFiles> {
        self.shared.files.clone()
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
        let mut planning = loop {
            shared.check(&state)?;
            match state.take_planner() {
                Some(planning) => break planning,
                None => {
                    let waited = shared.planner_free.wait_timeout(state, POLL);
                    state = waited.unwrap_or_else(PoisonError::into_inner).0;
                }
            }
        };
        drop(state);
        let (planner, index) = planning.parts();
        let result = seek(planner, index);
        if let Some(demand) = demand {
            planning.set_demand(demand);
        }
        let mut state = shared.lock();
        state.planning.begin(planning, demand.is_some() && result.is_ok());
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
        let left = setup.memory.limit.saturating_sub(bytes);
        pools.set_limit(left);
        let PoolLimits { used_once, small, .. } = setup.pool_limits(bytes);
        chunk_pool.set_limit(used_once);
        if !Arc::ptr_eq(chunk_pool, block_pool) {
            block_pool.set_limit(small);
        }
        let mut state = self.shared.lock();
        state.batches.set_outside(bytes);
        let beside = self.shared.beside();
        state.shrink(beside, setup);
        block_pool.set_page_limit(state.page_limit(beside, setup));
    }

    /// The next minibatch in plan order. Waits until it is done or `interrupted` says to stop.
    pub(crate) fn take(&mut self, interrupted: &mut dyn FnMut() -> bool) -> Result<Taken, Error> {
        // They were dismissed when the minibatch before failed.
        if self.workers.is_empty() {
            self.start_workers()?;
        }
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
            if state.planning.is_over() && state.tickets.is_empty() {
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
            let era = shared.era.load(Ordering::SeqCst);
            match self.workers.start("tesson", move || shared.work(era)) {
                Ok(()) => {}
                Err(_) if !self.workers.is_empty() => break,
                Err(e) => return Err(no_thread(&e)),
            }
        }
        Ok(())
    }

    /// Lets the workers end, each with what it does now. What has been made stays, and others are started where it is taken.
    pub(crate) fn dismiss_workers(&mut self) {
        self.shared.end_workers();
        self.workers.dismiss();
    }
}

impl Drop for Pipeline {
    /// Tells the workers to end, which dropping them waits for.
    fn drop(&mut self) {
        self.shared.end_workers();
    }
}

impl Shared {
    fn end_workers(&self) {
        self.era.fetch_add(1, Ordering::SeqCst);
        // Under the lock, so that no worker is between looking for work and waiting for it.
        drop(self.lock());
        self.work.notify_all();
    }

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
        let held_back = state.batches.take_held_back();
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

    /// Memory that is neither in blocks nor in tickets.
    fn beside(&self) -> Beside {
        Beside {
            idle: self.pools.idle_bytes() + self.arrays_pool.idle_bytes(),
            decoding: if self.setup.transforms.has_encoded() {
                self.setup.memory.sample_room.expected() as usize
            } else {
                0
            },
        }
    }

    /// How many minibatches may be planned and packed in advance.
    fn depth(&self, state: &State) -> usize {
        if self.setup.reading.prefetch { state.batches.depth(self.setup.threads) } else { 1 }
    }
}
