//! Blocks that pass by, whose values become the minibatches' own: slices of the block instead of copies.
//!
//! For the next editor: each row is taken out of its block only once. A minibatch that needs rows that were already taken, because
//! the next sweep begins before the block is evicted or because an earlier minibatch failed, reloads the block. Therefore no
//! minibatch can see what a caller writes into the arrays of another one.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use bytemuck::cast_vec;
use tesson_core::{Chunk, Data, StreamColumn, StreamInfo};
use tesson_memory::pool::Buffer;

use super::Pools;
use crate::sample_values::SampleValues;

/// A block is divided if it has room for so many minibatches: of others few lie in one block.
const FEWEST: usize = 2;

/// And if it takes this part of the memory limit at most: minibatches that were made ahead keep whole blocks.
const LARGEST_SHARE: usize = 32;

/// A block's columns, divided among minibatches.
pub(crate) struct Slices {
    /// Where samples and entries lie, without values.
    columns: Vec<StreamColumn>,
    /// The remaining slices, which no minibatch has taken yet.
    left: Mutex<Vec<Slice>>,
    bytes: usize,
}

/// The values of consecutive rows of a block, exclusively owned.
pub(crate) struct Slice {
    pub(super) rows: Range<u32>,
    pub(super) streams: Vec<StreamSlice>,
}

/// A stream's values in a slice.
pub(super) struct StreamSlice {
    /// The column of each value, of sparse streams.
    pub(super) indices: Buffer<i32>,
    pub(super) values: SampleValues,
}

/// A slice, with the columns of its block.
#[derive(Clone, Copy)]
pub(crate) struct SliceOf<'a> {
    pub(super) columns: &'a [StreamColumn],
    pub(super) slice: &'a Slice,
}

impl Slices {
    /// Divides a decoded block, which loses its columns, if minibatches are much smaller than it and it than memory. `None` of other
    /// blocks, and of those with values in another form than minibatches have.
    pub(crate) fn of(chunk: &mut Chunk, streams: &[Arc<StreamInfo>], pools: &Pools) -> Option<Slices> {
        let columns = || chunk.streams.iter().zip(streams);
        let is_divisible = |(column, info): (&StreamColumn, &Arc<StreamInfo>)| match &column.data {
            Data::Dense { values } | Data::Sparse { values, .. } => values.fit_bit_by_bit(info.element),
            _ => false,
        };
        // Left-out sequences make gaps.
        if !chunk.left_out.is_empty() || !columns().all(is_divisible) {
            return None;
        }
        let sizes = columns()
            .enumerate()
            .map(|(number, (column, _))| (n_values(column), pools.expected_values(number)));
        let (n, of_batch) = sizes.max_by_key(|(_, of_batch)| *of_batch)?;
        let is_small = chunk.bytes() <= pools.memory_limit / LARGEST_SHARE;
        // Before the first minibatch it is not known how large they are.
        if n / FEWEST < of_batch || !is_small {
            return None;
        }
        let n_rows = chunk.n_sequences;
        let mut columns = std::mem::take(&mut chunk.streams);
        let taken = columns.iter_mut().zip(streams).enumerate();
        let taken = taken.map(|(number, (column, info))| StreamSlice::of(number, column, info, pools));
        let all = Slice { rows: 0..n_rows, streams: taken.collect() };
        let bytes = columns.iter().map(StreamColumn::bytes).sum::<usize>()
            + all.streams.iter().map(|s| s.indices.memory() + s.values.memory()).sum::<usize>();
        Some(Slices { columns, left: Mutex::new(vec![all]), bytes })
    }

    /// Bytes of memory of all slices together, and beside them.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Takes rows out. `None` if one of them has been taken.
    pub(crate) fn take(&self, rows: &Range<u32>, streams: &[Arc<StreamInfo>]) -> Option<Slice> {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        let at = left.iter().position(|s| s.rows.start <= rows.start && rows.end <= s.rows.end)?;
        let mut slice = left.swap_remove(at);
        if rows.end < slice.rows.end {
            left.push(self.split_off(&mut slice, rows.end, streams));
        }
        if rows.start == slice.rows.start {
            return Some(slice);
        }
        let taken = self.split_off(&mut slice, rows.start, streams);
        left.push(slice);
        Some(taken)
    }

    /// The rows of a slice from `row` on, which it loses.
    fn split_off(&self, slice: &mut Slice, row: u32, streams: &[Arc<StreamInfo>]) -> Slice {
        let split = |((column, info), stream): ((&StreamColumn, &Arc<StreamInfo>), &mut StreamSlice)| {
            let at = values_before(column, row, info) - values_before(column, slice.rows.start, info);
            let indices = if info.sparse { stream.indices.split_off(at) } else { Buffer::default() };
            StreamSlice { indices, values: stream.values.split_off(at) }
        };
        let split = self.columns.iter().zip(streams).zip(&mut slice.streams).map(split).collect();
        let rows = row..slice.rows.end;
        slice.rows.end = row;
        Slice { rows, streams: split }
    }

    /// A slice of this block, to be read.
    pub(crate) fn with<'a>(&'a self, slice: &'a Slice) -> SliceOf<'a> {
        SliceOf { columns: &self.columns, slice }
    }

    /// The columns of this block.
    pub(super) fn columns(&self) -> &[StreamColumn] {
        &self.columns
    }

    /// Columns to decode another block into, which have [no memory for values](Pools::lend).
    pub(crate) fn into_columns(self) -> Vec<StreamColumn> {
        self.columns
    }
}

impl Slice {
    /// The rows that it has.
    pub(crate) fn rows(&self) -> &Range<u32> {
        &self.rows
    }
}

impl StreamSlice {
    /// All values of a column, as minibatches have them.
    fn of(number: usize, column: &mut StreamColumn, info: &StreamInfo, pools: &Pools) -> StreamSlice {
        pools.note_taken(number, n_values(column));
        let (mut indices, mut values) = (Buffer::default(), SampleValues::none(info.element));
        match &mut column.data {
            Data::Dense { values: column } => values.take(info.element, column, pools),
            Data::Sparse { columns, values: column, .. } => {
                take_indices(&mut indices, columns, pools);
                values.take(info.element, column, pools);
            }
            _ => unreachable!("blocks with other columns are not divided"),
        }
        StreamSlice { indices, values }
    }
}

impl<'a> SliceOf<'a> {
    /// A stream's column in the block, its values in the slice, and the number of values before these in the block.
    pub(super) fn stream(
        self,
        number: usize,
        info: &StreamInfo,
    ) -> (&'a StreamColumn, &'a StreamSlice, usize) {
        let column = &self.columns[number];
        (column, &self.slice.streams[number], values_before(column, self.slice.rows.start, info))
    }
}

/// Takes over the column numbers of sparse values, which change places with the memory of those before.
pub(super) fn take_indices(indices: &mut Buffer<i32>, columns: &mut Vec<u32>, pools: &Pools) {
    let mut numbers = cast_vec(std::mem::take(columns));
    pools.i32s.exchange(indices, &mut numbers);
    *columns = cast_vec(numbers);
}

pub(super) fn n_values(column: &StreamColumn) -> usize {
    match &column.data {
        Data::Dense { values } | Data::Sparse { values, .. } => values.len(),
        _ => 0,
    }
}

/// Number of a column's values before a row.
fn values_before(column: &StreamColumn, row: u32, info: &StreamInfo) -> usize {
    let sample = column.samples.start(row as usize);
    match &column.data {
        Data::Sparse { rows, .. } => rows.start(sample),
        _ => sample * info.shape.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tesson_core::{Element, Keys, Offsets, Shape, Values};

    /// Five rows: of two dense values, and of none to three sparse ones.
    fn block() -> (Chunk, Vec<Arc<StreamInfo>>) {
        let dense = Data::Dense { values: Values::F32((0..10).map(|v| v as f32).collect()) };
        let sparse = Data::Sparse {
            rows: Offsets::At(vec![0, 2, 2, 3, 6, 7]),
            columns: (0..7).collect(),
            values: Values::F64((0..7).map(f64::from).collect()),
        };
        let column = |data| StreamColumn { samples: Offsets::Every(1), data };
        let chunk = Chunk::new(Keys::Consecutive(0), vec![1; 5], vec![column(dense), column(sparse)]);
        let streams = [
            StreamInfo::dense("x", Shape::new([2]), Element::F32),
            StreamInfo::dense("y", Shape::new([7]), Element::F64).with_sparse(true),
        ];
        (chunk, streams.map(Arc::new).into())
    }

    #[test]
    fn rows_are_taken_once_in_any_order_and_lie_where_they_lay() {
        let (mut chunk, streams) = block();
        let Data::Dense { values: Values::F32(values) } = &chunk.streams[0].data else { panic!("floats") };
        let at = values.as_ptr();
        let slices = Slices::of(&mut chunk, &streams, &Pools::new(2, usize::MAX)).expect("it is divisible");
        assert!(chunk.streams.is_empty() && slices.bytes() >= 10 * 4 + 7 * 12);
        let take = |rows: Range<u32>| {
            let slice = slices.take(&rows, &streams)?;
            let [StreamSlice { values: SampleValues::F32(x), .. }, StreamSlice { indices, values }] =
                &slice.streams[..]
            else {
                panic!("two streams")
            };
            assert_eq!((x.as_ptr(), x.len()), (at.wrapping_add(2 * rows.start as usize), 2 * rows.len()));
            Some((x[0] as i32, indices.to_vec(), values.len()))
        };
        assert_eq!(take(1..3), Some((2, vec![2], 1)));
        assert_eq!(take(4..5), Some((8, vec![6], 1)));
        assert_eq!((take(0..2), take(2..4), take(4..5)), (None, None, None));
        assert_eq!(take(3..4), Some((6, vec![3, 4, 5], 3)));
        assert_eq!(take(0..1), Some((0, vec![0, 1], 2)));
    }

    #[test]
    fn blocks_with_other_values_and_few_minibatches_are_left_whole() {
        let pools = Pools::new(2, usize::MAX);
        let is_divided = |pools: &Pools, change: &dyn Fn(&mut Chunk)| {
            let (mut chunk, streams) = block();
            change(&mut chunk);
            let whole = chunk.clone();
            let is_divided = Slices::of(&mut chunk, &streams, pools).is_some();
            assert!(is_divided || chunk == whole);
            is_divided
        };
        assert!(is_divided(&pools, &|_| {}));
        assert!(!is_divided(&pools, &|chunk| chunk.left_out = vec![2]));
        let narrow = || Data::Dense { values: Values::Bytes(vec![1; 10]) };
        assert!(!is_divided(&pools, &|chunk| chunk.streams[0].data = narrow()));
        assert!(!is_divided(&Pools::new(2, 1000), &|_| {}), "it takes much of the memory");
        let mut last = SampleValues::none(Element::F32);
        last.append(&Values::F32(vec![0.0; 6]), 0..6);
        pools.expect(0, 3, &last);
        assert!(!is_divided(&pools, &|_| {}), "a minibatch has more than half of it");
    }
}
