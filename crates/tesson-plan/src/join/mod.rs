//! Joining corpora by key (spec/engine.md §3.2): the first corpus gives chunks and order, the others a partner to each
//! sequence.
//!
//! The result is an [`Index`] like any other, so that orders, sharing, cutting and states know nothing of joins, and a mapping from its sequences to those of each corpus.

mod key_lookup;
mod keys;
#[cfg(test)]
mod tests;

use std::ops::Range;

use tesson_core::{CompactLengths, Index, Key, Keys, RepeatedKeys};

pub use keys::KeyColumns;

use key_lookup::KeyLookup;
use keys::KeyRef;

/// Keys that a report names, at most, of each kind.
const NAMED: usize = 5;

/// How a sequence is treated that has no partner in some corpus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MissingKeys {
    /// It is left out and counted, as in the reference.
    LeaveOut,
    /// It comes without samples in the streams of that corpus.
    Empty,
    /// Nothing is read. A [`Joiner`] leaves it out; the caller refuses by the report.
    Refuse,
}

/// One corpus other than the first.
#[derive(Clone, Copy)]
pub struct Secondary<'a> {
    /// Its chunks and lengths.
    pub index: &'a Index,
    /// Its keys.
    pub keys: &'a KeyColumns,
    /// Which sequence of a repeated key is the partner.
    pub repeated: RepeatedKeys,
    /// Samples by which a sequence may differ in length from its partner in the first corpus and have its length.
    pub tolerance: Option<u32>,
    /// Whether its samples join the frames of the first corpus one by one, where that has frames. A single one joins all.
    pub splits: bool,
}

/// Joins corpora, chunk by chunk of the first one.
pub struct Joiner<'a> {
    primary: &'a Index,
    partners: Vec<Partner<'a>>,
    /// The corpus whose lengths count, 0 being the first; without one the longest counts.
    definer: Option<usize>,
    missing: MissingKeys,
    joined: Joined,
    /// Scratch: what one chunk's sequences are made of.
    rows: Vec<u32>,
    lengths: Vec<u32>,
    frames: Vec<u32>,
}

struct Partner<'a> {
    index: &'a Index,
    find: KeyLookup<'a>,
    /// Whether frames join frames.
    in_turn: bool,
    /// Whether samples do.
    splits: bool,
    tolerance: Option<u32>,
    /// What was found for the key before: the sequences that belong to it.
    run: Option<Range<u32>>,
    /// The chunk that the last partner was found in.
    chunk: usize,
    /// Storage bytes of a sequence, on the average.
    mean: u64,
    /// Of the chunk being joined: each sequence's partner, [`NO_PARTNER`] for none.
    found: Vec<u32>,
}

/// No partner.
const NO_PARTNER: u32 = u32::MAX;

/// The result.
#[derive(Debug, Default)]
pub struct Joined {
    /// Chunks and lengths of the joined corpus; complete.
    pub index: Index,
    /// Its chunks, as sequences of the corpora it is made of.
    pub chunks: Vec<JoinedChunk>,
    /// What was not joined.
    pub report: JoinReport,
}

/// A chunk of a joined corpus: which sequences of which corpora belong together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JoinedChunk {
    /// The chunk of the first corpus.
    pub chunk: u32,
    rows: Numbers,
    partners: Box<[Numbers]>,
    /// Of each sequence which frame of its utterance it is, if samples of some corpus join frames.
    frames: Option<Numbers>,
}

/// A sequence number for each sequence of a chunk.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Numbers {
    /// Consecutive ones, from this on.
    From(u32),
    /// Any ones, as distances from the least.
    Each { least: u32, beyond: CompactLengths },
}

/// The sequences that were not joined.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JoinReport {
    /// Sequences of the first corpus.
    pub sequences: u64,
    /// Those of them that are in the joined corpus.
    pub joined: u64,
    /// The other corpora, in order.
    pub parts: Vec<PartReport>,
}

/// What one corpus lacks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartReport {
    /// Sequences of the first corpus that have no partner here.
    pub missing: u64,
    /// The first few of their keys, in the order of the first corpus.
    pub first_missing: Vec<Key>,
    /// Utterances that have fewer frames here than in the first corpus. None of their frames is joined.
    pub short: u64,
    /// The first of them, and how many frames it has here and in the first corpus.
    pub first_short: Option<(Key, [u32; 2])>,
    /// Sequences, or utterances whose frames are sequences, that are in both corpora and have a different number of samples.
    /// Where one of them has a single sample, that stands for the whole: it does not count.
    pub unequal: u64,
    /// The first of them, and how many samples it has here and in the first corpus.
    pub first_unequal: Option<(Key, [u32; 2])>,
    /// Sequences here whose key an earlier one has.
    pub repeated: u64,
    /// The first few of them, in the order of this corpus.
    pub first_repeated: Vec<Key>,
    /// Of each of those a sequence that has the key before, and the one that has it again, counted within the whole of
    /// this corpus.
    pub repeated_at: Vec<(u32, u32)>,
}

impl Numbers {
    fn of(numbers: &[u32]) -> Numbers {
        let first = numbers.first().copied().unwrap_or(0);
        if numbers
            .iter()
            .zip(u64::from(first)..)
            .all(|(&n, expected)| u64::from(n) == expected && n != NO_PARTNER)
        {
            return Numbers::From(first);
        }
        let least = numbers.iter().copied().min().unwrap_or(0);
        let beyond: Vec<u32> = numbers.iter().map(|n| n - least).collect();
        Numbers::Each { least, beyond: CompactLengths::new(&beyond) }
    }

    #[inline]
    fn get(&self, i: u32) -> u32 {
        match self {
            Numbers::From(first) => first + i,
            Numbers::Each { least, beyond } => least + beyond.get(i as usize),
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Numbers::From(_) => 0,
            Numbers::Each { beyond, .. } => beyond.bytes(),
        }
    }
}

impl JoinedChunk {
    /// The sequence of the first corpus, counted within [`JoinedChunk::chunk`], that is sequence `i` here.
    #[inline]
    pub fn row(&self, i: u32) -> u32 {
        self.rows.get(i)
    }

    /// The sequence that belongs to sequence `i`, counted within the whole of corpus `part` (1 for the second one).
    #[inline]
    pub fn partner(&self, part: usize, i: u32) -> Option<u32> {
        Some(self.partners[part - 1].get(i)).filter(|&n| n != NO_PARTNER)
    }

    /// Which frame of its utterance sequence `i` is, where samples of a corpus [join frames](Secondary::splits); 0 elsewhere.
    #[inline]
    pub fn frame(&self, i: u32) -> u32 {
        self.frames.as_ref().map_or(0, |frames| frames.get(i))
    }

    /// Bytes of memory held.
    pub fn bytes(&self) -> usize {
        size_of::<JoinedChunk>()
            + self.partners.len() * size_of::<Numbers>()
            + self.rows.bytes()
            + self.frames.as_ref().map_or(0, Numbers::bytes)
            + self.partners.iter().map(Numbers::bytes).sum::<usize>()
    }
}

/// The keys of a corpus on its own that occur again: counted, and up to `most` of them named. The corpus has fewer than
/// 2^32 − 1 sequences.
pub fn repeated_keys(keys: &KeyColumns, most: usize) -> PartReport {
    take_repeated(keys, &mut KeyLookup::new(keys, RepeatedKeys::First, most))
}

fn take_repeated(keys: &KeyColumns, find: &mut KeyLookup<'_>) -> PartReport {
    let first_repeated = find.repeated_at.iter().map(|&(_, n)| keys.get(n.into()).to_key()).collect();
    let repeated_at = std::mem::take(&mut find.repeated_at);
    PartReport { repeated: find.repeated, first_repeated, repeated_at, ..PartReport::default() }
}

impl<'a> Joiner<'a> {
    /// Joins `secondaries` to a first corpus. `definer` is the number of the corpus whose lengths count, the first one
    /// being 0; without one the longest counts. No corpus has 2^32 − 1 sequences or more.
    pub fn new(
        primary: &'a Index,
        secondaries: &[Secondary<'a>],
        definer: Option<usize>,
        missing: MissingKeys,
    ) -> Joiner<'a> {
        let mut report = JoinReport { sequences: primary.n_sequences(), ..JoinReport::default() };
        let partner = |s: &Secondary<'a>| {
            let mut find = KeyLookup::new(s.keys, s.repeated, NAMED);
            report.parts.push(take_repeated(s.keys, &mut find));
            let bytes: u64 = (0..s.index.n_chunks()).map(|c| s.index.chunk(c).bytes).sum();
            let mean = bytes / s.index.n_sequences().max(1);
            let in_turn = s.repeated == RepeatedKeys::InTurn;
            let Secondary { index, tolerance, splits, .. } = *s;
            Partner { index, find, in_turn, splits, tolerance, run: None, chunk: 0, mean, found: Vec::new() }
        };
        let partners = secondaries.iter().map(partner).collect();
        let joined = Joined { report, ..Joined::default() };
        let (rows, lengths, frames) = Default::default();
        Joiner { primary, partners, definer, missing, joined, rows, lengths, frames }
    }

    /// Joins the next chunk of the first corpus, whose keys these are.
    pub fn push(&mut self, chunk: u32, keys: &Keys) {
        self.rows.clear();
        self.lengths.clear();
        self.frames.clear();
        self.partners.iter_mut().for_each(|p| p.found.clear());
        let lengths = self.primary.lengths(chunk as usize);
        match keys {
            Keys::Runs { keys, ends } => {
                let mut start = 0;
                for (run, &end) in ends.iter().enumerate() {
                    let key = KeyRef::of(keys, run);
                    self.find(key);
                    self.compare(key, end - start);
                    if !self.is_short(key, end - start) {
                        (start..end).for_each(|row| {
                            self.sequence(row, lengths.get(row as usize), key, row - start);
                        });
                    }
                    start = end;
                }
            }
            _ => (0..lengths.len()).for_each(|row| {
                let key = KeyRef::of(keys, row);
                self.find(key);
                self.compare(key, lengths.get(row));
                self.sequence(row as u32, lengths.get(row), key, 0);
            }),
        }
        self.joined.report.joined += self.rows.len() as u64;
        if self.rows.is_empty() {
            return;
        }
        let span = self.primary.chunk(chunk as usize);
        let own = u128::from(span.bytes) * self.rows.len() as u128 / u128::from(span.n_sequences.max(1));
        let others: u64 = self.partners.iter().map(|p| p.mean * self.rows.len() as u64).sum();
        self.joined.index.push(CompactLengths::new(&self.lengths), own as u64 + others);
        self.joined.chunks.push(JoinedChunk {
            chunk,
            rows: Numbers::of(&self.rows),
            partners: self.partners.iter().map(|p| Numbers::of(&p.found)).collect(),
            frames: self.partners.iter().any(|p| p.splits).then(|| Numbers::of(&self.frames)),
        });
    }

    /// Finds the sequences of a key in the other corpora.
    fn find(&mut self, key: KeyRef<'_>) {
        self.partners.iter_mut().for_each(|partner| partner.run = partner.find.find_run(key));
    }

    /// Counts the corpora that have another number of samples than `n` for the key that was found last.
    fn compare(&mut self, key: KeyRef<'_>, n: u32) {
        for (partner, report) in self.partners.iter_mut().zip(&mut self.joined.report.parts) {
            let Some(run) = partner.run.clone() else { continue };
            let found = if partner.in_turn { run.end - run.start } else { partner.length(run.start.into()) };
            if found != n && found != 1 && n != 1 {
                report.unequal += 1;
                report.first_unequal.get_or_insert_with(|| (key.to_key(), [found, n]));
            }
        }
    }

    /// Whether the utterance of a key has fewer than `n` frames in the first corpus whose frames are to join them one by one;
    /// counts it then, unless a corpus does not have it at all.
    fn is_short(&mut self, key: KeyRef<'_>, n: u32) -> bool {
        if self.partners.iter().any(|partner| partner.run.is_none()) {
            return false;
        }
        let frames = |partner: &mut Partner<'_>| match partner.run.clone()? {
            run if partner.in_turn => Some(run.end - run.start),
            run if partner.splits => Some(partner.length(run.start.into())).filter(|&n| n != 1),
            _ => None,
        };
        let short = self.partners.iter_mut().enumerate().find_map(|(part, partner)| {
            let found = frames(partner)?;
            (n > found.saturating_add(partner.tolerance.unwrap_or(0))).then_some((part, found))
        });
        let Some((part, found)) = short else { return false };
        let report = &mut self.joined.report.parts[part];
        report.short += 1;
        report.first_short.get_or_insert_with(|| (key.to_key(), [found, n]));
        true
    }

    /// Takes a sequence in, or leaves it out. It is frame `frame` of the utterance of its key, or 0.
    fn sequence(&mut self, row: u32, length: u32, key: KeyRef<'_>, frame: u32) {
        let mut counted = if self.definer.is_none_or(|d| d == 0) { length } else { 0 };
        let mut complete = true;
        for (part, partner) in self.partners.iter_mut().enumerate() {
            let found = match &partner.run {
                Some(run) if partner.in_turn => frame_of(run, frame, partner.tolerance),
                run => run.as_ref().map(|run| run.start),
            };
            match found {
                Some(sequence) if self.definer.is_none_or(|d| d == part + 1) => {
                    let own = if partner.splits { length } else { partner.length(sequence.into()) };
                    let fits = partner.tolerance.is_some_and(|most| own.abs_diff(length) <= most);
                    counted = counted.max(if fits { length } else { own });
                }
                Some(_) => {}
                None => {
                    complete = false;
                    let report = &mut self.joined.report.parts[part];
                    report.missing += 1;
                    if report.first_missing.len() < NAMED {
                        report.first_missing.push(key.to_key());
                    }
                }
            }
            partner.found.push(found.unwrap_or(NO_PARTNER));
        }
        if complete || self.missing == MissingKeys::Empty {
            self.rows.push(row);
            self.frames.push(frame);
            // Where the corpus whose lengths count has nothing, the sequence still counts.
            self.lengths.push(counted.max(1));
        } else {
            self.partners.iter_mut().for_each(|p| p.found.truncate(self.rows.len()));
        }
    }

    /// The joined corpus, when all chunks of the first one have been pushed.
    pub fn finish(mut self) -> Joined {
        self.joined.index.seal();
        self.joined
    }
}

/// Which of the sequences of an utterance joins a frame of the first corpus. The last one joins so many further frames.
fn frame_of(run: &Range<u32>, frame: u32, tolerance: Option<u32>) -> Option<u32> {
    let n = run.end - run.start;
    (frame < n.saturating_add(tolerance.unwrap_or(0))).then(|| run.start + frame.min(n - 1))
}

impl Partner<'_> {
    /// The counted length of a sequence.
    fn length(&mut self, sequence: u64) -> u32 {
        let holds = |c: usize| {
            let span = self.index.chunk(c);
            (span.first_sequence..span.first_sequence + u64::from(span.n_sequences)).contains(&sequence)
        };
        if !holds(self.chunk) {
            self.chunk = self.index.chunk_of_sequence(sequence);
        }
        let first = self.index.chunk(self.chunk).first_sequence;
        self.index.lengths(self.chunk).get((sequence - first) as usize)
    }
}
