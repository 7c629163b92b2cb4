//! Binary states of versions 1 and 2, which are read and not written any more.
//!
//! Little endian, one field after the other:
//!
//! | bytes | what |
//! |---|---|
//! | 4 | `TSNR` |
//! | 1, 1, 1, 1 | state version; version of the order; flags (1 share, 2 fingerprint, 4 index, 8 minibatches cross sweep ends, 16 consumed, 32 rows, 64 local timeline, 128 steps); number of the order |
//! | 8 × 4 | position; sweep; sequence; faults |
//! | 8 × 2 | workers; rank |
//! | 8 × 5 | corpus; index; options; seed; window |
//! | 8 + … | layers consumed, if any: their number; of each the number of ranks and their positions |
//! | 16 | on local timelines: place and sweep at which the window begins |
//! | 8 × 14 | with equal steps: the fields of [`Steps`], in order |
//! | 8 + … | truncated: number of rows; of each the cursor, the number of its sequences, and of these twice the number, plus 1 where a sweep ended; from version 2 on twice the sweep, plus 1 where the data end inside the sequence, and then the samples that are kept of it |
//! | 8 | checksum of all before |

use std::sync::Arc;

use tesson_core::ResumeError;

use super::numbers::{Numbers, too_short};
use super::{Fingerprint, ResumeState, check_order_version, order_of_numbers, steps};
use crate::{Cursor, Share, Steps, WindowStart};

/// Reads a state of an earlier version from its bytes, which begin after `TSNR` and the version and end before the
/// checksum.
///
/// # Errors
/// [`ResumeError`] for anything else.
pub(super) fn read(version: u8, bytes: &[u8]) -> Result<ResumeState, ResumeError> {
    let &[order_version, flags, order, ref numbers @ ..] = bytes else {
        return Err(too_short());
    };
    let has = |flag: u8| flags & flag != 0;
    let mut numbers = Numbers { bytes: numbers };
    let [position, sweep, sequence, faults, workers, rank] = numbers.array()?;
    let [corpus, index, options, seed, window] = numbers.array()?;
    let order = order_of_numbers(order, seed, window)?;
    check_order_version(&order, order_version.into())?;
    let consumed = if has(16) { Some(Arc::new(numbers.consumed()?)) } else { None };
    let window = if has(64) {
        WindowStart { place: numbers.take()?, sweep: numbers.take()? }
    } else {
        WindowStart::default()
    };
    let steps = if has(128) { steps::from_numbers(|_| numbers.take())? } else { Steps::default() };
    let rows = if has(32) { Some(Arc::new(numbers.rows(version)?)) } else { None };
    let index = has(4).then_some(index);
    let fingerprint = Fingerprint { corpus, index, order, cross_sweep_ends: has(8), options };
    Ok(ResumeState {
        cursor: Cursor { position, sweep, sequence, window, steps },
        share: has(1).then_some(Share { workers, rank }),
        faults,
        rows,
        consumed,
        fingerprint: has(2).then(|| Arc::new(fingerprint)),
    })
}
