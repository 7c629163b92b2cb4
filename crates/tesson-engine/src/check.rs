//! Checking: every sequence decoded once, every fault listed, nothing delivered.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use tesson_core::{
    Chunk, DataError, DataErrorKind, DecodeRoom, Error, Indexed, Location, Parallelism, ResourceId, Scratch,
    SequenceSelection,
};
use tesson_plan::{KeyColumns, repeated_keys};

use crate::block::BlockTable;
use crate::fault;
use crate::fetch::Resources;
use crate::pack::Source;
use crate::threads::Threads;

/// How bad something is that a check has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// Out of the ordinary, but it is read all the same.
    Note,
    /// A fault, which `maxErrors` may forgive.
    Fault,
    /// What it concerns cannot be delivered, whatever `maxErrors` is.
    Fatal,
}

/// What a check has seen.
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
    /// Sequences that would be left out.
    pub left_out: u64,
}

/// Decodes everything, side by side, and tells each fault in the order of the data.
pub(crate) fn check(
    indexed: &Indexed,
    table: &BlockTable,
    streams: &[std::sync::Arc<tesson_core::StreamInfo>],
    resources: &Resources,
    room: DecodeRoom,
    threads: usize,
    each: &mut dyn FnMut(&DataError, Severity),
) -> Result<Checked, Error> {
    let mut seen = Checked::default();
    let mut last_damage = None;
    let (mut short, mut keys) = (ShortSamples::default(), SeenKeys::new(indexed, resources));
    let mut benches: Vec<Mutex<(Scratch, Chunk)>> = Vec::new();
    let scratch = || Scratch { notes: true, room, ..Scratch::default() };
    benches.resize_with(threads, || Mutex::new((scratch(), Chunk::empty())));
    let mut next = 0..table.len() as u32;
    loop {
        let blocks: Vec<u32> = next.by_ref().take(threads).collect();
        if blocks.is_empty() {
            short.list(each);
            seen.notes += keys.list(each);
            return Ok(seen);
        }
        let results: Vec<Mutex<Option<Error>>> = blocks.iter().map(|_| Mutex::new(None)).collect();
        Threads { n: threads, memory: u64::MAX }.run(blocks.len(), &|i| {
            let mut bench = benches[i].lock().unwrap_or_else(PoisonError::into_inner);
            let (scratch, chunk) = &mut *bench;
            let (number, range): (u32, Range<u32>) = table.place(blocks[i]);
            let loaded =
                indexed.corpus.load(number, SequenceSelection::Range(range), resources, scratch, chunk);
            *results[i].lock().unwrap_or_else(PoisonError::into_inner) = loaded.err();
        });
        for ((bench, result), &block) in benches.iter_mut().zip(results).zip(&blocks) {
            if let Some(e) = result.into_inner().unwrap_or_else(PoisonError::into_inner) {
                return Err(e);
            }
            let chunk = &bench.get_mut().unwrap_or_else(PoisonError::into_inner).1;
            let source = Source { chunk, rows: None, line_base: 0 };
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
            for note in &chunk.notes {
                let error = fault::describe(note, &source, streams, resources);
                if !short.add(&error) {
                    each(&error, Severity::Note);
                }
            }
            let (number, range) = table.place(block);
            seen.notes += keys.add(number, range.start, chunk, each);
            seen.faults += chunk.faults.len() as u64;
            seen.notes += chunk.notes.len() as u64;
            seen.sequences += u64::from(chunk.n_sequences);
            seen.left_out += chunk.left_out.len() as u64;
        }
    }
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

    /// Takes the keys of sequences from `first` of a chunk on; tells what occurs again in the file before them. Returns how
    /// many do.
    fn add(
        &mut self,
        number: u32,
        first: u32,
        chunk: &Chunk,
        each: &mut dyn FnMut(&DataError, Severity),
    ) -> u64 {
        if chunk.n_sequences == 0 {
            return 0;
        }
        let file = self.indexed.corpus.span(number, first).0;
        let mut found = 0;
        if file != self.file {
            found = self.list(each);
            self.first = self.indexed.index.chunk(number as usize).first_sequence + u64::from(first);
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
        let index = &self.indexed.index;
        let number = self.first + u64::from(sequence);
        let chunk = index.chunk_of_sequence(number);
        let within = number - index.chunk(chunk).first_sequence;
        self.indexed.corpus.span(chunk as u32, within as u32).1.start
    }
}
