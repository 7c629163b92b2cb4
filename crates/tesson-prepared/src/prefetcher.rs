//! Loads examples: on the caller's thread, or ahead of it on threads; and decides how far ahead.

use std::collections::VecDeque;
use std::num::NonZeroUsize;

use tesson_core::Error;
use tesson_engine::SampleRoom;
use tesson_plan::CountMismatch;
use tesson_tfds::features::Batch;

use crate::lengths::ShardProbe;
use crate::loader::{LoadStop, Loader, RecordId, TailProbe};
use crate::order::Order;
use crate::stretches::{LoadedStretch, LoaderThreads, Stretch, StretchEnd, load};
use crate::{ExampleBatch, ReaderLimits};

/// Bytes of examples that one call loads without threads, about, if fewer are asked for: calls that can be interrupted are made in
/// a thread of their own, and waking that takes as long as loading so many. They stay in a core's cache until they are given.
const WORTH_A_CALL: usize = 32 << 10;

/// Examples of a stretch before it is known how large they are, and at most.
const FIRST: usize = 16;
const MOST: usize = 16 << 10;

/// Examples and bytes that are worth waking a thread, however few are asked for at a time.
const WORTH: usize = 16 << 10;
const WORTH_BYTES: usize = 1 << 20;

/// Bytes of examples wanted at once that are worth waking several threads.
const APART_BYTES: usize = 256 << 10;

/// Batches whose memory is kept.
const KEPT: usize = 8;

/// Loads stretches of an order.
pub(super) struct Prefetcher {
    threads: usize,
    limits: ReaderLimits,
    loaders: Option<LoaderThreads>,
    /// Average bytes of an example, once some have been loaded.
    each: Option<usize>,
    /// The end of the order, once it has been planned.
    over: Option<StretchEnd>,
    idle: Vec<Batch>,
}

/// The continuation after the loaded examples.
pub(super) enum AfterBatch {
    /// More of them.
    More,
    /// More is known of the files now: the rest is to be planned again.
    Again,
    Failed(Error),
    /// A record that could not be loaded.
    Stopped(LoadStop),
    End,
    Wrong(CountMismatch),
    /// The order goes no further, because of this record.
    Unreadable(Error, RecordId),
}

/// How many records a file has, seen after so many examples, and a few bytes after the last one.
pub(super) struct ShardEnd {
    pub(super) at: usize,
    pub(super) file: usize,
    pub(super) records: u64,
    pub(super) cut: Option<Error>,
}

/// Examples that were loaded, on their way to the caller.
pub(super) struct PendingExamples {
    stretch: Stretch,
    batch: Batch,
    tails: Vec<Result<TailProbe, Error>>,
    /// Ends of files to be recorded once a number of examples has been given.
    found: VecDeque<ShardEnd>,
    /// Examples that were given, and that may be.
    at: usize,
    upto: usize,
    then: AfterBatch,
}

impl Prefetcher {
    pub(super) fn new(limits: ReaderLimits) -> Prefetcher {
        let cores = || std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let threads = if limits.threads == 0 { cores() } else { limits.threads };
        Prefetcher { threads, limits, loaders: None, each: None, over: None, idle: Vec::new() }
    }

    pub(super) fn threads(&self) -> usize {
        self.threads
    }

    pub(super) fn sample_room(&self) -> SampleRoom {
        SampleRoom::new(self.limits.memory_limit, self.threads)
    }

    pub(super) fn limits(&self) -> ReaderLimits {
        self.limits
    }

    /// Bytes for blocks of records: a quarter of all.
    pub(super) fn cache_bytes(&self) -> u64 {
        self.limits.memory_limit / 4
    }

    /// Stretches that are planned ahead.
    fn depth(&self) -> usize {
        2 * self.threads
    }

    /// Bytes of a batch: those ahead, the one that is given and the one that is loaded beside it share a quarter of all.
    /// Memory that grows may be twice as large as what is in it, and the last quarter is for what is being read.
    fn batch_bytes(&self) -> usize {
        let batches = if self.threads > 1 { self.depth() + 2 } else { 2 };
        usize::try_from(self.cache_bytes() / batches as u64).unwrap_or(usize::MAX).max(1)
    }

    /// Examples of a stretch where so many are asked for, at least `worth` of them if they are small.
    fn examples(&self, n: usize, worth: usize) -> usize {
        let Some(each) = self.each else { return n.min(FIRST) };
        n.max(worth.min(WORTH_BYTES / each)).min(self.batch_bytes() / each).clamp(1, MOST)
    }

    /// Examples that are worth a call: those that are `left` of a batch, and as many batches of `n` after it.
    fn worth_a_call(&self, n: usize, left: usize) -> usize {
        let worth = WORTH_A_CALL / self.each.unwrap_or(WORTH_A_CALL);
        left.saturating_add(worth.saturating_sub(left) / n * n)
    }

    /// The next examples of the order, where `n` are asked for at a time and `left` of them are not given yet.
    pub(super) fn next(
        &mut self,
        n: usize,
        left: usize,
        order: &mut Order,
        loader: &mut Loader,
    ) -> LoadedStretch {
        // Stretches begin where the caller's batches do, so that whole ones are handed over without a copy.
        if self.threads > 1 && self.loaders.is_none() && self.each.is_some() && left == n {
            self.start(loader);
        }
        let Some(loaders) = self.loaders.take() else {
            let stretch = self.plan(left, self.worth_a_call(n, left), order, loader);
            return self.load(stretch, loader);
        };
        while self.over.is_none() && loaders.under_way() < self.depth() {
            let stretch = self.plan(n, WORTH, order, loader);
            loaders.give(stretch, self.batch(loader), self.batch_bytes());
        }
        let loaded = match (loaders.under_way(), self.over.clone()) {
            (0, Some(last)) => LoadedStretch::nothing(last, self.batch(loader)),
            _ => loaders.take(),
        };
        self.loaders = Some(loaders);
        self.learn(&loaded.batch);
        loaded
    }

    /// The next stretch; the last one again and again.
    fn plan(&mut self, n: usize, worth: usize, order: &mut Order, loader: &Loader) -> Stretch {
        let stretch = order.stretch(self.examples(n, worth), self.probe(loader));
        self.over = (!matches!(stretch.last, StretchEnd::More)).then(|| stretch.last.clone());
        stretch
    }

    /// The probe that finds the lengths of files for an order.
    pub(super) fn probe<'a>(&self, loader: &'a Loader) -> ShardProbe<'a> {
        ShardProbe { cache: loader.cache(), threads: self.threads }
    }

    /// Hands records that are wanted at once, at these positions of a traversal, to the threads, in pieces, if that is worth it and nothing else is under way: how
    /// many are in each piece. Images are worth it; other examples are decoded as fast as the pieces are put together.
    pub(super) fn share_out(
        &mut self,
        numbers: &[u64],
        positions: &[u64],
        pass: u64,
        loader: &Loader,
    ) -> Vec<usize> {
        let is_worth = self.each.is_some_and(|each| numbers.len().saturating_mul(each) >= APART_BYTES);
        if self.threads == 1 || numbers.len() == 1 || !is_worth || !loader.schema().has_images() {
            return Vec::new();
        }
        if self.loaders.is_none() {
            self.start(loader);
        }
        let Some(loaders) = self.loaders.take_if(|loaders| loaders.under_way() == 0) else {
            return Vec::new();
        };
        // Some more than threads, because not all take as long.
        let n = numbers.len().div_ceil(2 * self.threads);
        let pieces = numbers.chunks(n).zip(positions.chunks(n));
        let mut lengths = Vec::with_capacity(pieces.len());
        for (numbers, positions) in pieces {
            lengths.push(numbers.len());
            let (numbers, positions) = (numbers.to_vec(), positions.to_vec());
            let stretch = Stretch { numbers, positions, pass, ..Stretch::empty(0, StretchEnd::More) };
            loaders.give(stretch, self.batch(loader), self.batch_bytes());
        }
        self.loaders = Some(loaders);
        lengths
    }

    /// The first piece that was handed out and not taken.
    pub(super) fn take_piece(&mut self) -> Option<LoadedStretch> {
        self.loaders.as_ref().map(LoaderThreads::take)
    }

    /// Loads a stretch here and now.
    pub(super) fn load(&mut self, stretch: Stretch, loader: &mut Loader) -> LoadedStretch {
        let batch = self.batch(loader);
        let loaded = load(loader, stretch, batch, self.batch_bytes());
        self.learn(&loaded.batch);
        loaded
    }

    /// Starts the threads: only for callers that read more than a few examples.
    fn start(&mut self, loader: &Loader) {
        let loaders = (0..self.threads).map(|_| loader.another()).collect();
        match LoaderThreads::new(loaders, loader.cache()) {
            Ok(loaders) => self.loaders = Some(loaders),
            Err(error) => {
                tracing::warn!("no threads to read ahead: {error}");
                self.threads = 1;
            }
        }
    }

    /// Updates the average size of examples.
    pub(super) fn learn(&mut self, batch: &Batch) {
        if batch.rows() > 0 {
            let each = (batch.value_bytes() / batch.rows()).max(1);
            // Falls slowly and rises at once: a stretch of large ones may follow.
            self.each = Some(each.max(self.each.unwrap_or(0) / 8 * 7));
        }
    }

    fn batch(&mut self, loader: &Loader) -> Batch {
        self.idle.pop().unwrap_or_else(|| Batch::new(loader.schema()))
    }

    /// Takes a batch's memory back, and what was not given: what follows, and the rest of the stretch.
    pub(super) fn give_back(&mut self, taken: PendingExamples) -> (AfterBatch, Stretch) {
        let PendingExamples { stretch, batch, then, upto, .. } = taken;
        self.keep(batch);
        (then, stretch.after(upto))
    }

    /// Takes a batch's memory back.
    pub(super) fn keep(&mut self, mut batch: Batch) {
        let keeps = batch.bytes() <= self.batch_bytes().saturating_mul(2);
        if self.idle.len() < KEPT.min(self.depth()) && keeps {
            batch.clear();
            self.idle.push(batch);
        }
    }

    /// Ends the threads, which start again when they are needed.
    pub(super) fn end_threads(&mut self) {
        self.discard();
        self.loaders = None;
    }

    /// Discards all that was planned.
    pub(super) fn discard(&mut self) {
        self.over = None;
        if let Some(loaders) = &self.loaders {
            loaders.discard();
        }
    }
}

impl PendingExamples {
    pub(super) fn new(loaded: LoadedStretch) -> PendingExamples {
        let LoadedStretch { stretch, batch, stop, tails } = loaded;
        let then = match (stop, &stretch.last) {
            (Some(stop), _) => AfterBatch::Stopped(stop),
            (None, StretchEnd::More) => AfterBatch::More,
            (None, StretchEnd::End) => AfterBatch::End,
            (None, StretchEnd::Wrong(mismatch)) => AfterBatch::Wrong(*mismatch),
            (None, StretchEnd::Failed(error, at)) => AfterBatch::Unreadable(error.clone(), *at),
        };
        PendingExamples { at: 0, upto: batch.rows(), stretch, batch, tails, found: VecDeque::new(), then }
    }

    /// Files that should end among the examples, after how many of them, and what stands there.
    pub(super) fn ends(&mut self) -> Vec<((usize, RecordId), Result<TailProbe, Error>)> {
        let ends = std::mem::take(&mut self.stretch.ends);
        let (reached, tails) = (self.tails.len(), std::mem::take(&mut self.tails));
        self.stretch.ends = ends[reached..].to_vec();
        ends.into_iter().zip(tails).collect()
    }

    /// Examples that are left.
    pub(super) fn len(&self) -> usize {
        self.upto - self.at
    }

    /// Keeps what was found until its place is reached.
    pub(super) fn found(&mut self, found: ShardEnd) {
        self.found.push_back(found);
    }

    /// The next of it whose place has been reached, and how many of the traversal are over there.
    pub(super) fn reached(&mut self) -> Option<(u64, ShardEnd)> {
        self.found.front().filter(|found| found.at <= self.at)?;
        self.found.pop_front().map(|found| (self.stretch.over + found.at as u64, found))
    }

    /// Says that only so many examples are right.
    pub(super) fn cut(&mut self, upto: usize, then: AfterBatch) {
        (self.upto, self.then) = (upto, then);
    }

    /// Appends at most `n` examples, and says how many of the traversal are over with them.
    pub(super) fn give(&mut self, n: usize, examples: &mut ExampleBatch) -> Option<u64> {
        let to = self.upto.min(self.at.saturating_add(n));
        if to == self.at {
            return None;
        }
        let range = self.at..to;
        examples.numbers.extend_from_slice(&self.stretch.numbers[range.clone()]);
        let over = self.stretch.over;
        examples.positions.extend(over + self.at as u64 + 1..=over + to as u64);
        if examples.batch.rows() == 0 && range == (0..self.batch.rows()) {
            // The caller's memory goes the other way.
            std::mem::swap(&mut examples.batch, &mut self.batch);
        } else {
            examples.batch.append(&self.batch, range);
        }
        self.at = to;
        Some(over + to as u64)
    }
}
