//! Records of sharded datasets: what files of them have in common, whatever their format.
//!
//! | file | subject |
//! |---|---|
//! | `records` | a block of records, as one run of bytes and a column of places |
//! | `problem` | what can be wrong with one of them |
//!
//! A file of records is read in blocks. Nothing is allocated and nothing is called through a table for a single record;
//! bad data are not errors but [`Fault`]s in the block, with the record's number and the byte.

pub(crate) mod message;
mod problem;
mod records;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;

use tesson_core::{Error, Fetch};

pub use problem::{Fault, Problem};
pub use records::{End, RecordSpan, Records};

/// Which records are to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Want {
    /// The first one, from 0.
    pub first: u64,
    /// At most so many.
    pub most: u64,
    /// No further record is begun when the block has so many bytes.
    pub bytes: u64,
}

/// Bytes that a block may have: its places are numbers of 32 bits.
pub(crate) fn block_limit(fetch: &dyn Fetch) -> u64 {
    fetch.largest().min(u64::from(u32::MAX))
}

/// The index of a file. `None` if that is damaged; then so is each of the `rows` that are wanted, or the end of the block.
pub(crate) fn indexed<'a, I>(
    index: &'a Result<I, Fault>,
    rows: Option<&[u64]>,
    into: &mut Records,
) -> Option<&'a I> {
    let found = index.as_ref().map_err(|fault| match rows {
        Some(rows) => rows.iter().for_each(|&row| into.push_lost(row, fault.offset, fault.problem.clone())),
        None => into.end = End::Damaged(fault.clone()),
    });
    found.ok()
}

/// A file of records. What is read never depends on what was read before, nor on how it was cut into blocks.
pub trait RecordFile: Send + Sync {
    /// Reads a run of records into `into`, which is overwritten but keeps its memory. [`Records::end`] says why it is not
    /// longer.
    ///
    /// # Errors
    /// Only when bytes cannot be read; bad data are faults in `into`.
    fn read(&self, want: Want, fetch: &dyn Fetch, into: &mut Records) -> Result<(), Error>;

    /// Reads these records in this order, each by itself, as many as fit into one buffer, the first one always; a record
    /// that is not there is a fault in its place.
    ///
    /// # Errors
    /// Those of [`RecordFile::read`].
    fn read_rows(&self, rows: &[u64], fetch: &dyn Fetch, into: &mut Records) -> Result<(), Error>;

    /// How many records there are, and what is wrong after the last one. A format without a table of its own
    /// walks from record to record.
    ///
    /// # Errors
    /// Those of [`RecordFile::read`].
    fn count(&self, fetch: &dyn Fetch) -> Result<(u64, Option<Fault>), Error>;

    /// Tells if there are at least this many records, without reading on to the end of the file; `None` where
    /// [`RecordFile::count`] costs no more than that.
    ///
    /// # Errors
    /// Those of [`RecordFile::read`].
    fn reaches(&self, records: u64, fetch: &dyn Fetch) -> Result<Option<bool>, Error> {
        let _ = (records, fetch);
        Ok(None)
    }

    /// True if a record can be found without reading all records before it.
    ///
    /// # Errors
    /// Those of [`RecordFile::read`].
    fn random_access(&self, fetch: &dyn Fetch) -> Result<bool, Error>;

    /// True if records are stored as they are, so that a run of them costs what its own bytes cost, wherever it begins
    /// and ends. False if chunks or the whole file are compressed.
    ///
    /// # Errors
    /// Those of [`RecordFile::read`].
    fn is_plain(&self, fetch: &dyn Fetch) -> Result<bool, Error> {
        let _ = fetch;
        Ok(false)
    }

    /// Bytes of memory held.
    fn memory(&self) -> usize;

    /// The known places of records, once [`RecordFile::count`] has been called and found no fault; `None` if they are
    /// not worth keeping, because the file itself lists them.
    fn save(&self) -> Option<Vec<u8>> {
        None
    }

    /// Takes what [`RecordFile::save`] gave for the same file, of `size` bytes. False if these bytes cannot be that.
    fn restore(&self, saved: &[u8], size: u64) -> bool {
        let _ = (saved, size);
        false
    }
}
