//! The lines of a text file, one after the other, read in pieces into one buffer.

use tesson_core::{Error, Fetch, LOOKAHEAD, ResourceId};

use crate::ctf::Feeds;

/// The reads for lines that begin at or after `from` and before `end`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reads {
    pub(crate) from: u64,
    pub(crate) end: u64,
    /// Size of one read.
    pub(crate) bytes: u64,
}

/// One line, with its line feed if it has one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) offset: u64,
}

/// A file of which lines are read.
#[derive(Clone, Copy)]
pub(crate) struct LineFile {
    pub(crate) file: ResourceId,
    /// Where its first line begins.
    pub(crate) first: u64,
}

/// The largest line: what a sequence may have in bytes.
pub(crate) const LIMIT: u64 = u32::MAX as u64;

/// Bytes that may be read at once to find where a line ends.
pub(crate) fn most_read(fetch: &dyn Fetch) -> u64 {
    fetch.largest().saturating_add(LOOKAHEAD).min(LIMIT)
}

/// Calls `each` for the lines that begin in `reads.from..reads.end`, until it says `false`. A line begins at the first one
/// of the file and behind every line feed. `too_large` is the error of a line that is too long, of which so many bytes have
/// been read from an offset on.
///
/// # Errors
/// Errors of `each` and `too_large`, and unreadable storage.
pub(crate) fn lines(
    LineFile { file, first }: LineFile,
    fetch: &dyn Fetch,
    reads: Reads,
    too_large: impl Fn(u64, u64) -> Error,
    mut each: impl FnMut(Line<'_>) -> Result<bool, Error>,
) -> Result<(), Error> {
    let size = fetch.size(file)?;
    let is_first = reads.from == first;
    // A line begins at `from` only if the byte before it is a line feed: begin there and pass over one line end.
    let mut base = if is_first { reads.from } else { reads.from - 1 };
    let mut passing = !is_first;
    let mut buffer = Vec::new();
    // The buffer is read over: what is good of it ends with `filled`.
    let mut filled = 0;
    let mut line = 0;
    let mut searched = 0;
    let most = most_read(fetch);
    loop {
        for feed in Feeds::new(&buffer[..filled], searched) {
            if !std::mem::take(&mut passing) {
                let offset = base + line as u64;
                if !each(Line { bytes: &buffer[line..=feed], offset })? {
                    return Ok(());
                }
            }
            line = feed + 1;
            if base + line as u64 >= reads.end {
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
            line = filled;
        }
        buffer.copy_within(line..filled, 0);
        base += line as u64;
        searched = filled - line;
        line = 0;
        // A long line is read no farther than a sequence may be long.
        let room = most.saturating_sub(searched as u64);
        if room == 0 {
            return Err(too_large(searched as u64, base));
        }
        let range = read_to..(read_to + reads.bytes.min(room)).min(size);
        fetch.read_after(file, range, searched, &mut buffer)?;
        filled = buffer.len();
    }
    if !passing && line < filled {
        last(Line { bytes: &buffer[line..filled], offset: base + line as u64 }, each)?;
    }
    Ok(())
}

/// The line that the file ends in. Out of the way, so that `each` is inlined where the others are.
#[cold]
#[inline(never)]
fn last<'a>(line: Line<'a>, mut each: impl FnMut(Line<'a>) -> Result<bool, Error>) -> Result<(), Error> {
    each(line).map(|_| ())
}
