//! How a source's memory is divided.

use std::sync::Arc;

use tesson_core::{ConfigError, Element, Error, Index, Indexed, Storage, StreamInfo};
use tesson_plan::Bucketing;

use super::Source;
use crate::block::{BlockSizes, WholeChunks};
use crate::memory_budget::Budget;
use crate::refusal::EngineRefusal;
use crate::samples::dense_bytes;

/// Memory for everything together where nothing else is asked for: 4 GiB.
pub const DEFAULT_MEMORY_LIMIT: u64 = 4 << 30;

/// Memory kept for a chunk even while none of it is loaded: the entries of its block among the present ones and among
/// those of a minibatch.
const CHUNK_BYTES: u64 = 8;

/// A chunk is small if it has at most this part of the limit.
const SMALL_CHUNK: u64 = 32;

/// Memory that a chunk takes as packed columns of numbers like the stored ones, in eighths of its storage: growing
/// columns leave part of their allocation unused, and so does the end of each page of packed sequences.
const COLUMNS: u64 = 9;
const PACKED: u64 = 9;

/// Bytes that columns of so many bytes take where they stay in memory.
pub(super) fn packed_bytes(columns: u64) -> u64 {
    WholeChunks { most: 0, loading: PACKED }.bytes(columns)
}

impl Source {
    /// Bytes of dense values that a sample has in all streams of a minibatch together while it is fetched.
    pub(super) fn sample_bytes(&self) -> u64 {
        let of = |(stored, delivered)| dense_bytes(if is_encoded(stored) { delivered } else { stored });
        self.streams.stored.iter().zip(&self.streams.delivered).map(of).fold(0, u64::saturating_add)
    }

    /// Bytes of dense values that a sample has in all streams of a block together.
    pub(super) fn stored_sample_bytes(&self) -> u64 {
        let values = self.streams.stored.iter().filter(|stored| !is_encoded(stored));
        values.map(dense_bytes).fold(0, u64::saturating_add)
    }

    /// How a corpus is divided into blocks of so many bytes that stay in memory.
    pub(super) fn block_sizes(&self, block: u64, at_once: u64, whole: WholeChunks) -> BlockSizes {
        BlockSizes { block, at_once, sample: self.stored_sample_bytes(), whole, pass_by: false }
    }

    /// Which chunks are loaded whole where that is better: all of them if those that are needed at about the same time fit into
    /// `room`. Else some are evicted and loaded again, and those should be small. Blocks that pass by are
    /// not packed.
    pub(super) fn whole_chunks(&self, index: &Index, room: u64, pass_by: bool) -> WholeChunks {
        let columns = self.column_eighths();
        let in_use = self.plan.order.storage_in_use(index);
        let of = |eighths: u64, storage: u64| WholeChunks { most: 0, loading: eighths }.bytes(storage);
        let (needed, loading) = if pass_by {
            // They stay as they are decoded, each for a short time.
            (of(columns, in_use), columns)
        } else {
            // While one is decoded the others are there, packed.

            let largest = index.chunk_ids().map(|chunk| index.chunk(chunk).bytes).max();
            let decoded = of(columns, largest.unwrap_or(0));
            (of(PACKED, in_use).saturating_add(decoded), columns + PACKED)
        };
        let most = if needed <= room { u64::MAX } else { self.runtime.memory_limit / SMALL_CHUNK };
        WholeChunks { most, loading }
    }

    /// The limit on whole chunks where each thread decodes a block, looks at it and drops it.
    pub(super) fn whole_chunks_of_threads(&self) -> WholeChunks {
        let columns = self.column_eighths();
        let most = 4 * self.runtime.memory_limit / (columns * self.runtime.threads as u64);
        WholeChunks { most, loading: columns }
    }

    /// Memory for the columns of a chunk, in eighths of its storage.
    fn column_eighths(&self) -> u64 {
        COLUMNS * self.widening()
    }

    /// How many times the bits of its values in storage a stream may have in memory.
    pub(super) fn widening(&self) -> u64 {
        let are_wide = self.streams.stored.iter().any(|stream| stream.element == Element::F64);
        if are_wide { 2 } else { 1 }
    }

    /// Divides the memory that index and plan leave.
    pub(super) fn budget(&self, indexed: &Indexed) -> Result<Budget, Error> {
        let held = indexed.index.bytes() + indexed.corpus.facts().memory + self.resources.memory();
        let index = held as u64 + CHUNK_BYTES * indexed.index.n_chunks() as u64;
        let buckets = self.plan.bucketing.map_or(0, |_| Bucketing::bytes(indexed.index.n_sequences()));
        // Equal steps are counted in an order of their own.
        let orders = 1 + u64::from(self.plan.equal_steps.is_some());
        let plan =
            orders.saturating_mul(self.plan.order.working_bytes(&indexed.index).saturating_add(buckets));
        let rest = self.runtime.memory_limit.saturating_sub(index + plan);
        if rest == 0 {
            let limit = self.runtime.memory_limit;
            let refusal = match self.resources.listed() {
                Some((list, n)) => {
                    let list = list.display().to_string();
                    EngineRefusal::ListBeyondMemory { list, n, index, plan, limit }
                }
                None => EngineRefusal::IndexBeyondMemory { index, plan, limit },
            };
            return Err(ConfigError::refused("memoryLimit", &refusal).into());
        }
        Ok(Budget::of(rest, self.runtime.threads))
    }
}

fn is_encoded(stream: &Arc<StreamInfo>) -> bool {
    matches!(stream.storage, Storage::Encoded | Storage::Recordings)
}
