//! The rows of a file.

use csv_core::ReadRecordResult;
use tesson_core::{ChunkAccess, DataErrorKind, Defects, Element, Error, Parallelism, Scratch, Shape};
use tesson_formats::saved::Saved;

use super::header::{Dialect, is_missing};
use super::records::{Records, reader};
use crate::compressed::WhenCompressed;
use crate::fault::TableFault;
use crate::nulls::NullRule;
use crate::options::TableOptions;
use crate::table::{Field, FieldKind, FileBytes, ReadRows, RowFault, Rows, Table, TableFormat, Unit};
use crate::text::{
    Block, ColumnBuilder, LineKind, MOST_ROW_BYTES, block_bytes, index_lines, long_row, restore_blocks,
    save_blocks, units,
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
    let (blocks, units) = restore_blocks(saved)?;
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
        units(&self.blocks, file)
    }

    fn access(&self) -> ChunkAccess {
        ChunkAccess::PreferWhole
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
        let block = &self.blocks[unit];
        file.read_over(block.start..block.end, &mut scratch.bytes)?;
        let mut records = Records::new(&scratch.bytes[..], self.dialect.delimiter);
        let kind = |&field: &usize| ColumnBuilder::new(&self.dialect.fields[field].kind, rows.len());
        let mut columns: Vec<ColumnBuilder> = fields.iter().map(kind).collect();
        let mut read = ReadRows::default();
        let mut next = 0;
        for i in 0..rows.len() {
            let row = rows.get(i);
            while next <= row {
                if !records.next_row() {
                    let what = format!("{next} rows where {} were indexed", block.rows);
                    return Err(file.error_at(
                        DataErrorKind::Changed { what },
                        block.start,
                        Some(block.line),
                    ));
                }
                next += 1;
            }
            let fault = |field: Option<usize>, kind: TableFault| RowFault {
                row: i as u32,
                field,
                kind: kind.into(),
                offset: block.start + records.start(),
                line: Some(block.line + records.line()),
            };
            let expected = self.dialect.fields.len();
            if records.len() != expected {
                read.faults.push(fault(None, TableFault::FieldCount { found: records.len(), expected }));
                columns.iter_mut().for_each(ColumnBuilder::end_faulty_row);
                continue;
            }
            for (place, (column, &field)) in columns.iter_mut().zip(fields).enumerate() {
                let text = records.field(field);
                if column.push_field(text) || is_empty(text) && column.fill(self.nulls) {
                    column.end_row();
                } else if is_empty(text) && self.nulls == NullRule::Skip {
                    read.skipped.push(i as u32);
                    column.end_faulty_row();
                } else {
                    read.faults.push(fault(Some(place), self.bad_value(field, text)));
                    column.end_faulty_row();
                }
            }
        }
        read.sort();
        read.columns = columns.into_iter().map(ColumnBuilder::finish).collect();
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

/// The beginning of a field, for messages.
fn shown(text: &[u8]) -> String {
    const MOST: usize = 60;
    let lossy = String::from_utf8_lossy(&text[..text.len().min(MOST)]);
    let cut = if text.len() > MOST { "…" } else { "" };
    format!("{}{cut}", lossy.escape_debug())
}
