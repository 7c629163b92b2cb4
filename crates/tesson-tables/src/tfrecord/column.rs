//! The values of rows: lists of messages put behind each other.

use tesson_core::{Data, Offsets, StreamColumn, Values};
use tesson_formats::example::{Column, Kind, List};

use crate::fault::TableFault;
use crate::nulls::NullRule;
use crate::table::{Field, FieldKind};
use crate::values::{no_values, truncate};

/// The column of a field while records are read.
pub(super) struct Growing {
    values: Values,
    /// The number of values in each row; `None`: any.
    per_row: Option<usize>,
    /// Where the rows end.
    ends: Vec<u32>,
    fill: Option<Values>,
}

/// The kind of list that a field's feature has.
pub(super) fn list_of(kind: &FieldKind) -> Kind {
    use tesson_core::Element;
    match kind {
        FieldKind::Flat(Element::Bytes, _) | FieldKind::Ragged(Element::Bytes, _) => Kind::Bytes,
        FieldKind::Flat(Element::F32, _) | FieldKind::Ragged(Element::F32, _) => Kind::Floats,
        _ => Kind::Ints,
    }
}

impl Growing {
    pub(super) fn new(field: &Field, nulls: NullRule, rows: usize) -> Growing {
        let (element, per_row) = match &field.kind {
            FieldKind::Flat(element, shape) => (*element, Some(shape.len())),
            FieldKind::Ragged(element, _) => (*element, None),
            FieldKind::Sparse { .. } | FieldKind::Other(_) => {
                unreachable!("no stream has a column of another type")
            }
        };
        let fill = if element.is_string() { None } else { nulls.fill(element) };
        let values = no_values(element, rows * per_row.unwrap_or(0));
        Growing { values, per_row, ends: vec![0], fill }
    }

    /// Appends the values that a row of a parsed column has; `None` for a row without its feature, whose rule is not to be left out.
    pub(super) fn push(
        &mut self,
        column: &Column,
        row: usize,
        block: &[u8],
        field: &Field,
    ) -> Result<(), Missing> {
        let range = column.row(row);
        if let Some(n) = self.per_row.filter(|n| *n != range.len()) {
            if !column.is_absent(row) {
                let (column, found, dtype) =
                    (field.name.clone(), format!("{} values", range.len()), field.kind.name());
                return Err(Missing::Fault(TableFault::BadValue { column, found, dtype }));
            }
            let Some(fill) = &self.fill else { return Err(Missing::Value) };
            (0..n).for_each(|_| self.values.append(fill, 0..1));
            return Ok(());
        }
        match (&mut self.values, &column.values) {
            (Values::F32(values), List::Floats(from)) => values.extend_from_slice(&from[range]),
            (Values::Bits64(values), List::Ints(from)) => {
                values.extend(from[range].iter().map(|value| value.cast_unsigned()));
            }
            (Values::Strings(values), List::Bytes(from)) => {
                from[range].iter().for_each(|span| values.push(&block[span.range()]));
            }
            _ => unreachable!("the parser was asked for lists of these"),
        }
        Ok(())
    }

    /// Ends a row. One that is left out has placeholders.
    pub(super) fn end_row(&mut self, is_left_out: bool) {
        if is_left_out {
            let before = self.ends[self.ends.len() - 1] as usize;
            truncate(&mut self.values, before);
            for _ in 0..self.per_row.unwrap_or(0) {
                match &mut self.values {
                    Values::F32(values) => values.push(0.0),
                    Values::Bits64(values) => values.push(0),
                    Values::Strings(values) => values.append_empty(1),
                    _ => unreachable!("lists have no other values"),
                }
            }
        }
        self.ends.push(self.values.len() as u32);
    }

    pub(super) fn finish(self) -> StreamColumn {
        let samples = if self.per_row.is_some() { Offsets::Every(1) } else { Offsets::At(self.ends) };
        StreamColumn { samples, data: Data::Dense { values: self.values } }
    }
}

/// The reason for which a row has no values of a column.
pub(super) enum Missing {
    /// The row lacks the feature.
    Value,
    /// The feature has other values than the column.
    Fault(TableFault),
}
