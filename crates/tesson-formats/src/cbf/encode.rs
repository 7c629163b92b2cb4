//! Sequences as the bytes of a chunk, stream by stream: made on any thread, put together by the writer.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use tesson_core::{Chunk, Data, Key, Offsets, StreamColumn, Values};

use super::records::Records;
use crate::write::{Batch, Column, Numbers, SequenceData, StreamSpec, WriteError};

/// Consecutive sequences, encoded.
#[derive(Debug, Default)]
pub struct Encoded {
    /// Counted lengths, and the records of each stream.
    pub(super) columns: Vec<Records>,
    pub(super) n_sequences: u64,
    pub(super) n_samples: u64,
    /// The first key, and the first that is not the number after the one before it. Line numbers are no keys.
    first_key: Option<Key>,
    odd_key: Option<Key>,
}

impl Encoded {
    /// How many sequences there are.
    pub fn n_sequences(&self) -> u64 {
        self.n_sequences
    }

    /// Samples of the longest stream of each, added up.
    pub fn n_samples(&self) -> u64 {
        self.n_samples
    }

    /// Bytes of a chunk that they take.
    pub(super) fn bytes(&self) -> u64 {
        self.columns.iter().map(|records| records.bytes().len() as u64).sum()
    }

    /// The first key that is not the number of its sequence, where these are numbered from `first`.
    pub(super) fn key_other_than_number(&mut self, first: u64) -> Option<Key> {
        let first_key = self.first_key.take()?;
        if first_key == Key::Number(first) { self.odd_key.take() } else { Some(first_key) }
    }

    fn look_at_keys(&mut self, batch: &Batch<'_>) {
        for i in 0..batch.n_sequences {
            if self.odd_key.is_some() || matches!(self.first_key, Some(Key::Text(_))) {
                return;
            }
            let key = (batch.key)(i);
            let number = |first: u64| Key::Number(first.wrapping_add(self.n_sequences + i as u64));
            match (&key, &self.first_key) {
                // All keys of an input are of one kind.
                (Key::Number(_), _) if batch.numbers_are_lines => return,
                (_, None) => self.first_key = Some(key),
                (_, Some(Key::Number(first))) if key == number(*first) => {}
                _ => self.odd_key = Some(key),
            }
        }
    }

    /// Appends a batch of sequences, which have been checked.
    pub(super) fn append(&mut self, streams: &[StreamSpec], batch: &Batch<'_>) {
        self.look_at_keys(batch);
        let longest = |i: usize| batch.columns.iter().map(|column| column.lengths[i]).max().unwrap_or(0);
        let n_samples = &mut self.n_samples;
        self.columns[0].numbers((0..batch.n_sequences).map(|i| {
            let length = longest(i);
            *n_samples += u64::from(length);
            length
        }));
        self.n_sequences += batch.n_sequences as u64;
        for ((records, stream), column) in self.columns[1..].iter_mut().zip(streams).zip(&batch.columns) {
            records.append(column, stream.dim.unwrap_or(0) as usize, stream.element, batch.ordered);
        }
    }
}

/// Makes records of decoded sequences, on any thread.
#[derive(Clone)]
pub struct Encoder {
    pub(super) streams: Arc<[StreamSpec]>,
    pub(super) spares: Arc<Spares>,
}

impl Encoder {
    /// Encodes the sequences of a chunk that are not left out.
    ///
    /// # Errors
    /// Samples that are not of the streams' sizes, and more entries than a sequence can have.
    pub fn encode(&self, chunk: &Chunk) -> Result<Encoded, WriteError> {
        let mut encoded = self.spares.encoded();
        let mut from = 0;
        for &left_out in &chunk.left_out {
            self.rows(chunk, from..left_out as usize, &mut encoded)?;
            from = left_out as usize + 1;
        }
        self.rows(chunk, from..chunk.n_sequences as usize, &mut encoded)?;
        Ok(encoded)
    }

    fn rows(&self, chunk: &Chunk, rows: Range<usize>, encoded: &mut Encoded) -> Result<(), WriteError> {
        if rows.is_empty() {
            return Ok(());
        }
        let parts: Result<Vec<Part<'_>>, WriteError> =
            chunk.streams.iter().map(|column| Part::of(column, rows.clone())).collect();
        let parts = parts?;
        let columns: Vec<Column<'_>> =
            self.streams.iter().zip(&parts).map(|(stream, part)| part.column(stream)).collect();
        for (stream, column) in self.streams.iter().zip(&columns) {
            check_sizes(stream, column)?;
        }
        // Deserializers bring entries in order and refuse columns beyond the dimension.
        let batch = Batch {
            n_sequences: rows.len(),
            columns,
            ordered: true,
            numbers_are_lines: true,
            key: &|row| chunk.key(rows.start + row),
        };
        encoded.append(&self.streams, &batch);
        Ok(())
    }
}

/// Samples must have as many values as the stream says.
pub(super) fn check_sizes(stream: &StreamSpec, column: &Column<'_>) -> Result<(), WriteError> {
    let SequenceData::Dense { n_samples, values } = column.data else { return Ok(()) };
    let dim = stream.dim.unwrap_or(0);
    if values.len() as u64 == u64::from(n_samples) * dim {
        return Ok(());
    }
    let what = format!(
        "stream `{}` has {} values in {n_samples} samples, expected {dim} a sample",
        stream.name,
        values.len()
    );
    Err(WriteError::refused(what))
}

/// Consecutive sequences of a decoded column, as a writer takes them.
struct Part<'a> {
    column: &'a StreamColumn,
    lengths: Vec<u32>,
    samples: Range<usize>,
    /// Where the entries of each sparse sample begin.
    bounds: Cow<'a, [i32]>,
    entries: Range<usize>,
}

impl<'a> Part<'a> {
    fn of(column: &'a StreamColumn, rows: Range<usize>) -> Result<Part<'a>, WriteError> {
        let lengths = match &column.samples {
            Offsets::Every(n) => vec![*n; rows.len()],
            Offsets::At(at) => at[rows.start..=rows.end].windows(2).map(|w| w[1] - w[0]).collect(),
        };
        let samples = column.samples.start(rows.start)..column.samples.start(rows.end);
        let (bounds, entries) = match &column.data {
            Data::Dense { .. } => (Cow::Borrowed(&[][..]), 0..0),
            Data::Sparse { rows, .. } => {
                let entries = rows.start(samples.start)..rows.start(samples.end);
                if entries.end > i32::MAX as usize {
                    let what = format!("{} entries lie together, more than a sequence can have", entries.end);
                    return Err(WriteError::refused(what));
                }
                let bounds = match rows {
                    Offsets::Every(n) => (0..=samples.len()).map(|i| (i * *n as usize) as i32).collect(),
                    Offsets::At(at) => Cow::Borrowed(bytemuck::cast_slice(&at[samples.start..=samples.end])),
                };
                (bounds, entries)
            }
            _ => return Err(WriteError::refused("samples are encoded, expected values")),
        };
        Ok(Part { column, lengths, samples, bounds, entries })
    }

    fn column(&self, stream: &StreamSpec) -> Column<'_> {
        let data = match &self.column.data {
            Data::Dense { values } => {
                let dim = stream.dim.unwrap_or(0) as usize;
                let range = self.samples.start * dim..self.samples.end * dim;
                SequenceData::Dense {
                    n_samples: self.samples.len() as u32,
                    values: numbers(values).part(range),
                }
            }
            Data::Sparse { columns, values, .. } => SequenceData::Sparse {
                bounds: &self.bounds,
                columns: bytemuck::cast_slice(&columns[self.entries.clone()]),
                values: numbers(values).part(self.entries.clone()),
            },
            _ => unreachable!("parts are of values"),
        };
        Column { lengths: &self.lengths, data }
    }
}

fn numbers(values: &Values) -> Numbers<'_> {
    match values {
        Values::Ones(n) => Numbers::Ones(*n),
        Values::Bytes(v) => Numbers::Bytes(v),
        Values::F32(v) => Numbers::F32(v),
        Values::F64(v) => Numbers::F64(v),
        _ => unreachable!("streams of other types are refused"),
    }
}

/// Memory of records that have been written, to be used again: of the lengths, and of each stream.
pub(super) struct Spares(Mutex<Vec<Vec<Records>>>);

impl Spares {
    pub(super) fn new(n_streams: usize) -> Spares {
        Spares(Mutex::new((0..=n_streams).map(|_| Vec::new()).collect()))
    }

    /// Nothing yet, with memory.
    pub(super) fn encoded(&self) -> Encoded {
        let mut idle = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // The latest ones are the likeliest to be in the cache.
        let columns = idle.iter_mut().map(|idle| idle.pop().unwrap_or_default()).collect();
        Encoded { columns, ..Encoded::default() }
    }

    /// Takes the memory of one column back, unless far less of it was needed.
    pub(super) fn give(&self, column: usize, mut records: Records) {
        if records.bytes().len() < records.capacity() / 4 {
            return;
        }
        records.clear();
        self.0.lock().unwrap_or_else(PoisonError::into_inner)[column].push(records);
    }
}
