//! Files that are compressed as a whole, by gzip or zlib.
//!
//! A compressed file is a stream: it is read on where it was left, and from its beginning where something before that is
//! asked for.

use tesson_core::{Error, Fetch, ResourceId};

use crate::codecs::{Inflater, Wrapping};
use crate::record::{End, Fault, Problem, RecordSpan, Records, Want, block_limit};

use super::crc::masked;
use super::scan::{AROUND, HEAD, Stop, begins_well, walk};

/// Compressed bytes that are taken at once: they become a thousand times as many at most.
const STEP: u64 = 16 << 10;

/// Decompressed bytes that may be behind the next record before they are discarded.
const GIVE_UP: usize = 1 << 20;

/// How a file is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Compression(Wrapping);

impl Compression {
    /// How a file is compressed, if it is: its beginning is no record, and is one when decompressed.
    pub(super) fn of(resource: ResourceId, fetch: &dyn Fetch) -> Result<Option<Compression>, Error> {
        let mut begin = Vec::new();
        fetch.read(resource, 0..fetch.size(resource)?.min(HEAD as u64), &mut begin)?;
        if begins_well(&begin) {
            return Ok(None);
        }
        let compression = match begin[..] {
            [0x1F, 0x8B, ..] => Compression(Wrapping::Gzip),
            [a, b, ..] if a & 0xF == 8 && a >> 4 <= 7 && u16::from_be_bytes([a, b]) % 31 == 0 => {
                Compression(Wrapping::Zlib)
            }
            _ => return Ok(None),
        };
        if cfg!(not(feature = "codecs")) {
            // What it holds cannot be looked at; reading it says why.
            return Ok(Some(compression));
        }
        let mut stream = Stream::new(compression);
        while stream.ahead().len() < HEAD && stream.problem.is_none() {
            if !stream.more(resource, fetch)? {
                break;
            }
        }
        let is_one = begins_well(stream.ahead()) && !(stream.ahead().is_empty() && stream.problem.is_some());
        Ok(is_one.then_some(compression))
    }
}

/// A compressed file from some record on.
pub(super) struct Stream {
    inflater: Inflater,
    /// Compressed bytes taken.
    taken: u64,
    /// Why nothing more comes, but for the end.
    problem: Option<String>,
    /// Decompressed bytes that have been discarded.
    given_up: u64,
    /// The next record, and where it begins in what is decompressed and kept.
    record: u64,
    at: usize,
}

impl Stream {
    fn new(compression: Compression) -> Stream {
        Stream {
            inflater: Inflater::new(compression.0),
            taken: 0,
            problem: None,
            given_up: 0,
            record: 0,
            at: 0,
        }
    }

    /// Reads a run of records. `place` is where the file was left, if it has been read.
    pub(super) fn read(
        place: &mut Option<Stream>,
        compression: Compression,
        resource: ResourceId,
        want: Want,
        fetch: &dyn Fetch,
        into: &mut Records,
    ) -> Result<(), Error> {
        // An error leaves nothing half done behind.
        let mut stream =
            place.take().filter(|s| s.record <= want.first).unwrap_or_else(|| Stream::new(compression));
        while stream.record < want.first {
            if let Some(end) = stream.next(resource, fetch, None)? {
                into.end = end;
                *place = Some(stream);
                return Ok(());
            }
        }
        let base = into.bytes.len();
        into.begin_run(want.first, base, stream.offset());
        let before = into.len();
        while ((into.len() - before) as u64) < want.most && ((into.bytes.len() - base) as u64) < want.bytes {
            if let Some(end) = stream.next(resource, fetch, Some(into))? {
                into.end = end;
                break;
            }
        }
        *place = Some(stream);
        Ok(())
    }

    /// Number of records, and what is wrong behind the last one.
    pub(super) fn count(
        place: &mut Option<Stream>,
        compression: Compression,
        resource: ResourceId,
        fetch: &dyn Fetch,
    ) -> Result<(u64, Option<Fault>), Error> {
        let mut stream = place.take().unwrap_or_else(|| Stream::new(compression));
        let end = loop {
            if let Some(end) = stream.next(resource, fetch, None)? {
                break end;
            }
        };
        let records = stream.record;
        *place = Some(stream);
        let fault = if let End::Damaged(fault) = end { Some(fault) } else { None };
        Ok((records, fault))
    }

    /// Bytes of memory held.
    pub(super) fn memory(&self) -> usize {
        self.inflater.out().capacity()
    }

    /// Goes over the next record, adding it to a block if one is given; or says why there is none, or none that fits.
    fn next(
        &mut self,
        resource: ResourceId,
        fetch: &dyn Fetch,
        into: Option<&mut Records>,
    ) -> Result<Option<End>, Error> {
        if !self.have(HEAD as u64, resource, fetch)? {
            return Ok(Some(self.end(HEAD as u64)));
        }
        let (next, _, stop) = walk(self.ahead(), 0, 1, &mut |_| {});
        if let Stop::Length { found, expected } = stop {
            let problem = Problem::LengthChecksum { found, expected, first: false };
            return Ok(Some(self.damaged(problem)));
        }
        let size = next.saturating_sub(AROUND as u64);
        let limit = block_limit(fetch);
        if next > limit {
            return Ok(Some(self.damaged(Problem::TooLarge { found: size, limit })));
        }
        if let Some(into) = &into
            && into.bytes.len() as u64 + size > limit
            && !into.is_empty()
        {
            return Ok(Some(End::More));
        }
        if !self.have(next, resource, fetch)? {
            return Ok(Some(self.end(next)));
        }
        if let Some(into) = into {
            self.hand_over(size as usize, into);
        }
        self.at += next as usize;
        self.record += 1;
        if self.at >= GIVE_UP {
            let at = std::mem::take(&mut self.at);
            self.given_up += at as u64;
            self.inflater.out_mut().drain(..at);
        }
        Ok(None)
    }

    fn hand_over(&self, size: usize, into: &mut Records) {
        let (data, checksum) = self.ahead()[HEAD..].split_at(size);
        let expected = u32::from_le_bytes(*checksum.first_chunk().expect("the record is there whole"));
        let found = masked(crc32c::crc32c(data));
        let start = into.bytes.len();
        into.begin_run(self.record, start, self.offset());
        if found == expected {
            into.bytes.extend_from_slice(data);
            into.places.push(RecordSpan { start: start as u32, size: size as u32 });
        } else {
            let problem = Problem::DataChecksum { found, expected };
            into.push_damaged(start, self.offset() + HEAD as u64, problem);
        }
    }

    /// The end found instead of a record that takes `needed` bytes, if the stream has fewer.
    fn end(&self, needed: u64) -> End {
        match &self.problem {
            Some(what) => self.damaged(Problem::Decompression { taken: self.taken, what: what.to_string() }),
            None if self.ahead().is_empty() => End::File,
            None => self.damaged(Problem::Truncated { needed, left: self.ahead().len() as u64 }),
        }
    }

    fn damaged(&self, problem: Problem) -> End {
        End::Damaged(Fault { record: self.record, offset: self.offset(), problem })
    }

    /// Where the next record begins in what the file decompresses to.
    fn offset(&self) -> u64 {
        self.given_up + self.at as u64
    }

    /// The bytes that are already decompressed, from the next record on.
    fn ahead(&self) -> &[u8] {
        &self.inflater.out()[self.at..]
    }

    /// Decompresses until so many bytes are ahead; false if there are not so many.
    fn have(&mut self, bytes: u64, resource: ResourceId, fetch: &dyn Fetch) -> Result<bool, Error> {
        while (self.ahead().len() as u64) < bytes {
            if !self.more(resource, fetch)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Decompresses a little more; false at the end.
    fn more(&mut self, resource: ResourceId, fetch: &dyn Fetch) -> Result<bool, Error> {
        let size = fetch.size(resource)?;
        if self.problem.is_some() || self.taken == size {
            return Ok(false);
        }
        let mut bytes = Vec::new();
        let end = size.min(self.taken + STEP.min(fetch.largest()).max(1));
        fetch.read(resource, self.taken..end, &mut bytes)?;
        self.taken = end;
        self.problem = self.inflater.take(&bytes, end == size).err().map(|e| e.to_string());
        Ok(true)
    }
}
