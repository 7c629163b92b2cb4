//! Decoded chunks: a few flat columns, nothing allocated per sequence or sample.

use std::ops::Range;

use crate::{
    DataError, DataErrorKind, Element, EncodedColumn, Frame, FrameColumn, Keys, Origin, RecordingColumn,
    ResourceId, Strings,
};

/// The boundaries of a column's entries.
///
/// Entry `i` covers `start(i)..start(i + 1)`.
#[derive(Clone, Debug, PartialEq)]
pub enum Offsets {
    /// Every entry has the same length.
    Every(u32),
    /// `n + 1` positions, ascending, the first is 0.
    At(Vec<u32>),
}

impl Offsets {
    /// The beginning of entry `i`.
    #[inline]
    pub fn start(&self, i: usize) -> usize {
        match self {
            Offsets::Every(n) => i * *n as usize,
            Offsets::At(v) => v[i] as usize,
        }
    }

    /// The range of entry `i`.
    #[inline]
    pub fn range(&self, i: usize) -> std::ops::Range<usize> {
        self.start(i)..self.start(i + 1)
    }

    /// Bytes of memory held.
    pub fn bytes(&self) -> usize {
        match self {
            Offsets::Every(_) => 0,
            Offsets::At(v) => v.capacity() * 4,
        }
    }
}

/// The values of a column: floating-point numbers in the narrowest type that holds them exactly, or values of other types
/// ([`Element`](crate::Element)) bit by bit.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Values {
    /// This many times 1.
    Ones(usize),
    /// Whole numbers from 0 to 255 (no negative zero); or the bits of a stream's 8-bit values.
    Bytes(Vec<u8>),
    /// 32-bit floats.
    F32(Vec<f32>),
    /// 64-bit floats.
    F64(Vec<f64>),
    /// The bits of a stream's 16-bit values.
    Bits16(Vec<u16>),
    /// The bits of a stream's 32-bit values that are not floating-point numbers.
    Bits32(Vec<u32>),
    /// The bits of a stream's 64-bit values that are not floating-point numbers.
    Bits64(Vec<u64>),
    /// Byte strings or texts, each of which is a value.
    Strings(Strings),
}

impl Values {
    /// No values yet of a stream with elements of this type.
    pub fn empty(element: Element) -> Values {
        match element {
            _ if element.is_float() => Values::Ones(0),
            _ if element.is_string() => Values::Strings(Strings::default()),
            _ => match element.size() {
                1 => Values::Bytes(Vec::new()),
                2 => Values::Bits16(Vec::new()),
                4 => Values::Bits32(Vec::new()),
                _ => Values::Bits64(Vec::new()),
            },
        }
    }

    /// True if these can be values of a stream with elements of this type.
    pub fn fit(&self, element: Element) -> bool {
        match self {
            Values::Ones(_) => element.is_float(),
            Values::Bytes(_) => element.is_float() || element.size() == 1,
            Values::F32(_) => element == Element::F32,
            Values::F64(_) => element == Element::F64,
            Values::Bits16(_) => element.size() == 2,
            Values::Bits32(_) => element.size() == 4 && !element.is_float(),
            Values::Bits64(_) => matches!(element, Element::I64 | Element::U64),
            Values::Strings(_) => element.is_string(),
        }
    }

    /// True if these are values of a stream with elements of this type as minibatches have them: neither in a narrower type, nor
    /// strings.
    pub fn fit_bit_by_bit(&self, element: Element) -> bool {
        match self {
            Values::Ones(_) | Values::Strings(_) => false,
            Values::Bytes(_) => element.size() == 1,
            other => other.fit(element),
        }
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        match self {
            Values::Ones(n) => *n,
            Values::Bytes(v) => v.len(),
            Values::F32(v) => v.len(),
            Values::F64(v) => v.len(),
            Values::Bits16(v) => v.len(),
            Values::Bits32(v) => v.len(),
            Values::Bits64(v) => v.len(),
            Values::Strings(v) => v.len(),
        }
    }

    /// True if there are no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Appends some of other values of the same stream: floating-point numbers in the narrowest type that holds them and those
    /// before.
    pub fn append(&mut self, from: &Values, range: Range<usize>) {
        self.widen_for(from);
        match (self, from) {
            (Values::Ones(n), _) => *n += range.len(),
            (Values::Bytes(out), Values::Bytes(v)) => out.extend_from_slice(&v[range]),
            (Values::Bytes(out), _) => out.resize(out.len() + range.len(), 1),
            (Values::F32(out), Values::F32(v)) => out.extend_from_slice(&v[range]),
            (Values::F32(out), Values::Bytes(v)) => out.extend(v[range].iter().map(|&x| f32::from(x))),
            (Values::F32(out), _) => out.resize(out.len() + range.len(), 1.0),
            (Values::F64(out), Values::F64(v)) => out.extend_from_slice(&v[range]),
            (Values::F64(out), Values::F32(v)) => out.extend(v[range].iter().map(|&x| f64::from(x))),
            (Values::F64(out), Values::Bytes(v)) => out.extend(v[range].iter().map(|&x| f64::from(x))),
            (Values::F64(out), _) => out.resize(out.len() + range.len(), 1.0),
            (Values::Bits16(out), Values::Bits16(v)) => out.extend_from_slice(&v[range]),
            (Values::Bits32(out), Values::Bits32(v)) => out.extend_from_slice(&v[range]),
            (Values::Bits64(out), Values::Bits64(v)) => out.extend_from_slice(&v[range]),
            (Values::Strings(out), Values::Strings(v)) => out.append(v, range),
            // What stands for a missing sample has the type of no stream.
            (Values::Bits16(out), _) => out.resize(out.len() + range.len(), 1),
            (Values::Bits32(out), _) => out.resize(out.len() + range.len(), 1),
            (Values::Bits64(out), _) => out.resize(out.len() + range.len(), 1),
            (Values::Strings(out), _) => out.append_empty(range.len()),
        }
    }

    /// Turns these into a type that holds others too.
    fn widen_for(&mut self, other: &Values) {
        let mut wider = match other {
            Values::Bytes(_) if matches!(self, Values::Ones(_)) => Values::Bytes(Vec::new()),
            Values::F32(_) if matches!(self, Values::Ones(_) | Values::Bytes(_)) => Values::F32(Vec::new()),
            Values::F64(_) if !matches!(self, Values::F64(_)) => Values::F64(Vec::new()),
            Values::Bits16(_) if matches!(self, Values::Ones(_)) => Values::Bits16(Vec::new()),
            Values::Bits32(_) if matches!(self, Values::Ones(_)) => Values::Bits32(Vec::new()),
            Values::Bits64(_) if matches!(self, Values::Ones(_)) => Values::Bits64(Vec::new()),
            Values::Strings(_) if matches!(self, Values::Ones(_)) => Values::Strings(Strings::default()),
            _ => return,
        };
        wider.append(self, 0..self.len());
        *self = wider;
    }

    /// Bytes of memory held.
    pub fn bytes(&self) -> usize {
        match self {
            Values::Ones(_) => 0,
            Values::Bytes(v) => v.capacity(),
            Values::F32(v) => v.capacity() * 4,
            Values::F64(v) => v.capacity() * 8,
            Values::Bits16(v) => v.capacity() * 2,
            Values::Bits32(v) => v.capacity() * 4,
            Values::Bits64(v) => v.capacity() * 8,
            Values::Strings(v) => v.memory(),
        }
    }
}

/// The values of one stream in a chunk. Which of these it is, the stream says ([`Storage`](crate::Storage)).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Data {
    /// `dim` values a sample, sample after sample.
    Dense {
        /// The values.
        values: Values,
    },
    /// Sample `i` has the pairs `rows.range(i)` of `columns` and `values`, sorted by column, no column twice.
    Sparse {
        /// The boundaries of each sample's pairs.
        rows: Offsets,
        /// Column numbers, below the stream's dimension.
        columns: Vec<u32>,
        /// One value a column number.
        values: Values,
    },
    /// Samples of encoded bytes, kept as they are.
    Encoded(EncodedColumn),
    /// Frames, each a sequence of one sample, kept with those around them.
    Frames(FrameColumn),
    /// Recordings of encoded bytes, and the frames of them that each sequence has.
    Recordings(RecordingColumn),
    /// `dim` values for each sequence: the sample that all of its samples are.
    Repeated {
        /// The values.
        values: Values,
    },
}

impl Data {
    /// True if blocks keep the column as it is; others can be packed.
    pub fn is_kept(&self) -> bool {
        !matches!(self, Data::Dense { .. } | Data::Sparse { .. })
    }

    /// Counts the lines of encoded samples from `first` on: from the beginning of the resource, not of the chunk.
    pub fn shift_lines(&mut self, first: u64) {
        if let Data::Encoded(column) = self {
            column.each_origin(|origin| origin.line = origin.line.map(|line| line + first));
        }
    }

    /// Counts the resources of encoded samples and recordings from `first` on: those of one deserializer among those of
    /// several.
    pub fn shift_resources(&mut self, first: u32) {
        let shift = |origin: &mut Origin| origin.resource.0 = origin.resource.0.saturating_add(first);
        match self {
            Data::Encoded(column) => column.each_origin(shift),
            Data::Recordings(column) => column.each_origin(shift),
            _ => {}
        }
    }

    /// Bytes of memory held.
    pub fn bytes(&self) -> usize {
        match self {
            Data::Dense { values } | Data::Repeated { values } => values.bytes(),
            Data::Sparse { rows, columns, values } => rows.bytes() + columns.capacity() * 4 + values.bytes(),
            Data::Encoded(column) => column.bytes(),
            Data::Recordings(column) => column.bytes(),
            Data::Frames(FrameColumn { values, frames, .. }) => {
                values.bytes() + frames.capacity() * size_of::<Frame>()
            }
        }
    }
}

/// One stream of a chunk: sequence `i` has the samples `samples.range(i)` of `data`.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamColumn {
    /// The boundaries of each sequence's samples.
    pub samples: Offsets,
    /// The samples, flat.
    pub data: Data,
}

impl StreamColumn {
    /// Bytes of memory held.
    pub fn bytes(&self) -> usize {
        self.samples.bytes() + self.data.bytes()
    }
}

/// A fault of a sequence, found while it was decoded.
///
/// The part of the sequence that is kept never depends on whether the fault is forgiven; faults are charged when
/// minibatches are delivered, in plan order.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    /// The sequence, counted within the chunk.
    pub sequence: u32,
    /// The kind of fault.
    pub kind: DataErrorKind,
    /// The stream it was found in, by position among the deserializer's streams.
    pub stream: Option<u16>,
    /// The file it was found in.
    pub resource: ResourceId,
    /// Byte offset in the file, from 0.
    pub offset: u64,
    /// Physical line, counted from 0; relative to the chunk's `first_line`. `None` in binary formats.
    pub line: Option<u64>,
    /// No budget forgives it: a minibatch that holds the sequence cannot be delivered.
    pub fatal: bool,
}

/// Sequences without known boundaries, because the data around them are damaged. No budget allows their delivery.
#[derive(Clone, Debug, PartialEq)]
pub struct Damage {
    /// The sequences, counted within the chunk.
    pub sequences: Range<u32>,
    /// The damage and its location.
    pub error: DataError,
}

/// A decoded run of consecutive sequences (or of selected ones), as columns.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Chunk {
    /// Number of sequences.
    pub n_sequences: u32,
    /// The counted length of each sequence, equal to that of an index pass over the same bytes.
    pub lengths: Vec<u32>,
    /// The sequences' keys. Line numbers are relative to `first_line`.
    pub keys: Keys,
    /// True if `keys` are line numbers, to which `first_line` is to be added.
    pub keys_are_lines: bool,
    /// The number of the copy for each sequence, from 0, if a deserializer delivers sequences several times; empty if
    /// all are 0. Copies of one sequence have its key, and draw different random numbers.
    pub copies: Vec<u32>,
    /// One column a stream, in the deserializer's order.
    pub streams: Vec<StreamColumn>,
    /// The faults, ascending by sequence, within a sequence in the order of the bytes.
    pub faults: Vec<Fault>,
    /// The damage, ascending by sequence; the sequences have no samples in `streams`.
    pub damaged: Vec<Damage>,
    /// Oddities that do not prevent the delivery of a sequence, in the form of `faults`. Collected only on request
    /// ([`Scratch::notes`](crate::Scratch::notes)), for checks, which list them.
    pub notes: Vec<Fault>,
    /// Sequences that keep their place in the plan but are removed at delivery, ascending.
    pub left_out: Vec<u32>,
    /// Physical line (from 0) of the chunk's first byte; 0 until it is known.
    pub first_line: u64,
    /// Line feeds within the chunk's bytes (pieces only).
    pub n_lines: u64,
}

/// Bytes of a column that are not worth being freed.
const SMALL: usize = 4 << 10;

impl Chunk {
    /// A chunk with a sequence for each length, and one column a stream. Everything else is as if there were nothing to say.
    pub fn new(keys: Keys, lengths: Vec<u32>, streams: Vec<StreamColumn>) -> Chunk {
        Chunk { n_sequences: lengths.len() as u32, lengths, keys, streams, ..Chunk::empty() }
    }

    /// A chunk without streams and sequences.
    pub const fn empty() -> Chunk {
        Chunk {
            n_sequences: 0,
            lengths: Vec::new(),
            keys: Keys::Consecutive(0),
            keys_are_lines: false,
            copies: Vec::new(),
            streams: Vec::new(),
            faults: Vec::new(),
            damaged: Vec::new(),
            notes: Vec::new(),
            left_out: Vec::new(),
            first_line: 0,
            n_lines: 0,
        }
    }

    /// The number of the copy, from 0, that sequence `i` is.
    pub fn copy(&self, i: usize) -> u32 {
        self.copies.get(i).copied().unwrap_or(0)
    }

    /// The key of sequence `i`.
    pub fn key(&self, i: usize) -> crate::Key {
        match (self.keys.get(i), self.keys_are_lines) {
            (crate::Key::Number(n), true) => crate::Key::Number(n + self.first_line),
            (key, _) => key,
        }
    }

    /// The keys, line numbers counted from the beginning of the resource.
    pub fn absolute_keys(&self) -> Keys {
        match &self.keys {
            Keys::Consecutive(first) if self.keys_are_lines => Keys::Consecutive(first + self.first_line),
            Keys::Numbers(v) if self.keys_are_lines => {
                Keys::Numbers(v.iter().map(|n| n + self.first_line).collect())
            }
            keys => keys.clone(),
        }
    }

    /// The faults of sequence `i`.
    pub fn faults_of(&self, i: u32) -> &[Fault] {
        let from = self.faults.partition_point(|f| f.sequence < i);
        let to = from + self.faults[from..].partition_point(|f| f.sequence == i);
        &self.faults[from..to]
    }

    /// The damage in which sequence `i` lies, if any.
    pub fn damage_of(&self, i: u32) -> Option<&DataError> {
        let at = self.damaged.partition_point(|d| d.sequences.end <= i);
        self.damaged.get(at).filter(|d| d.sequences.contains(&i)).map(|d| &d.error)
    }

    /// True if sequence `i` is removed at delivery.
    pub fn is_left_out(&self, i: u32) -> bool {
        !self.left_out.is_empty() && self.left_out.binary_search(&i).is_ok()
    }

    /// The recordings that the chunk has held, emptied: reading into them allocates nothing.
    pub fn take_recordings(&mut self) -> RecordingColumn {
        let held = self.streams.iter_mut().find_map(|stream| match &mut stream.data {
            Data::Recordings(column) => Some(std::mem::take(column)),
            _ => None,
        });
        let mut column = held.unwrap_or_default();
        column.clear();
        column
    }

    /// The columns of encoded samples.
    pub fn encoded_columns(&mut self) -> impl Iterator<Item = &mut EncodedColumn> {
        self.streams.iter_mut().filter_map(|stream| match &mut stream.data {
            Data::Encoded(column) => Some(column),
            _ => None,
        })
    }

    /// Frees the bytes of encoded samples, and other columns that are not small. The chunk can then only be decoded
    /// into again.
    pub fn drop_samples(&mut self) {
        for StreamColumn { data, .. } in &mut self.streams {
            match data {
                Data::Encoded(column) => column.free_bytes(),
                data if data.bytes() > SMALL => *data = Data::Dense { values: Values::Ones(0) },
                _ => {}
            }
        }
    }

    /// All that is known of the sequences beside their samples and counted lengths (which an index has).
    pub fn without_columns(&self) -> Chunk {
        Chunk {
            n_sequences: self.n_sequences,
            lengths: Vec::new(),
            keys: self.keys.compacted(),
            keys_are_lines: self.keys_are_lines,
            copies: self.copies.clone(),
            streams: Vec::new(),
            faults: self.faults.clone(),
            damaged: self.damaged.clone(),
            notes: Vec::new(),
            left_out: self.left_out.clone(),
            first_line: self.first_line,
            n_lines: self.n_lines,
        }
    }

    /// Appends [all but the columns](Chunk::without_columns) of a chunk that follows this one in the same storage.
    pub fn append_without_columns(&mut self, next: &Chunk) {
        if self.n_sequences == 0 {
            *self = next.without_columns();
            return;
        }
        let (n, lines) = (self.n_sequences, next.first_line - self.first_line);
        let shift = if self.keys_are_lines { lines } else { 0 };
        self.keys.append(n as usize, &next.keys.compacted(), next.n_sequences as usize, shift);
        let moved = |fault: &Fault| Fault {
            sequence: n + fault.sequence,
            line: fault.line.map(|line| line + lines),
            ..fault.clone()
        };
        self.faults.extend(next.faults.iter().map(moved));
        let moved = |Damage { sequences, error }: &Damage| Damage {
            sequences: n + sequences.start..n + sequences.end,
            error: error.clone(),
        };
        self.damaged.extend(next.damaged.iter().map(moved));
        self.left_out.extend(next.left_out.iter().map(|i| n + i));
        if !(self.copies.is_empty() && next.copies.is_empty()) {
            self.copies.resize(n as usize, 0);
            self.copies.extend((0..next.n_sequences as usize).map(|i| next.copy(i)));
        }
        self.n_sequences += next.n_sequences;
        self.n_lines += next.n_lines;
    }

    /// Bytes of memory held.
    pub fn bytes(&self) -> usize {
        size_of::<Chunk>()
            + self.lengths.capacity() * 4
            + self.keys.bytes()
            + self.streams.iter().map(|s| size_of::<StreamColumn>() + s.bytes()).sum::<usize>()
            + (self.faults.capacity() + self.notes.capacity()) * size_of::<Fault>()
            + self.damaged.capacity() * size_of::<Damage>()
            + (self.left_out.capacity() + self.copies.capacity()) * 4
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_appended_in_the_narrowest_type_that_holds_all() {
        let mut values = Values::Ones(2);
        values.append(&Values::Bytes(vec![7, 8]), 1..2);
        assert_eq!(values, Values::Bytes(vec![1, 1, 8]));
        values.append(&Values::F64(vec![0.5]), 0..1);
        values.append(&Values::Ones(3), 0..1);
        assert_eq!(values, Values::F64(vec![1.0, 1.0, 8.0, 0.5, 1.0]));
    }

    #[test]
    fn what_is_known_beside_columns_is_appended() {
        let chunk = |n: u32, copies: Vec<u32>, left_out: Vec<u32>| {
            let data = Data::Dense { values: Values::Ones(n as usize) };
            let streams = vec![StreamColumn { samples: Offsets::Every(1), data }];
            Chunk { n_sequences: n, copies, left_out, streams, ..Chunk::empty() }
        };
        let mut all = Chunk::empty();
        all.append_without_columns(&chunk(2, vec![], vec![1]));
        all.append_without_columns(&chunk(2, vec![0, 1], vec![0]));
        assert_eq!((all.copies.as_slice(), all.n_sequences), (&[0, 0, 0, 1][..], 4));
        assert_eq!((all.left_out.as_slice(), all.streams.len()), (&[1, 2][..], 0));
    }
}
