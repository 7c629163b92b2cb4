//! CNTK's binary form: `MLF`, a version, then a record for each utterance.
//!
//! All numbers are little-endian. A record is a key (version 1: a number of 32 bits; version 2: a length of 16 bits and as
//! many bytes), the number of frames (32 bits), the number of runs (16 bits), and for each run its class and its frames
//! (16 bits each).

use tesson_core::{DataError, DataErrorKind, Error, Fetch, Location, ResourceId};

use super::fault::MlfFault;
use super::table::{Entry, Table};
use crate::images::lossy;

/// The first bytes of a file, before its version.
pub(super) const FIRST_BYTES: &[u8; 3] = b"MLF";

/// The versions whose keys are numbers, and texts.
const VERSION_OF_NUMBERS: i16 = 1;
pub(super) const VERSION_OF_TEXTS: i16 = 2;

/// Bytes of the number of frames and of runs.
const COUNTS: usize = 6;

/// Bytes of a run.
const RUN: usize = 4;

/// Bytes that are read at once.
const READ: u64 = 1 << 20;

/// The class and number of frames of each run of a record without its key.
pub(super) fn runs(record: &[u8]) -> impl Iterator<Item = (u16, u16)> {
    let runs = record.get(COUNTS..).unwrap_or_default().as_chunks::<RUN>().0;
    runs.iter().map(|&[a, b, c, d]| (u16::from_le_bytes([a, b]), u16::from_le_bytes([c, d])))
}

/// The part of a file that has been read.
struct Window<'a> {
    fetch: &'a dyn Fetch,
    file: ResourceId,
    size: u64,
    bytes: Vec<u8>,
    /// Where it begins in the file.
    start: u64,
}

impl Window<'_> {
    /// The bytes of the file from `at` on; `None` where it has fewer.
    fn get(&mut self, at: u64, n: usize) -> Result<Option<&[u8]>, Error> {
        let end = at.saturating_add(n as u64);
        if end > self.size {
            return Ok(None);
        }
        if at < self.start || end > self.start + self.bytes.len() as u64 {
            let range = at..end.max(at + READ).min(self.size);
            self.fetch.read_over(self.file, range, &mut self.bytes)?;
            self.start = at;
            self.fetch.progress(self.bytes.len() as u64);
        }
        let from = (at - self.start) as usize;
        Ok(Some(&self.bytes[from..from + n]))
    }
}

/// Indexes a file.
pub(super) fn index(
    path: &std::path::Path,
    file: ResourceId,
    fetch: &dyn Fetch,
    table: &mut Table,
) -> Result<(), Error> {
    let size = fetch.size(file)?;
    let error = |fault: DataErrorKind, offset| -> Error {
        DataError::new(fault, Location { file: path.into(), offset, line: None }).into()
    };
    if size == 0 {
        return Err(error(DataErrorKind::EmptyFile, 0));
    }
    let mut window = Window { fetch, file, size, bytes: Vec::new(), start: 0 };
    let head = window.get(0, size.min(5) as usize)?.unwrap_or_default().to_vec();
    let Some((_, version)) = head.split_first_chunk::<3>().filter(|(first, _)| *first == FIRST_BYTES) else {
        return Err(error(MlfFault::NotBinary { found: lossy(&head) }.into(), 0));
    };
    let Some(version) = version.first_chunk::<2>().map(|bytes| i16::from_le_bytes(*bytes)) else {
        return Err(error(MlfFault::CutOff.into(), size));
    };
    if !matches!(version, VERSION_OF_NUMBERS | VERSION_OF_TEXTS) {
        return Err(error(MlfFault::UnknownVersion { found: version }.into(), 3));
    }
    let mut at = 5;
    while at < size {
        let record = record(&mut window, at, version)?.ok_or_else(|| error(MlfFault::CutOff.into(), at))?;
        let n = record.frames.max(1);
        let entry = Entry { offset: record.start, line: 0, size: record.size, frames: n };
        table.push(entry, &record.key).map_err(|fault| error(fault.into(), at))?;
        at = record.start + u64::from(record.size);
        if fetch.cancelled() {
            return Err(Error::Cancelled);
        }
    }
    Ok(())
}

/// A record of a file.
struct Record {
    key: Vec<u8>,
    /// Where it begins after its key, and its bytes from there on.
    start: u64,
    size: u32,
    frames: u32,
}

/// The record that begins at a byte; `None` where the file ends within it.
fn record(window: &mut Window<'_>, at: u64, version: i16) -> Result<Option<Record>, Error> {
    let (key, start) = if version == VERSION_OF_NUMBERS {
        let Some(bytes) = window.get(at, 4)?.and_then(|bytes| bytes.first_chunk()) else { return Ok(None) };
        (u32::from_le_bytes(*bytes).to_string().into_bytes(), at + 4)
    } else {
        let Some(bytes) = window.get(at, 2)?.and_then(|bytes| bytes.first_chunk()) else { return Ok(None) };
        let n = u16::from_le_bytes(*bytes);
        let Some(key) = window.get(at + 2, n.into())? else { return Ok(None) };
        (key.to_vec(), at + 2 + u64::from(n))
    };
    let Some(counts) = window.get(start, COUNTS)? else { return Ok(None) };
    let frames = u32::from_le_bytes([counts[0], counts[1], counts[2], counts[3]]);
    let size = COUNTS + RUN * usize::from(u16::from_le_bytes([counts[4], counts[5]]));
    let is_whole = start + size as u64 <= window.size;
    Ok(is_whole.then_some(Record { key, start, size: size as u32, frames }))
}
