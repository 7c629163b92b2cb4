//! Sequences packed one after the other, all streams of one together: what stays in memory for random access.
//!
//! A sequence that comes in a random order costs one or two cache lines here, where columns cost several each. Values
//! are kept in the narrowest form that gives every bit back. Per sequence, per stream:
//!
//! | what | form |
//! |---|---|
//! | number of samples | variable length, 7 bits a byte |
//! | sparse: number of pairs of each sample | likewise |
//! | forms | one byte: values (0 ones, 1 bytes, 2 float32, 3 float64) + 4 · columns (0 one byte each, 1 two, 2 four) |
//! | sparse: columns | the distance from the column before in the same sample, little-endian |
//! | values | 0, 1, 4 or 8 bytes each |
//!
//! The form lives in memory only and is never written anywhere.

use crate::{Chunk, Data, StreamColumn, Values};

/// The sequences of a chunk, packed.
#[derive(Clone, Debug, PartialEq)]
pub struct PackedRows {
    /// Where each sequence begins; one entry more than there are sequences.
    starts: Vec<u32>,
    bytes: Box<[u8]>,
}

/// One stream of a packed sequence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PackedStream<'a> {
    /// Number of samples.
    pub n_samples: u32,
    /// Sparse: the numbers of pairs of the samples, still packed.
    counts: &'a [u8],
    /// Sparse: distances of columns, in `1 << width` bytes each.
    columns: &'a [u8],
    width: u8,
    /// The values.
    pub values: PackedValues<'a>,
}

/// The values of one stream of a packed sequence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PackedValues<'a> {
    /// This many times 1.
    Ones(usize),
    /// Whole numbers from 0 to 255.
    Bytes(&'a [u8]),
    /// Little-endian 32-bit floats.
    F32(&'a [[u8; 4]]),
    /// Little-endian 64-bit floats.
    F64(&'a [[u8; 8]]),
}

impl PackedRows {
    /// Packs the sequences of a chunk; `dims[s]` is the number of values of a dense sample of stream `s`. `scratch`
    /// is memory to work in. `None` if they take 4 GiB or more.
    pub fn of(chunk: &Chunk, dims: &[usize], scratch: &mut Vec<u8>) -> Option<PackedRows> {
        let mut packer = Packer { bytes: scratch, used: 0 };
        let mut starts = Vec::with_capacity(chunk.n_sequences as usize + 1);
        starts.push(0);
        for sequence in 0..chunk.n_sequences as usize {
            for (stream, &dim) in chunk.streams.iter().zip(dims) {
                packer.push(stream, sequence, dim);
            }
            starts.push(u32::try_from(packer.used).ok()?);
        }
        let used = packer.used;
        Some(PackedRows { starts, bytes: scratch[..used].into() })
    }

    /// Where a sequence lies among the bytes, for touching it ahead.
    #[inline]
    pub fn extent(&self, sequence: usize) -> std::ops::Range<usize> {
        self.starts[sequence] as usize..self.starts[sequence + 1] as usize
    }

    /// Reads a sequence's first and last byte for no other purpose than to have them in the cache; what comes back
    /// means nothing.
    #[inline]
    pub fn touch(&self, extent: std::ops::Range<usize>) -> u8 {
        let bytes = &self.bytes[extent];
        bytes.first().copied().unwrap_or(0) ^ bytes.last().copied().unwrap_or(0)
    }

    /// The streams of a sequence, one after the other; `dims[s]` as for packing, `None` for sparse streams.
    #[inline]
    pub fn sequence(&self, sequence: usize) -> PackedSequence<'_> {
        PackedSequence {
            rest: &self.bytes[self.starts[sequence] as usize..self.starts[sequence + 1] as usize],
        }
    }

    /// Bytes of memory held.
    pub fn bytes(&self) -> usize {
        self.starts.capacity() * 4 + self.bytes.len()
    }
}

/// Packs into borrowed memory, of which the first `used` bytes are taken.
///
/// Room is made once a stream, for the most that it can take; what follows are plain writes to a slice.
struct Packer<'a> {
    bytes: &'a mut Vec<u8>,
    used: usize,
}

impl Packer<'_> {
    fn push(&mut self, stream: &StreamColumn, sequence: usize, dim: usize) {
        let samples = stream.samples.range(sequence);
        match &stream.data {
            Data::Dense { values } => {
                let range = samples.start * dim..samples.end * dim;
                let form = form_of(values, range.clone());
                let mut out = self.room(COUNT + 1 + 8 * range.len());
                out.count(samples.len());
                out.bytes([form]);
                out.values(values, range, form);
                self.used += out.at;
            }
            Data::Sparse { rows, columns, values } => {
                let pairs = rows.start(samples.start)..rows.start(samples.end);
                let mut out = self.room((samples.len() + 1) * COUNT + 1 + (4 + 8) * pairs.len());
                out.count(samples.len());
                let mut all = 0;
                for sample in samples.clone() {
                    let columns = &columns[rows.range(sample)];
                    out.count(columns.len());
                    all |= columns.first().copied().unwrap_or(0);
                    all = columns.windows(2).fold(all, |all, w| all | (w[1] - w[0]));
                }
                let form = form_of(values, pairs.clone());
                let width = if all < 1 << 8 { 0 } else { 1 + u8::from(all >= 1 << 16) };
                out.bytes([form | width << 2]);
                for sample in samples {
                    let columns = &columns[rows.range(sample)];
                    match width {
                        0 => out.distances(columns, |d| [d as u8]),
                        1 => out.distances(columns, |d| (d as u16).to_le_bytes()),
                        _ => out.distances(columns, u32::to_le_bytes),
                    }
                }
                out.values(values, pairs, form);
                self.used += out.at;
            }
        }
    }

    /// Makes room behind what is used.
    fn room(&mut self, most: usize) -> Out<'_> {
        if self.bytes.len() < self.used + most {
            self.bytes.resize((self.used + most) * 2, 0);
        }
        Out { room: &mut self.bytes[self.used..], at: 0 }
    }
}

/// Most bytes of a count.
const COUNT: usize = 5;

/// Room for one stream of a sequence, and how much of it is written.
struct Out<'a> {
    room: &'a mut [u8],
    at: usize,
}

impl Out<'_> {
    #[inline]
    fn bytes<const N: usize>(&mut self, bytes: [u8; N]) {
        self.room[self.at..self.at + N].copy_from_slice(&bytes);
        self.at += N;
    }

    #[inline]
    fn count(&mut self, mut n: usize) {
        while n >= 128 {
            self.bytes([n as u8 | 128]);
            n >>= 7;
        }
        self.bytes([n as u8]);
    }

    /// Items of `N` bytes each.
    #[inline]
    fn items<const N: usize>(&mut self, items: impl ExactSizeIterator<Item = [u8; N]>) {
        let end = self.at + N * items.len();
        let (places, _) = self.room[self.at..end].as_chunks_mut();
        for (place, item) in places.iter_mut().zip(items) {
            *place = item;
        }
        self.at = end;
    }

    #[inline]
    fn distances<const N: usize>(&mut self, columns: &[u32], code: impl Fn(u32) -> [u8; N]) {
        let Some(&first) = columns.first() else { return };
        self.bytes(code(first));
        self.items(columns.windows(2).map(|w| code(w[1] - w[0])));
    }

    #[inline]
    fn values(&mut self, values: &Values, range: std::ops::Range<usize>, form: u8) {
        match (values, form) {
            (_, ONES) => {}
            (Values::Bytes(v), _) => self.items(v[range].iter().map(|&x| [x])),
            (Values::F32(v), BYTES) => self.items(v[range].iter().map(|&x| [x as u8])),
            (Values::F64(v), BYTES) => self.items(v[range].iter().map(|&x| [x as u8])),
            (Values::F32(v), _) => self.items(v[range].iter().map(|x| x.to_le_bytes())),
            (Values::F64(v), _) => self.items(v[range].iter().map(|x| x.to_le_bytes())),
            (Values::Ones(_), _) => unreachable!("ones have a form of their own"),
        }
    }
}

const ONES: u8 = 0;
const BYTES: u8 = 1;
const F32: u8 = 2;
const F64: u8 = 3;

/// The narrowest form that gives every bit of the values back.
fn form_of(values: &Values, range: std::ops::Range<usize>) -> u8 {
    let narrow = |(ones, bytes), wide| match (ones, bytes) {
        (true, _) => ONES,
        (_, true) => BYTES,
        _ => wide,
    };
    match values {
        Values::Ones(_) => ONES,
        Values::Bytes(_) => BYTES,
        // Differences of bits are gathered instead of answers: short loops without a branch.
        Values::F32(v) => {
            let differ = |(ones, bytes), &x: &f32| {
                (ones | (x.to_bits() ^ 1f32.to_bits()), bytes | (x.to_bits() ^ f32::from(x as u8).to_bits()))
            };
            let (ones, bytes) = v[range].iter().fold((0, 0), differ);
            narrow((ones == 0, bytes == 0), F32)
        }
        Values::F64(v) => {
            let differ = |(ones, bytes), &x: &f64| {
                (ones | (x.to_bits() ^ 1f64.to_bits()), bytes | (x.to_bits() ^ f64::from(x as u8).to_bits()))
            };
            let (ones, bytes) = v[range].iter().fold((0, 0), differ);
            narrow((ones == 0, bytes == 0), F64)
        }
    }
}

/// A packed sequence being read.
pub struct PackedSequence<'a> {
    rest: &'a [u8],
}

impl<'a> PackedSequence<'a> {
    /// The next stream, a dense one of `dim` values a sample.
    #[inline]
    pub fn dense(&mut self, dim: usize) -> PackedStream<'a> {
        let n_samples = self.count();
        let form = self.take(1)[0];
        let values = self.values(form, n_samples * dim);
        PackedStream { n_samples: n_samples as u32, counts: &[], columns: &[], width: 0, values }
    }

    /// The next stream, a sparse one.
    #[inline]
    pub fn sparse(&mut self) -> PackedStream<'a> {
        let n_samples = self.count();
        let before = self.rest;
        let n_pairs: usize = (0..n_samples).map(|_| self.count()).sum();
        let counts = &before[..before.len() - self.rest.len()];
        let form = self.take(1)[0];
        let width = form >> 2;
        let columns = self.take(n_pairs << width);
        let values = self.values(form & 3, n_pairs);
        PackedStream { n_samples: n_samples as u32, counts, columns, width, values }
    }

    #[inline]
    fn count(&mut self) -> usize {
        let (mut n, mut shift) = (0, 0);
        loop {
            let byte = self.take(1)[0];
            n |= usize::from(byte & 127) << shift;
            if byte < 128 {
                return n;
            }
            shift += 7;
        }
    }

    #[inline]
    fn values(&mut self, form: u8, n: usize) -> PackedValues<'a> {
        match form {
            ONES => PackedValues::Ones(n),
            BYTES => PackedValues::Bytes(self.take(n)),
            F32 => PackedValues::F32(self.take(4 * n).as_chunks().0),
            _ => PackedValues::F64(self.take(8 * n).as_chunks().0),
        }
    }

    #[inline]
    fn take(&mut self, n: usize) -> &'a [u8] {
        let (taken, rest) = self.rest.split_at(n);
        self.rest = rest;
        taken
    }
}

impl PackedStream<'_> {
    /// Number of values (sparse: of pairs).
    #[inline]
    pub fn n_values(&self) -> usize {
        match self.values {
            PackedValues::Ones(n) => n,
            PackedValues::Bytes(v) => v.len(),
            PackedValues::F32(v) => v.len(),
            PackedValues::F64(v) => v.len(),
        }
    }

    /// Appends the columns of all pairs, and where the pairs of each sample end, if those before them end at `end`.
    #[inline]
    pub fn pairs(&self, end: i32, ends: &mut Vec<i32>, columns: &mut Vec<i32>) {
        match self.width {
            0 => self.pairs_of(end, ends, columns, |[d]| d.into()),
            1 => self.pairs_of(end, ends, columns, |d| u16::from_le_bytes(d).into()),
            _ => self.pairs_of(end, ends, columns, i32::from_le_bytes),
        }
    }

    #[inline]
    fn pairs_of<const N: usize>(
        &self,
        mut end: i32,
        ends: &mut Vec<i32>,
        columns: &mut Vec<i32>,
        distance: impl Fn([u8; N]) -> i32,
    ) {
        let (mut distances, _) = self.columns.as_chunks();
        let (mut n, mut shift) = (0usize, 0);
        for &byte in self.counts {
            n |= usize::from(byte & 127) << shift;
            shift += 7;
            if byte < 128 {
                let (sample, rest) = distances.split_at(n);
                distances = rest;
                let mut column = 0;
                columns.extend(sample.iter().map(|&d| {
                    column += distance(d);
                    column
                }));
                end += n as i32;
                ends.push(end);
                (n, shift) = (0, 0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Offsets;

    fn dense(samples: Offsets, values: Values) -> StreamColumn {
        StreamColumn { samples, data: Data::Dense { values } }
    }

    fn sparse(samples: Offsets, rows: Vec<u32>, columns: Vec<u32>, values: Values) -> StreamColumn {
        StreamColumn { samples, data: Data::Sparse { rows: Offsets::At(rows), columns, values } }
    }

    fn pack(n_sequences: u32, streams: Vec<StreamColumn>, dims: &[usize]) -> PackedRows {
        PackedRows::of(&Chunk { n_sequences, streams, ..Chunk::empty() }, dims, &mut Vec::new())
            .expect("less than 4 GiB")
    }

    #[test]
    fn dense_values_come_back_in_the_narrowest_form() {
        let values = Values::F32(vec![1.0, 1.0, 0.0, 255.0, -0.0, 1.5]);
        let rows = pack(3, vec![dense(Offsets::Every(1), values)], &[2]);
        let stream = |i| rows.sequence(i).dense(2);
        assert_eq!(stream(0).values, PackedValues::Ones(2));
        assert_eq!(stream(1).values, PackedValues::Bytes(&[0, 255]));
        assert_eq!(stream(2).values, PackedValues::F32(&[(-0.0f32).to_le_bytes(), 1.5f32.to_le_bytes()]));
        assert_eq!((stream(0).n_samples, stream(0).n_values()), (1, 2));
    }

    #[test]
    fn sparse_samples_come_back_with_their_bounds() {
        let streams = vec![
            sparse(
                Offsets::At(vec![0, 2, 2]),
                vec![0, 2, 3],
                vec![1, 70_000, 5],
                Values::F32(vec![1.0, 2.0, 3.0]),
            ),
            sparse(Offsets::At(vec![0, 0, 1]), vec![0, 1], vec![9], Values::F64(vec![0.25])),
        ];
        let rows = pack(2, streams, &[1, 1]);
        let mut sequence = rows.sequence(0);
        let first = sequence.sparse();
        let (mut columns, mut ends) = (Vec::new(), Vec::new());
        first.pairs(10, &mut ends, &mut columns);
        assert_eq!((columns, ends, first.n_samples), (vec![1, 70_000, 5], vec![12, 13], 2));
        assert_eq!(first.values, PackedValues::Bytes(&[1, 2, 3]));
        assert_eq!(sequence.sparse().n_samples, 0);
        let mut sequence = rows.sequence(1);
        assert_eq!(sequence.sparse().n_samples, 0);
        assert_eq!(sequence.sparse().values, PackedValues::F64(&[0.25f64.to_le_bytes()]));
    }

    #[test]
    fn counts_beyond_a_byte_come_back() {
        let n = 300;
        let samples = Offsets::At(vec![0, n]);
        let rows = pack(
            1,
            vec![sparse(samples, (0..=n).collect(), vec![7; n as usize], Values::Ones(n as usize))],
            &[1],
        );
        let stream = rows.sequence(0).sparse();
        let (mut ends, mut columns) = (Vec::new(), Vec::new());
        stream.pairs(0, &mut ends, &mut columns);
        assert_eq!((stream.n_samples, ends.last(), columns), (n, Some(&(n as i32)), vec![7; n as usize]));
    }
}
