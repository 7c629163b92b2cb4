//! Every checksum of a file.

use tesson_core::{DataError, Error};
use tesson_formats::record::End;

use super::RecordsFile;

/// A summary of a check.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CheckedRecords {
    /// Records, the damaged ones included.
    pub records: u64,
    /// Bytes of the good ones.
    pub bytes: u64,
    /// Damaged ones, and damage after the last one as one more.
    pub faults: u64,
}

/// Reads a whole file and calls `each` for every damage, in order; `progress` is called with the number of records
/// checked.
///
/// # Errors
/// Unreadable storage.
pub fn check(
    file: &RecordsFile,
    each: &mut dyn FnMut(&DataError),
    progress: &mut dyn FnMut(u64),
) -> Result<CheckedRecords, Error> {
    let mut seen = CheckedRecords::default();
    file.for_each_block(|block| {
        seen.records += block.len() as u64;
        seen.bytes += block.places().iter().map(|place| u64::from(place.size)).sum::<u64>();
        for (_, fault) in block.faults() {
            each(&fault.in_file(file.path()));
        }
        seen.faults += block.faults().len() as u64;
        if let End::Damaged(fault) = block.end() {
            each(&fault.in_file(file.path()));
            seen.faults += 1;
        }
        progress(seen.records);
        Ok::<(), Error>(())
    })?;
    Ok(seen)
}
