//! The rows of a group.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, OnceLock};

use arrow_schema::SchemaRef;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ParquetRecordBatchReaderBuilder, RowSelection};
use parquet::file::metadata::page_index::PageIndexBuilder;
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData};
use parquet::schema::types::SchemaDescriptor;
use tesson_core::{ChunkAccess, Defects, Error, Parallelism, Scratch};

use super::bytes::Parts;
use super::footer::{self, MAGIC, chunk_range};
use super::walk;
use crate::arrow::column::Collected;
use crate::arrow::leaf::{Leaf, leaves};
use crate::compressed::WhenCompressed;
use crate::fault::TableFault;
use crate::nulls::{NullRows, NullRule};
use crate::options::TableOptions;
use crate::table::{Field, FieldKind, FileBytes, ReadRows, Rows, Table, TableFormat, Unit};

/// Parquet files.
pub(crate) static PARQUET: TableFormat = TableFormat {
    name: "parquet",
    extensions: &["parquet", "pq", "parq"],
    compressed: WhenCompressed::Refused,
    begins: |bytes| bytes.starts_with(MAGIC),
    open,
    restore: None,
};

/// Rows that are decoded at once.
const AT_ONCE: usize = 8192;

fn open(file: FileBytes<'_>, options: &TableOptions) -> Result<Box<dyn Table>, Error> {
    let metadata = footer::read(file)?;
    let (fields, leaves) = leaves(metadata.schema());
    let columns = leaf_columns(metadata.parquet_schema(), metadata.schema(), &leaves);
    let (used, units, walked) = (Vec::new(), Vec::new(), Vec::new());
    Ok(Box::new(ParquetTable {
        metadata,
        fields,
        leaves,
        columns,
        used,
        nulls: options.nulls,
        units,
        walked,
    }))
}

/// A file whose footer has been read.
struct ParquetTable {
    metadata: ArrowReaderMetadata,
    fields: Vec<Field>,
    leaves: Vec<Leaf>,
    /// The columns of the file that each field is stored in.
    columns: Vec<Vec<usize>>,
    /// The columns of the file that are read.
    used: Vec<usize>,
    nulls: NullRule,
    /// The units, and the number of the first row of each in the file.
    units: Vec<(Unit, u64)>,
    /// The metadata of each group alone, with the places of its pages; found when rows of it are first read, in files without an
    /// index of pages.
    walked: Vec<OnceLock<ArrowReaderMetadata>>,
}

/// The metadata of a file, and the number of a group in it.
struct Group<'a> {
    metadata: &'a ArrowReaderMetadata,
    number: usize,
}

/// Bytes of a column of a group below which all of them are read, whichever rows are wanted.
const WORTH_WALKING: u64 = 256 << 10;

/// The columns of the file that each leaf is stored in: those below its place in the schema.
fn leaf_columns(parquet: &SchemaDescriptor, schema: &SchemaRef, leaves: &[Leaf]) -> Vec<Vec<usize>> {
    let paths: Vec<&[String]> = parquet.columns().iter().map(|column| column.path().parts()).collect();
    let of_leaf = |leaf: &Leaf| {
        let mut field = schema.field(leaf.root);
        let mut path = vec![field.name()];
        for &child in &leaf.path {
            let arrow_schema::DataType::Struct(children) = field.data_type() else { break };
            field = &children[child];
            path.push(field.name());
        }
        let starts = |parts: &[String]| {
            parts.len() >= path.len() && parts.iter().zip(&path).all(|(part, name)| part == *name)
        };
        (0..paths.len()).filter(|&column| starts(paths[column])).collect()
    };
    leaves.iter().map(of_leaf).collect()
}

impl ParquetTable {
    /// Reads one field of some rows of a group.
    fn column(
        &self,
        unit: usize,
        rows: &Rows<'_>,
        field: usize,
        file: FileBytes<'_>,
        scratch: &mut Scratch,
    ) -> Result<Collected, Error> {
        let left = &mut scratch.columns;
        let mut collected = Collected::new_in(left, &self.fields[field], self.nulls, rows.len());
        self.collect(unit, rows, field, file, &mut collected, &mut scratch.bytes)?;
        Ok(collected)
    }

    /// Appends one field of some rows of a group: half of them after the other, where memory has no room for the pages of all.
    fn collect(
        &self,
        unit: usize,
        rows: &Rows<'_>,
        field: usize,
        file: FileBytes<'_>,
        collected: &mut Collected,
        memory: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let group = self.metadata.metadata().row_group(unit);
        let columns = &self.columns[field];
        let n_rows = group.num_rows() as usize;
        let runs = || rows.runs().map(|run| run.start as usize..run.end as usize);
        let is_whole = rows.len() == n_rows;
        let selection = (!is_whole).then(|| RowSelection::from_consecutive_ranges(runs(), n_rows));
        let source = self.group(unit, is_whole, file)?;
        let of_columns = columns.iter().flat_map(|&column| source.pages(column, selection.as_ref()));
        let ranges: Vec<Range<u64>> = of_columns.collect();
        let size = |ranges: &[Range<u64>]| ranges.iter().map(|range| range.end - range.start).sum::<u64>();
        let all = columns.iter().filter_map(|&column| chunk_range(group.column(column)));
        // Where the places of pages are not known, fewer rows take as many bytes.
        let fewer_take_less = is_whole || size(&ranges) < size(&all.collect::<Vec<_>>());
        if size(&ranges) > file.fetch.largest() && rows.len() > 1 && fewer_take_less {
            let (first, second) = rows.halves();
            self.collect(unit, &first, field, file, collected, memory)?;
            return self.collect(unit, &second, field, file, collected, memory);
        }
        let (parts, lent) = Parts::read(file, ranges, memory)?;
        let chunk = group.column(columns[0]);
        let offset = chunk_range(chunk).map_or(0, |range| range.start);
        let before = collected.len();
        let mask = ProjectionMask::leaves(self.metadata.parquet_schema(), columns.iter().copied());
        let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(parts, source.metadata.clone())
            .with_row_groups(vec![source.number])
            .with_projection(mask)
            .with_batch_size(AT_ONCE.min(rows.len().max(1)));
        let builder = match selection {
            Some(selection) => builder.with_row_selection(selection),
            None => builder,
        };
        // The projected schema has the one top-level column, and of structs on the way only the child that is read.
        let leaf = Leaf { root: 0, path: vec![0; self.leaves[field].path.len()] };
        let decode = || -> Result<(), String> {
            for batch in builder.build().map_err(|e| e.to_string())? {
                collected.append(batch.map_err(|e| e.to_string())?.column(0), &leaf)?;
            }
            let found = collected.len() - before;
            if found == rows.len() {
                return Ok(());
            }
            Err(format!("it has {found} rows, {} are declared", rows.len()))
        };
        // Damaged pages may break what the library takes for granted; they are still only damaged data.
        let decoded = catch_unwind(AssertUnwindSafe(decode));
        let decoded = decoded.unwrap_or_else(|_| Err("its pages are invalid".into()));
        lent.take_back(memory);
        decoded.map_err(|what| {
            let column = self.fields[field].name.clone();
            file.error(TableFault::Damaged { unit: format!("row group {unit}"), column, what }, offset)
        })
    }

    /// The metadata by which some rows of a group are read, or all of them.
    fn group(&self, unit: usize, is_whole: bool, file: FileBytes<'_>) -> Result<Group<'_>, Error> {
        let all = Group { metadata: &self.metadata, number: unit };
        let metadata = self.metadata.metadata();
        let index = metadata.page_index_for_row_group(unit);
        let group = metadata.row_group(unit);
        let is_large = |&column: &usize| {
            let size = group.column(column).compressed_size();
            size >= WORTH_WALKING as i64 && index.offset_index(column).is_none()
        };
        if is_whole || !self.used.iter().any(is_large) {
            return Ok(all);
        }
        if let Some(found) = self.walked[unit].get() {
            return Ok(Group { metadata: found, number: 0 });
        }
        let mut builder = PageIndexBuilder::new(1, group.num_columns());
        for &column in &self.used {
            let chunk = group.column(column);
            let Some(range) = chunk_range(chunk) else { continue };
            let known = index.offset_index(column).cloned();
            let pages = match known {
                Some(pages) => Some(pages),
                None => walk::pages(chunk, range, group.num_rows() as usize, file)?,
            };
            if let Some(pages) = pages {
                builder.put_offset_index(pages, 0, column);
            }
        }
        let alone = ParquetMetaData::new(metadata.file_metadata().clone(), vec![group.clone()]);
        let alone = alone.into_builder().set_page_index(Some(Arc::new(builder.build()))).build();
        let Ok(found) = footer::with_schema(Arc::new(alone)) else { return Ok(all) };
        Ok(Group { metadata: self.walked[unit].get_or_init(|| found), number: 0 })
    }

    /// Bytes of a field's rows in memory, estimated.
    fn decoded(&self, unit: usize, field: usize) -> u64 {
        let group = self.metadata.metadata().row_group(unit);
        let stored = |&column: &usize| group.column(column).uncompressed_size().max(0) as u64;
        let rows = group.num_rows() as u64;
        let values = |column: &ColumnChunkMetaData| column.num_values().max(0) as u64;
        let first = self.columns[field].first().map_or(0, |&column| values(group.column(column)));
        match &self.fields[field].kind {
            FieldKind::Flat(element, shape) if !element.is_string() => {
                rows.saturating_mul(shape.len() as u64).saturating_mul(element.size() as u64)
            }
            FieldKind::Ragged(element, _) if !element.is_string() => {
                first.saturating_mul(element.size() as u64) + 4 * rows
            }
            _ => self.columns[field].iter().map(stored).sum::<u64>() + 40 * rows,
        }
    }
}

impl Group<'_> {
    /// The extents of the pages that some rows of a column are in: all of them where their places are not known.
    fn pages(&self, column: usize, selection: Option<&RowSelection>) -> Vec<Range<u64>> {
        let metadata = self.metadata.metadata();
        let Some(all) = chunk_range(metadata.row_group(self.number).column(column)) else {
            return Vec::new();
        };
        let index = metadata.page_index_for_row_group(self.number);
        let (Some(selection), Some(pages)) = (selection, index.offset_index(column)) else {
            return vec![all];
        };
        let pages = pages.page_locations();
        let first = pages.first().and_then(|page| u64::try_from(page.offset).ok()).unwrap_or(all.end);
        let inside = |range: &Range<u64>| range.start >= all.start && range.end <= all.end;
        let wanted = selection.scan_ranges(pages);
        if !wanted.iter().all(inside) || first > all.end {
            return vec![all];
        }
        // A dictionary is before the first page.
        std::iter::once(all.start..first).chain(wanted).collect()
    }
}

impl Table for ParquetTable {
    fn fields(&self) -> &[Field] {
        &self.fields
    }

    fn index(
        &mut self,
        fields: &[usize],
        file: FileBytes<'_>,
        _: &dyn Parallelism,
        _: &mut Defects<'_>,
    ) -> Result<Vec<Unit>, Error> {
        let mut columns: Vec<usize> = fields.iter().flat_map(|&field| self.columns[field].clone()).collect();
        columns.sort_unstable();
        columns.dedup();
        self.metadata = footer::with_pages(&self.metadata, &columns, file)?;
        self.used = columns;
        self.walked = self.metadata.metadata().row_groups().iter().map(|_| OnceLock::new()).collect();
        let mut first = 0;
        for (number, group) in self.metadata.metadata().row_groups().iter().enumerate() {
            let rows = group.num_rows() as u64;
            let ranges = group.columns().iter().filter_map(chunk_range);
            let bytes = ranges.reduce(|all, one| all.start.min(one.start)..all.end.max(one.end));
            let decoded =
                fields.iter().map(|&field| self.decoded(number, field)).fold(0, u64::saturating_add);
            self.units.push((Unit { rows, bytes: bytes.unwrap_or(0..0), decoded }, first));
            first += rows;
        }
        Ok(self.units.iter().map(|(unit, _)| unit.clone()).collect())
    }

    fn access(&self) -> ChunkAccess {
        ChunkAccess::PreferWhole
    }

    fn memory(&self) -> usize {
        self.metadata.metadata().memory_size() + self.units.capacity() * size_of::<(Unit, u64)>()
    }

    fn read(
        &self,
        unit: usize,
        rows: &Rows<'_>,
        fields: &[usize],
        file: FileBytes<'_>,
        scratch: &mut Scratch,
    ) -> Result<ReadRows, Error> {
        let mut read = ReadRows::default();
        let (whole, first) = &self.units[unit];
        for (place, &field) in fields.iter().enumerate() {
            let (column, null_rows) = self.column(unit, rows, field, file, scratch)?.finish();
            let nulls = NullRows { field: (&self.fields[field].name, place), rows: null_rows };
            let offset = |row: u64| whole.extent(row..row + 1).start;
            nulls.report(self.nulls, rows, *first, &offset, &mut read);
            read.columns.push(column);
        }
        read.sort();
        Ok(read)
    }
}
