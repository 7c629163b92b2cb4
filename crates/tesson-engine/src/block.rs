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
    chunks: Vec<Division>,
}

/// How a chunk is divided.
struct Division {
    n_sequences: u32,
    /// Sequences of each block but the last, which may have fewer.
    of_block: u32,
    /// Sequences of a block that are decoded at once.
    at_once: u32,
}

impl BlockTable {
    /// Divides each chunk into blocks of equally many sequences and at most about `target` storage bytes, of which about
    /// `at_once` are decoded together; into one where chunks are had only as a whole.
    pub(crate) fn of(indexed: &Indexed, target: u64, at_once: u64) -> BlockTable {
        let index = &indexed.index;
        let (target, at_once) =
            if indexed.corpus.whole_chunks() { (u64::MAX, u64::MAX) } else { (target, at_once) };
        BlockTable::by_bytes(index, target, at_once)
    }

    fn by_bytes(index: &Index, target: u64, at_once: u64) -> BlockTable {
        let mut table = BlockTable { first: vec![0], chunks: Vec::with_capacity(index.n_chunks()) };
        for chunk in 0..index.n_chunks() {
            let span = index.chunk(chunk);
            table.push(span.n_sequences, span.bytes.div_ceil(target), span.bytes.div_ceil(at_once));
        }
        table
    }

    /// Appends a chunk that is about `blocks` blocks and decoded in about so many parts.
    fn push(&mut self, n_sequences: u32, blocks: u64, parts: u64) {
        let n = n_sequences.max(1);
        let part = |parts: u64| n.div_ceil(parts.clamp(1, u64::from(n)) as u32);
        let of_block = part(blocks);
        self.first.push(self.first[self.first.len() - 1] + n.div_ceil(of_block));
        // Parts of a block are alike.
        let at_once = of_block.div_ceil(of_block.div_ceil(part(parts)));
        self.chunks.push(Division { n_sequences, of_block, at_once });
    }

    pub(crate) fn len(&self) -> usize {
        self.first[self.first.len() - 1] as usize
    }

    /// The block that holds a sequence of a chunk, and where it lies in it.
    pub(crate) fn find(&self, chunk: u32, sequence: u32) -> (u32, u32) {
        let (first, of_block) = (self.first[chunk as usize], self.chunks[chunk as usize].of_block);
        (first + sequence / of_block, sequence % of_block)
    }

    /// The blocks of a chunk.
    pub(crate) fn blocks(&self, chunk: u32) -> Range<u32> {
        self.first[chunk as usize]..self.first[chunk as usize + 1]
    }

    /// The chunk of a block, and its sequences within the chunk.
    pub(crate) fn place(&self, block: u32) -> (u32, Range<u32>) {
        let chunk = self.first.partition_point(|&f| f <= block) - 1;
        let Division { n_sequences, of_block, .. } = self.chunks[chunk];
        let start = (block - self.first[chunk]) * of_block;
        (chunk as u32, start..start.saturating_add(of_block).min(n_sequences))
    }

    /// Sequences of a chunk's blocks that are decoded at once.
    pub(crate) fn at_once(&self, chunk: u32) -> u32 {
        self.chunks[chunk as usize].at_once
    }
}

/// Decoded blocks' memory, waiting to be decoded into again.
pub(crate) struct Spares {
    idle: Mutex<Idle>,
    /// Bytes kept, at most.
    limit: usize,
}

#[derive(Default)]
struct Idle {
    chunks: Vec<Chunk>,
    /// Bytes of all of them.
    bytes: usize,
}

impl Spares {
    pub(crate) fn new(limit: usize) -> Spares {
        Spares { idle: Mutex::default(), limit }
    }

    pub(crate) fn take(&self) -> Chunk {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let chunk = idle.chunks.pop().unwrap_or_else(Chunk::empty);
        idle.bytes = idle.bytes.saturating_sub(chunk.bytes());
        chunk
    }

    pub(crate) fn give(&self, chunk: Chunk) {
        let bytes = chunk.bytes();
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.bytes + bytes <= self.limit {
            idle.bytes += bytes;
            idle.chunks.push(chunk);
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
    pub(crate) fn packed(rows: PackedRows, beside: Chunk) -> Decoded {
        Decoded { chunk: beside, rows: Some(rows) }
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
    fn idle_memory_is_kept_up_to_the_limit() {
        let chunk = || Chunk { lengths: vec![0; 1000], ..Chunk::empty() };
        let spares = Spares::new(2 * chunk().bytes());
        (0..3).for_each(|_| spares.give(chunk()));
        let kept = |spares: &Spares| (0..3).filter(|_| spares.take().lengths.capacity() > 0).count();
        assert_eq!(kept(&spares), 2);
        // What was taken makes room again.
        (0..3).for_each(|_| spares.give(chunk()));
        assert_eq!(kept(&spares), 2);
    }

    #[test]
    fn every_sequence_lies_in_exactly_the_block_that_says_so() {
        let mut index = Index::new();
        for (n, bytes) in [(1, 1), (7, 100), (100, 99), (3, 1000), (64, 640)] {
            index.push(Coded::constant(1, n), bytes);
        }
        index.seal();
        let table = BlockTable::by_bytes(&index, 10, 3);
        assert_eq!(table.len(), 1 + 7 + 10 + 3 + 64);
        assert_eq!((table.place(1), table.place(17)), ((1, 0..1), (2, 90..100)));
        let mut next = (0, 0);
        for block in 0..table.len() as u32 {
            let (chunk, range) = table.place(block);
            assert!(!range.is_empty());
            assert!((1..=range.len().max(10) as u32).contains(&table.at_once(chunk)));
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
