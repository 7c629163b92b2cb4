//! Examples in the order of a plan.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use tesson_core::{DataError, DataErrorKind, Error, Key, Location, ResumeError, UsageError};
use tesson_engine::store::FileStore;
use tesson_engine::{Canceller, DEFAULT_MEMORY_LIMIT, ProcessGuard, kernels_from_environment};
use tesson_plan::{CountMismatch, Stream, StreamState};
use tesson_tfds::features::{Batch, Schema};
use tesson_tfds::ids::Ids;
use tesson_tfds::info::{Dataset, Shard};
use tesson_tfds::reading::Plan;
use tesson_tfds::split::FileInstruction;

use crate::block_cache::BlockCache;
use crate::file_runs::Parts;
use crate::loader::{LoadStop, Loader, RecordId, TailProbe};
use crate::order::{Order, SeekError, SeekTarget, order_text};
use crate::prefetcher::{AfterBatch, PendingExamples, Prefetcher, ShardEnd};
use crate::shards::Shards;
use crate::stretches::{LoadedStretch, Stretch, StretchEnd};

/// How records are handled that cannot be read or decoded (§13).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnDamage {
    /// The traversal fails there, and stays failed.
    #[default]
    Fail,
    /// The record is left out and counted, also one that a file ends before; all others keep their places, so that the
    /// order is the one that the dataset says, for any number of workers. Records beyond it are not read.
    Skip,
    /// The file ends there.
    StopShard,
}

/// Examples, and what a reader knows of each.
pub struct ExampleBatch {
    /// The examples.
    pub batch: Batch,
    pub(super) numbers: Vec<u64>,
    /// For each example, how many of its traversal are over with it.
    pub(super) positions: Vec<u64>,
}

impl ExampleBatch {
    /// Room for examples.
    pub fn new(schema: &Schema) -> ExampleBatch {
        ExampleBatch { batch: Batch::new(schema), numbers: Vec::new(), positions: Vec::new() }
    }

    /// Number of examples.
    pub fn len(&self) -> usize {
        self.numbers.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    /// Forgets all examples and keeps the memory.
    pub fn clear(&mut self) {
        self.batch.clear();
        self.numbers.clear();
        self.positions.clear();
    }
}

/// What a reader may use. What it gives does not depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReaderLimits {
    /// Threads that load and decode in advance; 0 is one a core. With 1 the caller's own thread does it.
    pub threads: usize,
    /// Bytes for all that is read ahead together; what the caller is given is its own. A record that is larger comes alone.
    pub memory_limit: u64,
}

impl Default for ReaderLimits {
    fn default() -> ReaderLimits {
        ReaderLimits { threads: 0, memory_limit: DEFAULT_MEMORY_LIMIT }
    }
}

/// Whoever waits for the threads waits for no read that is tried again.
impl Drop for Reader {
    fn drop(&mut self) {
        self.canceller.cancel();
    }
}

/// Reads the examples of a plan: in its order, pass after pass, or by their places in the split.
///
/// A reader is at some place of some traversal. What is delivered depends on that alone, so [`Reader::state`] is all
/// that has to be kept to go on, in this process or another. Its threads end with it.
pub struct Reader {
    dataset: Arc<Dataset>,
    schema: Arc<Schema>,
    /// What ids begin with, for each file of the plan.
    prefixes: Vec<String>,
    pub(super) order: Order,
    loader: Loader,
    prefetcher: Prefetcher,
    /// What was loaded last and has not been given as a whole.
    taken: Option<PendingExamples>,
    /// How many of the traversal are over with what was given, and whether its end was seen.
    delivered: u64,
    ended: bool,
    /// Some bytes behind the last record of a file, which the traversal fails on when all examples are given.
    cut: Option<Error>,
    /// What ended the traversal.
    failed: Option<Error>,
    skipped: u64,
    canceller: Canceller,
    process: ProcessGuard,
}

impl Reader {
    /// A reader at the beginning of a plan, with a thread for each core. All shards of the plan have to be there, unless it
    /// is to find out on the way (`lazy`); none is opened.
    ///
    /// # Errors
    /// Missing shards, all by name; a plan without order.
    pub fn new(
        dataset: Arc<Dataset>,
        plan: Plan,
        schema: Arc<Schema>,
        on_damage: OnDamage,
    ) -> Result<Reader, Error> {
        Reader::with(dataset, plan, schema, on_damage, ReaderLimits::default())
    }

    /// A reader with these limits.
    ///
    /// # Errors
    /// As [`Reader::new`].
    pub fn with(
        dataset: Arc<Dataset>,
        plan: Plan,
        schema: Arc<Schema>,
        on_damage: OnDamage,
        limits: ReaderLimits,
    ) -> Result<Reader, Error> {
        kernels_from_environment()?;
        let order = Order::new(plan, on_damage)?;
        let plan = &order.plan;
        // A file may stand in the plan several times.
        let by_first: BTreeMap<u64, &Shard> =
            plan.files.iter().map(|f| f.shard(&dataset)).map(|shard| (shard.first, shard)).collect();
        let canceller = Canceller::new();
        let shards = Shards::new(
            Arc::new(FileStore),
            canceller.clone(),
            &dataset,
            &by_first.values().copied().collect::<Vec<_>>(),
            plan.lazy,
        )?;
        let place: BTreeMap<u64, usize> = by_first.keys().enumerate().map(|(i, first)| (*first, i)).collect();
        let files = plan.files.iter().map(|f| place[&f.shard(&dataset).first]).collect();
        let ids = Ids::new(&dataset, &plan.files);
        let prefix =
            |f: &FileInstruction| ids.parts(f.shard(&dataset).first).map_or("", |(prefix, _)| prefix);
        let prefixes = plan.files.iter().map(|f| prefix(f).to_owned()).collect();
        let prefetcher = Prefetcher::new(limits);
        let in_turns = plan.spec().cycle.get();
        let cache = BlockCache::new(
            Arc::new(shards),
            files,
            in_turns,
            prefetcher.cache_bytes(),
            prefetcher.threads(),
        );
        let loader = Loader::new(Arc::new(cache), &schema);
        Ok(Reader {
            dataset,
            schema,
            prefixes,
            order,
            loader,
            prefetcher,
            taken: None,
            delivered: 0,
            ended: false,
            cut: None,
            failed: None,
            skipped: 0,
            canceller,
            process: ProcessGuard::here(),
        })
    }

    /// Something that ends a blocked call from another thread, and the reader with it.
    pub fn canceller(&self) -> Canceller {
        self.canceller.clone()
    }

    /// What is read of each example.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.order.plan
    }

    /// Records that were left out, because they are damaged.
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// The id of an example: its file and its number in that (§8.10).
    pub fn id(&self, examples: &ExampleBatch, row: usize) -> String {
        self.id_of(RecordId::of(examples.numbers[row]))
    }

    fn id_of(&self, id: RecordId) -> String {
        format!("{}__{}", self.prefixes[id.file], id.record)
    }

    /// Examples of a traversal, if it has an end.
    pub fn traversal_len(&self) -> Option<u64> {
        self.order.stream.len()
    }

    /// The same, of files that are counted where nobody checks what the dataset says (`assert_cardinality`, shares of files).
    ///
    /// # Errors
    /// Files that cannot be read.
    pub fn counted_len(&mut self) -> Result<Option<u64>, Error> {
        self.order.counted_len(self.prefetcher.probe(&self.loader))
    }

    /// Examples of the split, which are what [`Reader::read_at`] numbers.
    pub fn split_len(&self) -> u64 {
        self.plan().files.iter().map(|file| file.take).sum()
    }

    /// Appends the next `n` examples; fewer at the end of the traversal.
    ///
    /// # Errors
    /// Damage, at its place in the order. The examples before it are in `examples`; the traversal stays failed.
    pub fn read(&mut self, n: usize, examples: &mut ExampleBatch) -> Result<(), Error> {
        self.check()?;
        let result = self.read_on(n, examples);
        self.failed = result.as_ref().err().cloned();
        result
    }

    fn check(&self) -> Result<(), Error> {
        self.check_usable()?;
        self.failed.clone().map_or(Ok(()), Err)
    }

    fn check_usable(&self) -> Result<(), Error> {
        self.process.check("the reader")?;
        self.canceller.check()
    }

    fn read_on(&mut self, n: usize, examples: &mut ExampleBatch) -> Result<(), Error> {
        let end = examples.len().saturating_add(n);
        loop {
            self.give(end - examples.len(), examples);
            if examples.len() == end {
                return Ok(());
            }
            let Some(taken) = self.taken.take() else {
                let left = end - examples.len();
                let loaded = self.prefetcher.next(n, left, &mut self.order, &mut self.loader);
                self.settle(loaded);
                continue;
            };
            let (then, rest) = self.prefetcher.give_back(taken);
            match then {
                AfterBatch::More => {}
                AfterBatch::Again => self.replan()?,
                AfterBatch::Failed(error) => return Err(error),
                AfterBatch::Stopped(stop) => self.stopped(stop, rest)?,
                AfterBatch::End => {
                    self.ended = true;
                    return self.cut().map_or(Ok(()), Err);
                }
                AfterBatch::Unreadable(error, at) => return Err(self.with_id(error, at)),
                AfterBatch::Wrong(mismatch) => {
                    self.ended = true;
                    return Err(self.count_error(mismatch));
                }
            }
        }
    }

    /// What the traversal fails on when all examples are given.
    fn cut(&self) -> Option<Error> {
        let passed_over = || self.order.lengths.cut().map(|(error, at)| self.with_id(error.clone(), at));
        self.cut.clone().or_else(passed_over)
    }

    /// Sees how much of what was loaded is right: files may be longer than was thought.
    fn settle(&mut self, loaded: LoadedStretch) {
        let mut taken = PendingExamples::new(loaded);
        for ((at, id), behind) in taken.ends() {
            let next = RecordId { record: id.record + 1, ..id };
            let fails = self.order.on_damage == OnDamage::Fail;
            let (records, cut) = match behind {
                // Where damage is left out there is nothing, else it is met in its place.
                Ok(TailProbe::Damage) if fails => (next.record + 1, None),
                Ok(TailProbe::Nothing | TailProbe::Damage) => (next.record, None),
                Ok(TailProbe::Cut { records, error }) => {
                    let at = RecordId { record: records, ..next };
                    (records, Some(self.with_id(error, at)).filter(|_| fails))
                }
                Ok(TailProbe::Records(records)) => (records, None),
                Err(error) => {
                    taken.cut(at, AfterBatch::Failed(error));
                    break;
                }
            };
            taken.found(ShardEnd { at, file: id.file, records, cut });
            if records != next.record {
                taken.cut(at, AfterBatch::Again);
                break;
            }
        }
        self.taken = Some(taken);
    }

    /// Gives examples of what was loaded, and learns what was found where files should end, as far as they were given:
    /// states depend on it.
    fn give(&mut self, n: usize, examples: &mut ExampleBatch) {
        let Some(taken) = &mut self.taken else { return };
        self.delivered = taken.give(n, examples).unwrap_or(self.delivered);
        while let Some((over, ShardEnd { file, records, cut, .. })) = taken.reached() {
            // Without the example before the file's end nobody depends on that.
            self.order.lengths.learn(vec![(file, records)], over.checked_sub(1));
            self.cut = self.cut.take().or(cut);
        }
    }

    /// The first record of a stretch could not be loaded.
    fn stopped(&mut self, stop: LoadStop, rest: Stretch) -> Result<(), Error> {
        let bad = RecordId::of(rest.numbers[0]);
        let records = match (stop, self.order.on_damage) {
            (LoadStop::Full, _) => {
                self.load(rest);
                return Ok(());
            }
            (LoadStop::Short { records }, OnDamage::Skip) => {
                // All of the stretch that the file does not have: each by itself would be looked for.
                let absent = |number: &&u64| {
                    let id = RecordId::of(**number);
                    id.file == bad.file && id.record >= records
                };
                let n = rest.numbers.iter().take_while(absent).count().max(1);
                for number in &rest.numbers[..n] {
                    let error = self.absent(RecordId::of(*number), records);
                    self.leave_out(&error);
                }
                self.delivered = rest.over + n as u64;
                self.load(rest.after(n));
                return Ok(());
            }
            (LoadStop::Short { records }, _) => records,
            (LoadStop::Failed(Error::Data(error)) | LoadStop::Cut(Error::Data(error)), OnDamage::Skip) => {
                self.leave_out(&error);
                self.delivered = rest.over + 1;
                self.load(rest.after(1));
                return Ok(());
            }
            (
                LoadStop::Failed(Error::Data(error)) | LoadStop::Cut(Error::Data(error)),
                OnDamage::StopShard,
            ) => {
                tracing::warn!("the file ends here: {error}");
                bad.record
            }
            (LoadStop::Failed(error) | LoadStop::Cut(error), _) => return Err(self.with_id(error, bad)),
        };
        self.order.lengths.stop(bad.file, records, Some(self.delivered));
        self.replan()
    }

    /// Loads what is left of a stretch. What was planned behind it stays as it is.
    fn load(&mut self, rest: Stretch) {
        let loaded = self.prefetcher.load(rest, &mut self.loader);
        self.settle(loaded);
    }

    /// Goes on in this traversal with what is known of the files now.
    fn replan(&mut self) -> Result<(), Error> {
        self.prefetcher.discard();
        self.taken = None;
        self.order.resume_at(self.delivered)
    }

    /// Appends one worker's share of the next `n` examples of all workers: those at places `i` with `i mod workers = rank`
    /// (§12.5). Every worker goes through the same order and reads its own records alone. Returns how many examples all
    /// workers together get: fewer than `n` at the end. A damaged record that is left out counts there, since only its
    /// own worker sees it.
    ///
    /// # Errors
    /// As [`Reader::read`]; files that end where they are damaged, which one worker alone would know of.
    pub fn read_share(
        &mut self,
        n: usize,
        workers: usize,
        rank: usize,
        examples: &mut ExampleBatch,
    ) -> Result<usize, Error> {
        self.check()?;
        if self.order.on_damage == OnDamage::StopShard && workers > 1 {
            let what = "`stop_shard` is for one worker: the others do not see where a file is damaged; `skip` leaves out \
                damaged records alone";
            return Err(UsageError(what.into()).into());
        }
        self.discard_prefetch()?;
        if workers > 1 {
            self.order.is_shared();
        }
        let result = self.share(n, (workers, rank), examples);
        self.failed = result.as_ref().err().cloned();
        result
    }

    fn share(
        &mut self,
        n: usize,
        (workers, rank): (usize, usize),
        examples: &mut ExampleBatch,
    ) -> Result<usize, Error> {
        let (start, mut all, mut failed) = (examples.len(), 0, None);
        while all < n {
            let Stretch { numbers, last, .. } =
                self.order.stretch(n - all, self.prefetcher.probe(&self.loader));
            // Of each stretch those whose place in all of them is the rank's.
            let first = (rank + workers - all % workers) % workers;
            examples.numbers.extend(numbers.iter().skip(first).step_by(workers));
            all += numbers.len();
            self.stands_at_order();
            examples.positions.resize(examples.numbers.len(), self.delivered);
            failed = match last {
                StretchEnd::More => continue,
                StretchEnd::End if all == 0 => self.cut(),
                StretchEnd::End => None,
                StretchEnd::Wrong(mismatch) => Some(self.count_error(mismatch)),
                StretchEnd::Failed(error, at) => Some(self.with_id(error, at)),
            };
            break;
        }
        self.load_known(start, examples, self.order.on_damage)?;
        failed.map_or(Ok(all), Err)
    }

    /// Makes the order stand where the reader does, with nothing ahead.
    fn discard_prefetch(&mut self) -> Result<(), ResumeError> {
        self.prefetcher.discard();
        self.taken = None;
        self.order.return_to(&self.state())
    }

    fn stands_at_order(&mut self) {
        (self.delivered, self.ended) = (self.order.stream.delivered(), self.order.stream.has_ended());
    }

    /// Appends the examples at these places of the split, files in the order of the plan.
    ///
    /// # Errors
    /// A place that is not there, or in a file that is compressed as a whole; a record that cannot be read or decoded, behind
    /// those before it.
    pub fn read_at(&mut self, places: &[u64], examples: &mut ExampleBatch) -> Result<(), Error> {
        self.check_usable()?;
        let numbers = places.iter().map(|place| self.number_at(*place));
        let numbers: Vec<u64> = numbers.collect::<Result<_, _>>()?;
        self.check_places(&numbers)?;
        let start = examples.len();
        examples.numbers.extend(numbers);
        examples.positions.resize(examples.numbers.len(), 0);
        self.load_known(start, examples, OnDamage::Fail)
    }

    /// Refuses places in files that are compressed as a whole: those are streams, and each place would cost all before it (§2).
    fn check_places(&self, numbers: &[u64]) -> Result<(), Error> {
        let mut files: Vec<usize> = numbers.iter().map(|number| RecordId::of(*number).file).collect();
        files.dedup();
        for file in files {
            if !self.loader.random_access(file)? {
                let what = "the file is compressed as a whole, so its records are had in their order alone: read the split \
                    as a stream, or write the file anew without compression";
                return Err(self.error_in(self.loader.path(file), what.to_owned()).into());
            }
        }
        Ok(())
    }

    /// Loads records that are known to be there, those of the examples from `start` on; side by side if that is worth it.
    fn load_known(
        &mut self,
        mut start: usize,
        examples: &mut ExampleBatch,
        on_damage: OnDamage,
    ) -> Result<(), Error> {
        let pieces = self.prefetcher.share_out(&examples.numbers[start..], &self.loader);
        for len in pieces {
            let Some(LoadedStretch { mut batch, stop, .. }) = self.prefetcher.take_piece() else { break };
            let (loaded, end) = (start + batch.rows(), start + len);
            if examples.batch.rows() == 0 {
                std::mem::swap(&mut examples.batch, &mut batch);
            } else {
                examples.batch.append(&batch, 0..batch.rows());
            }
            self.prefetcher.keep(batch);
            let here =
                stop.map_or(Ok(end), |stop| self.load_on(loaded..end, Some(stop), examples, on_damage));
            if here.is_err() {
                self.prefetcher.discard();
            }
            start = here?;
        }
        self.load_on(start..examples.numbers.len(), None, examples, on_damage)?;
        self.prefetcher.learn(&examples.batch);
        Ok(())
    }

    /// Loads some of the examples by itself, the first of which could not be loaded if there is a `stop` already. Returns where
    /// they end: earlier if some are left out.
    fn load_on(
        &mut self,
        Range { mut start, mut end }: Range<usize>,
        mut stop: Option<LoadStop>,
        examples: &mut ExampleBatch,
        on_damage: OnDamage,
    ) -> Result<usize, Error> {
        loop {
            let stop = match stop.take() {
                Some(stop) => stop,
                None => {
                    let (numbers, parts) = (&examples.numbers[start..end], &mut Parts::default());
                    match self.loader.load(numbers, parts, &mut examples.batch, usize::MAX) {
                        Ok(()) => return Ok(end),
                        Err((done, stop)) => {
                            start += done;
                            stop
                        }
                    }
                }
            };
            let bad = RecordId::of(examples.numbers[start]);
            let error = match stop {
                LoadStop::Full => continue,
                LoadStop::Failed(error) | LoadStop::Cut(error) => error,
                LoadStop::Short { records } => self.absent(bad, records).into(),
            };
            if let (Error::Data(error), OnDamage::Skip) = (&error, on_damage) {
                self.leave_out(error);
                examples.numbers.remove(start);
                examples.positions.remove(start);
                end -= 1;
                continue;
            }
            examples.numbers.truncate(start);
            examples.positions.truncate(start);
            return Err(self.with_id(error, bad));
        }
    }

    fn leave_out(&mut self, error: &DataError) {
        tracing::warn!("left out: {error}");
        self.skipped += 1;
    }

    fn number_at(&self, place: u64) -> Result<u64, Error> {
        let mut left = place;
        for (file, of) in self.plan().files.iter().enumerate() {
            if left < of.take {
                return Ok(RecordId { file, record: of.skip + left }.number());
            }
            left -= of.take;
        }
        let what = format!("place {place} is not below the {} examples of the split", self.split_len());
        Err(UsageError(what).into())
    }

    /// Begins the next traversal: the next pass of every shuffle in it.
    pub fn begin(&mut self) {
        // Shuffles have begun no more passes than those that examples were given of.
        let begun =
            self.discard_prefetch().map_err(Error::from).and_then(|()| self.order.begin(&self.state()));
        debug_assert!(begun.is_ok(), "the reader has been there");
        self.stands_at_order();
        (self.failed, self.cut) = (None, None);
    }

    /// Begins the traversal before which shuffles have begun these numbers of passes, the files' first.
    ///
    /// # Errors
    /// Another number of shuffles.
    pub fn begin_after(&mut self, passes: &[u64]) -> Result<(), UsageError> {
        self.order.begin_after(&self.state(), passes)?;
        self.prefetcher.discard();
        (self.taken, self.failed, self.cut) = (None, None, None);
        self.stands_at_order();
        Ok(())
    }

    /// Passes that each shuffle had begun where a state of this reader was taken, the files' first: those that the next
    /// traversal comes after. `go_on` is asked every few milliseconds of a long way.
    ///
    /// # Errors
    /// A state of something else; an interruption.
    pub fn passes_at(
        &self,
        state: &StreamState,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<Vec<u64>, ResumeError> {
        self.order.stream.passes_at(state, go_on)
    }

    /// Where the reader stands, behind all that it has given.
    pub fn state(&self) -> StreamState {
        let started = self.order.stream.started().to_vec();
        StreamState { started, delivered: self.delivered, ended: self.ended }
    }

    /// Where it stood behind the example of a row, of those that it has given in this traversal.
    pub fn state_behind(&self, examples: &ExampleBatch, row: usize) -> StreamState {
        StreamState { delivered: examples.positions[row], ended: false, ..self.state() }
    }

    /// Goes to where a state was taken, of this reader or another of the same plan.
    ///
    /// # Errors
    /// A state of something else.
    pub fn restore(&mut self, state: &StreamState) -> Result<(), ResumeError> {
        self.restore_with(state, &mut || true)
    }

    /// The same, if `go_on` agrees, which is asked every few milliseconds of a long way. The reader stays where it stood if
    /// not.
    ///
    /// # Errors
    /// As [`Reader::restore`]; an interruption.
    pub fn restore_with(
        &mut self,
        state: &StreamState,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<(), ResumeError> {
        // Until it is there, what was planned and loaded ahead holds.
        self.order.restore(&self.state(), state, go_on)?;
        self.prefetcher.discard();
        self.taken = None;
        self.failed = None;
        self.stands_at_order();
        Ok(())
    }

    /// The same where files have these lengths, with the stream already there.
    pub(super) fn adopt_stream(&mut self, lengths: BTreeMap<usize, u64>, stream: Stream) {
        self.prefetcher.discard();
        self.taken = None;
        self.failed = None;
        self.order.adopt_stream(lengths, stream);
        self.stands_at_order();
    }

    /// What the order depends on, a name and a text each: states belong to readers of which all are the same.
    pub fn identity(&self) -> [(&'static str, String); 3] {
        let info = &self.dataset.info;
        let config = info.config.as_ref().map_or(String::new(), |config| format!("/{config}"));
        let of = |f: &FileInstruction| {
            format!("{} {} {} {}\n", f.shard(&self.dataset).file, f.skip, f.take, f.examples_in_shard)
        };
        let files: String = self.plan().own.iter().map(|i| of(&self.plan().files[*i])).collect();
        let hash = xxhash_rust::xxh3::xxh3_64(files.as_bytes());
        [
            ("dataset", format!("{}{config} {}", info.name, info.version)),
            ("files", format!("{} files, {hash:016x}", self.plan().own.len())),
            ("order", order_text(self.plan().spec())),
        ]
    }

    /// The example at a place of a traversal, both counted from 0, appended. `go_on` is asked every few milliseconds of the
    /// way there.
    ///
    /// # Errors
    /// A place that is not there, an interruption, and as [`Reader::read_at`].
    pub fn read_nth(
        &mut self,
        traversal: u64,
        place: u64,
        examples: &mut ExampleBatch,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<(), Error> {
        self.check_usable()?;
        let goal = SeekTarget { traversal: Some(traversal), place, with_next: true };
        let probe = self.prefetcher.probe(&self.loader);
        let number = self.order.find(goal, probe, go_on).map(|(_, number)| number);
        let absent = || UsageError(format!("there is no example {place}"));
        let number = number.map_err(|astray| self.led_astray(astray))?.ok_or_else(absent)?;
        self.check_places(&[number])?;
        let start = examples.len();
        examples.numbers.push(number);
        examples.positions.push(0);
        self.load_known(start, examples, OnDamage::Fail)
    }

    pub(super) fn led_astray(&self, astray: SeekError) -> Error {
        match astray {
            SeekError::Count(mismatch) => self.count_error(mismatch),
            SeekError::Record(error, at) => self.with_id(error, at),
            SeekError::Other(error) => error,
        }
    }

    /// Goes to a place that it may never have been at.
    pub(super) fn seek_to(&mut self, goal: SeekTarget, go_on: &mut dyn FnMut() -> bool) -> Result<(), Error> {
        let probe = self.prefetcher.probe(&self.loader);
        let gone = self.order.seek(goal, probe, go_on);
        gone.map_err(|astray| self.led_astray(astray))?;
        self.prefetcher.discard();
        (self.taken, self.failed, self.cut) = (None, None, None);
        self.stands_at_order();
        Ok(())
    }

    fn with_id(&self, error: Error, id: RecordId) -> Error {
        match error {
            Error::Data(error) => {
                let stream = error.stream().map(str::to_owned);
                error.within(stream, Some(Key::Text(self.id_of(id)))).into()
            }
            other => other,
        }
    }

    /// The files do not hold what the dataset says: which ones, and how many records they have.
    fn count_error(&self, mismatch: CountMismatch) -> Error {
        let expected = |file: usize| self.plan().files[file].examples_in_shard;
        let wrong = self.order.lengths.known.iter().filter(|(file, found)| expected(**file) != **found);
        let named: Vec<String> = wrong
            .map(|(file, found)| format!("{}: {}", self.prefixes[*file], of_file(*found, expected(*file))))
            .collect();
        let dot = if named.is_empty() { "" } else { "; " };
        let what = format!("{mismatch}{dot}{}", named.join(", "));
        self.error_in(Path::new(&self.dataset.directories[0]), what).into()
    }

    /// A record that its file, which has so many, ends before.
    fn absent(&self, id: RecordId, records: u64) -> DataError {
        let expected = self.plan().files[id.file].examples_in_shard;
        let what = format!("record {} is not there: {}", id.record, of_file(records, expected));
        self.error_in(self.loader.path(id.file), what)
    }

    fn error_in(&self, file: &Path, what: String) -> DataError {
        let at = Location { file: file.into(), offset: 0, line: None };
        DataError::new(DataErrorKind::Malformed { what }, at)
    }
}

fn of_file(found: u64, expected: u64) -> String {
    format!("the file holds {found} records, dataset_info.json says {expected}")
}
