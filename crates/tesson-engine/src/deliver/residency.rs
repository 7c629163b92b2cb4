//! Blocks on their way into memory and out of it.

use std::cmp::Reverse;
use std::ops::Range;
use std::sync::MutexGuard;
use std::sync::atomic::Ordering;

use tesson_core::{ByteRun, Chunk, Corpus, EncodedColumn, Error, SequenceSelection, StreamingDecoder};
use tesson_memory::packed::Packer;

use super::growth::Grown;
use super::job::{BlockSource, WorkerScratch};
use super::ticket::{Held, Ticket};
use super::{Block, CorpusIndex, PipelineConfig, Presence, ROW_SHARE, Resident, Shared, State, run_room};
use crate::block::{BlockTable, Decoded};

impl Shared {
    /// Loads a block.
    pub(super) fn load(
        &self,
        block: u32,
        source: &BlockSource,
        reserved: usize,
        worker: &mut WorkerScratch,
    ) -> MutexGuard<'_, State> {
        let loaded = self.decode(source, worker);
        self.setup.process_memory.note_made(loaded.as_ref().map_or(0, Decoded::bytes));
        let mut state = self.lock();
        state.loading -= 1;
        state.used -= reserved;
        match loaded {
            Ok(chunk) => self.settle(&mut state, block, chunk),
            Err(e) => self.fail(&mut state, block, &e),
        }
        state
    }

    /// Decodes what a block is made of.
    pub(super) fn decode(&self, source: &BlockSource, worker: &mut WorkerScratch) -> Result<Decoded, Error> {
        let resources = &*self.setup.resources;
        match source {
            BlockSource::Rows(chunk, range) => {
                let packs = !self.setup.passes_by() && !self.packed_streams.is_empty();
                if packs && let Some(packed) = self.decode_packed(*chunk, range, worker)? {
                    return Ok(packed);
                }
                let mut columns = self.block_pool.take();
                let has_pages = self.block_pool.has_pages(range.len());
                if has_pages {
                    let lent = |column: &mut EncodedColumn| {
                        column.set_memory(worker.files.pop().unwrap_or_default())
                    };
                    columns.encoded_columns().for_each(lent);
                }
                let wanted = SequenceSelection::Range(range.clone());
                self.corpus().load(*chunk, wanted, resources, &mut worker.scratch, &mut columns)?;
                self.note_warnings(worker);
                if !has_pages {
                    return Ok(Decoded::columns(columns));
                }
                let most = self.kept_by_worker() as usize;
                Ok(self.block_pool.with_pages(columns, most, &mut worker.files))
            }
            BlockSource::ByteRun(run) => self.decode_run(*run, worker).map(Decoded::columns),
        }
    }

    /// Decodes sequences of a chunk, as many at once as fit a cache, and packs them one after the other. `None` if they
    /// are too large for that.
    fn decode_packed(
        &self,
        chunk: u32,
        range: &Range<u32>,
        worker: &mut WorkerScratch,
    ) -> Result<Option<Decoded>, Error> {
        let mut packer = Packer::new(range.len(), &mut worker.bytes);
        let mut beside = Chunk::empty();
        for from in range.clone().step_by(self.table().at_once(chunk) as usize) {
            let wanted = SequenceSelection::Range(
                from..range.end.min(from.saturating_add(self.table().at_once(chunk))),
            );
            let columns = &mut worker.chunk;
            self.corpus().load(chunk, wanted, &*self.setup.resources, &mut worker.scratch, columns)?;
            if packer.push(columns, &self.packed_streams).is_none() {
                return Ok(None);
            }
            beside.append_without_columns(columns);
        }
        let packed = Decoded::packed(packer.finish(), beside);
        self.note_warnings(worker);
        // Of chunks that were loaded whole, or wide samples: there is no memory for it in each thread.
        if worker.chunk.bytes() as u64 > 4 * self.setup.run_bytes {
            worker.chunk = Chunk::empty();
        }
        if worker.bytes.capacity() as u64 > self.kept_by_worker() {
            worker.bytes = Vec::new();
        }
        Ok(Some(packed))
    }

    /// Bytes that each worker may keep of the storage that it has read.
    pub(super) fn kept_by_worker(&self) -> u64 {
        4 * self.setup.run_bytes + self.block_bytes
    }

    pub(super) fn decode_run(&self, run: ByteRun, worker: &mut WorkerScratch) -> Result<Chunk, Error> {
        let mut chunk = self.chunk_pool.take();
        let resources = &*self.setup.resources;
        resources.read_run(self.decoder(), run, &mut worker.bytes)?;
        worker.scratch.room.all = run_room(run.bytes.max(self.setup.run_bytes));
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
    pub(super) fn cut(&self, after: Option<ByteRun>, worker: &mut WorkerScratch) -> MutexGuard<'_, State> {
        let cut = self.decoder().cut(after, self.setup.run_bytes, &*self.setup.resources, &mut worker.bytes);
        let run = cut.as_ref().ok().copied().flatten();
        let mut state = self.lock();
        let growth = state.growth.as_mut().expect("only growing corpora are cut");
        let Some(number) = growth.end_cut(cut) else {
            state.loading -= 1;
            return state;
        };
        let mut block = Block::absent();
        block.presence = Presence::Loading;
        state.blocks.push(block);
        let rests = state.resting > 0;
        drop(state);
        if rests {
            self.work.notify_one();
        }
        let run = run.expect("a number is given to a run");
        let decoded = self.decode_run(run, worker);
        self.setup.process_memory.note_made(decoded.as_ref().map_or(0, Chunk::bytes));
        let outgrown = std::mem::take(&mut worker.scratch.outgrown);
        let mut state = self.lock();
        state.loading -= 1;
        if outgrown {
            // An index tells how many sequences fit.
            (state.outgrown, state.too_wide) = (true, true);
            state.blocks[number as usize].presence = Presence::Absent;
            self.done.notify_all();
            return state;
        }
        let grown = decoded.as_ref().map(|chunk| Grown::of(run, chunk)).map_err(Clone::clone);
        match decoded {
            Ok(chunk) => self.settle(&mut state, number, Decoded::columns(chunk)),
            Err(_) => state.blocks[number as usize].presence = Presence::Absent,
        }
        state.growth.as_mut().expect("only growing corpora are cut").arrive(number, grown);
        state
    }

    /// Puts a decoded block into memory and tells who waits for it.
    pub(super) fn settle(&self, state: &mut State, block: u32, decoded: Decoded) {
        let bytes = decoded.bytes();
        let resident = Resident::new(decoded, &self.block_pool);
        state.used += bytes;
        state.row_allowance =
            (state.row_allowance + (bytes as u64 / ROW_SHARE) as i64).min(self.row_allowance);
        let line_base = state.line_base(block);
        self.answer_waiters(state, block, || Ok(Held { block: resident.clone(), line_base }));
        let entry = &mut state.blocks[block as usize];
        entry.presence = Presence::Resident(resident);
        entry.bytes = bytes;
        entry.idle = false;
        let counters = &self.setup.counters;
        counters.blocks_loaded.fetch_add(1, Ordering::Relaxed);
        counters.resident_bytes.store(state.used as u64, Ordering::Relaxed);
        counters.peak_resident_bytes.fetch_max(state.used as u64, Ordering::Relaxed);
        if std::mem::take(&mut state.blocks[block as usize].unwanted) {
            state.leave(block, &self.setup);
        }
    }

    /// A block cannot be loaded: minibatches that wait for it fail.
    fn fail(&self, state: &mut State, block: u32, error: &Error) {
        state.blocks[block as usize].presence = Presence::Absent;
        self.answer_waiters(state, block, || Err(error));
    }

    /// Tells the tickets that wait for a block what became of it.
    fn answer_waiters<'e>(
        &self,
        state: &mut State,
        block: u32,
        answer: impl Fn() -> Result<Held, &'e Error>,
    ) {
        let mut waiters = std::mem::take(&mut state.blocks[block as usize].waiters);
        for (number, at) in waiters.drain(..) {
            let Some(ticket) = state.ticket(number) else { continue };
            if !ticket.answer(at, answer()) {
                continue;
            }
            match ticket.is_done() {
                true => self.done.notify_all(),
                false => state.ready.push(Reverse(number)),
            }
        }
        state.idle_waiters.push(waiters);
    }

    /// What a block is loaded from, and the bytes to reserve for it.
    pub(super) fn source(&self, state: &State, block: u32) -> (BlockSource, usize) {
        match &self.corpus_index {
            CorpusIndex::Indexed { table, .. } => {
                let (chunk, range) = table.place(block);
                let bytes = usize::try_from(table.bytes(chunk)).unwrap_or(usize::MAX);
                (BlockSource::Rows(chunk, range), bytes)
            }
            CorpusIndex::Growing => {
                let growth = state.growth.as_ref().expect("growing corpora have runs");
                let run = growth.run(block).0;
                (BlockSource::ByteRun(run), 2 * run.bytes as usize)
            }
        }
    }

    fn decoder(&self) -> &dyn StreamingDecoder {
        self.setup.deserializer.streaming().expect("a corpus grows only if it can be read in runs")
    }

    pub(super) fn corpus(&self) -> &dyn Corpus {
        match &self.corpus_index {
            CorpusIndex::Indexed { corpus, .. } => &**corpus,
            CorpusIndex::Growing => unreachable!("growing corpora are read in runs"),
        }
    }

    pub(super) fn table(&self) -> &BlockTable {
        match &self.corpus_index {
            CorpusIndex::Indexed { table, .. } => table,
            CorpusIndex::Growing => unreachable!("growing corpora are read in runs"),
        }
    }
}

impl State {
    /// Physical line of a block's first byte, where the block itself does not know it.
    pub(super) fn line_base(&self, block: u32) -> u64 {
        self.growth.as_ref().map_or(0, |growth| growth.run(block).1)
    }

    /// The sweep does not come back to a block after this ticket.
    pub(super) fn retire(&mut self, number: u32, ticket: u64, setup: &PipelineConfig) {
        let block = &mut self.blocks[number as usize];
        if block.last_ticket.is_some_and(|last| last > ticket) {
            return;
        }
        match block.presence {
            Presence::Absent => {}
            Presence::Loading => block.unwanted = true,
            Presence::Resident(_) => self.leave(number, setup),
            Presence::Queued => {
                // Tickets are made in any order: an earlier one may still wait for it. If none does, the rows that were
                // needed of it have been fetched by themselves.
                let awaited = self.is_awaited(number);
                let block = &mut self.blocks[number as usize];
                block.unwanted = awaited;
                if !awaited {
                    block.presence = Presence::Absent;
                }
            }
        }
    }

    /// Whether a ticket waits for a block.
    fn is_awaited(&self, block: u32) -> bool {
        let ticket = |number: u64| self.tickets.get(number.checked_sub(self.front)? as usize);
        let waiters = &self.blocks[block as usize].waiters;
        waiters.iter().any(|&(number, _)| ticket(number).is_some_and(Ticket::is_waiting))
    }

    /// Whether a planned minibatch needs a block.
    pub(super) fn is_needed(&self, block: u32) -> bool {
        self.blocks[block as usize].last_ticket.is_some_and(|last| last >= self.front)
    }

    /// A block is not needed for now: it stays while there is room, or goes at once.
    fn leave(&mut self, number: u32, setup: &PipelineConfig) {
        if !setup.retain {
            return self.evict(number, setup);
        }
        let block = &mut self.blocks[number as usize];
        if !block.idle {
            block.idle = true;
            self.idle.push_back(number);
        }
    }

    pub(super) fn evict(&mut self, number: u32, setup: &PipelineConfig) {
        let block = &mut self.blocks[number as usize];
        self.used -= block.bytes;
        block.bytes = 0;
        block.idle = false;
        block.presence = Presence::Absent;
        setup.counters.blocks_evicted.fetch_add(1, Ordering::Relaxed);
    }

    /// Bytes that minibatches, samples that are being decoded, and the caller will take of the room for blocks: minibatches as they
    /// are larger than what is set aside for them. `idle` bytes of former minibatches wait to be used again.
    pub(super) fn reserved(&self, idle: usize, setup: &PipelineConfig) -> usize {
        let front = self.tickets.front().map_or(0, |ticket| ticket.cost(setup));
        let others = self.planned.max(self.made).min(setup.batches_budget());
        // Blocks that are loaded now are still there when the minibatch in front has been taken and the next is made.
        let taken = self.taken.max(front);
        let decoding = setup.sample_room.in_use() as usize;
        (taken + front + others + idle).saturating_sub(2 * setup.prefetch_bytes) + self.outside + decoding
    }

    /// Whether there is room for this many more bytes of blocks, beside what is [reserved](Self::reserved); idle blocks
    /// make way.
    pub(super) fn make_room(&mut self, bytes: usize, idle: usize, setup: &PipelineConfig) -> bool {
        let bytes = bytes.saturating_add(self.reserved(idle, setup));
        while self.used.saturating_add(bytes) > setup.block_budget {
            let Some(number) = self.idle.pop_front() else { return false };
            if self.blocks[number as usize].idle {
                self.evict(number, setup);
            }
        }
        true
    }

    /// Bytes that pages without files may take: what is set aside for them, or what blocks leave beside what is
    /// [reserved](Self::reserved).
    pub(super) fn page_limit(&self, idle: usize, setup: &PipelineConfig) -> usize {
        let taken = self.used.saturating_add(self.reserved(idle, setup));
        setup.block_budget.saturating_sub(taken).max(setup.pool_limits(self.outside).pages)
    }

    /// Evicts blocks until there is room for what is [reserved](Self::reserved): idle ones, then those that no planned
    /// minibatch needs.
    pub(super) fn shrink(&mut self, idle: usize, setup: &PipelineConfig) {
        let reserved = self.reserved(idle, setup);
        if self.make_room(0, idle, setup) {
            return;
        }
        for number in 0..self.blocks.len() {
            if self.used.saturating_add(reserved) <= setup.block_budget {
                break;
            }
            let number = number as u32;
            let is_there = matches!(self.blocks[number as usize].presence, Presence::Resident(_));
            if is_there && !self.is_needed(number) {
                self.evict(number, setup);
            }
        }
    }
}
