//! Loading parts of an indexed file.

use std::ops::Range;
use std::sync::Arc;

use tesson_core::{
    Chunk, ChunkId, CompactLengths, Corpus, CorpusFacts, DataErrorKind, Error, Fetch, Index, Indexed, Keys,
    ResourceId, Scattered, Scratch, SequenceId, SequenceSelection,
};

use super::index::{ChunkTable, save};
use super::parse::{AnyDecoder, NoSequences};
use super::rows::{Keying, RowId};
use super::scan::beyond_memory;
use super::{FILE, Rules, located};

/// An indexed file.
struct CtfCorpus {
    rules: Arc<Rules>,
    index: Arc<Index>,
    table: Vec<ChunkTable>,
    facts: CorpusFacts,
}

/// Joins an index and its table.
pub(crate) fn indexed(rules: Arc<Rules>, index: Index, table: Vec<ChunkTable>) -> Indexed {
    let index = Arc::new(index);
    let tables: usize = table.iter().map(ChunkTable::bytes).sum();
    let facts = CorpusFacts::new(table.capacity() * size_of::<ChunkTable>() + tables);
    Indexed { index: Arc::clone(&index), corpus: Arc::new(CtfCorpus { rules, index, table, facts }) }
}

/// Bytes that are read at once, where more than one sequence is.
const READ: u64 = 256 << 10;

/// Bytes between two wanted rows that are cheaper to read than a second read.
const NEAR: u64 = 4 << 10;

/// Consecutive sequences of a chunk and where they lie.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Run {
    sequences: Range<usize>,
    /// In the file.
    bytes: Range<u64>,
    /// Of the first one, within the chunk.
    line: u64,
}

impl Corpus for CtfCorpus {
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
        let mut bytes = std::mem::take(&mut scratch.bytes);
        let mut decoder = AnyDecoder::new(&self.rules, scratch, out);
        let part = self.part(chunk, 0);
        let done = match wanted {
            SequenceSelection::Range(range) => part.range(range, fetch, &mut bytes, &mut decoder),
            SequenceSelection::List(rows) => part.rows(rows.iter().copied(), fetch, &mut bytes, &mut decoder),
        };
        decoder.finish(scratch, out);
        out.first_line = part.table.line;
        out.n_lines = 0;
        scratch.bytes = bytes;
        done
    }

    fn scattered(&self) -> Option<&dyn Scattered> {
        Some(self)
    }

    fn keys(
        &self,
        chunk: ChunkId,
        n_sequences: u32,
        fetch: &dyn Fetch,
        scratch: &mut Scratch,
    ) -> Result<Option<Keys>, Error> {
        let part = self.part(chunk, 0);
        let keys = match self.rules.rows.keying {
            Keying::Lines => part.line_keys(),
            Keying::Numbers | Keying::Texts => {
                part.id_keys(n_sequences as usize, fetch, &mut scratch.bytes)?
            }
        };
        Ok(Some(keys))
    }

    fn span(&self, at: SequenceId) -> (ResourceId, Range<u64>) {
        let (table, lengths) = (&self.table[at.chunk.index()], self.index.lengths(at.chunk));
        let (start, _) = table.locate(lengths, at.sequence as usize);
        (FILE, start..start + u64::from(table.sizes.get(at.sequence as usize)))
    }

    fn save(&self, index: &Index, into: &mut Vec<u8>) {
        save(index, &self.table, into);
    }
}

impl Scattered for CtfCorpus {
    fn load_scattered(
        &self,
        sequences: &[SequenceId],
        fetch: &dyn Fetch,
        scratch: &mut Scratch,
        out: &mut Chunk,
    ) -> Result<(), Error> {
        let mut bytes = std::mem::take(&mut scratch.bytes);
        let mut decoder = AnyDecoder::new(&self.rules, scratch, out);
        let done = sequences.chunk_by(|a, b| a.chunk == b.chunk).try_for_each(|sequences| {
            let chunk = sequences[0].chunk;
            let part = self.part(chunk, self.table[chunk.index()].line);
            part.rows(sequences.iter().map(|at| at.sequence), fetch, &mut bytes, &mut decoder)
        });
        decoder.finish(scratch, out);
        (out.first_line, out.n_lines) = (0, 0);
        scratch.bytes = bytes;
        done
    }
}

impl CtfCorpus {
    /// A chunk whose lines count from `line`.
    fn part(&self, chunk: ChunkId, line: u64) -> Part<'_> {
        let (table, lengths) = (&self.table[chunk.index()], self.index.lengths(chunk));
        Part { corpus: self, table, lengths, line }
    }
}

/// One chunk being loaded.
struct Part<'a> {
    corpus: &'a CtfCorpus,
    table: &'a ChunkTable,
    lengths: &'a CompactLengths,
    /// The number that the decoder gives the chunk's first line.
    line: u64,
}

impl Part<'_> {
    /// Loads consecutive sequences, about [`READ`] bytes at a time.
    fn range(
        &self,
        range: Range<u32>,
        fetch: &dyn Fetch,
        buffer: &mut Vec<u8>,
        decoder: &mut AnyDecoder<'_>,
    ) -> Result<(), Error> {
        let (mut next, end) = (range.start as usize, range.end as usize);
        while next < end {
            let run = self.run(next, end);
            let bytes = read(fetch, run.bytes.clone(), buffer)?;
            self.decode(&run, bytes, fetch, decoder)?;
            next = run.sequences.end;
        }
        Ok(())
    }

    /// The lines that sequences begin on, counted from the beginning of the file.
    fn line_keys(&self) -> Keys {
        let lines = self.table.lines.as_ref().unwrap_or(self.lengths);
        let mut line = self.table.line;
        let mut step = |i: usize| {
            let key = line;
            line += u64::from(lines.get(i));
            key
        };
        Keys::Numbers((0..self.lengths.len()).map(&mut step).collect()).compacted()
    }

    /// The ids that the chunk's first `n` sequences begin with. Nothing else of them is looked at.
    fn id_keys(&self, n: usize, fetch: &dyn Fetch, buffer: &mut Vec<u8>) -> Result<Keys, Error> {
        let (mut numbers, mut text, mut ends) = (Vec::new(), Vec::new(), Vec::new());
        let mut next = 0;
        while next < n {
            let run = self.run(next, n);
            let bytes = read(fetch, run.bytes.clone(), buffer)?;
            let mut at = 0;
            for i in run.sequences.clone() {
                match self.corpus.rules.rows.id(&bytes[at..]).0 {
                    RowId::Number(id) => numbers.push(id),
                    RowId::Text(id) => {
                        text.extend_from_slice(id);
                        ends.push(text.len() as u32);
                    }
                    RowId::None | RowId::Overflow(_) | RowId::NoRow => {
                        let offset = run.bytes.start + at as u64;
                        return Err(self.changed(
                            "no sequence begins where the index has one",
                            offset,
                            run.line,
                        ));
                    }
                }
                at += self.table.sizes.get(i) as usize + self.table.gaps.get(i) as usize;
            }
            next = run.sequences.end;
        }
        Ok(if self.corpus.rules.text_keys {
            Keys::Texts { bytes: text, ends }
        } else {
            Keys::Numbers(numbers).compacted()
        })
    }

    /// The file is not the one that was indexed.
    fn changed(&self, what: impl Into<String>, offset: u64, line: u64) -> Error {
        let kind = DataErrorKind::Changed { what: what.into() };
        located(&self.corpus.rules, kind, offset, self.table.line + line)
    }

    /// As many sequences from `first` on, before `end`, as one read takes; at least one.
    fn run(&self, first: usize, end: usize) -> Run {
        let (start, line) = self.table.locate(self.lengths, first);
        let (mut last, mut at) = (first, start + u64::from(self.table.sizes.get(first)));
        while last + 1 < end {
            let to = at + u64::from(self.table.gaps.get(last)) + u64::from(self.table.sizes.get(last + 1));
            if to - start > READ {
                break;
            }
            (last, at) = (last + 1, to);
        }
        Run { sequences: first..last + 1, bytes: start..at, line }
    }

    /// Loads single sequences, those that lie near each other with one read.
    fn rows(
        &self,
        rows: impl Iterator<Item = u32>,
        fetch: &dyn Fetch,
        buffer: &mut Vec<u8>,
        decoder: &mut AnyDecoder<'_>,
    ) -> Result<(), Error> {
        let mut group: Vec<Run> = Vec::new();
        for row in rows {
            let run = self.run(row as usize, row as usize + 1);
            let together = match (group.first(), group.last()) {
                (Some(first), Some(last)) => {
                    run.bytes.start >= last.bytes.end
                        && run.bytes.start - last.bytes.end <= NEAR
                        && run.bytes.end - first.bytes.start <= READ
                }
                _ => true,
            };
            if !together {
                self.group(&group, fetch, buffer, decoder)?;
                group.clear();
            }
            group.push(run);
        }
        self.group(&group, fetch, buffer, decoder)
    }

    /// Reads all of a group at once and decodes its runs one by one.
    fn group(
        &self,
        group: &[Run],
        fetch: &dyn Fetch,
        buffer: &mut Vec<u8>,
        decoder: &mut AnyDecoder<'_>,
    ) -> Result<(), Error> {
        let (Some(first), Some(last)) = (group.first(), group.last()) else { return Ok(()) };
        let start = first.bytes.start;
        let bytes = read(fetch, start..last.bytes.end, buffer)?;
        group.iter().try_for_each(|run| {
            let place = (run.bytes.start - start) as usize..(run.bytes.end - start) as usize;
            self.decode(run, &bytes[place], fetch, decoder)
        })
    }

    /// Decodes a run, and makes sure that it holds what the index says.
    fn decode(
        &self,
        run: &Run,
        bytes: &[u8],
        fetch: &dyn Fetch,
        decoder: &mut AnyDecoder<'_>,
    ) -> Result<(), Error> {
        let before = decoder.lengths().len();
        let decoded = decoder.slice(bytes, run.bytes.start, self.line + run.line);
        if let Err(NoSequences::TooLarge { found, offset }) = decoded {
            let kind = beyond_memory(found, fetch);
            return Err(located(&self.corpus.rules, kind, offset, self.table.line + run.line));
        }
        let lengths = &decoder.lengths()[before..];
        let expected = run.sequences.clone().map(|i| self.lengths.get(i));
        if decoded.is_ok() && lengths.len() == run.sequences.len() && lengths.iter().copied().eq(expected) {
            return Ok(());
        }
        let what = format!(
            "{} sequences begin in bytes {} to {}, or their rows differ, where the index has {}",
            lengths.len(),
            run.bytes.start,
            run.bytes.end,
            run.sequences.len()
        );
        Err(self.changed(what, run.bytes.start, run.line))
    }
}

/// The bytes of a range: in place where they are mapped, else read into the buffer.
fn read<'a>(fetch: &'a dyn Fetch, range: Range<u64>, buffer: &'a mut Vec<u8>) -> Result<&'a [u8], Error> {
    if let Some(bytes) = fetch.mapped(FILE, range.clone()) {
        return Ok(bytes);
    }
    fetch.read_over(FILE, range, buffer)?;
    Ok(buffer)
}
