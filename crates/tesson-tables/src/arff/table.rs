//! The rows of a file.

use tesson_core::{ChunkAccess, Defects, Element, Error, Parallelism, Scratch, Shape};
use tesson_formats::saved::Saved;

use super::header::{Attribute, AttributeKind, Header, begins};
use super::row::{Row, Value};
use crate::compressed::WhenCompressed;
use crate::fault::TableFault;
use crate::nulls::NullRule;
use crate::options::TableOptions;
use crate::table::{Field, FieldKind, FileBytes, ReadRows, Rows, Table, TableFormat, Unit};
use crate::text::{
    Block, ColumnBuilder, LineKind, SAMPLE_BYTES, Scalar, each_row, index_lines, lines, parse_scalar,
    refuse_other_encodings, restore_blocks, save_blocks, shown, units,
};

/// ARFF files.
pub(crate) static ARFF: TableFormat = TableFormat {
    name: "arff",
    extensions: &["arff"],
    compressed: WhenCompressed::FromBeginning,
    begins,
    open,
    restore: Some(restore),
};

/// Lines that are rows.
const LINES: LineKind = LineKind { is_space: |byte| byte.is_ascii_whitespace(), comment: Some(b'%') };

/// Bytes of a header, at most.
const MOST_HEADER_BYTES: u64 = 1 << 28;

/// Rows that are looked through for weights, at most.
const SAMPLE_ROWS: usize = 10_000;

fn open(file: FileBytes<'_>, options: &TableOptions) -> Result<Box<dyn Table>, Error> {
    let size = file.size()?;
    let (mut wanted, mut bytes) = (SAMPLE_BYTES, Vec::new());
    loop {
        file.read_over(0..size.min(wanted), &mut bytes)?;
        let mark = refuse_other_encodings(&bytes, file)?;
        let is_all = wanted >= size;
        let header = Header::read(&bytes, mark as usize, is_all, options).map_err(|fault| {
            let what = TableFault::BadHeader { format: "ARFF", what: fault.what };
            file.error_at(what, fault.offset, Some(fault.line))
        })?;
        match header {
            // The weights of rows are seen in the first ones.
            Some(header) if is_all || memchr::memchr(b'\n', &bytes[header.end..]).is_some() => {
                let mut table = Arff::new(header, &bytes, options);
                if table.has_weights(&bytes[table.data.0 as usize..], options) {
                    table.push_weight();
                }
                let shown: Vec<String> = table
                    .fields
                    .iter()
                    .map(|field| format!("`{}` {}", field.name, field.type_name()))
                    .collect();
                tracing::info!("{}: columns {}", file.path.display(), shown.join(", "));
                return Ok(Box::new(table));
            }
            _ if wanted >= MOST_HEADER_BYTES => {
                let what = format!("found no `@data` and row in its first {MOST_HEADER_BYTES} bytes");
                return Err(file.error(TableFault::BadHeader { format: "ARFF", what }, 0));
            }
            _ => wanted *= 8,
        }
    }
}

fn restore(
    saved: &mut Saved<'_>,
    fields: &[Field],
    options: &TableOptions,
) -> Option<(Box<dyn Table>, Vec<Unit>)> {
    let length = usize::try_from(saved.number()?).ok()?;
    let (text, rest) = saved.0.split_at_checked(length)?;
    saved.0 = rest;
    let header = Header::read(text, 0, true, options).ok()??;
    let mut table = Arff::new(header, text, options);
    table.assume(fields);
    table.row_bytes = saved.number()?;
    let (blocks, units) = restore_blocks(saved, table.row_bytes)?;
    table.blocks = blocks;
    Some((Box::new(table), units))
}

struct Arff {
    attributes: Vec<Attribute>,
    /// Those of the attributes, and one for the weights of rows, if they have some.
    fields: Vec<Field>,
    nulls: NullRule,
    /// The text of the header, which a kept index has.
    header: Vec<u8>,
    /// Where rows begin, and the line.
    data: (u64, u64),
    blocks: Vec<Block>,
    /// Bytes in memory of a row's fields that are read: sparse rows are as wide as others.
    row_bytes: u64,
}

impl Arff {
    fn new(header: Header, text: &[u8], options: &TableOptions) -> Arff {
        let Header { attributes, end, lines } = header;
        let fields = attributes.iter().map(|attribute| attribute.field.clone()).collect();
        // Its attributes are read from the mark on.
        let header = text.strip_prefix(&[0xef, 0xbb, 0xbf][..]).unwrap_or(text);
        let header = header[..end - (text.len() - header.len())].to_vec();
        let data = (end as u64, lines);
        Arff { attributes, fields, nulls: options.nulls, header, data, blocks: Vec::new(), row_bytes: 0 }
    }

    /// True if one of these rows has a weight, or a stream asks for it.
    fn has_weights(&self, rows: &[u8], options: &TableOptions) -> bool {
        let name = self.weight_name();
        let is_asked = options.streams().is_some_and(|streams| streams.iter().any(|one| one.column == name))
            || options.key.as_deref() == Some(name);
        let mut row = Row::default();
        let n = self.attributes.len();
        is_asked
            || lines(rows, LINES)
                .take(SAMPLE_ROWS)
                .any(|line| row.read(line.text, n).is_ok() && row.weight.is_some())
    }

    /// The name of the weights' column.
    fn weight_name(&self) -> &'static str {
        let is_taken = self.attributes.iter().any(|attribute| attribute.field.name == "weight");
        if is_taken { "instance_weight" } else { "weight" }
    }

    fn push_weight(&mut self) {
        let kind = FieldKind::Flat(Element::F64, Shape::new([]));
        self.fields.push(Field::new(self.weight_name(), kind));
    }

    /// Appends a row's value of a field.
    fn push(&self, field: usize, row: &Row, line: &[u8], column: &mut ColumnBuilder) -> Result<(), Pushed> {
        let Some(attribute) = self.attributes.get(field) else {
            let weight = row.weight.map_or(&b"1"[..], |weight| weight.of(line, &row.unescaped));
            return if column.push_field(weight) {
                Ok(())
            } else {
                Err(Pushed::Fault(self.bad_value(field, weight)))
            };
        };
        let text = match row.values[field] {
            Value::Missing if column.fill(self.nulls) => return Ok(()),
            Value::Missing if self.nulls == NullRule::Skip => return Err(Pushed::Skipped),
            Value::Missing => {
                let column = self.fields[field].name.clone();
                return Err(Pushed::Fault(TableFault::NoValue { column }));
            }
            Value::Zero => attribute.zero(),
            Value::Given(text) => text.of(line, &row.unescaped),
        };
        let is_pushed = match &attribute.kind {
            AttributeKind::Number => {
                column.push_field(text) || whole(text).is_some_and(|n| column.push(Scalar::Whole(n)))
            }
            AttributeKind::Text => column.push_field(text),
            AttributeKind::Nominal { names, sorted } => {
                let found = sorted.binary_search_by(|&i| names[i as usize].as_bytes().cmp(text));
                let numbers = !attribute.field.classes.is_empty();
                found.is_ok_and(|at| {
                    if numbers {
                        column.push(Scalar::Whole(sorted[at].into()))
                    } else {
                        column.push_field(text)
                    }
                })
            }
            AttributeKind::Date(_) if row.values[field] == Value::Zero => column.push(Scalar::Whole(0)),
            AttributeKind::Date(form) => {
                form.parse(text).is_some_and(|n| column.push(Scalar::Whole(n.into())))
            }
            AttributeKind::Other => false,
        };
        if is_pushed { Ok(()) } else { Err(Pushed::Fault(self.bad_value(field, text))) }
    }

    #[cold]
    fn bad_value(&self, field: usize, text: &[u8]) -> TableFault {
        let Field { name, kind, classes, .. } = &self.fields[field];
        let column = name.clone();
        let is_text = matches!(kind, FieldKind::Flat(Element::Text, _));
        let found = shown(text);
        if is_text && std::str::from_utf8(text).is_err() {
            return TableFault::NotUtf8 { column, found };
        }
        let dtype = match self.attributes.get(field).map(|attribute| &attribute.kind) {
            Some(AttributeKind::Nominal { names, .. }) => {
                let first: Vec<&str> = names.iter().take(8).map(String::as_str).collect();
                let more = if names.len() > first.len() { ", …" } else { "" };
                format!("one of {}{more}", first.join(", "))
            }
            Some(AttributeKind::Date(_)) => "a time of the form that the header gives".into(),
            _ => kind.name(),
        };
        debug_assert!(classes.is_empty() || !is_text, "texts have no classes");
        TableFault::BadValue { column, found, dtype }
    }
}

/// Why a row has no value of a field.
enum Pushed {
    Skipped,
    Fault(TableFault),
}

/// A whole number that is written as another one, such as `5.0`; none that a float may have rounded.
fn whole(text: &[u8]) -> Option<i128> {
    const MOST: f64 = (1_u64 << 53) as f64;
    match parse_scalar(std::str::from_utf8(text).ok()?) {
        Scalar::Real(x) if x.fract() == 0.0 && x.abs() < MOST => Some(x as i128),
        _ => None,
    }
}

impl Table for Arff {
    fn fields(&self) -> &[Field] {
        &self.fields
    }

    fn assume(&mut self, first: &[Field]) {
        // Whether rows have weights, no header says.
        let n = self.attributes.len();
        let has = first.len() == n + 1 && first[n].name == self.weight_name();
        self.fields.truncate(n);
        if has {
            self.push_weight();
        }
    }

    fn index(
        &mut self,
        fields: &[usize],
        file: FileBytes<'_>,
        parallelism: &dyn Parallelism,
        _: &mut Defects<'_>,
    ) -> Result<Vec<Unit>, Error> {
        self.blocks = index_lines(file, self.data.0, self.data.1, LINES, parallelism)?;
        let bytes = |&field: &usize| match &self.fields[field].kind {
            FieldKind::Flat(element, _) if !element.is_string() => element.size() as u64,
            _ => size_of::<u64>() as u64,
        };
        self.row_bytes = fields.iter().map(bytes).sum();
        units(&self.blocks, self.row_bytes, file)
    }

    fn access(&self) -> ChunkAccess {
        ChunkAccess::Runs
    }

    fn memory(&self) -> usize {
        let names = |attribute: &Attribute| match &attribute.kind {
            AttributeKind::Nominal { names, .. } => {
                names.iter().map(|name| size_of::<String>() + size_of::<u32>() + name.capacity()).sum()
            }
            _ => 0,
        };
        size_of::<Arff>()
            + self.header.capacity()
            + self.blocks.capacity() * size_of::<Block>()
            + self.fields.capacity() * size_of::<Field>()
            + self.attributes.capacity() * size_of::<Attribute>()
            + self.attributes.iter().map(names).sum::<usize>()
    }

    fn save(&self, into: &mut Vec<u8>) -> bool {
        into.extend((self.header.len() as u64).to_le_bytes());
        into.extend_from_slice(&self.header);
        into.extend(self.row_bytes.to_le_bytes());
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
        let n = self.attributes.len();
        let new = |&field: &usize| {
            ColumnBuilder::new_in(&mut scratch.columns, &self.fields[field].kind, rows.len())
        };
        let mut columns: Vec<ColumnBuilder> = fields.iter().map(new).collect();
        let (mut read, mut row) = (ReadRows::default(), Row::default());
        each_row(&self.blocks[unit], rows, file, LINES, &mut scratch.bytes, |line| {
            let mut is_row = row.read(line.text, n);
            if is_row.is_ok() && row.weight.is_some() && self.fields.len() == n {
                is_row = Err(TableFault::LateWeight);
            }
            if let Err(fault) = is_row {
                read.faults.push(line.fault(None, fault));
                columns.iter_mut().for_each(ColumnBuilder::end_faulty_row);
                return;
            }
            for (place, (&field, column)) in fields.iter().zip(&mut columns).enumerate() {
                match self.push(field, &row, line.text, column) {
                    Ok(()) => column.end_row(),
                    Err(pushed) => {
                        column.end_faulty_row();
                        match pushed {
                            Pushed::Skipped => read.skipped.push(line.row),
                            Pushed::Fault(fault) => read.faults.push(line.fault(Some(place), fault)),
                        }
                    }
                }
            }
        })?;
        read.columns = columns.into_iter().map(ColumnBuilder::finish).collect();
        read.sort();
        Ok(read)
    }
}
