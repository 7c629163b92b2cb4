//! The pipeline that fits a corpus: from an index or in order, by block or by row, resident or evicted.

use std::sync::Arc;

use tesson_core::{Error, Index, Indexed};
use tesson_plan::{Limit, Planner, Sharing};

use super::Source;
use super::budget::packed_bytes;
use crate::block::{BlockSizes, BlockTable};
use crate::deliver::{
    CorpusIndex, IndexedBlocks, LengthRule, Pipeline, PipelineConfig, PipelineMemory, PlanningContext,
    Reading, RunResources, SampleBytes,
};
use crate::executor::Interrupt;
use crate::memory_budget::Budget;
use crate::sample_room::SampleRoom;

/// Corpora of up to this many bytes stay in memory once they are decoded: it is less than one would notice.
const SMALL: u64 = 16 << 20;

/// Sequences of at least this many bytes on the average are fetched one by one in shuffled orders where the blocks that
/// are needed at about the same time do not fit into memory: fetching one costs less than loading its block again.
const LONG: u64 = 1 << 10;

/// [`LONG`] where those blocks fit, and each sequence is taken from its block once before that leaves memory: from this size on, filling
/// memory that is new to the process and copying from it costs more than another system call.
const LONG_READ_ONCE: u64 = 4 << 10;

/// Storage bytes of a dense value below which it is most likely a small whole number: kept in one byte, it takes less
/// memory than its text does, and less time than fetching that again.
const NARROW: u64 = 4;

/// The least memory that a sequence takes in a minibatch: its entries in the plan, in the blocks and in the batch.
const SEQUENCE_BYTES: u64 = 64;

/// Bytes of all chunks.
fn listed_bytes(index: &Index) -> u64 {
    index.chunk_ids().map(|chunk| index.chunk(chunk).bytes).fold(0, u64::saturating_add)
}

impl Source {
    /// Goes over to reading by a complete index.
    pub(super) fn switch_to_index(&mut self) -> Result<(), Error> {
        let indexed = self.indexed()?.clone();
        // An order that is read as stored keeps its fingerprint: its states are good before and after.
        if !self.plan.order.plans_while_indexing() {
            self.position.set_index_shape(tesson_plan::index_shape(&indexed.index));
        }
        let budget = self.budget(&indexed)?;
        self.pipeline = None;
        let storage = self.storage(&indexed);
        let small = storage <= SMALL.min(budget.blocks / 8);
        let keep = self.corpus.parts.keep_in_memory();
        let shuffled = self.plan.order.is_shuffled();
        let retain = keep || small || self.plan.order.needs_all_chunks(&indexed.index);
        // What is read in order is evicted at once, and best before it leaves the cache.
        let kept = shuffled || retain;
        let block_bytes = if kept { budget.block_bytes_of(storage) } else { budget.run_bytes };
        let pass_by = !kept && !self.plan.order.is_local();
        let whole = self.whole_chunks(&indexed.index, budget.blocks, pass_by);
        let sizes = BlockSizes { pass_by, ..self.block_sizes(block_bytes, budget.run_bytes, whole) };
        let table = Arc::new(BlockTable::of(&indexed, sizes));
        let long = self.long(&indexed.index, budget.blocks);
        let by_row =
            shuffled && !small && !keep && !table.has_large_whole() && self.is_long(&indexed, storage, long);
        let in_use = if retain { storage } else { self.plan.order.storage_in_use(&indexed.index) };
        let blocks = IndexedBlocks { index: indexed.index, corpus: indexed.corpus, table };
        let reading = Reading { prefetch: self.runtime.prefetch, retain, by_row };
        self.pipeline = Some(self.pipeline_of(CorpusIndex::Indexed(blocks), budget, in_use, reading));
        Ok(())
    }

    /// Bytes of the data. What is listed in them is not opened to know its size, and what they unpack to takes more than they: the
    /// index says it.
    fn storage(&self, indexed: &Indexed) -> u64 {
        let listed = listed_bytes(&indexed.index);
        if self.resources.are_named() { listed } else { self.resources.bytes().max(listed) }
    }

    /// True if sequences are better fetched one by one than kept ([`NARROW`]), which those of at least `long` bytes are.
    fn is_long(&self, indexed: &Indexed, storage: u64, long: u64) -> bool {
        let values: u64 =
            self.streams.delivered.iter().filter(|s| !s.sparse).map(|s| s.shape.len() as u64).sum();
        let narrow = storage < NARROW * values.saturating_mul(indexed.index.n_samples());
        !narrow
            && storage >= long.saturating_mul(indexed.index.n_sequences())
            && indexed.corpus.scattered().is_some()
    }

    /// The fewest bytes of a sequence that is better fetched than loaded with its block, if blocks may take `room` bytes.
    fn long(&self, index: &Index, room: u64) -> u64 {
        let order = &self.plan.order;
        let storage = listed_bytes(index);
        // A stream may have more samples than are counted, so that storage counts as well; of sparse ones it may have narrower values.
        let has_sparse = self.streams.stored.iter().any(|stream| stream.sparse);
        let stored = storage.saturating_mul(if has_sparse { self.widening() } else { 1 });
        let memory = stored.max(self.stored_sample_bytes().saturating_mul(index.n_samples()));
        let in_use = u128::from(order.storage_in_use(index));
        let in_use = in_use * u128::from(memory) / u128::from(storage.max(1));
        if packed_bytes(in_use.try_into().unwrap_or(u64::MAX)) > room {
            LONG
        } else if order.needs_all_chunks(index) && !matches!(self.plan.limit, Limit::Sweeps(0 | 1)) {
            // The next sweep finds its blocks in memory.
            u64::MAX
        } else {
            LONG_READ_ONCE
        }
    }

    /// Replaces the growing pipeline by one with an index in the middle of a call. `interrupted` can end it: the source
    /// is then as it was.
    pub(super) fn stop_growing(&mut self, interrupted: &mut dyn FnMut() -> bool) -> Result<(), Error> {
        self.pipeline = None;
        self.position.lose_aim();
        let switched = self.attended(interrupted, Source::switch_to_index);
        if self.pipeline.is_none() {
            self.pipeline = Some(self.growing_pipeline());
        }
        switched
    }

    /// Does something that takes long, and cancels it when `interrupted` says so. No other call may be reading.
    ///
    /// # Errors
    /// Those of `act`; [`Error::Cancelled`] after an interruption, also where `act` was done before it noticed: who interrupts
    /// waits for the call to say so.
    fn attended(
        &mut self,
        interrupted: &mut dyn FnMut() -> bool,
        act: impl FnOnce(&mut Source) -> Result<(), Error> + Send,
    ) -> Result<(), Error> {
        let resources = self.resources.clone();
        let stop = |is_interrupted| resources.interrupt(is_interrupted);
        let done = Interrupt::new(interrupted).attend(stop, || act(self));
        resources.interrupt(false);
        done
    }

    pub(super) fn growing_pipeline(&self) -> Pipeline {
        let budget = Budget::of(self.runtime.memory_limit, self.runtime.threads);
        let storage = if self.resources.are_named() { u64::MAX } else { self.resources.bytes() };
        let retain = self.corpus.parts.keep_in_memory() || storage <= SMALL.min(budget.blocks / 8);
        let reading = Reading { prefetch: self.runtime.prefetch, retain, by_row: false };
        self.pipeline_of(CorpusIndex::Growing(RunResources::default()), budget, 0, reading)
    }

    /// Blocks of so much storage are `in_use` at about the same time.
    fn pipeline_of(
        &self,
        corpus_index: CorpusIndex,
        budget: Budget,
        in_use: u64,
        reading: Reading,
    ) -> Pipeline {
        let mut spec = self.plan.clone();
        if self.truncated.is_some() {
            // It delivers sequences, and steps are made of rows.
            spec.equal_steps = None;
        }
        let setup = PipelineConfig {
            deserializer: self.corpus.parts.primary().clone(),
            spec: spec.clone(),
            streams: self.streams.stored.clone(),
            transforms: self.streams.transforms.clone(),
            resources: self.resources.clone(),
            counters: self.counters.clone(),
            canceller: self.canceller.clone(),
            threads: self.runtime.threads,
            memory: PipelineMemory {
                limit: usize::try_from(self.runtime.memory_limit).unwrap_or(usize::MAX),
                budget,
                in_use,
                sample_room: Arc::new(SampleRoom::new(self.runtime.memory_limit, self.runtime.threads)),
                process: self.process_memory.clone(),
            },
            reading,
            length_rule: match (self.frame_mode, &self.truncated) {
                (true, _) => LengthRule::Frames,
                (false, Some(_)) => LengthRule::Equal,
                (false, None) => LengthRule::Any,
            },
            charge_foreign: self.plan.sharing == Sharing::Position && self.forgives(),
            sample_bytes: SampleBytes {
                fetched: self.sample_bytes(),
                made: self.streams.transforms.sample_bytes(),
            },
        };
        let most = usize::try_from(self.runtime.memory_limit / SEQUENCE_BYTES).unwrap_or(usize::MAX);
        let mut planner = Planner::new(spec).with_most_sequences(most);
        if !setup.charge_foreign {
            planner = planner.counting_foreign();
        }
        Pipeline::new(setup, PlanningContext::new(planner, corpus_index))
    }
}
