//! Records on their way to a file: those of one stream in the open chunk.

use std::io::{self, Write};

use tesson_core::Element;

use super::order::ascend;
use crate::write::Numbers;

/// Items that are written at once; what is written beyond those meant is written over.
const BLOCK: usize = 16;

/// Records as bytes. The memory is cleared when it is new, not from chunk to chunk.
#[derive(Default)]
pub(super) struct Records {
    bytes: Vec<u8>,
    used: usize,
    /// Pairs of one sample, being sorted.
    pairs: Vec<(i32, f64)>,
}

impl Records {
    /// Writes all records, and forgets them.
    pub(super) fn put(&mut self, out: &mut impl Write) -> io::Result<()> {
        let used = std::mem::take(&mut self.used);
        out.write_all(&self.bytes[..used])
    }

    /// Appends dense records of sequences of these lengths; `values` are those of all of them.
    pub(super) fn dense(&mut self, lengths: &[u32], dim: usize, values: Numbers<'_>, element: Element) {
        match (values, element) {
            (Numbers::F32(v), Element::F32) => self.dense_as(lengths, dim, v, f32::to_le_bytes),
            (Numbers::F64(v), Element::F64) => self.dense_as(lengths, dim, v, f64::to_le_bytes),
            (Numbers::F32(v), Element::F64) => {
                self.dense_as(lengths, dim, v, |x| f64::from(x).to_le_bytes());
            }
            (Numbers::F64(v), Element::F32) => self.dense_as(lengths, dim, v, |x| (x as f32).to_le_bytes()),
        }
    }

    fn dense_as<T: Copy, const N: usize>(
        &mut self,
        lengths: &[u32],
        dim: usize,
        mut values: &[T],
        bytes_of: impl Fn(T) -> [u8; N],
    ) {
        self.make_room(4 * lengths.len() + N * values.len());
        for &n in lengths {
            self.word(n.to_le_bytes());
            let (sequence, rest) = values.split_at(n as usize * dim);
            self.items(values, sequence.len(), &bytes_of);
            values = rest;
        }
    }

    /// Appends sparse records of sequences of these lengths; the others are those of all of them.
    pub(super) fn sparse(
        &mut self,
        lengths: &[u32],
        bounds: &[i32],
        columns: &[i32],
        values: Numbers<'_>,
        element: Element,
    ) {
        let first = bounds.first().copied().unwrap_or(0);
        let ends = bounds.iter().skip(1).map(|&end| (end - first) as usize);
        if !ascend(columns, ends, |a, b| a > b) {
            return self.sorted(lengths, bounds, columns, values, element);
        }
        match (values, element) {
            (Numbers::F32(v), Element::F32) => self.sparse_as(lengths, bounds, columns, v, f32::to_le_bytes),
            (Numbers::F64(v), Element::F64) => self.sparse_as(lengths, bounds, columns, v, f64::to_le_bytes),
            (Numbers::F32(v), Element::F64) => {
                self.sparse_as(lengths, bounds, columns, v, |x| f64::from(x).to_le_bytes());
            }
            (Numbers::F64(v), Element::F32) => {
                self.sparse_as(lengths, bounds, columns, v, |x| (x as f32).to_le_bytes());
            }
        }
    }

    fn sparse_as<T: Copy, const N: usize>(
        &mut self,
        lengths: &[u32],
        bounds: &[i32],
        columns: &[i32],
        values: &[T],
        bytes_of: impl Fn(T) -> [u8; N],
    ) {
        self.make_room(8 * lengths.len() + (4 + N) * values.len() + 4 * bounds.len());
        let (mut sample, mut entry) = (0, 0);
        for &n in lengths {
            let bounds = &bounds[sample..=sample + n as usize];
            sample += n as usize;
            let entries = (bounds[bounds.len() - 1] - bounds[0]) as usize;
            self.word(n.to_le_bytes());
            self.word((entries as i32).to_le_bytes());
            self.items(&values[entry..], entries, &bytes_of);
            self.items(&columns[entry..], entries, i32::to_le_bytes);
            entry += entries;
            let counts = self.bytes[self.used..][..4 * n as usize].as_chunks_mut().0;
            for (count, pair) in counts.iter_mut().zip(bounds.windows(2)) {
                *count = (pair[1] - pair[0]).to_le_bytes();
            }
            self.used += 4 * n as usize;
        }
    }

    /// Appends sparse records whose entries are not in order: sorted by column, those of one column in their order (§5),
    /// and with it their sum.
    fn sorted(
        &mut self,
        lengths: &[u32],
        bounds: &[i32],
        columns: &[i32],
        values: Numbers<'_>,
        element: Element,
    ) {
        let first = bounds[0];
        let mut pairs = std::mem::take(&mut self.pairs);
        pairs.clear();
        pairs.extend(columns.iter().enumerate().map(|(i, &column)| (column, value(values, i))));
        for pair in bounds.windows(2) {
            pairs[(pair[0] - first) as usize..(pair[1] - first) as usize].sort_by_key(|&(column, _)| column);
        }
        let (columns, values): (Vec<i32>, Vec<f64>) = pairs.iter().copied().unzip();
        self.pairs = pairs;
        match element {
            Element::F32 => {
                self.sparse_as(lengths, bounds, &columns, &values, |x| (x as f32).to_le_bytes());
            }
            Element::F64 => self.sparse_as(lengths, bounds, &columns, &values, f64::to_le_bytes),
        }
    }

    /// Makes room for `n` more bytes, and for a block that reaches beyond them.
    fn make_room(&mut self, n: usize) {
        let needed = self.used + n + 8 * BLOCK;
        if self.bytes.len() < needed {
            self.bytes.reserve(needed - self.bytes.len());
            self.bytes.resize(needed + needed / 16, 0);
        }
    }

    #[inline(always)]
    fn word(&mut self, word: [u8; 4]) {
        self.bytes[self.used..self.used + 4].copy_from_slice(&word);
        self.used += 4;
    }

    /// Appends the first `n` of `items`; of the others some may be read.
    #[inline(always)]
    fn items<T: Copy, const N: usize>(&mut self, items: &[T], n: usize, bytes_of: impl Fn(T) -> [u8; N]) {
        let room = self.bytes[self.used..].as_chunks_mut().0;
        let blocks = n.next_multiple_of(BLOCK);
        if n <= 8 * BLOCK
            && let Some(items) = items.get(..blocks)
        {
            let room = room[..blocks].as_chunks_mut::<BLOCK>().0;
            for (to, from) in room.iter_mut().zip(items.as_chunks::<BLOCK>().0) {
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

fn value(values: Numbers<'_>, i: usize) -> f64 {
    match values {
        Numbers::F32(v) => v[i].into(),
        Numbers::F64(v) => v[i],
    }
}
