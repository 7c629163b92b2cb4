//! What can go wrong, grouped by who can repair it, with the place and the values.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use crate::{Key, Place, Section};

/// A place in an input file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// The file, as the configuration names it.
    pub file: Arc<Path>,
    /// Bytes from the start of the file, from 0.
    pub offset: u64,
    /// Physical line, from 1; `None` in binary formats and where it is not known.
    pub line: Option<u64>,
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        match self.line {
            Some(line) => write!(f, ":{line} (byte {})", self.offset),
            None => write!(f, " (byte {})", self.offset),
        }
    }
}

/// Any error of a user's code. An [`Error`] in it is passed on as it is; any other becomes a [`DataError`] that says where
/// and has it as its cause.
pub type UserError = Box<dyn std::error::Error + Send + Sync>;

/// An error of somebody else's code that stands behind one of ours.
#[derive(Clone, Debug)]
pub struct Cause(pub Arc<dyn std::error::Error + Send + Sync>);

impl PartialEq for Cause {
    fn eq(&self, other: &Cause) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// Memory limits have room for so many sequences of the largest size: decoding and packing one takes several times its
/// bytes.
pub const SEQUENCES_IN_MEMORY: u64 = 8;

/// What is wrong with data.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq)]
pub enum DataErrorKind {
    /// The file holds nothing, or nothing but white space.
    EmptyFile,
    /// The file holds no sequence (all rows dropped by the rules, or by `definesMBSize`).
    NoSequences,
    /// The file starts with the byte order mark of UTF-16.
    Utf16,
    /// The first row starts with neither an input nor a sequence id.
    ExpectedSequenceId {
        /// The byte found instead.
        found: u8,
    },
    /// A sequence id beyond 64 bits.
    IdOverflow {
        /// Its digits.
        found: String,
    },
    /// One sequence is larger than the format allows.
    SequenceTooLarge {
        /// Its size in bytes.
        found: u64,
        /// The largest size allowed.
        limit: u64,
    },
    /// One sequence needs more memory than a sequence may have under the memory limit.
    SequenceBeyondMemory {
        /// Bytes that it has at least.
        found: u64,
        /// The largest size that the limit allows.
        limit: u64,
    },
    /// Bytes where an input (`|name`) is expected.
    StrayText {
        /// The first of them.
        found: String,
    },
    /// A `|` without a name.
    UnnamedInput,
    /// Something that is no number.
    BadNumber {
        /// The text of the value.
        found: String,
    },
    /// A dense sample with more values than the stream's dimension.
    TooManyValues {
        /// The stream's dimension.
        dim: u64,
    },
    /// Something that is no `index:value` pair.
    BadPair {
        /// The text of the pair.
        found: String,
    },
    /// A column number that is not below the stream's dimension.
    IndexOutOfRange {
        /// The column number, as written.
        index: String,
        /// The stream's dimension.
        dim: u64,
    },
    /// A row without a single good sample.
    RowWithoutSample,
    /// Dense samples with fewer values than the stream's dimension.
    ShortSamples {
        /// How many samples.
        samples: u64,
        /// Values of the longest of them.
        most: u64,
        /// The stream's dimension.
        dim: u64,
    },
    /// An input occurs again in the same row.
    RepeatedInput,
    /// A sequence has the key of an earlier one in the same file.
    RepeatedKey {
        /// Where the first one begins, in bytes.
        first: u64,
    },
    /// A row of text without a single input.
    RowWithoutInput {
        /// The first of the text.
        found: String,
    },
    /// A stream has more samples than the sequence has rows.
    MoreSamplesThanRows {
        /// Samples found.
        samples: u64,
        /// Rows, as indexed.
        rows: u64,
    },
    /// No stream has as many samples as the sequence has rows.
    FewerSamplesThanRows {
        /// Samples of the longest stream.
        samples: u64,
        /// Rows, as indexed.
        rows: u64,
    },
    /// A stream has no sample at all in a sequence, which then cannot be delivered.
    EmptyInput,
    /// A stream has no sample at all in a sequence, which is left out of all streams.
    MissingInput,
    /// No stream has a sample in a sequence.
    EmptySequence,
    /// A sequence of more than one sample in frame mode.
    NotAFrame {
        /// Samples found.
        samples: u64,
    },
    /// In truncated reading, a stream is longer or shorter than another one in the same sequence.
    UnequalStreams {
        /// Its samples.
        samples: u64,
        /// The other stream.
        other: String,
        /// Samples of that.
        other_samples: u64,
    },
    /// More faults than the budget forgives; the last one is what is reported, with this in front.
    BudgetSpent {
        /// The fault that was one too many.
        last: Box<DataErrorKind>,
        /// Faults forgiven (`maxErrors`).
        budget: u64,
    },
    /// The file is not what it was when it was indexed.
    Changed {
        /// What differs.
        what: String,
    },
    /// A user's own code failed.
    User {
        /// What was called and what it answered.
        what: String,
        /// The error itself.
        cause: Cause,
    },
    /// Any other violation of a format; says what was found and what was expected.
    Malformed {
        /// The sentence.
        what: String,
    },
}

/// What makes a number of a text that is none, where the text shows what was meant.
fn number_remedy(found: &str) -> &'static str {
    match found.split_once(':') {
        Some((index, value)) if index.parse::<u64>().is_ok() && value.parse::<f64>().is_ok() => {
            "; pairs `index:value` are values of a sparse stream, `format = \"sparse\"`"
        }
        None if found.parse::<f64>().is_ok() => "; `numbers = \"extended\"` accepts it",
        _ => ", expected one such as `1`, `-0.5` or `2e-3`",
    }
}

/// The same of a pair.
fn pair_remedy(found: &str) -> &'static str {
    match found.parse::<f64>() {
        Ok(_) => "; values without an index are those of a dense stream, `format = \"dense\"`",
        Err(_) => ", expected one such as `3:0.5`",
    }
}

impl fmt::Display for DataErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use DataErrorKind::*;
        match self {
            EmptyFile => {
                f.write_str("the file is empty or holds only white space, at least one sequence is expected")
            }
            NoSequences => f.write_str("the file holds no sequence under the given options"),
            Utf16 => f.write_str("the file is UTF-16, ASCII or UTF-8 is expected"),
            ExpectedSequenceId { found } => {
                let hint = match found {
                    b if b.is_ascii_alphabetic() => {
                        "; for ids that are text set `useNumericSequenceKeys = false`"
                    }
                    b if b.is_ascii_graphic() => "",
                    _ => "; is this a text file?",
                };
                write!(
                    f,
                    "found `{}`, expected a sequence id (digits) or an input (`|name`){hint}",
                    found.escape_ascii()
                )
            }
            IdOverflow { found } => write!(f, "sequence id {found} is not below 2^64"),
            SequenceTooLarge { found, limit } => {
                write!(f, "the sequence has {found} bytes, at most {limit} are supported")
            }
            SequenceBeyondMemory { found, limit } => write!(
                f,
                "the sequence has at least {found} bytes, at most {limit} fit into this `memoryLimit`; {} or more is needed",
                found.saturating_mul(SEQUENCES_IN_MEMORY)
            ),
            StrayText { found } => write!(f, "found `{found}`, expected an input (`|name`)"),
            UnnamedInput => f.write_str("`|` is not followed by a name"),
            BadNumber { found } => {
                write!(f, "`{found}` is not a number")?;
                f.write_str(number_remedy(found))
            }
            TooManyValues { dim } => {
                write!(f, "the sample has more than {dim} values, the stream's dim is {dim}")
            }
            BadPair { found } => {
                write!(f, "`{found}` is not a pair `index:value`")?;
                f.write_str(pair_remedy(found))
            }
            IndexOutOfRange { index, dim } => write!(f, "index {index} is not below dim {dim}"),
            RowWithoutSample => f.write_str("the row holds no valid sample of a known input"),
            ShortSamples { samples: 1, most, dim } => {
                write!(f, "the sample has {most} of {dim} values, the others are zeros; is `dim` too large?")
            }
            ShortSamples { samples, most, dim } => write!(
                f,
                "{samples} samples, this is the first, have at most {most} of {dim} values, the others are zeros; is `dim` \
                 too large?"
            ),
            RepeatedInput => f.write_str("the input occurs again in the same row, one sample a row is expected"),
            RepeatedKey { first } => write!(
                f,
                "the key occurs again, the first sequence with it begins at byte {first}; all rows of a sequence are \
                 expected to follow each other"
            ),
            RowWithoutInput { found } => {
                write!(f, "found `{found}` in a row without any input, expected `|name` and values")
            }
            MoreSamplesThanRows { samples, rows } => {
                write!(f, "{samples} samples in a sequence of {rows} rows, at most one a row is expected")
            }
            FewerSamplesThanRows { samples, rows } => {
                write!(
                    f,
                    "the longest input has {samples} samples in a sequence of {rows} rows, one a row is expected"
                )
            }
            EmptyInput => {
                f.write_str("the input has no sample in this sequence (`rules = \"lenient\"` and `emptyInputs` accept that)")
            }
            MissingInput => f.write_str(
                "the input has no sample in this sequence, which is left out of all streams (`emptyInputs = \"keep\"` \
                 delivers it)",
            ),
            EmptySequence => f.write_str("no input has a sample in this sequence"),
            NotAFrame { samples } => {
                write!(f, "frame mode expects sequences of one sample, found one of {samples}")
            }
            UnequalStreams { samples, other, other_samples } => {
                write!(
                    f,
                    "streams of one length are truncated together, found {samples} samples beside {other_samples} of stream `{other}`"
                )
            }
            BudgetSpent { last, budget } => match budget {
                0 => write!(f, "{last}; `maxErrors` leaves such data out, `tesson check` lists all of it"),
                n => write!(
                    f,
                    "{last}; this is one more than the {n} faults that `maxErrors` and `maxErrorShare` forgive"
                ),
            },
            Changed { what } => write!(f, "the data has changed since it was indexed: {what}"),
            User { what, .. } | Malformed { what } => f.write_str(what),
        }
    }
}

/// Bad data: what, where, in which stream and sequence.
#[derive(Clone, Debug, PartialEq)]
pub struct DataError(Box<DataErrorInside>);

#[derive(Clone, Debug, PartialEq)]
struct DataErrorInside {
    kind: DataErrorKind,
    at: Location,
    chunk: Option<u32>,
    stream: Option<String>,
    key: Option<Key>,
}

impl DataError {
    /// An error at a place.
    pub fn new(kind: DataErrorKind, at: Location) -> DataError {
        DataError(Box::new(DataErrorInside { kind, at, chunk: None, stream: None, key: None }))
    }

    /// An error in a chunk of a deserializer that reads no file of ours. Its name stands in the file's place.
    pub fn in_chunk(kind: DataErrorKind, deserializer: &str, chunk: u32) -> DataError {
        let at = Location { file: Path::new(deserializer).into(), offset: 0, line: None };
        let mut error = DataError::new(kind, at);
        error.0.chunk = Some(chunk);
        error
    }

    /// The same, naming the stream and the sequence it was found in.
    #[must_use]
    pub fn within(mut self, stream: Option<String>, key: Option<Key>) -> DataError {
        self.0.stream = stream;
        self.0.key = key;
        self
    }

    /// The same, so many lines further down: for a line that was counted within a part of the file.
    #[must_use]
    pub fn lines_down(mut self, lines: u64) -> DataError {
        self.0.at.line = self.0.at.line.map(|line| line + lines);
        self
    }

    /// What is wrong.
    pub fn kind(&self) -> &DataErrorKind {
        &self.0.kind
    }

    /// Where.
    pub fn at(&self) -> &Location {
        &self.0.at
    }

    /// The chunk, where that is all that is known of the place.
    pub fn chunk(&self) -> Option<u32> {
        self.0.chunk
    }

    /// The stream, if the fault lies in one.
    pub fn stream(&self) -> Option<&str> {
        self.0.stream.as_deref()
    }

    /// The key of the sequence, if the fault lies in one.
    pub fn key(&self) -> Option<&Key> {
        self.0.key.as_ref()
    }
}

impl fmt::Display for DataError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.chunk {
            Some(chunk) => write!(f, "{}, chunk {chunk}: ", self.0.at.file.display())?,
            None => write!(f, "{}: ", self.0.at)?,
        }
        match (&self.0.stream, &self.0.key) {
            (Some(stream), Some(key)) => write!(f, "stream `{stream}`, sequence {key}: ")?,
            (Some(stream), None) => write!(f, "stream `{stream}`: ")?,
            (None, Some(key)) => write!(f, "sequence {key}: ")?,
            (None, None) => {}
        }
        self.0.kind.fmt(f)
    }
}

impl std::error::Error for DataError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.0.kind {
            DataErrorKind::User { cause, .. } => Some(&*cause.0),
            _ => None,
        }
    }
}

/// A file, or another place where bytes are kept, cannot be read.
#[derive(Clone, Debug)]
pub struct StoreError {
    /// The resource, as the configuration names it.
    pub file: Arc<Path>,
    /// Where reading failed, if it got that far.
    pub offset: Option<u64>,
    /// What the store answered.
    pub source: Arc<std::io::Error>,
    /// What may help, as half a sentence.
    pub remedy: Option<Arc<str>>,
}

impl StoreError {
    /// An error of opening or reading `file`.
    pub fn new(file: Arc<Path>, offset: Option<u64>, source: std::io::Error) -> StoreError {
        StoreError { file, offset, source: Arc::new(source), remedy: None }
    }

    /// The same with what may help.
    #[must_use]
    pub fn with_remedy(self, remedy: Option<String>) -> StoreError {
        StoreError { remedy: remedy.map(Into::into), ..self }
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        if let Some(offset) = self.offset {
            write!(f, " (byte {offset})")?;
        }
        write!(f, ": {}", self.source)?;
        self.remedy.as_ref().map_or(Ok(()), |remedy| write!(f, "; {remedy}"))
    }
}

impl std::error::Error for StoreError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&*self.source)
    }
}

/// A configuration that means nothing, or nothing that can be opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// Path of the option, such as `deserializers[0].input.x.dim`; empty for the whole.
    pub path: String,
    /// What is wrong, with the value found, what is expected, and the repair.
    pub what: String,
    /// Where it is written, if that is in a text and known.
    pub at: Option<Place>,
}

impl ConfigError {
    /// An error of the option at `path`.
    pub fn new(path: impl Into<String>, what: impl Into<String>) -> ConfigError {
        ConfigError { path: path.into(), what: what.into(), at: None }
    }

    /// The same at a place, unless it has one already.
    #[must_use]
    pub fn at(mut self, place: Option<Place>) -> ConfigError {
        self.at = self.at.or(place);
        self
    }

    /// The same at the place of its path in the section that the path starts from.
    #[must_use]
    pub fn located_in(self, section: &Section) -> ConfigError {
        let place = section.place_of(&self.path).cloned();
        self.at(place)
    }

    /// The same, seen from further outside: `path` is put before its own.
    #[must_use]
    pub fn within(mut self, path: &str) -> ConfigError {
        let dot = if path.is_empty() || self.path.is_empty() { "" } else { "." };
        self.path = format!("{path}{dot}{}", self.path);
        self
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(place) = &self.at {
            write!(f, "{place}: ")?;
        }
        // An argument such as `--set maxErrors=3` or `--randomize` names the option itself.
        let option = self.path.rsplit('.').next().unwrap_or_default();
        let names =
            |place: &Place| place.file.split(|c: char| !c.is_alphanumeric()).any(|word| word == option);
        let is_named = self.at.as_ref().is_some_and(|place| place.is_argument() && names(place));
        if !self.path.is_empty() && !is_named {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.what)
    }
}

impl std::error::Error for ConfigError {}

/// A saved state that does not belong to the source it is restored into, or is no state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResumeError {
    /// What differs, such as `randomizationSeed`.
    pub what: String,
    /// The state's value.
    pub state: String,
    /// The source's value.
    pub source: String,
}

impl fmt::Display for ResumeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the state does not belong to this source: {} is {} in the state and {} here",
            self.what, self.state, self.source
        )
    }
}

impl std::error::Error for ResumeError {}

/// A call that can never be right, such as a minibatch of 0 samples. The source is as it was before the call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsageError(pub String);

impl fmt::Display for UsageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for UsageError {}

/// Everything that can go wrong.
#[non_exhaustive]
#[derive(Clone, Debug)]
pub enum Error {
    /// Bad data.
    Data(DataError),
    /// Unreadable storage.
    Store(StoreError),
    /// A configuration that cannot be opened.
    Config(ConfigError),
    /// A state that cannot be restored.
    Resume(ResumeError),
    /// A call that can never be right.
    Usage(UsageError),
    /// Reading was called off: the source was closed, or the caller interrupted it.
    Cancelled,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Data(e) => e.fmt(f),
            Error::Store(e) => e.fmt(f),
            Error::Config(e) => e.fmt(f),
            Error::Resume(e) => e.fmt(f),
            Error::Usage(e) => e.fmt(f),
            Error::Cancelled => f.write_str("reading was cancelled"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Store(e) => e.source(),
            Error::Data(e) => e.source(),
            _ => None,
        }
    }
}

macro_rules! from {
    ($($variant:ident($inner:ident)),*) => {$(
        impl From<$inner> for Error {
            fn from(e: $inner) -> Error {
                Error::$variant(e)
            }
        }
    )*};
}
from!(Data(DataError), Store(StoreError), Config(ConfigError), Resume(ResumeError), Usage(UsageError));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_of_another_form_say_which_option_fits() {
        let number = |found: &str| DataErrorKind::BadNumber { found: found.into() }.to_string();
        assert!(
            number("3:1.5")
                .ends_with("; pairs `index:value` are values of a sparse stream, `format = \"sparse\"`")
        );
        assert!(number("nan").ends_with("; `numbers = \"extended\"` accepts it"));
        assert_eq!(number("1x"), "`1x` is not a number, expected one such as `1`, `-0.5` or `2e-3`");
        assert_eq!(number("a:1"), "`a:1` is not a number, expected one such as `1`, `-0.5` or `2e-3`");
        let pair = |found: &str| DataErrorKind::BadPair { found: found.into() }.to_string();
        assert!(
            pair("1")
                .ends_with("; values without an index are those of a dense stream, `format = \"dense\"`")
        );
        assert_eq!(pair("1:x"), "`1:x` is not a pair `index:value`, expected one such as `3:0.5`");
    }
}
