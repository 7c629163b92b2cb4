//! A whole dataset looked at: every shard, every checksum, every feature of every example.

use std::io;
use std::path::Path;
use std::sync::Arc;

use tesson_core::store::Store;
use tesson_core::{ConfigError, DataError, Error, Fetch, Key, Location, ResourceId};
use tesson_engine::{Canceller, OpenFiles};
use tesson_formats::record::{End, RecordFile, Records, Want};
use tesson_tfds::fault::{RecordFault, TfdsFault};
use tesson_tfds::features::{Batch, Feature, FeatureError, LabelRanges, Schema, Selection};
use tesson_tfds::ids::Ids;
use tesson_tfds::info::{Dataset, Shard};
use tesson_tfds::records;
use tesson_tfds::rows::{Bad, Reading, Step, Why};
use tesson_tfds::split::{Selection as SplitSelection, file_instructions};

use crate::{features_of, labels_of};

/// Bytes of a block, about.
const BLOCK: u64 = 512 << 10;

/// The one file of an [`OpenFiles`].
const FILE: ResourceId = ResourceId(0);

/// The counts of a finished check of a dataset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CheckedDataset {
    /// Shards, the missing ones included.
    pub files: u64,
    /// Records, the damaged ones included.
    pub records: u64,
    /// Bytes of the undamaged ones.
    pub bytes: u64,
    /// Number of all faults.
    pub faults: u64,
}

/// Looks at all shards of all splits: whether they are there, hold as many records as the dataset says, every checksum, and
/// whether each feature of each example can be decoded, and whether class labels are those of classes. `each` is called with all that is wrong, in the order of the files; of a
/// record every feature that is. `progress` is called with the number of records looked at.
///
/// Reading takes `memory_limit` bytes at most; records larger than an eighth of it are faults.
///
/// # Errors
/// Descriptions that cannot be read, a format that is not read, unreadable storage.
pub fn check(
    store: &dyn Store,
    dataset: &Dataset,
    memory_limit: u64,
    each: &mut dyn FnMut(&DataError),
    progress: &mut dyn FnMut(u64),
) -> Result<CheckedDataset, Error> {
    let mut checker = Checker::new(store, dataset, memory_limit, each)?;
    for shard in dataset.splits.iter().flat_map(|split| &split.shards) {
        checker.shard(shard)?;
        progress(checker.seen.records);
    }
    Ok(checker.seen)
}

struct Checker<'a> {
    store: &'a dyn Store,
    dataset: &'a Dataset,
    ids: Ids,
    features: Feature,
    schema: Arc<Schema>,
    labels: LabelRanges,
    largest: u64,
    /// Made with the first file, which says how much may be read at once.
    reading: Option<Reading>,
    /// Each feature by itself, made when a record is found that is no example.
    alone: Vec<(Reading, LabelRanges)>,
    each: &'a mut dyn FnMut(&DataError),
    seen: CheckedDataset,
}

impl<'a> Checker<'a> {
    fn new(
        store: &'a dyn Store,
        dataset: &'a Dataset,
        memory_limit: u64,
        each: &'a mut dyn FnMut(&DataError),
    ) -> Result<Checker<'a>, Error> {
        let features = features_of(store, dataset)?;
        let schema = Arc::new(Schema::new(&features, &Selection::default())?);
        let names = labels_of(store, dataset, &features)?;
        let classes = |path: &str| {
            let of = names.iter().find(|(named, _)| named == path);
            of.map(|(_, names)| names.len() as u64)
        };
        let labels = LabelRanges::new(&schema, classes);
        let all = file_instructions(&SplitSelection::parse("all")?.resolve(dataset)?, dataset)?;
        Ok(Checker {
            store,
            dataset,
            ids: Ids::new(dataset, &all),
            features,
            schema,
            labels,
            largest: memory_limit / 8,
            reading: None,
            alone: Vec::new(),
            each,
            seen: CheckedDataset::default(),
        })
    }

    fn shard(&mut self, shard: &Shard) -> Result<(), Error> {
        self.seen.files += 1;
        let path = Path::new(&self.dataset.directories[shard.directory]).join(&shard.file);
        // Before the file is looked for: what cannot be read is no matter of single files.
        let file = records::open(self.dataset.file_format, FILE)?;
        if let Err(error) = self.store.entry(&path)
            && error.kind() == io::ErrorKind::NotFound
        {
            self.fault(&path, TfdsFault::MissingShard);
            return Ok(());
        }
        let bytes = OpenFiles::open(&[&path], self.store, self.largest, &Canceller::new())?;
        let records = self.records(shard, &path, &*file, bytes.fetch())?;
        if records != shard.len {
            self.fault(&path, TfdsFault::ShardLength { found: records, expected: shard.len });
        }
        self.seen.records += records;
        Ok(())
    }

    /// All records of a file; how many there are.
    fn records(
        &mut self,
        shard: &Shard,
        path: &Path,
        file: &dyn RecordFile,
        bytes: &dyn Fetch,
    ) -> Result<u64, Error> {
        let (mut block, mut next) = (Records::new(), 0);
        let mut reading = self.reading.take().unwrap_or_else(|| Reading::new(&self.schema, bytes));
        loop {
            file.read(Want { first: next, most: u64::MAX, bytes: BLOCK }, bytes, &mut block)?;
            self.seen.bytes += block.places().iter().map(|place| u64::from(place.size)).sum::<u64>();
            reading.each(&block, &mut |step| match step {
                Step::Rows { at, batch } => {
                    for row in 0..batch.rows() {
                        self.labels(shard, path, block.number(at + row), block.offset(at + row), batch, row);
                    }
                    Ok(())
                }
                Step::Bad(bad) => self.record(shard, path, &block, bad, bytes),
            })?;
            next += block.len() as u64;
            match block.end() {
                End::More => continue,
                End::File => {}
                End::Damaged(fault) => self.tell(&fault.in_file(path)),
            }
            self.reading = Some(reading);
            return Ok(next);
        }
    }

    /// Tells labels that are no class, of an example that can be decoded.
    fn labels(&mut self, shard: &Shard, path: &Path, number: u64, offset: u64, batch: &Batch, row: usize) {
        let found: Vec<FeatureError> = self.labels.check(batch, row).collect();
        for error in found {
            let at = Location { file: path.into(), offset, line: None };
            let key = self.ids.id(shard.first + number).map(Key::Text);
            self.tell_example(number, error.path.clone(), error, at, key);
        }
    }

    /// Tells all that is wrong with a record.
    fn record(
        &mut self,
        shard: &Shard,
        path: &Path,
        block: &Records,
        bad: Bad,
        bytes: &dyn Fetch,
    ) -> Result<(), Error> {
        let at = || Location { file: path.into(), offset: bad.offset, line: None };
        let number = block.number(bad.at);
        let key = self.ids.id(shard.first + number).map(Key::Text);
        let first = match bad.why {
            Why::Record(kind) => {
                self.tell(&DataError::new(kind, at()).within(None, key));
                return Ok(());
            }
            Why::Example(error) => error,
        };
        let found = self.each_feature(block, bad.at, bytes)?;
        // What is wrong with the record as a whole is wrong with each feature of it.
        let whole = first.path.is_none()
            && found.len() == self.alone.len()
            && found.iter().all(|(_, error)| *error == first);
        let found = if found.is_empty() || whole { vec![(first.path.clone(), first)] } else { found };
        found
            .into_iter()
            .for_each(|(feature, error)| self.tell_example(number, feature, error, at(), key.clone()));
        Ok(())
    }

    fn tell_example(
        &mut self,
        record: u64,
        feature: Option<String>,
        error: FeatureError,
        at: Location,
        key: Option<Key>,
    ) {
        self.tell(&DataError::new(RecordFault::of_example(record, None, error), at).within(feature, key));
    }

    /// The faults of each feature of a record.
    fn each_feature(
        &mut self,
        block: &Records,
        at: usize,
        bytes: &dyn Fetch,
    ) -> Result<Vec<(Option<String>, FeatureError)>, ConfigError> {
        if self.alone.is_empty() {
            for plan in &self.schema.columns {
                let selection = Selection { features: Some(vec![plan.path.clone()]), raw: Vec::new() };
                let schema = Arc::new(Schema::new(&self.features, &selection)?);
                let labels = self.labels.of(&plan.path, &schema);
                self.alone.push((Reading::new(&schema, bytes), labels));
            }
        }
        let found =
            self.schema.columns.iter().zip(&mut self.alone).filter_map(|(plan, (reading, labels))| {
                let error = match reading.one(block, at) {
                    Err(Why::Example(error)) => error,
                    Err(Why::Record(_)) => return None,
                    Ok(batch) => labels.check(batch, 0).next()?,
                };
                Some((Some(plan.path.clone()), error))
            });
        Ok(found.collect())
    }

    fn fault(&mut self, path: &Path, fault: TfdsFault) {
        self.tell(&DataError::new(fault, Location { file: path.into(), offset: 0, line: None }));
    }

    fn tell(&mut self, error: &DataError) {
        self.seen.faults += 1;
        (self.each)(error);
    }
}
