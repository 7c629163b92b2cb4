//! Examples in the order of a plan.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use tesson_core::{DataError, DataErrorKind, Error, Key, Location, ResumeError, UsageError};
use tesson_engine::{DEFAULT_MEMORY_LIMIT, kernels_from_environment};
use tesson_plan::{CountMismatch, Stream, StreamState};
use tesson_tfds::features::{Batch, Schema};
use tesson_tfds::ids::Ids;
use tesson_tfds::info::{Dataset, Shard};
use tesson_tfds::reading::Plan;
use tesson_tfds::split::FileInstruction;

use crate::ahead::{Last, Loaded, Stretch};
use crate::loader::{Behind, Loader, RecordId, Stop};
use crate::order::{Astray, Goal, Order, order_text};
use crate::parts::Parts;
use crate::shards::Shards;
use crate::shelf::Shelf;
use crate::supply::{Found, Supply, Taken, Then};

/// What becomes of records that cannot be read or decoded (§13).
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
pub struct Rows {
    /// The examples.
    pub batch: Batch,
    pub(super) numbers: Vec<u64>,
    /// For each example, how many of its traversal are over with it.
    pub(super) positions: Vec<u64>,
}

impl Rows {
    /// Room for examples.
    pub fn new(schema: &Schema) -> Rows {
        Rows { batch: Batch::new(schema), numbers: Vec::new(), positions: Vec::new() }
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
pub struct Means {
    /// Threads that load and decode ahead of the caller; 0 is one a core. With one the caller's own does it.
    pub threads: usize,
    /// Bytes for all that is read ahead together; what the caller is given is its own. A record that is larger comes alone.
    pub memory_limit: u64,
}

impl Default for Means {
    fn default() -> Means {
        Means { threads: 0, memory_limit: DEFAULT_MEMORY_LIMIT }
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
    supply: Supply,
    /// What was loaded last and has not been given as a whole.
    taken: Option<Taken>,
    /// How many of the traversal are over with what was given, and whether its end was seen.
    delivered: u64,
    ended: bool,
    /// Some bytes behind the last record of a file, which the traversal fails on when all examples are given.
    cut: Option<Error>,
    /// What ended the traversal.
    failed: Option<Error>,
    skipped: u64,
    /// The process that made it: threads do not survive a fork.
    process: u32,
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
        Reader::with(dataset, plan, schema, on_damage, Means::default())
    }

    /// The same with other means.
    ///
    /// # Errors
    /// As [`Reader::new`].
    pub fn with(
        dataset: Arc<Dataset>,
        plan: Plan,
        schema: Arc<Schema>,
        on_damage: OnDamage,
        means: Means,
    ) -> Result<Reader, Error> {
        kernels_from_environment()?;
        let order = Order::new(plan, on_damage)?;
        let plan = &order.plan;
        // A file may stand in the plan several times.
        let by_first: BTreeMap<u64, &Shard> =
            plan.files.iter().map(|f| f.shard(&dataset)).map(|shard| (shard.first, shard)).collect();
        let shards = Shards::new(&dataset, &by_first.values().copied().collect::<Vec<_>>(), plan.lazy)?;
        let place: BTreeMap<u64, usize> = by_first.keys().enumerate().map(|(i, first)| (*first, i)).collect();
        let files = plan.files.iter().map(|f| place[&f.shard(&dataset).first]).collect();
        let ids = Ids::new(&dataset, &plan.files);
        let prefix =
            |f: &FileInstruction| ids.parts(f.shard(&dataset).first).map_or("", |(prefix, _)| prefix);
        let prefixes = plan.files.iter().map(|f| prefix(f).to_owned()).collect();
        let supply = Supply::new(means);
        let in_turns = plan.spec().cycle.get();
        let shelf = Shelf::new(Arc::new(shards), files, in_turns, supply.shelf_bytes(), supply.threads());
        let loader = Loader::new(Arc::new(shelf), &schema);
        Ok(Reader {
            dataset,
            schema,
            prefixes,
            order,
            loader,
            supply,
            taken: None,
            delivered: 0,
            ended: false,
            cut: None,
            failed: None,
            skipped: 0,
            process: std::process::id(),
        })
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
    pub fn id(&self, rows: &Rows, row: usize) -> String {
        self.id_of(RecordId::of(rows.numbers[row]))
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
        self.order.counted_len(self.supply.asks(&self.loader))
    }

    /// Examples of the split, which are what [`Reader::read_at`] numbers.
    pub fn split_len(&self) -> u64 {
        self.plan().files.iter().map(|file| file.take).sum()
    }

    /// Appends the next `n` examples; fewer at the end of the traversal.
    ///
    /// # Errors
    /// Damage, at its place in the order. The examples before it are in `rows`; the traversal stays failed.
    pub fn read(&mut self, n: usize, rows: &mut Rows) -> Result<(), Error> {
        self.check()?;
        let result = self.read_on(n, rows);
        self.failed = result.as_ref().err().cloned();
        result
    }

    fn check(&self) -> Result<(), Error> {
        self.check_process()?;
        self.failed.clone().map_or(Ok(()), Err)
    }

    fn check_process(&self) -> Result<(), Error> {
        if self.process == std::process::id() {
            return Ok(());
        }
        let what = "the reader was opened before a fork, and its threads did not come along: open a new one in this \
            process, and restore the state";
        Err(UsageError(what.into()).into())
    }

    fn read_on(&mut self, n: usize, rows: &mut Rows) -> Result<(), Error> {
        let end = rows.len().saturating_add(n);
        loop {
            self.give(end - rows.len(), rows);
            if rows.len() == end {
                return Ok(());
            }
            let Some(taken) = self.taken.take() else {
                let left = end - rows.len();
                let loaded = self.supply.next(n, left, &mut self.order, &mut self.loader);
                self.settle(loaded);
                continue;
            };
            let (then, rest) = self.supply.give_back(taken);
            match then {
                Then::More => {}
                Then::Again => self.go_on()?,
                Then::Failed(error) => return Err(error),
                Then::Stopped(stop) => self.stopped(stop, rest)?,
                Then::End => {
                    self.ended = true;
                    return self.cut().map_or(Ok(()), Err);
                }
                Then::Unreadable(error, at) => return Err(self.with_id(error, at)),
                Then::Wrong(mismatch) => {
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
    fn settle(&mut self, loaded: Loaded) {
        let mut taken = Taken::new(loaded);
        for ((at, id), behind) in taken.ends() {
            let next = RecordId { record: id.record + 1, ..id };
            let fails = self.order.on_damage == OnDamage::Fail;
            let (records, cut) = match behind {
                // Where damage is left out there is nothing, else it is met in its place.
                Ok(Behind::Damage) if fails => (next.record + 1, None),
                Ok(Behind::Nothing | Behind::Damage) => (next.record, None),
                Ok(Behind::Cut { records, error }) => {
                    let at = RecordId { record: records, ..next };
                    (records, Some(self.with_id(error, at)).filter(|_| fails))
                }
                Ok(Behind::Records(records)) => (records, None),
                Err(error) => {
                    taken.cut(at, Then::Failed(error));
                    break;
                }
            };
            taken.found(Found { at, file: id.file, records, cut });
            if records != next.record {
                taken.cut(at, Then::Again);
                break;
            }
        }
        self.taken = Some(taken);
    }

    /// Gives examples of what was loaded, and learns what was found where files should end, as far as they were given:
    /// states depend on it.
    fn give(&mut self, n: usize, rows: &mut Rows) {
        let Some(taken) = &mut self.taken else { return };
        self.delivered = taken.give(n, rows).unwrap_or(self.delivered);
        while let Some((over, Found { file, records, cut, .. })) = taken.reached() {
            // Without the example before the file's end nobody depends on that.
            self.order.lengths.learn(vec![(file, records)], over.checked_sub(1));
            self.cut = self.cut.take().or(cut);
        }
    }

    /// The first record of a stretch could not be loaded.
    fn stopped(&mut self, stop: Stop, rest: Stretch) -> Result<(), Error> {
        let bad = RecordId::of(rest.numbers[0]);
        let records = match (stop, self.order.on_damage) {
            (Stop::Full, _) => {
                self.load(rest);
                return Ok(());
            }
            (Stop::Short { records }, OnDamage::Skip) => {
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
                self.load(rest.behind(n));
                return Ok(());
            }
            (Stop::Short { records }, _) => records,
            (Stop::Failed(Error::Data(error)) | Stop::Cut(Error::Data(error)), OnDamage::Skip) => {
                self.leave_out(&error);
                self.delivered = rest.over + 1;
                self.load(rest.behind(1));
                return Ok(());
            }
            (Stop::Failed(Error::Data(error)) | Stop::Cut(Error::Data(error)), OnDamage::StopShard) => {
                tracing::warn!("the file ends here: {error}");
                bad.record
            }
            (Stop::Failed(error) | Stop::Cut(error), _) => return Err(self.with_id(error, bad)),
        };
        self.order.lengths.stop(bad.file, records, Some(self.delivered));
        self.go_on()
    }

    /// Loads what is left of a stretch. What was planned behind it stays as it is.
    fn load(&mut self, rest: Stretch) {
        let loaded = self.supply.load(rest, &mut self.loader);
        self.settle(loaded);
    }

    /// Goes on in this traversal with what is known of the files now.
    fn go_on(&mut self) -> Result<(), Error> {
        self.supply.forget();
        self.taken = None;
        self.order.go_on(self.delivered)
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
        rows: &mut Rows,
    ) -> Result<usize, Error> {
        self.check()?;
        if self.order.on_damage == OnDamage::StopShard && workers > 1 {
            let what = "`stop_shard` is for one worker: the others do not see where a file is damaged; `skip` leaves out \
                damaged records alone";
            return Err(UsageError(what.into()).into());
        }
        self.turn_back()?;
        if workers > 1 {
            self.order.is_shared();
        }
        let result = self.share(n, (workers, rank), rows);
        self.failed = result.as_ref().err().cloned();
        result
    }

    fn share(&mut self, n: usize, (workers, rank): (usize, usize), rows: &mut Rows) -> Result<usize, Error> {
        let (start, mut all, mut failed) = (rows.len(), 0, None);
        while all < n {
            let Stretch { numbers, last, .. } = self.order.stretch(n - all, self.supply.asks(&self.loader));
            // Of each stretch those whose place in all of them is the rank's.
            let first = (rank + workers - all % workers) % workers;
            rows.numbers.extend(numbers.iter().skip(first).step_by(workers));
            all += numbers.len();
            self.stands_at_order();
            rows.positions.resize(rows.numbers.len(), self.delivered);
            failed = match last {
                Last::More => continue,
                Last::End if all == 0 => self.cut(),
                Last::End => None,
                Last::Wrong(mismatch) => Some(self.count_error(mismatch)),
                Last::Failed(error, at) => Some(self.with_id(error, at)),
            };
            break;
        }
        self.load_known(start, rows, self.order.on_damage)?;
        failed.map_or(Ok(all), Err)
    }

    /// Makes the order stand where the reader does, with nothing ahead.
    fn turn_back(&mut self) -> Result<(), ResumeError> {
        self.supply.forget();
        self.taken = None;
        self.order.turn_to(&self.state())
    }

    fn stands_at_order(&mut self) {
        (self.delivered, self.ended) = (self.order.stream.delivered(), self.order.stream.has_ended());
    }

    /// Appends the examples at these places of the split, files in the order of the plan.
    ///
    /// # Errors
    /// A place that is not there, or in a file that is compressed as a whole; a record that cannot be read or decoded, behind
    /// those before it.
    pub fn read_at(&mut self, places: &[u64], rows: &mut Rows) -> Result<(), Error> {
        self.check_process()?;
        let numbers = places.iter().map(|place| self.number_at(*place));
        let numbers: Vec<u64> = numbers.collect::<Result<_, _>>()?;
        self.check_places(&numbers)?;
        let start = rows.len();
        rows.numbers.extend(numbers);
        rows.positions.resize(rows.numbers.len(), 0);
        self.load_known(start, rows, OnDamage::Fail)
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

    /// Loads records that are known to be there, those of the rows from `start` on; side by side if that is worth it.
    fn load_known(&mut self, mut start: usize, rows: &mut Rows, on_damage: OnDamage) -> Result<(), Error> {
        let pieces = self.supply.share_out(&rows.numbers[start..], &self.loader);
        for len in pieces {
            let Some(Loaded { mut batch, stop, .. }) = self.supply.take_piece() else { break };
            let (loaded, end) = (start + batch.rows(), start + len);
            if rows.batch.rows() == 0 {
                std::mem::swap(&mut rows.batch, &mut batch);
            } else {
                rows.batch.append(&batch, 0..batch.rows());
            }
            self.supply.keep(batch);
            let here = stop.map_or(Ok(end), |stop| self.load_on(loaded..end, Some(stop), rows, on_damage));
            if here.is_err() {
                self.supply.forget();
            }
            start = here?;
        }
        self.load_on(start..rows.numbers.len(), None, rows, on_damage)?;
        self.supply.learn(&rows.batch);
        Ok(())
    }

    /// Loads some of the rows by itself, the first of which could not be loaded if there is a `stop` already. Returns where
    /// they end: earlier if some are left out.
    fn load_on(
        &mut self,
        Range { mut start, mut end }: Range<usize>,
        mut stop: Option<Stop>,
        rows: &mut Rows,
        on_damage: OnDamage,
    ) -> Result<usize, Error> {
        loop {
            let stop = match stop.take() {
                Some(stop) => stop,
                None => {
                    let (numbers, parts) = (&rows.numbers[start..end], &mut Parts::default());
                    match self.loader.load(numbers, parts, &mut rows.batch, usize::MAX) {
                        Ok(()) => return Ok(end),
                        Err((done, stop)) => {
                            start += done;
                            stop
                        }
                    }
                }
            };
            let bad = RecordId::of(rows.numbers[start]);
            let error = match stop {
                Stop::Full => continue,
                Stop::Failed(error) | Stop::Cut(error) => error,
                Stop::Short { records } => self.absent(bad, records).into(),
            };
            if let (Error::Data(error), OnDamage::Skip) = (&error, on_damage) {
                self.leave_out(error);
                rows.numbers.remove(start);
                rows.positions.remove(start);
                end -= 1;
                continue;
            }
            rows.numbers.truncate(start);
            rows.positions.truncate(start);
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
        let begun = self.turn_back().map_err(Error::from).and_then(|()| self.order.begin(&self.state()));
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
        self.supply.forget();
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
    pub fn state_behind(&self, rows: &Rows, row: usize) -> StreamState {
        StreamState { delivered: rows.positions[row], ended: false, ..self.state() }
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
        self.supply.forget();
        self.taken = None;
        self.failed = None;
        self.stands_at_order();
        Ok(())
    }

    /// The same where files have these lengths, with the stream already there.
    pub(super) fn stand_at(&mut self, lengths: BTreeMap<usize, u64>, stream: Stream) {
        self.supply.forget();
        self.taken = None;
        self.failed = None;
        self.order.stand_at(lengths, stream);
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
        rows: &mut Rows,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<(), Error> {
        self.check_process()?;
        let goal = Goal { traversal: Some(traversal), place, with_next: true };
        let asks = self.supply.asks(&self.loader);
        let number = self.order.find(goal, asks, go_on).map(|(_, number)| number);
        let absent = || UsageError(format!("there is no example {place}"));
        let number = number.map_err(|astray| self.led_astray(astray))?.ok_or_else(absent)?;
        self.check_places(&[number])?;
        let start = rows.len();
        rows.numbers.push(number);
        rows.positions.push(0);
        self.load_known(start, rows, OnDamage::Fail)
    }

    pub(super) fn led_astray(&self, astray: Astray) -> Error {
        match astray {
            Astray::Count(mismatch) => self.count_error(mismatch),
            Astray::Record(error, at) => self.with_id(error, at),
            Astray::Other(error) => error,
        }
    }

    /// Goes to a place that it may never have been at.
    pub(super) fn go_to(&mut self, goal: Goal, go_on: &mut dyn FnMut() -> bool) -> Result<(), Error> {
        let asks = self.supply.asks(&self.loader);
        let gone = self.order.seek(goal, asks, go_on);
        gone.map_err(|astray| self.led_astray(astray))?;
        self.supply.forget();
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
