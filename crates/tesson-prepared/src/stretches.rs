//! Stretches of an order, loaded side by side and taken in their order.

use std::any::Any;
use std::collections::{BTreeMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use tesson_core::Error;
use tesson_plan::CountMismatch;
use tesson_tfds::features::Batch;

use crate::block_cache::BlockCache;
use crate::loader::{LoadStop, Loader, RecordId, TailProbe};

/// What is said behind the last number of a stretch.
#[derive(Clone, Debug)]
pub(super) enum StretchEnd {
    /// There are more.
    More,
    /// The traversal is over.
    End,
    /// The files do not hold what was counted.
    Wrong(CountMismatch),
    /// The order goes beyond what can be read of a file; and with which record.
    Failed(Error, RecordId),
}

/// A stretch of the order.
pub(super) struct Stretch {
    pub(super) numbers: Vec<u64>,
    /// Records of the traversal before it.
    pub(super) over: u64,
    /// Files that should end within: behind so many of the numbers, with which record.
    pub(super) ends: Vec<(usize, RecordId)>,
    pub(super) last: StretchEnd,
}

impl Stretch {
    /// What is left of it behind so many numbers.
    pub(super) fn after(mut self, n: usize) -> Stretch {
        self.numbers.drain(..n);
        self.over += n as u64;
        self.ends.retain_mut(|(at, _)| {
            *at = at.saturating_sub(n);
            true
        });
        self
    }
}

/// A stretch and its examples.
pub(super) struct LoadedStretch {
    pub(super) stretch: Stretch,
    pub(super) batch: Batch,
    /// Why there are not more examples than there are.
    pub(super) stop: Option<LoadStop>,
    /// What stands where files should end, those that the examples reach.
    pub(super) tails: Vec<Result<TailProbe, Error>>,
}

impl LoadedStretch {
    /// Nothing but what is said at the end of the order.
    pub(super) fn nothing(last: StretchEnd, batch: Batch) -> LoadedStretch {
        let stretch = Stretch { numbers: Vec::new(), over: 0, ends: Vec::new(), last };
        LoadedStretch { stretch, batch, stop: None, tails: Vec::new() }
    }
}

/// Loads a stretch into an empty batch, until that has so many bytes.
pub(super) fn load(loader: &mut Loader, stretch: Stretch, mut batch: Batch, bytes: usize) -> LoadedStretch {
    let mut parts = loader.parts(&stretch);
    let stop = loader.load(&stretch.numbers, &mut parts, &mut batch, bytes).err().map(|(_, stop)| stop);
    let reached = stretch.ends.iter().take_while(|(at, _)| *at <= batch.rows());
    let look =
        |(_, id): &(usize, RecordId)| loader.probe_tail(RecordId { record: id.record + 1, ..*id }, &parts);
    let tails = reached.map(look).collect();
    loader.recycle(parts);
    LoadedStretch { stretch, batch, stop, tails }
}

/// Threads that load stretches. They end with it.
pub(super) struct LoaderThreads {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    /// The ticket that is given next, and the one that is taken next.
    next: u64,
    taken: u64,
    /// The process that has the threads: they do not survive a fork.
    process: u32,
}

struct Shared {
    state: Mutex<State>,
    cache: Arc<BlockCache>,
    /// There is something to do; something is done.
    work: Condvar,
    ready: Condvar,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<(u64, Stretch, Batch, usize)>,
    done: BTreeMap<u64, LoadedStretch>,
    /// Tickets before this one are not wanted any more.
    wanted: u64,
    closing: bool,
    /// What a thread panicked with.
    panicked: Option<Box<dyn Any + Send>>,
}

impl LoaderThreads {
    /// One thread for each loader.
    pub(super) fn new(loaders: Vec<Loader>, cache: &Arc<BlockCache>) -> std::io::Result<LoaderThreads> {
        let shared = Arc::new(Shared {
            state: Mutex::default(),
            cache: Arc::clone(cache),
            work: Condvar::new(),
            ready: Condvar::new(),
        });
        let process = std::process::id();
        let mut running = LoaderThreads { shared, threads: Vec::new(), next: 0, taken: 0, process };
        for loader in loaders {
            let shared = Arc::clone(&running.shared);
            let thread = std::thread::Builder::new().name("tesson-tfds".into());
            running.threads.push(thread.spawn(move || shared.serve(loader))?);
        }
        Ok(running)
    }

    /// Stretches that are being loaded, or wait to be loaded or taken.
    pub(super) fn under_way(&self) -> usize {
        (self.next - self.taken) as usize
    }

    /// Hands a stretch to the threads.
    pub(super) fn give(&mut self, stretch: Stretch, batch: Batch, bytes: usize) {
        self.shared.lock().jobs.push_back((self.next, stretch, batch, bytes));
        self.next += 1;
        self.shared.work.notify_one();
    }

    /// The first stretch that was given and not taken; there is one.
    pub(super) fn take(&mut self) -> LoadedStretch {
        let mut state = self.shared.lock();
        loop {
            if let Some(panic) = state.panicked.take() {
                drop(state);
                std::panic::resume_unwind(panic);
            }
            if let Some(loaded) = state.done.remove(&self.taken) {
                self.taken += 1;
                return loaded;
            }
            state = self.shared.ready.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Whether this is a copy of it behind a fork. What threads were about to do then stays locked for ever.
    fn is_forked(&self) -> bool {
        self.process != std::process::id()
    }

    /// Gives up all that was given and not taken.
    pub(super) fn discard(&mut self) {
        if self.is_forked() {
            return;
        }
        let mut state = self.shared.lock();
        self.taken = self.next;
        state.wanted = self.next;
        state.jobs.clear();
        state.done.clear();
        drop(state);
        self.shared.cache.forget_plans();
    }
}

impl Drop for LoaderThreads {
    fn drop(&mut self) {
        if self.is_forked() {
            std::mem::forget(std::mem::take(&mut self.threads));
            return;
        }
        let mut state = self.shared.lock();
        state.closing = true;
        state.jobs.clear();
        drop(state);
        self.shared.work.notify_all();
        for thread in self.threads.drain(..) {
            // A thread that panicked has left what it panicked with.
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a thread does: stretches in their order, and before each the blocks that are needed next.
    fn serve(&self, mut loader: Loader) {
        loop {
            let read = || while self.cache.read_ahead() {};
            if let Err(panic) = catch_unwind(AssertUnwindSafe(read)) {
                return self.fail(panic);
            }
            let Some((ticket, stretch, batch, bytes)) = self.next() else { return };
            match catch_unwind(AssertUnwindSafe(|| load(&mut loader, stretch, batch, bytes))) {
                Ok(loaded) => {
                    let mut state = self.lock();
                    if ticket >= state.wanted {
                        state.done.insert(ticket, loaded);
                    }
                    drop(state);
                    self.ready.notify_one();
                }
                Err(panic) => return self.fail(panic),
            }
        }
    }

    fn next(&self) -> Option<(u64, Stretch, Batch, usize)> {
        let mut state = self.lock();
        loop {
            if state.closing {
                return None;
            }
            if let Some(job) = state.jobs.pop_front() {
                return Some(job);
            }
            state = self.work.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn fail(&self, panic: Box<dyn Any + Send>) {
        self.lock().panicked = Some(panic);
        self.ready.notify_one();
    }
}
