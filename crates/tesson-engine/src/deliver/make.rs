//! Making a minibatch: what its blocks hold, what has to be fetched beside them, and what is wrong with it.
//!
//! For the next editor: this runs without the lock and depends on the plan and the bytes alone. In particular it must
//! not matter which of the blocks were in memory and which sequences were fetched one by one. The steps of
//! [`Shared::assemble`] have their order for a reason: faults are found before sequences are left out, as their
//! numbers count all planned ones; sequences are left out before transforms run, which see only delivered ones; the
//! last sequence is shortened after its length has been checked. Memory of a minibatch is checked after each part, so
//! that a minibatch beyond the limit is refused before all of it is there.

use std::ops::Range;
use std::sync::MutexGuard;
use std::sync::atomic::Ordering;

use tesson_core::{
    Chunk, ChunkAccess, ChunkId, DataError, DataErrorKind, Error, Location, SequenceId, SequenceSelection,
};
use tesson_plan::{BatchKind, BatchShare, BatchSlot, Sharing};

use super::corpus_index::CorpusIndex;
use super::job::WorkerScratch;
use super::state::{State, Task};
use super::stored::{StoredStreams, Undecodable, follows};
use super::ticket::{Held, Packed, Work, WorkPart};
use super::{LengthRule, Shared};
use crate::arrays::Arrays;
use crate::batch_keys::BatchKeys;
use crate::block::{BlockId, BlockSpan};
use crate::fault::{self, Charge};
use crate::memory_budget::limit_for;
use crate::pack::{self, BatchSize, Item, Packing, Slice, Source};
use crate::refusal::EngineRefusal;
use crate::samples::StreamBatch;
use crate::transform::{Sequences, Untransformed};

/// Of chunks that are loaded as a whole so many times more is fetched at once.
const WHOLE_CHUNK_PARTS: usize = 8;

impl Shared {
    /// Makes minibatches and puts them where their caller finds them.
    pub(super) fn make(
        &self,
        tasks: Vec<Task>,
        generation: u64,
        worker: &mut WorkerScratch,
    ) -> MutexGuard<'_, State> {
        self.arrays_pool.take(tasks.len().saturating_sub(worker.arrays.len()), &mut worker.arrays);
        let made = tasks.into_iter().map(|mut task| {
            let made = self.assemble(&mut task.work, worker);
            (task, made)
        });
        let made: Vec<_> = made.collect();
        self.setup.memory.process.note_made(made.iter().map(|(task, _)| task.work.memory()).sum());
        let mut state = self.lock();
        if state.planning.generation() != generation {
            return state;
        }
        for (task, made) in made {
            state.finish(task, made);
        }
        if state.is_served(state.awaited) {
            self.done.notify_all();
        }
        state
    }

    /// Makes a minibatch, which then lies with its work: gathers its sequences, packs them, and transforms its samples.
    pub(super) fn assemble(&self, work: &mut Work, worker: &mut WorkerScratch) -> Result<(), Error> {
        self.pools.set_batch_bytes(work.bytes);
        let mut arrays = worker.arrays.pop().unwrap_or_else(|| self.arrays_pool.fresh());
        // Taken out of the work and dropped below: a load that waits for the blocks' memory should not wait until the
        // minibatch is taken.
        let mut held = std::mem::take(&mut work.held);
        let mut slices = self.take_slices(work, &mut held, worker)?;
        let mut stored = self.stored_streams(work)?;
        let (mut packing, fetched, last) =
            self.gather(work, &held, &mut slices, &mut arrays.streams, &mut stored, worker)?;
        let sources = sources(&held, &slices, &fetched);
        let n_all = work.items.len() + work.others.len();
        self.append(WorkPart { work, numbers: last..n_all }, &sources, &mut packing, &mut stored, worker)?;
        let (made, mut undecodable) = self.finish_stored(stored);
        packing.finish(&self.pools);
        made.into_iter().for_each(|(number, batch)| arrays.streams[number] = batch);
        let mut charges = self.charges(work, &sources);
        self.charge_undecodable(work, &mut undecodable, &mut charges);
        let share = share(work, &sources, &undecodable);
        let (places, keeps_last) = self.leave_out(work, &sources, &undecodable, &mut arrays.sequences);
        let Arrays { streams, keys, .. } = &mut arrays;
        pack::keys(&work.items, &sources, keys);
        let refused = self.refusal(&places, streams, keys);
        if let Some(keep) = work.plan.keep_of_last.filter(|_| keeps_last) {
            streams.iter_mut().for_each(|stream| stream.shorten_last(keep));
        }
        let sequences = Sequences { items: &work.items, sources: &sources, places: &places };
        let untransformed =
            self.setup.transforms.apply(streams, keys, sequences, &mut worker.chains, &self.pools)?;
        self.leave_out_untransformed(work, untransformed, &places, &mut charges, &mut arrays)?;
        worker.chains.note_warnings(&self.setup.counters);
        drop(sources);
        fetched.into_iter().for_each(|chunk| self.chunk_pool.give(chunk));
        let counters = &self.setup.counters;
        counters.block_hits.fetch_add(held.iter().flatten().count() as u64, Ordering::Relaxed);
        held.clear();
        work.held = held;
        let charges = charges.into_iter().map(|(_, charge)| charge).collect();
        arrays.measure();
        work.packed = Some(Packed {
            first: work.plan.own_slots().next(),
            keep_of_last: work.plan.keep_of_last,
            arrays,
            share,
            sweep_end: work.plan.sweep_end,
            data_end: work.plan.data_end,
            // Which of the other ranks' sequences are left out is not known here, and all ranks end together
            // (spec/engine.md §6.4).
            is_empty: match self.setup.spec.sharing {
                Sharing::Chunk => work.plan.is_unplanned(),
                Sharing::Position => work.plan.is_end(),
            },
            after: work.plan.after,
            passed: work.passed,
            charges,
            refused,
        });
        Ok(())
    }

    /// Removes the items whose sequences are left out, and lists the sequences that stay. Returns their places in the plan, where they
    /// are asked for, and whether the last sequence stays: the data may end inside it, and one that is left out leaves nothing to
    /// be cut.
    fn leave_out(
        &self,
        work: &mut Work,
        sources: &[Source<'_>],
        undecodable: &Undecodable,
        sequences: &mut Vec<SequenceId>,
    ) -> (Vec<BatchSlot>, bool) {
        let all_stay = undecodable.is_empty() && sources.iter().all(|s| s.chunk.left_out.is_empty());
        let stays = |number: usize, i: &Item| {
            all_stay || !sources[i.held as usize].chunk.is_left_out(i.row) && !undecodable.contains(number)
        };
        let places = if self.needs_places() {
            let own = work.items.iter().zip(work.plan.own_slots()).enumerate();
            own.filter(|(number, (item, _))| stays(*number, item)).map(|(_, (_, place))| place).collect()
        } else {
            Vec::new()
        };
        sequences.clear();
        if all_stay {
            sequences.extend_from_slice(&work.plan.own);
        } else {
            let own = work.items.iter().zip(&work.plan.own).enumerate();
            sequences.extend(own.filter(|(number, (item, _))| stays(*number, item)).map(|(_, (_, own))| own));
        }
        let keeps_last = work.items.last().is_some_and(|last| stays(work.items.len() - 1, last));
        if !all_stay {
            let mut numbers = 0..;
            work.items.retain(|item| numbers.next().is_some_and(|number| stays(number, item)));
        }
        (places, keeps_last)
    }

    /// Charges the sequences that transforms refuse, and removes them from the minibatch.
    ///
    /// # Errors
    /// The first fault, where ranks share by position: the others do not run these transforms and cannot know of it (decision 61).
    fn leave_out_untransformed(
        &self,
        work: &mut Work,
        untransformed: Vec<Untransformed>,
        places: &[BatchSlot],
        charges: &mut Vec<(u64, Charge)>,
        Arrays { streams, keys, sequences, .. }: &mut Arrays,
    ) -> Result<(), Error> {
        let others_know = self.setup.spec.sharing == Sharing::Chunk || work.demand.workers == 1;
        if !others_know {
            let first = untransformed.into_iter().next();
            return first.map_or(Ok(()), |first| Err(first.charge.error.into()));
        }
        // From the last one on, so that the numbers of those before stay what they are.
        for Untransformed { sequence, charge } in untransformed.into_iter().rev() {
            self.charge_in(work, places[sequence], charge, charges);
            work.items.remove(sequence);
            streams.iter_mut().for_each(|stream| stream.remove(sequence));
            keys.remove(sequence);
            sequences.remove(sequence);
        }
        charges.sort_by_key(|(number, _)| *number);
        Ok(())
    }

    /// True if the positions of a minibatch's sequences in the plan are needed.
    fn needs_places(&self) -> bool {
        !self.setup.transforms.is_empty() || self.setup.length_rule != LengthRule::Any
    }

    /// Takes the rows of a minibatch out of the blocks that are divided among minibatches; returns what was taken of each block, and
    /// nothing if none is divided. A block whose rows are gone is loaded again.
    fn take_slices(
        &self,
        work: &Work,
        held: &mut [Option<Held>],
        worker: &mut WorkerScratch,
    ) -> Result<Vec<Option<Slice>>, Error> {
        if !held.iter().flatten().any(|held| held.block.slices().is_some()) {
            return Ok(Vec::new());
        }
        // What lies between its rows are those of other ranks, for the same step.
        let mut rows: Vec<Option<Range<u32>>> = vec![None; held.len()];
        for &Item { held, row } in &work.items {
            let Range { start, end } = rows[held as usize].get_or_insert(row..row);
            (*start, *end) = ((*start).min(row), (*end).max(row + 1));
        }
        let blocks = held.iter_mut().zip(rows).zip(&work.blocks);
        let taken = blocks.map(|((held, rows), &block)| {
            let (Some(held), Some(rows)) = (held, rows) else { return Ok(None) };
            while let Some(slices) = held.block.slices() {
                let taken = slices.take(&rows, &self.setup.streams);
                if taken.is_some() {
                    return Ok(taken);
                }
                held.block = self.reload(block, worker)?;
            }
            Ok(None)
        });
        taken.collect()
    }

    /// Fetches the sequences that are in no block in memory, of a large minibatch a part at a time, so that they do not lie in
    /// memory twice: all parts but the last are packed, too. Returns what was fetched, of parts before the last one without
    /// columns, and where the last one begins: at the end, where the minibatch is a slice of a block or a
    /// [block of its own](Work::is_block).
    fn gather<'a>(
        &self,
        work: &mut Work,
        held: &[Option<Held>],
        slices: &mut [Option<Slice>],
        batches: &'a mut Vec<StreamBatch>,
        stored: &mut Option<StoredStreams>,
        worker: &mut WorkerScratch,
    ) -> Result<(Packing<'a>, Vec<Chunk>, usize), Error> {
        let n_all = work.items.len() + work.others.len();
        let mut fetched = Vec::new();
        let streams = &self.setup.streams;
        if work.is_block {
            self.fetch_block(work, held.len(), &mut fetched, worker)?;
            if let [chunk] = &mut fetched[..]
                && chunk.left_out.is_empty()
            {
                return Ok((Packing::of_chunk(streams, chunk, &self.pools, batches), fetched, n_all));
            }
        }
        if let Some(at) = whole_slice(work, slices)
            && let Some(block) = held[at].as_ref().and_then(|held| held.block.slices())
            && let Some(slice) = slices[at].take()
        {
            return Ok((Packing::of_slice(streams, block, slice, &self.pools, batches), fetched, n_all));
        }
        let is_made = |number| stored.is_some() && self.setup.transforms.is_stored(number);
        let size = BatchSize { n_sequences: work.items.len(), most_samples: work.samples };
        let mut packing = Packing::new(streams, size, &self.pools, is_made, batches);
        let mut from = 0;
        loop {
            let to = self.end_of_part(work, held, from);
            let part = work.items.iter_mut().chain(&mut work.others).skip(from).take(to - from);
            self.fetch(&work.blocks, held, part, &mut fetched, worker)?;
            if to == n_all {
                return Ok((packing, fetched, from));
            }
            self.append(
                WorkPart { work, numbers: from..to },
                &sources(held, slices, &fetched),
                &mut packing,
                stored,
                worker,
            )?;
            for chunk in &mut fetched {
                if !chunk.streams.is_empty() {
                    let rest = chunk.without_columns();
                    self.chunk_pool.give(std::mem::replace(chunk, rest));
                }
            }
            from = to;
        }
    }

    /// Packs a part of a minibatch: its own items among these, those of other ranks following them.
    fn append(
        &self,
        part: WorkPart<'_>,
        sources: &[Source<'_>],
        packing: &mut Packing<'_>,
        stored: &mut Option<StoredStreams>,
        worker: &mut WorkerScratch,
    ) -> Result<(), Error> {
        let WorkPart { work, ref numbers } = part;
        let (from, n_own) = (numbers.start, work.items.len());
        let own = &work.items[from.min(n_own)..numbers.end.min(n_own)];
        match stored {
            None => packing.append(own, sources),
            Some(stored) => {
                self.append_stored(stored, part, sources, &mut worker.chains)?;
                packing.append(&stored.decoded(own, from), sources);
            }
        }
        let packed = packing.bytes(|stream| self.setup.transforms.bytes_beside(stream));
        let bytes = packed + stored.as_ref().map_or(0, StoredStreams::bytes);
        if bytes > self.setup.largest_batch() { Err(self.too_large(work, bytes)) } else { Ok(()) }
    }

    /// Where the part of a minibatch ends that begins with item `from`, other ranks' items following its own: what has to
    /// be fetched for it takes about [`PipelineConfig::part_bytes`] at most.
    fn end_of_part(&self, work: &Work, held: &[Option<Held>], from: usize) -> usize {
        let n_all = work.items.len() + work.others.len();
        if held.iter().all(Option::is_some) {
            return n_all;
        }
        let items = work.items.iter().chain(&work.others);
        let planned = work.plan.own.iter().chain(&work.plan.foreign);
        let Some(blocks) = self.corpus_index.blocks() else { return n_all };
        // A chunk that is loaded as a whole should not be loaded for each part.
        let only_whole = blocks.corpus.facts().access == ChunkAccess::WholeOnly;
        let parts = if only_whole { WHOLE_CHUNK_PARTS } else { 1 };
        let mut room = (parts * self.setup.part_bytes()) as u64;
        let mut end = from;
        for (item, planned) in items.zip(planned).skip(from) {
            // Those that have been fetched lie past all blocks.
            if held.get(item.held as usize).is_some_and(Option::is_none) {
                let lengths = blocks.index.lengths(planned.chunk);
                let length = lengths.get(planned.sequence as usize);
                let bytes = u64::from(length).saturating_mul(self.setup.sample_bytes.fetched);
                let bytes = bytes.max(self.size.of_sequence());
                match room.checked_sub(bytes) {
                    Some(rest) => room = rest,
                    None if end > from => break,
                    None => room = 0,
                }
            }
            end += 1;
        }
        end
    }

    /// Fetches the sequences that items name in blocks that are not in memory, and points the items at them: block
    /// `held.len() + i` stands for the `i`-th fetched chunk.
    fn fetch<'a>(
        &self,
        blocks: &[BlockId],
        held: &[Option<Held>],
        items: impl Iterator<Item = &'a mut Item>,
        fetched: &mut Vec<Chunk>,
        worker: &mut WorkerScratch,
    ) -> Result<(), Error> {
        // Items of parts that were fetched before point past `held` already.
        let is_missing = |i: &&mut Item| held.get(i.held as usize).is_some_and(Option::is_none);
        let mut named: Vec<&mut Item> = items.filter(is_missing).collect();
        if named.is_empty() {
            return Ok(());
        }
        self.setup.counters.rows_loaded.fetch_add(named.len() as u64, Ordering::Relaxed);
        let corpus = self.corpus();
        let resources = &*self.setup.resources;
        let spans: Vec<BlockSpan> = blocks.iter().map(|&block| self.table().span(block)).collect();
        let place = |item: &Item| spans[item.held as usize].sequence(item.row);
        if let Some(scattered) = corpus.scattered() {
            // In plan order, so that packing copies them in one go.
            let sequences: Vec<SequenceId> = named.iter().map(|item| place(item)).collect();
            let mut out = self.chunk_pool.take();
            scattered.load_scattered(&sequences, resources, &mut worker.scratch, &mut out)?;
            self.note_warnings(worker);
            for (row, item) in (0..).zip(named) {
                *item = Item { held: (held.len() + fetched.len()) as u32, row };
            }
            fetched.push(out);
            return Ok(());
        }
        // By block and row: each chunk is then read once and in its order, whatever the order of the plan is.
        named.sort_unstable_by_key(|i| (i.held, i.row));
        for group in named.chunk_by_mut(|a, b| a.held == b.held) {
            let SequenceId { chunk, .. } = place(group[0]);
            let mut rows: Vec<u32> = group.iter().map(|item| place(item).sequence).collect();
            rows.dedup();
            for item in group {
                let row = rows.binary_search(&place(item).sequence).expect("all rows are listed") as u32;
                **item = Item { held: (held.len() + fetched.len()) as u32, row };
            }
            let wanted = SequenceSelection::List(&rows);
            fetched.push(self.load_beside(chunk, wanted, worker)?);
        }
        Ok(())
    }

    /// Fetches the sequences of a minibatch that is a [block of its own](Work::is_block), chunk by chunk, and points the items at
    /// them: the number of the first chunk is `first`.
    fn fetch_block(
        &self,
        work: &mut Work,
        first: usize,
        fetched: &mut Vec<Chunk>,
        worker: &mut WorkerScratch,
    ) -> Result<(), Error> {
        self.setup.counters.blocks_loaded.fetch_add(1, Ordering::Relaxed);
        work.items.clear();
        for part in work.plan.own.chunk_by(|a, b| a.chunk == b.chunk) {
            let held = (first + fetched.len()) as u32;
            work.items.extend((0..part.len() as u32).map(|row| Item { held, row }));
            let SequenceId { chunk, sequence } = part[0];
            let wanted = SequenceSelection::Range(sequence..sequence + part.len() as u32);
            fetched.push(self.load_beside(chunk, wanted, worker)?);
        }
        Ok(())
    }

    /// Loads sequences of a chunk for one minibatch.
    fn load_beside(
        &self,
        chunk: ChunkId,
        wanted: SequenceSelection<'_>,
        worker: &mut WorkerScratch,
    ) -> Result<Chunk, Error> {
        let mut out = self.chunk_pool.take();
        self.pools.lend(&mut out.streams);
        self.corpus().load(chunk, wanted, &*self.setup.resources, &mut worker.scratch, &mut out)?;
        self.setup.memory.process.note_made(out.bytes());
        self.note_warnings(worker);
        Ok(out)
    }

    /// The refusal of a minibatch of at least so many bytes.
    pub(super) fn too_large(&self, work: &Work, bytes: usize) -> Error {
        let (bytes, most) = ((bytes as u64).max(work.bytes), self.setup.largest_batch());
        let limit = limit_for(bytes);
        EngineRefusal::BatchBeyondMemory { bytes, most: most as u64, limit }.into()
    }

    /// The faults of a minibatch's sequences that count now, in plan order, each with the number of its sequence in the plan.
    pub(super) fn charges(&self, work: &Work, sources: &[Source<'_>]) -> Vec<(u64, Charge)> {
        if sources.iter().all(|s| s.chunk.faults.is_empty() && s.chunk.damaged.is_empty()) {
            return Vec::new();
        }
        let own = work.items.iter().zip(work.plan.own_slots());
        let foreign = work.others.iter().zip(work.plan.foreign_slots());
        let mut faulty: Vec<(u64, &Item, SequenceId, u64)> = own
            .chain(foreign)
            .filter(|(item, _)| {
                let chunk = sources[item.held as usize].chunk;
                !chunk.faults_of(item.row).is_empty() || chunk.damage_of(item.row).is_some()
            })
            .map(|(item, place)| (place.number, item, place.planned, place.sweep))
            .collect();
        faulty.sort_by_key(|(number, ..)| *number);
        let (mut charges, mut numbered) = (Vec::new(), Vec::new());
        for (number, item, planned, sweep) in faulty {
            let source = &sources[item.held as usize];
            let again =
                work.plan.kind == BatchKind::RepeatedStep || !self.is_first_visit(work, planned, sweep);
            let streams = &self.setup.streams;
            fault::charge(item.row, source, again, streams, &self.setup.resources, &mut charges);
            numbered.extend(charges.drain(..).map(|charge| (number, charge)));
        }
        numbered
    }

    /// True if a fault of this sequence would be met here for the first time by a worker that reads from the start.
    pub(super) fn is_first_visit(&self, work: &Work, planned: SequenceId, sweep: u64) -> bool {
        match &self.corpus_index {
            CorpusIndex::Indexed(blocks) => {
                self.setup.spec.first_visit(&blocks.index, planned, sweep, work.demand)
            }
            // While the index grows the first sweep is on its way; later ones are asked of the finished index.
            CorpusIndex::Growing(_) => sweep == 0,
        }
    }

    /// The first sequence whose streams are not as long as the rule asks, as an error.
    fn refusal(&self, places: &[BatchSlot], streams: &[StreamBatch], keys: &BatchKeys) -> Option<Error> {
        let (first, others) = streams.split_first()?;
        let (sequence, stream) = match self.setup.length_rule {
            LengthRule::Any => None,
            LengthRule::Frames => first_of(streams, |i, stream| stream.lengths()[i] != 1),
            LengthRule::Equal => first_of(others, |i, other| other.lengths()[i] != first.lengths()[i]),
        }?;
        let samples = stream.lengths()[sequence].into();
        let kind = match self.setup.length_rule {
            LengthRule::Equal => DataErrorKind::UnequalStreams {
                samples,
                other: first.info().name.clone(),
                other_samples: first.lengths()[sequence].into(),
            },
            _ => DataErrorKind::NotAFrame { samples },
        };
        let planned = places[sequence].planned;
        let (resource, span) = self.corpus().span(planned);
        let error = match self.setup.resources.path(resource) {
            Some(file) => DataError::new(kind, Location { file, offset: span.start, line: None }),
            None => DataError::in_chunk(kind, self.setup.deserializer.facts().name, planned.chunk),
        };
        Some(error.within(Some(stream.info().name.clone()), Some(keys.get(sequence))).into())
    }
}

/// The number of the block of which the minibatch is the slice that has been taken, if it is.
fn whole_slice(work: &Work, slices: &[Option<Slice>]) -> Option<usize> {
    let at = work.items.first()?.held as usize;
    let n = slices.get(at)?.as_ref()?.rows().len();
    (n == work.items.len() && work.items.is_sorted_by(|a, b| follows(*a, *b))).then_some(at)
}

/// The sources that the items of a minibatch refer to: blocks in memory first, with the slices that were taken of them if any are
/// divided, then the chunks fetched beside them.
fn sources<'a>(
    held: &'a [Option<Held>],
    slices: &'a [Option<Slice>],
    fetched: &'a [Chunk],
) -> Vec<Source<'a>> {
    static NOTHING: Chunk = Chunk::empty();
    let held = held.iter().enumerate().map(|(at, held)| match held {
        Some(Held { block, line_base }) => block.source(*line_base, slices.get(at).and_then(Option::as_ref)),
        // No item points here any more.
        None => Source::of(&NOTHING, 0),
    });
    let fetched = fetched.iter().map(|chunk| Source::of(chunk, 0));
    held.chain(fetched).collect()
}

/// How many sequences ranks have of a minibatch without those that are left out, as far as they are known here: those of
/// other ranks are read only where faults count on every rank.
fn share(work: &Work, sources: &[Source<'_>], undecodable: &Undecodable) -> Option<BatchShare> {
    if undecodable.is_empty() && sources.iter().all(|s| s.chunk.left_out.is_empty()) {
        return work.plan.share(None);
    }
    work.plan.share(Some(&|number| {
        let item = work.items.get(number).or_else(|| work.others.get(number - work.items.len()));
        item.is_some_and(|i| sources[i.held as usize].chunk.is_left_out(i.row))
            || undecodable.contains(number)
    }))
}

/// The first sequence of which this holds in a stream, and the first such stream.
fn first_of(
    streams: &[StreamBatch],
    holds: impl Fn(usize, &StreamBatch) -> bool,
) -> Option<(usize, &StreamBatch)> {
    streams
        .iter()
        .filter_map(|stream| Some(((0..stream.lengths().len()).find(|&i| holds(i, stream))?, stream)))
        .min_by_key(|(sequence, _)| *sequence)
}
