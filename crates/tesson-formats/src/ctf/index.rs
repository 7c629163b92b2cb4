//! The index pass: ids and line feeds of the whole file, on several cores, into chunks.
//!
//! The file is divided into ranges; a row belongs to the range that its first byte lies in. What a range finds does not
//! know what came before it, so the sequence that continues over a range's start is put together afterwards, in order. The
//! result does not depend on how the file was divided or read.

use tesson_core::{CompactLengths, DataErrorKind, Error, Fetch, Index, Parallelism};

use super::fault::CtfFault;
use super::rows::{Keying, LastId, RowId};
use super::scan::{self, LIMIT, Reads};
use super::{FILE, Rules, located};
use crate::saved::{Saved, save_lengths};

/// How the file is divided.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cut {
    /// Bytes of a range.
    pub(crate) range: u64,
    /// Bytes of a read.
    pub(crate) read: u64,
}

impl Default for Cut {
    fn default() -> Cut {
        Cut { range: 8 << 20, read: 256 << 10 }
    }
}

/// Where the sequences of one chunk lie.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ChunkTable {
    /// Byte offset and line of its first sequence.
    pub(crate) start: u64,
    pub(crate) line: u64,
    /// Bytes of each sequence.
    pub(crate) sizes: CompactLengths,
    /// Bytes between each sequence and the next one.
    pub(crate) gaps: CompactLengths,
    /// Lines from each sequence's first row to the next one's; `None`: as many as its counted rows.
    pub(crate) lines: Option<CompactLengths>,
    /// Bytes and lines before each [`STEP`]th sequence, within the chunk.
    anchors: Box<[(u32, u32)]>,
}

/// Sequences from one anchor to the next.
const STEP: usize = 64;

impl ChunkTable {
    fn new(
        start: u64,
        line: u64,
        lengths: &CompactLengths,
        [sizes, gaps, lines]: [CompactLengths; 3],
    ) -> Option<ChunkTable> {
        let lines = (lines != *lengths).then_some(lines);
        let mut table = ChunkTable { start, line, sizes, gaps, lines, anchors: Box::default() };
        let (mut bytes, mut n_lines, mut anchors) = (0u32, 0u32, Vec::new());
        for from in (0..lengths.len()).step_by(STEP) {
            anchors.push((bytes, n_lines));
            let to = (from + STEP).min(lengths.len());
            let (more, more_lines) = table.sums(lengths, from..to);
            bytes = bytes.checked_add(u32::try_from(more).ok()?)?;
            n_lines = n_lines.checked_add(u32::try_from(more_lines).ok()?)?;
        }
        table.anchors = anchors.into();
        Some(table)
    }

    fn sums(&self, lengths: &CompactLengths, range: std::ops::Range<usize>) -> (u64, u64) {
        let bytes = self.sizes.sum(range.clone()) + self.gaps.sum(range.clone());
        (bytes, self.lines.as_ref().unwrap_or(lengths).sum(range))
    }

    /// Where a sequence begins: byte offset in the file, line within the chunk.
    pub(crate) fn locate(&self, lengths: &CompactLengths, sequence: usize) -> (u64, u64) {
        let anchor = sequence / STEP;
        let (bytes, lines) = self.anchors[anchor];
        let (more, more_lines) = self.sums(lengths, anchor * STEP..sequence);
        (self.start + u64::from(bytes) + more, u64::from(lines) + more_lines)
    }

    /// The end of the chunk's last sequence.
    pub(crate) fn end(&self, lengths: &CompactLengths) -> u64 {
        let last = lengths.len() - 1;
        self.locate(lengths, last).0 + u64::from(self.sizes.get(last))
    }

    /// Bytes of memory held beside the value itself.
    pub(crate) fn bytes(&self) -> usize {
        let lines = self.lines.as_ref().map_or(0, CompactLengths::bytes);
        self.sizes.bytes() + self.gaps.bytes() + lines + self.anchors.len() * size_of::<(u32, u32)>()
    }
}

/// Indexes the file.
///
/// # Errors
/// Data that allow no index, and unreadable storage.
pub(crate) fn index(
    rules: &Rules,
    chunk_bytes: u64,
    cut: Cut,
    fetch: &dyn Fetch,
    parallelism: &dyn Parallelism,
) -> Result<(Index, Vec<ChunkTable>), Error> {
    let size = fetch.size(FILE)?;
    let mut stitch = Stitch::new(rules, chunk_bytes.min(size));
    let mut from = rules.prologue.start;
    // In waves, so that what ranges have found is held for a few of them only: up to as many bytes as the text has,
    // where rows are short, and the text read.
    let wave = parallelism.width().max(1) * 2;
    let room = (parallelism.memory() / (4 * wave as u64)).max(1 << 12);
    let cut = Cut { range: cut.range.min(room), read: cut.read.min(room) };
    while from < size {
        let range = |i: usize| {
            let start = from.saturating_add(i as u64 * cut.range).min(size);
            (start, start.saturating_add(cut.range).min(size))
        };
        let parts = parallelism.map(wave, |i| {
            let (start, end) = range(i);
            (start < end).then(|| Part::scan(rules, fetch, Reads { from: start, end, bytes: cut.read }))
        });
        parts.into_iter().flatten().try_for_each(|part| stitch.add(part?))?;
        let (_, end) = range(wave - 1);
        fetch.progress(end - from);
        from = end;
    }
    stitch.finish(size)
}

/// An id that outlives the bytes it was read from.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Id {
    Number(u64),
    Text(Box<[u8]>),
}

impl Id {
    fn is(&self, id: RowId<'_>) -> bool {
        match (self, id) {
            (Id::Number(a), RowId::Number(b)) => *a == b,
            (Id::Text(a), RowId::Text(b)) => **a == *b,
            _ => false,
        }
    }

    fn of(id: RowId<'_>) -> Option<Id> {
        match id {
            RowId::Number(n) => Some(Id::Number(n)),
            RowId::Text(t) => Some(Id::Text(t.into())),
            RowId::None | RowId::Overflow(_) | RowId::NoRow => None,
        }
    }
}

/// A sequence that begins in a range, as far as the range goes.
#[derive(Clone, Copy, Debug)]
struct Begun {
    offset: u64,
    /// Lines before it in the range.
    line: u64,
    rows: u32,
    /// Where rows are sequences: its size.
    size: u32,
}

/// The rows and sequences found in a range of bytes.
#[derive(Default)]
struct Part {
    /// Counted rows before the first sequence that begins here.
    leading_rows: u32,
    begun: Vec<Begun>,
    /// Where rows are sequences, and until one is not: the bytes of each, one after the other, instead of `begun`, and
    /// where the first one begins.
    sizes: Vec<u32>,
    start: u64,
    /// True if a row is no sequence.
    is_broken: bool,
    first_id: Option<Id>,
    last_id: Option<Id>,
    last: LastId,
    lines: u64,
    /// Where an id beyond 64 bits was found: digits, offset, line within the range.
    overflow: Option<(String, u64, u64)>,
}

impl Part {
    fn scan(rules: &Rules, fetch: &dyn Fetch, reads: Reads) -> Result<Part, Error> {
        let mut part = Part::default();
        let lines = rules.rows.keying == Keying::Lines;
        if lines {
            scan::rows(rules, fetch, reads, |row| {
                part.line_row(rules, row);
                Ok(true)
            })?;
        } else {
            scan::rows(rules, fetch, reads, |row| Ok(part.id_row(rules, row)))?;
        }
        Ok(part)
    }

    #[inline]
    fn line_row(&mut self, rules: &Rules, row: scan::Row<'_>) {
        // Rows are never longer than a sequence may be.
        let size = row.bytes.len() as u32;
        match (rules.rows.counts(row.bytes), self.is_broken) {
            (true, false) => {
                if self.sizes.is_empty() {
                    self.start = row.offset;
                }
                self.sizes.push(size);
            }
            (true, true) => self.begun.push(Begun { offset: row.offset, line: self.lines, rows: 1, size }),
            (false, false) => self.break_up(),
            (false, true) => {}
        }
        self.lines += u64::from(row.bytes.last() == Some(&b'\n'));
    }

    /// Not every row is a sequence.
    #[cold]
    fn break_up(&mut self) {
        self.is_broken = true;
        let mut offset = self.start;
        for (line, size) in (0..).zip(std::mem::take(&mut self.sizes)) {
            self.begun.push(Begun { offset, line, rows: 1, size });
            offset += u64::from(size);
        }
    }

    /// Takes a row; `false` where no index can be made.
    #[inline]
    fn id_row(&mut self, rules: &Rules, row: scan::Row<'_>) -> bool {
        if let (Some(_), Some(open)) = (self.last.repeated(row.bytes), self.begun.last_mut()) {
            open.rows += u32::from(rules.rows.counts(row.bytes));
            self.lines += u64::from(row.bytes.last() == Some(&b'\n'));
            return true;
        }
        self.other_id_row(rules, row)
    }

    /// Like [`Self::id_row`], for a row that does not obviously begin with the digits of the one before.
    #[inline(never)]
    fn other_id_row(&mut self, rules: &Rules, row: scan::Row<'_>) -> bool {
        let (id, skip) = rules.rows.id(row.bytes);
        match id {
            RowId::NoRow => return true,
            RowId::Overflow(digits) => {
                let found = super::bytes::quote(digits, 0);
                self.overflow = Some((found, row.offset, self.lines));
                return false;
            }
            RowId::None => {}
            _ if self.last_id.as_ref().is_some_and(|last| last.is(id)) => {}
            _ => {
                self.begun.push(Begun { offset: row.offset, line: self.lines, rows: 0, size: 0 });
                self.last_id = Id::of(id);
                self.last = match id {
                    RowId::Number(_) => LastId::of_number(&row.bytes[..skip]),
                    _ => LastId::default(),
                };
                if self.begun.len() == 1 {
                    self.first_id.clone_from(&self.last_id);
                }
            }
        }
        let counted = u32::from(rules.rows.counts(row.bytes));
        match self.begun.last_mut() {
            Some(open) => open.rows += counted,
            None => self.leading_rows += counted,
        }
        self.lines += u64::from(row.bytes.last() == Some(&b'\n'));
        true
    }
}

/// Puts ranges together, and sequences into chunks.
struct Stitch<'a> {
    rules: &'a Rules,
    /// Lines before the next range.
    line: u64,
    /// The sequence that may continue: offset, line, counted rows.
    open: Option<(u64, u64, u32)>,
    id: Option<Id>,
    chunks: Chunks,
}

impl Stitch<'_> {
    fn new(rules: &Rules, limit: u64) -> Stitch<'_> {
        let line = rules.prologue.line;
        Stitch { rules, line, open: None, id: None, chunks: Chunks::new(limit) }
    }

    fn add(&mut self, part: Part) -> Result<(), Error> {
        let mut begun = part.begun.as_slice();
        if let Some(open) = &mut self.open {
            open.2 += part.leading_rows;
            if let ([first, rest @ ..], true) = (begun, part.first_id.is_some() && part.first_id == self.id) {
                open.2 += first.rows;
                begun = rest;
            }
        }
        let lines = self.rules.rows.keying == Keying::Lines;
        let rows = self.chunks.push_rows(part.start, self.line, &part.sizes);
        rows.map_err(|kind| located(self.rules, kind, part.start, self.line))?;
        for next in begun {
            let line = self.line + next.line;
            if lines {
                self.push(next.offset, next.offset + u64::from(next.size), next.rows, line)?;
            } else {
                self.close(next.offset)?;
                self.open = Some((next.offset, line, next.rows));
            }
        }
        if part.last_id.is_some() {
            self.id = part.last_id;
        }
        if let Some((found, offset, line)) = part.overflow {
            return Err(located(self.rules, CtfFault::IdOverflow { found }, offset, self.line + line));
        }
        self.line += part.lines;
        Ok(())
    }

    /// Ends the sequence that is open.
    fn close(&mut self, end: u64) -> Result<(), Error> {
        match self.open.take() {
            Some((start, line, rows)) if rows > 0 => self.push(start, end, rows, line),
            _ => Ok(()),
        }
    }

    fn push(&mut self, start: u64, end: u64, rows: u32, line: u64) -> Result<(), Error> {
        self.chunks.push(start, end, rows, line).map_err(|kind| located(self.rules, kind, start, line))
    }

    fn finish(mut self, size: u64) -> Result<(Index, Vec<ChunkTable>), Error> {
        self.close(size)?;
        let (index, table) = self.chunks.finish().map_err(|kind| located(self.rules, kind, 0, 0))?;
        if table.is_empty() {
            return Err(located(self.rules, DataErrorKind::NoSequences, 0, 0));
        }
        Ok((index, table))
    }
}

/// Divides sequences into chunks.
struct Chunks {
    /// Largest size of a chunk in bytes.
    limit: u64,
    start: u64,
    line: u64,
    /// End and line of the last sequence.
    end: u64,
    last_line: u64,
    lengths: Vec<u32>,
    sizes: Vec<u32>,
    gaps: Vec<u32>,
    lines: Vec<u32>,
    index: Index,
    table: Vec<ChunkTable>,
}

impl Chunks {
    fn new(limit: u64) -> Chunks {
        Chunks {
            limit,
            start: 0,
            line: 0,
            end: 0,
            last_line: 0,
            lengths: Vec::new(),
            sizes: Vec::new(),
            gaps: Vec::new(),
            lines: Vec::new(),
            index: Index::new(),
            table: Vec::new(),
        }
    }

    fn push(&mut self, start: u64, end: u64, rows: u32, line: u64) -> Result<(), DataErrorKind> {
        let size = end - start;
        let Ok(size_u32) = u32::try_from(size) else {
            return Err(DataErrorKind::SequenceTooLarge { found: size, limit: LIMIT });
        };
        if self.lengths.is_empty() || (self.end - self.start) + size > self.limit {
            self.flush()?;
            (self.start, self.line) = (start, line);
        } else {
            // Both are within one chunk, whose size is checked when it is closed.
            self.gaps.push((start - self.end).min(LIMIT) as u32);
            self.lines.push((line - self.last_line).min(LIMIT) as u32);
        }
        self.lengths.push(rows);
        self.sizes.push(size_u32);
        (self.end, self.last_line) = (end, line);
        Ok(())
    }

    /// Like [`Self::push`], for rows that follow each other and are a sequence each.
    fn push_rows(&mut self, mut start: u64, mut line: u64, mut sizes: &[u32]) -> Result<(), DataErrorKind> {
        while let Some((&first, rest)) = sizes.split_first() {
            self.push(start, start + u64::from(first), 1, line)?;
            let (mut end, mut n) = (self.end, 0);
            for &size in rest {
                let next = end + u64::from(size);
                if next - self.start > self.limit {
                    break;
                }
                (end, n) = (next, n + 1);
            }
            let (more, rest) = rest.split_at(n);
            self.lengths.resize(self.lengths.len() + n, 1);
            self.sizes.extend_from_slice(more);
            self.gaps.resize(self.gaps.len() + n, 0);
            self.lines.resize(self.lines.len() + n, 1);
            line += n as u64;
            (self.end, self.last_line) = (end, line);
            (start, line, sizes) = (end, line + 1, rest);
        }
        Ok(())
    }

    /// Closes the chunk.
    fn flush(&mut self) -> Result<(), DataErrorKind> {
        let Some(&last) = self.lengths.last() else { return Ok(()) };
        // What follows the last sequence belongs to no chunk.
        self.gaps.push(0);
        self.lines.push(last);
        let lengths = CompactLengths::new(&self.lengths);
        let columns = [
            CompactLengths::new(&self.sizes),
            CompactLengths::new(&self.gaps),
            CompactLengths::new(&self.lines),
        ];
        let bytes = self.end - self.start;
        let table = ChunkTable::new(self.start, self.line, &lengths, columns).filter(|_| bytes <= LIMIT);
        let Some(table) = table else {
            return Err(CtfFault::ChunkTooLarge { found: bytes, limit: LIMIT }.into());
        };
        self.table.push(table);
        self.index.push(lengths, bytes);
        for column in [&mut self.lengths, &mut self.sizes, &mut self.gaps, &mut self.lines] {
            column.clear();
        }
        Ok(())
    }

    fn finish(mut self) -> Result<(Index, Vec<ChunkTable>), DataErrorKind> {
        self.flush()?;
        self.index.seal();
        Ok((self.index, self.table))
    }
}

/// Of the layout below.
const VERSION: u32 = 1;

/// Appends an index in the layout that [`restore`] reads, little-endian throughout:
///
/// ```text
/// u32 version   u64 chunks
/// chunk: u64 offset   u64 line   u32 sequences   column lengths, sizes, gaps, lines (empty: as lengths)
/// column: u8 width (0: one value for all; 255: empty)   then the values, in 4, 1, 2 or 4 bytes each
/// ```
pub(crate) fn save(index: &Index, table: &[ChunkTable], into: &mut Vec<u8>) {
    into.extend_from_slice(&VERSION.to_le_bytes());
    into.extend_from_slice(&(table.len() as u64).to_le_bytes());
    for (number, chunk) in index.chunk_ids().zip(table) {
        into.extend_from_slice(&chunk.start.to_le_bytes());
        into.extend_from_slice(&chunk.line.to_le_bytes());
        into.extend_from_slice(&(chunk.sizes.len() as u32).to_le_bytes());
        for column in
            [Some(index.lengths(number)), Some(&chunk.sizes), Some(&chunk.gaps), chunk.lines.as_ref()]
        {
            save_lengths(column, into);
        }
    }
}

/// The index that [`save`] wrote; `None` if the bytes are not one, or not one that an index pass could have made.
pub(crate) fn restore(saved: &[u8]) -> Option<(Index, Vec<ChunkTable>)> {
    let mut saved = Saved(saved);
    if u32::from_le_bytes(saved.take()?) != VERSION {
        return None;
    }
    let n_chunks = saved.number()?;
    let (mut index, mut table) = (Index::new(), Vec::new());
    let (mut end, mut line) = (0, 0);
    for _ in 0..n_chunks {
        let start = saved.number()?;
        let first_line = saved.number()?;
        let n = u32::from_le_bytes(saved.take()?);
        if n == 0 || start < end || first_line < line {
            return None;
        }
        let lengths = saved.lengths(n)??;
        let (sizes, gaps) = (saved.lengths(n)??, saved.lengths(n)??);
        let lines = saved.lengths(n)?.unwrap_or_else(|| lengths.clone());
        if lengths.has_zero() || sizes.has_zero() {
            return None;
        }
        let chunk = ChunkTable::new(start, first_line, &lengths, [sizes, gaps, lines])?;
        end = chunk.end(&lengths);
        line = first_line;
        start.checked_add(LIMIT)?;
        index.push(lengths, end - start);
        table.push(chunk);
    }
    index.seal();
    (saved.0.is_empty() && !table.is_empty()).then_some((index, table))
}
