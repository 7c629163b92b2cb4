//! The rows of a file.

use tesson_core::{ChunkAccess, Defects, Error, Parallelism, Scratch, StreamColumn, Values};
use tesson_formats::fields::{double, single};
use tesson_formats::saved::Saved;

use super::line::{Parts, pair, words};
use super::scan::fields;
use crate::compressed::WhenCompressed;
use crate::fault::TableFault;
use crate::options::TableOptions;
use crate::table::{Field, FieldKind, FileBytes, ReadRows, Rows, Table, TableFormat, Unit};
use crate::text::{
    Block, ColumnBuilder, LineKind, SparseBuilder, each_row, index_lines, restore_blocks, save_blocks, shown,
    units,
};

/// Files in libsvm's format.
pub(crate) static LIBSVM: TableFormat = TableFormat {
    name: "libsvm",
    extensions: &["svm", "libsvm", "svmlight"],
    compressed: WhenCompressed::Whole,
    begins: |_| false,
    open,
    restore: Some(restore),
};

/// Lines that are rows.
pub(super) const LINES: LineKind =
    LineKind { is_space: |byte| byte.is_ascii_whitespace(), comment: Some(b'#') };

fn open(file: FileBytes<'_>, options: &TableOptions) -> Result<Box<dyn Table>, Error> {
    let (fields, data) = fields(file, options)?;
    Ok(Box::new(Libsvm { fields, data, blocks: Vec::new() }))
}

fn restore(saved: &mut Saved<'_>, fields: &[Field], _: &TableOptions) -> Option<(Box<dyn Table>, Vec<Unit>)> {
    let (blocks, units) = restore_blocks(saved, 0)?;
    let data = blocks.first().map_or(0, |block| block.start);
    Some((Box::new(Libsvm { fields: fields.to_vec(), data, blocks }), units))
}

struct Libsvm {
    fields: Vec<Field>,
    /// Where the lines begin.
    data: u64,
    blocks: Vec<Block>,
}

/// A column while lines are parsed.
enum Column {
    Labels(ColumnBuilder),
    Query(ColumnBuilder),
    Features(Features),
}

impl Column {
    /// No rows yet of a field; `left` is memory of columns that are left.
    fn new(field: &Field, rows: usize, left: &mut Vec<Values>) -> Column {
        match (&field.kind, &*field.name) {
            (&FieldKind::Sparse { element, columns, zero_based }, _) => {
                let pairs = SparseBuilder::new_in(left, element);
                Column::Features(Features { base: u64::from(!zero_based), n: columns as u64, pairs })
            }
            (kind, "qid") => Column::Query(ColumnBuilder::new_in(left, kind, rows)),
            (kind, _) => Column::Labels(ColumnBuilder::new_in(left, kind, rows)),
        }
    }

    /// Appends its part of a line.
    fn push(&mut self, parts: &Parts<'_>, field: &Field) -> Result<(), TableFault> {
        match self {
            Column::Labels(column) => {
                let is_one = matches!(field.kind, FieldKind::Flat(..));
                let mut labels =
                    parts.labels.split(|byte| *byte == b',').filter(|label| is_one || !label.is_empty());
                if is_one && parts.labels.contains(&b',') || !labels.all(|label| column.push_field(label)) {
                    return Err(bad_value(field, parts.labels));
                }
            }
            Column::Query(column) => {
                let query = parts.query.ok_or_else(|| TableFault::NoValue { column: field.name.clone() })?;
                if !column.push_field(query) {
                    return Err(bad_value(field, query));
                }
            }
            Column::Features(column) => column.push(parts.pairs)?,
        }
        Ok(())
    }

    fn end_row(&mut self, is_faulty: bool) {
        match self {
            Column::Labels(column) | Column::Query(column) => {
                if is_faulty {
                    column.end_faulty_row()
                } else {
                    column.end_row()
                }
            }
            Column::Features(column) => column.pairs.end_row(is_faulty),
        }
    }

    fn finish(self) -> StreamColumn {
        match self {
            Column::Labels(column) | Column::Query(column) => column.finish(),
            Column::Features(column) => column.pairs.finish(),
        }
    }
}

fn bad_value(field: &Field, found: &[u8]) -> TableFault {
    TableFault::BadValue { column: field.name.clone(), found: shown(found), dtype: field.kind.name() }
}

/// The pairs of rows.
struct Features {
    /// The index of the first column.
    base: u64,
    /// Number of columns.
    n: u64,
    pairs: SparseBuilder,
}

impl Features {
    fn push(&mut self, pairs: &[u8]) -> Result<(), TableFault> {
        for word in words(pairs) {
            let no_pair = || TableFault::BadPair { found: shown(word) };
            let (index, text) = pair(word).ok_or_else(no_pair)?;
            let column = index.checked_sub(self.base).filter(|column| *column < self.n);
            let Some(column) = column else {
                let (first, last) = (self.base, self.base + self.n - 1);
                return Err(TableFault::IndexOutside { index, first, last });
            };
            match &mut self.pairs.values {
                Values::F32(values) => values.push(single(text.as_bytes()).ok_or_else(no_pair)?),
                Values::F64(values) => values.push(double(text.as_bytes()).ok_or_else(no_pair)?),
                _ => unreachable!("made of one of these"),
            }
            if let Some(before) = self.pairs.last().filter(|before| u64::from(*before) >= column) {
                return Err(TableFault::IndexOrder { index, before: u64::from(before) + self.base });
            }
            self.pairs.columns.push(column as u32);
        }
        Ok(())
    }
}

impl Table for Libsvm {
    fn fields(&self) -> &[Field] {
        &self.fields
    }

    fn assume(&mut self, first: &[Field]) {
        self.fields = first.to_vec();
    }

    fn index(
        &mut self,
        _: &[usize],
        file: FileBytes<'_>,
        parallelism: &dyn Parallelism,
        _: &mut Defects<'_>,
    ) -> Result<Vec<Unit>, Error> {
        self.blocks = index_lines(file, self.data, 0, LINES, parallelism)?;
        units(&self.blocks, 0, file)
    }

    fn access(&self) -> ChunkAccess {
        ChunkAccess::Runs
    }

    fn memory(&self) -> usize {
        size_of::<Libsvm>()
            + self.blocks.capacity() * size_of::<Block>()
            + self.fields.capacity() * size_of::<Field>()
    }

    fn save(&self, into: &mut Vec<u8>) -> bool {
        save_blocks(&self.blocks, into);
        true
    }

    fn read(
        &self,
        unit: usize,
        rows: &Rows<'_>,
        fields: &[usize],
        file: FileBytes<'_>,
        scratch: &mut Scratch,
    ) -> Result<ReadRows, Error> {
        let block = &self.blocks[unit];
        let fields: Vec<&Field> = fields.iter().map(|&field| &self.fields[field]).collect();
        let new = |field: &&Field| Column::new(field, rows.len(), &mut scratch.columns);
        let mut columns: Vec<Column> = fields.iter().map(new).collect();
        let mut read = ReadRows::default();
        each_row(block, rows, file, LINES, &mut scratch.bytes, |line| {
            let parts = Parts::of(line.text);
            for (place, (column, field)) in columns.iter_mut().zip(&fields).enumerate() {
                let pushed = column.push(&parts, field);
                column.end_row(pushed.is_err());
                read.faults.extend(pushed.err().map(|kind| line.fault(Some(place), kind)));
            }
        })?;
        read.columns = columns.into_iter().map(Column::finish).collect();
        Ok(read)
    }
}
