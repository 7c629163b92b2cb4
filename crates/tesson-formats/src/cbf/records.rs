//! Records on their way to a file: those of one stream in the open chunk.

use std::io::{self, Write};
use std::mem;

use tesson_core::Element;

use super::blocks::{BEYOND, Block, Blocks};
use super::order::ascend;
use crate::write::Numbers;

/// Items of a record that is larger than a block of memory, put at once.
const PART: usize = 1 << 10;

/// Bytes of a block of memory, at least.
pub(super) const LEAST_BYTES: usize = 16 << 10;

/// Records as bytes.
#[derive(Default)]
pub(super) struct Records {
    /// Full blocks, and the one being filled.
    full: Vec<Block>,
    open: Block,
    /// Pairs of one sample, being sorted.
    pairs: Vec<(i32, f64)>,
}

impl Records {
    /// Hands all records over, to be written, and forgets them.
    pub(super) fn hand_over<W: Write>(&mut self, blocks: &mut Blocks<W>) {
        self.full.drain(..).for_each(|block| blocks.put(block));
        if self.open.used > 0 {
            blocks.put(mem::take(&mut self.open));
        }
    }

    /// Appends a number.
    #[inline]
    pub(super) fn number<W: Write>(&mut self, number: u32, blocks: &mut Blocks<W>) -> io::Result<()> {
        let open = mem::take(&mut self.open);
        self.open = self.with_room(open, 4, blocks)?;
        self.open.word(number.to_le_bytes());
        Ok(())
    }

    /// Appends dense records of sequences of these lengths; `values` are those of all of them.
    pub(super) fn dense<W: Write>(
        &mut self,
        lengths: &[u32],
        dim: usize,
        values: Numbers<'_>,
        element: Element,
        blocks: &mut Blocks<W>,
    ) -> io::Result<()> {
        match (values, element) {
            (Numbers::F32(v), Element::F32) => self.dense_as(lengths, dim, v, f32::to_le_bytes, blocks),
            (Numbers::F64(v), Element::F64) => self.dense_as(lengths, dim, v, f64::to_le_bytes, blocks),
            (Numbers::F32(v), Element::F64) => {
                self.dense_as(lengths, dim, v, |x| f64::from(x).to_le_bytes(), blocks)
            }
            (Numbers::F64(v), Element::F32) => {
                self.dense_as(lengths, dim, v, |x| (x as f32).to_le_bytes(), blocks)
            }
        }
    }

    fn dense_as<W: Write, T: Copy, const N: usize>(
        &mut self,
        lengths: &[u32],
        dim: usize,
        mut values: &[T],
        bytes_of: impl Fn(T) -> [u8; N],
        blocks: &mut Blocks<W>,
    ) -> io::Result<()> {
        // By itself, so that its fields stay in registers.
        let mut open = mem::take(&mut self.open);
        for &n in lengths {
            let n_values = n as usize * dim;
            let bytes = 4 + N * n_values;
            open = self.with_room(open, bytes, blocks)?;
            open.word(n.to_le_bytes());
            if blocks.holds(bytes) {
                open.items(values, n_values, &bytes_of);
            } else {
                open = self.parts(open, &values[..n_values], &bytes_of, blocks)?;
            }
            values = &values[n_values..];
        }
        self.open = open;
        Ok(())
    }

    /// Appends sparse records of sequences of these lengths; the others are those of all of them. `ordered` says that the
    /// columns of each sample are known to ascend.
    pub(super) fn sparse<W: Write>(
        &mut self,
        sparse: Sparse<'_>,
        values: Numbers<'_>,
        element: Element,
        ordered: bool,
        blocks: &mut Blocks<W>,
    ) -> io::Result<()> {
        let Sparse { bounds, columns, .. } = sparse;
        let first = bounds.first().copied().unwrap_or(0);
        let ends = bounds.iter().skip(1).map(|&end| (end - first) as usize);
        if !ordered && !ascend(columns, ends, |a, b| a > b) {
            return self.sorted(sparse, values, element, blocks);
        }
        match (values, element) {
            (Numbers::F32(v), Element::F32) => self.sparse_as(sparse, v, f32::to_le_bytes, blocks),
            (Numbers::F64(v), Element::F64) => self.sparse_as(sparse, v, f64::to_le_bytes, blocks),
            (Numbers::F32(v), Element::F64) => {
                self.sparse_as(sparse, v, |x| f64::from(x).to_le_bytes(), blocks)
            }
            (Numbers::F64(v), Element::F32) => {
                self.sparse_as(sparse, v, |x| (x as f32).to_le_bytes(), blocks)
            }
        }
    }

    fn sparse_as<W: Write, T: Copy, const N: usize>(
        &mut self,
        Sparse { lengths, bounds, columns }: Sparse<'_>,
        values: &[T],
        bytes_of: impl Fn(T) -> [u8; N],
        blocks: &mut Blocks<W>,
    ) -> io::Result<()> {
        let mut open = mem::take(&mut self.open);
        let (mut sample, mut entry) = (0, 0);
        for &n in lengths {
            let bounds = &bounds[sample..=sample + n as usize];
            sample += n as usize;
            let entries = (bounds[bounds.len() - 1] - bounds[0]) as usize;
            let bytes = 8 + (N + 4) * entries + 4 * n as usize;
            open = self.with_room(open, bytes, blocks)?;
            open.word(n.to_le_bytes());
            open.word((entries as i32).to_le_bytes());
            let count = |pair: &[i32]| (pair[1] - pair[0]).to_le_bytes();
            if blocks.holds(bytes) {
                open.items(&values[entry..], entries, &bytes_of);
                open.items(&columns[entry..], entries, i32::to_le_bytes);
                let counts = open.room()[..4 * n as usize].as_chunks_mut().0;
                counts.iter_mut().zip(bounds.windows(2)).for_each(|(to, pair)| *to = count(pair));
                open.used += 4 * n as usize;
            } else {
                open = self.parts(open, &values[entry..entry + entries], &bytes_of, blocks)?;
                open = self.parts(open, &columns[entry..entry + entries], i32::to_le_bytes, blocks)?;
                for pair in bounds.windows(2) {
                    open = self.with_room(open, 4, blocks)?;
                    open.word(count(pair));
                }
            }
            entry += entries;
        }
        self.open = open;
        Ok(())
    }

    /// Appends sparse records whose entries are not in order: sorted by column, those of one column in their order (§5),
    /// and with it their sum.
    fn sorted<W: Write>(
        &mut self,
        Sparse { lengths, bounds, columns }: Sparse<'_>,
        values: Numbers<'_>,
        element: Element,
        blocks: &mut Blocks<W>,
    ) -> io::Result<()> {
        let first = bounds[0];
        let mut pairs = mem::take(&mut self.pairs);
        pairs.clear();
        pairs.extend(columns.iter().enumerate().map(|(i, &column)| (column, value(values, i))));
        for pair in bounds.windows(2) {
            pairs[(pair[0] - first) as usize..(pair[1] - first) as usize].sort_by_key(|&(column, _)| column);
        }
        let (columns, values): (Vec<i32>, Vec<f64>) = pairs.iter().copied().unzip();
        self.pairs = pairs;
        let sparse = Sparse { lengths, bounds, columns: &columns };
        match element {
            Element::F32 => self.sparse_as(sparse, &values, |x| (x as f32).to_le_bytes(), blocks),
            Element::F64 => self.sparse_as(sparse, &values, f64::to_le_bytes, blocks),
        }
    }

    /// `open` with room for a record of `n` bytes if a block can hold it, else for its first numbers; or another block,
    /// `open` being full.
    #[inline(always)]
    fn with_room<W: Write>(&mut self, open: Block, n: usize, blocks: &mut Blocks<W>) -> io::Result<Block> {
        let needed = if blocks.holds(n) { n } else { 8 };
        if open.bytes.len() < open.used + needed + BEYOND { self.next(open, blocks) } else { Ok(open) }
    }

    #[cold]
    fn next<W: Write>(&mut self, filled: Block, blocks: &mut Blocks<W>) -> io::Result<Block> {
        if filled.used > 0 {
            self.full.push(filled);
        }
        blocks.take()
    }

    /// Appends all items to `open` and as many more blocks as they need; returns the last of them.
    fn parts<W: Write, T: Copy, const N: usize>(
        &mut self,
        mut open: Block,
        items: &[T],
        bytes_of: impl Fn(T) -> [u8; N],
        blocks: &mut Blocks<W>,
    ) -> io::Result<Block> {
        for part in items.chunks(PART) {
            open = self.with_room(open, N * part.len(), blocks)?;
            open.items(part, part.len(), &bytes_of);
        }
        Ok(open)
    }
}

/// Sparse sequences without their values.
#[derive(Clone, Copy)]
pub(super) struct Sparse<'a> {
    pub(super) lengths: &'a [u32],
    pub(super) bounds: &'a [i32],
    pub(super) columns: &'a [i32],
}

fn value(values: Numbers<'_>, i: usize) -> f64 {
    match values {
        Numbers::F32(v) => v[i].into(),
        Numbers::F64(v) => v[i],
    }
}
