//! The rows of a file, one after the other.

use tesson_core::{DataErrorKind, Error, Fetch};

pub(crate) use crate::lines::{LIMIT, Line as Row, Reads, most_read};
use crate::lines::{LineFile, lines};

use super::{FILE, Rules, located};

/// The fault of a sequence of more bytes than [`most_read`].
pub(crate) fn too_large(found: u64, fetch: &dyn Fetch) -> DataErrorKind {
    let limit = fetch.largest();
    if limit >= LIMIT {
        DataErrorKind::SequenceTooLarge { found, limit: LIMIT }
    } else {
        beyond_memory(found, fetch)
    }
}

/// The fault of a sequence that takes this many bytes of memory.
pub(crate) fn beyond_memory(found: u64, fetch: &dyn Fetch) -> DataErrorKind {
    DataErrorKind::SequenceBeyondMemory { found, limit: fetch.largest() }
}

/// Calls `each` for the rows that begin in `reads.from..reads.end`, until it says `false`. A row begins at the first row
/// of the file and behind every line feed.
///
/// # Errors
/// Those of `each`, unreadable storage, and rows beyond what a sequence may have.
pub(crate) fn rows(
    rules: &Rules,
    fetch: &dyn Fetch,
    reads: Reads,
    each: impl FnMut(Row<'_>) -> Result<bool, Error>,
) -> Result<(), Error> {
    let file = LineFile { file: FILE, first: rules.prologue.start };
    let too_large = |found, offset| located(rules, too_large(found, fetch), offset, 0);
    lines(file, fetch, reads, too_large, each)
}
