//! Writing binary files (spec/cbf.md §1, §5): chunks of about the size asked for, the header behind them.
//!
//! The file is a function of streams, sequences and chunk size alone, however the sequences come in batches. Nothing is
//! sought: it can be written to a pipe. An error of writing a chunk is returned while the next one is made.
//!
//! Sequences become bytes before they become chunks ([`Encoded`]), so that several threads can encode and one puts
//! together and writes, without another copy.

use std::io::Write;
use std::mem;
use std::ops::Add;
use std::sync::Arc;

use tesson_core::{Element, Key};

use super::chunk_queue::{ChunkQueue, Part};
use super::encode::{Spares, check_sizes};
use super::layout::{MAGIC, PREAMBLE, VERSION};
use super::walk::{Size, Walk};
use crate::write::{
    Batch, Column, SequenceData, SequenceWriter, StreamSpec, WriteError, check_names, with_columns,
};

pub use super::encode::{Encoded, Encoder};

/// Writes a binary file.
pub struct Writer<W> {
    chunk_queue: ChunkQueue<W>,
    encoder: Encoder,
    chunk_bytes: u64,
    /// Columns of each stream that have been needed so far.
    columns: Vec<u64>,
    /// Sequences that have not been put into chunks yet, and how many have.
    gathered: Encoded,
    n_sequences: u64,
    /// The first key that is not the number of its sequence.
    lost_key: Option<Key>,
    open: Open,
    /// Finished chunks: offset, sequences, samples.
    table: Vec<(u64, u32, u32)>,
    /// Where the open chunk begins.
    offset: u64,
}

/// The open chunk.
struct Open {
    /// Counted lengths, and the records of each stream.
    columns: Vec<Vec<Part>>,
    held: Held,
}

impl Open {
    fn new(n_streams: usize) -> Open {
        Open { columns: (0..=n_streams).map(|_| Vec::new()).collect(), held: Held::default() }
    }

    /// Takes parts in, one a column, which hold so much together.
    fn take(&mut self, parts: impl Iterator<Item = Part>, held: Held) {
        self.columns.iter_mut().zip(parts).for_each(|(column, part)| column.push(part));
        self.held = self.held + held;
    }
}

/// The size of some sequences.
#[derive(Clone, Copy, Default)]
struct Held {
    sequences: u64,
    /// Their counted lengths.
    samples: u64,
    bytes: u64,
}

impl Held {
    /// True if the size fits into a chunk's counts (spec/cbf.md §6).
    fn can_be_counted(self) -> bool {
        self.sequences.max(self.samples) <= u32::MAX.into()
    }
}

impl Add for Held {
    type Output = Held;

    fn add(self, other: Held) -> Held {
        Held {
            sequences: self.sequences + other.sequences,
            samples: self.samples + other.samples,
            bytes: self.bytes + other.bytes,
        }
    }
}

/// A chunk is closed when it has this many bytes, if nothing else is asked for: as large as those of the text format.
pub const CHUNK_BYTES: u64 = 32 << 20;

/// Sequences that come in batches are gathered until they have so many bytes.
const GATHERED_BYTES: u64 = 256 << 10;

impl<W: Write> Writer<W> {
    /// A writer of these streams. A chunk is closed when it has `chunk_bytes` bytes or more.
    ///
    /// # Errors
    /// Streams that the format cannot hold (spec/cbf.md §5), and what the output answers.
    pub fn new(mut out: W, streams: &[StreamSpec], chunk_bytes: u64) -> Result<Writer<W>, WriteError> {
        check_names(streams)?;
        for stream in streams {
            let most = if stream.sparse { i32::MAX as u64 } else { u64::from(u32::MAX) };
            let least = u64::from(!stream.sparse);
            if stream.dim.is_some_and(|dim| !(least..=most).contains(&dim))
                || (stream.dim.is_none() && !stream.sparse)
            {
                let found = stream.dim.map_or("none".into(), |dim| dim.to_string());
                return Err(WriteError::refused(format!(
                    "stream `{}` has dim {found}, expected {least} to {most}",
                    stream.name
                )));
            }
        }
        out.write_all(&MAGIC.to_le_bytes())?;
        out.write_all(&VERSION.to_le_bytes())?;
        let spares = Arc::new(Spares::new(streams.len()));
        Ok(Writer {
            gathered: spares.encoded(),
            chunk_queue: ChunkQueue::new(out, Arc::clone(&spares)),
            encoder: Encoder { streams: streams.into(), spares },
            chunk_bytes,
            columns: vec![0; streams.len()],
            n_sequences: 0,
            lost_key: None,
            open: Open::new(streams.len()),
            table: Vec::new(),
            offset: PREAMBLE,
        })
    }

    /// Something that encodes sequences of this writer's streams on any thread; all their dimensions must be known.
    pub fn encoder(&self) -> Encoder {
        self.encoder.clone()
    }

    /// Appends sequences that have been encoded.
    ///
    /// # Errors
    /// Errors of the output.
    pub fn append(&mut self, mut encoded: Encoded) -> Result<(), WriteError> {
        if self.lost_key.is_none() {
            self.lost_key = encoded.key_other_than_number(self.n_sequences);
        }
        let bytes = encoded.bytes();
        let all = Held { sequences: encoded.n_sequences, samples: encoded.n_samples, bytes };
        self.n_sequences += all.sequences;
        let walk = Walk::new(encoded, &self.encoder.streams);
        if self.open.held.bytes + bytes < self.chunk_bytes && (self.open.held + all).can_be_counted() {
            self.open.take(walk.rest(), all);
        } else {
            self.by_sequence(walk)?;
        }
        Ok(self.chunk_queue.write(bytes)?)
    }

    /// Appends sequences, looking at each whether the chunk ends before or behind it.
    fn by_sequence(&mut self, mut walk: Walk) -> Result<(), WriteError> {
        let mut passed = Held::default();
        while let Some(Size { length, bytes }) = walk.step() {
            let next = Held { sequences: 1, samples: length, bytes };
            let before = self.open.held + passed;
            if self.is_enough(before) || !(before + next).can_be_counted() {
                self.open.take(walk.take(), mem::take(&mut passed));
                self.end_chunk()?;
            }
            passed = passed + next;
        }
        self.open.take(walk.rest(), passed);
        if self.is_enough(self.open.held) { self.end_chunk() } else { Ok(()) }
    }

    /// True if sequences of this size close a chunk.
    fn is_enough(&self, held: Held) -> bool {
        held.sequences > 0 && held.bytes >= self.chunk_bytes
    }

    fn end_chunk(&mut self) -> Result<(), WriteError> {
        let n_streams = self.encoder.streams.len();
        let Open { columns, held } = mem::replace(&mut self.open, Open::new(n_streams));
        self.table.push((self.offset, held.sequences as u32, held.samples as u32));
        self.offset += held.bytes;
        self.chunk_queue.write_all()?;
        for (column, parts) in columns.into_iter().enumerate() {
            parts.into_iter().for_each(|part| self.chunk_queue.put(column, part));
        }
        Ok(())
    }

    /// Puts what has been gathered into chunks.
    fn append_gathered(&mut self) -> Result<(), WriteError> {
        let gathered = mem::replace(&mut self.gathered, self.encoder.spares.encoded());
        self.append(gathered)
    }
}

impl<W: Write> SequenceWriter for Writer<W> {
    /// Keys are not kept: the format numbers its sequences.
    fn batch(&mut self, batch: &Batch<'_>) -> Result<(), WriteError> {
        let streams = Arc::clone(&self.encoder.streams);
        let columns = || streams.iter().zip(&batch.columns);
        columns().try_for_each(|(stream, column)| check_sizes(stream, column))?;
        for ((stream, column), needed) in columns().zip(&mut self.columns) {
            if !batch.ordered || stream.dim.is_none() {
                let most = check_columns(stream, column).map_err(|(sequence, what)| {
                    let before = self.n_sequences + self.gathered.n_sequences;
                    WriteError::Refused { sequence: Some(before + sequence as u64), what }
                })?;
                *needed = most.max(*needed);
            }
        }
        self.gathered.append(&streams, batch);
        if self.gathered.bytes() >= GATHERED_BYTES { self.append_gathered() } else { Ok(()) }
    }

    fn finish(&mut self) -> Result<(), WriteError> {
        self.append_gathered()?;
        if self.open.held.sequences > 0 {
            self.end_chunk()?;
        }
        self.chunk_queue.write_all()?;
        if self.table.iter().all(|(_, _, samples)| *samples == 0) {
            return Err(WriteError::refused(
                "there is no sample to be written, a file of the binary format needs one",
            ));
        }
        let header = self.header();
        self.chunk_queue.out.write_all(&header)?;
        Ok(self.chunk_queue.out.flush()?)
    }

    fn streams(&self) -> Vec<StreamSpec> {
        with_columns(&self.encoder.streams, &self.columns)
    }

    fn lost_key(&self) -> Option<&Key> {
        self.lost_key.as_ref()
    }
}

impl<W: Write> Writer<W> {
    /// Header, table, and the header's offset.
    fn header(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_le_bytes().to_vec();
        bytes.extend((self.table.len() as u32).to_le_bytes());
        let streams = self.streams();
        bytes.extend((streams.len() as u32).to_le_bytes());
        for spec in &streams {
            bytes.push(spec.sparse.into());
            bytes.extend((spec.name.len() as u32).to_le_bytes());
            bytes.extend(spec.name.as_bytes());
            bytes.push((spec.element == Element::F64).into());
            bytes.extend((spec.dim.unwrap_or(0) as u32).to_le_bytes());
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

/// Columns must be below the stream's dimension. Returns how many are needed; if one is not, of which sequence, and what is
/// wrong.
fn check_columns(stream: &StreamSpec, column: &Column<'_>) -> Result<u64, (usize, String)> {
    let SequenceData::Sparse { bounds, columns, .. } = column.data else { return Ok(0) };
    let most = stream.dim.unwrap_or(i32::MAX as u64);
    // A negative one is a large one here.
    let Some(largest) = columns.iter().map(|&c| c as u32).max() else { return Ok(0) };
    if u64::from(largest) < most {
        return Ok(u64::from(largest) + 1);
    }
    let at = columns.iter().position(|&c| u64::from(c as u32) >= most).unwrap_or(0);
    let mut end = 0;
    let holds = |&n: &u32| {
        end += n as usize;
        (bounds[end] - bounds[0]) as usize > at
    };
    let sequence = column.lengths.iter().position(holds).unwrap_or(0);
    Err((sequence, format!("stream `{}`: index {} is not below dim {most}", stream.name, columns[at])))
}
