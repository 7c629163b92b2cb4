//! The rows of a file.

use tesson_core::{
    ChunkAccess, Data, Defects, Element, Error, Offsets, Parallelism, Scratch, Shape, StreamColumn, Values,
};
use tesson_formats::saved::Saved;

use super::hash::NameHash;
use super::line::{Feature, Parts};
use super::options::VwOptions;
use crate::compressed::WhenCompressed;
use crate::fault::TableFault;
use crate::nulls::NullRule;
use crate::options::TableOptions;
use crate::table::{Field, FieldKind, FileBytes, ReadRows, Rows, Table, TableFormat, Unit};
use crate::text::{
    Block, ColumnBuilder, LineKind, SAMPLE_BYTES, Scalar, each_row, index_lines, lines,
    refuse_other_encodings, restore_blocks, save_blocks, units,
};

/// Files of Vowpal Wabbit.
pub(crate) static VW: TableFormat = TableFormat {
    name: "vw",
    extensions: &["vw"],
    compressed: WhenCompressed::FromBeginning,
    begins: |_| false,
    open,
    restore: Some(restore),
};

/// Lines that are rows.
const LINES: LineKind = LineKind { is_space: |byte| byte.is_ascii_whitespace(), comment: None };

fn open(file: FileBytes<'_>, options: &TableOptions) -> Result<Box<dyn Table>, Error> {
    let size = file.size()?;
    let mut bytes = Vec::new();
    file.read_over(0..size.min(SAMPLE_BYTES), &mut bytes)?;
    let mark = refuse_other_encodings(&bytes, file)?;
    let table = Vw::new(options, mark);
    match lines(&bytes[mark as usize..], LINES).next() {
        // Labels of another kind are refused at once, before the whole file is read.
        Some(line) if !table.is_text_label() => {
            let refused = |fault| file.error_at(fault, mark + line.start as u64, Some(line.number));
            Parts::of(line.text).numbers().map_err(refused)?;
        }
        None if size <= SAMPLE_BYTES => return Err(file.error(TableFault::NoFirstRow, size)),
        _ => {}
    }
    Ok(Box::new(table))
}

fn restore(
    saved: &mut Saved<'_>,
    _: &[Field],
    options: &TableOptions,
) -> Option<(Box<dyn Table>, Vec<Unit>)> {
    let (blocks, units) = restore_blocks(saved, 0)?;
    let table = Vw::new(options, blocks.first().map_or(0, |block| block.start));
    Some((Box::new(Vw { blocks, ..table }), units))
}

struct Vw {
    fields: Vec<Field>,
    nulls: NullRule,
    bits: u64,
    hash: NameHash,
    /// Where the lines begin.
    data: u64,
    blocks: Vec<Block>,
}

impl Vw {
    fn new(options: &TableOptions, data: u64) -> Vw {
        let VwOptions { bits, hash } = options.vw;
        let float = |name: &str| match options.declared(name) {
            Some(element @ (Element::F32 | Element::F16)) => element,
            _ => Element::F64,
        };
        let flat = |name: &str, element| Field::new(name, FieldKind::Flat(element, Shape::new([])));
        let ragged = |name: &str, element| Field::new(name, FieldKind::Ragged(element, Shape::new([])));
        let label = options.declared("label").unwrap_or(Element::F64);
        let mut fields = vec![flat("label", label)];
        // A label that is a text is all of what is before the tag.
        if !label.is_string() {
            fields.extend(["importance", "base"].map(|name| flat(name, float(name))));
        }
        let text = |name: &str| options.declared(name).filter(|element| *element == Element::Bytes);
        let text = |name: &str| text(name).unwrap_or(Element::Text);
        fields.extend([flat("tag", text("tag")), ragged("names", text("names"))]);
        fields.push(ragged("values", float("values")));
        let element = if float("features") == Element::F32 { Element::F32 } else { Element::F64 };
        let kind = FieldKind::Sparse { element, columns: 1 << bits, zero_based: true };
        fields.push(Field::new("features", kind));
        Vw { fields, nulls: options.nulls, bits, hash, data, blocks: Vec::new() }
    }

    fn is_text_label(&self) -> bool {
        matches!(self.fields[0].kind, FieldKind::Flat(element, _) if element.is_string())
    }
}

/// A column while lines are parsed.
enum Column {
    /// The label, the importance or the base, which is this one of the numbers, and what stands for a missing one.
    Number(ColumnBuilder, usize, Option<&'static [u8]>),
    /// All words of the label.
    Label(ColumnBuilder),
    Tag(ColumnBuilder),
    Names(ColumnBuilder, Vec<u8>),
    Values(ColumnBuilder),
    Features(Features),
}

/// Why a row has no value of a column.
enum NoValue {
    Skipped,
    Fault(TableFault),
}

impl Column {
    fn new(table: &Vw, field: &Field, rows: usize) -> Column {
        let builder = || ColumnBuilder::new(&field.kind, rows);
        match (&*field.name, &field.kind) {
            ("label", _) if table.is_text_label() => Column::Label(builder()),
            ("label", _) => Column::Number(builder(), 0, None),
            ("importance", _) => Column::Number(builder(), 1, Some(b"1")),
            ("base", _) => Column::Number(builder(), 2, Some(b"0")),
            ("tag", _) => Column::Tag(builder()),
            ("names", _) => Column::Names(builder(), Vec::new()),
            (_, FieldKind::Sparse { element, .. }) => Column::Features(Features {
                mask: (1 << table.bits) - 1,
                row: Vec::new(),
                ends: vec![0],
                columns: Vec::new(),
                values: if *element == Element::F32 {
                    Values::F32(Vec::new())
                } else {
                    Values::F64(Vec::new())
                },
            }),
            _ => Column::Values(builder()),
        }
    }

    /// Appends its part of a line.
    fn push(&mut self, parts: &Parts<'_>, field: &Field, table: &Vw) -> Result<(), NoValue> {
        let pushed = match self {
            Column::Number(column, place, default) => {
                let numbers = parts.numbers().map_err(NoValue::Fault)?;
                let Some(text) = numbers[*place].or(*default) else {
                    return match table.nulls {
                        rule if column.fill(rule) => Ok(()),
                        NullRule::Skip => Err(NoValue::Skipped),
                        _ => Err(NoValue::Fault(TableFault::NoValue { column: field.name.clone() })),
                    };
                };
                if column.push_field(text) { Ok(()) } else { Err(bad_value(field, text)) }
            }
            Column::Label(column) => push_text(column, field, parts.label),
            Column::Tag(column) => push_text(column, field, parts.tag),
            Column::Names(column, name) => {
                let mut pushed = Ok(());
                let read = parts.each_feature(table.hash, |feature| {
                    feature.write_name(name);
                    if pushed.is_ok() {
                        pushed = push_text(column, field, name);
                    }
                });
                read.and(pushed)
            }
            Column::Values(column) => parts.each_feature(table.hash, |feature| {
                column.push(Scalar::Real(feature.value));
            }),
            Column::Features(column) => {
                parts.each_feature(table.hash, |feature| column.see(feature, table.hash))
            }
        };
        pushed.map_err(NoValue::Fault)
    }

    fn end_row(&mut self, is_faulty: bool) {
        match self {
            Column::Number(column, ..)
            | Column::Label(column)
            | Column::Tag(column)
            | Column::Names(column, _)
            | Column::Values(column) => {
                if is_faulty {
                    column.end_faulty_row();
                } else {
                    column.end_row();
                }
            }
            Column::Features(column) => column.end_row(is_faulty),
        }
    }

    fn finish(self) -> StreamColumn {
        match self {
            Column::Number(column, ..)
            | Column::Label(column)
            | Column::Tag(column)
            | Column::Names(column, _)
            | Column::Values(column) => column.finish(),
            Column::Features(Features { ends, columns, values, .. }) => StreamColumn {
                samples: Offsets::Every(1),
                data: Data::Sparse { rows: Offsets::At(ends), columns, values },
            },
        }
    }
}

fn push_text(column: &mut ColumnBuilder, field: &Field, text: &[u8]) -> Result<(), TableFault> {
    if column.push_field(text) {
        return Ok(());
    }
    let found = String::from_utf8_lossy(text).chars().take(60).collect();
    Err(TableFault::NotUtf8 { column: field.name.clone(), found })
}

#[cold]
fn bad_value(field: &Field, text: &[u8]) -> TableFault {
    let found = String::from_utf8_lossy(text).chars().take(60).collect();
    TableFault::BadValue { column: field.name.clone(), found, dtype: field.kind.name() }
}

/// The pairs of rows.
struct Features {
    mask: u64,
    /// Those of the row that is being parsed, in the order of the line.
    row: Vec<(u32, f64)>,
    ends: Vec<u32>,
    columns: Vec<u32>,
    values: Values,
}

impl Features {
    fn see(&mut self, feature: &Feature<'_>, hash: NameHash) {
        if feature.value != 0.0 {
            self.row.push(((feature.number(hash) & self.mask) as u32, feature.value));
        }
    }

    /// Ends a row: its pairs ascend, and features of one column are added up.
    fn end_row(&mut self, is_faulty: bool) {
        if is_faulty {
            self.row.clear();
        }
        self.row.sort_by_key(|(column, _)| *column);
        for pairs in self.row.chunk_by(|(one, _), (other, _)| one == other) {
            self.columns.push(pairs[0].0);
            let sum: f64 = pairs.iter().map(|(_, value)| value).sum();
            match &mut self.values {
                Values::F32(values) => values.push(sum as f32),
                Values::F64(values) => values.push(sum),
                _ => unreachable!("made of one of these"),
            }
        }
        self.row.clear();
        self.ends.push(self.columns.len() as u32);
    }
}

impl Table for Vw {
    fn fields(&self) -> &[Field] {
        &self.fields
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
        ChunkAccess::PreferWhole
    }

    fn memory(&self) -> usize {
        size_of::<Vw>()
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
        let fields: Vec<&Field> = fields.iter().map(|&field| &self.fields[field]).collect();
        let new = |field: &&Field| Column::new(self, field, rows.len());
        let mut columns: Vec<Column> = fields.iter().map(new).collect();
        let mut read = ReadRows::default();
        each_row(&self.blocks[unit], rows, file, LINES, &mut scratch.bytes, |line| {
            let parts = Parts::of(line.text);
            for (place, (column, field)) in columns.iter_mut().zip(&fields).enumerate() {
                let pushed = column.push(&parts, field, self);
                column.end_row(pushed.is_err());
                match pushed {
                    Ok(()) => {}
                    Err(NoValue::Skipped) => read.skipped.push(line.row),
                    Err(NoValue::Fault(fault)) => read.faults.push(line.fault(Some(place), fault)),
                }
            }
        })?;
        read.columns = columns.into_iter().map(Column::finish).collect();
        read.sort();
        Ok(read)
    }
}
