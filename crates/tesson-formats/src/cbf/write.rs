//! Writing binary files (§1, §5): chunks of about the size asked for, the header behind them.
//!
//! The file is a function of streams, sequences and chunk size alone. Nothing is sought: it can be written to a pipe.

use std::io::Write;

use tesson_core::Element;

use super::layout::{MAGIC, PREAMBLE, VERSION};
use crate::write::{Numbers, Sequence, SequenceData, SequenceWriter, StreamSpec, WriteError};

/// Writes a binary file.
pub struct Writer<W> {
    out: W,
    chunk_bytes: u64,
    streams: Vec<Stream>,
    /// Counted lengths of the sequences in the open chunk.
    lengths: Vec<u32>,
    /// Finished chunks: offset, sequences, samples.
    table: Vec<(u64, u32, u32)>,
    /// Where the open chunk begins.
    offset: u64,
    n_sequences: u64,
    /// Pairs of one sample, being sorted.
    pairs: Vec<(i32, f64)>,
}

/// One stream, and its records of the open chunk.
struct Stream {
    spec: StreamSpec,
    /// Columns needed so far.
    columns: u64,
    bytes: Vec<u8>,
}

/// A chunk is closed when it has this many bytes, if nothing else is asked for: as large as those of the text format.
pub const CHUNK_BYTES: u64 = 32 << 20;

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
        out.write_all(&MAGIC.to_le_bytes())?;
        out.write_all(&VERSION.to_le_bytes())?;
        let stream = |spec: &StreamSpec| Stream { spec: spec.clone(), columns: 0, bytes: Vec::new() };
        Ok(Writer {
            out,
            chunk_bytes,
            streams: streams.iter().map(stream).collect(),
            lengths: Vec::new(),
            table: Vec::new(),
            offset: PREAMBLE,
            n_sequences: 0,
            pairs: Vec::new(),
        })
    }

    fn end_chunk(&mut self) -> Result<(), WriteError> {
        let samples: u64 = self.lengths.iter().map(|&n| u64::from(n)).sum();
        self.table.push((self.offset, self.lengths.len() as u32, samples as u32));
        self.offset += self.open_bytes();
        let mut prefix = Vec::with_capacity(4 * self.lengths.len());
        self.lengths.drain(..).for_each(|n| prefix.extend(n.to_le_bytes()));
        self.out.write_all(&prefix)?;
        for stream in &mut self.streams {
            self.out.write_all(&stream.bytes)?;
            stream.bytes.clear();
        }
        Ok(())
    }

    /// Bytes of the open chunk.
    fn open_bytes(&self) -> u64 {
        4 * self.lengths.len() as u64 + self.streams.iter().map(|s| s.bytes.len() as u64).sum::<u64>()
    }

    /// Closes the open chunk if its counts would not fit 32 bits with one more sequence of `length` samples (§6).
    fn make_room(&mut self, length: u32) -> Result<(), WriteError> {
        let samples: u64 = self.lengths.iter().map(|&n| u64::from(n)).sum();
        let full =
            self.lengths.len() >= u32::MAX as usize || samples + u64::from(length) > u64::from(u32::MAX);
        if full { self.end_chunk() } else { Ok(()) }
    }
}

impl<W: Write> SequenceWriter for Writer<W> {
    /// Keys are not kept: the format numbers its sequences.
    fn sequence(&mut self, sequence: &dyn Sequence) -> Result<(), WriteError> {
        let lengths = (0..self.streams.len()).map(|i| sequence.stream(i).n_samples());
        let length = lengths.max().unwrap_or(0);
        if self.lengths.len() % ROOM_CHECK == ROOM_CHECK - 1 || length > 1 << 16 {
            self.make_room(length)?;
        }
        for (i, stream) in self.streams.iter_mut().enumerate() {
            let problem = |what| WriteError::Refused { sequence: Some(self.n_sequences), what };
            stream.record(&sequence.stream(i), &mut self.pairs).map_err(problem)?;
        }
        self.lengths.push(length);
        self.n_sequences += 1;
        if self.open_bytes() >= self.chunk_bytes {
            self.end_chunk()?;
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<(), WriteError> {
        if !self.lengths.is_empty() {
            self.end_chunk()?;
        }
        if self.table.iter().all(|(_, _, samples)| *samples == 0) {
            return Err(refused(
                "there is no sample to be written, a file of the binary format needs one".into(),
            ));
        }
        self.out.write_all(&self.header())?;
        self.out.flush()?;
        Ok(())
    }

    fn streams(&self) -> Vec<StreamSpec> {
        let found = |stream: &Stream| StreamSpec {
            dim: Some(stream.spec.dim.unwrap_or(stream.columns)),
            ..stream.spec.clone()
        };
        self.streams.iter().map(found).collect()
    }
}

/// Sequences of up to 2^16 samples between two looks at whether a chunk's samples still fit 32 bits.
const ROOM_CHECK: usize = 1 << 15;

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
    /// Appends a record; `pairs` is memory to sort in.
    fn record(&mut self, data: &SequenceData<'_>, pairs: &mut Vec<(i32, f64)>) -> Result<(), String> {
        self.bytes.extend(data.n_samples().to_le_bytes());
        match *data {
            SequenceData::Dense { n_samples, values } => {
                let dim = self.spec.dim.unwrap_or(0);
                if values.len() as u64 != u64::from(n_samples) * dim {
                    return Err(format!(
                        "stream `{}` has {} values in {n_samples} samples, expected {dim} a sample",
                        self.spec.name,
                        values.len()
                    ));
                }
                put_values(values, self.spec.element, &mut self.bytes);
                Ok(())
            }
            SequenceData::Sparse { bounds, columns, values } => self.sparse(bounds, columns, values, pairs),
        }
    }

    fn sparse(
        &mut self,
        bounds: &[i32],
        columns: &[i32],
        values: Numbers<'_>,
        pairs: &mut Vec<(i32, f64)>,
    ) -> Result<(), String> {
        let Ok(entries) = i32::try_from(columns.len()) else {
            return Err(format!(
                "stream `{}` has {} entries, at most {} are possible",
                self.spec.name,
                columns.len(),
                i32::MAX
            ));
        };
        let most = self.spec.dim.unwrap_or(i32::MAX as u64);
        if let Some(column) = columns.iter().find(|&&c| c < 0 || c as u64 >= most) {
            return Err(format!("stream `{}`: index {column} is not below dim {most}", self.spec.name));
        }
        self.columns = self.columns.max(columns.iter().max().map_or(0, |&c| c as u64 + 1));
        self.bytes.extend(entries.to_le_bytes());
        let first = bounds.first().copied().unwrap_or(0);
        let samples = || bounds.windows(2).map(|w| (w[0] - first) as usize..(w[1] - first) as usize);
        if samples().all(|sample| columns[sample].is_sorted()) {
            put_values(values, self.spec.element, &mut self.bytes);
            put(columns, i32::to_le_bytes, &mut self.bytes);
        } else {
            // Entries of one column keep their order (§5), and with it their sum.
            pairs.clear();
            pairs.extend(columns.iter().enumerate().map(|(i, &column)| (column, value(values, i))));
            samples().for_each(|sample| pairs[sample].sort_by_key(|&(column, _)| column));
            for &(_, value) in &*pairs {
                match self.spec.element {
                    Element::F32 => self.bytes.extend((value as f32).to_le_bytes()),
                    Element::F64 => self.bytes.extend(value.to_le_bytes()),
                }
            }
            pairs.iter().for_each(|(column, _)| self.bytes.extend(column.to_le_bytes()));
        }
        for sample in samples() {
            self.bytes.extend((sample.len() as i32).to_le_bytes());
        }
        Ok(())
    }
}

fn value(values: Numbers<'_>, i: usize) -> f64 {
    match values {
        Numbers::F32(v) => v[i].into(),
        Numbers::F64(v) => v[i],
    }
}

fn put_values(values: Numbers<'_>, element: Element, into: &mut Vec<u8>) {
    match (values, element) {
        (Numbers::F32(v), Element::F32) => put(v, f32::to_le_bytes, into),
        (Numbers::F64(v), Element::F64) => put(v, f64::to_le_bytes, into),
        (Numbers::F32(v), Element::F64) => put(v, |x| f64::from(x).to_le_bytes(), into),
        (Numbers::F64(v), Element::F32) => put(v, |x| (x as f32).to_le_bytes(), into),
    }
}

fn put<T: Copy, const N: usize>(items: &[T], bytes_of: impl Fn(T) -> [u8; N], into: &mut Vec<u8>) {
    let at = into.len();
    into.resize(at + N * items.len(), 0);
    for (place, &item) in into[at..].as_chunks_mut().0.iter_mut().zip(items) {
        *place = bytes_of(item);
    }
}

fn refused(what: String) -> WriteError {
    WriteError::Refused { sequence: None, what }
}
