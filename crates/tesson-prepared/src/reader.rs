//! Examples in the order of a plan.

mod errors;
mod example_batch;
mod position;
mod random_access;
mod share;
mod state;

use std::collections::BTreeMap;
use std::sync::Arc;

use tesson_core::store::Store;
use tesson_core::{ConfigError, DataError, Error, ResumeError, UsageError};
use tesson_engine::{
    Canceller, DEFAULT_MEMORY_LIMIT, EncodedTransforms, ProcessGuard, kernels_from_environment,
};
use tesson_tfds::features::Schema;
use tesson_tfds::ids::Ids;
use tesson_tfds::info::{Dataset, Shard};
use tesson_tfds::reading::Plan;
use tesson_tfds::split::FileInstruction;

use crate::block_cache::BlockCache;
use crate::images::ImageTransforms;
use crate::loader::{LoadStop, Loader, RecordId, TailProbe};
use crate::order::{Order, order_text};
use crate::prefetcher::{AfterBatch, PendingExamples, Prefetcher, ShardEnd};
use crate::shards::Shards;
use crate::stretches::{LoadedStretch, Stretch};

pub use example_batch::ExampleBatch;
pub use state::Restoring;

/// How records are handled that cannot be read or decoded (spec/tfds.md §13).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnDamage {
    /// The traversal fails there, and stays failed.
    #[default]
    Fail,
    /// The record is left out and counted, also one that its file is too short for; all others keep their places, so that
    /// the order is the declared one, for any number of workers. Records beyond the declared ones are not read.
    Skip,
    /// The file ends there.
    StopShard,
}

/// Limits of a reader. What it delivers does not depend on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReaderLimits {
    /// Threads that load and decode in advance; 0 is one a core. With 1 the caller's own thread does it.
    pub threads: usize,
    /// Bytes of everything that is read ahead; delivered examples are not counted. A larger record is read alone.
    pub memory_limit: u64,
}

impl Default for ReaderLimits {
    fn default() -> ReaderLimits {
        ReaderLimits { threads: 0, memory_limit: DEFAULT_MEMORY_LIMIT }
    }
}

/// Cancels retried reads, so that nothing waits for them when the threads are joined.
impl Drop for Reader {
    fn drop(&mut self) {
        self.canceller.cancel();
    }
}

/// Reads the examples of a plan: in its order, pass after pass, or by their places in the split.
///
/// A reader is at some place of some traversal. What is delivered depends on that alone, so [`Reader::state`] is all
/// that has to be kept to resume, in this process or another. Its threads end with it.
pub struct Reader {
    dataset: Arc<Dataset>,
    schema: Arc<Schema>,
    /// Prefixes of ids, one for each file of the plan.
    prefixes: Vec<String>,
    order: Order,
    loader: Loader,
    prefetcher: Prefetcher,
    /// The transforms of images, if there are any beside decoding.
    images: Option<Arc<ImageTransforms>>,
    /// The stretch that was loaded last, while some of its examples are not delivered.
    taken: Option<PendingExamples>,
    /// How many examples of the traversal are over, and whether its end was reached.
    delivered: u64,
    ended: bool,
    /// A partial record at the end of a file: an error after the last example of the traversal.
    cut: Option<Error>,
    /// The error that ended the traversal.
    failed: Option<Error>,
    skipped: u64,
    canceller: Canceller,
    process: ProcessGuard,
}

impl Reader {
    /// A reader at the beginning of a plan, with a thread for each core. All shards of the plan must be in the store, unless it
    /// is `lazy`; none is opened.
    ///
    /// # Errors
    /// Missing shards, all by name; a plan without order.
    pub fn new(
        store: &dyn Store,
        dataset: Arc<Dataset>,
        plan: Plan,
        schema: Arc<Schema>,
        on_damage: OnDamage,
    ) -> Result<Reader, Error> {
        Reader::with(store, dataset, plan, schema, on_damage, ReaderLimits::default())
    }

    /// A reader with these limits.
    ///
    /// # Errors
    /// Those of [`Reader::new`].
    pub fn with(
        store: &dyn Store,
        dataset: Arc<Dataset>,
        plan: Plan,
        schema: Arc<Schema>,
        on_damage: OnDamage,
        limits: ReaderLimits,
    ) -> Result<Reader, Error> {
        kernels_from_environment()?;
        let order = Order::new(Arc::new(plan), on_damage)?;
        let shards: Vec<&Shard> = shards_of(&dataset, &order.plan).into_values().collect();
        let shards = Shards::new(store.shared(), &dataset, &shards, order.plan.lazy)?;
        Ok(Reader::of(dataset, schema, order, shards, limits))
    }

    /// A reader at the beginning of an order.
    fn of(
        dataset: Arc<Dataset>,
        schema: Arc<Schema>,
        order: Order,
        shards: Shards,
        limits: ReaderLimits,
    ) -> Reader {
        let plan = &order.plan;
        let firsts: Vec<u64> = shards_of(&dataset, plan).into_keys().collect();
        let place = |f: &FileInstruction| firsts.partition_point(|first| *first < f.shard(&dataset).first);
        let files = plan.files.iter().map(place).collect();
        let canceller = shards.canceller.clone();
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
        Reader {
            dataset,
            schema,
            prefixes,
            order,
            loader,
            prefetcher,
            images: None,
            taken: None,
            delivered: 0,
            ended: false,
            cut: None,
            failed: None,
            skipped: 0,
            canceller,
            process: ProcessGuard::here(),
        }
    }

    /// Another reader of the same, at the beginning.
    pub(crate) fn reopened(&self) -> Reader {
        let order = Order::new(Arc::clone(&self.order.plan), self.order.on_damage);
        let order = order.expect("the same order was made before");
        let shards = self.loader.cache().shards().reopened();
        let (dataset, schema) = (Arc::clone(&self.dataset), Arc::clone(&self.schema));
        let reader = Reader::of(dataset, schema, order, shards, self.prefetcher.limits());
        self.images.iter().fold(reader, |reader, images| reader.making(Arc::clone(images)))
    }

    /// This reader, which has delivered nothing, with images transformed instead of decoded. Its schema reads them as they
    /// are stored ([`Selection::raw`](tesson_tfds::features::Selection::raw)).
    ///
    /// Random numbers depend on the seed, the pass of the files and the id of the example; where the order repeats examples,
    /// on the position in the traversal, too.
    ///
    /// # Errors
    /// A feature that is not read, or not as it is stored.
    pub fn with_transforms(self, transforms: Vec<EncodedTransforms>) -> Result<Reader, ConfigError> {
        if transforms.is_empty() {
            return Ok(self);
        }
        let (stored, prefixes) = (Arc::clone(&self.schema), self.prefixes.clone());
        let room = self.prefetcher.sample_room();
        let images = ImageTransforms::new(stored, transforms, prefixes, self.plan().spec(), room)?;
        Ok(self.making(Arc::new(images)))
    }

    fn making(mut self, images: Arc<ImageTransforms>) -> Reader {
        self.loader = Loader::new(Arc::clone(self.loader.cache()), &self.schema).with_images(&images);
        self.schema = Arc::clone(&images.delivered);
        self.images = Some(images);
        self
    }

    /// Something that ends a blocked call from another thread, and the reader with it.
    pub fn canceller(&self) -> Canceller {
        self.canceller.clone()
    }

    /// The schema of examples as they are read.
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

    /// The id of an example: its file and its number in that (spec/tfds.md §8.10).
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

    /// Examples of a traversal, of files that are counted where what the dataset says is not checked (`assert_cardinality`, shares of files).
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
        self.end_call(&result);
        result
    }

    /// Remembers why a call failed. The threads end with the traversal, so that a reader that is kept, for a state or in
    /// the traceback of an exception, keeps no threads.
    fn end_call<T>(&mut self, result: &Result<T, Error>) {
        self.failed = result.as_ref().err().cloned();
        if self.is_over() {
            self.prefetcher.end_threads();
        }
    }

    /// True if the traversal has nothing more to read.
    pub(crate) fn is_over(&self) -> bool {
        self.ended || self.failed.is_some()
    }

    fn check(&self) -> Result<(), Error> {
        self.check_usable()?;
        self.failed.clone().map_or(Ok(()), Err)
    }

    fn check_usable(&self) -> Result<(), Error> {
        self.check_process()?;
        self.canceller.check()
    }

    pub(crate) fn check_process(&self) -> Result<(), UsageError> {
        self.process.check("the reader")
    }

    /// Examples that the next calls return without reading.
    pub(crate) fn loaded(&self) -> usize {
        self.taken.as_ref().map_or(0, PendingExamples::len)
    }

    fn read_on(&mut self, n: usize, examples: &mut ExampleBatch) -> Result<(), Error> {
        let end = examples.len().saturating_add(n);
        loop {
            self.give(end - examples.len(), examples);
            if examples.len() == end {
                return Ok(());
            }
            self.canceller.check()?;
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

    /// The error after the last example of the traversal.
    fn cut(&self) -> Option<Error> {
        let passed_over = || self.order.lengths.cut().map(|(error, at)| self.with_id(error.clone(), at));
        self.cut.clone().or_else(passed_over)
    }

    /// Checks how much of the loaded stretch is valid: files may be longer than declared.
    fn settle(&mut self, loaded: LoadedStretch) {
        let mut taken = PendingExamples::new(loaded);
        for ((at, id), tail) in taken.ends() {
            let next = RecordId { record: id.record + 1, ..id };
            let fails = self.order.on_damage == OnDamage::Fail;
            let (records, cut) = match tail {
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

    /// Delivers loaded examples, and records what was found at the ends of the files that they reach: states depend on it.
    fn give(&mut self, n: usize, examples: &mut ExampleBatch) {
        let Some(taken) = &mut self.taken else { return };
        self.delivered = taken.give(n, examples).unwrap_or(self.delivered);
        while let Some((over, ShardEnd { file, records, cut, .. })) = taken.reached() {
            // Without the example before the file's end nothing depends on that.
            self.order.lengths.learn(vec![(file, records)], over.checked_sub(1));
            self.cut = self.cut.take().or(cut);
        }
    }

    /// Handles a stretch whose first record could not be loaded.
    fn stopped(&mut self, stop: LoadStop, rest: Stretch) -> Result<(), Error> {
        let first = RecordId::of(rest.numbers[0]);
        let on_damage = self.order.on_damage;
        let error = match stop {
            LoadStop::Full => {
                self.load(rest);
                return Ok(());
            }
            LoadStop::Short { records } if on_damage == OnDamage::Skip => {
                self.leave_out_absent(rest, first, records);
                return Ok(());
            }
            LoadStop::Short { records } => return self.end_file(first.file, records),
            LoadStop::Failed(error) | LoadStop::Cut(error) => error,
        };
        match (error, on_damage) {
            (Error::Data(error), OnDamage::Skip) => {
                self.leave_out(&error);
                self.load_after(rest, 1);
                Ok(())
            }
            (Error::Data(error), OnDamage::StopShard) => {
                if self.dataset.is_new_damage(&error) {
                    tracing::warn!("the file ends here: {error}");
                }
                self.end_file(first.file, first.record)
            }
            (error, _) => Err(self.with_id(error, first)),
        }
    }

    /// Leaves out the records at the front of a stretch that their file, which has so many, does not have. All at once: each
    /// by itself would be looked for.
    fn leave_out_absent(&mut self, rest: Stretch, first: RecordId, records: u64) {
        let is_absent = |id: &RecordId| id.file == first.file && id.record >= records;
        let ids = rest.numbers.iter().map(|number| RecordId::of(*number));
        let n = ids.take_while(is_absent).count().max(1);
        for number in &rest.numbers[..n] {
            let error = self.absent(RecordId::of(*number), records);
            self.leave_out(&error);
        }
        self.load_after(rest, n);
    }

    /// Continues with a file that ends after so many records.
    fn end_file(&mut self, file: usize, records: u64) -> Result<(), Error> {
        self.order.lengths.stop(file, records, Some(self.delivered));
        self.replan()
    }

    /// Loads what is left of a stretch after `n` examples that were left out.
    fn load_after(&mut self, rest: Stretch, n: usize) {
        self.delivered = rest.over + n as u64;
        self.load(rest.after(n));
    }

    /// Loads what is left of a stretch. What was planned after it stays as it is.
    fn load(&mut self, rest: Stretch) {
        let loaded = self.prefetcher.load(rest, &mut self.loader);
        self.settle(loaded);
    }

    /// Plans the rest of this traversal anew, with what is known of the files now.
    fn replan(&mut self) -> Result<(), Error> {
        self.prefetcher.discard();
        self.taken = None;
        self.order.resume_at(self.delivered)
    }

    /// Moves the order to where the reader stands, and discards what was prefetched.
    fn discard_prefetch(&mut self) -> Result<(), ResumeError> {
        self.prefetcher.discard();
        self.taken = None;
        self.order.return_to(&self.state())
    }

    fn stands_at_order(&mut self) {
        (self.delivered, self.ended) = (self.order.stream.delivered(), self.order.stream.has_ended());
    }

    fn leave_out(&mut self, error: &DataError) {
        if self.dataset.is_new_damage(error) {
            tracing::warn!("left out: {error}");
        }
        self.skipped += 1;
    }

    /// The properties that the order depends on, each with a name and a text: a state fits readers for which all are
    /// equal.
    pub fn identity(&self) -> [(&'static str, String); 3] {
        let info = &self.dataset.info;
        let config = info.config.as_ref().map_or(String::new(), |config| format!("/{config}"));
        let of = |f: &FileInstruction| {
            format!("{} {} {} {}\n", f.shard(&self.dataset).file, f.skip, f.take, f.examples_in_shard)
        };
        let transformed = |images: &Arc<ImageTransforms>| format!(", pictures {}", images.identity());
        let images = self.images.as_ref().map_or(String::new(), transformed);
        let files: String = self.plan().own.iter().map(|i| of(&self.plan().files[*i])).collect();
        let hash = xxhash_rust::xxh3::xxh3_64(files.as_bytes());
        [
            ("dataset", format!("{}{config} {}", info.name, info.version)),
            ("files", format!("{} files, {hash:016x}", self.plan().own.len())),
            ("order", format!("{}{images}", order_text(self.plan().spec()))),
        ]
    }
}

/// The shards of a plan by their first examples; a file may be in a plan several times.
fn shards_of<'a>(dataset: &'a Dataset, plan: &Plan) -> BTreeMap<u64, &'a Shard> {
    plan.files.iter().map(|f| f.shard(dataset)).map(|shard| (shard.first, shard)).collect()
}
