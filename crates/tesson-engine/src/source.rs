//! The source: what a training loop calls.

mod pass;
mod show;
mod truncated;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tesson_core::{
    ConfigError, DataError, DataErrorKind, Deserializer, Element, Error, Index, Indexed, StreamInfo,
    UsageError,
};
use tesson_plan::{
    BatchPlan, Bucketing, Cursor, Demand, Fingerprint, JoinReport, Limit, MissingKeys, OrderSpec, PlanSpec,
    Planner, Progress, ResumeState, Sharing, Window,
};

use crate::block::BlockTable;
use crate::check::{self, Checked, Severity};
use crate::deliver::{Brain, LengthRule, Packed, Pipeline, Setup, Supply};
use crate::fault::Charge;
use crate::fetch::Resources;
use crate::fingerprint;
use crate::join::{self, JoinRules, Joint, Parts};
use crate::lanes::Threads;
use crate::minibatch::Minibatch;
use crate::report::Report;
use crate::stats::{Counters, Stats};
use crate::store::Store;
use crate::transform::{StreamTransforms, Transforms};
pub use show::Shown;
use truncated::Truncated;
pub use truncated::{PiecesPlan, TruncationSpec};

/// Storage bytes that are decoded at once, where memory allows: with their columns they fit a core's own cache.
const PIECE_BYTES: u64 = 512 << 10;

/// Storage bytes of a block that stays in memory for random access, where memory allows: few enough for the threads to
/// share them out, so many that a minibatch of sequences from everywhere touches few blocks, and large pages of memory.
const BLOCK_BYTES: u64 = 8 << 20;

/// Blocks that a corpus is divided into at least, where they are larger than what is decoded at once.
const BLOCKS: u64 = 16;

/// Corpora of up to this many bytes stay in memory once they are decoded: it is less than one would notice.
const SMALL: u64 = 16 << 20;

/// Sequences of at least this many bytes on the average are fetched one by one in shuffled orders: parsing one costs
/// more than reading it, and memory that is new to the process costs more than both.
const LONG: u64 = 1 << 10;

/// Storage bytes of a dense value below which it is most likely a small whole number: kept in one byte, it takes less
/// memory than its text does, and less time than fetching that again.
const NARROW: u64 = 4;

/// What a sequence costs in a minibatch at least: its place in the plan, in the blocks and in the batch.
const SEQUENCE_BYTES: u64 = 64;

/// Packed minibatches ahead of the caller take this much at most.
const PREFETCH_BYTES: u64 = 8 << 20;

/// A sequence may be as large as this part of the memory limit: decoding and packing take several times its bytes.
const LARGEST_SHARE: u64 = 8;

/// What formats may read at once under any limit, in bytes.
const LARGEST_AT_LEAST: u64 = 256 << 10;

/// Everything a source is made of.
pub struct SourceSpec {
    /// What understands the bytes. Several are joined by key; the first one gives chunks and order.
    pub deserializers: Vec<Box<dyn Deserializer>>,
    /// How several deserializers go together.
    pub join: JoinRules,
    /// Which sequence comes when.
    pub plan: PlanSpec,
    /// What is done with the samples of each stream.
    pub transforms: StreamTransforms,
    /// Every sequence must be one sample.
    pub frame_mode: bool,
    /// Sequences are cut into pieces.
    pub truncation: Option<TruncationSpec>,
    /// Type of all values.
    pub element: Element,
    /// Bytes for index, plan, blocks and packed minibatches together.
    pub memory_limit: u64,
    /// Worker threads; 0: one a core.
    pub threads: usize,
    /// Whether minibatches are made before they are asked for.
    pub prefetch: bool,
    /// What becomes of faults beyond what deserializers say.
    pub faults: FaultRules,
}

/// What becomes of faults in the data.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FaultRules {
    /// As many faults are forgiven as this share of the sequences passed so far, if the deserializers forgive fewer.
    pub share: f64,
    /// A file to which a line of JSON is appended for every fault that is forgiven.
    pub report: Option<PathBuf>,
}

/// Reads a corpus in minibatches.
pub struct Source {
    parts: Parts,
    join: JoinRules,
    /// The streams as they are stored.
    stored: Vec<Arc<StreamInfo>>,
    /// The streams as they are handed out: transformed.
    streams: Vec<Arc<StreamInfo>>,
    transforms: Arc<Transforms>,
    resources: Arc<Resources>,
    counters: Arc<Counters>,
    cancelled: Arc<AtomicBool>,
    plan: PlanSpec,
    frame_mode: bool,
    memory_limit: u64,
    threads: usize,
    prefetch: bool,
    fingerprint: Arc<Fingerprint>,
    joint: Option<Joint>,
    truncated: Option<Truncated>,
    pipeline: Option<Pipeline>,
    /// What the last call asked for, if the pipeline works on it.
    demand: Option<Demand>,
    /// The state behind the last minibatch handed out.
    state: ResumeState,
    ended: bool,
    /// The state that was restored, if nothing has been read since: the workers must be those it was saved for. The state
    /// that is shown is what it was to the rank of the last call, which may have no data at all.
    restored: Option<Box<ResumeState>>,
    failed: Option<Error>,
    process: u32,
    /// Share of the sequences that may be faulty.
    fault_share: f64,
    report: Option<Report>,
}

impl Drop for Source {
    fn drop(&mut self) {
        self.close();
    }
}

/// Ends a blocked call from another thread, and the source with it.
#[derive(Clone, Default)]
pub struct Canceller(pub(crate) Arc<AtomicBool>);

impl Canceller {
    /// For a source that is yet to be opened, with [`Source::open_with`].
    pub fn new() -> Canceller {
        Canceller::default()
    }

    /// Calls the source off: the call that waits, and all later ones, end with [`Error::Cancelled`].
    pub fn cancel(&self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Reads a source's counters, also while another thread uses the source.
#[derive(Clone)]
pub struct StatsReader(Arc<Counters>);

impl StatsReader {
    /// What has been done so far.
    pub fn read(&self) -> Stats {
        self.0.read()
    }
}

impl Source {
    /// Opens a corpus: looks at its beginning, and indexes it where the order needs that.
    ///
    /// # Errors
    /// Unreadable storage, data that are not the format's, an index that does not fit into `memory_limit`.
    pub fn open(spec: SourceSpec, store: &dyn Store) -> Result<Source, Error> {
        Source::open_with(spec, store, &Canceller::new())
    }

    /// The same; `canceller` ends it, and is the source's from then on.
    ///
    /// # Errors
    /// As [`Source::open`], and [`Error::Cancelled`].
    pub fn open_with(spec: SourceSpec, store: &dyn Store, canceller: &Canceller) -> Result<Source, Error> {
        let SourceSpec {
            deserializers,
            join,
            mut plan,
            transforms,
            frame_mode,
            truncation,
            element,
            memory_limit,
            threads,
            prefetch,
            faults,
        } = spec;
        let counters = Arc::new(Counters::default());
        let cancelled = canceller.0.clone();
        let largest = (memory_limit / LARGEST_SHARE).max(LARGEST_AT_LEAST);
        let files = join::files(&deserializers);
        let resources = Resources::open(files, store, counters.clone(), cancelled.clone(), largest)?;
        let parts = Parts::prepare(deserializers, &resources)?;
        if truncation.is_some() {
            // Rows are filled sequence by sequence, however many samples other ranks pass meanwhile (§9.3).
            plan.local_timeline = true;
        }
        // The last minibatch of truncated reading is one of rows, which are full or not.
        let drops_last_rows = truncation.is_some() && std::mem::take(&mut plan.ending.drop_last);
        // Joined to others it is part of a corpus like any other.
        if parts.list().len() == 1 && !parts.primary().composable() {
            plan.order = plan.order.on_local_timeline();
        }
        if plan.bucketing.is_some() && plan.order.is_local() {
            let what = "sequences of a deserializer that is not composable have an order of their own; make it composable";
            return Err(ConfigError::new("bucketing", what).into());
        }
        if plan.equal_steps.is_some() && plan.order.is_local() && plan.sharing == Sharing::Chunk {
            let what = "workers of a deserializer that is not composable have timelines of their own; make it composable, or set `sharing = \"position\"`";
            return Err(ConfigError::new("equalSteps", what).into());
        }
        let corpus = fingerprint::corpus(&resources, 0..resources.files().len())?;
        let mut options = format!("{} frame={frame_mode} element={}", parts.identity(), element.name());
        if join.missing == MissingKeys::Empty {
            options.push_str(" outer");
        }
        if let Some(truncation) = truncation {
            options.push_str(&truncation.identity());
        }
        if let Some(Bucketing { samples, sequences }) = plan.bucketing {
            options.push_str(&format!(" bucketing={samples}/{sequences}"));
        }
        if join.hash_keys {
            options.push_str(" hashed");
        }
        let stored = parts.streams();
        let transforms = Transforms::new(&transforms, &stored, parts.primary().name())?;
        options.push_str(&transforms.identity());
        let fingerprint = Fingerprint {
            corpus,
            index: None,
            order: plan.order.clone(),
            cross_sweep_ends: plan.cross_sweep_ends,
            options: fingerprint::text(&options),
        };
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let truncated = truncation.map(|t| Truncated::new(t, parts.streams().len(), drops_last_rows));
        let mut source = Source {
            streams: match truncation {
                Some(t) => transforms.outputs(&stored).iter().map(|stream| t.deliver(stream)).collect(),
                None => transforms.outputs(&stored),
            },
            transforms: Arc::new(transforms),
            stored,
            parts,
            join,
            resources: Arc::new(resources),
            counters,
            cancelled,
            plan,
            frame_mode,
            memory_limit,
            threads: if threads == 0 { cores } else { threads },
            prefetch,
            fingerprint: Arc::new(fingerprint),
            joint: None,
            truncated,
            pipeline: None,
            demand: None,
            state: ResumeState::default(),
            ended: false,
            restored: None,
            failed: None,
            process: std::process::id(),
            fault_share: faults.share,
            report: faults.report.as_deref().map(Report::open).transpose()?,
        };
        if source.may_grow() {
            source.pipeline = Some(source.growing_pipeline());
        } else {
            source.switch_to_index()?;
        }
        source.state = source.state_at(Cursor::default(), 0);
        Ok(source)
    }

    /// Whether the data can be read in order before they are indexed.
    fn may_grow(&self) -> bool {
        matches!(self.plan.order, OrderSpec::AsStored)
            && !self.frame_mode
            && self.truncated.is_none()
            && !self.join.hash_keys
            // Steps are counted in the whole of a sweep before its first one.
            && !(self.plan.equal_steps.is_some() && self.plan.sharing == Sharing::Chunk)
            && self.parts.growing()
    }

    /// The streams, in the order of the configuration.
    pub fn streams(&self) -> &[Arc<StreamInfo>] {
        &self.streams
    }

    /// Whether all ranks count on one timeline: each on its own where the only deserializer is not composable.
    pub fn shares_a_timeline(&self) -> bool {
        !self.plan.order.is_local()
    }

    /// What has been done so far.
    pub fn stats(&self) -> Stats {
        self.counters.read()
    }

    /// Something that reads the counters while another thread uses the source.
    pub fn stats_reader(&self) -> StatsReader {
        StatsReader(self.counters.clone())
    }

    /// Something that ends a blocked call from another thread.
    pub fn canceller(&self) -> Canceller {
        Canceller(self.cancelled.clone())
    }

    /// The state behind the last minibatch handed out.
    pub fn state(&self) -> &ResumeState {
        &self.state
    }

    /// The index of the whole corpus, made now if it was not needed before.
    ///
    /// # Errors
    /// As for opening.
    pub fn indexed(&mut self) -> Result<&Indexed, Error> {
        Ok(&self.joint()?.indexed)
    }

    /// Number of sequences in the corpus.
    ///
    /// # Errors
    /// As [`Source::indexed`].
    pub fn num_sequences(&mut self) -> Result<u64, Error> {
        Ok(self.indexed()?.index.n_sequences())
    }

    /// Number of samples in one sweep (counted lengths).
    ///
    /// # Errors
    /// As [`Source::indexed`].
    pub fn num_samples_per_sweep(&mut self) -> Result<u64, Error> {
        Ok(self.indexed()?.index.n_samples())
    }

    /// Number of minibatches that one worker gets of the first sweep. Truncated ones are counted as if all sequences were
    /// as long as the index says.
    ///
    /// # Errors
    /// As [`Source::indexed`], and a demand that can never be met.
    pub fn steps_per_sweep(&mut self, demand: Demand) -> Result<u64, Error> {
        let plan = PlanSpec { limit: Limit::Sweeps(1), ..self.plan.clone() };
        let index = self.indexed()?.index.clone();
        if self.truncated.is_some() {
            return self.truncated_steps(plan, &index, demand);
        }
        let mut steps = 0;
        for_each_plan(plan, &index, demand, |_| {
            steps += 1;
            true
        })?;
        Ok(steps)
    }

    /// Shows what comes when, from the start, without reading data: whole sequences, from which truncated rows are filled
    /// ([`Source::plan_pieces`]). `each` says whether to go on.
    ///
    /// # Errors
    /// As [`Source::indexed`], and a demand that can never be met.
    pub fn plan(&mut self, demand: Demand, each: impl FnMut(&BatchPlan) -> bool) -> Result<(), Error> {
        self.plan_with(|_| (), demand, each)
    }

    /// The same for a plan that is changed first: what would come when.
    ///
    /// # Errors
    /// As [`Source::plan`].
    pub fn plan_with(
        &mut self,
        change: impl FnOnce(&mut PlanSpec),
        demand: Demand,
        each: impl FnMut(&BatchPlan) -> bool,
    ) -> Result<(), Error> {
        let index = self.indexed()?.index.clone();
        let mut plan = self.plan.clone();
        change(&mut plan);
        for_each_plan(plan, &index, demand, each)
    }

    /// Decodes every sequence once and tells everything that is found, in the order of the data, and how bad it is.
    ///
    /// # Errors
    /// As [`Source::indexed`], and unreadable storage.
    pub fn check(&mut self, each: &mut dyn FnMut(&DataError, Severity)) -> Result<Checked, Error> {
        let lanes = Threads { n: self.threads, memory: self.memory_limit / 2 };
        let looked_at = match self.parts.list() {
            [part] => part.deserializer.index_with_defects(&*self.resources, &lanes)?,
            _ => None,
        };
        let (indexed, defects) = match looked_at {
            Some(found) => found,
            None => (self.indexed()?.clone(), Vec::new()),
        };
        let table = BlockTable::of(&indexed, PIECE_BYTES, PIECE_BYTES);
        defects.iter().for_each(|defect| each(defect, Severity::Fatal));
        let mut seen = check::check(&indexed, &table, &self.stored, &self.resources, self.threads, each)?;
        seen.faults += defects.len() as u64;
        seen.fatal += defects.len() as u64;
        Ok(seen)
    }

    /// What could not be joined; `None` for a single deserializer.
    ///
    /// # Errors
    /// As [`Source::indexed`].
    pub fn join_report(&mut self) -> Result<Option<&JoinReport>, Error> {
        Ok(self.joint()?.report.as_ref())
    }

    /// Indexes the corpus and writes an index cache for each deserializer whose format has none of its own;
    /// returns where they are.
    ///
    /// # Errors
    /// As [`Source::indexed`], and what the file system answers.
    pub fn write_index_cache(&mut self) -> Result<Vec<PathBuf>, Error> {
        let joint = self.joint()?.clone();
        let parts = self.parts.list().iter().zip(&joint.parts);
        let cached = parts.filter(|(part, _)| part.deserializer.can_cache_index());
        cached.map(|(part, indexed)| part.write_index_cache(indexed, &self.resources)).collect()
    }

    /// The next minibatch of `samples` samples, for a single worker; `None` at the end of the data.
    ///
    /// # Errors
    /// As [`Source::next`].
    pub fn next_minibatch(&mut self, samples: u64) -> Result<Option<Minibatch>, Error> {
        self.next(Demand { samples, workers: 1, rank: 0 })
    }

    /// The next minibatch; `None` at the end of the data.
    ///
    /// # Errors
    /// Faults of data and storage are repeated by every call until a state is restored or [`Source::skip_failed`] is
    /// called. A demand that can never be met ([`UsageError`]) changes nothing.
    pub fn next(&mut self, demand: Demand) -> Result<Option<Minibatch>, Error> {
        self.next_interruptible(demand, &mut || false)
    }

    /// The same, giving up with [`Error::Cancelled`] when `interrupted` says so, which is asked every few hundredths
    /// of a second. Nothing is lost: the next call waits for the same minibatch.
    ///
    /// # Errors
    /// As [`Source::next`].
    pub fn next_interruptible(
        &mut self,
        demand: Demand,
        interrupted: &mut dyn FnMut() -> bool,
    ) -> Result<Option<Minibatch>, Error> {
        self.check_process()?;
        demand.validate()?;
        if let Some(e) = &self.failed {
            return Err(e.clone());
        }
        if self.ended {
            return Ok(None);
        }
        if self.truncated.is_some() {
            return self.next_truncated(demand, interrupted);
        }
        if self.demand != Some(demand) {
            self.aim(demand)?;
        }
        let pipeline = self.pipeline.as_mut().ok_or(Error::Cancelled)?;
        match pipeline.take(interrupted) {
            Ok(Some(packed)) => self.deliver(packed),
            Ok(None) => {
                self.ended = true;
                Ok(None)
            }
            Err(Error::Cancelled) => Err(Error::Cancelled),
            Err(e) => Err(self.failed.insert(e).clone()),
        }
    }

    /// Goes on behind a minibatch that failed, leaving it out.
    pub fn skip_failed(&mut self) {
        self.failed = None;
    }

    /// Goes on from a state of this source, or of another one on the same corpus with the same options.
    ///
    /// # Errors
    /// [`tesson_core::ResumeError`] for a state of another corpus, order or version; the source is then as it was.
    pub fn restore(&mut self, state: &ResumeState) -> Result<(), Error> {
        self.check_process()?;
        state.check(&self.fingerprint)?;
        let last = self.demand.take();
        let seek = |planner: &mut Planner, index: &Index| -> Result<Option<Cursor>, Error> {
            planner.restore(index, state, last).map_err(Error::from)
        };
        let pipeline = self.pipeline.as_mut().ok_or(Error::Cancelled)?;
        let cursor = match pipeline.restart(None, seek)? {
            Some(cursor) => cursor,
            None => {
                // The position lies beyond what has been read so far.
                self.switch_to_index()?;
                let pipeline = self.pipeline.as_mut().ok_or(Error::Cancelled)?;
                pipeline.restart(None, seek)?.expect("a complete index needs no more")
            }
        };
        self.failed = None;
        self.ended = false;
        self.restored = Some(Box::new(state.clone()));
        self.state = ResumeState { cursor, ..self.state_at(cursor, state.faults) };
        self.state.consumed = state.consumed.clone();
        self.state.rows = state.rows.clone();
        if let Some(truncated) = &mut self.truncated {
            truncated.reset();
        }
        self.state.share = state.share;
        Ok(())
    }

    /// Ends all threads and closes all files. Minibatches already handed out stay valid.
    pub fn close(&mut self) {
        self.cancelled.store(true, Ordering::SeqCst);
        if self.process == std::process::id() {
            self.pipeline = None;
        } else {
            // The threads did not come along into this process: nobody can wait for them, nor need what they hold.
            std::mem::forget(self.pipeline.take());
        }
    }

    fn check_process(&self) -> Result<(), Error> {
        if self.process == std::process::id() {
            return Ok(());
        }
        Err(UsageError(
            "the source was opened in another process and its threads did not survive the fork; open a new one here and restore the state"
                .into(),
        )
        .into())
    }

    /// Makes the pipeline work for a demand, from behind the last minibatch handed out.
    fn aim(&mut self, demand: Demand) -> Result<(), Error> {
        if let Some(state) = &self.restored {
            state.check_share(demand)?;
        }
        if self.counts_by_rank(demand) && self.joint.is_none() {
            self.switch_to_index()?;
        }
        let from = self.restored.as_deref().unwrap_or(&self.state).clone();
        // If the demand is refused nothing is under way, and the next call has to aim again.
        self.demand = None;
        let started = self.counters.read().minibatches > 0 || from.cursor != Cursor::default();
        let seek = |planner: &mut Planner, index: &Index| -> Result<Option<Cursor>, Error> {
            if started {
                planner.restore(index, &from, Some(demand)).map_err(Error::from)
            } else {
                planner.start(index, demand).map_err(Error::from)
            }
        };
        let pipeline = self.pipeline.as_mut().ok_or(Error::Cancelled)?;
        let cursor = match pipeline.restart(Some(demand), seek)? {
            Some(cursor) => cursor,
            None => {
                self.switch_to_index()?;
                let pipeline = self.pipeline.as_mut().ok_or(Error::Cancelled)?;
                pipeline.restart(Some(demand), seek)?.expect("a complete index needs no more")
            }
        };
        self.warn_if_without_data(demand);
        self.warn_of_other_buckets(demand);
        self.demand = Some(demand);
        self.restored = None;
        self.state.cursor = cursor;
        Ok(())
    }

    /// Says so if minibatches are not those that buckets are made for.
    fn warn_of_other_buckets(&self, demand: Demand) {
        match self.plan.bucketing {
            Some(Bucketing { samples, .. }) if samples != demand.samples => tracing::warn!(
                "minibatches of {} samples are made of buckets of {samples}; most padding is saved where both are the same",
                demand.samples
            ),
            _ => {}
        }
    }

    /// Says so if a rank gets nothing because there are fewer chunks than workers.
    fn warn_if_without_data(&self, demand: Demand) {
        let by_chunk = self.plan.sharing == Sharing::Chunk
            && self.plan.order != OrderSpec::AsStored
            && !self.plan.order.is_local();
        let n_chunks = self.joint.as_ref().map_or(u64::MAX, |j| j.indexed.index.n_chunks() as u64);
        if by_chunk && demand.rank >= n_chunks {
            tracing::warn!(
                "rank {} of {} gets no data: workers share whole chunks and there are {n_chunks}; choose a smaller `chunkSizeInBytes`, or `sharing = \"position\"`",
                demand.rank,
                demand.workers
            );
        }
    }

    /// Whether a sequence's first visit by this rank is a question for the whole index.
    fn counts_by_rank(&self, demand: Demand) -> bool {
        demand.workers > 1 && self.plan.sharing == Sharing::Chunk && self.forgives()
    }

    /// Whether any fault is forgiven, so that they have to be counted.
    fn forgives(&self) -> bool {
        self.parts.max_errors() > 0 || self.fault_share > 0.0
    }

    /// Hands a minibatch out: here, and only here, faults are counted, in plan order.
    fn deliver(&mut self, packed: Packed) -> Result<Option<Minibatch>, Error> {
        let faults = self.charge(&packed.charges, packed.passed, self.state.faults)?;
        if let Some(refused) = packed.refused {
            return Err(refused);
        }
        let n_sequences = packed.arrays.keys.len() as u64;
        let n_samples = packed.arrays.streams.iter().map(|s| s.n_samples()).max().unwrap_or(0) as u64;
        self.counters.samples.fetch_add(n_samples, Ordering::Relaxed);
        self.counters.minibatches.fetch_add(1, Ordering::Relaxed);
        self.counters.sequences.fetch_add(n_sequences, Ordering::Relaxed);
        let consumed = self.state.consumed.take().filter(|c| c.is_ahead_of(packed.after));
        self.state = self.state_at(packed.after, faults);
        self.state.consumed = consumed;
        if packed.data_end {
            self.ended = true;
            if packed.is_empty {
                return Ok(None);
            }
        }
        Ok(Some(Minibatch { arrays: packed.arrays, sweep_end: packed.sweep_end, resume: self.state.clone() }))
    }

    /// Counts faults on top of those charged so far, `passed` sequences having gone by; returns how many there are then.
    fn charge(&mut self, charges: &[Charge], passed: u64, mut faults: u64) -> Result<u64, Error> {
        let share = (self.fault_share * passed as f64) as u64;
        let budget = self.parts.max_errors().max(share);
        for charge in charges {
            faults += 1;
            if charge.fatal || faults > budget {
                let error =
                    if charge.fatal { charge.error.clone() } else { over_budget(&charge.error, budget) };
                return Err(self.failed.insert(error.into()).clone());
            }
            tracing::warn!("{}", charge.error);
            self.counters.faults.fetch_add(1, Ordering::Relaxed);
        }
        if let Some(report) = &mut self.report {
            charges.iter().try_for_each(|charge| report.append(&charge.error))?;
        }
        Ok(faults)
    }

    fn state_at(&self, cursor: Cursor, faults: u64) -> ResumeState {
        let share = match (self.plan.sharing, self.demand) {
            (Sharing::Chunk, Some(Demand { workers: workers @ 2.., rank, .. })) => Some((workers, rank)),
            // What a single worker has passed is passed for all: any number of workers may go on from there.
            _ => None,
        };
        let fingerprint = Some(self.fingerprint.clone());
        ResumeState { cursor, share, faults, fingerprint, ..ResumeState::default() }
    }

    fn joint(&mut self) -> Result<&Joint, Error> {
        if self.joint.is_none() {
            let lanes = Threads { n: self.threads, memory: self.memory_limit / 2 };
            self.joint = Some(join::index(&self.parts, &self.resources, &lanes, self.join)?);
        }
        Ok(self.joint.as_ref().expect("made above"))
    }

    /// Goes over to reading by a complete index.
    fn switch_to_index(&mut self) -> Result<(), Error> {
        let indexed = self.indexed()?.clone();
        // An order that is read as stored keeps its fingerprint: its states are good before and after.
        if !matches!(self.plan.order, OrderSpec::AsStored) {
            Arc::make_mut(&mut self.fingerprint).index = Some(tesson_plan::index_shape(&indexed.index));
        }
        self.pipeline = None;
        let budget = self.budget(&indexed)?;
        let storage =
            (0..self.resources.files().len()).map(|f| self.resources.files()[f].1.size()).sum::<u64>();
        let small = storage <= SMALL.min(budget.blocks / 8);
        let keep = self.parts.keep_in_memory();
        let shuffled = self.plan.order.is_shuffled();
        let by_row = shuffled && !small && !keep && self.is_long(&indexed, storage);
        let retain = keep || small || covers_all(&self.plan.order, &indexed.index);
        // What is read in order is given up at once, and best before it leaves the cache.
        let kept = shuffled || retain;
        let block_bytes = if kept { budget.block_bytes_of(storage) } else { budget.piece_bytes };
        let table = Arc::new(BlockTable::of(&indexed, block_bytes, budget.piece_bytes));
        let supply = Supply::Indexed { index: indexed.index, corpus: indexed.corpus, table };
        self.pipeline = Some(self.pipeline_of(supply, &budget, retain, by_row));
        Ok(())
    }

    /// Whether sequences are better fetched one by one than kept ([`LONG`], [`NARROW`]).
    fn is_long(&self, indexed: &Indexed, storage: u64) -> bool {
        let values: u64 = self.streams.iter().filter(|s| !s.sparse).map(|s| s.shape.len() as u64).sum();
        let narrow = storage < NARROW * values.saturating_mul(indexed.index.n_samples());
        !narrow && storage >= LONG * indexed.index.n_sequences() && indexed.corpus.scattered().is_some()
    }

    fn growing_pipeline(&self) -> Pipeline {
        let budget = Budget::of(self.memory_limit, self.threads);
        let storage =
            (0..self.resources.files().len()).map(|f| self.resources.files()[f].1.size()).sum::<u64>();
        let retain = self.parts.keep_in_memory() || storage <= SMALL.min(budget.blocks / 8);
        self.pipeline_of(Supply::Growing, &budget, retain, false)
    }

    fn pipeline_of(&self, supply: Supply, budget: &Budget, retain: bool, by_row: bool) -> Pipeline {
        let setup = Setup {
            deserializer: self.parts.primary().clone(),
            spec: self.plan.clone(),
            streams: self.stored.clone(),
            transforms: self.transforms.clone(),
            resources: self.resources.clone(),
            counters: self.counters.clone(),
            cancelled: self.cancelled.clone(),
            threads: self.threads,
            memory_limit: usize::try_from(self.memory_limit).unwrap_or(usize::MAX),
            block_budget: budget.blocks as usize,
            prefetch_bytes: budget.prefetch as usize,
            prefetch: self.prefetch,
            retain,
            by_row,
            length_rule: match (self.frame_mode, &self.truncated) {
                (true, _) => LengthRule::Frames,
                (false, Some(_)) => LengthRule::Equal,
                (false, None) => LengthRule::Any,
            },
            charge_foreign: self.plan.sharing == Sharing::Position && self.forgives(),
            piece_bytes: budget.piece_bytes,
            spare_bytes: budget.spares as usize,
        };
        let most = usize::try_from(self.memory_limit / SEQUENCE_BYTES).unwrap_or(usize::MAX);
        let planner = Planner::new(self.plan.clone()).with_most_sequences(most);
        Pipeline::new(setup, Brain::new(planner, supply))
    }

    /// Divides the memory that index and plan leave.
    fn budget(&self, indexed: &Indexed) -> Result<Budget, Error> {
        let index = (indexed.index.bytes() + indexed.corpus.bytes()) as u64;
        let buckets = self.plan.bucketing.map_or(0, |_| Bucketing::bytes(indexed.index.n_sequences()));
        // Equal steps are counted in an order of their own.
        let orders = 1 + u64::from(self.plan.equal_steps.is_some());
        let plan = orders * (4 * window_sequences(&self.plan.order, &indexed.index) + buckets);
        let rest = self.memory_limit.saturating_sub(index + plan);
        if rest == 0 {
            let what = format!(
                "the index takes {index} bytes and the plan up to {plan}, the limit is {}; at least {} are needed",
                self.memory_limit,
                index + plan + 1
            );
            return Err(ConfigError::new("memoryLimit", what).into());
        }
        Ok(Budget::of(rest, self.threads))
    }
}

/// How memory is divided, in bytes.
struct Budget {
    blocks: u64,
    prefetch: u64,
    piece_bytes: u64,
    block_bytes: u64,
    spares: u64,
}

impl Budget {
    fn of(bytes: u64, threads: usize) -> Budget {
        let prefetch = (bytes / 8).min(PREFETCH_BYTES);
        let piece_bytes = (bytes / (32 * threads as u64)).clamp(1, PIECE_BYTES);
        let block_bytes = (bytes / (64 * threads as u64)).clamp(piece_bytes, BLOCK_BYTES.max(piece_bytes));
        // Each worker holds a piece's text and its columns, and what is packed of a block; as much lies ready to be
        // reused, or more, since pieces may be larger than they are meant to be.
        let scratch = (4 * piece_bytes + block_bytes) * (1 + threads as u64);
        let spares = (4 * piece_bytes * (1 + threads as u64)).max(bytes / 16);
        let blocks = bytes - (2 * prefetch + scratch + spares).min(bytes);
        Budget { blocks, prefetch, piece_bytes, block_bytes, spares }
    }

    /// Bytes of a block of a corpus of so many: of a small one there are enough blocks for all threads, too.
    fn block_bytes_of(&self, storage: u64) -> u64 {
        (storage / BLOCKS).clamp(self.piece_bytes, self.block_bytes)
    }
}

/// Whether the order may come back to any chunk at any time of a sweep.
fn covers_all(order: &OrderSpec, index: &Index) -> bool {
    match order {
        OrderSpec::AsStored | OrderSpec::LocalPlain => false,
        OrderSpec::Global { .. } => true,
        OrderSpec::Tumbling { window: Window::Samples(n), .. } => *n >= index.n_samples(),
        OrderSpec::ChunkWindow { window: Window::Chunks(n), .. }
        | OrderSpec::Tumbling { window: Window::Chunks(n), .. } => *n >= index.n_chunks() as u64,
        OrderSpec::ChunkWindow { window: Window::Samples(n), .. } => n / 2 >= index.n_samples(),
    }
}

/// Sequences whose places an order works out at a time, at most.
fn window_sequences(order: &OrderSpec, index: &Index) -> u64 {
    let n = index.n_sequences();
    // Up to two windows are held while a window moves on, in a list whose room doubles when it grows.
    let share = |window: u64, all: u64| {
        (u128::from(n) * u128::from(window) * 6).div_ceil(u128::from(all.max(1))) as u64
    };
    match order {
        OrderSpec::AsStored | OrderSpec::Global { .. } => 0,
        OrderSpec::LocalPlain => {
            (0..index.n_chunks()).map(|c| index.chunk(c).n_sequences).max().unwrap_or(0).into()
        }
        // A window may take in a small corpus many times over.
        OrderSpec::Tumbling { window: Window::Chunks(chunks), .. } => {
            tumbling(n, *chunks, index.n_chunks() as u64)
        }
        OrderSpec::Tumbling { window: Window::Samples(samples), .. } => {
            tumbling(n, *samples, index.n_samples())
        }
        OrderSpec::ChunkWindow { window: Window::Chunks(chunks), .. } => {
            share((*chunks).min(index.n_chunks() as u64), index.n_chunks() as u64).min(2 * n)
        }
        OrderSpec::ChunkWindow { window: Window::Samples(samples), .. } => {
            share((*samples).min(index.n_samples()), index.n_samples()).min(2 * n)
        }
    }
}

/// Entries of a tumbling window of `window` out of `all`, in units of 4 bytes: each takes 16.
fn tumbling(n_sequences: u64, window: u64, all: u64) -> u64 {
    let entries = (u128::from(n_sequences) * u128::from(window)).div_ceil(u128::from(all.max(1)));
    u64::try_from(entries).unwrap_or(u64::MAX).saturating_add(n_sequences).saturating_mul(8)
}

fn over_budget(last: &DataError, budget: u64) -> DataError {
    let kind = DataErrorKind::BudgetSpent { last: Box::new(last.kind().clone()), budget };
    DataError::new(kind, last.at().clone()).within(last.stream().map(str::to_string), last.key().cloned())
}

fn for_each_plan(
    spec: PlanSpec,
    index: &Index,
    demand: Demand,
    mut each: impl FnMut(&BatchPlan) -> bool,
) -> Result<(), Error> {
    demand.validate()?;
    let mut planner = Planner::new(spec);
    planner.start(index, demand)?;
    let mut plan = BatchPlan::default();
    loop {
        let progress = planner.next_batch(index, demand, &mut plan)?;
        debug_assert!(matches!(progress, Progress::Planned), "a complete index needs no more");
        if plan.is_end() || !each(&plan) || plan.data_end {
            return Ok(());
        }
    }
}
