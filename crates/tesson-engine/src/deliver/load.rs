//! Loading: what a block is read from, decoded, and put into memory.
//!
//! For the next editor: bytes are reserved before a load and replaced by the real size after it, both under the lock,
//! so the sum of all threads' loads stays within the limit while they run. An error goes to the tickets that wait for the
//! block: the caller meets it when their turn comes. A byte run is decoded by the thread that cut it, after the right
//! to cut has gone back: another thread cuts the next run meanwhile.

use std::sync::MutexGuard;

use tesson_core::{ByteRun, Chunk, Corpus, EncodedColumn, Error, SequenceSelection, StreamingDecoder};
use tesson_memory::packed::Packer;

use super::Shared;
use super::corpus_index::CorpusIndex;
use super::growth::{Cut, Grown};
use super::job::{BlockSource, Load, WorkerScratch};
use super::state::State;
use super::ticket::Held;
use crate::block::{BlockId, BlockSpan, BlockTable, Decoded, Resident};
use crate::memory_budget::run_room;
use crate::pack::Slices;

impl Shared {
    /// Loads a block.
    pub(super) fn load(&self, load: Load, worker: &mut WorkerScratch) -> MutexGuard<'_, State> {
        let Load { block, source, reserved } = load;
        let loaded = self.decode(&source, worker);
        self.setup.memory.process.note_made(loaded.as_ref().map_or(0, Decoded::bytes));
        let mut state = self.lock();
        state.residency.end_load(reserved);
        match loaded {
            Ok(chunk) => self.settle(&mut state, block, chunk),
            Err(e) => self.fail(&mut state, block, &e),
        }
        state
    }

    /// Decodes what a block is made of.
    fn decode(&self, source: &BlockSource, worker: &mut WorkerScratch) -> Result<Decoded, Error> {
        let resources = &*self.setup.resources;
        match source {
            BlockSource::Rows(span) => {
                let packs = !self.setup.passes_by() && !self.packed_streams.is_empty();
                if packs && let Some(packed) = self.decode_packed(span, worker)? {
                    return Ok(packed);
                }
                let mut columns = self.block_pool.take();
                self.pools.lend(&mut columns.streams);
                let has_pages = self.block_pool.has_pages(span.sequences.len());
                if has_pages {
                    let lent = |column: &mut EncodedColumn| {
                        column.set_memory(worker.files.pop().unwrap_or_default())
                    };
                    columns.encoded_columns().for_each(lent);
                }
                let wanted = SequenceSelection::Range(span.sequences.clone());
                self.corpus().load(span.chunk, wanted, resources, &mut worker.scratch, &mut columns)?;
                self.note_warnings(worker);
                if !has_pages {
                    return Ok(self.columns(columns));
                }
                let most = self.kept_by_worker() as usize;
                Ok(self.block_pool.with_pages(columns, most, &mut worker.files))
            }
            BlockSource::ByteRun(run) => self.decode_run(*run, worker).map(|chunk| self.columns(chunk)),
        }
    }

    /// A decoded block that is not packed. It is divided among minibatches where it passes by and they are small.
    fn columns(&self, mut chunk: Chunk) -> Decoded {
        let passes_by = self.setup.passes_by();
        let slices = passes_by.then(|| Slices::of(&mut chunk, &self.setup.streams, &self.pools)).flatten();
        match slices {
            Some(slices) => Decoded::sliced(slices, chunk),
            None => Decoded::columns(chunk),
        }
    }

    /// Loads a block that is in memory once more, for one minibatch.
    pub(super) fn reload(&self, block: BlockId, worker: &mut WorkerScratch) -> Result<Resident, Error> {
        let (source, _) = self.source(&self.lock(), block);
        Ok(Resident::new(self.decode(&source, worker)?, &self.block_pool))
    }

    /// Decodes sequences of a chunk, as many at once as fit a cache, and packs them one after the other. `None` if they
    /// are too large for that.
    fn decode_packed(&self, span: &BlockSpan, worker: &mut WorkerScratch) -> Result<Option<Decoded>, Error> {
        let BlockSpan { chunk, sequences: range } = span;
        // Decoded columns are read again at once to be packed, so as much is decoded at once as stays in a cache.
        let at_once = self.table().at_once(*chunk);
        let mut packer = Packer::new(range.len(), &mut worker.bytes);
        let mut beside = Chunk::empty();
        for from in range.clone().step_by(at_once as usize) {
            let wanted = SequenceSelection::Range(from..range.end.min(from.saturating_add(at_once)));
            let columns = &mut worker.chunk;
            self.corpus().load(*chunk, wanted, &*self.setup.resources, &mut worker.scratch, columns)?;
            if packer.push(columns, &self.packed_streams).is_none() {
                return Ok(None);
            }
            beside.append_without_columns(columns);
        }
        let packed = Decoded::packed(packer.finish(self.share_of_block(span)), beside);
        self.note_warnings(worker);
        // Of chunks that were loaded whole, or wide samples: there is no memory for it in each thread.
        if worker.chunk.bytes() as u64 > 4 * self.setup.run_bytes() {
            worker.chunk = Chunk::empty();
        }
        if worker.bytes.capacity() as u64 > self.kept_by_worker() {
            worker.bytes = Vec::new();
        }
        Ok(Some(packed))
    }

    /// Bytes that a block may take so that all that are needed at about the same time fit into memory.
    fn share_of_block(&self, BlockSpan { chunk, sequences }: &BlockSpan) -> usize {
        let chunk = self.corpus_index.indexed().index.chunk(*chunk);
        let storage =
            u128::from(chunk.bytes) * sequences.len() as u128 / u128::from(chunk.n_sequences.max(1));
        let memory = u128::from(self.setup.memory.budget.blocks) * storage;
        memory.checked_div(self.setup.memory.in_use.into()).map_or(usize::MAX, |share| share as usize)
    }

    /// Bytes that each worker may keep of the storage that it has read.
    pub(super) fn kept_by_worker(&self) -> u64 {
        4 * self.setup.run_bytes() + self.size.of_block()
    }

    fn decode_run(&self, run: ByteRun, worker: &mut WorkerScratch) -> Result<Chunk, Error> {
        let mut chunk = self.chunk_pool.take();
        self.pools.lend(&mut chunk.streams);
        let resources = &*self.setup.resources;
        resources.read_run(self.decoder(), run, &mut worker.bytes)?;
        worker.scratch.room.all = run_room(run.bytes.max(self.setup.run_bytes()));
        let decoded = self.decoder().decode(run, &worker.bytes, resources, &mut worker.scratch, &mut chunk);
        worker.scratch.room.all = usize::MAX;
        decoded?;
        self.note_warnings(worker);
        Ok(chunk)
    }

    /// Counts what decoding found worth mentioning.
    pub(super) fn note_warnings(&self, worker: &mut WorkerScratch) {
        self.setup.counters.note_warnings(&mut worker.scratch);
    }

    /// Cuts the next byte run and decodes it.
    pub(super) fn cut(&self, cut: Cut, worker: &mut WorkerScratch) -> MutexGuard<'_, State> {
        let (resources, least) = (&*self.setup.resources, self.setup.run_bytes());
        let cut = self.decoder().cut(cut.after, least, resources, &mut worker.bytes);
        let run = cut.as_ref().ok().copied().flatten();
        let mut state = self.lock();
        let growth = state.growth.as_mut().expect("only growing corpora are cut");
        let Some(block) = growth.end_cut(cut) else {
            state.residency.end_cut();
            return state;
        };
        state.residency.push_loading();
        let rests = state.resting > 0;
        drop(state);
        if rests {
            self.work.notify_one();
        }
        let run = run.expect("a number is given to a run");
        let decoded = self.decode_run(run, worker);
        self.setup.memory.process.note_made(decoded.as_ref().map_or(0, Chunk::bytes));
        let outgrown = std::mem::take(&mut worker.scratch.outgrown);
        let grown = decoded.as_ref().map(|chunk| Grown::of(run, chunk)).map_err(Clone::clone);
        let decoded = decoded.map(|chunk| self.columns(chunk));
        let mut state = self.lock();
        state.residency.end_cut();
        if outgrown {
            // An index tells how many sequences fit.
            state.growth.as_mut().expect("only growing corpora are cut").outgrow_in_a_run();
            state.residency.forget_run(block);
            self.done.notify_all();
            return state;
        }
        match decoded {
            Ok(decoded) => self.settle(&mut state, block, decoded),
            Err(_) => state.residency.forget_run(block),
        }
        state.growth.as_mut().expect("only growing corpora are cut").arrive(block, grown);
        state
    }

    /// Puts a decoded block into memory and tells who waits for it.
    fn settle(&self, state: &mut State, block: BlockId, decoded: Decoded) {
        let bytes = decoded.bytes();
        let resident = Resident::new(decoded, &self.block_pool);
        state.rows.earn(bytes);
        let line_base = state.line_base(block);
        let waiters = state.residency.settle(block, resident.clone(), bytes);
        if state.answer(waiters, || Ok(Held { block: resident.clone(), line_base })) {
            self.done.notify_all();
        }
    }

    /// A block cannot be loaded: minibatches that wait for it fail.
    fn fail(&self, state: &mut State, block: BlockId, error: &Error) {
        let waiters = state.residency.fail(block);
        if state.answer(waiters, || Err(error)) {
            self.done.notify_all();
        }
    }

    /// The data that a block is loaded from, and the bytes to reserve for it.
    pub(super) fn source(&self, state: &State, block: BlockId) -> (BlockSource, usize) {
        match &self.corpus_index {
            CorpusIndex::Indexed(blocks) => {
                let span = blocks.table.span(block);
                let bytes = usize::try_from(blocks.table.bytes(span.chunk)).unwrap_or(usize::MAX);
                (BlockSource::Rows(span), bytes)
            }
            CorpusIndex::Growing(_) => {
                let growth = state.growth.as_ref().expect("growing corpora have runs");
                let run = growth.run(block).run;
                (BlockSource::ByteRun(run), 2 * run.bytes as usize)
            }
        }
    }

    fn decoder(&self) -> &dyn StreamingDecoder {
        self.setup.deserializer.streaming().expect("a corpus grows only if it can be read in runs")
    }

    pub(super) fn corpus(&self) -> &dyn Corpus {
        &*self.corpus_index.indexed().corpus
    }

    pub(super) fn table(&self) -> &BlockTable {
        &self.corpus_index.indexed().table
    }
}
