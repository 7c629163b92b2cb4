//! Reads of many utterances: those that lie beside each other in a file are one read.

use std::ops::Range;

use tesson_core::{Error, Fetch, ResourceId};

/// Bytes between two utterances that are read with them.
const GAP: u64 = 16 << 10;

/// Bytes that are read at once, if not a single utterance is longer.
const READ_AT_ONCE: u64 = 256 << 10;

/// Reads `n` ranges of bytes and calls `each` with the number and the bytes of each one, in order.
///
/// # Errors
/// As reads have them, and those of `each`.
pub(crate) fn read_each(
    fetch: &dyn Fetch,
    n: usize,
    range: impl Fn(usize) -> (ResourceId, Range<u64>),
    buffer: &mut Vec<u8>,
    mut each: impl FnMut(usize, &[u8]) -> Result<(), Error>,
) -> Result<(), Error> {
    let most = fetch.largest().min(READ_AT_ONCE);
    let mut next = 0;
    while next < n {
        let first = next;
        let (file, mut run) = range(first);
        next += 1;
        while next < n {
            let (of, bytes) = range(next);
            let end = run.end.max(bytes.end);
            let is_beside = of == file && (run.start..=run.end.saturating_add(GAP)).contains(&bytes.start);
            if !is_beside || end - run.start > most {
                break;
            }
            run.end = end;
            next += 1;
        }
        fetch.read_over(file, run.clone(), buffer)?;
        for i in first..next {
            let bytes = range(i).1;
            each(i, &buffer[(bytes.start - run.start) as usize..(bytes.end - run.start) as usize])?;
        }
    }
    Ok(())
}
