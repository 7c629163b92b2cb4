//! Checking: every sequence decoded once, every fault listed, nothing delivered.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use tesson_core::{
    Chunk, ChunkId, DataError, DataErrorKind, Error, Indexed, Keys, Location, Parallelism, ReadContext,
    ResourceId, Scratch, SequenceId, SequenceSelection, Shape, StreamInfo,
};
use tesson_plan::{BatchSlot, KeyColumns, repeated_keys};

use crate::block::{BlockId, BlockTable};
use crate::fault::{self, Charge};
use crate::fetch::Resources;
use crate::memory_budget::decode_room;
use crate::pack::{Item, Pools, Source};
use crate::sample_room::SampleRoom;
use crate::threads::Threads;
use crate::transform::{ChainMemory, PlacedItem, Transforms};

/// How bad something is that a check has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// Worth knowing, and no mistake: how a sample is decoded.
    Remark,
    /// Out of the ordinary, but it is read all the same.
    Note,
    /// A fault, which `maxErrors` may forgive.
    Fault,
    /// The data concerned cannot be delivered, whatever `maxErrors` is.
    Fatal,
}

/// The counts of a finished check.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Checked {
    /// Sequences decoded.
    pub sequences: u64,
    /// Faults found.
    pub faults: u64,
    /// Faults among them that no `maxErrors` forgives.
    pub fatal: u64,
    /// Notes: what is read although it is out of the ordinary.
    pub notes: u64,
    /// Samples of which something is worth knowing, although it is no mistake.
    pub remarks: u64,
    /// Sequences that would be left out.
    pub left_out: u64,
}

/// The data to be checked, and everything needed to read them.
pub(crate) struct Subject<'a> {
    pub(crate) indexed: &'a Indexed,
    pub(crate) table: &'a BlockTable,
    /// The streams as they are stored.
    pub(crate) streams: &'a [Arc<StreamInfo>],
    pub(crate) transforms: &'a Transforms,
    pub(crate) resources: &'a Resources,
    pub(crate) memory_limit: usize,
    pub(crate) threads: usize,
}

/// Memory of one thread that decodes.
struct WorkerScratch {
    scratch: Scratch,
    chunk: Chunk,
    chains: ChainMemory,
}

/// The findings about the samples that a block keeps encoded.
#[derive(Default)]
struct EncodedSamples {
    /// Those that cannot be decoded.
    undecodable: Vec<Charge>,
    remarks: Vec<DataError>,
    /// The first one of each stream of open shapes, and those whose shape differs from that of the one before.
    shapes: Vec<(usize, Shape, DataError)>,
}

impl Subject<'_> {
    /// Decodes a block, and the samples that the block keeps encoded, of which it tells what is found.
    fn decode(
        &self,
        block: BlockId,
        worker: &mut WorkerScratch,
        pools: &Pools,
    ) -> Result<EncodedSamples, Error> {
        let WorkerScratch { scratch, chunk, chains } = worker;
        let span = self.table.span(block);
        let wanted = SequenceSelection::Range(span.sequences.clone());
        self.indexed.corpus.load(span.chunk, wanted, self.resources, scratch, chunk)?;
        if !self.transforms.has_stored() {
            return Ok(EncodedSamples::default());
        }
        let source = Source::of(chunk, 0);
        let mut batches = self.transforms.stored_batches(0, 0, pools);
        let mut found = EncodedSamples::default();
        for row in (0..chunk.n_sequences).filter(|&row| !chunk.is_left_out(row)) {
            batches.clear();
            let slot = BatchSlot { number: 0, planned: span.sequence(row), sweep: 0 };
            let item = PlacedItem { item: Item { held: 0, row }, place: slot };
            let decoded = self.transforms.append_stored(item, &source, self.resources, &mut batches, chains);
            match decoded {
                // What comes after decoding fails in every sweep, whatever is forgiven.
                Err(Error::Data(error)) => {
                    found.undecodable.push(Charge { error, fatal: true, is_of_data: true })
                }
                other => found.undecodable.extend(other?),
            }
            found.remarks.extend(self.transforms.remarks(item, &source, self.resources));
            for (stream, shape) in batches.open_shapes() {
                let last = found.shapes.iter().rev().find(|(of, ..)| *of == stream);
                if last.is_none_or(|(_, last, _)| last.dims() != shape) {
                    let shape = Shape::new(shape);
                    let (found_shape, first) = (shape.to_string(), String::new());
                    let kind = DataErrorKind::MixedShapes { found: found_shape, first };
                    let error = self.transforms.at_sample(kind, stream, item, &source, self.resources);
                    found.shapes.push((stream, shape, error));
                }
            }
        }
        Ok(found)
    }
}

/// Decodes everything, side by side, and calls `each` with each fault in the order of the data.
pub(crate) fn check(
    subject: &Subject<'_>,
    each: &mut dyn FnMut(&DataError, Severity),
) -> Result<Checked, Error> {
    let &Subject { indexed, table, streams, resources, memory_limit, threads, .. } = subject;
    let mut seen = Checked::default();
    let mut last_damage = None;
    let (mut short, mut keys) = (ShortSamples::default(), SeenKeys::new(indexed, resources));
    let (mut remarks, mut shapes) = (Remarks::default(), FirstShapes::default());
    let pools = Pools::new(streams.len(), memory_limit);
    let room = Arc::new(SampleRoom::new(memory_limit as u64, threads));
    let worker = || {
        let scratch = Scratch { notes: true, room: decode_room(memory_limit), ..Scratch::default() };
        Mutex::new(WorkerScratch {
            scratch,
            chunk: Chunk::empty(),
            chains: ChainMemory::new(Arc::clone(&room)),
        })
    };
    let mut workers: Vec<Mutex<WorkerScratch>> = std::iter::repeat_with(worker).take(threads).collect();
    let mut next = (0..table.len() as u32).map(BlockId);
    loop {
        let blocks: Vec<BlockId> = next.by_ref().take(threads).collect();
        if blocks.is_empty() {
            short.list(each);
            seen.notes += keys.list(each);
            remarks.list(each);
            return Ok(seen);
        }
        let results: Vec<Mutex<Result<EncodedSamples, Error>>> =
            blocks.iter().map(|_| Mutex::new(Ok(EncodedSamples::default()))).collect();
        Threads { n: threads, memory: u64::MAX }.run(blocks.len(), &|i| {
            let mut worker = workers[i].lock().unwrap_or_else(PoisonError::into_inner);
            let decoded = subject.decode(blocks[i], &mut worker, &pools);
            *results[i].lock().unwrap_or_else(PoisonError::into_inner) = decoded;
        });
        for ((worker, result), &block) in workers.iter_mut().zip(results).zip(&blocks) {
            let encoded = result.into_inner().unwrap_or_else(PoisonError::into_inner)?;
            let undecodable = encoded.undecodable;
            let chunk = &worker.get_mut().unwrap_or_else(PoisonError::into_inner).chunk;
            let source = Source::of(chunk, 0);
            for damage in &chunk.damaged {
                // The blocks of a damaged chunk all tell the same.
                if last_damage.as_ref() != Some(&damage.error) {
                    each(&damage.error, Severity::Fatal);
                    last_damage = Some(damage.error.clone());
                    (seen.faults, seen.fatal) = (seen.faults + 1, seen.fatal + 1);
                }
            }
            for fault in &chunk.faults {
                let severity = if fault.fatal { Severity::Fatal } else { Severity::Fault };
                each(&fault::describe(fault, &source, streams, resources), severity);
                seen.fatal += u64::from(fault.fatal);
            }
            for Charge { error, fatal, .. } in &undecodable {
                each(error, if *fatal { Severity::Fatal } else { Severity::Fault });
                seen.fatal += u64::from(*fatal);
            }
            for note in &chunk.notes {
                let error = fault::describe(note, &source, streams, resources);
                if !short.add(&error) {
                    each(&error, Severity::Note);
                }
            }
            seen.remarks += encoded.remarks.len() as u64;
            encoded.remarks.into_iter().for_each(|remark| remarks.add(remark));
            for (stream, shape, error) in encoded.shapes {
                seen.notes += shapes.add(stream, shape, error, each);
            }
            seen.notes += keys.add(table.span(block).sequence(0), chunk, each);
            seen.faults += (chunk.faults.len() + undecodable.len()) as u64;
            seen.notes += chunk.notes.len() as u64;
            seen.sequences += u64::from(chunk.n_sequences);
            resources.progress(bytes_of(indexed, table.span(block).chunk, chunk.n_sequences));
            seen.left_out += (chunk.left_out.len() + undecodable.len()) as u64;
        }
    }
}

/// Bytes of so many sequences of a chunk, about.
fn bytes_of(indexed: &Indexed, chunk: ChunkId, n_sequences: u32) -> u64 {
    let all = indexed.index.lengths(chunk).len().max(1) as u128;
    (u128::from(indexed.index.chunk(chunk).bytes) * u128::from(n_sequences) / all) as u64
}

/// Samples that are shorter than their stream's dimension: every one of a stream where that is too large, so they are told
/// once.
#[derive(Default)]
struct ShortSamples(BTreeMap<Option<String>, (DataError, u64, u64, u64)>);

impl ShortSamples {
    /// Takes what says that samples are short; `false` for anything else.
    fn add(&mut self, error: &DataError) -> bool {
        let &DataErrorKind::ShortSamples { samples, most, dim } = error.kind() else { return false };
        let stream = error.stream().map(str::to_string);
        let told = self.0.entry(stream).or_insert_with(|| (error.clone(), 0, 0, dim));
        (told.1, told.2) = (told.1 + samples, told.2.max(most));
        true
    }

    fn list(self, each: &mut dyn FnMut(&DataError, Severity)) {
        for (stream, (first, samples, most, dim)) in self.0 {
            let kind = DataErrorKind::ShortSamples { samples, most, dim };
            let error = DataError::new(kind, first.at().clone()).within(stream, first.key().cloned());
            each(&error, Severity::Note);
        }
    }
}

/// Remarks: what is true of many samples is told once, with their number.
#[derive(Default)]
struct Remarks(BTreeMap<(Option<String>, String), (DataError, u64)>);

impl Remarks {
    fn add(&mut self, error: DataError) {
        let DataErrorKind::Remark { what, .. } = error.kind() else { return };
        let same = (error.stream().map(str::to_string), what.clone());
        self.0.entry(same).or_insert((error, 0)).1 += 1;
    }

    fn list(self, each: &mut dyn FnMut(&DataError, Severity)) {
        for ((_, what), (first, samples)) in self.0 {
            each(&first.with_kind(DataErrorKind::Remark { what, samples }), Severity::Remark);
        }
    }
}

/// The shapes of the first samples of streams whose transforms leave shapes open.
#[derive(Default)]
struct FirstShapes(BTreeMap<usize, (Shape, bool)>);

impl FirstShapes {
    /// Tells of the first sample of a stream that has another shape than its first one; returns how many it tells of.
    fn add(
        &mut self,
        stream: usize,
        shape: Shape,
        error: DataError,
        each: &mut dyn FnMut(&DataError, Severity),
    ) -> u64 {
        let (first, is_told) = self.0.entry(stream).or_insert_with(|| (shape.clone(), false));
        if *is_told || *first == shape {
            return 0;
        }
        *is_told = true;
        let kind = DataErrorKind::MixedShapes { found: shape.to_string(), first: first.to_string() };
        each(&error.with_kind(kind), Severity::Note);
        1
    }
}

/// The keys of one file, to find those that occur again. The same key in two files is two sequences.
struct SeenKeys<'a> {
    indexed: &'a Indexed,
    resources: &'a Resources,
    file: ResourceId,
    /// Number in the corpus of the file's first sequence.
    first: u64,
    keys: KeyColumns,
}

/// Sequences of a file whose keys are looked at: their numbers are kept in 32 bits.
const MOST_KEYS: u64 = u32::MAX as u64 - 1;

impl<'a> SeenKeys<'a> {
    fn new(indexed: &'a Indexed, resources: &'a Resources) -> SeenKeys<'a> {
        SeenKeys { indexed, resources, file: ResourceId::NONE, first: 0, keys: KeyColumns::new() }
    }

    /// Takes the keys of the sequences of a chunk from `first` on; tells what occurs again in the file before them. Returns how
    /// many do.
    fn add(&mut self, first: SequenceId, chunk: &Chunk, each: &mut dyn FnMut(&DataError, Severity)) -> u64 {
        // Frames have the key of their utterance, and a block may begin within one.
        if chunk.n_sequences == 0 || matches!(chunk.keys, Keys::Runs { .. }) {
            return 0;
        }
        let file = self.indexed.corpus.span(first).0;
        let mut found = 0;
        if file != self.file {
            found = self.list(each);
            self.first = self.indexed.index.number_of(first);
            self.file = file;
        }
        self.keys.push(chunk.absolute_keys(), chunk.n_sequences);
        found
    }

    /// Tells what occurs again in the file, and forgets its keys.
    fn list(&mut self, each: &mut dyn FnMut(&DataError, Severity)) -> u64 {
        let keys = std::mem::take(&mut self.keys);
        let Some(file) = self.resources.path(self.file) else { return 0 };
        if keys.len() > MOST_KEYS {
            return 0;
        }
        let found = repeated_keys(&keys, usize::MAX);
        for (key, (before, again)) in found.first_repeated.into_iter().zip(found.repeated_at) {
            let at = Location { file: file.clone(), offset: self.offset(again), line: None };
            let kind = DataErrorKind::RepeatedKey { first: self.offset(before) };
            each(&DataError::new(kind, at).within(None, Some(key)), Severity::Note);
        }
        found.repeated
    }

    /// Where a sequence begins in the file.
    fn offset(&self, sequence: u32) -> u64 {
        let at = self.indexed.index.sequence(self.first + u64::from(sequence));
        self.indexed.corpus.span(at).1.start
    }
}
