//! Where entries lie: chunks of columns, without an allocation for an entry.

use std::ops::Range;

use tesson_core::{CompactLengths, Index, Keys};

use super::fault::MlfFault;
use super::key;
use crate::images::lossy;

/// An entry of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Where it begins in the file.
    pub(crate) offset: u64,
    /// Its line, from 0.
    pub(crate) line: u64,
    /// Its bytes up to what ends it.
    pub(crate) size: u32,
    /// Its frames, at least 1.
    pub(crate) frames: u32,
}

/// How entries become sequences.
#[derive(Clone, Copy, Debug)]
pub(super) struct TableRules {
    /// Bytes of a chunk, at most, unless one entry has more.
    pub(super) chunk_bytes: u64,
    pub(super) numeric_keys: bool,
    /// True if each frame is a sequence.
    pub(super) frame_mode: bool,
}

/// Consecutive entries of one file.
#[derive(Debug)]
pub(super) struct LabelChunk {
    /// The file, counted among the label files.
    pub(super) file: u32,
    /// Where it begins.
    pub(super) offset: u64,
    pub(super) line: u64,
    /// Of each entry where it begins, its bytes and its line, from the beginning of the chunk on.
    at: Box<[u32]>,
    sizes: CompactLengths,
    lines: CompactLengths,
    /// The frames of each entry.
    frames: CompactLengths,
    /// The keys of all sequences: runs of frames, if each frame is a sequence.
    pub(super) keys: Keys,
}

impl LabelChunk {
    /// Entry `i`.
    pub(super) fn entry(&self, i: usize) -> Entry {
        Entry {
            offset: self.offset + u64::from(self.at[i]),
            line: self.line + u64::from(self.lines.get(i)),
            size: self.sizes.get(i),
            frames: self.frames.get(i),
        }
    }

    /// The entry of a sequence, and which frames of it the sequence has.
    pub(super) fn find(&self, sequence: u32) -> (usize, Range<u32>) {
        let Keys::Runs { ends, .. } = &self.keys else {
            let entry = sequence as usize;
            return (entry, 0..self.frames.get(entry));
        };
        let entry = ends.partition_point(|&end| end <= sequence);
        let frame = sequence - entry.checked_sub(1).map_or(0, |before| ends[before]);
        (entry, frame..frame + 1)
    }

    fn bytes(&self) -> usize {
        size_of::<LabelChunk>()
            + 4 * self.at.len()
            + [&self.sizes, &self.lines, &self.frames].map(CompactLengths::bytes).iter().sum::<usize>()
            + self.keys.bytes()
    }
}

/// The chunks of all files, as entries are added.
pub(crate) struct Table {
    rules: TableRules,
    file: u32,
    chunks: Vec<LabelChunk>,
    index: Index,
    open: Open,
}

/// The chunk that is not complete.
#[derive(Default)]
struct Open {
    offset: u64,
    line: u64,
    /// Where its last entry ends.
    end: u64,
    n_frames: u64,
    at: Vec<u32>,
    sizes: Vec<u32>,
    lines: Vec<u32>,
    frames: Vec<u32>,
    text: Vec<u8>,
    ends: Vec<u32>,
    numbers: Vec<u64>,
}

/// Bytes and lines of a chunk, at most.
const MOST: u64 = u32::MAX as u64;

/// Bytes that a decoded frame takes.
const FRAME_BYTES: u64 = 4;

impl Table {
    pub(super) fn new(rules: TableRules) -> Table {
        Table { rules, file: 0, chunks: Vec::new(), index: Index::new(), open: Open::default() }
    }

    /// Adds the next entry of the file.
    pub(crate) fn push(&mut self, entry: Entry, key: &[u8]) -> Result<(), MlfFault> {
        let number = self.rules.numeric_keys.then(|| key::number(key));
        if number == Some(None) {
            return Err(MlfFault::KeyNotANumber { found: lossy(key) });
        }
        let end = entry.offset + u64::from(entry.size);
        let n_frames = self.open.n_frames + u64::from(entry.frames);
        let bytes = end - self.open.offset;
        let is_full = bytes > self.rules.chunk_bytes.min(MOST)
            || self.rules.frame_mode && n_frames > MOST
            || entry.line - self.open.line > MOST;
        if is_full || self.open.at.is_empty() {
            self.flush();
            (self.open.offset, self.open.line) = (entry.offset, entry.line);
        }
        let open = &mut self.open;
        open.end = end;
        open.n_frames += u64::from(entry.frames);
        open.at.push((entry.offset - open.offset) as u32);
        open.lines.push((entry.line - open.line) as u32);
        open.sizes.push(entry.size);
        open.frames.push(entry.frames);
        match number.flatten() {
            Some(number) => open.numbers.push(number),
            None => {
                open.text.extend_from_slice(key);
                open.ends.push(open.text.len() as u32);
            }
        }
        Ok(())
    }

    /// Ends the file: the next entry is one of the next file.
    pub(super) fn next_file(&mut self) {
        self.flush();
        self.file += 1;
    }

    /// Ends the chunk.
    fn flush(&mut self) {
        let Open { offset, line, end, n_frames, at, sizes, lines, frames, text, ends, numbers } =
            std::mem::take(&mut self.open);
        if at.is_empty() {
            return;
        }
        let keys = if self.rules.numeric_keys {
            Keys::Numbers(numbers).compacted()
        } else {
            Keys::Texts { bytes: text, ends }
        };
        let lengths = CompactLengths::new(&frames);
        let (keys, counted) = if self.rules.frame_mode {
            let ends = frames.iter().scan(0, |end, n| {
                *end += n;
                Some(*end)
            });
            let keys = Keys::Runs { keys: Box::new(keys), ends: ends.collect() };
            (keys, CompactLengths::constant(1, n_frames as u32))
        } else {
            (keys, lengths.clone())
        };
        // A few bytes of text are the labels of any number of frames: what they take in memory counts, too.
        self.index.push(counted, (end - offset).max(FRAME_BYTES * n_frames));
        self.chunks.push(LabelChunk {
            file: self.file,
            offset,
            line,
            at: at.into(),
            sizes: CompactLengths::new(&sizes),
            lines: CompactLengths::new(&lines),
            frames: lengths,
            keys: shrunk(keys),
        });
    }

    /// All chunks, their index, and the bytes of memory that they take.
    pub(super) fn finish(mut self) -> (Index, Vec<LabelChunk>, usize) {
        self.flush();
        self.index.seal();
        let bytes = self.chunks.iter().map(LabelChunk::bytes).sum();
        (self.index, self.chunks, bytes)
    }
}

/// Frees the unused memory of keys.
fn shrunk(mut keys: Keys) -> Keys {
    match &mut keys {
        Keys::Texts { bytes, ends } => {
            bytes.shrink_to_fit();
            ends.shrink_to_fit();
        }
        Keys::Numbers(numbers) => numbers.shrink_to_fit(),
        Keys::Runs { keys, ends } => {
            **keys = shrunk(std::mem::replace(keys, Keys::Consecutive(0)));
            ends.shrink_to_fit();
        }
        Keys::Consecutive(_) => {}
    }
    keys
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: TableRules = TableRules { chunk_bytes: 100, numeric_keys: false, frame_mode: false };

    fn table(rules: TableRules) -> (Index, Vec<LabelChunk>) {
        let mut table = Table::new(rules);
        let mut offset = 8;
        for (n, frames) in [3, 1, 4, 2].into_iter().enumerate() {
            let entry = Entry { offset, line: 1 + 5 * n as u64, size: 40, frames };
            table.push(entry, n.to_string().as_bytes()).unwrap();
            offset += 45;
        }
        let (index, chunks, _) = table.finish();
        (index, chunks)
    }

    #[test]
    fn a_chunk_holds_as_many_entries_as_its_size_allows() {
        let (index, chunks) = table(RULES);
        assert_eq!(chunks.iter().map(|chunk| chunk.at.len()).collect::<Vec<_>>(), [2, 2]);
        assert_eq!(chunks[1].entry(1), Entry { offset: 143, line: 16, size: 40, frames: 2 });
        assert_eq!(chunks[1].find(1), (1, 0..2));
        assert_eq!((index.n_samples(), index.chunk(tesson_core::ChunkId(0)).bytes), (10, 85));
        let one_each = table(TableRules { chunk_bytes: 1, ..RULES }).1;
        assert_eq!(one_each.len(), 4);
    }

    #[test]
    fn frames_are_sequences_in_frame_mode() {
        let (index, chunks) = table(TableRules { chunk_bytes: 1000, frame_mode: true, ..RULES });
        assert_eq!((index.n_sequences(), index.n_samples()), (10, 10));
        assert_eq!((chunks[0].keys.text(2), chunks[0].keys.text(3)), (Some(&b"0"[..]), Some(&b"1"[..])));
        let found: Vec<_> = [0, 2, 3, 4, 9].into_iter().map(|sequence| chunks[0].find(sequence)).collect();
        assert_eq!(found, [(0, 0..1), (0, 2..3), (1, 0..1), (2, 0..1), (3, 1..2)]);
    }

    #[test]
    fn a_key_that_is_no_number_is_refused_where_keys_are_numbers() {
        let mut table = Table::new(TableRules { numeric_keys: true, ..RULES });
        let entry = Entry { offset: 0, line: 0, size: 1, frames: 1 };
        assert_eq!(table.push(entry, b"+07"), Ok(()));
        assert_eq!(table.push(entry, b"7-a"), Err(MlfFault::KeyNotANumber { found: "7-a".into() }));
        assert_eq!(table.finish().1[0].keys, Keys::Consecutive(7));
    }

    #[test]
    fn an_utterance_takes_less_than_a_hundred_bytes() {
        let mut table = Table::new(TableRules { chunk_bytes: 64 << 20, ..RULES });
        let n = 100_000;
        for i in 0..n {
            let entry =
                Entry { offset: 8 + 2000 * i, line: 100 * i, size: 1990, frames: 500 + (i % 99) as u32 };
            table.push(entry, format!("speaker-{i:012}").as_bytes()).unwrap();
        }
        let (index, _, bytes) = table.finish();
        assert!(bytes + index.bytes() < 100 * n as usize, "{}", bytes + index.bytes());
    }
}
