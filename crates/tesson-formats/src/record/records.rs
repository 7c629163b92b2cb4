//! A block of records: one run of bytes and a column of places.

use super::{Fault, Problem};
use crate::array_record::ChunkScratch;

/// Where the data of a record lie in a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordSpan {
    /// Its first byte.
    pub start: u32,
    /// Its size in bytes.
    pub size: u32,
}

/// Why a block has no further record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum End {
    /// As many as were wanted, or as fit.
    #[default]
    More,
    /// The file has no further one.
    File,
    /// The boundaries of the next record and of all after it are lost.
    Damaged(Fault),
}

/// Consecutive records of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    /// The first one, counted within the block, and its number in the file.
    index: usize,
    record: u64,
    offset: Offset,
}

/// Where in the file the records of a run stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Offset {
    /// So far from their places in the block.
    Shifted(i64),
    /// In a part of the file that begins here and holds them all.
    Within(u64),
}

/// Records of one file, as one block of bytes and a column of places.
#[derive(Debug, Default)]
pub struct Records {
    pub(crate) bytes: Vec<u8>,
    pub(crate) places: Vec<RecordSpan>,
    /// Ascending by index.
    runs: Vec<Run>,
    faults: Vec<(usize, Fault)>,
    pub(crate) end: End,
    /// Memory for looking at the file without keeping what is read.
    pub(crate) scratch: Vec<u8>,
    /// Memory for decompressing.
    pub(crate) chunk_scratch: ChunkScratch,
}

impl Records {
    /// A block without records.
    pub fn new() -> Records {
        Records::default()
    }

    /// Number of records, the damaged ones included.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// True if there are no records.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// The bytes that the places are in, among others.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Where each record lies in [`Records::bytes`]; a damaged one has no bytes.
    pub fn places(&self) -> &[RecordSpan] {
        &self.places
    }

    /// The data of record `i` of the block.
    #[inline]
    pub fn get(&self, i: usize) -> &[u8] {
        let RecordSpan { start, size } = self.places[i];
        &self.bytes[start as usize..][..size as usize]
    }

    /// The data of all records, damaged ones being empty.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.len()).map(|i| self.get(i))
    }

    /// The number in the file of record `i` of the block.
    pub fn number(&self, i: usize) -> u64 {
        let run = self.run(i);
        run.record + (i - run.index) as u64
    }

    /// Where the data of record `i` of the block begin in the file, or the chunk that they are compressed in.
    pub fn offset(&self, i: usize) -> u64 {
        match self.run(i).offset {
            Offset::Shifted(shift) => (i64::from(self.places[i].start) + shift) as u64,
            Offset::Within(chunk) => chunk,
        }
    }

    /// The damaged records, by their places in the block, ascending.
    pub fn faults(&self) -> &[(usize, Fault)] {
        &self.faults
    }

    /// The fault of record `i` of the block.
    pub fn fault(&self, i: usize) -> Option<&Fault> {
        let at = self.faults.binary_search_by_key(&i, |(index, _)| *index).ok()?;
        Some(&self.faults[at].1)
    }

    /// Why there is no further record.
    pub fn end(&self) -> &End {
        &self.end
    }

    /// Bytes of memory held.
    pub fn memory(&self) -> usize {
        self.bytes.capacity() + self.places.capacity() * size_of::<RecordSpan>() + self.scratch.capacity()
    }

    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.places.clear();
        self.runs.clear();
        self.faults.clear();
        self.end = End::More;
    }

    /// Says that the records from here on are consecutive from `record`, and that what stands at `start` in the block
    /// stands at `offset` in the file.
    pub(crate) fn begin_run(&mut self, record: u64, start: usize, offset: u64) {
        self.push_run(record, Offset::Shifted(offset as i64 - start as i64));
    }

    /// Says that the records from here on are consecutive from `record`, in a chunk that begins at `offset` in the file.
    pub(crate) fn begin_chunk(&mut self, record: u64, offset: u64) {
        self.push_run(record, Offset::Within(offset));
    }

    fn push_run(&mut self, record: u64, offset: Offset) {
        let run = Run { index: self.places.len(), record, offset };
        self.runs.pop_if(|last| last.index == run.index);
        self.runs.push(run);
    }

    /// Adds a record that cannot be read, because of what is at `offset` in the file.
    pub(crate) fn push_lost(&mut self, record: u64, offset: u64, problem: Problem) {
        self.begin_chunk(record, offset);
        self.push_damaged(self.bytes.len(), offset, problem);
    }

    /// Adds a record that cannot be read, which begins at `start`.
    pub(crate) fn push_damaged(&mut self, start: usize, offset: u64, problem: Problem) {
        let index = self.places.len();
        self.places.push(RecordSpan { start: start as u32, size: 0 });
        let record = self.number(index);
        self.faults.push((index, Fault { record, offset, problem }));
    }

    /// Says what is wrong with a record that is in the block already.
    pub(crate) fn push_fault(&mut self, index: usize, offset: u64, problem: Problem) {
        self.places[index].size = 0;
        let record = self.number(index);
        self.faults.push((index, Fault { record, offset, problem }));
    }

    fn run(&self, i: usize) -> Run {
        let behind = self.runs.partition_point(|run| run.index <= i);
        self.runs[behind - 1]
    }
}
