//! The columns that streams have, and the conversion of their values.

use std::collections::HashSet;
use std::sync::Arc;

use tesson_core::{
    Data, DataErrorKind, Element, EncodedColumn, Offsets, Origin, Shape, StreamColumn, StreamInfo, Strings,
    Values, nearest,
};

use crate::fault::TableFault;
use crate::options::TableStream;
use crate::table::{Field, FieldKind, RowFault};
use crate::values::{converted, no_values, number, truncate};

/// A stream, and how its samples come out of a field.
#[derive(Clone, Debug)]
pub(crate) struct TableColumn {
    /// The stream.
    pub(crate) info: StreamInfo,
    /// The field's number.
    pub(crate) field: usize,
    /// The type that the field has.
    from: Element,
    samples: Samples,
}

/// The samples of a row.
#[derive(Clone, Debug)]
enum Samples {
    /// As the field has them.
    Kept,
    /// This many in every row, of a field with one.
    Every(u32),
    /// One of this many values, of a field with any number of them.
    Fixed(Shape),
    /// Of this many times the values of the field's samples.
    Joined(u32),
    /// Encoded bytes.
    Encoded,
}

impl TableColumn {
    /// Finds the field of a stream.
    ///
    /// # Errors
    /// A missing column, and one that cannot have the type or shape.
    pub(crate) fn new(stream: &TableStream, fields: &[Field]) -> Result<TableColumn, TableFault> {
        let number = field_of(&stream.column, fields)?;
        let field = &fields[number];
        let (from, shape, samples) = match &field.kind {
            FieldKind::Flat(element, shape) => {
                let (shape, samples) = flat(stream, field, shape)?;
                (*element, shape, samples)
            }
            FieldKind::Ragged(element, shape) => {
                let (shape, samples) = ragged(stream, field, shape)?;
                (*element, shape, samples)
            }
            FieldKind::Sparse { element, columns, .. } => {
                return TableColumn::sparse(stream, field, number, *element, *columns);
            }
            FieldKind::Other(_) => return Err(wrong_type(field)),
        };
        // Bytes may be files, which transforms that are named elsewhere decode.
        let is_file = from == Element::Bytes
            && shape.dims().is_empty()
            && matches!(samples, Samples::Kept)
            && !matches!(field.kind, FieldKind::Ragged(..))
            && stream.element.is_none_or(|element| element == Element::Bytes);
        if is_file || from.is_string() && stream.has_transforms {
            return TableColumn::encoded(stream, field, number, from);
        }
        if shape.is_empty() {
            return Err(wrong_type(field));
        }
        let element = stream.element.unwrap_or(from);
        if element.is_string() != from.is_string() {
            let (column, found) = (field.name.clone(), field.kind.name());
            return Err(TableFault::StringType { column, found, dtype: element.name() });
        }
        let mut info = StreamInfo::dense(&stream.name, shape, element);
        info.classes = Arc::clone(&field.classes);
        info.unit.clone_from(&field.unit);
        let mut column = TableColumn { info, field: number, from, samples };
        column.info.any_length = column.varies(fields) || stream.ragged == Some(true);
        Ok(column)
    }

    /// A stream of pairs, which the format has parsed as the type that was asked for.
    fn sparse(
        stream: &TableStream,
        field: &Field,
        number: usize,
        element: Element,
        columns: usize,
    ) -> Result<TableColumn, TableFault> {
        if stream.given_shape().is_some_and(|shape| shape.dims() != [columns]) || stream.ragged == Some(true)
        {
            return Err(mismatch(field, &stream.given_shape().unwrap_or_else(|| Shape::new([]))));
        }
        if stream.element.is_some_and(|asked| asked != element) {
            return Err(wrong_type(field));
        }
        let info = StreamInfo::sparse(&stream.name, columns, element);
        Ok(TableColumn { info, field: number, from: element, samples: Samples::Kept })
    }

    /// A stream of files that its transforms decode; without any they are delivered as they are.
    fn encoded(
        stream: &TableStream,
        field: &Field,
        number: usize,
        from: Element,
    ) -> Result<TableColumn, TableFault> {
        if matches!(&field.kind, FieldKind::Ragged(..)) {
            return Err(wrong_type(field));
        }
        let decoded = if stream.has_transforms { Element::F32 } else { Element::Bytes };
        let info = StreamInfo::encoded(&stream.name, stream.element.unwrap_or(decoded));
        let info = info.with_ragged(stream.ragged == Some(true));
        Ok(TableColumn { info, field: number, from, samples: Samples::Encoded })
    }

    /// True if the number of samples differs from row to row.
    pub(crate) fn varies(&self, fields: &[Field]) -> bool {
        matches!(fields[self.field].kind, FieldKind::Ragged(..))
            && matches!(self.samples, Samples::Kept | Samples::Joined(_))
    }

    /// The number of samples in a row of a stream that does not vary.
    pub(crate) fn constant(&self) -> u32 {
        match self.samples {
            Samples::Every(n) => n,
            _ => 1,
        }
    }

    /// The number of samples in a row, of which the field has this many.
    pub(crate) fn samples(&self, of_field: u32) -> u32 {
        match self.samples {
            Samples::Joined(factor) => of_field / factor,
            _ => of_field,
        }
    }

    /// The data of no sample.
    pub(crate) fn empty(&self) -> Data {
        match self.samples {
            Samples::Encoded => Data::Encoded(EncodedColumn::default()),
            _ if self.info.sparse => Data::Sparse {
                rows: Offsets::At(vec![0]),
                columns: Vec::new(),
                values: no_values(self.info.element, 0),
            },
            _ => Data::Dense { values: no_values(self.info.element, 0) },
        }
    }

    /// Makes samples of the stream out of those of the field in `n` rows. Values that are none are faults.
    pub(crate) fn make(
        &self,
        column: StreamColumn,
        n: usize,
        row_number: &dyn Fn(usize) -> u64,
        origin: &dyn Fn(usize) -> Origin,
        faults: &mut Vec<RowFault>,
    ) -> StreamColumn {
        let StreamColumn { samples, data } = column;
        let is_encoded = matches!(self.samples, Samples::Encoded);
        let values = match data {
            Data::Dense { values: Values::Strings(files) } if is_encoded => {
                let mut encoded = EncodedColumn::default();
                (0..files.len()).for_each(|row| encoded.push(files.get(row), origin(row)));
                return StreamColumn { samples, data: Data::Encoded(encoded) };
            }
            Data::Dense { values } => values,
            data => return StreamColumn { samples, data },
        };
        let fault = |row: usize, kind: TableFault| RowFault {
            row: row as u32,
            field: Some(self.field),
            kind: DataErrorKind::from(kind),
            offset: 0,
            line: None,
        };
        // Positions of values count from the field's: its type is converted before samples are put together.
        let per_sample = self.values_per_sample(values.len(), samples.start(n));
        let (values, wrong) = match self.info.element {
            to if to == self.from => (values, Vec::new()),
            to => {
                let row_of = |at: usize| {
                    let sample = at / per_sample.max(1);
                    (0..n).find(|&row| samples.start(row + 1) > sample).unwrap_or(0)
                };
                match values {
                    Values::Strings(strings) => texts(strings, to, &row_of, &|row, byte| {
                        fault(row, TableFault::NoText { row: row_number(row), byte })
                    }),
                    values => self.numbers(values, to, &row_of, &|row, value| {
                        fault(row, TableFault::DoesNotFit { row: row_number(row), value, dtype: to.name() })
                    }),
                }
            }
        };
        let mut bad_rows: Vec<RowFault> = wrong;
        bad_rows.dedup_by_key(|fault| fault.row);
        let column = match &self.samples {
            Samples::Kept | Samples::Encoded => StreamColumn { samples, data: Data::Dense { values } },
            Samples::Every(k) => {
                let samples = match samples {
                    Offsets::Every(_) => Offsets::Every(*k),
                    Offsets::At(at) => Offsets::At(at.into_iter().map(|start| start * k).collect()),
                };
                StreamColumn { samples, data: Data::Dense { values } }
            }
            Samples::Fixed(shape) => {
                let mut wrong = Vec::new();
                let column = regrouped(&samples, values, n, per_sample, shape.len(), true, &mut wrong);
                bad_rows.extend(wrong.into_iter().map(|(row, found)| {
                    let (shape, found) = (shape.to_string(), found as u64);
                    fault(row, TableFault::ValueCount { row: row_number(row), found, shape })
                }));
                column
            }
            Samples::Joined(factor) => {
                let (mut wrong, size) = (Vec::new(), per_sample * *factor as usize);
                let column = regrouped(&samples, values, n, per_sample, size, false, &mut wrong);
                bad_rows.extend(wrong.into_iter().map(|(row, found)| {
                    let (shape, found) = (format!("a multiple of {size}"), found as u64);
                    fault(row, TableFault::ValueCount { row: row_number(row), found, shape })
                }));
                column
            }
        };
        faults.extend(bad_rows);
        column
    }

    /// Numbers converted to another type, and a fault for each that is none.
    fn numbers(
        &self,
        values: Values,
        to: Element,
        row_of: &dyn Fn(usize) -> usize,
        fault: &dyn Fn(usize, String) -> RowFault,
    ) -> (Values, Vec<RowFault>) {
        let (new, wrong) = converted(&values, self.from, to);
        let wrong = wrong.into_iter();
        (new, wrong.map(|at| fault(row_of(at), number(&values, self.from, at).text())).collect())
    }

    /// The number of values in a sample of the field.
    fn values_per_sample(&self, values: usize, samples: usize) -> usize {
        match &self.samples {
            Samples::Every(k) => self.info.shape.len() * *k as usize,
            Samples::Joined(factor) => self.info.shape.len() / *factor as usize,
            Samples::Kept | Samples::Encoded => self.info.shape.len(),
            Samples::Fixed(_) => values.checked_div(samples).unwrap_or(1),
        }
    }
}

/// Byte strings as texts, with empty ones and a fault in place of those that are no UTF-8; or texts as byte strings.
fn texts(
    strings: Strings,
    to: Element,
    row_of: &dyn Fn(usize) -> usize,
    fault: &dyn Fn(usize, u64) -> RowFault,
) -> (Values, Vec<RowFault>) {
    if to == Element::Bytes || strings.first_invalid_utf8().is_none() {
        return (Values::Strings(strings), Vec::new());
    }
    let (mut kept, mut wrong) = (Strings::default(), Vec::new());
    for (i, string) in (0..strings.len()).map(|i| strings.get(i)).enumerate() {
        match std::str::from_utf8(string) {
            Ok(_) => kept.push(string),
            Err(error) => {
                wrong.push(fault(row_of(i), error.valid_up_to() as u64));
                kept.append_empty(1);
            }
        }
    }
    (Values::Strings(kept), wrong)
}

/// Samples of `size` values out of runs of samples of `per_sample`: one in each row, or any number. Rows with another number of
/// values have no sample and are listed with that number.
fn regrouped(
    samples: &Offsets,
    values: Values,
    n: usize,
    per_sample: usize,
    size: usize,
    one: bool,
    wrong: &mut Vec<(usize, usize)>,
) -> StreamColumn {
    let found = |row: usize| samples.range(row).len() * per_sample;
    let fits = |found: usize| if one { found == size } else { found.is_multiple_of(size) };
    wrong.extend((0..n).map(|row| (row, found(row))).filter(|(_, found)| !fits(*found)));
    if wrong.is_empty() {
        let samples = if one {
            Offsets::Every(1)
        } else {
            Offsets::At((0..=n).map(|row| (samples.start(row) * per_sample / size) as u32).collect())
        };
        return StreamColumn { samples, data: Data::Dense { values } };
    }
    let (mut ends, mut kept) = (vec![0_u32], values.clone());
    truncate(&mut kept, 0);
    for row in 0..n {
        let found = found(row);
        let start = ends[row];
        if fits(found) {
            let first = samples.start(row) * per_sample;
            kept.append(&values, first..first + found);
            ends.push(start + (found / size) as u32);
        } else {
            ends.push(start);
        }
    }
    StreamColumn { samples: Offsets::At(ends), data: Data::Dense { values: kept } }
}

/// The samples of a field with one in each row.
fn flat(stream: &TableStream, field: &Field, shape: &Shape) -> Result<(Shape, Samples), TableFault> {
    let is_ragged = stream.ragged == Some(true);
    let sample = match (stream.given_shape(), is_ragged) {
        (Some(given), _) => given,
        (None, true) => Shape::new(shape.dims().get(1..).unwrap_or_default()),
        (None, false) => shape.clone(),
    };
    let fits = if is_ragged {
        !sample.is_empty() && shape.len().is_multiple_of(sample.len())
    } else {
        shape.len() == sample.len()
    };
    if !fits {
        return Err(mismatch(field, &sample));
    }
    let n = shape.len().checked_div(sample.len()).unwrap_or(0);
    let samples = if n == 1 { Samples::Kept } else { Samples::Every(n as u32) };
    Ok((sample, samples))
}

/// The samples of a field with any number in each row.
fn ragged(stream: &TableStream, field: &Field, shape: &Shape) -> Result<(Shape, Samples), TableFault> {
    let is_ragged = stream.ragged.unwrap_or(stream.shape.is_none());
    let sample = stream.given_shape().unwrap_or_else(|| shape.clone());
    if sample.is_empty() || shape.is_empty() || !sample.len().is_multiple_of(shape.len()) {
        return Err(mismatch(field, &sample));
    }
    let factor = sample.len() / shape.len();
    let samples = match (is_ragged, factor) {
        (false, _) => Samples::Fixed(sample.clone()),
        (true, 1) => Samples::Kept,
        (true, factor) => Samples::Joined(factor as u32),
    };
    Ok((sample, samples))
}

fn mismatch(field: &Field, shape: &Shape) -> TableFault {
    let (column, found) = (field.name.clone(), field.kind.name());
    TableFault::ShapeMismatch { column, found, shape: shape.to_string() }
}

fn wrong_type(field: &Field) -> TableFault {
    TableFault::ColumnType { column: field.name.clone(), found: field.kind.name() }
}

/// The number of the field of this name.
///
/// # Errors
/// The names that there are.
pub(crate) fn field_of(name: &str, fields: &[Field]) -> Result<usize, TableFault> {
    fields.iter().position(|field| field.name == name).ok_or_else(|| {
        let names = fields.iter().map(|field| field.name.as_str());
        let near = nearest(name, names.clone()).map(str::to_owned);
        let first = names.take(20).map(|name| format!("`{name}`")).collect::<Vec<_>>();
        let others = fields.len().saturating_sub(first.len());
        let more = if others > 0 { format!(" and {others} others") } else { String::new() };
        TableFault::NoColumn { name: name.to_owned(), columns: first.join(", ") + &more, near }
    })
}

/// The columns of all streams: those that are asked for, or one for each field.
///
/// # Errors
/// The errors of [`TableColumn::new`], and a name that occurs twice.
pub(crate) fn columns_of(
    streams: Option<Vec<TableStream>>,
    fields: &[Field],
) -> Result<Vec<TableColumn>, TableFault> {
    let streams = streams
        .unwrap_or_else(|| fields.iter().map(|field| TableStream::column(&field.name)).collect::<Vec<_>>());
    let mut names = HashSet::new();
    if let Some(twice) = streams.iter().find(|stream| !names.insert(&stream.name)) {
        return Err(TableFault::RepeatedStream { name: twice.name.clone() });
    }
    streams.iter().map(|stream| TableColumn::new(stream, fields)).collect()
}
