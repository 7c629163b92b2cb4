//! Records by file and number, decoded in the order in which they are asked for.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use tesson_core::{DataError, Error, Location};
use tesson_formats::example::Span;
use tesson_formats::record::{End, Fault};
use tesson_tfds::fault::RecordFault;
use tesson_tfds::features::{Batch, Decoder, Failed, FeatureError, Limits, Schema};

use crate::block_cache::{Block, BlockCache};
use crate::file_runs::{BlockPool, Parts};
use crate::images::{ImageMaker, ImageTransforms, Occasion};
use crate::shards::ShardFile;
use crate::stretches::Stretch;

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
pub(super) enum LoadStop {
    /// The file ends before the record; so many records it has.
    Short { records: u64 },
    /// A few bytes are left where the record should begin.
    Cut(Error),
    /// The record cannot be read or decoded.
    Failed(Error),
    /// The batch has reached its limit of bytes.
    Full,
}

/// The content after the last declared record of a file.
pub(super) enum TailProbe {
    Nothing,
    /// More records, so that these are all; damage after them counts as one.
    Records(u64),
    /// Nothing but damage.
    Damage,
    /// A few bytes, less than a record's head; and how many records there are in all.
    Cut {
        records: u64,
        error: Error,
    },
}

/// Bytes of stored records that are decoded at once, at most, unless a single one has more: what comes of them may be many
/// times as large.
const AT_ONCE: usize = 256 << 10;

/// Blocks that a loader holds: as many files are read in turns, as a rule.
const HELD: usize = 16;

/// A block, and the records that may be taken from it without asking the cache.
type Held = (Arc<Block>, Range<u64>);

/// Where a block belongs that records are taken from.
enum BlockOwner {
    BlockCache { known: Range<u64> },
    Part(usize),
}

/// Reads and decodes. One for each thread.
pub(super) struct Loader {
    cache: Arc<BlockCache>,
    decoder: Decoder,
    /// Where images are transformed.
    images: Option<ImageMaker>,
    /// Blocks that are used again and again while a stretch is loaded, and which records may be taken from each; by file.
    held: [Option<Held>; HELD],
    /// True if it reads parts of stretches for itself; it has memory for that.
    reads_parts: bool,
    pool: BlockPool,
}

impl Loader {
    pub(super) fn new(cache: Arc<BlockCache>, schema: &Arc<Schema>) -> Loader {
        let decoder = Decoder::new(Arc::clone(schema), Limits::default());
        Loader {
            cache,
            decoder,
            images: None,
            held: Default::default(),
            reads_parts: false,
            pool: BlockPool::default(),
        }
    }

    /// One that transforms images.
    pub(super) fn with_images(self, transforms: &Arc<ImageTransforms>) -> Loader {
        let decoder = Decoder::new(Arc::clone(&transforms.stored), Limits::default());
        Loader { decoder, images: Some(transforms.maker()), ..self }
    }

    /// One for a thread beside others.
    pub(super) fn another(&self) -> Loader {
        let another = Loader::new(Arc::clone(&self.cache), self.decoder.schema());
        let another = match &self.images {
            Some(maker) => another.with_images(maker.transforms()),
            None => another,
        };
        Loader { reads_parts: true, ..another }
    }

    /// The parts to be read for a stretch alone.
    pub(super) fn parts(&self, stretch: &Stretch) -> Parts {
        if self.reads_parts { Parts::of(stretch) } else { Parts::default() }
    }

    /// Takes memory back.
    pub(super) fn recycle(&mut self, parts: Parts) {
        parts.recycle(&mut self.pool);
    }

    pub(super) fn cache(&self) -> &Arc<BlockCache> {
        &self.cache
    }

    /// The schema of delivered examples.
    pub(super) fn schema(&self) -> &Schema {
        match &self.images {
            Some(maker) => &maker.transforms().delivered,
            None => self.decoder.schema(),
        }
    }

    /// Appends the examples of these records to a batch, until it has so many bytes. `parts` are those of their stretch.
    ///
    /// # Errors
    /// How many of them are in the batch, and why the next one is not.
    pub(super) fn load(
        &mut self,
        numbers: &[u64],
        occasion: Occasion<'_>,
        parts: &mut Parts,
        batch: &mut Batch,
        bytes: usize,
    ) -> Result<(), (usize, LoadStop)> {
        let loaded = self.load_on(numbers, occasion, parts, batch, bytes);
        // What the cache evicts meanwhile is to be freed.
        self.held = Default::default();
        loaded
    }

    fn load_on(
        &mut self,
        numbers: &[u64],
        occasion: Occasion<'_>,
        parts: &mut Parts,
        batch: &mut Batch,
        bytes: usize,
    ) -> Result<(), (usize, LoadStop)> {
        let mut done = 0;
        while done < numbers.len() {
            if done > 0 && batch.value_bytes() >= bytes {
                return Err((done, LoadStop::Full));
            }
            let first = RecordId::of(numbers[done]);
            let run = run_of(&numbers[done..]);
            let (block, owner) = self.take(first, run, parts).map_err(|stop| (done, stop))?;
            let from = (first.record - block.first) as usize;
            let to = few_bytes(&block, from, from + run);
            // Records up to a damaged one are decoded: one of them may be wrong in itself.
            let faults = block.records.faults();
            let next = faults.partition_point(|(i, _)| *i < from);
            let fault = faults.get(next).filter(|(i, _)| *i < to);
            let to = fault.map_or(to, |(i, _)| *i);
            if let Err(failed) = self.decode(&block, from..to, occasion, done, batch) {
                let error = self.feature_error(&block, from + failed.record, *failed.error);
                return Err((done + failed.record, LoadStop::Failed(error)));
            }
            done += to - from;
            if let Some((_, fault)) = fault {
                return Err((done, LoadStop::Failed(self.record_error(block.file, fault))));
            }
            match owner {
                BlockOwner::BlockCache { known } if known.is_empty() => {}
                BlockOwner::BlockCache { known } => self.held[first.file % HELD] = Some((block, known)),
                BlockOwner::Part(part) => {
                    let next = RecordId { record: block.first + to as u64, ..first };
                    parts.put_back(part, block, next, &mut self.pool);
                }
            }
        }
        Ok(())
    }

    /// Decodes records of a block, those from `at` on of an occasion.
    fn decode(
        &mut self,
        block: &Block,
        records: Range<usize>,
        occasion: Occasion<'_>,
        at: usize,
        batch: &mut Batch,
    ) -> Result<(), Failed> {
        let first = RecordId { file: block.file, record: block.first + records.start as u64 };
        let places = block.records.places()[records].iter();
        let spans = places.map(|p| Span { start: p.start as usize, len: p.size as usize });
        let Some(maker) = &mut self.images else {
            return self.decoder.decode(block.records.bytes(), spans, batch);
        };
        maker.stored.clear();
        let decoded = self.decoder.decode(block.records.bytes(), spans, &mut maker.stored);
        maker.append(first, occasion, at, batch)?;
        decoded
    }

    /// Reads on in a file at `id`, where it should end.
    pub(super) fn probe_tail(&self, id: RecordId, parts: &Parts) -> Result<TailProbe, Error> {
        if parts.ends_at(id) || self.cache.ends_at(id) {
            return Ok(TailProbe::Nothing);
        }
        match self.block(id, 1) {
            Ok(_) => {
                let (records, fault) = self.count(id.file)?;
                Ok(match fault {
                    Some(fault) if self.shard(id.file).is_cut(&fault.problem) => {
                        TailProbe::Cut { records, error: self.record_error(id.file, &fault) }
                    }
                    fault => TailProbe::Records(records + u64::from(fault.is_some())),
                })
            }
            Err(LoadStop::Short { .. }) => Ok(TailProbe::Nothing),
            Err(LoadStop::Cut(error)) => Ok(TailProbe::Cut { records: id.record, error }),
            Err(LoadStop::Failed(_) | LoadStop::Full) => Ok(TailProbe::Damage),
        }
    }

    /// True if any record of a file can be read without those before it.
    pub(super) fn random_access(&self, file: usize) -> Result<bool, Error> {
        self.shard(file).records.random_access(self.cache.shards())
    }

    /// The file of a record.
    pub(super) fn path(&self, file: usize) -> &Arc<Path> {
        self.shard(file).path()
    }

    /// Takes the block that holds a record out of the parts or those that are held, or from the cache, and says where it
    /// belongs. `run` records from there on are wanted.
    ///
    /// It is moved, there and back: threads that take records from the same block would wait for each other if each
    /// counted its pointer at every run.
    fn take(
        &mut self,
        id: RecordId,
        run: usize,
        parts: &mut Parts,
    ) -> Result<(Arc<Block>, BlockOwner), LoadStop> {
        if let Some((part, block)) = parts.take(id, &self.cache, &mut self.pool).map_err(LoadStop::Failed)? {
            return Ok((self.with_records(block, id)?, BlockOwner::Part(part)));
        }
        // One that does not do is dropped here, and the cache may use its memory for the next one.
        if let Some((block, known)) = self.held[id.file % HELD].take()
            && block.file == id.file
            && known.contains(&id.record)
        {
            return Ok((block, BlockOwner::BlockCache { known }));
        }
        let block = self.block(id, run)?;
        let known = block.known_from(id);
        Ok((block, BlockOwner::BlockCache { known }))
    }

    /// The block that holds a record. `run` records from there on are wanted.
    fn block(&self, id: RecordId, run: usize) -> Result<Arc<Block>, LoadStop> {
        let block = self.cache.block(id, run as u64).map_err(LoadStop::Failed)?;
        self.with_records(block, id)
    }

    /// A block that was read from a record on, if there is one.
    fn with_records(&self, block: Arc<Block>, id: RecordId) -> Result<Arc<Block>, LoadStop> {
        if !block.records.is_empty() {
            return Ok(block);
        }
        match block.records.end() {
            End::Damaged(fault) => {
                let error = self.record_error(id.file, fault);
                if self.shard(id.file).is_cut(&fault.problem) {
                    Err(LoadStop::Cut(error))
                } else {
                    Err(LoadStop::Failed(error))
                }
            }
            End::File | End::More => {
                let (records, _) = self.count(id.file).map_err(LoadStop::Failed)?;
                Err(LoadStop::Short { records })
            }
        }
    }

    /// How many records a file has, and what is wrong after them.
    fn count(&self, file: usize) -> Result<(u64, Option<Fault>), Error> {
        self.shard(file).records.count(self.cache.shards())
    }

    fn shard(&self, file: usize) -> &ShardFile {
        self.cache.shards().file(self.cache.shard(file))
    }

    fn record_error(&self, file: usize, fault: &Fault) -> Error {
        fault.in_file(self.path(file)).into()
    }

    fn feature_error(&self, block: &Block, i: usize, error: FeatureError) -> Error {
        let file = Arc::clone(self.path(block.file));
        let at = Location { file, offset: block.records.offset(i), line: None };
        let path = error.path.clone();
        let fault = RecordFault::of_example(block.first + i as u64, None, error);
        DataError::new(fault, at).within(path, None).into()
    }
}

/// How many numbers follow each other from the first one on.
pub(super) fn run_of(numbers: &[u64]) -> usize {
    numbers.iter().zip(numbers[0]..).take_while(|(number, next)| *number == next).count()
}

/// How far records of a block reach, from `from` on and at most to `to`, that are decoded at once.
fn few_bytes(block: &Block, from: usize, to: usize) -> usize {
    let places = block.records.places();
    let to = places.len().min(to);
    let begin = places[from].start as usize;
    let within = |place: &tesson_formats::record::RecordSpan| {
        (place.start as usize + place.size as usize).saturating_sub(begin) <= AT_ONCE
    };
    if places[from..to].last().is_some_and(within) {
        to
    } else {
        from + places[from..to].iter().take_while(|place| within(place)).count().max(1)
    }
}
