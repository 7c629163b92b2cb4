//! The rows of a file.

use csv_core::ReadRecordResult;
use tesson_core::{ChunkAccess, DataErrorKind, Defects, Element, Error, Parallelism, Scratch, Shape};
use tesson_formats::fields::{FieldKernel, Fields};
use tesson_formats::saved::Saved;

use super::header::{Dialect, is_missing};
use super::records::reader;
use super::split::SplitRows;
use crate::compressed::WhenCompressed;
use crate::fault::TableFault;
use crate::nulls::NullRule;
use crate::options::TableOptions;
use crate::table::{Field, FieldKind, FileBytes, ReadRows, RowFault, Rows, Table, TableFormat, Unit};
use crate::text::{
    Block, ColumnBuilder, LineKind, MOST_ROW_BYTES, block_bytes, index_lines, long_row, restore_blocks,
    save_blocks, shown, units,
};

/// CSV files.
pub(crate) static CSV: TableFormat = TableFormat {
    name: "csv",
    extensions: &["csv", "tsv"],
    compressed: WhenCompressed::FromBeginning,
    begins: |_| false,
    open,
    restore: Some(restore),
};

/// Lines that are rows where nothing is quoted.
const LINES: LineKind = LineKind { is_space: |byte| byte == b'\r', comment: None };

fn open(file: FileBytes<'_>, options: &TableOptions) -> Result<Box<dyn Table>, Error> {
    let dialect = Dialect::read(file, options)?;
    Ok(Box::new(Text { dialect, nulls: options.nulls, blocks: Vec::new() }))
}

fn restore(
    saved: &mut Saved<'_>,
    fields: &[Field],
    options: &TableOptions,
) -> Option<(Box<dyn Table>, Vec<Unit>)> {
    let [delimiter] = saved.take()?;
    // Those that are not read may differ from the first file's, and so may their number.
    let n_fields = saved.number().filter(|n| *n <= MOST_FIELDS.max(fields.len() as u64))?;
    let mut fields = fields.to_vec();
    fields.resize(n_fields as usize, Field::new("", FieldKind::Flat(Element::Text, Shape::new([]))));
    let (blocks, units) = restore_blocks(saved, 0)?;
    let data = blocks.first().map_or((0, 0), |block| (block.start, block.line));
    let dialect = Dialect { delimiter, fields, data };
    Some((Box::new(Text { dialect, nulls: options.nulls, blocks }), units))
}

/// Fields of a row that a kept index may name, at most, unless the first file has more.
const MOST_FIELDS: u64 = 1 << 20;

struct Text {
    dialect: Dialect,
    nulls: NullRule,
    blocks: Vec<Block>,
}

impl Text {
    /// Finds rows where fields are quoted, or lines end with a carriage return alone: from the beginning to the end.
    fn index_records(&self, file: FileBytes<'_>) -> Result<Vec<Block>, Error> {
        let (size, (mut at, mut line)) = (file.size()?, self.dialect.data);
        let mut reader = reader(self.dialect.delimiter);
        let (mut buffer, mut fields, mut ends) = (Vec::new(), vec![0; 1 << 12], vec![0; 1 << 10]);
        let mut blocks: Vec<Block> = Vec::new();
        // The row that is being read; `None` between rows.
        let mut row: Option<(u64, u64)> = None;
        while at < size {
            if file.fetch.cancelled() {
                return Err(Error::Cancelled);
            }
            file.read_over(at..size.min(at + (1 << 20)), &mut buffer)?;
            file.fetch.progress(buffer.len() as u64);
            let mut rest = &buffer[..];
            while !rest.is_empty() {
                if row.is_none() {
                    let empty = rest.iter().take_while(|byte| matches!(**byte, b'\r' | b'\n')).count();
                    line += memchr::memchr_iter(b'\n', &rest[..empty]).count() as u64;
                    (at, rest) = (at + empty as u64, &rest[empty..]);
                    if rest.is_empty() {
                        break;
                    }
                    row = Some((at, line));
                }
                // What the fields hold is of no interest here.
                let (result, read, ..) = reader.read_record(rest, &mut fields, &mut ends);
                line += memchr::memchr_iter(b'\n', &rest[..read]).count() as u64;
                (at, rest) = (at + read as u64, &rest[read..]);
                if let Some((start, first_line)) = row {
                    if at - start > MOST_ROW_BYTES {
                        return Err(long_row(file, start, first_line));
                    }
                    if result == ReadRecordResult::Record || at == size {
                        add(&mut blocks, start, at, first_line);
                        row = None;
                    }
                }
            }
        }
        Ok(blocks)
    }

    /// True if a field is quoted anywhere, or a line ends with a carriage return alone.
    fn is_plain(&self, file: FileBytes<'_>, parallelism: &dyn Parallelism) -> Result<bool, Error> {
        let (data, size) = (self.dialect.data.0, file.size()?);
        let parts = size.saturating_sub(data).div_ceil(PLAIN_BYTES) as usize;
        let plain = parallelism.map(parts, |part| {
            let start = data + part as u64 * PLAIN_BYTES;
            let end = size.min(start + PLAIN_BYTES);
            let mut bytes = Vec::new();
            // With the byte after, which may be the line feed of the last carriage return.
            file.read_over(start..size.min(end + 1), &mut bytes)?;
            let own = (end - start) as usize;
            let is_alone = |at: usize| bytes[at] == b'"' || bytes.get(at + 1) != Some(&b'\n');
            let mut found = memchr::memchr2_iter(b'"', b'\r', &bytes[..own]);
            Ok::<bool, Error>(!found.any(is_alone))
        });
        plain.into_iter().try_fold(true, |all, part| Ok(all && part?))
    }
}

/// Bytes that are looked at for quotes at once.
const PLAIN_BYTES: u64 = 1 << 22;

/// Adds a row to the last block, or to a new one.
fn add(blocks: &mut Vec<Block>, start: u64, end: u64, line: u64) {
    match blocks.last_mut() {
        Some(block) if end - block.start <= block_bytes() => {
            (block.end, block.rows) = (end, block.rows + 1);
        }
        _ => blocks.push(Block { start, end, rows: 1, line }),
    }
}

impl Table for Text {
    fn fields(&self) -> &[Field] {
        &self.dialect.fields
    }

    fn assume(&mut self, first: &[Field]) {
        let names = |fields: &[Field]| fields.iter().map(|field| field.name.clone()).collect::<Vec<_>>();
        if names(&self.dialect.fields) == names(first) {
            self.dialect.fields = first.to_vec();
        }
    }

    fn index(
        &mut self,
        _: &[usize],
        file: FileBytes<'_>,
        parallelism: &dyn Parallelism,
        _: &mut Defects<'_>,
    ) -> Result<Vec<Unit>, Error> {
        let (data, line) = self.dialect.data;
        self.blocks = if self.is_plain(file, parallelism)? {
            index_lines(file, data, line, LINES, parallelism)?
        } else {
            self.index_records(file)?
        };
        units(&self.blocks, 0, file)
    }

    fn access(&self) -> ChunkAccess {
        ChunkAccess::Runs
    }

    fn memory(&self) -> usize {
        size_of::<Text>()
            + self.blocks.capacity() * size_of::<Block>()
            + self.dialect.fields.capacity() * size_of::<Field>()
    }

    fn save(&self, into: &mut Vec<u8>) -> bool {
        into.push(self.dialect.delimiter);
        into.extend((self.dialect.fields.len() as u64).to_le_bytes());
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
        let (block, n_fields) = (&self.blocks[unit], self.dialect.fields.len());
        let bytes = &mut scratch.bytes;
        file.read_over(block.start..block.end, bytes)?;
        let left = scratch.format.take().and_then(|left| left.downcast::<SplitRows>().ok());
        let mut split = left.unwrap_or_default();
        split.split(bytes, self.dialect.delimiter, n_fields, rows).map_err(|found| {
            let what = format!("{found} rows where {} were indexed", block.rows);
            file.error_at(DataErrorKind::Changed { what }, block.start, Some(block.line))
        })?;
        let mut read = ReadRows::default();
        // Where a row lies is looked up below.
        let fault = |row: usize, field: Option<usize>, kind: TableFault| RowFault {
            row: row as u32,
            field,
            kind: kind.into(),
            offset: 0,
            line: None,
        };
        read.faults.extend(split.odd.iter().map(|&(row, found)| {
            fault(row as usize, None, TableFault::FieldCount { found, expected: n_fields })
        }));
        let kernel = FieldKernel::detect();
        for (place, &field) in fields.iter().enumerate() {
            let kind = &self.dialect.fields[field].kind;
            let mut column = ColumnBuilder::new_in(&mut scratch.columns, kind, rows.len());
            let texts = Fields { text: bytes, bounds: &split.bounds, stride: n_fields + 1, column: field };
            let mut from = 0;
            for odd in split.odd.iter().map(|(row, _)| *row as usize).chain([rows.len()]) {
                while from < odd {
                    from += column.push_rows(kernel, texts.rows(from..odd));
                    if from == odd {
                        break;
                    }
                    let text = texts.get(from);
                    if column.push_field(text) || is_empty(text) && column.fill(self.nulls) {
                        column.end_row();
                    } else if is_empty(text) && self.nulls == NullRule::Skip {
                        read.skipped.push(from as u32);
                        column.end_faulty_row();
                    } else {
                        read.faults.push(fault(from, Some(place), self.bad_value(field, text)));
                        column.end_faulty_row();
                    }
                    from += 1;
                }
                if odd < rows.len() {
                    column.end_faulty_row();
                    from = odd + 1;
                }
            }
            read.columns.push(column.finish());
        }
        read.sort();
        let (mut at, mut line) = (0, block.line);
        for fault in &mut read.faults {
            let start = split.starts[fault.row as usize];
            line += memchr::memchr_iter(b'\n', &bytes[at..start as usize]).count() as u64;
            at = start as usize;
            (fault.offset, fault.line) = (block.start + u64::from(start), Some(line));
        }
        scratch.format = Some(split);
        Ok(read)
    }
}

impl Text {
    #[cold]
    fn bad_value(&self, field: usize, text: &[u8]) -> TableFault {
        let Field { name, kind, .. } = &self.dialect.fields[field];
        let is_text = matches!(kind, FieldKind::Flat(Element::Text, _));
        let column = name.clone();
        match std::str::from_utf8(text) {
            Ok(text) if is_missing(text) && !is_text => TableFault::NoValue { column },
            Err(_) if is_text => TableFault::NotUtf8 { column, found: shown(text) },
            _ => TableFault::BadValue { column, found: shown(text), dtype: kind.name() },
        }
    }
}

/// True if a field stands for no value.
fn is_empty(field: &[u8]) -> bool {
    std::str::from_utf8(field).is_ok_and(is_missing)
}
