//! Where the sequences of a chunk lie, stream by stream: what reading a part of it needs.
//!
//! Made by a walk over the heads of all records when a part of the chunk is first wanted, and kept: the file has nothing
//! of the kind. Records of one size take no memory; of others one position is kept for about 16 KiB of the chunk.

use tesson_core::{DataError, Error, Fetch};

use super::layout::ChunkPlace;
use super::record::Form;
use super::{FILE, Rules};

/// Bytes of a chunk for which one position of each stream is kept, about.
const SPACING: u64 = 16 << 10;

/// Bytes that a walk reads at once, and those that it reads where records are so long that most are passed over.
const READ: u64 = 256 << 10;
const GLANCE: u64 = 64;

/// Records of this size are long.
const LONG: u64 = 16 << 10;

/// The directory of a chunk, or what makes that impossible.
#[derive(Debug)]
pub(super) enum Directory {
    /// The streams in the order of the file, up to the last that is used.
    Sound(Vec<Section>),
    Damaged(DataError),
}

/// One stream of a chunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Section {
    /// In the file.
    start: u64,
    end: u64,
    records: Records,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Records {
    /// All of this size.
    Every(u64),
    /// Where every `spacing`-th begins.
    At { spacing: u32, starts: Box<[u64]> },
}

/// Consecutive records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stretch {
    /// The first.
    pub(super) first: u32,
    /// Behind the last.
    pub(super) end: u32,
    /// In the file.
    pub(super) bytes: std::ops::Range<u64>,
}

impl Section {
    /// The shortest stretch that is known to hold record `from`; more, up to record `to`, if they come to no more than
    /// `most` bytes. `n` is the number of records.
    pub(super) fn stretch(&self, from: u32, to: u32, n: u32, most: u64) -> Stretch {
        match &self.records {
            Records::Every(size) => {
                let fit =
                    most.checked_div(*size).map_or(u32::MAX, |fit| fit.clamp(1, u64::from(u32::MAX)) as u32);
                let end = to.min(from.saturating_add(fit));
                let at = |record: u32| self.start + size * u64::from(record);
                Stretch { first: from, end, bytes: at(from)..at(end) }
            }
            Records::At { spacing, starts } => {
                let at = |mark: usize| starts.get(mark).copied().unwrap_or(self.end);
                let first = (from / spacing) as usize;
                let last = to.div_ceil(*spacing) as usize;
                let mut end = first + 1;
                while end < last && at(end + 1) - at(first) <= most {
                    end += 1;
                }
                let record = |mark: usize| (mark as u64 * u64::from(*spacing)).min(n.into()) as u32;
                Stretch { first: record(first), end: record(end), bytes: at(first)..at(end) }
            }
        }
    }

    /// Bytes of memory held beside the section itself.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        match &self.records {
            Records::Every(_) => 0,
            Records::At { starts, .. } => 8 * starts.len(),
        }
    }
}

/// How many records of a chunk one position is kept for.
fn spacing(chunk: &ChunkPlace) -> u32 {
    let records = SPACING * u64::from(chunk.n_sequences) / chunk.bytes().max(1);
    records.clamp(1, u32::MAX.into()) as u32
}

/// Bytes of memory that the directory of a chunk takes at most.
pub(super) fn most_bytes(rules: &Rules, chunk: &ChunkPlace) -> usize {
    let positions = chunk.n_sequences.div_ceil(spacing(chunk)) as usize;
    rules.streams_read().len() * (size_of::<Section>() + 8 * positions)
}

/// Walks over a chunk.
pub(super) fn walk(
    rules: &Rules,
    number: u32,
    fetch: &dyn Fetch,
    bytes: &mut Vec<u8>,
) -> Result<Directory, Error> {
    let chunk = &rules.chunks[number as usize];
    fetch.will_need(FILE, chunk.offset..chunk.end);
    bytes.clear();
    let mut walker = Walker { fetch, chunk, bytes, start: chunk.offset, step: 0 };
    if chunk.n_sequences == 1 {
        // The index has believed the table.
        let length = walker.look(chunk.offset, 4)?.first_chunk().copied().map(u32::from_le_bytes);
        rules.check_lengths(number, length.as_slice())?;
    }
    let mut at = chunk.offset + chunk.prefix_bytes();
    let mut sections = Vec::with_capacity(rules.streams_read().len());
    for (i, stream) in rules.streams_read().iter().enumerate() {
        match walker.section(at, stream.form)? {
            Ok(section) => {
                at = section.end;
                sections.push(section);
            }
            Err((sequence, at, why)) => {
                return Ok(Directory::Damaged(rules.damage(number, sequence, i, at, why)));
            }
        }
    }
    Ok(Directory::Sound(sections))
}

/// Why a section has no end: at which record, and where that begins.
type Cut = (u32, u64, super::record::Broken);

struct Walker<'a> {
    fetch: &'a dyn Fetch,
    chunk: &'a ChunkPlace,
    bytes: &'a mut Vec<u8>,
    /// Where `bytes` begin in the file.
    start: u64,
    /// Size of the record before.
    step: u64,
}

impl Walker<'_> {
    /// Walks over the records of one stream, the first of which begins at `start`.
    fn section(&mut self, start: u64, form: Form) -> Result<Result<Section, Cut>, Error> {
        let spacing = spacing(self.chunk);
        let (mut at, mut starts) = (start, Vec::new());
        let mut size = None;
        let mut equal = true;
        for record in 0..self.chunk.n_sequences {
            if record % spacing == 0 {
                starts.push(at);
            }
            let left = self.chunk.end - at;
            let head = match form.head(self.look(at, form.head_bytes() as u64)?, left) {
                Ok(head) => head,
                Err(why) => return Ok(Err((record, at, why))),
            };
            equal &= *size.get_or_insert(head.bytes) == head.bytes;
            self.step = head.bytes;
            at += head.bytes;
        }
        let records = match size {
            Some(size) if equal => Records::Every(size),
            _ => Records::At { spacing, starts: starts.into() },
        };
        Ok(Ok(Section { start, end: at, records }))
    }

    /// The bytes from `at` on, at least `n` of them unless the chunk ends before.
    fn look(&mut self, at: u64, n: u64) -> Result<&[u8], Error> {
        let end = self.chunk.end.min(at + n);
        if at < self.start || end > self.start + self.bytes.len() as u64 {
            let read = if self.step >= LONG { GLANCE } else { READ.min(self.fetch.largest()) };
            self.start = at;
            self.fetch.read_over(FILE, at..self.chunk.end.min(at + read), self.bytes)?;
        }
        Ok(&self.bytes[(at - self.start) as usize..])
    }
}
