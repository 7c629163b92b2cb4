//! Joining corpora by key (spec/engine.md §3.2): the first corpus defines chunks and order, the others supply a
//! partner for each sequence.
//!
//! The result is an [`Index`] like any other, so that orders, sharing, cutting and states know nothing of joins, and
//! a mapping from its sequences to those of each corpus.
//!
//! Advice for the next editor: a join runs once at opening, over all sequences, so memory decides. Keys take no bytes
//! or 4 where they can ([`KeyColumns`]), look-ups need a table only where keys do not ascend ([`KeyLookup`]), and the
//! mapping stores consecutive numbers as one. Where a key is repeated, the choice of the partner is each format's
//! ([`RepeatedKeys`]), as the reference differs between them. Frames of an utterance are joined one by one
//! (spec/speech.md §9); there a *run* of sequences has one key.

mod key_lookup;
mod keys;
mod rules;
#[cfg(test)]
mod tests;

use std::ops::Range;

use tesson_core::{ChunkId, CompactLengths, Index, Key, Keys, RepeatedKeys};

pub use keys::KeyColumns;
pub use rules::{JoinRules, MissingKeys};

use key_lookup::KeyLookup;
use keys::KeyRef;

/// The most keys of each kind that a report names.
const NAMED: usize = 5;

/// One corpus other than the first.
#[derive(Clone, Copy)]
pub struct Secondary<'a> {
    /// Its chunks and lengths.
    pub index: &'a Index,
    /// Its keys.
    pub keys: &'a KeyColumns,
    /// The choice of the partner among the sequences of a repeated key.
    pub repeated: RepeatedKeys,
    /// The number of samples by which a sequence may differ from its partner in the first corpus and still count with
    /// the partner's length.
    pub tolerance: Option<u32>,
    /// `true`: where the first corpus has frames, each sample of a sequence here joins one of them, and a single
    /// sample joins all. `false`: sequences are joined as a whole.
    pub splits: bool,
}

/// Joins corpora, chunk by chunk of the first one.
pub struct Joiner<'a> {
    primary: &'a Index,
    partners: Vec<Partner<'a>>,
    /// The corpus that defines the counted lengths, 0 for the first; `None`: the longest counts.
    definer: Option<usize>,
    missing: MissingKeys,
    joined: Joined,
    /// Scratch for the chunk being joined: for each sequence that is kept its number in the first corpus, its counted
    /// length, and the number of its frame.
    rows: Vec<u32>,
    lengths: Vec<u32>,
    frames: Vec<u32>,
}

/// Another corpus during a join: how partners are found there, and those of the chunk being joined.
struct Partner<'a> {
    index: &'a Index,
    find: KeyLookup<'a>,
    /// True if its frames join the frames of the first corpus.
    in_turn: bool,
    /// True if its samples join the frames of the first corpus.
    splits: bool,
    tolerance: Option<u32>,
    /// The sequences with the key that was looked up last.
    run: Option<Range<u32>>,
    /// The chunk of the last partner.
    chunk: ChunkId,
    /// Storage bytes of a sequence, on the average.
    mean: u64,
    /// For each sequence of the chunk being joined its partner, or [`NO_PARTNER`].
    found: Vec<u32>,
}

/// Stands for a missing partner.
const NO_PARTNER: u32 = u32::MAX;

/// The result of a join.
#[derive(Debug, Default)]
pub struct Joined {
    /// Chunks and lengths of the joined corpus; complete.
    pub index: Index,
    /// Its chunks, as sequences of the corpora it is made of.
    pub chunks: Vec<JoinedChunk>,
    /// The sequences that were not joined.
    pub report: JoinReport,
}

/// A chunk of a joined corpus: which sequences of which corpora belong together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JoinedChunk {
    /// The chunk of the first corpus.
    pub chunk: ChunkId,
    rows: Numbers,
    partners: Box<[Numbers]>,
    /// For each sequence the number of its frame in the utterance, if samples of some corpus join frames.
    frames: Option<Numbers>,
}

/// A sequence number for each sequence of a chunk.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Numbers {
    /// Consecutive ones, from this on.
    From(u32),
    /// Any numbers, as distances from the least.
    Each { least: u32, beyond: CompactLengths },
}

/// The sequences that were not joined.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JoinReport {
    /// Sequences of the first corpus.
    pub sequences: u64,
    /// The number of them that are in the joined corpus.
    pub joined: u64,
    /// The other corpora, in order.
    pub parts: Vec<PartReport>,
}

/// The sequences that one corpus lacks, has twice, or has with another length.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartReport {
    /// Sequences of the first corpus that have no partner here.
    pub missing: u64,
    /// The first few of their keys, in the order of the first corpus.
    pub first_missing: Vec<Key>,
    /// Utterances that have fewer frames here than in the first corpus. None of their frames is joined.
    pub short: u64,
    /// The first such utterance, with its number of frames here and in the first corpus.
    pub first_short: Option<(Key, [u32; 2])>,
    /// Sequences, or utterances if their frames are sequences, that are in both corpora with different numbers of
    /// samples. A single sample stands for the whole and is not counted here.
    pub unequal: u64,
    /// The first such sequence, with its number of samples here and in the first corpus.
    pub first_unequal: Option<(Key, [u32; 2])>,
    /// Sequences here with the key of an earlier one.
    pub repeated: u64,
    /// The first few of them, in the order of this corpus.
    pub first_repeated: Vec<Key>,
    /// For each of those keys an earlier sequence and the one that repeats it, counted within the whole of this
    /// corpus.
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
    /// The number of sequence `i` in the first corpus, counted within [`JoinedChunk::chunk`].
    #[inline]
    pub fn row(&self, i: u32) -> u32 {
        self.rows.get(i)
    }

    /// The partner of sequence `i`, counted within the whole of corpus `part` (1 for the second one).
    #[inline]
    pub fn partner(&self, part: usize, i: u32) -> Option<u32> {
        Some(self.partners[part - 1].get(i)).filter(|&n| n != NO_PARTNER)
    }

    /// The number of sequence `i` as a frame of its utterance, if samples of a corpus [join
    /// frames](Secondary::splits), or else 0.
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

/// Counts the repeated keys of a single corpus and names up to `most` of them. The corpus has fewer than 2^32 − 1
/// sequences.
pub fn repeated_keys(keys: &KeyColumns, most: usize) -> PartReport {
    take_repeated(keys, &mut KeyLookup::new(keys, RepeatedKeys::First, most))
}

fn take_repeated(keys: &KeyColumns, find: &mut KeyLookup<'_>) -> PartReport {
    let first_repeated = find.repeated_at.iter().map(|&(_, n)| keys.get(n.into()).to_key()).collect();
    let repeated_at = std::mem::take(&mut find.repeated_at);
    PartReport { repeated: find.repeated, first_repeated, repeated_at, ..PartReport::default() }
}

impl<'a> Joiner<'a> {
    /// Joins `secondaries` to a first corpus. `definer` is the number of the corpus that defines the counted lengths,
    /// 0 for the first; without one the longest counts. No corpus has 2^32 − 1 sequences or more.
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
            let bytes: u64 = s.index.chunk_ids().map(|c| s.index.chunk(c).bytes).sum();
            let mean = bytes / s.index.n_sequences().max(1);
            let in_turn = s.repeated == RepeatedKeys::InTurn;
            let Secondary { index, tolerance, splits, .. } = *s;
            Partner {
                index,
                find,
                in_turn,
                splits,
                tolerance,
                run: None,
                chunk: ChunkId(0),
                mean,
                found: Vec::new(),
            }
        };
        let partners = secondaries.iter().map(partner).collect();
        let joined = Joined { report, ..Joined::default() };
        let (rows, lengths, frames) = Default::default();
        Joiner { primary, partners, definer, missing, joined, rows, lengths, frames }
    }

    /// Joins the next chunk of the first corpus, which has these keys.
    pub fn push(&mut self, chunk: ChunkId, keys: &Keys) {
        self.rows.clear();
        self.lengths.clear();
        self.frames.clear();
        self.partners.iter_mut().for_each(|p| p.found.clear());
        let lengths = self.primary.lengths(chunk);
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
        let span = self.primary.chunk(chunk);
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

    /// Looks a key up in the other corpora.
    fn find(&mut self, key: KeyRef<'_>) {
        self.partners.iter_mut().for_each(|partner| partner.run = partner.find.find_run(key));
    }

    /// Counts, for each corpus, a key that has another number of samples there than `n`.
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

    /// True if the utterance of a key has fewer than `n` frames in a corpus that must supply one for each frame of
    /// the first; counts it for the first such corpus. False if a corpus lacks the key, since the sequence then
    /// counts as missing.
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

    /// Keeps a sequence or leaves it out. `frame` is its number in the utterance of its key, or 0.
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
            // A sequence that the defining corpus lacks still counts as one sample.
            self.lengths.push(counted.max(1));
        } else {
            self.partners.iter_mut().for_each(|p| p.found.truncate(self.rows.len()));
        }
    }

    /// Completes the joined corpus after all chunks of the first one have been pushed.
    pub fn finish(mut self) -> Joined {
        self.joined.index.seal();
        self.joined
    }
}

/// The sequence of an utterance that joins a frame of the first corpus. The last one also joins as many further
/// frames as the tolerance allows.
fn frame_of(run: &Range<u32>, frame: u32, tolerance: Option<u32>) -> Option<u32> {
    let n = run.end - run.start;
    (frame < n.saturating_add(tolerance.unwrap_or(0))).then(|| run.start + frame.min(n - 1))
}

impl Partner<'_> {
    /// The counted length of a sequence.
    fn length(&mut self, sequence: u64) -> u32 {
        let holds = |c: ChunkId| {
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
