//! Records by file and number, decoded in the order in which they are asked for.
//!
//! Streams jump from file to file and go on in each where they left it. So a block of each file that was read last is
//! kept, and blocks grow where a file is read on. What is decoded depends on none of this.

use std::collections::VecDeque;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use tesson_core::{DataError, DataErrorKind, Error, Location};
use tesson_formats::example::Span;
use tesson_formats::record::{End, Fault, Problem, Records, Want};
use tesson_tfds::features::{Batch, Decoder, FeatureError};

use super::shards::Shards;

/// A record: which file of the plan, and which record of that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RecordId {
    pub(super) file: usize,
    pub(super) record: u64,
}

impl RecordId {
    /// Bits for the record's number in its file.
    const BITS: u32 = 40;

    pub(super) fn number(self) -> u64 {
        (self.file as u64) << Self::BITS | self.record
    }

    pub(super) fn of(number: u64) -> RecordId {
        RecordId { file: (number >> Self::BITS) as usize, record: number & ((1 << Self::BITS) - 1) }
    }
}

/// Why records could not all be loaded.
pub(super) enum Stop {
    /// The file ends before the record; so many records it has.
    Short { records: u64 },
    /// A few bytes are left where the record should begin.
    Cut(Error),
    /// The record cannot be read or decoded.
    Failed(Error),
}

/// What stands where a file should end.
pub(super) enum Behind {
    Nothing,
    /// More records, so that these are all; damage behind them counts as one.
    Records(u64),
    /// Nothing but damage.
    Damage,
    /// A few bytes, less than a record's head.
    Cut(Error),
}

/// Bytes in front of a record's data. With fewer left, the reference takes the file for ended.
const HEAD: u64 = 12;

/// Blocks that are kept: those of all files that are read in turns, as a rule.
const KEPT: usize = 64;

/// Bytes of a block where a file is read on: at first, and at most.
const READ_ON: Range<u64> = 64 << 10..1 << 20;

/// A run of a file's records.
struct Block {
    file: usize,
    first: u64,
    records: Records,
    /// How much is read on behind it.
    ahead: u64,
}

impl Block {
    fn end(&self) -> u64 {
        self.first + self.records.len() as u64
    }
}

/// Reads and decodes. One for each thread.
pub(super) struct Loader {
    /// For each file of the plan, which of the shards it is.
    files: Vec<usize>,
    shards: Arc<Shards>,
    decoder: Decoder,
    /// The one used last is at the back.
    blocks: VecDeque<Block>,
}

impl Loader {
    pub(super) fn new(files: Vec<usize>, shards: Arc<Shards>, decoder: Decoder) -> Loader {
        Loader { files, shards, decoder, blocks: VecDeque::new() }
    }

    /// Appends the examples of these records to a batch.
    ///
    /// # Errors
    /// How many of them are in the batch, and why the next one is not.
    pub(super) fn load(&mut self, numbers: &[u64], batch: &mut Batch) -> Result<(), (usize, Stop)> {
        let mut done = 0;
        while done < numbers.len() {
            let first = RecordId::of(numbers[done]);
            let run =
                (1..numbers.len() - done).take_while(|i| numbers[done + i] == numbers[done] + *i as u64);
            let run = 1 + run.count();
            self.turn_to(first, run).map_err(|stop| (done, stop))?;
            let at = self.blocks.len() - 1;
            let block = &self.blocks[at];
            let from = (first.record - block.first) as usize;
            let to = block.records.len().min(from + run);
            // Records up to a damaged one are decoded: one of them may be wrong in itself.
            let fault = (from..to).find_map(|i| Some((i, block.records.fault(i)?)));
            let to = fault.map_or(to, |(i, _)| i);
            let places = block.records.places()[from..to].iter();
            let spans = places.map(|p| Span { start: p.start as usize, len: p.size as usize });
            let decoded = self.decoder.decode(block.records.bytes(), spans, batch);
            if let Err(failed) = decoded {
                let error = self.feature_error(block, from + failed.record, &failed.error);
                return Err((done + failed.record, Stop::Failed(error)));
            }
            done += to - from;
            if let Some((_, fault)) = fault {
                return Err((done, Stop::Failed(self.record_error(block.file, fault))));
            }
        }
        Ok(())
    }

    /// What a file has at `id`, where it should end.
    pub(super) fn behind(&mut self, id: RecordId) -> Result<Behind, Error> {
        let ends = |b: &Block| b.file == id.file && b.end() == id.record && *b.records.end() == End::File;
        if self.blocks.iter().any(ends) {
            return Ok(Behind::Nothing);
        }
        match self.turn_to(id, 1) {
            Ok(()) => {
                let file = self.shards.file(self.files[id.file]);
                let (records, fault) = file.records.count(&*self.shards)?;
                Ok(Behind::Records(records + u64::from(fault.is_some())))
            }
            Err(Stop::Short { .. }) => Ok(Behind::Nothing),
            Err(Stop::Cut(error)) => Ok(Behind::Cut(error)),
            Err(Stop::Failed(_)) => Ok(Behind::Damage),
        }
    }

    /// The file of a record.
    pub(super) fn path(&self, file: usize) -> &Arc<Path> {
        self.shards.file(self.files[file]).path()
    }

    /// Brings the block that holds a record to the back. `run` records from there on are wanted.
    fn turn_to(&mut self, id: RecordId, run: usize) -> Result<(), Stop> {
        let holds = |b: &Block| b.file == id.file && (b.first..b.end()).contains(&id.record);
        if self.blocks.back().is_some_and(holds) {
            return Ok(());
        }
        if let Some(at) = self.blocks.iter().position(holds) {
            let block = self.blocks.remove(at);
            self.blocks.extend(block);
            return Ok(());
        }
        let before = self.blocks.iter().position(|b| b.file == id.file && b.end() == id.record);
        let mut block = match before {
            Some(at) => self.blocks.remove(at),
            None if self.blocks.len() == KEPT => self.blocks.pop_front(),
            None => None,
        }
        .unwrap_or_else(|| Block { file: 0, first: 0, records: Records::new(), ahead: 0 });
        let ahead = match before {
            Some(_) => (block.ahead * 4).clamp(READ_ON.start, READ_ON.end),
            None => 0,
        };
        let want = Want {
            first: id.record,
            most: if ahead == 0 { run as u64 } else { u64::MAX },
            bytes: ahead.max(READ_ON.end * u64::from(ahead == 0)),
        };
        (block.file, block.first, block.ahead) = (id.file, id.record, ahead);
        let file = self.shards.file(self.files[id.file]);
        file.records.read(want, &*self.shards, &mut block.records).map_err(Stop::Failed)?;
        if !block.records.is_empty() {
            self.blocks.push_back(block);
            return Ok(());
        }
        match block.records.end() {
            End::Damaged(fault) => {
                let error = self.record_error(id.file, fault);
                match fault.problem {
                    Problem::Truncated { left, .. } if left < HEAD => Err(Stop::Cut(error)),
                    _ => Err(Stop::Failed(error)),
                }
            }
            End::File | End::More => {
                let count = file.records.count(&*self.shards).map_err(Stop::Failed)?;
                Err(Stop::Short { records: count.0 })
            }
        }
    }

    fn record_error(&self, file: usize, fault: &Fault) -> Error {
        fault.in_file(self.path(file)).into()
    }

    fn feature_error(&self, block: &Block, i: usize, error: &FeatureError) -> Error {
        let file = Arc::clone(self.path(block.file));
        let at = Location { file, offset: block.records.offset(i), line: None };
        let what = format!("record {}: {error}", block.first + i as u64);
        DataError::new(DataErrorKind::Malformed { what }, at).within(error.path.clone(), None).into()
    }
}
