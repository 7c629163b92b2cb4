//! Preparing a dataset from examples, so that a kill loses nothing that was written.
//!
//! The layout of a dataset depends on its number of examples, which is known only at the end. So examples are first
//! kept in one TFRecord file a split, in a folder beside the dataset's own: `<version>.incomplete/.tesson/<split>`. Its
//! checksums show after a kill which examples are whole. At the end shards are cut from it, the folder gets the
//! dataset's name in one step, and the kept files are removed.

mod new_dataset;
mod unfinished_split;

use std::io;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tesson_convert::records::{ArrayRecordOptions, RecordForm};
use tesson_core::{Error, ResumeError, StoreError, UsageError};
use tesson_engine::atomic_file::{self, UnfinishedFolder, create_folder, remove_folder};
use tesson_engine::store::{Store as _, Stores, read_small};
use tesson_formats::example;
use tesson_tfds::features::{Encoder, FeatureError, FeatureFault, Given, Schema};
use tesson_tfds::info::{
    About, Dataset, DatasetInfo, FileFormat, SplitInfo, Template, label_file, rounded_lengths,
};

pub use new_dataset::{NewDataset, NewSplit};
use unfinished_split::UnfinishedSplit;

/// Bytes of a shard where their number is not given.
const SHARD_BYTES: u64 = 256 << 20;

/// The folder of unfinished splits, in that of the dataset.
const KEPT: &str = ".tesson";

/// Writes a dataset.
pub struct DatasetWriter {
    new: NewDataset,
    /// The folder that the dataset will be.
    folder: UnfinishedFolder,
    splits: Vec<UnfinishedSplit>,
    encoder: Encoder,
    /// Examples of a split after which they are flushed.
    flush_every: Option<NonZeroU64>,
    /// Memory for an example.
    example: Vec<u8>,
}

/// Why an example is not written.
#[derive(Debug)]
pub enum Unwritable {
    /// A value of it.
    Value {
        /// The split, the example's number in it, the feature, what was found and what was expected, and a remedy.
        what: String,
        /// True if values are of another kind than the feature's: text for numbers, fractions for whole numbers.
        is_type: bool,
    },
    /// Anything else.
    Other(Error),
}

impl From<Error> for Unwritable {
    fn from(error: Error) -> Unwritable {
        Unwritable::Other(error)
    }
}

impl From<Unwritable> for Error {
    fn from(error: Unwritable) -> Error {
        match error {
            Unwritable::Value { what, .. } => UsageError::new(what).into(),
            Unwritable::Other(error) => error,
        }
    }
}

impl DatasetWriter {
    /// Begins a dataset below a data directory, or resumes one that was begun and not finished.
    ///
    /// # Errors
    /// A description that means nothing; a dataset that is there already ([`UsageError`]); one that was begun with another
    /// description ([`ResumeError`]); what the file system answers.
    pub fn open(data_dir: impl AsRef<Path>, new: NewDataset) -> Result<DatasetWriter, Error> {
        let encoder = new.encoder()?;
        let parent =
            new.config.iter().fold(data_dir.as_ref().join(&new.name), |path, config| path.join(config));
        let target = parent.join(new.version.to_string());
        if Stores::local().entry(&target).is_ok() {
            let what = "exists already, remove it or write another version";
            return Err(UsageError::new(format!("{}: {what}", target.display())).into());
        }
        let folder = parent.join(format!("{}.incomplete", new.version));
        let kept = folder.join(KEPT);
        create_folder(&kept).map_err(|e| failed(&kept, e))?;
        begin(&kept.join("dataset.json"), &new.identity())?;
        let folder = UnfinishedFolder::open(folder, target).map_err(|e| failed(&kept, e))?;
        let splits = new.splits.iter().map(|split| UnfinishedSplit::open(&kept.join(&split.name)));
        let splits = splits.collect::<Result<_, _>>()?;
        Ok(DatasetWriter { new, folder, splits, encoder, flush_every: None, example: Vec::new() })
    }

    /// How many examples a split has: those from before a kill, which need not be written again, and those since.
    ///
    /// # Errors
    /// An unknown split.
    pub fn written(&self, split: &str) -> Result<u64, Error> {
        let kept = &self.splits[self.number(split)?];
        Ok(kept.before + kept.writer.records())
    }

    /// The schema of a stored example: its features, and the keys that hold them.
    pub fn schema(&self) -> &Schema {
        self.encoder.schema()
    }

    /// Writes an example of these values. Features that are not given are absent.
    ///
    /// # Errors
    /// An unknown split; an example that reading would refuse or change, of which nothing is written
    /// ([`Unwritable::Value`]); what the file system answers.
    pub fn write(&mut self, split: &str, example: &[Given<'_>]) -> Result<(), Unwritable> {
        let number = self.number(split)?;
        let record = self.encoder.encode(example).map_err(|error| self.refused(split, error))?;
        Ok(self.append(number, &record)?)
    }

    /// Writes an example: the bytes of a `tf.train.Example`.
    ///
    /// # Errors
    /// An unknown split; an example that reading would refuse, of which nothing is written
    /// ([`UsageError`]); what the file system answers.
    pub fn record(&mut self, split: &str, data: &[u8]) -> Result<(), Error> {
        let number = self.number(split)?;
        self.encoder.check(data).map_err(|error| Error::from(self.refused(split, error)))?;
        self.append(number, data)
    }

    fn append(&mut self, number: usize, data: &[u8]) -> Result<(), Error> {
        let kept = &mut self.splits[number];
        kept.writer.record(data).map_err(|e| failed(&kept.path, e))?;
        kept.bytes += data.len() as u64;
        match self.flush_every {
            Some(n) if kept.writer.records().is_multiple_of(n.get()) => self.splits[number].flush(),
            _ => Ok(()),
        }
    }

    /// The error of an example that is not written: where, what, and how to repair it.
    fn refused(&self, split: &str, error: FeatureError) -> Unwritable {
        let number = self.written(split).unwrap_or(0);
        let remedy = remedy(&error.fault);
        let what = format!("split `{split}`, example {number}, {error}{remedy}");
        Unwritable::Value { what, is_type: matches!(error.fault, FeatureFault::Kind { .. }) }
    }

    /// Writes an example of these lists, under the keys that features.json stands for.
    ///
    /// # Errors
    /// Those of [`DatasetWriter::record`].
    pub fn example(&mut self, split: &str, values: &[(&str, example::Value<'_>)]) -> Result<(), Error> {
        let mut bytes = std::mem::take(&mut self.example);
        bytes.clear();
        example::write(values, &mut bytes);
        let written = self.record(split, &bytes);
        self.example = bytes;
        written
    }

    /// Flushes a split after each `examples` that are written to it, so that a kill loses fewer; `None`, as at first, as soon as
    /// there is a megabyte of them.
    pub fn flush_every(&mut self, examples: Option<NonZeroU64>) {
        self.flush_every = examples;
    }

    /// Hands all examples so far to the operating system: a kill of the process loses only what comes after. It costs a call of
    /// the system for each split; [`DatasetWriter::sync`] also waits for the disk.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn flush(&mut self) -> Result<(), Error> {
        self.splits.iter_mut().try_for_each(UnfinishedSplit::flush)
    }

    /// Hands all examples so far to the disk: a kill or a loss of power loses only what comes after.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn sync(&mut self) -> Result<(), Error> {
        self.splits.iter_mut().try_for_each(UnfinishedSplit::sync)
    }

    /// Makes the dataset of what was written; returns its folder. After a kill on the way, open the writer again and
    /// finish it.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn finish(mut self) -> Result<PathBuf, Error> {
        self.sync()?;
        let info = self.info()?;
        let dataset = Dataset::new(vec![(String::new(), info.clone())], None)?;
        // What is left of a finish that was killed: with more examples since, shards have other names.
        self.folder.remove_files().map_err(|e| failed(self.folder.path(), e))?;
        for (kept, split) in self.splits.iter().zip(&dataset.splits) {
            let shards = split.shards.iter().map(|shard| (self.folder.path().join(&shard.file), shard.len));
            kept.cut(shards, form(self.new.file_format))?;
        }
        for (path, names) in &self.new.labels {
            let text: String = names.iter().map(|name| format!("{name}\n")).collect();
            self.put(&label_file(path.iter().map(String::as_str)), &text)?;
        }
        self.put("features.json", &format!("{:#}\n", self.new.features))?;
        self.put("dataset_info.json", &info.to_json())?;
        let target = self.folder.target();
        self.folder.publish().map_err(|e| failed(target, e))?;
        let kept = target.join(KEPT);
        remove_folder(&kept).map_err(|e| failed(&kept, e))?;
        Ok(target.into())
    }

    fn number(&self, split: &str) -> Result<usize, Error> {
        let found = self.new.splits.iter().position(|s| s.name == split);
        found.ok_or_else(|| {
            let names: Vec<&str> = self.new.splits.iter().map(|s| s.name.as_str()).collect();
            UsageError::new(format!("there is no split `{split}`, expected one of {}", names.join(", ")))
                .into()
        })
    }

    fn info(&self) -> Result<DatasetInfo, Error> {
        let template = || Template::parse("").expect("the usual one is a template");
        let split = |(split, kept): (&NewSplit, &UnfinishedSplit)| {
            let n = kept.before + kept.writer.records();
            let by_size = usize::try_from(kept.bytes.div_ceil(SHARD_BYTES)).unwrap_or(usize::MAX);
            let shards = split.shards.unwrap_or(by_size).max(1);
            Ok::<_, Error>(SplitInfo {
                name: split.name.clone(),
                shard_lengths: rounded_lengths(n, shards),
                template: template(),
                n_bytes: kept.bytes,
            })
        };
        let new = &self.new;
        Ok(DatasetInfo {
            name: new.name.clone(),
            version: new.version,
            config: new.config.clone(),
            file_format: new.file_format,
            alternative_formats: Vec::new(),
            disable_shuffling: new.disable_shuffling,
            splits: new.splits.iter().zip(&self.splits).map(split).collect::<Result<_, _>>()?,
            supervised_keys: new.supervised_keys.clone(),
            features: None,
            about: About { description: new.description.clone(), ..About::default() },
        })
    }

    fn put(&self, name: &str, text: &str) -> Result<(), Error> {
        let path = self.folder.path().join(name);
        atomic_file::write(&path, text.as_bytes()).map_err(|e| failed(&path, e).into())
    }
}

fn form(format: FileFormat) -> RecordForm {
    match format {
        FileFormat::ArrayRecord => RecordForm::ArrayRecord(ArrayRecordOptions::TFDS),
        _ => RecordForm::TfRecord,
    }
}

fn failed(path: &Path, e: io::Error) -> StoreError {
    StoreError::new(path.into(), None, e)
}

/// How a value that is refused can be repaired, as the end of a sentence.
fn remedy(fault: &FeatureFault) -> &'static str {
    match fault {
        FeatureFault::Missing { .. } => "; give a value, or declare the feature as optional",
        FeatureFault::Image { .. } => {
            "; give the bytes of a PNG, JPEG, GIF or BMP file, or an array of pixels"
        }
        FeatureFault::Shape { .. } | FeatureFault::Count { .. } => {
            "; give values of the declared shape, or declare dimensions that vary as unknown"
        }
        FeatureFault::Range { .. } => "; declare a type that holds it",
        _ => "",
    }
}

/// Keeps what a dataset is to be, or compares it with what was kept.
fn begin(path: &Path, identity: &Value) -> Result<(), Error> {
    match read_small(&Stores::local(), path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()) {
        Ok(text) => {
            let kept: Value = serde_json::from_str(&text).unwrap_or_default();
            if kept == *identity {
                return Ok(());
            }
            let fields = identity.as_object().into_iter().flatten();
            let other =
                fields.map(|(name, value)| (name, value, &kept[name])).find(|(_, value, kept)| value != kept);
            let (name, value, kept) = other
                .map_or(("description".into(), String::new(), text), |(name, value, kept)| {
                    (name.clone(), value.to_string(), kept.to_string())
                });
            Err(ResumeError::new(format!("{}: `{name}`", path.display()), kept, value).into())
        }
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            let written = atomic_file::write(path, identity.to_string().as_bytes());
            Ok(written.map_err(|e| failed(path, e))?)
        }
        Err(e) => Err(failed(path, e).into()),
    }
}
