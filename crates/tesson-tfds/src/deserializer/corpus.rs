//! The records of a chunk, how they are read, and their keys.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tesson_core::{
    Chunk, ChunkId, Corpus, CorpusFacts, DataError, Error, Fault, Fetch, Index, Keys, Location, ResourceId,
    Scattered, Scratch, SequenceId, SequenceSelection,
};
use tesson_formats::record::{self, End, RecordFile, Want};

use super::column::Stream;
use super::fill::Filling;
use super::key::{KeyColumn, KeyOf};
use super::lengths::{self, counted};
use crate::fault::TfdsFault;
use crate::features::{Batch, Schema};
use crate::ids::Ids;
use crate::info::FileFormat;
use crate::records::is_cut;
use crate::rows::Reading;

/// Bytes of records that are decoded together, about.
const BLOCK_BYTES: u64 = 256 << 10;

/// A run of records of a file: a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slice {
    pub(super) resource: u32,
    /// The first record in the file, and how many there are.
    pub(super) first: u64,
    pub(super) n: u32,
    /// Records of the whole file, as the dataset says.
    pub(super) of: u64,
    /// The first record's number in the whole dataset, and in its split.
    pub(super) record: u64,
    pub(super) number: u64,
}

impl Slice {
    /// The extent of its records in a file of `size` bytes, if all take the same number of bytes.
    pub(super) fn bytes(&self, size: u64) -> Range<u64> {
        let end = self.first + u64::from(self.n);
        self.place(size, self.first)..self.place(size, end)
    }

    fn place(&self, size: u64, record: u64) -> u64 {
        (u128::from(size) * u128::from(record) / u128::from(self.of.max(1))) as u64
    }
}

/// Everything that loading needs before lengths are known.
pub(super) struct Records {
    pub(super) files: Vec<Box<dyn RecordFile>>,
    pub(super) paths: Vec<Arc<Path>>,
    pub(super) keys: KeyOf,
    /// `true`: keys are numbers; `false`: texts.
    pub(super) numeric_keys: bool,
    pub(super) ids: Ids,
    pub(super) slices: Vec<Slice>,
    pub(super) schema: Arc<Schema>,
    pub(super) streams: Vec<Stream>,
    /// The format of the files.
    pub(super) format: FileFormat,
}

/// The corpus once lengths and the files' sizes are known.
pub(super) struct Loading {
    records: Arc<Records>,
    index: Arc<Index>,
    sizes: Vec<u64>,
    /// Files that are known to hold no more records than the dataset says.
    ends: Vec<AtomicBool>,
    facts: CorpusFacts,
}

/// The scratch memory that a worker keeps from one chunk to the next.
struct Work {
    block: record::Records,
    reading: Reading,
    /// The decoder for reading keys alone, if a feature holds them.
    keys: Option<Reading>,
}

impl Work {
    /// The one that was left in the scratch memory, if it is for this schema.
    fn take(scratch: &mut Scratch, records: &Records, fetch: &dyn Fetch) -> Box<Work> {
        let left = scratch.format.take().and_then(|left| left.downcast::<Work>().ok());
        left.filter(|work| work.reading.is_of(&records.schema)).unwrap_or_else(|| {
            let alone = match &records.keys {
                KeyOf::Feature(key) => Some(Reading::new(key.alone(), fetch)),
                KeyOf::Number | KeyOf::Id => None,
            };
            let reading = Reading::new(&records.schema, fetch);
            Box::new(Work { block: record::Records::new(), reading, keys: alone })
        })
    }
}

impl Loading {
    pub(super) fn new(records: Arc<Records>, index: Arc<Index>, sizes: Vec<u64>) -> Loading {
        let ends = sizes.iter().map(|_| AtomicBool::new(false)).collect();
        let files: usize = records.files.iter().map(|file| file.memory()).sum();
        let slices = records.slices.len() * size_of::<Slice>();
        let facts = CorpusFacts::new(files + slices + sizes.len() * size_of::<u64>());
        Loading { records, index, sizes, ends, facts }
    }

    /// Appends a fault that no budget forgives to the last record that a file should have, if there are more: they would be
    /// lost. The fault belongs to that record, whatever else is loaded with it.
    fn check_end(
        &self,
        slice: &Slice,
        rows: &[u32],
        fetch: &dyn Fetch,
        block: &mut record::Records,
        out: &mut Chunk,
    ) -> Result<(), Error> {
        let last = rows.iter().position(|row| slice.first + u64::from(*row) + 1 == slice.of);
        let end = &self.ends[slice.resource as usize];
        let Some(sequence) = last.filter(|_| !end.load(Ordering::Relaxed)) else { return Ok(()) };
        let Some((offset, wrong)) = self.records.beyond(slice, fetch, block)? else {
            end.store(true, Ordering::Relaxed);
            return Ok(());
        };
        let fault = Fault {
            sequence: sequence as u32,
            kind: wrong.into(),
            stream: None,
            resource: ResourceId(slice.resource),
            offset,
            line: None,
            fatal: true,
        };
        let at = out.faults.partition_point(|other| other.sequence <= fault.sequence);
        out.faults.insert(at, fault);
        Ok(())
    }
}

impl Corpus for Loading {
    fn facts(&self) -> &CorpusFacts {
        &self.facts
    }

    fn load(
        &self,
        chunk: ChunkId,
        wanted: SequenceSelection<'_>,
        fetch: &dyn Fetch,
        scratch: &mut Scratch,
        out: &mut Chunk,
    ) -> Result<(), Error> {
        let records = &*self.records;
        let slice = records.slices[chunk.index()];
        let rows = wanted.to_vec();
        *out = Chunk::empty();
        out.streams = records.streams.iter().map(|stream| stream.empty()).collect();
        let lengths = self.index.lengths(chunk);
        out.lengths = rows.iter().map(|row| lengths.get(*row as usize)).collect();
        let mut keys = KeyColumn::new(records.numeric_keys);
        let mut work = Work::take(scratch, records, fetch);
        let mut done = 0;
        while done < rows.len() {
            records.read(&slice, &wanted, &rows[done..], fetch, &mut work.block)?;
            done += work.block.len();
            let Work { block, reading, keys: alone } = &mut *work;
            let mut filling = Filling { records, slice: &slice, out, keys: &mut keys };
            filling.append(block, reading, alone.as_mut())?;
        }
        self.check_end(&slice, &rows, fetch, &mut work.block, out)?;
        scratch.format = Some(work);
        out.keys = keys.finish();
        Ok(())
    }

    fn keys(
        &self,
        chunk: ChunkId,
        n_sequences: u32,
        fetch: &dyn Fetch,
        scratch: &mut Scratch,
    ) -> Result<Option<Keys>, Error> {
        let records = &*self.records;
        let slice = records.slices[chunk.index()];
        let mut keys = KeyColumn::new(records.numeric_keys);
        if !matches!(records.keys, KeyOf::Feature(_)) {
            (slice.first..slice.first + u64::from(n_sequences))
                .for_each(|record| records.push_key(&slice, record, &mut keys));
            return Ok(Some(keys.finish()));
        }
        let rows: Vec<u32> = (0..n_sequences).collect();
        let mut work = Work::take(scratch, records, fetch);
        let mut done = 0;
        while done < rows.len() {
            records.read(
                &slice,
                &SequenceSelection::Range(0..n_sequences),
                &rows[done..],
                fetch,
                &mut work.block,
            )?;
            done += work.block.len();
            let Work { block, keys: alone, .. } = &mut *work;
            let mut alone = alone.as_mut();
            let mut push = |at| records.push_key_of(&slice, block, at, alone.as_deref_mut(), &mut keys);
            (0..block.len()).for_each(&mut push);
        }
        scratch.format = Some(work);
        Ok(Some(keys.finish()))
    }

    fn span(&self, at: SequenceId) -> (ResourceId, Range<u64>) {
        let slice = &self.records.slices[at.chunk.index()];
        let one = Slice { first: slice.first + u64::from(at.sequence), n: 1, ..*slice };
        (ResourceId(slice.resource), one.bytes(self.sizes[slice.resource as usize]))
    }

    fn scattered(&self) -> Option<&dyn Scattered> {
        None
    }

    fn save(&self, index: &Index, into: &mut Vec<u8>) {
        lengths::save(index, &self.sizes, into);
    }
}

impl Records {
    /// Reads the first of these rows of a slice, as many as make a block and at least one.
    ///
    /// # Errors
    /// Unreadable storage; a file that returns neither a record nor its fault.
    pub(super) fn read(
        &self,
        slice: &Slice,
        wanted: &SequenceSelection<'_>,
        rows: &[u32],
        fetch: &dyn Fetch,
        into: &mut record::Records,
    ) -> Result<(), Error> {
        let file = &self.files[slice.resource as usize];
        let record = |row: &u32| slice.first + u64::from(*row);
        if let SequenceSelection::Range(_) = wanted {
            let want = Want { first: record(&rows[0]), most: rows.len() as u64, bytes: BLOCK_BYTES };
            file.read(want, fetch, into)?;
            if !into.is_empty() {
                return Ok(());
            }
        }
        // One by one they are faults in their places, whatever else was wanted.
        let records: Vec<u64> = rows.iter().map(record).collect();
        file.read_rows(&records, fetch, into)?;
        if into.is_empty() { Err(self.unreadable(slice, records[0])) } else { Ok(()) }
    }

    /// The fault of a slice's file that continues after the declared records, with its offset; `None` if the file
    /// ends there.
    fn beyond(
        &self,
        slice: &Slice,
        fetch: &dyn Fetch,
        into: &mut record::Records,
    ) -> Result<Option<(u64, TfdsFault)>, Error> {
        let file = &self.files[slice.resource as usize];
        file.read(Want { first: slice.of, most: 1, bytes: BLOCK_BYTES }, fetch, into)?;
        let offset = match into.end() {
            _ if !into.is_empty() => into.offset(0),
            End::Damaged(fault) if !is_cut(self.format, &fault.problem) => fault.offset,
            End::Damaged(_) | End::File | End::More => return Ok(None),
        };
        let (found, damage) = file.count(fetch)?;
        // A shorter file already has one fault for each missing record.
        let found = match damage {
            Some(_) if found < slice.of => return Ok(None),
            Some(fault) => format!("{found} records and damage after them ({})", fault.problem),
            None => format!("{found} records"),
        };
        Ok(Some((offset, TfdsFault::RecordCount { found, expected: slice.of })))
    }

    /// The key of a record that has one without being read, or must do with such a one.
    pub(super) fn push_key(&self, slice: &Slice, record: u64, keys: &mut KeyColumn) {
        let offset = record - slice.first;
        match (&self.keys, self.numeric_keys) {
            (KeyOf::Number, _) => keys.push_number(slice.number + offset),
            (KeyOf::Id, _) | (KeyOf::Feature(_), false) => keys.push_text(self.id(slice, record).as_bytes()),
            // Any number may be the key of another example; the last ones are the least likely to be.
            (KeyOf::Feature(_), true) => keys.push_number(u64::MAX - (slice.record + offset)),
        }
    }

    /// The `tfds_id` of a record.
    pub(super) fn id(&self, slice: &Slice, record: u64) -> String {
        self.ids.id(slice.record + (record - slice.first)).unwrap_or_default()
    }

    /// The key of a record of the block, whatever else is in it; `alone` reads nothing but keys.
    pub(super) fn push_key_of(
        &self,
        slice: &Slice,
        block: &record::Records,
        at: usize,
        alone: Option<&mut Reading>,
        keys: &mut KeyColumn,
    ) {
        if let (KeyOf::Feature(key), Some(alone)) = (&self.keys, alone)
            && let Ok(batch) = alone.one(block, at)
            && key.append_alone(batch, keys)
        {
            return;
        }
        self.push_key(slice, block.number(at), keys);
    }

    /// Samples of an example, as its length is counted.
    pub(super) fn len(&self, batch: &Batch, row: usize) -> u64 {
        counted(&self.streams, batch, row)
    }

    /// The error for a file that returns neither a record nor its fault.
    fn unreadable(&self, slice: &Slice, record: u64) -> Error {
        DataError::new(TfdsFault::Unreadable { record }, self.place(slice, 0)).into()
    }

    /// A place in the file of a slice.
    pub(super) fn place(&self, slice: &Slice, offset: u64) -> Location {
        Location { file: Arc::clone(&self.paths[slice.resource as usize]), offset, line: None }
    }

    pub(super) fn stream_of(&self, path: &str) -> Option<u16> {
        let column = self.schema.column(path)?;
        self.streams.iter().position(|stream| stream.is_of(column)).map(|i| i as u16)
    }
}
