//! The configuration of a pipeline.

use std::sync::Arc;

use tesson_core::{Deserializer, StreamInfo};
use tesson_memory::process_memory::ProcessMemory;
use tesson_plan::PlanSpec;

use super::batch_budget::BatchLimits;
use super::residency::ResidencyLimits;
use crate::executor::Canceller;
use crate::fetch::Resources;
use crate::memory_budget::{BATCHES_SHARE, Budget, SEQUENCE_AT_LEAST, largest_batch};
use crate::sample_room::SampleRoom;
use crate::stats::Counters;
use crate::transform::Transforms;

/// Sequences that are fetched for a minibatch take this part of the memory limit at a time.
const PARTS: usize = 32;

/// Memory for chunks that lies ready: this part of it at most for small blocks that stay.
const SMALL_SHARE: usize = 16;

/// And this part for pages of files that stay, unless they may take more: the room of blocks that are not in memory.
const PAGES_SHARE: usize = 2;

/// The rule that sequence lengths must satisfy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LengthRule {
    Any,
    /// Every stream has one sample of each sequence (spec/engine.md §9.2).
    Frames,
    /// All streams have as many samples of a sequence (spec/engine.md §9.3).
    Equal,
}

/// The configuration of a pipeline, fixed for its life.
pub(crate) struct PipelineConfig {
    pub(crate) deserializer: Arc<dyn Deserializer>,
    pub(crate) spec: PlanSpec,
    pub(crate) streams: Vec<Arc<StreamInfo>>,
    pub(crate) transforms: Arc<Transforms>,
    pub(crate) sample_bytes: SampleBytes,
    pub(crate) length_rule: LengthRule,
    /// True if faults in sequences that other workers deliver are charged too.
    pub(crate) charge_foreign: bool,
    pub(crate) resources: Arc<Resources>,
    pub(crate) counters: Arc<Counters>,
    pub(crate) canceller: Canceller,
    pub(crate) threads: usize,
    pub(crate) memory: PipelineMemory,
    pub(crate) reading: Reading,
}

/// Bytes of dense values that a sample has in all streams together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SampleBytes {
    /// While it is fetched.
    pub(crate) fetched: u64,
    /// While its minibatch is made: what transforms make is there beside what they are given.
    pub(crate) made: u64,
}

/// The memory that a pipeline may take.
pub(crate) struct PipelineMemory {
    /// Bytes that everything together may take.
    pub(crate) limit: usize,
    /// The memory that index and plan leave, divided.
    pub(crate) budget: Budget,
    /// Storage of the blocks that are needed at about the same time; 0 where it is not known.
    pub(crate) in_use: u64,
    /// The memory set aside for encoded samples while they are decoded.
    pub(crate) sample_room: Arc<SampleRoom>,
    pub(crate) process: Arc<ProcessMemory>,
}

/// When blocks and minibatches are read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading {
    /// True if minibatches are made before they are asked for.
    pub(crate) prefetch: bool,
    /// True if blocks stay in memory after their sweep has used them.
    pub(crate) retain: bool,
    /// True if sequences are always fetched one by one and blocks are never loaded.
    pub(crate) by_row: bool,
}

/// Bytes of memory that lies ready for chunks and blocks, at most.
pub(super) struct PoolLimits {
    /// Of chunks that are used once.
    pub(super) used_once: usize,
    /// Of small blocks that stay.
    pub(super) small: usize,
    /// Of pages of files that stay.
    pub(super) pages: usize,
}

impl PipelineConfig {
    /// The limits on the memory of minibatches.
    pub(super) fn batch_limits(&self) -> BatchLimits {
        BatchLimits {
            ahead: self.memory.limit / BATCHES_SHARE,
            largest: self.largest_batch(),
            prefetch: self.memory.budget.prefetch as usize,
            is_open: self.transforms.has_open_shapes(),
        }
    }

    /// The limits on the memory of blocks.
    pub(super) fn residency_limits(&self) -> ResidencyLimits {
        ResidencyLimits { budget: self.memory.budget.blocks as usize, retain: self.reading.retain }
    }

    /// True if blocks are read in order and evicted at once: packing them would cost more than it saves.
    pub(super) fn passes_by(&self) -> bool {
        let order = &self.spec.order;
        !order.is_shuffled() && !order.is_local() && !self.reading.retain
    }

    /// Bytes of the pools, where the caller needs so many beside what it takes.
    pub(super) fn pool_limits(&self, outside: usize) -> PoolLimits {
        let pool = self.memory.budget.chunk_pool as usize;
        let bytes = pool.min(self.memory.limit.saturating_sub(outside) / 4);
        let has_pages = self.transforms.has_encoded() && !self.passes_by();
        let (small, pages) = (bytes / SMALL_SHARE, if has_pages { bytes / PAGES_SHARE } else { 0 });
        PoolLimits { used_once: bytes - small - pages, small, pages }
    }

    pub(super) fn largest_batch(&self) -> usize {
        largest_batch(self.memory.limit as u64) as usize
    }

    /// Bytes of a minibatch's sequences that are fetched at once, about.
    pub(super) fn part_bytes(&self) -> usize {
        (self.memory.limit / PARTS).max(SEQUENCE_AT_LEAST)
    }

    /// Storage bytes that are decoded at once.
    pub(super) fn run_bytes(&self) -> u64 {
        self.memory.budget.run_bytes
    }

    pub(super) fn has_sparse(&self) -> bool {
        self.streams.iter().any(|stream| stream.sparse)
    }
}
