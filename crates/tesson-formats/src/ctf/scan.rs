//! The rows of a file, one after the other, read in pieces into one buffer.

use tesson_core::{DataErrorKind, Error, Fetch, LOOKAHEAD};

use super::tokens::Feeds;
use super::{FILE, Rules, located};

/// What to read: rows that begin at `from` or behind it and before `end`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reads {
    pub(crate) from: u64,
    pub(crate) end: u64,
    /// Size of one read.
    pub(crate) bytes: u64,
}

/// One row, with its line feed if it has one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) offset: u64,
}

/// The largest row: what a sequence may have in bytes.
pub(crate) const LIMIT: u64 = u32::MAX as u64;

/// Bytes that may be read at once to find where a sequence ends.
pub(crate) fn most_read(fetch: &dyn Fetch) -> u64 {
    fetch.largest().saturating_add(LOOKAHEAD).min(LIMIT)
}

/// What is wrong with a sequence of more bytes than [`most_read`].
pub(crate) fn too_large(found: u64, fetch: &dyn Fetch) -> DataErrorKind {
    let limit = fetch.largest();
    match limit >= LIMIT {
        true => DataErrorKind::SequenceTooLarge { found, limit: LIMIT },
        false => beyond_memory(found, fetch),
    }
}

/// What is wrong with a sequence that takes so many bytes of memory.
pub(crate) fn beyond_memory(found: u64, fetch: &dyn Fetch) -> DataErrorKind {
    DataErrorKind::SequenceBeyondMemory { found, limit: fetch.largest() }
}

/// Calls `each` for the rows that begin in `reads.from..reads.end`, until it says `false`. A row begins at the first row
/// of the file and behind every line feed.
///
/// # Errors
/// What `each` answers, unreadable storage, and rows beyond what a sequence may have.
pub(crate) fn rows(
    rules: &Rules,
    fetch: &dyn Fetch,
    reads: Reads,
    mut each: impl FnMut(Row<'_>) -> Result<bool, Error>,
) -> Result<(), Error> {
    let size = fetch.size(FILE)?;
    let first = reads.from == rules.prologue.start || rules.prologue.start == 0 && reads.from == 0;
    // A row begins at `from` only if the byte before it is a line feed: begin there and pass over one row end.
    let mut base = if first { reads.from } else { reads.from - 1 };
    let mut passing = !first;
    let mut buffer = Vec::new();
    // The buffer is read over: what is good of it ends with `filled`.
    let mut filled = 0;
    let mut row = 0;
    let mut searched = 0;
    let most = most_read(fetch);
    loop {
        for feed in Feeds::new(&buffer[..filled], searched) {
            if !std::mem::take(&mut passing) {
                let offset = base + row as u64;
                if !each(Row { bytes: &buffer[row..=feed], offset })? {
                    return Ok(());
                }
            }
            row = feed + 1;
            if base + row as u64 >= reads.end {
                return Ok(());
            }
        }
        let read_to = base + filled as u64;
        if read_to == size {
            break;
        }
        if passing {
            if read_to >= reads.end {
                return Ok(());
            }
            row = filled;
        }
        buffer.copy_within(row..filled, 0);
        base += row as u64;
        searched = filled - row;
        row = 0;
        // A long row is read no farther than a sequence may be long.
        let room = most.saturating_sub(searched as u64);
        if room == 0 {
            return Err(located(rules, too_large(searched as u64, fetch), base, 0));
        }
        fetch.read_after(
            FILE,
            read_to..(read_to + reads.bytes.min(room)).min(size),
            searched,
            &mut buffer,
        )?;
        filled = buffer.len();
    }
    if !passing && row < filled {
        last(Row { bytes: &buffer[row..filled], offset: base + row as u64 }, each)?;
    }
    Ok(())
}

/// The row that the file ends in. Out of the way, so that `each` is inlined where the others are.
#[cold]
#[inline(never)]
fn last<'a>(row: Row<'a>, mut each: impl FnMut(Row<'a>) -> Result<bool, Error>) -> Result<(), Error> {
    each(row).map(|_| ())
}
