//! Checking: every sequence decoded once, every fault listed, nothing delivered.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use tesson_core::{Chunk, DataError, Error, Indexed, Lanes, Scratch, Wanted};

use crate::block::BlockTable;
use crate::fault;
use crate::fetch::Resources;
use crate::lanes::Threads;
use crate::pack::Source;

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
    threads: usize,
    each: &mut dyn FnMut(&DataError, Severity),
) -> Result<Checked, Error> {
    let mut seen = Checked::default();
    let mut last_damage = None;
    let mut benches: Vec<Mutex<(Scratch, Chunk)>> = Vec::new();
    let scratch = || Scratch { notes: true, ..Scratch::default() };
    benches.resize_with(threads, || Mutex::new((scratch(), Chunk::empty())));
    let mut next = 0..table.len() as u32;
    loop {
        let blocks: Vec<u32> = next.by_ref().take(threads).collect();
        if blocks.is_empty() {
            return Ok(seen);
        }
        let results: Vec<Mutex<Option<Error>>> = blocks.iter().map(|_| Mutex::new(None)).collect();
        Threads { n: threads, memory: u64::MAX }.run(blocks.len(), &|i| {
            let mut bench = benches[i].lock().unwrap_or_else(PoisonError::into_inner);
            let (scratch, chunk) = &mut *bench;
            let (number, range): (u32, Range<u32>) = table.place(blocks[i]);
            let loaded = indexed.corpus.load(number, Wanted::Range(range), resources, scratch, chunk);
            *results[i].lock().unwrap_or_else(PoisonError::into_inner) = loaded.err();
        });
        for (bench, result) in benches.iter_mut().zip(results) {
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
                each(&fault::describe(note, &source, streams, resources), Severity::Note);
            }
            seen.faults += chunk.faults.len() as u64;
            seen.notes += chunk.notes.len() as u64;
            seen.sequences += u64::from(chunk.n_sequences);
            seen.left_out += chunk.left_out.len() as u64;
        }
    }
}
