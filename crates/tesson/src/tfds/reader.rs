//! Examples in the order of a plan.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use tesson_core::{ConfigError, DataError, DataErrorKind, Error, Key, Location, ResumeError};
use tesson_plan::{CountMismatch, Seeding, Span, Stream, StreamOp, StreamSpec, StreamState};
use tesson_tfds::features::{Batch, Decoder, Limits, Schema};
use tesson_tfds::ids::Ids;
use tesson_tfds::info::{Dataset, Shard};
use tesson_tfds::reading::Plan;
use tesson_tfds::split::FileInstruction;

use super::loader::{Behind, Loader, RecordId, Stop};
use super::shards::Shards;

/// What becomes of records that cannot be read or decoded (§13).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnDamage {
    /// The traversal fails there, and stays failed.
    #[default]
    Fail,
    /// The record is left out and counted; all others keep their places.
    Skip,
    /// The file ends there.
    StopShard,
}

/// Examples, and what a reader knows of each.
pub struct Rows {
    /// The examples.
    pub batch: Batch,
    numbers: Vec<u64>,
    /// For each example, how many of its traversal are over with it.
    positions: Vec<u64>,
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

/// Reads the examples of a plan: in its order, pass after pass, or by their places in the split.
///
/// A reader is at some place of some traversal. What is delivered depends on that alone, so [`Reader::state`] is all
/// that has to be kept to go on, in this process or another.
pub struct Reader {
    dataset: Arc<Dataset>,
    plan: Plan,
    on_damage: OnDamage,
    schema: Arc<Schema>,
    /// What ids begin with, for each file of the plan.
    prefixes: Vec<String>,
    loader: Loader,
    stream: Stream,
    /// How many records files hold, where that has been seen: it may be another number than the dataset says.
    pub(super) lengths: BTreeMap<usize, u64>,
    /// Whether every file is read to its end, whatever the dataset says that it holds (§8.2).
    to_the_end: bool,
    /// Some bytes behind the last record of a file, which the traversal fails on when all examples are given.
    cut: Option<Error>,
    /// What ended the traversal.
    failed: Option<Error>,
    skipped: u64,
}

/// What was said behind some numbers of the order.
enum Next {
    /// There are more.
    More,
    /// The last one is the last of its file, as far as the dataset knows.
    FileEnds(RecordId),
    /// The traversal is over.
    End,
}

impl Reader {
    /// A reader at the beginning of a plan. All shards of the plan have to be there; none is opened.
    ///
    /// # Errors
    /// Missing shards, all by name; a plan without order.
    pub fn new(
        dataset: Arc<Dataset>,
        plan: Plan,
        schema: Arc<Schema>,
        on_damage: OnDamage,
    ) -> Result<Reader, Error> {
        if on_damage == OnDamage::StopShard {
            can_stop(plan.spec())?;
        }
        // A file may stand in the plan several times.
        let by_first: BTreeMap<u64, &Shard> =
            plan.files.iter().map(|f| f.shard(&dataset)).map(|shard| (shard.first, shard)).collect();
        let shards = Shards::new(&dataset, &by_first.values().copied().collect::<Vec<_>>())?;
        let place: BTreeMap<u64, usize> = by_first.keys().enumerate().map(|(i, first)| (*first, i)).collect();
        let files = plan.files.iter().map(|f| place[&f.shard(&dataset).first]).collect();
        let ids = Ids::new(&dataset, &plan.files);
        let prefix =
            |f: &FileInstruction| ids.parts(f.shard(&dataset).first).map_or("", |(prefix, _)| prefix);
        let prefixes = plan.files.iter().map(|f| prefix(f).to_owned()).collect();
        let decoder = Decoder::new(Arc::clone(&schema), Limits::default());
        let loader = Loader::new(files, Arc::new(shards), decoder);
        let lengths = BTreeMap::new();
        let to_the_end = plan.files.iter().all(FileInstruction::reaches_the_end);
        let stream = stream(&plan, to_the_end, on_damage, &lengths)?;
        let (cut, failed, skipped) = (None, None, 0);
        Ok(Reader {
            dataset,
            plan,
            on_damage,
            schema,
            prefixes,
            loader,
            stream,
            lengths,
            to_the_end,
            cut,
            failed,
            skipped,
        })
    }

    /// What is read of each example.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
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
        self.stream.len()
    }

    /// Examples of the split, which are what [`Reader::read_at`] numbers.
    pub fn split_len(&self) -> u64 {
        self.plan.files.iter().map(|file| file.take).sum()
    }

    /// Appends the next `n` examples; fewer at the end of the traversal.
    ///
    /// # Errors
    /// Damage, at its place in the order. The examples before it are in `rows`; the traversal stays failed.
    pub fn read(&mut self, n: usize, rows: &mut Rows) -> Result<(), Error> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        let result = self.read_on(rows.len() + n, rows);
        self.failed = result.as_ref().err().cloned();
        result
    }

    /// Appends one worker's share of the next `n` examples of all workers: those at places `i` with `i mod workers = rank`
    /// (§12.5). Every worker goes through the same order and reads its own records alone. Returns how many examples all
    /// workers together get: fewer than `n` at the end.
    ///
    /// # Errors
    /// As [`Reader::read`].
    pub fn read_share(
        &mut self,
        n: usize,
        workers: usize,
        rank: usize,
        rows: &mut Rows,
    ) -> Result<usize, Error> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        let mut all = Vec::with_capacity(n.min(1 << 16));
        let result = (|| {
            while all.len() < n {
                match self.stream.next() {
                    Ok(Some(number)) => all.push(number),
                    Ok(None) => break,
                    Err(mismatch) => return Err(self.count_error(mismatch)),
                }
            }
            let start = rows.len();
            let delivered = self.stream.delivered();
            rows.numbers.extend(all.iter().skip(rank).step_by(workers));
            rows.positions.resize(rows.numbers.len(), delivered);
            self.load_known(start, rows)
        })();
        self.failed = result.as_ref().err().cloned();
        result.map(|()| all.len())
    }

    /// Appends the examples at these places of the split, files in the order of the plan.
    ///
    /// # Errors
    /// A place that is not there; a record that cannot be read or decoded, behind those before it.
    pub fn read_at(&mut self, places: &[u64], rows: &mut Rows) -> Result<(), Error> {
        let start = rows.len();
        for place in places {
            let number = self.number_at(*place)?;
            rows.numbers.push(number);
            rows.positions.push(0);
        }
        self.load_known(start, rows)
    }

    /// Loads records that are known to be there.
    fn load_known(&mut self, start: usize, rows: &mut Rows) -> Result<(), Error> {
        let loaded = self.loader.load(&rows.numbers[start..], &mut rows.batch);
        let Err((done, stop)) = loaded else { return Ok(()) };
        let bad = RecordId::of(rows.numbers[start + done]);
        rows.numbers.truncate(start + done);
        rows.positions.truncate(start + done);
        match stop {
            Stop::Failed(error) | Stop::Cut(error) => Err(self.with_id(error, bad)),
            Stop::Short { records } => {
                let expected = self.plan.files[bad.file].examples_in_shard;
                let what = format!("record {} is not there: {}", bad.record, of_file(records, expected));
                Err(self.with_id(self.error_in(self.loader.path(bad.file), what), bad))
            }
        }
    }

    fn number_at(&self, place: u64) -> Result<u64, Error> {
        let mut left = place;
        for (file, of) in self.plan.files.iter().enumerate() {
            if left < of.take {
                return Ok(RecordId { file, record: of.skip + left }.number());
            }
            left -= of.take;
        }
        let what = format!("place {place} is not below the {} examples of the split", self.split_len());
        Err(tesson_core::UsageError(what).into())
    }

    fn read_on(&mut self, end: usize, rows: &mut Rows) -> Result<(), Error> {
        while rows.len() < end {
            let start = rows.len();
            let next = self.fill(end - start, rows);
            if self.load(start, rows)? {
                continue;
            }
            match next? {
                Next::More => {}
                Next::End => return self.cut.clone().map_or(Ok(()), Err),
                Next::FileEnds(id) => self.look_behind(id)?,
            }
        }
        Ok(())
    }

    /// The next numbers of the order, at most up to the end of a file: it may go on.
    fn fill(&mut self, n: usize, rows: &mut Rows) -> Result<Next, Error> {
        for _ in 0..n {
            let number = match self.stream.next() {
                Ok(Some(number)) => number,
                Ok(None) => return Ok(Next::End),
                Err(mismatch) => return Err(self.count_error(mismatch)),
            };
            rows.numbers.push(number);
            rows.positions.push(self.stream.delivered());
            let id = RecordId::of(number);
            let file = &self.plan.files[id.file];
            let is_last = self.to_the_end && id.record + 1 == file.examples_in_shard;
            if is_last && !self.lengths.contains_key(&id.file) {
                return Ok(Next::FileEnds(id));
            }
        }
        Ok(Next::More)
    }

    /// Loads what was filled in from `start` on. True: files are not as long as was thought, and the numbers behind the
    /// rows are to be filled in anew.
    fn load(&mut self, start: usize, rows: &mut Rows) -> Result<bool, Error> {
        let mut at = start;
        while let Err((done, stop)) = self.loader.load(&rows.numbers[at..], &mut rows.batch) {
            at += done;
            let (bad, position) = (RecordId::of(rows.numbers[at]), rows.positions[at] - 1);
            let records = match (stop, self.on_damage) {
                (Stop::Short { records }, _) => records,
                (Stop::Failed(Error::Data(error)) | Stop::Cut(Error::Data(error)), OnDamage::Skip) => {
                    tracing::warn!("left out: {error}");
                    self.skipped += 1;
                    rows.numbers.remove(at);
                    rows.positions.remove(at);
                    continue;
                }
                (Stop::Failed(Error::Data(error)) | Stop::Cut(Error::Data(error)), OnDamage::StopShard) => {
                    tracing::warn!("the file ends here: {error}");
                    bad.record
                }
                (Stop::Failed(error) | Stop::Cut(error), _) => {
                    rows.numbers.truncate(at);
                    rows.positions.truncate(at);
                    return Err(self.with_id(error, bad));
                }
            };
            rows.numbers.truncate(at);
            rows.positions.truncate(at);
            self.lengths.insert(bad.file, records);
            self.go_on(position)?;
            return Ok(true);
        }
        Ok(false)
    }

    /// Looks whether a file goes on behind its supposed end.
    fn look_behind(&mut self, id: RecordId) -> Result<(), Error> {
        let next = RecordId { record: id.record + 1, ..id };
        let (records, goes_on) = match self.loader.behind(next)? {
            Behind::Nothing => (next.record, false),
            Behind::Records(records) => (records, true),
            // Where damage is left out there is nothing, else it is met in its place.
            Behind::Damage if self.on_damage == OnDamage::Fail => (next.record + 1, true),
            Behind::Damage => (next.record, false),
            Behind::Cut(error) => {
                let error = self.with_id(error, next);
                self.cut = self.cut.take().or(Some(error)).filter(|_| self.on_damage == OnDamage::Fail);
                (next.record, false)
            }
        };
        self.lengths.insert(id.file, records);
        if goes_on { self.go_on(self.stream.delivered()) } else { Ok(()) }
    }

    /// Goes on in this traversal with what is known of the files now.
    pub(super) fn go_on(&mut self, delivered: u64) -> Result<(), Error> {
        let state = StreamState { started: self.stream.started().to_vec(), delivered, ended: false };
        self.stream = stream(&self.plan, self.to_the_end, self.on_damage, &self.lengths)?;
        Ok(self.stream.restore(&state)?)
    }

    /// Begins the next traversal: the next pass of every shuffle in it.
    pub fn begin(&mut self) {
        self.stream.begin();
        self.failed = None;
    }

    /// Where the reader stands, behind all that it has given.
    pub fn state(&self) -> StreamState {
        self.stream.state()
    }

    /// Where it stood behind the example of a row, of those that it has given in this traversal.
    pub fn state_behind(&self, rows: &Rows, row: usize) -> StreamState {
        StreamState { delivered: rows.positions[row], ended: false, ..self.stream.state() }
    }

    /// Goes to where a state was taken, of this reader or another of the same plan.
    ///
    /// # Errors
    /// A state of something else.
    pub fn restore(&mut self, state: &StreamState) -> Result<(), ResumeError> {
        self.failed = None;
        self.stream.restore(state)
    }

    /// What the order depends on, a name and a text each: states belong to readers of which all are the same.
    pub fn identity(&self) -> [(&'static str, String); 3] {
        let info = &self.dataset.info;
        let config = info.config.as_ref().map_or(String::new(), |config| format!("/{config}"));
        let of = |f: &FileInstruction| {
            format!("{} {} {} {}\n", f.shard(&self.dataset).file, f.skip, f.take, f.examples_in_shard)
        };
        let files: String = self.plan.own.iter().map(|i| of(&self.plan.files[*i])).collect();
        let hash = xxhash_rust::xxh3::xxh3_64(files.as_bytes());
        [
            ("dataset", format!("{}{config} {}", info.name, info.version)),
            ("files", format!("{} files, {hash:016x}", self.plan.own.len())),
            ("order", order_text(self.plan.spec())),
        ]
    }

    /// The example at a place of the first traversal, appended.
    ///
    /// # Errors
    /// A place that is not there, and as [`Reader::read_at`].
    pub fn read_nth(&mut self, place: u64, rows: &mut Rows) -> Result<(), Error> {
        let mut stream = stream(&self.plan, self.to_the_end, self.on_damage, &BTreeMap::new())?;
        let missing = || tesson_core::UsageError(format!("there is no example {place}"));
        stream.skip(place).map_err(|_| missing())?;
        let number = stream.next().ok().flatten().ok_or_else(missing)?;
        let id = RecordId::of(number);
        let before: u64 = self.plan.files[..id.file].iter().map(|file| file.take).sum();
        self.read_at(&[before + id.record - self.plan.files[id.file].skip], rows)
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
        let expected = |file: usize| self.plan.files[file].examples_in_shard;
        let wrong = self.lengths.iter().filter(|(file, found)| expected(**file) != **found);
        let named: Vec<String> = wrong
            .map(|(file, found)| format!("{}: {}", self.prefixes[*file], of_file(*found, expected(*file))))
            .collect();
        let dot = if named.is_empty() { "" } else { "; " };
        let what = format!("{mismatch}{dot}{}", named.join(", "));
        self.error_in(Path::new(&self.dataset.directories[0]), what)
    }

    fn error_in(&self, file: &Path, what: String) -> Error {
        let at = Location { file: file.into(), offset: 0, line: None };
        DataError::new(DataErrorKind::Malformed { what }, at).into()
    }
}

/// Whether a file may end where it is damaged. Not below a shuffle of examples: it has taken what lies behind the damage
/// before that is found.
fn can_stop(spec: &StreamSpec) -> Result<(), ConfigError> {
    match spec.ops.iter().any(|op| matches!(op, StreamOp::Shuffle { .. })) {
        true => {
            let what = "`stop_shard` and a shuffle of examples exclude each other; `skip` leaves out damaged records alone";
            Err(ConfigError::new("on_damage", what))
        }
        false => Ok(()),
    }
}

/// The order of a stream in words that stay as they are: states hold them.
fn order_text(spec: &StreamSpec) -> String {
    let seeds = |of: &Seeding| {
        let once = if of.reshuffle { "" } else { ", once" };
        format!("shuffle({}, {}{once})", of.pair.0, of.pair.1)
    };
    let op = |op: &StreamOp| match op {
        StreamOp::Shuffle { buffer, seeding } => format!(" {} of {buffer}", seeds(seeding)),
        StreamOp::Repeat(n) => format!(" repeat {n}"),
        StreamOp::Skip(n) => format!(" skip {n}"),
        StreamOp::Take(n) => format!(" take {n}"),
        StreamOp::Shard { count, index } => format!(" shard {index} of {count}"),
    };
    let files = spec.shuffle_files.as_ref().map_or("in order".to_owned(), seeds);
    let repeat = if spec.repeat_files { " repeated" } else { "" };
    let ops: String = spec.ops.iter().map(op).collect();
    format!("files {files}{repeat}, cycle {} block {}{ops}", spec.cycle, spec.block)
}

fn of_file(found: u64, expected: u64) -> String {
    format!("the file holds {found} records, dataset_info.json says {expected}")
}

/// The order of a plan, in numbers that say which file of the plan and which record of it, where files have these lengths.
fn stream(
    plan: &Plan,
    to_the_end: bool,
    on_damage: OnDamage,
    lengths: &BTreeMap<usize, u64>,
) -> Result<Stream, Error> {
    let span = |file: &usize| {
        let of = &plan.files[*file];
        let left = lengths.get(file).map_or(of.examples_in_shard, |n| *n).saturating_sub(of.skip);
        let len = if to_the_end { left } else { left.min(of.take) };
        Span { first: RecordId { file: *file, record: of.skip }.number(), len }
    };
    let expected = plan.spec().expected.filter(|_| on_damage == OnDamage::Fail);
    let spec = StreamSpec { files: plan.own.iter().map(span).collect(), expected, ..plan.spec().clone() };
    Ok(Stream::new(spec).map_err(|error| ConfigError::new("ops", error.0))?)
}
