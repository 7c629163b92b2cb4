//! Checking: every sequence decoded once, every fault listed, nothing delivered.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use tesson_core::{Chunk, DataError, Error, Indexed, Lanes, Scratch, Wanted};

use crate::block::BlockTable;
use crate::fault;
use crate::fetch::Resources;
use crate::lanes::Threads;
use crate::pack::Source;

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
    each: &mut dyn FnMut(&DataError, bool),
) -> Result<Checked, Error> {
    let mut seen = Checked::default();
    let mut benches: Vec<Mutex<(Scratch, Chunk)>> = Vec::new();
    benches.resize_with(threads, || Mutex::new((Scratch::default(), Chunk::empty())));
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
            for fault in &chunk.faults {
                each(&fault::describe(fault, &source, streams, resources), fault.fatal);
                seen.fatal += u64::from(fault.fatal);
            }
            seen.faults += chunk.faults.len() as u64;
            seen.sequences += u64::from(chunk.n_sequences);
            seen.left_out += chunk.left_out.len() as u64;
        }
    }
}
