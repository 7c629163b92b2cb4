//! Reading runs and single records of a file.

use std::ops::Range;
use std::sync::{Mutex, OnceLock, PoisonError};

use tesson_core::{Error, Fetch, ResourceId};

use crate::get_or_find;
use crate::record::{End, Fault, Problem, RecordFile, RecordSpan, Records, Want, block_limit, indexed};

use super::chunk::{self, ChunkScratch, Raw};
use super::index::Index;

/// How much larger than wanted a block may become by using up what has been read for it.
const GROWTH: u64 = 16;

/// An ArrayRecord file.
pub struct ArrayRecordFile {
    resource: ResourceId,
    index: OnceLock<Result<Index, Fault>>,
    /// A chunk of several records that has been read in part: the rest is likely wanted next.
    begun: Mutex<Option<Begun>>,
}

/// Records of one chunk that are wanted.
enum Picked<'a> {
    Run(Range<u64>),
    Rows(&'a [u64]),
}

impl Picked<'_> {
    /// Calls `each` with every record and its place in its chunk.
    fn each(&self, group: u64, mut each: impl FnMut(u64, usize)) {
        let mut each = |row: u64| each(row, (row % group) as usize);
        match self {
            Picked::Run(run) => run.clone().for_each(&mut each),
            Picked::Rows(rows) => rows.iter().for_each(|&row| each(row)),
        }
    }

    /// The last one.
    fn last(&self) -> u64 {
        match self {
            Picked::Run(run) => run.end - 1,
            Picked::Rows(rows) => rows[rows.len() - 1],
        }
    }
}

/// Bytes of the file, and the offset of the first one in it.
#[derive(Clone, Copy)]
struct FileBytes<'a> {
    bytes: &'a [u8],
    base: u64,
}

/// A chunk's records.
struct Begun {
    chunk: u64,
    bytes: Vec<u8>,
    places: Vec<RecordSpan>,
}

impl ArrayRecordFile {
    /// The file that a resource is. Nothing is read.
    pub fn new(resource: ResourceId) -> ArrayRecordFile {
        ArrayRecordFile { resource, index: OnceLock::new(), begun: Mutex::new(None) }
    }

    fn index(&self, fetch: &dyn Fetch) -> Result<&Result<Index, Fault>, Error> {
        get_or_find(&self.index, || Index::read(self.resource, fetch, &mut ChunkScratch::default()))
    }

    /// Adds the wanted records of one chunk to a block. False if there is no room for them. `raw` holds the chunk.
    fn append(
        &self,
        index: &Index,
        chunk: u64,
        wanted: &Picked<'_>,
        raw: FileBytes<'_>,
        limit: u64,
        into: &mut Records,
    ) -> bool {
        let FileBytes { bytes, base } = raw;
        let (offset, end) = index.span(chunk);
        // However much was read: what the chunk reaches beyond its own bytes is wrong in every way of reading.
        let bytes = &bytes[..(end - base) as usize];
        let first = chunk * index.group;
        let in_chunk = index.group.min(index.n_records - first);
        let start = into.bytes.len();
        let read = match self.take_begun(chunk) {
            Some(begun) if (start + begun.bytes.len()) as u64 <= limit => {
                into.bytes.extend_from_slice(&begun.bytes);
                let moved = |p: &RecordSpan| RecordSpan { start: p.start + start as u32, ..*p };
                into.chunk_scratch.places.clear();
                into.chunk_scratch.places.extend(begun.places.iter().map(moved));
                Ok(())
            }
            begun => {
                // It is kept for the block that has room for it.
                self.keep_begun(begun);
                let Records { bytes: block, chunk_scratch, .. } = &mut *into;
                match chunk::records(Raw { bytes, base, chunk: offset }, limit, chunk_scratch, block) {
                    Ok(header) if header.n_records == in_chunk => Ok(()),
                    Ok(header) => Err(Problem::RecordCount {
                        chunk: offset,
                        found: header.n_records,
                        indexed: in_chunk,
                    }),
                    Err(problem) => Err(problem),
                }
            }
        };
        match read {
            // In a block of its own it may fit, or it is reported there.
            Err(
                Problem::TooLarge { .. }
                | Problem::BadChunk { .. }
                | Problem::TransposedChunk
                | Problem::ChunkKind { .. }
                | Problem::RecordCount { .. },
            ) if start > 0 => {
                into.bytes.truncate(start);
                return false;
            }
            Err(problem) => {
                wanted.each(index.group, |row, _| into.push_lost(row, offset, problem.clone()));
            }
            Ok(()) => {
                wanted.each(index.group, |row, place| {
                    into.begin_chunk(row, offset);
                    into.places.push(into.chunk_scratch.places[place]);
                });
                if wanted.last() + 1 < first + in_chunk {
                    let moved = |p: &RecordSpan| RecordSpan { start: p.start - start as u32, ..*p };
                    let places = into.chunk_scratch.places.iter().map(moved).collect();
                    self.keep_begun(Some(Begun { chunk, bytes: into.bytes[start..].to_vec(), places }));
                }
            }
        }
        true
    }

    fn take_begun(&self, chunk: u64) -> Option<Begun> {
        let mut begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        begun.take_if(|begun| begun.chunk == chunk)
    }

    fn keep_begun(&self, begun: Option<Begun>) {
        *self.begun.lock().unwrap_or_else(PoisonError::into_inner) = begun;
    }
}

impl RecordFile for ArrayRecordFile {
    fn read(&self, want: Want, fetch: &dyn Fetch, into: &mut Records) -> Result<(), Error> {
        into.clear();
        let Some(index) = indexed(self.index(fetch)?, None, into) else { return Ok(()) };
        let limit = block_limit(fetch);
        let wanted_end = want.first.saturating_add(want.most);
        let end = wanted_end.min(index.n_records);
        let mut next = want.first;
        // Of the file, a run of chunks at a time; what has been read is used up, as long as it does not grow too much.
        let mut raw = std::mem::take(&mut into.scratch);
        let (mut base, mut raw_end) = (0, 0);
        while next < end {
            let chunk = next / index.group;
            let (offset, behind) = index.span(chunk);
            let have = into.bytes.len() as u64;
            let allowed = if behind <= raw_end { want.bytes.saturating_mul(GROWTH) } else { want.bytes };
            if next > want.first && have >= allowed {
                break;
            }
            if behind > raw_end {
                let last = (end - 1) / index.group;
                let to = reach(index, chunk, last, offset.saturating_add((want.bytes - have).min(limit)));
                if to - offset > limit {
                    into.push_lost(next, offset, Problem::TooLarge { found: to - offset, limit });
                    next += 1;
                    continue;
                }
                (base, raw_end) = (offset, to);
                fetch.read_over(self.resource, base..raw_end, &mut raw)?;
            }
            let run = next..((chunk + 1) * index.group).min(end);
            let behind = run.end;
            let bytes = FileBytes { bytes: &raw, base };
            if !self.append(index, chunk, &Picked::Run(run), bytes, limit, into) {
                break;
            }
            next = behind;
        }
        into.scratch = raw;
        into.end = if next == index.n_records && next < wanted_end { End::File } else { End::More };
        Ok(())
    }

    fn read_rows(&self, rows: &[u64], fetch: &dyn Fetch, into: &mut Records) -> Result<(), Error> {
        into.clear();
        let Some(index) = indexed(self.index(fetch)?, Some(rows), into) else { return Ok(()) };
        let limit = block_limit(fetch);
        let mut raw = std::mem::take(&mut into.scratch);
        for run in rows.chunk_by(|a, b| a / index.group == b / index.group) {
            let chunk = run[0] / index.group;
            if run[0] >= index.n_records || chunk >= index.n_chunks() {
                absent(run, index.n_records, into);
                continue;
            }
            let (offset, end) = index.span(chunk);
            if end - offset > limit {
                let problem = Problem::TooLarge { found: end - offset, limit };
                run.iter().for_each(|&row| into.push_lost(row, offset, problem.clone()));
                continue;
            }
            fetch.read_over(self.resource, offset..end, &mut raw)?;
            let (here, behind) = run.split_at(run.iter().take_while(|&&row| row < index.n_records).count());
            let bytes = FileBytes { bytes: &raw, base: offset };
            if !self.append(index, chunk, &Picked::Rows(here), bytes, limit, into) {
                break;
            }
            absent(behind, index.n_records, into);
        }
        into.scratch = raw;
        Ok(())
    }

    fn count(&self, fetch: &dyn Fetch) -> Result<(u64, Option<Fault>), Error> {
        Ok(match self.index(fetch)? {
            Ok(index) => (index.n_records, None),
            Err(fault) => (0, Some(fault.clone())),
        })
    }

    fn random_access(&self, _: &dyn Fetch) -> Result<bool, Error> {
        Ok(true)
    }

    fn memory(&self) -> usize {
        let begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        let begun =
            begun.as_ref().map_or(0, |b| b.bytes.capacity() + b.places.capacity() * size_of::<RecordSpan>());
        begun + self.index.get().and_then(|index| index.as_ref().ok()).map_or(0, Index::memory)
    }
}

/// Where a read that begins with a chunk ends: with the last chunk that is wanted and ends before `before`, or with the
/// first.
fn reach(index: &Index, chunk: u64, last: u64, before: u64) -> u64 {
    let (mut fits, mut beyond) = (chunk, last + 1);
    while beyond - fits > 1 {
        let middle = fits + (beyond - fits) / 2;
        if index.span(middle).1 <= before { fits = middle } else { beyond = middle }
    }
    index.span(fits).1
}

/// Adds a fault for each of some rows that are not there.
fn absent(rows: &[u64], records: u64, into: &mut Records) {
    rows.iter().for_each(|&row| into.push_lost(row, 0, Problem::Absent { records }));
}
