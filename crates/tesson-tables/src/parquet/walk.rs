//! The places of pages, of files that have no index of them: found in the headers of pages, without what is in these.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::{Buf, Bytes};
use parquet::column::page::PageReader;
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::metadata::{ColumnChunkMetaData, OffsetIndexBuilder};
use parquet::file::page_index::offset_index::OffsetIndexMetaData;
use parquet::file::reader::{ChunkReader, Length};
use parquet::file::serialized_reader::SerializedPageReader;
use tesson_core::Error;

use crate::table::FileBytes;

/// Bytes that are read for the header of a page. It may have statistics; a longer one is read again.
const HEADER: u64 = 4 << 10;

/// The part of a file around the header of a page.
struct HeaderWindow {
    size: u64,
    held: Mutex<Held>,
}

#[derive(Default)]
struct Held {
    start: u64,
    bytes: Bytes,
    /// Where the last header that was asked for begins.
    asked: u64,
}

impl HeaderWindow {
    fn with<R>(&self, act: impl FnOnce(&mut Held) -> R) -> R {
        // Nothing is behind the lock that a panic could have left half done.
        act(&mut self.held.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Length for HeaderWindow {
    fn len(&self) -> u64 {
        self.size
    }
}

impl ChunkReader for HeaderWindow {
    type T = bytes::buf::Reader<Bytes>;

    fn get_read(&self, start: u64) -> ParquetResult<Self::T> {
        self.with(|held| {
            held.asked = start;
            let at = start.checked_sub(held.start).and_then(|at| usize::try_from(at).ok());
            match at.filter(|at| *at < held.bytes.len()) {
                Some(at) => Ok(held.bytes.slice(at..).reader()),
                None => Err(ParquetError::EOF(format!("the header at byte {start} has not been read"))),
            }
        })
    }

    fn get_bytes(&self, start: u64, _: usize) -> ParquetResult<Bytes> {
        Err(ParquetError::EOF(format!("the page at byte {start} is not read")))
    }
}

/// The places of the pages of a column chunk in `range`; `None` where the headers do not tell how many rows a page has.
///
/// # Errors
/// Unreadable storage.
pub(super) fn pages(
    column: &ColumnChunkMetaData,
    range: Range<u64>,
    rows: usize,
    file: FileBytes<'_>,
) -> Result<Option<OffsetIndexMetaData>, Error> {
    let window = Arc::new(HeaderWindow { size: file.size()?, held: Mutex::default() });
    let Ok(mut reader) = SerializedPageReader::new(Arc::clone(&window), column, rows, None) else {
        return Ok(None);
    };
    let is_flat = column.column_descr().max_rep_level() == 0;
    let (mut builder, mut counted) = (OffsetIndexBuilder::new(), 0);
    // The first byte and the rows of the page before.
    let mut before: Option<(u64, usize)> = None;
    let mut add = |(start, n): (u64, usize), end: u64| {
        let size = i32::try_from(end.checked_sub(start)?).ok()?;
        builder.append_offset_and_size(i64::try_from(start).ok()?, size);
        builder.append_row_count(i64::try_from(n).ok()?);
        counted += n;
        Some(())
    };
    let mut length = HEADER;
    loop {
        match reader.peek_next_page() {
            Ok(Some(page)) => {
                let start = window.with(|held| held.asked);
                if before.take().is_some_and(|page| add(page, start).is_none()) {
                    return Ok(None);
                }
                if !page.is_dict {
                    let n = page.num_rows.or(if is_flat { page.num_levels } else { None });
                    let Some(n) = n else { return Ok(None) };
                    before = Some((start, n));
                }
                if reader.skip_next_page().is_err() {
                    return Ok(None);
                }
                length = HEADER;
            }
            Ok(None) => break,
            Err(_) => {
                let asked = window.with(|held| held.asked);
                let end = range.end.min(asked.saturating_add(length));
                // A header that is not understood although all of it is there.
                if asked < range.start || asked >= end || length > (range.end - range.start).saturating_mul(2)
                {
                    return Ok(None);
                }
                let mut bytes = Vec::new();
                file.read_over(asked..end, &mut bytes)?;
                window.with(|held| (held.start, held.bytes) = (asked, bytes.into()));
                length *= 4;
            }
        }
    }
    if before.is_none_or(|page| add(page, range.end).is_none()) || counted != rows {
        return Ok(None);
    }
    Ok(Some(builder.build()))
}
