//! Sequences packed one after the other, all streams of one together: what stays in memory for random access.
//!
//! A sequence that comes in a random order costs one or two cache lines here, where columns cost several each. Values
//! are kept in the narrowest form that gives every bit back. Per sequence, per stream:
//!
//! | what | form |
//! |---|---|
//! | head | one byte: values (0 ones, 1 bytes, 2 float32, 3 float64) + 4 · columns (0 one byte each, 1 two, 2 four) + 16 if all samples have the same number of pairs + 32 if there is one sample + 64 if zeros are left out |
//! | number of samples, if it is not one | variable length, 7 bits a byte |
//! | sparse: number of pairs of each sample | likewise; a single one if the head says that they are alike |
//! | sparse: columns | the distance from the column before in the same sample, little-endian |
//! | dense, if zeros are left out: which values are others | a bit each, 64 bits for every 64 begun, little-endian |
//! | values | 0, 1, 4 or 8 bytes each |
//!
//! The form lives in memory only and is never written anywhere. `plain.rs` is the definition of what happens to the
//! items; `avx512.rs` does the same sixteen at a time, without a branch that depends on the data where a sequence has
//! no more than that.
//!
//! For the next editor: unpacking one short sequence is the common case, and its cost is a cache miss. So all streams
//! of a sequence lie together, heads say everything in one byte, and kernels may read `SLACK` bytes past the last
//! sequence and write up to [`KERNEL_ROOM`] items past the last one rather than handle an end. Of the head one bit
//! (128) is free; no sequence may begin with 0xff, which marks one that lies elsewhere (`locations.rs`).

#[cfg(target_arch = "x86_64")]
mod avx512;
mod locations;
mod pages;
mod plain;

use std::ops::Range;

#[cfg(target_arch = "x86_64")]
pub use avx512::Avx512;
use locations::Locations;
pub use plain::Plain;
use tesson_core::{Chunk, Data, Offsets, StreamColumn, Values};

use crate::prefetch::{CACHE_LINE, prefetch};

/// Bytes after the last sequence, so that sixteen items can be read wherever one begins.
const SLACK: usize = 128;

/// Items past the last one that a kernel reserves room for, at most: it writes whole vectors.
pub const KERNEL_ROOM: usize = 64;

/// Values of a stream: 0 bytes each.
const ONES: u8 = 0;
/// Whole numbers from 0 to 255.
const BYTES: u8 = 1;
const F32: u8 = 2;
const F64: u8 = 3;
/// Where the head has the width of columns.
const WIDTH: u8 = 2;
/// All samples have the same number of pairs.
const ALIKE: u8 = 16;
/// There is one sample.
const SINGLE: u8 = 32;

/// Zeros are left out of dense values, which are bytes.
const SPARED: u8 = 64;

/// Fewest values whose zeros are looked for.
const MANY: usize = 64;

/// The operations on many items of a stream, which have versions for different processors.
pub trait Kernel: Copy {
    /// Does some work for which the methods of this kernel are inlined.
    #[inline]
    fn run<R>(self, work: impl FnOnce() -> R) -> R {
        work()
    }

    /// Writes the distances between columns to `room` (between those of one sample, if they are `chained`; a column of
    /// its own each, if not), and says how wide they are and how many bytes they took.
    fn pack_columns(self, columns: &[u32], chained: bool, room: &mut [u8]) -> (u8, usize);

    /// Writes values to `room` in the narrowest form that gives every bit back, and says which that is and how many
    /// bytes they took.
    fn pack_values(self, values: &Values, range: Range<usize>, room: &mut [u8]) -> (u8, usize);

    /// Writes to `room` which bytes are not 0 (`masks`) and after that those that are not; says how many bytes that
    /// makes.
    fn spare_zeros(self, bytes: &[u8], room: &mut [u8]) -> usize;

    /// Appends `n` columns, whose distances are given.
    fn columns(self, items: Items<'_>, width: u8, n: usize, chained: bool, out: &mut Vec<i32>);

    /// Appends `n` values, which are given.
    fn f32s(self, items: Items<'_>, form: u8, n: usize, out: &mut Vec<f32>);

    /// Appends `n` values, of which all but zeros are given, after what says which those are.
    fn spared_f32s(self, items: Items<'_>, n: usize, out: &mut Vec<f32>);
}

/// The kernels there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Best {
    /// Item by item, on any processor.
    Plain(Plain),
    /// Sixteen items at a time.
    #[cfg(target_arch = "x86_64")]
    Avx512(Avx512),
}

impl Best {
    /// The fastest one that may be used.
    pub fn detect() -> Best {
        #[cfg(target_arch = "x86_64")]
        if let Some(kernel) = Avx512::detect() {
            return Best::Avx512(kernel);
        }
        Best::Plain(Plain)
    }
}

/// The sequences of a block, packed.
#[derive(Debug)]
pub struct PackedRows {
    places: Locations,
}

impl PackedRows {
    /// Has the place of a sequence brought into the cache.
    #[inline]
    pub fn prefetch_place(&self, sequence: usize) {
        self.places.prefetch_place(sequence);
    }

    /// Has a sequence, whose place is in the cache, brought there as well.
    #[inline]
    pub fn prefetch(&self, sequence: usize) {
        self.places.prefetch(sequence);
    }

    /// The streams of a sequence, to be read one after the other.
    #[inline]
    pub fn sequence<K: Kernel>(&self, kernel: K, sequence: usize) -> PackedSequence<'_, K> {
        PackedSequence { rest: self.places.items(sequence), kernel }
    }

    /// Bytes of memory held.
    pub fn bytes(&self) -> usize {
        self.places.bytes()
    }
}

/// Most bytes of room that are made in advance.
const MOST_AHEAD: usize = 256 << 10;

/// Most bytes of a count.
const COUNT: usize = 5;

/// A stream of a chunk that is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamToPack {
    /// Its number in the chunk.
    pub number: usize,
    /// Values in a dense sample.
    pub dim: usize,
}

/// Packs sequences one after the other into borrowed memory, of which the first `used` bytes are taken.
#[derive(Debug)]
pub struct Packer<'a> {
    kernel: Best,
    bytes: &'a mut Vec<u8>,
    used: usize,
    /// Where each sequence begins, and the last one ends.
    starts: Vec<u32>,
}

impl<'a> Packer<'a> {
    /// For about so many sequences; `scratch` is memory to work in.
    pub fn new(n_sequences: usize, scratch: &'a mut Vec<u8>) -> Packer<'a> {
        Packer::by(Best::detect(), n_sequences, scratch)
    }

    fn by(kernel: Best, n_sequences: usize, scratch: &'a mut Vec<u8>) -> Packer<'a> {
        let mut starts = Vec::with_capacity(n_sequences + 1);
        starts.push(0);
        Packer { kernel, bytes: scratch, used: 0, starts }
    }

    /// Packs these streams of a chunk's sequences after those before. `None` if all together take 4 GiB or more.
    pub fn push(&mut self, chunk: &Chunk, streams: &[StreamToPack]) -> Option<()> {
        match self.kernel {
            Best::Plain(kernel) => self.push_by(kernel, chunk, streams),
            #[cfg(target_arch = "x86_64")]
            Best::Avx512(kernel) => kernel.run(|| self.push_by(kernel, chunk, streams)),
        }
    }

    #[inline]
    fn push_by(&mut self, kernel: impl Kernel, chunk: &Chunk, streams: &[StreamToPack]) -> Option<()> {
        for sequence in 0..chunk.n_sequences as usize {
            for &StreamToPack { number, dim } in streams {
                self.push_stream(kernel, &chunk.streams[number], sequence, dim);
            }
            self.starts.push(u32::try_from(self.used).ok()?);
        }
        Some(())
    }

    /// All that was packed. Short sequences are given some more memory, so that each is one cache line, where all take no more
    /// than `most` bytes so.
    pub fn finish(mut self, most: usize) -> PackedRows {
        self.room(0)[..SLACK].fill(0);
        PackedRows { places: Locations::of(self.starts, self.bytes, most) }
    }

    /// Room is made once a stream, for the most that it can take; what follows are plain writes to a slice.
    #[inline]
    fn push_stream(&mut self, kernel: impl Kernel, stream: &StreamColumn, sequence: usize, dim: usize) {
        let samples = stream.samples.range(sequence);
        self.used += match &stream.data {
            Data::Dense { values } => {
                let range = samples.start * dim..samples.end * dim;
                let room = self.room(1 + COUNT + 8 * range.len());
                let (single, at) = n_samples(samples.len(), room);
                let n = range.len();
                let (form, bytes) = kernel.pack_values(values, range, &mut room[at..]);
                let (form, bytes) = match form {
                    BYTES if n >= MANY => spare_zeros(kernel, n, &mut room[at..]),
                    _ => (form, bytes),
                };
                room[0] = form | single;
                at + bytes
            }
            Data::Sparse { rows, columns, values } => {
                let pairs = rows.start(samples.start)..rows.start(samples.end);
                let room = self.room(1 + (2 + samples.len()) * COUNT + (4 + 8) * pairs.len());
                let (single, at) = n_samples(samples.len(), room);
                let each = alike(rows, samples.clone());
                let columns = &columns[pairs.clone()];
                let (width, mut at) = match each {
                    Some(n) if n == 1 || samples.len() == 1 => {
                        let at = count(n, room, at);
                        let (width, bytes) = kernel.pack_columns(columns, n > 1, &mut room[at..]);
                        (width, at + bytes)
                    }
                    _ => plain::pack_samples(columns, rows, samples, each, room, at),
                };
                let (form, bytes) = kernel.pack_values(values, pairs, &mut room[at..]);
                room[0] = form | width << WIDTH | if each.is_some() { ALIKE } else { 0 } | single;
                at += bytes;
                at
            }
            _ => unreachable!("streams of this storage are not packed"),
        };
    }

    /// Room after what is used, for this many bytes and [`SLACK`].
    #[inline]
    fn room(&mut self, most: usize) -> &mut [u8] {
        let end = self.used + most + SLACK;
        if self.bytes.len() < end {
            let len = end + end.min(MOST_AHEAD);
            self.bytes.reserve_exact(len - self.bytes.len());
            self.bytes.resize(len, 0);
        }
        &mut self.bytes[self.used..]
    }
}

/// Leaves the zeros out of `n` bytes where that takes a quarter of them away at least; says the form, and how many bytes
/// that makes. There is room for eight times as many.
#[inline]
fn spare_zeros(kernel: impl Kernel, n: usize, room: &mut [u8]) -> (u8, usize) {
    let (bytes, free) = room.split_at_mut(n);
    let spared = kernel.spare_zeros(bytes, free);
    if spared > n / 4 * 3 {
        return (BYTES, n);
    }
    room.copy_within(n..n + spared, 0);
    (BYTES | SPARED, spared)
}

/// Bytes that say which of `n` values are not 0: a bit each, in groups of 64.
#[inline]
fn masks(n: usize) -> usize {
    n.div_ceil(64) * 8
}

/// Writes the number of samples after the head, unless it is one; says what the head is to say, and where it ends.
#[inline]
fn n_samples(n: usize, room: &mut [u8]) -> (u8, usize) {
    match n {
        1 => (SINGLE, 1),
        _ => (0, count(n, room, 1)),
    }
}

/// Writes a count at `at` and says where it ends.
#[inline]
fn count(mut n: usize, room: &mut [u8], mut at: usize) -> usize {
    while n >= 128 {
        room[at] = n as u8 | 128;
        at += 1;
        n >>= 7;
    }
    room[at] = n as u8;
    at + 1
}

/// The number of pairs that all these samples have, if it is the same.
#[inline]
fn alike(rows: &Offsets, samples: Range<usize>) -> Option<usize> {
    match rows {
        Offsets::Every(n) => Some(*n as usize),
        Offsets::At(_) if samples.is_empty() => Some(0),
        Offsets::At(at) => {
            let at = &at[samples.start..=samples.end];
            let first = at[1] - at[0];
            let differ = at[1..].windows(2).fold(0, |all, w| all | ((w[1] - w[0]) ^ first));
            (differ == 0).then_some(first as usize)
        }
    }
}

/// Packed items of a stream, and what lies after them.
#[derive(Clone, Copy, Debug)]
pub struct Items<'a> {
    /// From the first item on. If they are not in a line, it continues for [`SLACK`] after the last one.
    bytes: &'a [u8],
    /// The line that `bytes` is the end of, if the sequence has one of its own.
    line: Option<&'a [u8; CACHE_LINE]>,
}

impl<'a> Items<'a> {
    /// The items after the first `n` bytes.
    #[inline]
    fn after(self, n: usize) -> Items<'a> {
        Items { bytes: &self.bytes[n..], line: self.line }
    }
}

/// A packed sequence being read.
#[derive(Debug)]
pub struct PackedSequence<'a, K> {
    /// From the next stream on.
    rest: Items<'a>,
    kernel: K,
}

impl<'a, K: Kernel> PackedSequence<'a, K> {
    /// The next stream, a dense one of `dim` values a sample.
    #[inline]
    pub fn dense(&mut self, dim: usize) -> PackedStream<'a, K> {
        let (head, n_samples) = self.head();
        let n_values = n_samples * dim;
        let columns = self.rest;
        let bytes = match head & SPARED {
            0 => n_values * value_size(head),
            _ => {
                let masks = &self.rest.bytes[..masks(n_values)];
                masks.len() + masks.iter().map(|mask| mask.count_ones() as usize).sum::<usize>()
            }
        };
        let values = self.take(bytes);
        let kernel = self.kernel;
        PackedStream { n_samples, n_values, head, counts: Counts::Alike(dim), columns, values, kernel }
    }

    /// The next stream, a sparse one.
    #[inline]
    pub fn sparse(&mut self) -> PackedStream<'a, K> {
        let (head, n_samples) = self.head();
        let (counts, n_values) = if head & ALIKE != 0 {
            let n = self.count();
            (Counts::Alike(n), n * n_samples)
        } else {
            let counts = self.rest;
            let n_values = (0..n_samples).map(|_| self.count()).sum();
            (Counts::Each(counts), n_values)
        };
        let columns = self.take(n_values << width(head));
        let values = self.take(n_values * value_size(head));
        PackedStream { n_samples, n_values, head, counts, columns, values, kernel: self.kernel }
    }

    /// The head, and the number of samples.
    #[inline]
    fn head(&mut self) -> (u8, usize) {
        let head = self.byte();
        (head, if head & SINGLE != 0 { 1 } else { self.count() })
    }

    #[inline]
    fn byte(&mut self) -> u8 {
        let byte = self.rest.bytes[0];
        self.rest = self.rest.after(1);
        byte
    }

    #[inline]
    fn count(&mut self) -> usize {
        let (mut n, mut shift) = (0, 0);
        loop {
            let byte = self.byte();
            n |= usize::from(byte & 127) << shift;
            if byte < 128 {
                return n;
            }
            shift += 7;
        }
    }

    /// Passes over some bytes; what comes back begins with them.
    #[inline]
    fn take(&mut self, n: usize) -> Items<'a> {
        let from = self.rest;
        self.rest = from.after(n);
        from
    }
}

/// The width of columns: they take `1 << width` bytes each.
#[inline]
fn width(head: u8) -> u8 {
    head >> WIDTH & 3
}

/// Bytes of a value.
#[inline]
fn value_size(head: u8) -> usize {
    const SIZES: [u8; 4] = [0, 1, 4, 8];
    SIZES[usize::from(head & 3)].into()
}

/// The numbers of pairs of the samples of a stream.
#[derive(Clone, Copy, Debug)]
enum Counts<'a> {
    Alike(usize),
    /// Still packed.
    Each(Items<'a>),
}

/// One stream of a packed sequence.
#[derive(Debug)]
pub struct PackedStream<'a, K> {
    /// Number of samples.
    pub n_samples: usize,
    /// Number of values (sparse: of pairs).
    pub n_values: usize,
    head: u8,
    counts: Counts<'a>,
    /// Distances of columns.
    columns: Items<'a>,
    values: Items<'a>,
    kernel: K,
}

impl<K: Kernel> PackedStream<'_, K> {
    /// Appends the values, which were packed from 32-bit floats or small whole numbers.
    #[inline]
    pub fn f32s(&self, out: &mut Vec<f32>) {
        match self.head & SPARED {
            0 => self.kernel.f32s(self.values, self.head & 3, self.n_values, out),
            _ => self.kernel.spared_f32s(self.values, self.n_values, out),
        }
    }

    /// Appends the values, which were packed from 64-bit floats or small whole numbers.
    #[inline]
    pub fn f64s(&self, out: &mut Vec<f64>) {
        match self.head & SPARED {
            0 => plain::values(self.values.bytes, self.head & 3, self.n_values, out, f64::from_le_bytes),
            _ => plain::spared(self.values.bytes, self.n_values, out),
        }
    }

    /// Appends the columns of all pairs, and for each sample where its pairs end among all columns.
    #[inline]
    pub fn pairs(&self, ends: &mut Vec<i32>, columns: &mut Vec<i32>) {
        let width = width(self.head);
        let first = columns.len() as i32;
        match self.counts {
            Counts::Alike(1) => {
                self.kernel.columns(self.columns, width, self.n_samples, false, columns);
                ends.extend(first + 1..=first + self.n_samples as i32);
            }
            Counts::Alike(n) if self.n_samples == 1 => {
                self.kernel.columns(self.columns, width, n, true, columns);
                ends.push(first + n as i32);
            }
            Counts::Alike(n) => self.samples(|_| n, ends, columns),
            Counts::Each(counts) => {
                let mut counts = PackedSequence { rest: counts, kernel: self.kernel };
                self.samples(|_| counts.count(), ends, columns);
            }
        }
    }

    /// Like [`Self::pairs`], sample by sample.
    fn samples(&self, mut count: impl FnMut(usize) -> usize, ends: &mut Vec<i32>, columns: &mut Vec<i32>) {
        let width = width(self.head);
        let mut rest = self.columns;
        for sample in 0..self.n_samples {
            let n = count(sample);
            self.kernel.columns(rest, width, n, true, columns);
            ends.push(columns.len() as i32);
            rest = rest.after(n << width);
        }
    }
}

#[cfg(test)]
mod tests;
