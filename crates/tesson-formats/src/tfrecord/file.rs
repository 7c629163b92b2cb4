//! Reading runs and single records of a file.

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use tesson_core::{Error, Fetch, ResourceId};

use crate::get_or_find;
use crate::record::{End, Fault, Problem, RecordFile, Records, Want};

use super::inflate::{Compression, Stream};
use super::places::{Anchor, Finish, Places};
use super::scan::{AROUND, HEAD, LONGEST, Stop, Wrong, scan, walk};

/// Bytes that are read at once for looking at headers.
const WINDOW: u64 = 64 << 10;

/// Bytes that a block begins with where nothing is known of the records' sizes.
const FIRST_READ: u64 = 4 << 10;

/// A TFRecord file. It may be compressed as a whole, by gzip or zlib; then it is a stream, and what stands far behind is
/// had by decompressing all before it.
pub struct TfRecordFile {
    resource: ResourceId,
    compression: OnceLock<Option<Compression>>,
    places: Mutex<Places>,
    stream: Mutex<Option<Stream>>,
}

impl TfRecordFile {
    /// The file that a resource is. Nothing is read.
    pub fn new(resource: ResourceId) -> TfRecordFile {
        TfRecordFile {
            resource,
            compression: OnceLock::new(),
            places: Mutex::new(Places::new()),
            stream: Mutex::new(None),
        }
    }

    fn compression(&self, fetch: &dyn Fetch) -> Result<Option<Compression>, Error> {
        get_or_find(&self.compression, || Compression::of(self.resource, fetch)).copied()
    }

    fn places(&self) -> MutexGuard<'_, Places> {
        // A thread that panicked with the lock had not begun to change them.
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a run of records to a block. `memory` is for the bytes of a block that has none yet; what it holds is
    /// overwritten.
    fn append(
        &self,
        want: Want,
        fetch: &dyn Fetch,
        into: &mut Records,
        memory: Vec<u8>,
    ) -> Result<(), Error> {
        if let Some(compression) = self.compression(fetch)? {
            let mut stream = self.stream.lock().unwrap_or_else(PoisonError::into_inner);
            if into.bytes.is_empty() {
                into.bytes = memory;
                into.bytes.clear();
            }
            return Stream::read(&mut stream, compression, self.resource, want, fetch, into);
        }
        match self.find(want.first, fetch, &mut into.scratch)? {
            Found::Begins(at) => Run::new(self, want, at, fetch, into, memory).read(),
            Found::Ends { fault, .. } => {
                into.end = fault.map_or(End::File, End::Damaged);
                Ok(())
            }
        }
    }

    /// Where a record begins, or how the file ends before it.
    fn find(&self, record: u64, fetch: &dyn Fetch, scratch: &mut Vec<u8>) -> Result<Found, Error> {
        let (mut at, behind) = {
            let places = self.places();
            if let Some((records, fault)) = places.finished().filter(|(records, _)| record >= *records) {
                return Ok(Found::Ends { records, fault: fault.cloned() });
            }
            (places.before(record), places.behind(record))
        };
        let size = fetch.size(self.resource)?;
        while at.record < record {
            if fetch.cancelled() {
                return Err(Error::Cancelled);
            }
            let end = behind.map_or(size, |anchor| anchor.offset).min(size);
            let (next, stop) = self.step(at, record - at.record, end, fetch, scratch)?;
            if next == at {
                // What was seen here is the answer, whatever other threads have learned meanwhile.
                let finish = finish(at, stop, size);
                self.places().end(at.record, finish.clone());
                return Ok(Found::Ends { records: at.record, fault: finish.into_fault() });
            }
            at = next;
        }
        Ok(Found::Begins(at.offset))
    }

    /// Goes over records by their lengths, within one window from `at` on that ends before `end`.
    fn step(
        &self,
        at: Anchor,
        most: u64,
        end: u64,
        fetch: &dyn Fetch,
        scratch: &mut Vec<u8>,
    ) -> Result<(Anchor, Stop), Error> {
        let size = fetch.size(self.resource)?;
        let (each, frontier) = {
            let places = self.places();
            (places.bytes_each(), places.frontier())
        };
        // Where records are larger than windows only headers are worth reading.
        let window = if each > WINDOW / 2 { HEAD as u64 } else { WINDOW };
        let window = end.saturating_sub(at.offset).min(window).min(fetch.largest());
        // Another thread may have moved the frontier past the place where this one began: the rest is news all the same.
        let is_new = at.offset + window > frontier.offset;
        fetch.read_over(self.resource, at.offset..at.offset + window, scratch)?;
        let (mut begins, mut last) = (Vec::new(), 0);
        let (mut next, mut n, mut stop) = walk(scratch, 0, most, &mut |offset| {
            last = offset;
            if is_new {
                begins.push(at.offset + offset);
            }
        });
        if at.offset.saturating_add(next) > size {
            // The last one is cut, and counts as not there.
            stop = Stop::Short { size: Some(next - last - AROUND as u64) };
            (next, n) = (last, n - 1);
        }
        let next = Anchor { record: at.record + n, offset: at.offset + next };
        if is_new {
            let news = self.places().learn(at.record, begins.into_iter().take(n as usize), next);
            fetch.progress(news);
        }
        Ok((next, stop))
    }
}

/// The result of looking for a record.
enum Found {
    /// Its first byte.
    Begins(u64),
    /// The file ends before it, after so many records, where something may be wrong.
    Ends { records: u64, fault: Option<Fault> },
}

/// Tells what follows the last whole record.
fn finish(at: Anchor, stop: Stop, size: u64) -> Finish {
    let left = size - at.offset;
    let problem = match stop {
        _ if left == 0 => return Finish::Whole,
        Stop::Length { found, expected } => {
            Problem::LengthChecksum { found, expected, first: at.offset == 0 }
        }
        Stop::Short { size: Some(data) } => {
            Problem::Truncated { needed: data.saturating_add(AROUND as u64), left }
        }
        Stop::Enough | Stop::Short { size: None } => Problem::Truncated { needed: AROUND as u64, left },
    };
    Finish::Damaged(Fault { record: at.record, offset: at.offset, problem })
}

/// A run of records on its way into a block.
struct Run<'a> {
    file: &'a TfRecordFile,
    want: Want,
    fetch: &'a dyn Fetch,
    into: &'a mut Records,
    /// Spare memory, over which the first bytes of a block are read: memory that holds something need not be cleared
    /// first.
    memory: Vec<u8>,
    /// Where the run begins in the block, and in the file.
    base: usize,
    offset: u64,
    /// Its first record's place among those of the block.
    index: usize,
    /// How far the block has been gone over.
    at: usize,
    wrong: Vec<Wrong>,
}

impl<'a> Run<'a> {
    fn new(
        file: &'a TfRecordFile,
        want: Want,
        offset: u64,
        fetch: &'a dyn Fetch,
        into: &'a mut Records,
        memory: Vec<u8>,
    ) -> Run<'a> {
        let (base, index) = (into.bytes.len(), into.places.len());
        into.begin_run(want.first, base, offset);
        Run { file, want, fetch, into, memory, base, offset, index, at: base, wrong: Vec::new() }
    }

    fn read(mut self) -> Result<(), Error> {
        let size = self.fetch.size(self.file.resource)?;
        loop {
            let most = usize::try_from(self.want.most).unwrap_or(usize::MAX) - self.records();
            let Records { bytes, places, .. } = &mut *self.into;
            let (at, stop) = scan(bytes, self.at, most, places, &mut self.wrong);
            self.at = at;
            let here = self.here();
            let full = self.records() > 0 && (self.at - self.base) as u64 >= self.want.bytes;
            if stop == Stop::Enough || (full && here.offset < size) {
                return self.finish(End::More);
            }
            let needed = match stop {
                Stop::Short { size: Some(data) } => data.saturating_add(AROUND as u64),
                Stop::Short { size: None } => HEAD as u64,
                Stop::Length { .. } | Stop::Enough => u64::MAX,
            };
            if needed > size - here.offset {
                return self.ends(stop, size);
            }
            if needed <= self.room() {
                self.fill(needed, size)?;
            } else if self.records() > 0 || self.base > 0 {
                return self.finish(End::More);
            } else {
                return self.too_large(needed);
            }
        }
    }

    /// Records of this run so far.
    fn records(&self) -> usize {
        self.into.places.len() - self.index
    }

    /// The record that comes next.
    fn here(&self) -> Anchor {
        Anchor {
            record: self.want.first + self.records() as u64,
            offset: self.offset + (self.at - self.base) as u64,
        }
    }

    /// Bytes that the next record may have if it is to go into the block.
    fn room(&self) -> u64 {
        self.limit().saturating_sub(self.at as u64)
    }

    /// Bytes that a block may have.
    fn limit(&self) -> u64 {
        self.fetch.largest().clamp(AROUND as u64, LONGEST)
    }

    /// Reads on, so that the next record has the bytes it needs, and as far as the wanted records reach, about.
    fn fill(&mut self, needed: u64, size: u64) -> Result<(), Error> {
        let here = self.here();
        let have = self.into.bytes.len() as u64 - self.at as u64;
        let (known, each) = {
            let places = self.file.places();
            (places.behind(self.want.first.saturating_add(self.want.most)), places.bytes_each())
        };
        let each = ((self.at - self.base) as u64).checked_div(self.records() as u64).unwrap_or(each);
        let left = self.want.most - self.records() as u64;
        let likely = match known {
            Some(anchor) => anchor.offset.saturating_sub(here.offset),
            // A little more, so that one read is mostly enough.
            None if each > 0 => left.saturating_mul(each + each / 8).saturating_add(64),
            None => FIRST_READ,
        };
        let wanted = self.want.bytes.saturating_sub((self.at - self.base) as u64);
        // As many whole records as reach that far: the cut part of another one would be read twice.
        let wanted = wanted.checked_next_multiple_of(each).unwrap_or(wanted);
        let ahead = likely.min(wanted).max(needed).min(size - here.offset).min(self.room().max(needed));
        let end = here.offset + ahead.max(have);
        let from = here.offset + have;
        if self.into.bytes.is_empty() {
            self.into.bytes = std::mem::take(&mut self.memory);
            self.fetch.read_over(self.file.resource, from..end, &mut self.into.bytes)
        } else {
            self.fetch.read(self.file.resource, from..end, &mut self.into.bytes)
        }
    }

    /// A record that no buffer can hold: it is passed over.
    fn too_large(self, needed: u64) -> Result<(), Error> {
        let here = self.here();
        let limit = self.limit() - AROUND as u64;
        let problem = Problem::TooLarge { found: needed - AROUND as u64, limit };
        self.into.push_lost(here.record, here.offset, problem);
        let next = Anchor { record: here.record + 1, offset: here.offset + needed };
        self.file.places().learn(here.record, [here.offset].into_iter(), next);
        self.into.end = End::More;
        Ok(())
    }

    /// Ends the run before something that is no whole record.
    fn ends(self, stop: Stop, size: u64) -> Result<(), Error> {
        let here = self.here();
        let finish = finish(here, stop, size);
        let file = self.file;
        self.finish(finish.clone().into_fault().map_or(End::File, End::Damaged))?;
        file.places().end(here.record, finish);
        Ok(())
    }

    fn finish(self, end: End) -> Result<(), Error> {
        let next = self.here();
        let shift = self.offset as i64 - self.base as i64;
        self.file.places().learn_block(self.want.first, &self.into.places[self.index..], shift, next);
        self.into.bytes.truncate(self.at);
        for wrong in &self.wrong {
            let offset = shift + i64::from(self.into.places[wrong.index].start);
            let problem = Problem::DataChecksum { found: wrong.found, expected: wrong.expected };
            self.into.push_fault(wrong.index, offset as u64, problem);
        }
        self.into.end = end;
        Ok(())
    }
}

impl RecordFile for TfRecordFile {
    fn read(&self, want: Want, fetch: &dyn Fetch, into: &mut Records) -> Result<(), Error> {
        let memory = std::mem::take(&mut into.bytes);
        into.clear();
        if want.most == 0 {
            return Ok(());
        }
        self.append(want, fetch, into, memory)
    }

    fn read_rows(&self, rows: &[u64], fetch: &dyn Fetch, into: &mut Records) -> Result<(), Error> {
        into.clear();
        for run in rows.chunk_by(|a, b| a.checked_add(1) == Some(*b)) {
            let mut done = 0;
            while done < run.len() {
                let before = into.len();
                let want = Want { first: run[done], most: (run.len() - done) as u64, bytes: u64::MAX };
                self.append(want, fetch, into, Vec::new())?;
                done += into.len() - before;
                match std::mem::take(&mut into.end) {
                    End::More if into.len() == before => return Ok(()),
                    End::More => {}
                    end => {
                        let (records, _) = self.count(fetch)?;
                        absent_rows(&run[done..], records, &end, into);
                        done = run.len();
                    }
                }
            }
        }
        Ok(())
    }

    fn count(&self, fetch: &dyn Fetch) -> Result<(u64, Option<Fault>), Error> {
        if let Some(compression) = self.compression(fetch)? {
            let mut stream = self.stream.lock().unwrap_or_else(PoisonError::into_inner);
            return Stream::count(&mut stream, compression, self.resource, fetch);
        }
        match self.find(u64::MAX, fetch, &mut Vec::new())? {
            Found::Ends { records, fault } => Ok((records, fault)),
            Found::Begins(_) => unreachable!("each record takes bytes, and no file has so many"),
        }
    }

    fn reaches(&self, records: u64, fetch: &dyn Fetch) -> Result<Option<bool>, Error> {
        if self.compression(fetch)?.is_some() {
            return Ok(None);
        }
        // The place behind the last of them: another record need not stand there.
        let reaches = match self.find(records, fetch, &mut Vec::new())? {
            Found::Begins(_) => true,
            Found::Ends { records: found, .. } => found >= records,
        };
        Ok(Some(reaches))
    }

    fn random_access(&self, fetch: &dyn Fetch) -> Result<bool, Error> {
        Ok(self.compression(fetch)?.is_none())
    }

    fn is_plain(&self, fetch: &dyn Fetch) -> Result<bool, Error> {
        self.random_access(fetch)
    }

    fn memory(&self) -> usize {
        let stream = self.stream.lock().unwrap_or_else(PoisonError::into_inner);
        self.places().memory() + stream.as_ref().map_or(0, Stream::memory)
    }

    fn save(&self) -> Option<Vec<u8>> {
        self.places().save()
    }

    fn restore(&self, saved: &[u8], size: u64) -> bool {
        let restored = Places::restore(saved, size);
        let is_one = restored.is_some();
        if let Some(places) = restored {
            *self.places() = places;
        }
        is_one
    }
}

/// Adds a fault for each of some rows that are not there.
fn absent_rows(rows: &[u64], records: u64, end: &End, into: &mut Records) {
    let (offset, problem) = match end {
        End::Damaged(fault) => (fault.offset, fault.problem.clone()),
        _ => (0, Problem::Absent { records }),
    };
    rows.iter().for_each(|&row| into.push_lost(row, offset, problem.clone()));
}
