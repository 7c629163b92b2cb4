//! Stretches of an order, loaded side by side and taken in their order.

use std::sync::Arc;

use tesson_core::Error;
use tesson_engine::executor::{OrderedJobs, ProcessGuard, Workers};
use tesson_plan::CountMismatch;
use tesson_tfds::features::Batch;

use crate::block_cache::BlockCache;
use crate::images::{Occasion, Positions};
use crate::loader::{LoadStop, Loader, RecordId, TailProbe};

/// The continuation after the last number of a stretch.
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
    /// Passes of the files that had begun before the traversal.
    pub(super) pass: u64,
    /// How many records of the traversal are over with each, where they do not follow each other.
    pub(super) positions: Vec<u64>,
    /// Files that should end within: after so many of the numbers, with which record.
    pub(super) ends: Vec<(usize, RecordId)>,
    pub(super) last: StretchEnd,
}

impl Stretch {
    /// One without numbers, after so many records of its traversal.
    pub(super) fn empty(over: u64, last: StretchEnd) -> Stretch {
        Stretch { numbers: Vec::new(), over, pass: 0, positions: Vec::new(), ends: Vec::new(), last }
    }

    /// The rest of the stretch after its first `n` numbers.
    pub(super) fn after(mut self, n: usize) -> Stretch {
        self.numbers.drain(..n);
        self.positions.drain(..n.min(self.positions.len()));
        self.over += n as u64;
        self.ends.retain_mut(|(at, _)| {
            *at = at.saturating_sub(n);
            true
        });
        self
    }
}

impl Stretch {
    /// Which examples of the traversal its records are.
    fn occasion(&self) -> Occasion<'_> {
        let positions = match &self.positions[..] {
            [] => Positions::After(self.over),
            positions => Positions::Each(positions),
        };
        Occasion { pass: self.pass, positions }
    }
}

/// A stretch and its examples.
pub(super) struct LoadedStretch {
    pub(super) stretch: Stretch,
    pub(super) batch: Batch,
    /// Why there are not more examples than there are.
    pub(super) stop: Option<LoadStop>,
    /// The content at the ends of those files that the examples reach the end of.
    pub(super) tails: Vec<Result<TailProbe, Error>>,
}

impl LoadedStretch {
    /// Nothing but the end of the order.
    pub(super) fn nothing(last: StretchEnd, batch: Batch) -> LoadedStretch {
        let stretch = Stretch::empty(0, last);
        LoadedStretch { stretch, batch, stop: None, tails: Vec::new() }
    }
}

/// Loads a stretch into an empty batch, until that has so many bytes.
pub(super) fn load(loader: &mut Loader, stretch: Stretch, mut batch: Batch, bytes: usize) -> LoadedStretch {
    let mut parts = loader.parts(&stretch);
    let occasion = stretch.occasion();
    let loaded = loader.load(&stretch.numbers, occasion, &mut parts, &mut batch, bytes);
    let stop = loaded.err().map(|(_, stop)| stop);
    let reached = stretch.ends.iter().take_while(|(at, _)| *at <= batch.rows());
    let look =
        |(_, id): &(usize, RecordId)| loader.probe_tail(RecordId { record: id.record + 1, ..*id }, &parts);
    let tails = reached.map(look).collect();
    loader.recycle(parts);
    LoadedStretch { stretch, batch, stop, tails }
}

/// A stretch to be loaded, the batch that it is loaded into, and how many bytes that may have.
type Job = (Stretch, Batch, usize);

/// Threads that load stretches. They end with it.
pub(super) struct LoaderThreads {
    jobs: Arc<OrderedJobs<Job, LoadedStretch>>,
    cache: Arc<BlockCache>,
    process: ProcessGuard,
    /// Dropped last: it waits for the threads.
    _threads: Workers,
}

impl LoaderThreads {
    /// One thread for each loader.
    pub(super) fn new(loaders: Vec<Loader>, cache: &Arc<BlockCache>) -> std::io::Result<LoaderThreads> {
        let jobs = Arc::new(OrderedJobs::default());
        let mut threads = Workers::default();
        for mut loader in loaders {
            let (served, cache) = (Arc::clone(&jobs), Arc::clone(cache));
            let work = move || {
                // Before each stretch the blocks that are needed next.
                let read_ahead = || while cache.read_ahead() {};
                served.serve(read_ahead, |(stretch, batch, bytes)| load(&mut loader, stretch, batch, bytes));
            };
            if let Err(e) = threads.start("tesson-tfds", work) {
                jobs.close();
                return Err(e);
            }
        }
        Ok(LoaderThreads { jobs, cache: Arc::clone(cache), process: ProcessGuard::here(), _threads: threads })
    }

    /// Stretches that are being loaded, or wait to be loaded or taken.
    pub(super) fn under_way(&self) -> usize {
        self.jobs.under_way()
    }

    /// Hands a stretch to the threads.
    pub(super) fn give(&self, stretch: Stretch, batch: Batch, bytes: usize) {
        self.jobs.give((stretch, batch, bytes));
    }

    /// The first stretch that was given and not taken; there is one.
    pub(super) fn take(&self) -> LoadedStretch {
        self.jobs.take()
    }

    /// Discards all that was given and not taken.
    pub(super) fn discard(&self) {
        // In a copy made by a fork the threads' locks may stay locked for ever.
        if !self.process.is_forked() {
            self.jobs.discard();
            self.cache.forget_plans();
        }
    }
}

impl Drop for LoaderThreads {
    fn drop(&mut self) {
        if !self.process.is_forked() {
            self.jobs.close();
        }
    }
}
