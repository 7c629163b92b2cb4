//! Where the sequences of a chunk lie, stream by stream: what reading a part of it needs.
//!
//! Made by a walk over the heads of all records when a part of the chunk is first wanted, and kept: the file has nothing
//! of the kind. Records of one size take no memory; of others one position is kept for about 16 KiB of the chunk.
//!
//! Of a single sequence a short record, a label mostly, costs a call of the system just as the long one of another stream does.
//! Where single sequences are wanted, short records are kept with the directory, as far as there is [room](ShortRoom).

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use tesson_core::{ChunkId, DataError, Error, Fetch};

use super::decode::Cut;
use super::layout::ChunkPlace;
use super::record::Form;
use super::window::{READ, Window};
use super::{FILE, Rules};

/// Bytes of a chunk for which one position of each stream is kept, about.
const SPACING: u64 = 16 << 10;

/// Bytes that a walk reads at once where records are so long that most are passed over.
const GLANCE: u64 = 64;

/// Records of this size are long.
const LONG: u64 = 16 << 10;

/// Records are short if all of a stream in a chunk take this part of the chunk at most.
const SHORT: u64 = 32;

/// Of what may be read at once this part is for short records, those of all files together.
const SHARE: u64 = 4;

/// Bytes of the smallest record, about: a head and a value.
const LEAST: u64 = 8;

/// The room for short records of a file, in bytes.
pub(super) struct ShortRoom {
    /// All of it.
    pub(super) most: usize,
    left: AtomicUsize,
}

impl ShortRoom {
    /// The room for one of so many files.
    pub(super) fn of(rules: &Rules, n_files: usize, fetch: &dyn Fetch) -> ShortRoom {
        let several = rules.used().nth(1).is_some();
        let can_have =
            |chunk: &&ChunkPlace| several && chunk.bytes() > SHORT * LEAST * u64::from(chunk.n_sequences);
        let needed: u64 = rules.chunks.iter().filter(can_have).map(most_short).sum();
        let most = needed.min(fetch.largest() / SHARE / n_files.max(1) as u64) as usize;
        ShortRoom { most, left: AtomicUsize::new(most) }
    }

    /// Takes so many bytes, if they are left.
    fn take(&self, bytes: usize) -> bool {
        let rest = |left: usize| left.checked_sub(bytes);
        self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, rest).is_ok()
    }

    fn give_back(&self, bytes: usize) {
        self.left.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// Bytes of a stream of a chunk whose records are short, at most.
fn most_short(chunk: &ChunkPlace) -> u64 {
    chunk.bytes() / SHORT
}

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
    /// The bytes of all records, if they are kept.
    kept: Option<Box<[u8]>>,
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
    /// In the file.
    pub(super) bytes: Range<u64>,
}

impl Section {
    /// Keeps the records if they are short, and if there is room for them.
    fn keep(&mut self, chunk: &ChunkPlace, fetch: &dyn Fetch, room: &ShortRoom) {
        let place = self.start..self.end;
        let n = (self.end - self.start) as usize;
        let is_mapped = || fetch.mapped(FILE, place.clone()).is_some();
        if n as u64 > most_short(chunk) || is_mapped() || !room.take(n) {
            return;
        }
        let mut bytes = Vec::with_capacity(n);
        // What cannot be read now is an error where it is wanted.
        match fetch.read_over(FILE, place.clone(), &mut bytes) {
            Ok(()) => self.kept = Some(bytes.into()),
            Err(_) => room.give_back(n),
        }
    }

    /// The bytes of a stretch, if they are kept.
    pub(super) fn kept(&self, stretch: &Stretch) -> Option<&[u8]> {
        let at = |place: u64| (place - self.start) as usize;
        self.kept.as_deref().map(|kept| &kept[at(stretch.bytes.start)..at(stretch.bytes.end)])
    }

    /// The shortest stretch that is known to hold the records from `from` to `to`. `n` is the number of records.
    pub(super) fn stretch(&self, from: u32, to: u32, n: u32) -> Stretch {
        match &self.records {
            Records::Every(size) => {
                let at = |record: u32| self.start + size * u64::from(record);
                Stretch { first: from, bytes: at(from)..at(to) }
            }
            Records::At { spacing, starts } => {
                let at = |mark: usize| starts.get(mark).copied().unwrap_or(self.end);
                let first = from / spacing;
                let bytes = at(first as usize)..at(to.min(n).div_ceil(*spacing) as usize);
                Stretch { first: first * spacing, bytes }
            }
        }
    }

    /// Bytes of memory held beside the section itself.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        let starts = match &self.records {
            Records::Every(_) => 0,
            Records::At { starts, .. } => 8 * starts.len(),
        };
        starts + self.kept.as_ref().map_or(0, |kept| kept.len())
    }
}

/// How many records of a chunk one position is kept for.
fn spacing(chunk: &ChunkPlace) -> u32 {
    let records = SPACING * u64::from(chunk.n_sequences) / chunk.bytes().max(1);
    records.clamp(1, u32::MAX.into()) as u32
}

/// Bytes of memory that the directory of a chunk takes at most, beside short records.
pub(super) fn most_bytes(rules: &Rules, chunk: &ChunkPlace) -> usize {
    let positions = chunk.n_sequences.div_ceil(spacing(chunk)) as usize;
    rules.streams_read().len() * (size_of::<Section>() + 8 * positions)
}

/// Walks over a chunk. Its short records are kept in `short`, if that is given.
pub(super) fn walk(
    rules: &Rules,
    number: ChunkId,
    fetch: &dyn Fetch,
    bytes: &mut Vec<u8>,
    short: Option<&ShortRoom>,
) -> Result<Directory, Error> {
    let chunk = &rules.chunks[number.index()];
    fetch.will_need(FILE, chunk.offset..chunk.end);
    let mut walker = Walker { window: Window::new(fetch, bytes), chunk, step: 0 };
    walker.window.go(chunk.offset..chunk.end);
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
            Err(Cut { sequence, at, why }) => {
                return Ok(Directory::Damaged(rules.damage(number, sequence, i, at, why)));
            }
        }
    }
    if let Some(room) = short {
        let used = sections.iter_mut().zip(&rules.streams).filter(|(_, stream)| !stream.skip);
        used.for_each(|(section, _)| section.keep(chunk, fetch, room));
    }
    Ok(Directory::Sound(sections))
}

struct Walker<'a> {
    window: Window<'a>,
    chunk: &'a ChunkPlace,
    /// Size of the record before.
    step: u64,
}

impl Walker<'_> {
    /// Walks over the records of one stream, the first of which begins at `start`.
    fn section(&mut self, start: u64, form: Form) -> Result<Result<Section, Cut>, Error> {
        let spacing = spacing(self.chunk);
        let (mut at, mut starts) = (start, Vec::new());
        let (mut record, mut next_mark) = (0, 0);
        let mut size = None;
        let mut equal = true;
        while record < self.chunk.n_sequences {
            let chunk = self.chunk;
            // Of all records that begin in what is at hand only the heads are looked at.
            let (from, bytes) = (at, self.look(at, form.head_bytes() as u64)?);
            let mut step;
            loop {
                if record == next_mark {
                    starts.push(at);
                    next_mark = record.saturating_add(spacing);
                }
                let head = match form.head(&bytes[(at - from) as usize..], chunk.end - at) {
                    Ok(head) => head,
                    Err(why) => return Ok(Err(Cut { sequence: record, at, why })),
                };
                step = head.bytes;
                equal &= *size.get_or_insert(step) == step;
                at += step;
                record += 1;
                if record == chunk.n_sequences || at - from + form.head_bytes() as u64 > bytes.len() as u64 {
                    break;
                }
            }
            self.step = step;
        }
        let records = match size {
            Some(size) if equal => Records::Every(size),
            _ => Records::At { spacing, starts: starts.into() },
        };
        Ok(Ok(Section { start, end: at, records, kept: None }))
    }

    /// The bytes from `at` on, at least `n` of them unless the chunk ends before.
    fn look(&mut self, at: u64, n: u64) -> Result<&[u8], Error> {
        self.window.look_by(at, n, if self.step >= LONG { GLANCE } else { READ })
    }
}
