//! The rows of a file.

use tesson_core::{ChunkAccess, Defects, Element, Error, Parallelism, Scratch, Shape, StreamColumn, Values};
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
    Block, ColumnBuilder, LineKind, SAMPLE_BYTES, Scalar, SparseBuilder, each_row, index_lines, lines,
    refuse_other_encodings, restore_blocks, save_blocks, shown, units,
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
    Names(Names),
    Values(ColumnBuilder),
    Features(Features),
}

/// Why a row has no value of a column.
enum NoValue {
    Skipped,
    Fault(TableFault),
}

impl Column {
    /// No rows yet of a field; `left` is memory of columns that are left.
    fn new(table: &Vw, field: &Field, rows: usize, left: &mut Vec<Values>) -> Column {
        if let FieldKind::Sparse { element, .. } = field.kind {
            return Column::Features(Features::new((1 << table.bits) - 1, element, left));
        }
        let builder = ColumnBuilder::new_in(left, &field.kind, rows);
        match &*field.name {
            "label" if table.is_text_label() => Column::Label(builder),
            "label" => Column::Number(builder, 0, None),
            "importance" => Column::Number(builder, 1, Some(b"1")),
            "base" => Column::Number(builder, 2, Some(b"0")),
            "tag" => Column::Tag(builder),
            "names" => Column::Names(Names { column: builder, name: Vec::new(), pushed: Ok(()) }),
            _ => Column::Values(builder),
        }
    }

    /// True if features are parsed for it.
    fn has_features(&self) -> bool {
        matches!(self, Column::Names(_) | Column::Values(_) | Column::Features(_))
    }

    /// Takes its part of a feature.
    fn see(&mut self, feature: &Feature<'_>, field: &Field, hash: NameHash) {
        match self {
            Column::Names(column) => column.see(feature, field),
            Column::Values(column) => {
                column.push(Scalar::Real(feature.value));
            }
            Column::Features(column) => column.see(feature, hash),
            Column::Number(..) | Column::Label(_) | Column::Tag(_) => {}
        }
    }

    /// Appends its part of a line, of which it has seen the features.
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
            Column::Names(column) => column.pushed.clone(),
            Column::Values(_) => Ok(()),
            Column::Features(column) => column.add_up(),
        };
        pushed.map_err(NoValue::Fault)
    }

    fn end_row(&mut self, is_faulty: bool) {
        match self {
            Column::Features(column) => column.end_row(is_faulty),
            Column::Names(Names { column, pushed, .. }) if is_faulty => {
                column.end_faulty_row();
                *pushed = Ok(());
            }
            Column::Number(column, ..)
            | Column::Label(column)
            | Column::Tag(column)
            | Column::Names(Names { column, .. })
            | Column::Values(column) => {
                if is_faulty {
                    column.end_faulty_row();
                } else {
                    column.end_row();
                }
            }
        }
    }

    fn finish(self) -> StreamColumn {
        match self {
            Column::Number(column, ..)
            | Column::Label(column)
            | Column::Tag(column)
            | Column::Names(Names { column, .. })
            | Column::Values(column) => column.finish(),
            Column::Features(Features { pairs, .. }) => pairs.finish(),
        }
    }
}

/// The names of features.
struct Names {
    column: ColumnBuilder,
    /// Memory of a name.
    name: Vec<u8>,
    /// The first fault of a name of the row that is being parsed.
    pushed: Result<(), TableFault>,
}

impl Names {
    fn see(&mut self, feature: &Feature<'_>, field: &Field) {
        if self.pushed.is_ok() {
            feature.write_name(&mut self.name);
            self.pushed = push_text(&mut self.column, field, &self.name);
        }
    }
}

fn push_text(column: &mut ColumnBuilder, field: &Field, text: &[u8]) -> Result<(), TableFault> {
    if column.push_field(text) {
        return Ok(());
    }
    Err(TableFault::NotUtf8 { column: field.name.clone(), found: shown(text) })
}

#[cold]
fn bad_value(field: &Field, text: &[u8]) -> TableFault {
    TableFault::BadValue { column: field.name.clone(), found: shown(text), dtype: field.kind.name() }
}

/// The pairs of rows.
struct Features {
    mask: u64,
    /// Those of the row that is being parsed: column, place in the line, value.
    row: Vec<(u32, u32, f64)>,
    pairs: SparseBuilder,
}

impl Features {
    fn new(mask: u64, element: Element, left: &mut Vec<Values>) -> Features {
        Features { mask, row: Vec::new(), pairs: SparseBuilder::new_in(left, element) }
    }

    fn see(&mut self, feature: &Feature<'_>, hash: NameHash) {
        if feature.value != 0.0 {
            let column = (feature.number(hash) & self.mask) as u32;
            self.row.push((column, self.row.len() as u32, feature.value));
        }
    }

    /// Appends the pairs of the row: they ascend, and features of one column are added up in the order of the line.
    fn add_up(&mut self) -> Result<(), TableFault> {
        self.row.sort_unstable_by_key(|&(column, place, _)| (column, place));
        for pairs in self.row.chunk_by(|one, other| one.0 == other.0) {
            let (column, _, mut sum) = pairs[0];
            for &(_, _, value) in &pairs[1..] {
                if !(sum + value).is_finite() {
                    return Err(TableFault::FeatureSum { column: column.into(), one: sum, other: value });
                }
                sum += value;
            }
            self.pairs.columns.push(column);
            match &mut self.pairs.values {
                Values::F32(values) => values.push(sum as f32),
                Values::F64(values) => values.push(sum),
                _ => unreachable!("made of one of these"),
            }
        }
        Ok(())
    }

    fn end_row(&mut self, is_faulty: bool) {
        self.row.clear();
        self.pairs.end_row(is_faulty);
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
        ChunkAccess::Runs
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
        let new = |field: &&Field| Column::new(self, field, rows.len(), &mut scratch.columns);
        let mut columns: Vec<Column> = fields.iter().map(new).collect();
        let has_features = columns.iter().any(Column::has_features);
        let mut read = ReadRows::default();
        each_row(&self.blocks[unit], rows, file, LINES, &mut scratch.bytes, |line| {
            let parts = Parts::of(line.text);
            let see = |feature: &Feature<'_>| {
                columns
                    .iter_mut()
                    .zip(&fields)
                    .for_each(|(column, field)| column.see(feature, field, self.hash));
            };
            let seen = if has_features { parts.each_feature(self.hash, see) } else { Ok(()) };
            for (place, (column, field)) in columns.iter_mut().zip(&fields).enumerate() {
                let pushed = match &seen {
                    Err(fault) if column.has_features() => Err(NoValue::Fault(fault.clone())),
                    _ => column.push(&parts, field, self),
                };
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
