//! Blocks: the runs of sequences that are loaded, kept and given up together.
//!
//! A block is a slice of a chunk, small enough that several are decoded side by side and that what is not needed any
//! more can be given up early. Blocks never show in a result.

use std::ops::Range;
use std::sync::{Mutex, PoisonError, Weak};

use tesson_core::{Chunk, Index, Indexed};

use crate::pack::Source;
use crate::packed::PackedRows;

/// The division of an indexed corpus into blocks.
pub(crate) struct BlockTable {
    /// Number of each chunk's first block; one entry more than there are chunks.
    first: Vec<u32>,
    /// Sequences of each chunk, and of each of its blocks but the last, which may have fewer.
    n_sequences: Vec<(u32, u32)>,
}

impl BlockTable {
    /// Divides each chunk into blocks of equally many sequences and at most about `target` storage bytes; into one where
    /// chunks are had only as a whole.
    pub(crate) fn of(indexed: &Indexed, target: u64) -> BlockTable {
        let index = &indexed.index;
        let target = if indexed.corpus.whole_chunks() { u64::MAX } else { target };
        BlockTable::by_bytes(index, target)
    }

    fn by_bytes(index: &Index, target: u64) -> BlockTable {
        let mut table = BlockTable { first: vec![0], n_sequences: Vec::with_capacity(index.n_chunks()) };
        for chunk in 0..index.n_chunks() {
            let span = index.chunk(chunk);
            table.push(span.n_sequences, span.bytes.div_ceil(target));
        }
        table
    }

    /// Appends a chunk that is about `blocks` blocks.
    fn push(&mut self, n_sequences: u32, blocks: u64) {
        let n = n_sequences.max(1);
        let of_each = n.div_ceil(blocks.clamp(1, u64::from(n)) as u32);
        self.first.push(self.first[self.first.len() - 1] + n.div_ceil(of_each));
        self.n_sequences.push((n_sequences, of_each));
    }

    pub(crate) fn len(&self) -> usize {
        self.first[self.first.len() - 1] as usize
    }

    /// The block that holds a sequence of a chunk, and where it lies in it.
    pub(crate) fn find(&self, chunk: u32, sequence: u32) -> (u32, u32) {
        let (first, (_, of_each)) = (self.first[chunk as usize], self.n_sequences[chunk as usize]);
        (first + sequence / of_each, sequence % of_each)
    }

    /// The blocks of a chunk.
    pub(crate) fn blocks(&self, chunk: u32) -> Range<u32> {
        self.first[chunk as usize]..self.first[chunk as usize + 1]
    }

    /// The chunk of a block, and its sequences within the chunk.
    pub(crate) fn place(&self, block: u32) -> (u32, Range<u32>) {
        let chunk = self.first.partition_point(|&f| f <= block) - 1;
        let (n, of_each) = self.n_sequences[chunk];
        let start = (block - self.first[chunk]) * of_each;
        (chunk as u32, start..start.saturating_add(of_each).min(n))
    }
}

/// Decoded blocks' memory, waiting to be decoded into again.
pub(crate) struct Spares {
    idle: Mutex<Vec<Chunk>>,
    /// Bytes kept, at most.
    limit: usize,
}

impl Spares {
    pub(crate) fn new(limit: usize) -> Spares {
        Spares { idle: Mutex::new(Vec::new()), limit }
    }

    pub(crate) fn take(&self) -> Chunk {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_else(Chunk::empty)
    }

    pub(crate) fn give(&self, chunk: Chunk) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let kept: usize = idle.iter().map(Chunk::bytes).sum();
        if kept + chunk.bytes() <= self.limit {
            idle.push(chunk);
        }
    }
}

/// A decoded block: columns, or packed rows and a chunk without columns.
pub(crate) struct Decoded {
    chunk: Chunk,
    rows: Option<PackedRows>,
}

impl Decoded {
    /// A block that is read in order: its columns.
    pub(crate) fn columns(chunk: Chunk) -> Decoded {
        Decoded { chunk, rows: None }
    }

    /// A block that stays in memory and is read at random: its sequences packed, all else of the chunk beside them.
    pub(crate) fn packed(chunk: &Chunk, dims: &[usize], scratch: &mut Vec<u8>) -> Decoded {
        match PackedRows::of(chunk, dims, scratch) {
            Some(rows) => Decoded { chunk: chunk.without_columns(), rows: Some(rows) },
            None => Decoded::columns(chunk.clone()),
        }
    }

    /// Bytes of memory held.
    pub(crate) fn bytes(&self) -> usize {
        self.chunk.bytes() + self.rows.as_ref().map_or(0, PackedRows::bytes)
    }
}

/// A decoded block in memory. When its last user lets go, its memory goes home, if it has one.
pub(crate) struct Resident {
    block: Decoded,
    home: Weak<Spares>,
}

impl Resident {
    pub(crate) fn new(block: Decoded, home: Weak<Spares>) -> Resident {
        Resident { block, home }
    }

    /// What it is for packing, if its lines count from `line_base`.
    pub(crate) fn source(&self, line_base: u64) -> Source<'_> {
        Source { chunk: &self.block.chunk, rows: self.block.rows.as_ref(), line_base }
    }
}

impl Drop for Resident {
    fn drop(&mut self) {
        if let Some(home) = self.home.upgrade() {
            home.give(std::mem::replace(&mut self.block.chunk, Chunk::empty()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tesson_core::Coded;

    #[test]
    fn every_sequence_lies_in_exactly_the_block_that_says_so() {
        let mut index = Index::new();
        for (n, bytes) in [(1, 1), (7, 100), (100, 99), (3, 1000), (64, 640)] {
            index.push(Coded::constant(1, n), bytes);
        }
        index.seal();
        let table = BlockTable::by_bytes(&index, 10);
        assert_eq!(table.len(), 1 + 7 + 10 + 3 + 64);
        assert_eq!((table.place(1), table.place(17)), ((1, 0..1), (2, 90..100)));
        let mut next = (0, 0);
        for block in 0..table.len() as u32 {
            let (chunk, range) = table.place(block);
            assert!(!range.is_empty());
            if next.1 == index.chunk(next.0 as usize).n_sequences {
                next = (next.0 + 1, 0);
            }
            assert_eq!((chunk, range.start), next);
            for (i, sequence) in range.clone().enumerate() {
                assert_eq!(table.find(chunk, sequence), (block, i as u32));
            }
            next = (chunk, range.end);
        }
        assert_eq!(next, (4, 64));
    }
}
