//! Making a minibatch: what its blocks hold, what has to be fetched beside them, and what is wrong with it.

use std::sync::MutexGuard;
use std::sync::atomic::Ordering;

use tesson_core::{Chunk, DataError, DataErrorKind, Error, Location, SequenceSelection, UsageError};
use tesson_plan::{BatchKind, BatchSlot, Planned, Sharing};

use super::job::{Bench, Task};
use super::ticket::{Held, Outcome, Packed, Work};
use super::{LengthRule, Shared, State, Supply};
use crate::arrays::Arrays;
use crate::fault::{self, Charge};
use crate::minibatch::{BatchKeys, StreamBatch};
use crate::pack::{self, Item, Source};

impl Shared {
    /// Makes minibatches and puts them where their caller finds them.
    pub(super) fn make(&self, tasks: Vec<Task>, generation: u64, bench: &mut Bench) -> MutexGuard<'_, State> {
        self.depot.take(tasks.len().saturating_sub(bench.arrays.len()), &mut bench.arrays);
        let made = tasks.into_iter().map(|mut task| {
            let packed = self.assemble(&mut task.work, bench);
            (task.number, task.work, packed)
        });
        let made: Vec<_> = made.collect();
        let mut state = self.lock();
        if state.generation != generation {
            return state;
        }
        for (number, mut work, packed) in made {
            for &block in &work.retired {
                state.retire(block, number, &self.setup);
            }
            let outcome = match packed {
                Ok(packed) => {
                    state.note_size(packed.arrays.bytes());
                    work.packed = Some(packed);
                    Outcome::Made(work)
                }
                Err(e) => {
                    state.works.push(work);
                    Outcome::Failed(e)
                }
            };
            let bytes = if let Outcome::Made(work) = &outcome { bytes_of(work) } else { 0 };
            if let Some(ticket) = state.ticket(number) {
                let charged = std::mem::replace(&mut ticket.charged, bytes);
                ticket.finish(outcome);
                state.made = state.made - charged + bytes;
            }
        }
        if state.is_served(state.awaited) {
            self.done.notify_all();
        }
        state
    }

    /// Brings together what a minibatch is made of, rows that are in no block in memory included, and packs it.
    pub(super) fn assemble(&self, work: &mut Work, bench: &mut Bench) -> Result<Packed, Error> {
        // Whoever waits for the blocks' memory is not to wait until the minibatch is taken.
        let mut held = std::mem::take(&mut work.held);
        let named = work.items.iter_mut().chain(&mut work.others);
        let fetched = self.fetch(&work.blocks, &held, named, bench)?;
        let nothing = Chunk::empty();
        let held_sources = held.iter().map(|held| match held {
            Some(held) => held.block.source(held.line_base),
            // No item points here any more.
            None => Source { chunk: &nothing, rows: None, line_base: 0 },
        });
        let fetched_sources = fetched.iter().map(|chunk| Source { chunk, rows: None, line_base: 0 });
        let sources: Vec<Source<'_>> = held_sources.chain(fetched_sources).collect();
        let charges = self.charges(work, &sources);
        let is_left_out = |i: &Item| sources[i.held as usize].chunk.is_left_out(i.row);
        let unasked = self.setup.transforms.is_empty() && matches!(self.setup.length_rule, LengthRule::Any);
        let places: Vec<BatchSlot> = match unasked {
            true => Vec::new(),
            false => {
                let own = work.items.iter().zip(work.plan.own_slots());
                own.filter(|(item, _)| !is_left_out(item)).map(|(_, place)| place).collect()
            }
        };
        // The data may end inside the last sequence; one that is left out leaves nothing to be cut.
        let last = work.items.last().is_some_and(|i| !is_left_out(i));
        work.items.retain(|i| !is_left_out(i));
        let mut arrays = bench.arrays.pop().unwrap_or_else(|| self.depot.fresh());
        let Arrays { streams, keys, .. } = &mut arrays;
        pack::pack(&self.setup.streams, &work.items, &sources, &self.pools, streams);
        pack::keys(&work.items, &sources, keys);
        if arrays.bytes() > self.setup.memory_limit {
            return Err(self.too_large());
        }
        let Arrays { streams, keys, .. } = &mut arrays;
        let refused = self.refusal(&places, streams, keys);
        if let Some(keep) = work.plan.keep_of_last.filter(|_| last) {
            streams.iter_mut().for_each(|stream| stream.shorten_last(keep));
        }
        self.setup.transforms.apply(streams, keys, &places, &mut bench.scratch, &self.pools)?;
        drop(sources);
        fetched.into_iter().for_each(|chunk| self.spares.give(chunk));
        let counters = &self.setup.counters;
        counters.block_hits.fetch_add(held.iter().flatten().count() as u64, Ordering::Relaxed);
        held.clear();
        work.held = held;
        Ok(Packed {
            first: work.plan.own_slots().next(),
            keep_of_last: work.plan.keep_of_last,
            arrays,
            sweep_end: work.plan.sweep_end,
            data_end: work.plan.data_end,
            // Which of the other ranks' sequences are left out is not known here, and all ranks end together (§6.4).
            is_empty: match self.setup.spec.sharing {
                Sharing::Chunk => work.items.is_empty() && work.plan.kind == BatchKind::Ordinary,
                Sharing::Position => work.plan.is_end(),
            },
            after: work.plan.after,
            passed: work.passed,
            charges,
            refused,
        })
    }

    /// Fetches the sequences that items name in blocks that are not in memory, and points the items at them: block
    /// `held.len() + i` stands for the `i`-th chunk returned.
    fn fetch<'a>(
        &self,
        blocks: &[u32],
        held: &[Option<Held>],
        items: impl Iterator<Item = &'a mut Item>,
        bench: &mut Bench,
    ) -> Result<Vec<Chunk>, Error> {
        let mut named: Vec<&mut Item> = items.filter(|i| held[i.held as usize].is_none()).collect();
        if named.is_empty() {
            return Ok(Vec::new());
        }
        self.setup.counters.rows_loaded.fetch_add(named.len() as u64, Ordering::Relaxed);
        let corpus = self.corpus();
        let resources = &*self.setup.resources;
        let (mut fetched, mut least) = (Vec::new(), 0);
        let places: Vec<(u32, u32)> =
            blocks.iter().map(|&b| self.table().place(b)).map(|(c, r)| (c, r.start)).collect();
        let place = |item: &Item| (places[item.held as usize].0, places[item.held as usize].1 + item.row);
        if let Some(scattered) = corpus.scattered() {
            // In plan order, so that packing copies them in one go.
            for group in named.chunks_mut(self.rows_at_once()) {
                let rows: Vec<(u32, u32)> = group.iter().map(|item| place(item)).collect();
                let mut out = self.spares.take();
                scattered.load_scattered(&rows, resources, &mut bench.scratch, &mut out)?;
                self.note_warnings(bench);
                for (row, item) in (0..).zip(group) {
                    **item = Item { held: (held.len() + fetched.len()) as u32, row };
                }
                least += self.least_bytes(&out, least)?;
                fetched.push(out);
            }
            return Ok(fetched);
        }
        named.sort_unstable_by_key(|i| (i.held, i.row));
        for group in named.chunk_by_mut(|a, b| a.held == b.held) {
            let (chunk, _) = place(group[0]);
            let mut rows: Vec<u32> = group.iter().map(|item| place(item).1).collect();
            rows.dedup();
            for item in group {
                let row = rows.binary_search(&place(item).1).expect("all rows are listed") as u32;
                **item = Item { held: (held.len() + fetched.len()) as u32, row };
            }
            let mut out = self.spares.take();
            corpus.load(chunk, SequenceSelection::List(&rows), resources, &mut bench.scratch, &mut out)?;
            self.note_warnings(bench);
            least += self.least_bytes(&out, least)?;
            fetched.push(out);
        }
        Ok(fetched)
    }

    /// Sequences that are fetched in one go: what they are read into takes an eighth of the memory, on the average.
    fn rows_at_once(&self) -> usize {
        (self.setup.memory_limit as u64 / 8 / self.row_bytes.max(self.row_cost)).max(1) as usize
    }

    /// What fetched sequences take in a minibatch at least, unless with those `before` them it is beyond the limit.
    fn least_bytes(&self, chunk: &Chunk, before: usize) -> Result<usize, Error> {
        let least = pack::least_bytes(&self.setup.streams, chunk);
        if before + least > self.setup.memory_limit { Err(self.too_large()) } else { Ok(least) }
    }

    fn too_large(&self) -> Error {
        let limit = self.setup.memory_limit;
        UsageError(format!(
            "the minibatch takes more than `memoryLimit`, {limit} bytes; choose a smaller size or a larger `memoryLimit`"
        ))
        .into()
    }

    /// The faults of a minibatch's sequences that count now, in plan order.
    pub(super) fn charges(&self, work: &Work, sources: &[Source<'_>]) -> Vec<Charge> {
        if sources.iter().all(|s| s.chunk.faults.is_empty() && s.chunk.damaged.is_empty()) {
            return Vec::new();
        }
        let own = work.items.iter().zip(work.plan.own_slots());
        let foreign = work.others.iter().zip(work.plan.foreign_slots());
        let mut faulty: Vec<(u64, &Item, Planned, u64)> = own
            .chain(foreign)
            .filter(|(item, _)| {
                let chunk = sources[item.held as usize].chunk;
                !chunk.faults_of(item.row).is_empty() || chunk.damage_of(item.row).is_some()
            })
            .map(|(item, place)| (place.number, item, place.planned, place.sweep))
            .collect();
        faulty.sort_by_key(|(number, ..)| *number);
        let mut charges = Vec::new();
        for (_, item, planned, sweep) in faulty {
            let source = &sources[item.held as usize];
            let again =
                work.plan.kind == BatchKind::RepeatedStep || !self.is_first_visit(work, planned, sweep);
            let streams = &self.setup.streams;
            fault::charge(item.row, source, again, streams, &self.setup.resources, &mut charges);
        }
        charges
    }

    /// Whether a fault of this sequence has not been met before, had its worker read from the start.
    pub(super) fn is_first_visit(&self, work: &Work, planned: Planned, sweep: u64) -> bool {
        match &self.supply {
            Supply::Indexed { index, .. } => self.setup.spec.first_visit(index, planned, sweep, work.demand),
            // While the index grows the first sweep is on its way; later ones are asked of the finished index.
            Supply::Growing => sweep == 0,
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
        let (resource, span) = self.corpus().span(planned.chunk, planned.sequence);
        let error = match self.setup.resources.files().get(resource.0 as usize) {
            Some((file, _)) => {
                DataError::new(kind, Location { file: file.clone(), offset: span.start, line: None })
            }
            None => DataError::in_chunk(kind, self.setup.deserializer.name(), planned.chunk),
        };
        Some(error.within(Some(stream.info().name.clone()), Some(keys.get(sequence))).into())
    }
}

/// Bytes of the minibatch that was made.
fn bytes_of(work: &Work) -> usize {
    work.packed.as_ref().map_or(0, |packed| packed.arrays.bytes())
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

impl State {
    /// Keeps the average size of minibatches up to date.
    fn note_size(&mut self, bytes: usize) {
        let bytes = bytes.max(1);
        let before = if self.batch_bytes == 0 { bytes } else { self.batch_bytes };
        self.batch_bytes = usize::div_ceil(7 * before + bytes, 8);
    }
}
