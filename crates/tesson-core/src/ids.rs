//! Numbers that name parts of a corpus. They are types, so that the number of a chunk cannot be passed for one of a
//! sequence, nor for a place in an order of chunks.

use std::fmt;

/// The number of a chunk in its corpus, from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct ChunkId(pub u32);

impl ChunkId {
    /// The chunk at an index of a table that has all chunks. A corpus has fewer than 2^32.
    #[inline]
    pub fn at(index: usize) -> ChunkId {
        ChunkId(index as u32)
    }

    /// The index of the chunk in a table that has all chunks.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl From<ChunkId> for u64 {
    #[inline]
    fn from(chunk: ChunkId) -> u64 {
        chunk.0.into()
    }
}

impl fmt::Display for ChunkId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A sequence of a corpus, named by its chunk and its number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SequenceId {
    /// The chunk.
    pub chunk: ChunkId,
    /// The number of the sequence within the chunk, from 0.
    pub sequence: u32,
}
