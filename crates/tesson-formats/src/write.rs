//! Writing sequences: the input of the writers of all formats, and their errors.

use std::ops::Range;
use std::sync::Arc;
use std::{fmt, io};

use tesson_core::{Element, Key, check_name, repeated_name};

/// A stream that is to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamSpec {
    /// Its name in the file.
    pub name: String,
    /// True if samples are lists of (column, value) pairs.
    pub sparse: bool,
    /// Values in a dense sample, columns of a sparse one. `None` for a sparse stream whose largest column is yet to be
    /// found.
    pub dim: Option<u64>,
    /// The type that values are written in, where the format has types.
    pub element: Element,
    /// The names of the classes that its columns are, where they have names.
    pub classes: Arc<[String]>,
}

/// Values of one stream of a sequence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Numbers<'a> {
    /// 32-bit floats.
    F32(&'a [f32]),
    /// 64-bit floats.
    F64(&'a [f64]),
    /// Whole numbers from 0 to 255.
    Bytes(&'a [u8]),
    /// This many times 1.
    Ones(usize),
}

impl Numbers<'_> {
    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            Numbers::F32(v) => v.len(),
            Numbers::F64(v) => v.len(),
            Numbers::Bytes(v) => v.len(),
            Numbers::Ones(n) => *n,
        }
    }

    /// Number `i`, widened.
    ///
    /// # Panics
    /// Where there are not so many.
    pub fn get(&self, i: usize) -> f64 {
        match self {
            Numbers::F32(v) => v[i].into(),
            Numbers::F64(v) => v[i],
            Numbers::Bytes(v) => v[i].into(),
            Numbers::Ones(n) => {
                assert!(i < *n, "there are {n} numbers");
                1.0
            }
        }
    }

    /// True if there are no numbers.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<'a> Numbers<'a> {
    /// Some of them.
    pub fn part(self, range: Range<usize>) -> Numbers<'a> {
        match self {
            Numbers::F32(v) => Numbers::F32(&v[range]),
            Numbers::F64(v) => Numbers::F64(&v[range]),
            Numbers::Bytes(v) => Numbers::Bytes(&v[range]),
            Numbers::Ones(_) => Numbers::Ones(range.len()),
        }
    }
}

/// One stream of a sequence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SequenceData<'a> {
    /// Sample after sample, each with as many values as the stream has.
    Dense {
        /// Number of samples.
        n_samples: u32,
        /// Their values.
        values: Numbers<'a>,
    },
    /// Pairs of all samples, one after the other.
    Sparse {
        /// Where each sample's pairs begin, and where those of the last end; counted from anywhere.
        bounds: &'a [i32],
        /// Columns.
        columns: &'a [i32],
        /// A value for each column.
        values: Numbers<'a>,
    },
}

impl SequenceData<'_> {
    /// Number of samples.
    pub fn n_samples(&self) -> u32 {
        match self {
            SequenceData::Dense { n_samples, .. } => *n_samples,
            SequenceData::Sparse { bounds, .. } => bounds.len().saturating_sub(1) as u32,
        }
    }
}

impl<'a> SequenceData<'a> {
    /// Some of the samples.
    pub fn part(&self, samples: Range<usize>) -> SequenceData<'a> {
        match *self {
            SequenceData::Dense { n_samples, values } => {
                let dim = values.len().checked_div(n_samples as usize).unwrap_or(0);
                let values = values.part(samples.start * dim..samples.end * dim);
                SequenceData::Dense { n_samples: samples.len() as u32, values }
            }
            SequenceData::Sparse { bounds, columns, values } => {
                let entry = |sample: usize| (bounds[sample] - bounds[0]) as usize;
                let entries = entry(samples.start)..entry(samples.end);
                SequenceData::Sparse {
                    bounds: &bounds[samples.start..=samples.end],
                    columns: &columns[entries.clone()],
                    values: values.part(entries),
                }
            }
        }
    }
}

/// A sequence that is to be written.
pub trait Sequence {
    /// Its key.
    fn key(&self) -> Key;

    /// Its samples in a stream.
    fn stream(&self, stream: usize) -> SequenceData<'_>;
}

/// The samples of consecutive sequences in one stream.
#[derive(Clone, Copy, Debug)]
pub struct Column<'a> {
    /// Samples of each sequence.
    pub lengths: &'a [u32],
    /// The samples of all of them, one after the other.
    pub data: SequenceData<'a>,
}

/// Consecutive sequences that are to be written.
pub struct Batch<'a> {
    /// How many there are.
    pub n_sequences: usize,
    /// Their streams.
    pub columns: Vec<Column<'a>>,
    /// True if the columns of each sparse sample are known to ascend and to be below the stream's dimension.
    pub ordered: bool,
    /// True if numeric keys may be those of lines, which mean nothing in another file.
    pub numbers_are_lines: bool,
    /// The key of each.
    pub key: &'a dyn Fn(usize) -> Key,
}

impl Batch<'_> {
    /// Calls `each` with its sequences, one after the other.
    ///
    /// # Errors
    /// The errors of `each`.
    pub fn one_by_one<E>(&self, mut each: impl FnMut(&dyn Sequence) -> Result<(), E>) -> Result<(), E> {
        let mut one = One { batch: self, at: 0, starts: vec![0; self.columns.len()] };
        for at in 0..self.n_sequences {
            one.at = at;
            each(&one)?;
            for (start, column) in one.starts.iter_mut().zip(&self.columns) {
                *start += column.lengths[at] as usize;
            }
        }
        Ok(())
    }
}

/// A sequence of a batch.
struct One<'a> {
    batch: &'a Batch<'a>,
    at: usize,
    /// Its first sample, by stream.
    starts: Vec<usize>,
}

impl Sequence for One<'_> {
    fn key(&self) -> Key {
        (self.batch.key)(self.at)
    }

    fn stream(&self, stream: usize) -> SequenceData<'_> {
        let column = &self.batch.columns[stream];
        let samples = self.starts[stream]..self.starts[stream] + column.lengths[self.at] as usize;
        column.data.part(samples)
    }
}

/// Writes sequences one after the other.
pub trait SequenceWriter {
    /// Appends sequences.
    ///
    /// # Errors
    /// A sequence that the format cannot represent, and errors of the output.
    fn batch(&mut self, batch: &Batch<'_>) -> Result<(), WriteError>;

    /// Writes what follows the last sequence, and flushes the output.
    ///
    /// # Errors
    /// Those of [`SequenceWriter::batch`]; a file without sequences.
    fn finish(&mut self) -> Result<(), WriteError>;

    /// The streams, with the dimensions that were found.
    fn streams(&self) -> Vec<StreamSpec>;

    /// The first key that was not written and is not the number that its sequence has instead, counted from 0.
    fn lost_key(&self) -> Option<&Key>;
}

/// Why nothing could be written.
#[derive(Debug)]
pub enum WriteError {
    /// An error of the output.
    Io(io::Error),
    /// The format cannot represent the data.
    Refused {
        /// The sequence, counted from 0, if it is one that is at fault.
        sequence: Option<u64>,
        /// The fault, and the repair.
        what: String,
    },
}

impl WriteError {
    /// A refusal that is not about one sequence.
    pub(crate) fn refused(what: impl Into<String>) -> WriteError {
        WriteError::Refused { sequence: None, what: what.into() }
    }
}

/// Refuses a key of bytes that are no UTF-8: it would be written as another one, which several such keys may share.
pub(crate) fn check_key(key: &Key) -> Result<(), String> {
    match key {
        Key::Text(text) if text.contains(char::REPLACEMENT_CHARACTER) => Err(format!(
            "its key `{text}` holds bytes that are no UTF-8, and would be another one; write the keys of the input in UTF-8"
        )),
        _ => Ok(()),
    }
}

/// Refuses names that are too long, and two streams of one name: what is written of one could not be told from the other.
pub(crate) fn check_names(streams: &[StreamSpec]) -> Result<(), WriteError> {
    // A file with a longer name could not be read.
    for stream in streams {
        check_name(&stream.name).map_err(|long| WriteError::refused(long.to_string()))?;
    }
    match repeated_name(streams.iter().map(|stream| &stream.name)) {
        None => Ok(()),
        Some((_, again)) => {
            Err(WriteError::refused(format!("there are two streams `{}`; rename one", streams[again].name)))
        }
    }
}

/// Streams whose dimension is open have as many columns as were needed.
pub(crate) fn with_columns(streams: &[StreamSpec], columns: &[u64]) -> Vec<StreamSpec> {
    let found = |(stream, &columns): (&StreamSpec, &u64)| StreamSpec {
        dim: Some(stream.dim.unwrap_or(columns)),
        ..stream.clone()
    };
    streams.iter().zip(columns).map(found).collect()
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WriteError::Io(e) => e.fmt(f),
            WriteError::Refused { sequence: Some(n), what } => write!(f, "sequence {n}: {what}"),
            WriteError::Refused { sequence: None, what } => f.write_str(what),
        }
    }
}

impl std::error::Error for WriteError {}

impl From<io::Error> for WriteError {
    fn from(e: io::Error) -> WriteError {
        WriteError::Io(e)
    }
}
