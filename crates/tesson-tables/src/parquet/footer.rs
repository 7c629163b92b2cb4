//! The file's end: schema, row groups, where pages are.

use std::ops::Range;
use std::sync::Arc;

use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use parquet::file::metadata::{
    ColumnChunkMask, ColumnChunkMetaData, PageIndexPolicy, ParquetMetaData, ParquetMetaDataReader,
};
use tesson_core::Error;

use super::bytes::Parts;
use crate::fault::TableFault;
use crate::table::FileBytes;

/// The first and last bytes of a file.
pub(super) const MAGIC: &[u8; 4] = b"PAR1";

/// Rows of a group, at most: pages count theirs by numbers of 31 bits.
const MOST_ROWS: i64 = 1 << 31;

/// An error of the footer.
fn bad(file: FileBytes<'_>, what: String, offset: u64) -> Error {
    file.error(TableFault::BadHeader { format: "parquet", what }, offset)
}

/// Reads the footer of a file.
pub(super) fn read(file: FileBytes<'_>) -> Result<ArrowReaderMetadata, Error> {
    let size = file.size()?;
    let least = 2 * MAGIC.len() as u64 + 4;
    if size < least {
        return Err(bad(file, format!("the file has {size} bytes, expected at least {least}"), 0));
    }
    let mut end = Vec::new();
    file.read_over(size - 8..size, &mut end)?;
    if end[4..] != *MAGIC {
        let what = "the file does not end with `PAR1`; it is no Parquet file, or was not written to its end";
        return Err(bad(file, what.into(), size - 4));
    }
    let found = u64::from(u32::from_le_bytes(*end.first_chunk().expect("eight bytes were read")));
    if found > size - least {
        return Err(bad(file, format!("the footer declares {found} bytes, the file has {size}"), size - 8));
    }
    let start = size - 8 - found;
    let mut bytes = Vec::new();
    file.read_over(start..size - 8, &mut bytes)?;
    let metadata =
        ParquetMetaDataReader::decode_metadata(&bytes).map_err(|e| bad(file, e.to_string(), start))?;
    check(&metadata, size).map_err(|what| bad(file, what, start))?;
    with_schema(Arc::new(metadata)).map_err(|what| bad(file, what, start))
}

/// Metadata with the schema that they declare.
pub(super) fn with_schema(metadata: Arc<ParquetMetaData>) -> Result<ArrowReaderMetadata, String> {
    ArrowReaderMetadata::try_new(metadata, ArrowReaderOptions::new()).map_err(|e| e.to_string())
}

/// Checks sizes and places before anything is allocated for them.
fn check(metadata: &ParquetMetaData, size: u64) -> Result<(), String> {
    let n_columns = metadata.file_metadata().schema_descr().num_columns();
    for (number, group) in metadata.row_groups().iter().enumerate() {
        let (rows, columns) = (group.num_rows(), group.num_columns());
        if !(0..=MOST_ROWS).contains(&rows) || columns != n_columns {
            return Err(format!("row group {number} has {rows} rows in {columns} columns"));
        }
        let outside =
            |column: &&ColumnChunkMetaData| chunk_range(column).is_none_or(|range| range.end > size);
        if let Some(column) = group.columns().iter().find(outside) {
            let path = column.column_path().string();
            return Err(format!("column `{path}` of row group {number} is said to lie outside of the file"));
        }
    }
    Ok(())
}

/// The extent of a column of a row group.
pub(super) fn chunk_range(column: &ColumnChunkMetaData) -> Option<Range<u64>> {
    let start = column.dictionary_page_offset().unwrap_or(column.data_page_offset());
    // A writer may have given no offset to a dictionary that it has not.
    let start = if start == 0 { column.data_page_offset() } else { start };
    let (start, size) = (u64::try_from(start).ok()?, u64::try_from(column.compressed_size()).ok()?);
    Some(start..start.checked_add(size)?)
}

/// Adds the places of the pages of some columns, where the file has them.
pub(super) fn with_pages(
    metadata: &ArrowReaderMetadata,
    columns: &[usize],
    file: FileBytes<'_>,
) -> Result<ArrowReaderMetadata, Error> {
    let size = file.size()?;
    let groups = metadata.metadata().row_groups().iter();
    let of_groups = groups.flat_map(|group| columns.iter().map(|&column| group.column(column)));
    let ranges: Option<Vec<Range<u64>>> = of_groups.map(ColumnChunkMetaData::offset_index_range).collect();
    let Some(ranges) = ranges.filter(|ranges| ranges.iter().all(|range| range.end <= size)) else {
        return Ok(metadata.clone());
    };
    let (parts, _) = Parts::read(file, ranges, &mut Vec::new())?;
    let mut reader = ParquetMetaDataReader::new_with_metadata((**metadata.metadata()).clone())
        .with_column_index_policy(PageIndexPolicy::Skip)
        .with_offset_index_policy(PageIndexPolicy::Optional)
        .with_offset_index_mask(ColumnChunkMask::columns(columns.iter().copied()));
    let found = reader.read_page_indexes(&parts).and_then(|()| reader.finish());
    // Pages are found without it, by reading all of them.
    let Ok(found) = found else { return Ok(metadata.clone()) };
    with_schema(Arc::new(found)).map_err(|what| bad(file, what, 0))
}
