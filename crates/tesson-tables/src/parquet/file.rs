//! The rows of a group.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

use arrow_schema::SchemaRef;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ParquetRecordBatchReaderBuilder, RowSelection};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::schema::types::SchemaDescriptor;
use tesson_core::{ChunkAccess, Defects, Error, Parallelism, Scratch};

use super::bytes::Parts;
use super::footer::{self, MAGIC, chunk_range};
use crate::arrow::column::Collected;
use crate::arrow::leaf::{Leaf, leaves};
use crate::fault::TableFault;
use crate::nulls::{NullRows, NullRule};
use crate::options::TableOptions;
use crate::table::{Field, FieldKind, FileBytes, ReadRows, Rows, Table, TableFormat, Unit};

/// Parquet files.
pub(crate) static PARQUET: TableFormat = TableFormat {
    name: "parquet",
    extensions: &["parquet", "pq", "parq"],
    begins: |bytes| bytes.starts_with(MAGIC),
    open,
};

/// Rows that are decoded at once.
const AT_ONCE: usize = 8192;

fn open(file: FileBytes<'_>, options: &TableOptions) -> Result<Box<dyn Table>, Error> {
    let metadata = footer::read(file)?;
    let (fields, leaves) = leaves(metadata.schema());
    let columns = leaf_columns(metadata.parquet_schema(), metadata.schema(), &leaves);
    let units = Vec::new();
    Ok(Box::new(ParquetTable { metadata, fields, leaves, columns, nulls: options.nulls, units }))
}

/// A file whose footer has been read.
struct ParquetTable {
    metadata: ArrowReaderMetadata,
    fields: Vec<Field>,
    leaves: Vec<Leaf>,
    /// The columns of the file that each field is stored in.
    columns: Vec<Vec<usize>>,
    nulls: NullRule,
    /// The units, and the number of the first row of each in the file.
    units: Vec<(Unit, u64)>,
}

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
    ) -> Result<Collected, Error> {
        let group = self.metadata.metadata().row_group(unit);
        let columns = &self.columns[field];
        let n_rows = group.num_rows() as usize;
        let runs = || rows.runs().map(|run| run.start as usize..run.end as usize);
        let is_whole = rows.len() == n_rows;
        let selection = (!is_whole).then(|| RowSelection::from_consecutive_ranges(runs(), n_rows));
        let ranges = columns.iter().flat_map(|&column| self.pages(unit, column, selection.as_ref()));
        let parts = Parts::read(file, ranges.collect())?;
        let chunk = group.column(columns[0]);
        let offset = chunk_range(chunk).map_or(0, |range| range.start);
        let mut collected = Collected::new(&self.fields[field], self.nulls, rows.len());
        let mask = ProjectionMask::leaves(self.metadata.parquet_schema(), columns.iter().copied());
        let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(parts, self.metadata.clone())
            .with_row_groups(vec![unit])
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
            if collected.len() == rows.len() {
                return Ok(());
            }
            Err(format!("it has {} rows, {} are declared", collected.len(), rows.len()))
        };
        // Damaged pages may break what the library takes for granted; they are still only damaged data.
        let decoded = catch_unwind(AssertUnwindSafe(decode));
        let decoded = decoded.unwrap_or_else(|_| Err("its pages are invalid".into()));
        decoded.map_err(|what| {
            let column = self.fields[field].name.clone();
            file.error(TableFault::Damaged { unit: format!("row group {unit}"), column, what }, offset)
        })?;
        Ok(collected)
    }

    /// The extents of the pages that some rows of a column are in: all of them where their places are not known.
    fn pages(&self, unit: usize, column: usize, selection: Option<&RowSelection>) -> Vec<Range<u64>> {
        let metadata = self.metadata.metadata();
        let Some(all) = chunk_range(metadata.row_group(unit).column(column)) else { return Vec::new() };
        let index = metadata.page_index_for_row_group(unit);
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
        _: &mut Scratch,
    ) -> Result<ReadRows, Error> {
        let mut read = ReadRows::default();
        let (whole, first) = &self.units[unit];
        for (place, &field) in fields.iter().enumerate() {
            let (column, null_rows) = self.column(unit, rows, field, file)?.finish();
            let nulls = NullRows { field: (&self.fields[field].name, place), rows: null_rows };
            let offset = |row: u64| whole.extent(row..row + 1).start;
            nulls.report(self.nulls, rows, *first, &offset, &mut read);
            read.columns.push(column);
        }
        read.sort();
        Ok(read)
    }
}
