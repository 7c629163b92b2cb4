//! The rows of a file.

use tesson_core::{ChunkAccess, Defects, Error, Parallelism, Scratch};
use tesson_formats::saved::Saved;

use super::parse::{Cell, Members, fault_of, read_line};
use super::schema::Beginning;
use crate::compressed::WhenCompressed;
use crate::fault::TableFault;
use crate::nulls::NullRule;
use crate::options::TableOptions;
use crate::table::{Field, FileBytes, ReadRows, Rows, Table, TableFormat, Unit};
use crate::text::{
    Block, ColumnBuilder, LineKind, each_row, index_lines, restore_blocks, save_blocks, units,
};

/// Files with an object of JSON in each line.
pub(crate) static JSON_LINES: TableFormat = TableFormat {
    name: "jsonl",
    extensions: &["jsonl", "ndjson", "json"],
    compressed: WhenCompressed::FromBeginning,
    begins: |bytes| bytes.trim_ascii_start().starts_with(b"{"),
    open,
    restore: Some(restore),
};

/// Lines that are rows.
pub(super) const LINES: LineKind = LineKind { is_space: |byte| byte.is_ascii_whitespace(), comment: None };

fn open(file: FileBytes<'_>, options: &TableOptions) -> Result<Box<dyn Table>, Error> {
    let Beginning { fields, data } = Beginning::read(file, options)?;
    Ok(Box::new(JsonLines { fields, data, nulls: options.nulls, blocks: Vec::new() }))
}

fn restore(
    saved: &mut Saved<'_>,
    fields: &[Field],
    options: &TableOptions,
) -> Option<(Box<dyn Table>, Vec<Unit>)> {
    let (blocks, units) = restore_blocks(saved, 0)?;
    let data = blocks.first().map_or(0, |block| block.start);
    Some((Box::new(JsonLines { fields: fields.to_vec(), data, nulls: options.nulls, blocks }), units))
}

struct JsonLines {
    fields: Vec<Field>,
    /// Where the lines begin.
    data: u64,
    nulls: NullRule,
    blocks: Vec<Block>,
}

impl Table for JsonLines {
    fn fields(&self) -> &[Field] {
        &self.fields
    }

    fn assume(&mut self, first: &[Field]) {
        // Members have names, and those of this file are found by the first one's.
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
        size_of::<JsonLines>()
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
        let members = Members::of(fields.iter().map(|&field| &self.fields[field]));
        let mut cells: Vec<Cell> =
            fields.iter().map(|&field| Cell::new(&self.fields[field].kind, rows.len())).collect();
        let mut read = ReadRows::default();
        each_row(block, rows, file, LINES, &mut scratch.bytes, |line| {
            if let Err(error) = read_line(line.text, &members, &mut cells) {
                read.faults.push(line.fault(None, fault_of(&error)));
                cells.iter_mut().for_each(Cell::end_unread_row);
                return;
            }
            for (place, (cell, &field)) in cells.iter_mut().zip(fields).enumerate() {
                if let Err(found) = cell.end_row(self.nulls) {
                    if found.is_none() && self.nulls == NullRule::Skip {
                        read.skipped.push(line.row);
                        continue;
                    }
                    let Field { name, kind, .. } = &self.fields[field];
                    let column = name.clone();
                    let kind = match found {
                        Some(found) => TableFault::BadValue { column, found, dtype: kind.name() },
                        None => TableFault::NoValue { column },
                    };
                    read.faults.push(line.fault(Some(place), kind));
                }
            }
        })?;
        read.sort();
        read.columns = cells.into_iter().map(|cell| ColumnBuilder::finish(cell.column)).collect();
        Ok(read)
    }
}
