//! Writing binary files (§1, §5): chunks of about the size asked for, the header behind them.
//!
//! The file is a function of streams, sequences and chunk size alone, however the sequences come in batches. Nothing is
//! sought: it can be written to a pipe. What the output answers to a chunk's bytes is told while the next one is made.

use std::io::{self, Write};
use std::ops::Range;

use tesson_core::Element;

use super::blocks::Blocks;
use super::layout::{MAGIC, PREAMBLE, VERSION};
use super::records::{LEAST_BYTES, Records, Sparse};
use crate::write::{Batch, Column, SequenceData, SequenceWriter, StreamSpec, WriteError};

/// Writes a binary file.
pub struct Writer<W> {
    blocks: Blocks<W>,
    chunk_bytes: u64,
    streams: Vec<Stream>,
    /// Counted lengths of the sequences in the open chunk, how many there are, and what they add up to.
    lengths: Records,
    n_lengths: u64,
    n_samples: u64,
    /// Bytes of the open chunk.
    open_bytes: u64,
    /// Finished chunks: offset, sequences, samples.
    table: Vec<(u64, u32, u32)>,
    /// Where the open chunk begins.
    offset: u64,
    n_sequences: u64,
    /// Counted length and bytes of each sequence of a batch.
    sizes: Vec<(u32, u64)>,
}

/// One stream, and its records of the open chunk.
struct Stream {
    spec: StreamSpec,
    /// Columns needed so far.
    columns: u64,
    records: Records,
}

/// A chunk is closed when it has this many bytes, if nothing else is asked for: as large as those of the text format.
pub const CHUNK_BYTES: u64 = 32 << 20;

/// Bytes that are written at once, at most: a block that is used again is then still in a core's own cache.
const MOST_BYTES: u64 = 256 << 10;

impl<W: Write> Writer<W> {
    /// A writer of these streams. A chunk is closed when it has `chunk_bytes` bytes or more.
    ///
    /// # Errors
    /// Streams that the format cannot hold (§5), and what the output answers.
    pub fn new(mut out: W, streams: &[StreamSpec], chunk_bytes: u64) -> Result<Writer<W>, WriteError> {
        for (i, stream) in streams.iter().enumerate() {
            let most = if stream.sparse { i32::MAX as u64 } else { u64::from(u32::MAX) };
            let least = u64::from(!stream.sparse);
            if stream.dim.is_some_and(|dim| !(least..=most).contains(&dim))
                || (stream.dim.is_none() && !stream.sparse)
            {
                let found = stream.dim.map_or("none".into(), |dim| dim.to_string());
                return Err(refused(format!(
                    "stream `{}` has dim {found}, expected {least} to {most}",
                    stream.name
                )));
            }
            if streams[..i].iter().any(|other| other.name == stream.name) {
                return Err(refused(format!("there are two streams `{}`", stream.name)));
            }
        }
        let stream =
            |spec: &StreamSpec| Stream { spec: spec.clone(), columns: 0, records: Records::default() };
        out.write_all(&MAGIC.to_le_bytes())?;
        out.write_all(&VERSION.to_le_bytes())?;
        // Each stream and the prefix have a block that is not full.
        let block_bytes = chunk_bytes / (4 * (streams.len() as u64 + 1));
        let block_bytes = block_bytes.clamp(LEAST_BYTES as u64, MOST_BYTES) as usize;
        Ok(Writer {
            blocks: Blocks::new(out, block_bytes),
            chunk_bytes,
            streams: streams.iter().map(stream).collect(),
            lengths: Records::default(),
            n_lengths: 0,
            n_samples: 0,
            open_bytes: 0,
            table: Vec::new(),
            offset: PREAMBLE,
            n_sequences: 0,
            sizes: Vec::new(),
        })
    }

    fn end_chunk(&mut self) -> Result<(), WriteError> {
        self.table.push((self.offset, self.n_lengths as u32, self.n_samples as u32));
        self.offset += self.open_bytes;
        self.blocks.write_waiting()?;
        self.lengths.hand_over(&mut self.blocks);
        self.streams.iter_mut().for_each(|stream| stream.records.hand_over(&mut self.blocks));
        (self.n_lengths, self.n_samples, self.open_bytes) = (0, 0, 0);
        Ok(())
    }

    /// Whether a sequence of so many samples would be beyond what a chunk's counts hold (§6).
    fn is_full(&self, length: u32) -> bool {
        self.n_lengths >= u64::from(u32::MAX) || self.n_samples + u64::from(length) > u64::from(u32::MAX)
    }

    /// The bytes that a batch takes, if the open chunk stays open with all of it.
    fn bytes_if_open(&self, batch: &Batch<'_>) -> Option<u64> {
        let (mut bytes, mut samples) = (4 * batch.n_sequences as u64, 0);
        for (stream, column) in self.streams.iter().zip(&batch.columns) {
            let (value, n) = (value_bytes(stream.spec.element), u64::from(column.data.n_samples()));
            bytes += match column.data {
                SequenceData::Dense { .. } => {
                    4 * batch.n_sequences as u64 + value * stream.spec.dim.unwrap_or(0) * n
                }
                SequenceData::Sparse { columns, .. } => {
                    8 * batch.n_sequences as u64 + (value + 4) * columns.len() as u64 + 4 * n
                }
            };
            samples += n;
        }
        let stays_open = self.open_bytes.checked_add(bytes)? < self.chunk_bytes
            && self.n_lengths + batch.n_sequences as u64 <= u64::from(u32::MAX)
            && self.n_samples + samples <= u64::from(u32::MAX);
        stays_open.then_some(bytes)
    }

    /// Appends a batch, looking at each sequence whether the chunk ends before or behind it.
    fn by_sequence(&mut self, batch: &Batch<'_>, samples: &mut [usize]) -> Result<(), WriteError> {
        self.measure(batch);
        let mut from = 0;
        for i in 0..batch.n_sequences {
            let (length, bytes) = self.sizes[i];
            if self.is_full(length) {
                self.append(batch, from..i, samples)?;
                self.end_chunk()?;
                from = i;
            }
            self.lengths.number(length, &mut self.blocks)?;
            self.n_lengths += 1;
            self.n_samples += u64::from(length);
            self.open_bytes += bytes;
            if self.open_bytes >= self.chunk_bytes {
                self.append(batch, from..i + 1, samples)?;
                self.end_chunk()?;
                from = i + 1;
            }
        }
        self.append(batch, from..batch.n_sequences, samples)
    }

    /// Finds each sequence's counted length, and the bytes that it takes.
    fn measure(&mut self, batch: &Batch<'_>) {
        self.sizes.clear();
        self.sizes.resize(batch.n_sequences, (0, 4));
        for (stream, column) in self.streams.iter().zip(&batch.columns) {
            let value = value_bytes(stream.spec.element);
            let sizes = self.sizes.iter_mut().zip(column.lengths);
            match column.data {
                SequenceData::Dense { .. } => {
                    let sample = value * stream.spec.dim.unwrap_or(0);
                    sizes.for_each(|(size, &n)| {
                        *size = (size.0.max(n), size.1 + 4 + sample * u64::from(n));
                    });
                }
                SequenceData::Sparse { bounds, .. } => {
                    let mut at = 0;
                    sizes.for_each(|(size, &n)| {
                        let entries = (bounds[at + n as usize] - bounds[at]) as u64;
                        at += n as usize;
                        *size = (size.0.max(n), size.1 + 8 + (value + 4) * entries + 4 * u64::from(n));
                    });
                }
            }
        }
    }

    /// Appends records of some of a batch's sequences. `samples` are where those begin in each stream; they move on.
    fn append(
        &mut self,
        batch: &Batch<'_>,
        sequences: Range<usize>,
        samples: &mut [usize],
    ) -> Result<(), WriteError> {
        let columns = self.streams.iter_mut().zip(&batch.columns).zip(samples);
        for ((stream, column), start) in columns {
            let lengths = &column.lengths[sequences.clone()];
            let end = *start + lengths.iter().map(|&n| n as usize).sum::<usize>();
            let part = Column { lengths, data: column.data.part(*start..end) };
            if !batch.ordered || stream.spec.dim.is_none() {
                stream.check_columns(&part).map_err(|(sequence, what)| {
                    let sequence = Some(self.n_sequences + sequence as u64);
                    WriteError::Refused { sequence, what }
                })?;
            }
            stream.append(&part, batch.ordered, &mut self.blocks)?;
            *start = end;
        }
        self.n_sequences += sequences.len() as u64;
        Ok(())
    }
}

impl<W: Write> SequenceWriter for Writer<W> {
    /// Keys are not kept: the format numbers its sequences.
    fn batch(&mut self, batch: &Batch<'_>) -> Result<(), WriteError> {
        for (stream, column) in self.streams.iter().zip(&batch.columns) {
            stream.check_sizes(column).map_err(|what| WriteError::Refused { sequence: None, what })?;
        }
        let mut samples = vec![0; batch.columns.len()];
        let Some(bytes) = self.bytes_if_open(batch) else { return self.by_sequence(batch, &mut samples) };
        self.open_bytes += bytes;
        for i in 0..batch.n_sequences {
            let length = batch.columns.iter().map(|column| column.lengths[i]).max().unwrap_or(0);
            self.lengths.number(length, &mut self.blocks)?;
            self.n_samples += u64::from(length);
        }
        self.n_lengths += batch.n_sequences as u64;
        self.append(batch, 0..batch.n_sequences, &mut samples)
    }

    fn finish(&mut self) -> Result<(), WriteError> {
        if self.n_lengths > 0 {
            self.end_chunk()?;
        }
        self.blocks.write_waiting()?;
        if self.table.iter().all(|(_, _, samples)| *samples == 0) {
            return Err(refused(
                "there is no sample to be written, a file of the binary format needs one".into(),
            ));
        }
        let header = self.header();
        self.blocks.out.write_all(&header)?;
        Ok(self.blocks.out.flush()?)
    }

    fn streams(&self) -> Vec<StreamSpec> {
        let found = |stream: &Stream| StreamSpec {
            dim: Some(stream.spec.dim.unwrap_or(stream.columns)),
            ..stream.spec.clone()
        };
        self.streams.iter().map(found).collect()
    }
}

impl<W> Writer<W> {
    /// Header, table, and the header's offset.
    fn header(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_le_bytes().to_vec();
        bytes.extend((self.table.len() as u32).to_le_bytes());
        bytes.extend((self.streams.len() as u32).to_le_bytes());
        for Stream { spec, columns, .. } in &self.streams {
            bytes.push(spec.sparse.into());
            bytes.extend((spec.name.len() as u32).to_le_bytes());
            bytes.extend(spec.name.as_bytes());
            bytes.push((spec.element == Element::F64).into());
            bytes.extend((spec.dim.unwrap_or(*columns) as u32).to_le_bytes());
        }
        for (offset, sequences, samples) in &self.table {
            bytes.extend(offset.to_le_bytes());
            bytes.extend(sequences.to_le_bytes());
            bytes.extend(samples.to_le_bytes());
        }
        bytes.extend(self.offset.to_le_bytes());
        bytes
    }
}

impl Stream {
    /// Samples must have as many values as the stream says.
    fn check_sizes(&self, column: &Column<'_>) -> Result<(), String> {
        let SequenceData::Dense { n_samples, values } = column.data else { return Ok(()) };
        let dim = self.spec.dim.unwrap_or(0);
        if values.len() as u64 == u64::from(n_samples) * dim {
            return Ok(());
        }
        Err(format!(
            "stream `{}` has {} values in {n_samples} samples, expected {dim} a sample",
            self.spec.name,
            values.len()
        ))
    }

    /// Columns must be below the stream's dimension; if one is not, of which sequence, and what is wrong.
    fn check_columns(&mut self, column: &Column<'_>) -> Result<(), (usize, String)> {
        let SequenceData::Sparse { bounds, columns, .. } = column.data else { return Ok(()) };
        let most = self.spec.dim.unwrap_or(i32::MAX as u64);
        // A negative one is a large one here.
        let largest = columns.iter().fold(0, |most, &c| most.max(c as u32));
        if columns.is_empty() {
            return Ok(());
        }
        if u64::from(largest) >= most {
            return Err(self.find_wrong(column.lengths, bounds, columns, most));
        }
        self.columns = self.columns.max(u64::from(largest) + 1);
        Ok(())
    }

    /// Appends records.
    fn append<W: Write>(
        &mut self,
        column: &Column<'_>,
        ordered: bool,
        blocks: &mut Blocks<W>,
    ) -> io::Result<()> {
        let (lengths, element) = (column.lengths, self.spec.element);
        match column.data {
            SequenceData::Dense { values, .. } => {
                let dim = self.spec.dim.unwrap_or(0) as usize;
                self.records.dense(lengths, dim, values, element, blocks)
            }
            SequenceData::Sparse { bounds, columns, values } => {
                let sparse = Sparse { lengths, bounds, columns };
                self.records.sparse(sparse, values, element, ordered, blocks)
            }
        }
    }

    /// The first sequence with a column that cannot be.
    fn find_wrong(&self, lengths: &[u32], bounds: &[i32], columns: &[i32], most: u64) -> (usize, String) {
        let at = columns.iter().position(|&c| c < 0 || c as u64 >= most).unwrap_or(0);
        let mut end = 0;
        let holds = |&n: &u32| {
            end += n as usize;
            (bounds[end] - bounds[0]) as usize > at
        };
        let sequence = lengths.iter().position(holds).unwrap_or(0);
        (sequence, format!("stream `{}`: index {} is not below dim {most}", self.spec.name, columns[at]))
    }
}

/// Bytes of a value.
fn value_bytes(element: Element) -> u64 {
    match element {
        Element::F32 => 4,
        Element::F64 => 8,
    }
}

fn refused(what: String) -> WriteError {
    WriteError::Refused { sequence: None, what }
}
