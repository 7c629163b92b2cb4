//! The faults of prepared datasets.

use std::fmt;

use tesson_core::{ErrorCodes, ErrorInfo, FormatFaults, OptionName, OptionSetting, Remedy};

use crate::features::{FeatureError, FeatureFault};

/// The remedy for a faulty description file.
const REPAIR_FIELD: &str = "correct it, or prepare the dataset again";

/// The remedy for a shard that holds another number of records than declared.
const REPAIR_LENGTHS: &str = "correct `shardLengths` there, or put the right file in its place";

const KEY: OptionName = OptionName::new("key");
const MAX_ERRORS: OptionName = OptionName::new("maxErrors");
const USE_NUMERIC_SEQUENCE_KEYS_FALSE: OptionSetting = OptionName::set_to("useNumericSequenceKeys", "false");

tesson_core::error_kinds! {
    /// A fault of a prepared dataset: of its descriptions, its shards, or an example.
    pub enum TfdsFault {
        /// A description file is not JSON.
        NotJson { what: String = "expected value at line 2 column 6".into() }
            = "tfds.not-json": "found no JSON ({what}), expected an object"; "copy the file again"
            => "Copy the file again, or prepare the dataset again.",
        /// A field of a description file has a value of another kind.
        FieldKind {
            path: String = "splits[0].name".into(),
            found: String = "`5`".into(),
            expected: &'static str = "text",
        }
            = "tfds.field-kind": ("{}found {found}, expected {expected}", prefix(path)); "{REPAIR_FIELD}"
            => "Correct the field, or prepare the dataset again.",
        /// A field of a description file is missing, or its value is not possible.
        Field { path: String = "name".into(), what: String = "the field is missing, expected text".into() }
            = "tfds.bad-field": ("{}{what}", prefix(path)); "{REPAIR_FIELD}"
            => "Correct the field, or prepare the dataset again.",
        /// The makers of the dataset have blocked it.
        Blocked { why: String = "it was withdrawn".into() }
            = "tfds.blocked": "isBlocked: the makers of the dataset have blocked this version: {why}"; "use another one"
            => "Use another version of the dataset.",
        /// A shard is missing.
        MissingShard
            = "tfds.missing-shard": "the shard is missing"
            => "Copy the file to its place, or prepare the dataset again.",
        /// A shard holds another number of records than declared.
        ShardLength { found: u64 = 9, expected: u64 = 10 }
            = "tfds.shard-length": "found {found} records, expected {expected} as dataset_info.json says"; "{REPAIR_LENGTHS}"
            => "Correct `shardLengths`, or put the right file in its place.",
        /// A shard that is read as chunks holds another number of records than declared.
        RecordCount { found: String = "9 records".into(), expected: u64 = 10 }
            = "tfds.record-count": "found {found} in the shard, expected {expected} as dataset_info.json says"; "{REPAIR_LENGTHS}"
            => "Correct `shardLengths`, or put the right file in its place.",
        /// A record is missing, because its shard is shorter than declared.
        AbsentRecord { record: u64 = 9, found: u64 = 9, expected: u64 = 10 }
            = "tfds.absent-record": "record {record} is missing: found {found} records in the shard, expected {expected} as \
                dataset_info.json says"; "{REPAIR_LENGTHS}"
            => "Correct `shardLengths`, or put the right file in its place.",
        /// The shards do not hold the number of examples that the split declares.
        ExampleCount { what: String = "found 39 examples in the shards, expected the 40 of the split".into() }
            = "tfds.example-count": "{what}"; "correct `shardLengths` in dataset_info.json, or set `assert_cardinality` to false"
            => "Correct `shardLengths` in dataset_info.json, or set `assert_cardinality` to false.",
        /// Records are addressed by number in a file that is compressed as a whole.
        Compressed
            = "tfds.compressed": "the file is compressed as a whole, so its records can only be read in order: read the split \
                as a stream, or rewrite the file without compression"
            => "Read the split as a stream, or write the file without compression.",
        /// A record cannot be read.
        Unreadable { record: u64 = 7 }
            = "tfds.unreadable-record": "record {record} cannot be read"; "copy the file again"
            => "Copy the file again, or prepare the dataset again.",
        /// An example has another number of samples than when it was indexed.
        Changed { found: u64 = 3, indexed: u32 = 4 }
            = "tfds.changed": "found {found} samples, expected {indexed} as when it was indexed"; "the file has changed: open the source again"
            => "Open the source again, and delete a stale index cache.",
        /// A chunk has more samples than can be counted.
        TooManySamples
            = "tfds.too-many-samples": "found more than 2^32 samples in one chunk, expected fewer"; "prepare the dataset with shorter examples"
            => "Prepare the dataset with shorter examples.",
        /// An example has another shape than the samples of its stream.
        SampleShape { feature: String = "image".into(), found: String = "(28, 27, 1)".into(), expected: String = "(28, 28, 1)".into() }
            = "tfds.sample-shape": "feature `{feature}` has the shape {found}, the samples of the stream have {expected}"; "prepare the \
                dataset with one shape for all, or leave others out with {MAX_ERRORS}"
            => "Prepare the dataset with one shape for all examples, or leave others out with {MAX_ERRORS}.",
        /// The key of an example is missing.
        NoKey { feature: String = "name".into() }
            = "tfds.no-key": "feature `{feature}`: found no value, expected a key"; "choose a feature as {KEY} that every example has"
            => "Choose a feature as {KEY} that every example has.",
        /// The key of an example is too long.
        LongKey { feature: String = "name".into(), found: usize = 70_000, most: usize = 65_536 }
            = "tfds.long-key": "feature `{feature}`: found a key of {found} bytes, expected at most {most}"; "choose another feature as {KEY}"
            => "Choose a feature with shorter values as {KEY}.",
        /// The key of an example is not a number, where keys are numbers.
        KeyNotNumber { feature: String = "name".into(), key: String = "`seven`".into(), kind: &'static str = "text" }
            = "tfds.key-not-number": "feature `{feature}`: the key is {key}, expected a number from 0"; "with \
                {USE_NUMERIC_SEQUENCE_KEYS_FALSE} any {kind} is one"
            => "Set {USE_NUMERIC_SEQUENCE_KEYS_FALSE}, or choose another feature as {KEY}.",
        ..
        /// An example or one of its features cannot be decoded.
        Example(FeatureFault)
    }
}

impl FormatFaults for TfdsFault {}

/// `splits[0].name: `; nothing for the root of a file.
fn prefix(path: &str) -> String {
    if path.is_empty() { String::new() } else { format!("{path}: ") }
}

/// A fault of one record, with the code of the fault inside.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordFault {
    /// The record's number in its file, from 0.
    pub record: u64,
    /// Its `tfds_id`, where that is known.
    pub id: Option<String>,
    /// The feature at fault.
    pub feature: Option<String>,
    /// The fault.
    pub fault: TfdsFault,
}

impl RecordFault {
    /// An example that cannot be decoded.
    pub fn of_example(record: u64, id: Option<String>, error: FeatureError) -> RecordFault {
        RecordFault { record, id, feature: error.path, fault: TfdsFault::Example(error.fault) }
    }
}

impl fmt::Display for RecordFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "record {}", self.record)?;
        self.id.iter().try_for_each(|id| write!(f, " (`{id}`)"))?;
        f.write_str(": ")?;
        self.feature.iter().try_for_each(|path| write!(f, "feature `{path}`: "))?;
        self.fault.fmt(f)
    }
}

impl ErrorCodes for RecordFault {
    const TABLE: &'static [ErrorInfo] = &[];

    fn code(&self) -> &'static str {
        self.fault.code()
    }

    fn remedy(&self) -> Remedy {
        self.fault.remedy()
    }

    fn examples() -> Vec<RecordFault> {
        Vec::new()
    }
}

impl FormatFaults for RecordFault {}
