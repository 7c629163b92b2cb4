//! Records of one stream, as bytes.

use std::mem;

use tesson_core::Element;

use super::order::ascend;
use crate::write::{Column, Numbers, SequenceData};

/// Items that are written at once; what is written beyond those meant is written over.
const AT_ONCE: usize = 16;

/// Bytes that may be written beyond those in use.
const BEYOND: usize = 8 * AT_ONCE;

/// Records one behind the other. Memory is cleared only when it is new, and kept when they are forgotten.
#[derive(Debug, Default)]
pub(super) struct Records {
    bytes: Vec<u8>,
    /// How many of the bytes are records.
    used: usize,
    /// Pairs of one sample, being sorted.
    pairs: Vec<(i32, f64)>,
}

impl Records {
    /// The records.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.used]
    }

    /// Bytes of memory held for records.
    pub(super) fn capacity(&self) -> usize {
        self.bytes.capacity()
    }

    /// Forgets the records.
    pub(super) fn clear(&mut self) {
        self.used = 0;
    }

    /// Appends numbers.
    pub(super) fn numbers(&mut self, numbers: impl ExactSizeIterator<Item = u32>) {
        self.make_room(4 * numbers.len());
        let room = self.bytes[self.used..].as_chunks_mut().0;
        self.used += 4 * numbers.len();
        room.iter_mut().zip(numbers).for_each(|(to, number)| *to = number.to_le_bytes());
    }

    /// Appends the records of a column of samples of `dim` values. `ordered` says that the columns of each sparse sample are
    /// known to ascend.
    pub(super) fn append(&mut self, column: &Column<'_>, dim: usize, element: Element, ordered: bool) {
        let lengths = column.lengths;
        match column.data {
            SequenceData::Dense { values, .. } => {
                encode(values, element, Dense { records: self, lengths, dim });
            }
            SequenceData::Sparse { bounds, columns, values } => {
                let first = bounds.first().copied().unwrap_or(0);
                let ends = bounds.iter().skip(1).map(|&end| (end - first) as usize);
                if !ordered && !ascend(columns, ends, |a, b| a > b) {
                    return self.sorted(Sparse { lengths, bounds, columns }, values, element);
                }
                let sparse = Sparse { lengths, bounds, columns };
                encode(values, element, SparseRecords { records: self, sparse });
            }
        }
    }

    /// Appends sparse records whose entries are not in order: sorted by column, those of one column in their order
    /// (spec/cbf.md §5), and with it their sum.
    fn sorted(&mut self, sparse: Sparse<'_>, values: Numbers<'_>, element: Element) {
        let Sparse { lengths, bounds, columns } = sparse;
        let first = bounds[0];
        let mut pairs = mem::take(&mut self.pairs);
        pairs.clear();
        pairs.extend(columns.iter().enumerate().map(|(i, &column)| (column, values.get(i))));
        for pair in bounds.windows(2) {
            pairs[(pair[0] - first) as usize..(pair[1] - first) as usize].sort_by_key(|&(column, _)| column);
        }
        let (columns, values): (Vec<i32>, Vec<f64>) = pairs.iter().copied().unzip();
        self.pairs = pairs;
        let sparse = Sparse { lengths, bounds, columns: &columns };
        encode(Numbers::F64(&values), element, SparseRecords { records: self, sparse });
    }

    /// Makes room for `n` more bytes, and for what is written beyond them.
    fn make_room(&mut self, n: usize) {
        let needed = self.used + n + BEYOND;
        if self.bytes.len() < needed {
            // A little more, since what is new is cleared. Records of one file are about of one size.
            self.bytes.resize(needed + needed / 16, 0);
        }
    }

    #[inline(always)]
    fn word(&mut self, word: [u8; 4]) {
        self.bytes[self.used..][..4].copy_from_slice(&word);
        self.used += 4;
    }

    /// Appends the first `n` of `items`; of the others some may be read.
    #[inline(always)]
    fn items<T: Copy, const N: usize>(&mut self, items: &[T], n: usize, bytes_of: impl Fn(T) -> [u8; N]) {
        let room = self.bytes[self.used..].as_chunks_mut().0;
        let at_once = n.next_multiple_of(AT_ONCE);
        if n <= 8 * AT_ONCE
            && let Some(items) = items.get(..at_once)
        {
            let room = room[..at_once].as_chunks_mut::<AT_ONCE>().0;
            for (to, from) in room.iter_mut().zip(items.as_chunks::<AT_ONCE>().0) {
                *to = from.map(&bytes_of);
            }
        } else {
            for (to, &from) in room[..n].iter_mut().zip(&items[..n]) {
                *to = bytes_of(from);
            }
        }
        self.used += N * n;
    }
}

/// Something to be done for each type that values come in and go out in.
trait Encode {
    /// Does it for `values`, of which one has the bytes `bytes_of`.
    fn values<T: Copy, const N: usize>(self, values: &[T], bytes_of: impl Fn(T) -> [u8; N]);
}

fn encode(values: Numbers<'_>, element: Element, encode: impl Encode) {
    match (values, element) {
        (Numbers::F64(v), Element::F64) => encode.values(v, f64::to_le_bytes),
        (Numbers::F32(v), Element::F64) => encode.values(v, |x| f64::from(x).to_le_bytes()),
        (Numbers::Bytes(v), Element::F64) => encode.values(v, |x| f64::from(x).to_le_bytes()),
        // Nothings take no memory, however many there are.
        (Numbers::Ones(n), Element::F64) => encode.values(&vec![(); n], |()| 1f64.to_le_bytes()),
        (Numbers::F32(v), _) => encode.values(v, f32::to_le_bytes),
        (Numbers::F64(v), _) => encode.values(v, |x| (x as f32).to_le_bytes()),
        (Numbers::Bytes(v), _) => encode.values(v, |x| f32::from(x).to_le_bytes()),
        (Numbers::Ones(n), _) => encode.values(&vec![(); n], |()| 1f32.to_le_bytes()),
    }
}

/// Dense sequences of these lengths.
struct Dense<'a> {
    records: &'a mut Records,
    lengths: &'a [u32],
    dim: usize,
}

impl Encode for Dense<'_> {
    fn values<T: Copy, const N: usize>(self, mut values: &[T], bytes_of: impl Fn(T) -> [u8; N]) {
        // By itself, so that its fields stay in registers.
        let mut records = mem::take(self.records);
        records.make_room(4 * self.lengths.len() + N * values.len());
        for &n in self.lengths {
            let n_values = n as usize * self.dim;
            records.word(n.to_le_bytes());
            records.items(values, n_values, &bytes_of);
            values = &values[n_values..];
        }
        *self.records = records;
    }
}

/// Sparse sequences without their values.
#[derive(Clone, Copy)]
struct Sparse<'a> {
    lengths: &'a [u32],
    bounds: &'a [i32],
    columns: &'a [i32],
}

struct SparseRecords<'a> {
    records: &'a mut Records,
    sparse: Sparse<'a>,
}

impl Encode for SparseRecords<'_> {
    fn values<T: Copy, const N: usize>(self, values: &[T], bytes_of: impl Fn(T) -> [u8; N]) {
        let Sparse { lengths, bounds, columns } = self.sparse;
        let mut records = mem::take(self.records);
        records.make_room(8 * lengths.len() + (N + 4) * columns.len() + 4 * bounds.len());
        let (mut sample, mut entry) = (0, 0);
        for &n in lengths {
            let bounds = &bounds[sample..=sample + n as usize];
            sample += n as usize;
            let entries = (bounds[bounds.len() - 1] - bounds[0]) as usize;
            records.word(n.to_le_bytes());
            records.word((entries as i32).to_le_bytes());
            records.items(&values[entry..], entries, &bytes_of);
            records.items(&columns[entry..], entries, i32::to_le_bytes);
            for pair in bounds.windows(2) {
                records.word((pair[1] - pair[0]).to_le_bytes());
            }
            entry += entries;
        }
        *self.records = records;
    }
}
