//! The parts of a file that are in memory.

use std::ops::Range;

use bytes::{Buf, Bytes};
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::reader::{ChunkReader, Length};
use tesson_core::Error;

use crate::arrow::memory::Lent;
use crate::table::FileBytes;

/// Parts of a file that were read, ascending.
#[derive(Default)]
pub(super) struct Parts {
    size: u64,
    parts: Vec<(u64, Bytes)>,
}

/// Bytes between two parts that are read along: one read costs as much.
const GAP: u64 = 64 << 10;

impl Parts {
    /// Reads parts of a file, those that are close together at once; the first of them into `memory`, which is lent.
    pub(super) fn read(
        file: FileBytes<'_>,
        mut ranges: Vec<Range<u64>>,
        memory: &mut Vec<u8>,
    ) -> Result<(Parts, Lent), Error> {
        ranges.retain(|range| !range.is_empty());
        ranges.sort_by_key(|range| range.start);
        let most = file.fetch.largest();
        let mut joined: Vec<Range<u64>> = Vec::new();
        for range in ranges {
            match joined.last_mut() {
                Some(last) if range.start <= last.end + GAP && range.end - last.start <= most => {
                    last.end = last.end.max(range.end);
                }
                _ => joined.push(range),
            }
        }
        let mut parts = Vec::with_capacity(joined.len());
        let mut joined = joined.into_iter();
        let first = joined.next().unwrap_or(0..0);
        file.read_over(first.clone(), memory)?;
        let (lent, bytes) = Lent::new(std::mem::take(memory));
        parts.push((first.start, bytes));
        for range in joined {
            let mut bytes = Vec::new();
            file.read_over(range.clone(), &mut bytes)?;
            parts.push((range.start, bytes.into()));
        }
        Ok((Parts { size: file.size()?, parts }, lent))
    }

    /// The bytes from `start` to the end of the part that it is in.
    fn from(&self, start: u64) -> ParquetResult<Bytes> {
        let part = self.parts.partition_point(|(first, _)| *first <= start).checked_sub(1);
        let found = part.and_then(|part| {
            let (first, bytes) = &self.parts[part];
            let at = usize::try_from(start - first).ok()?;
            (at <= bytes.len()).then(|| bytes.slice(at..))
        });
        found.ok_or_else(|| ParquetError::EOF(format!("byte {start} is outside of the column's pages")))
    }
}

impl Length for Parts {
    fn len(&self) -> u64 {
        self.size
    }
}

impl ChunkReader for Parts {
    type T = bytes::buf::Reader<Bytes>;

    fn get_read(&self, start: u64) -> ParquetResult<Self::T> {
        Ok(self.from(start)?.reader())
    }

    fn get_bytes(&self, start: u64, length: usize) -> ParquetResult<Bytes> {
        let mut bytes = self.from(start)?;
        if length > bytes.len() {
            return Err(ParquetError::EOF(format!(
                "{length} bytes at {start} reach beyond the column's pages"
            )));
        }
        bytes.truncate(length);
        Ok(bytes)
    }
}
