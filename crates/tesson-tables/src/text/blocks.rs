//! The lines of a file in blocks of about equal size, which are found on all cores.

use tesson_core::{DataErrorKind, Error, Parallelism};
use tesson_formats::saved::Saved;

use crate::fault::TableFault;
use crate::table::{FileBytes, RowFault, Rows, Unit};

/// Bytes of a block, about: a row at random costs the reading of one.
const BLOCK_BYTES: u64 = 1 << 18;

/// Bytes of a row, at most: one of more is a quote that is never closed, or no text at all.
pub(crate) const MOST_ROW_BYTES: u64 = 1 << 28;

/// Bytes that rows of text take in memory for each byte of text, about.
const DECODED: u64 = 2;

/// Consecutive rows of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    /// The first byte of its first row.
    pub(crate) start: u64,
    /// The first byte after its last row.
    pub(crate) end: u64,
    /// Number of rows.
    pub(crate) rows: u64,
    /// Physical line, from 0, of its first row.
    pub(crate) line: u64,
}

impl Block {
    /// The unit that a block is, whose rows take at least so many bytes of memory each.
    fn unit(&self, row_bytes: u64) -> Unit {
        let bytes = self.start..self.end;
        let of_text = (bytes.end - bytes.start).saturating_mul(DECODED);
        Unit { rows: self.rows, decoded: of_text.max(self.rows.saturating_mul(row_bytes)), bytes }
    }
}

/// Lines that are rows: those with a byte that is no space, unless they are comments.
#[derive(Clone, Copy)]
pub(crate) struct LineKind {
    /// True for bytes that do not make a row of a line.
    pub(crate) is_space: fn(u8) -> bool,
    /// The first other byte of lines that are no rows.
    pub(crate) comment: Option<u8>,
}

/// A line that is a row.
pub(crate) struct Line<'a> {
    pub(crate) text: &'a [u8],
    /// Position of its first byte.
    pub(crate) start: usize,
    /// Its number, from 0.
    pub(crate) number: u64,
}

impl LineKind {
    /// True if a line is a row.
    fn is_row(self, line: &[u8]) -> bool {
        let first = line.iter().find(|byte| **byte != b'\n' && !(self.is_space)(**byte));
        first.is_some_and(|first| Some(*first) != self.comment)
    }
}

/// The lines of bytes that are rows.
pub(crate) fn lines(bytes: &[u8], kind: LineKind) -> impl Iterator<Item = Line<'_>> {
    let mut at = 0;
    let all = (0..).map_while(move |number| {
        let rest = bytes.get(at..).filter(|rest| !rest.is_empty())?;
        let length = memchr::memchr(b'\n', rest).map_or(rest.len(), |end| end + 1);
        let line = Line { text: &rest[..length], start: at, number };
        at += length;
        Some(line)
    });
    all.filter(move |line| kind.is_row(line.text))
}

/// A row that is read.
pub(crate) struct LineRow<'a> {
    pub(crate) text: &'a [u8],
    /// Its number among those that are read.
    pub(crate) row: u32,
    offset: u64,
    line: u64,
}

impl LineRow<'_> {
    /// A fault of the row, or of one of the fields that are read.
    pub(crate) fn fault(&self, field: Option<usize>, kind: TableFault) -> RowFault {
        let LineRow { row, offset, line, .. } = *self;
        RowFault { row, field, kind: kind.into(), offset, line: Some(line) }
    }
}

/// Reads a block, and calls `each` with these of its rows.
///
/// # Errors
/// Unreadable storage, and a file that has changed since it was indexed.
pub(crate) fn each_row(
    block: &Block,
    rows: &Rows<'_>,
    file: FileBytes<'_>,
    kind: LineKind,
    bytes: &mut Vec<u8>,
    mut each: impl FnMut(&LineRow<'_>),
) -> Result<(), Error> {
    file.read_over(block.start..block.end, bytes)?;
    let mut all = lines(bytes, kind).zip(0_u64..);
    for i in 0..rows.len() {
        let row = rows.get(i);
        let Some((line, _)) = all.find(|(_, number)| *number == row) else {
            let what = format!("no row {row} where {} were indexed", block.rows);
            return Err(file.error_at(DataErrorKind::Changed { what }, block.start, Some(block.line)));
        };
        let (offset, number) = (block.start + line.start as u64, block.line + line.number);
        each(&LineRow { text: line.text, row: i as u32, offset, line: number });
    }
    Ok(())
}

/// The lines that begin in a part of a file.
struct Cell {
    /// Where the first row begins.
    first: Option<u64>,
    rows: u64,
    /// Line feeds in the part, and before its first row.
    lines: u64,
    lines_before: u64,
}

/// Finds the rows of the lines from `data` on; `line` is the number of the first one.
///
/// # Errors
/// Unreadable storage.
pub(crate) fn index_lines(
    file: FileBytes<'_>,
    data: u64,
    line: u64,
    kind: LineKind,
    parallelism: &dyn Parallelism,
) -> Result<Vec<Block>, Error> {
    let size = file.size()?;
    let n_cells = size.saturating_sub(data).div_ceil(BLOCK_BYTES) as usize;
    let mut blocks: Vec<Block> = Vec::new();
    let mut line = line;
    for first in (0..n_cells).step_by(CELLS_AT_ONCE) {
        let n = CELLS_AT_ONCE.min(n_cells - first);
        let cells = parallelism.map(n, |i| {
            if file.fetch.cancelled() {
                return Err(Error::Cancelled);
            }
            let start = data + (first + i) as u64 * BLOCK_BYTES;
            let end = size.min(start + BLOCK_BYTES);
            let cell = cell(file, start, end, start == data, kind);
            file.fetch.progress(end - start);
            cell
        });
        for cell in cells {
            let Cell { first, rows, lines, lines_before } = cell?;
            if let Some(start) = first {
                if let Some(last) = blocks.last_mut() {
                    last.end = start;
                }
                blocks.push(Block { start, end: size, rows, line: line + lines_before });
            }
            line += lines;
        }
    }
    Ok(blocks)
}

/// Cells that are read before the next ones are given to workers.
const CELLS_AT_ONCE: usize = 1024;

/// Looks at the lines that begin in a part of a file. `is_line`: its first byte begins one.
fn cell(file: FileBytes<'_>, start: u64, end: u64, is_line: bool, kind: LineKind) -> Result<Cell, Error> {
    let mut bytes = Vec::new();
    // Whether a line begins with the part, the byte before says.
    let before = u64::from(!is_line);
    file.read_over(start - before..end, &mut bytes)?;
    let mut cell = Cell { first: None, rows: 0, lines: 0, lines_before: 0 };
    let begins = is_line || bytes.first() == Some(&b'\n');
    let bytes = &bytes[before as usize..];
    let mut at = if begins { Some(0) } else { next_line(bytes, 0) };
    cell.lines = bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
    while let Some(begin) = at.filter(|begin| *begin < bytes.len()) {
        let next = next_line(bytes, begin);
        let line = &bytes[begin..next.unwrap_or(bytes.len())];
        let content = match line.iter().find(|byte| **byte == b'\n' || !(kind.is_space)(**byte)) {
            Some(byte) => Some(*byte),
            None if next.is_none() => beyond(file, end, kind)?,
            None => None,
        };
        if content.is_some_and(|byte| byte != b'\n' && Some(byte) != kind.comment) {
            if cell.first.is_none() {
                let lines = bytes[..begin].iter().filter(|byte| **byte == b'\n').count();
                (cell.first, cell.lines_before) = (Some(start + begin as u64), lines as u64);
            }
            cell.rows += 1;
        }
        at = next;
    }
    Ok(cell)
}

/// The position after the next line feed.
fn next_line(bytes: &[u8], from: usize) -> Option<usize> {
    memchr::memchr(b'\n', &bytes[from..]).map(|at| from + at + 1)
}

/// The first byte from `from` on that is no space; a line feed ends the search.
fn beyond(file: FileBytes<'_>, mut from: u64, kind: LineKind) -> Result<Option<u8>, Error> {
    let (size, mut bytes) = (file.size()?, Vec::new());
    while from < size {
        let end = size.min(from + BLOCK_BYTES);
        file.read_over(from..end, &mut bytes)?;
        if let Some(byte) = bytes.iter().find(|byte| **byte == b'\n' || !(kind.is_space)(**byte)) {
            return Ok(Some(*byte));
        }
        from = end;
    }
    Ok(None)
}

/// The units that blocks are. A row that is too long is refused. Rows have `row_bytes` of values whatever their text leaves out.
///
/// # Errors
/// A block that no memory is set aside for.
pub(crate) fn units(blocks: &[Block], row_bytes: u64, file: FileBytes<'_>) -> Result<Vec<Unit>, Error> {
    let unit = |block: &Block| {
        if is_too_long(block.end - block.start) {
            return Err(long_row(file, block.start, block.line));
        }
        Ok(block.unit(row_bytes))
    };
    blocks.iter().map(unit).collect()
}

/// Appends the blocks of a file, as [`restore_blocks`] reads them: their number, and the four numbers of each.
pub(crate) fn save_blocks(blocks: &[Block], into: &mut Vec<u8>) {
    into.extend((blocks.len() as u64).to_le_bytes());
    for &Block { start, end, rows, line } in blocks {
        [start, end, rows, line].iter().for_each(|number| into.extend(number.to_le_bytes()));
    }
}

/// The blocks that [`save_blocks`] wrote, and their units; `None` if the bytes are none that an index pass could have made.
pub(crate) fn restore_blocks(saved: &mut Saved<'_>, row_bytes: u64) -> Option<(Vec<Block>, Vec<Unit>)> {
    let n = saved.number()?;
    let (mut blocks, mut before) = (Vec::new(), 0);
    for _ in 0..n {
        let [start, end, rows, line] = [saved.number()?, saved.number()?, saved.number()?, saved.number()?];
        if start < before || end <= start || rows == 0 || rows > end - start || is_too_long(end - start) {
            return None;
        }
        before = end;
        blocks.push(Block { start, end, rows, line });
    }
    let units = blocks.iter().map(|block| block.unit(row_bytes)).collect();
    Some((blocks, units))
}

/// True if no memory is set aside for a block of so many bytes.
fn is_too_long(bytes: u64) -> bool {
    bytes > MOST_ROW_BYTES + BLOCK_BYTES
}

/// The refusal of a row that is too long.
pub(crate) fn long_row(file: FileBytes<'_>, offset: u64, line: u64) -> Error {
    file.error_at(TableFault::LongRow { most: MOST_ROW_BYTES }, offset, Some(line))
}

/// Bytes of a block, about.
pub(crate) fn block_bytes() -> u64 {
    BLOCK_BYTES
}

/// Refuses text that is compressed, or in another encoding than UTF-8; returns the number of bytes of a mark at its beginning.
///
/// # Errors
/// The encoding that was found.
pub(crate) fn refuse_other_encodings(beginning: &[u8], file: FileBytes<'_>) -> Result<u64, Error> {
    let found = match beginning {
        [0xef, 0xbb, 0xbf, ..] => return Ok(3),
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => "UTF-16",
        [0x1f, 0x8b, ..] => "compressed by gzip",
        [0x28, 0xb5, 0x2f, 0xfd, ..] => "compressed by Zstandard",
        [b'P', b'K', 3, 4, ..] => "a zip archive",
        _ => return Ok(0),
    };
    Err(file.error(TableFault::OtherEncoding { found }, 0))
}
