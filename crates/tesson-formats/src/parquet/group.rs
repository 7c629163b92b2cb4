//! The rows of a group, taken from its pages.

use std::sync::Arc;

use bytes::{Buf, Bytes};
use parquet::column::reader::ColumnReaderImpl;
use parquet::data_type::{ByteArray, ByteArrayType};
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::reader::{ChunkReader, Length};
use parquet::file::serialized_reader::SerializedPageReader;
use tesson_core::{Error, Fetch, ResourceId};

use crate::record::Problem;

use super::index::Index;

/// Rows that are taken from pages at once.
const AT_ONCE: usize = 1024;

/// A group's rows; those without an example are `None`.
pub(super) struct Group {
    pub(super) number: usize,
    /// Where its column begins in the file.
    pub(super) offset: u64,
    pub(super) rows: Result<Vec<Option<ByteArray>>, Problem>,
}

impl Group {
    pub(super) fn read(
        index: &Index,
        number: usize,
        resource: ResourceId,
        fetch: &dyn Fetch,
    ) -> Result<Group, Error> {
        let column = index.metadata.row_group(number).column(index.column);
        let size = fetch.size(resource)?;
        let begin = column.dictionary_page_offset().unwrap_or(column.data_page_offset());
        // Neither can be negative; then they are beyond any file.
        let place = |n: i64| u64::try_from(n).unwrap_or(u64::MAX);
        let (offset, length) = (place(begin), place(column.compressed_size()));
        let group = |rows| Group { number, offset, rows };
        let Some(end) = offset.checked_add(length).filter(|&end| end <= size) else {
            return Ok(group(Err(Problem::Truncated { needed: length, left: size.saturating_sub(offset) })));
        };
        if length > fetch.largest() {
            return Ok(group(Err(Problem::TooLarge { found: length, limit: fetch.largest() })));
        }
        let mut bytes = Vec::new();
        fetch.read(resource, offset..end, &mut bytes)?;
        let rows = decode(index, number, Slice { base: offset, bytes: bytes.into() });
        Ok(group(rows.map_err(|e| Problem::BadRowGroup { group: number as u64, what: e.to_string() })))
    }

    /// Bytes of memory held.
    pub(super) fn memory(&self) -> usize {
        let rows = self.rows.as_ref().map_or(&[][..], |rows| rows);
        rows.iter().flatten().map(ByteArray::len).sum::<usize>() + size_of_val(rows)
    }
}

fn decode(index: &Index, number: usize, slice: Slice) -> ParquetResult<Vec<Option<ByteArray>>> {
    let group = index.metadata.row_group(number);
    let column = group.column(index.column);
    let n = group.num_rows() as usize;
    let optional = column.column_descr().max_def_level() > 0;
    let pages = SerializedPageReader::new(Arc::new(slice), column, n, None)?;
    let mut reader = ColumnReaderImpl::<ByteArrayType>::new(column.column_descr_ptr(), Box::new(pages));
    let (mut rows, mut values, mut levels) = (Vec::new(), Vec::new(), Vec::new());
    while rows.len() < n {
        values.clear();
        levels.clear();
        let most = AT_ONCE.min(n - rows.len());
        let (read, _, _) = reader.read_records(most, optional.then_some(&mut levels), None, &mut values)?;
        if read == 0 {
            return Err(ParquetError::General(format!("it has {} rows, {n} are said", rows.len())));
        }
        let mut values = values.drain(..);
        if optional {
            rows.extend(levels.iter().map(|&level| if level > 0 { values.next() } else { None }));
        } else {
            rows.extend(values.map(Some));
        }
    }
    Ok(rows)
}

/// A part of the file.
struct Slice {
    base: u64,
    bytes: Bytes,
}

impl Slice {
    fn from(&self, start: u64) -> ParquetResult<Bytes> {
        let at = start.checked_sub(self.base).and_then(|at| usize::try_from(at).ok());
        match at.filter(|&at| at <= self.bytes.len()) {
            Some(at) => Ok(self.bytes.slice(at..)),
            None => Err(ParquetError::EOF(format!("byte {start} is outside of the group's column"))),
        }
    }
}

impl Length for Slice {
    fn len(&self) -> u64 {
        self.base + self.bytes.len() as u64
    }
}

impl ChunkReader for Slice {
    type T = bytes::buf::Reader<Bytes>;

    fn get_read(&self, start: u64) -> ParquetResult<Self::T> {
        Ok(self.from(start)?.reader())
    }

    fn get_bytes(&self, start: u64, length: usize) -> ParquetResult<Bytes> {
        let mut bytes = self.from(start)?;
        if length > bytes.len() {
            return Err(ParquetError::EOF(format!(
                "{length} bytes at {start} reach beyond the group's column"
            )));
        }
        bytes.truncate(length);
        Ok(bytes)
    }
}
