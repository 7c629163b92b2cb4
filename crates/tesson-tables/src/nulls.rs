//! Missing values: what a row with one becomes.

use std::collections::BTreeSet;

use tesson_core::{ConfigError, Element, Options, Values};

use crate::fault::TableFault;
use crate::table::{ReadRows, RowFault, Rows};
use crate::values::converted;

/// The treatment of missing values (`nulls`).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum NullRule {
    /// A row with one is a fault.
    Refuse,
    /// A row with one is left out.
    Skip,
    /// They have this value, and missing lists are empty. Columns that cannot have the value refuse them.
    Fill(f64),
}

impl NullRule {
    /// The rule that an option asks for.
    pub(crate) fn read(options: &Options<'_>, name: &'static str) -> Result<NullRule, ConfigError> {
        let text = options.text_if_given(name)?.unwrap_or_default();
        match text.as_str() {
            "refuse" => Ok(NullRule::Refuse),
            "skip" => Ok(NullRule::Skip),
            "nan" => Ok(NullRule::Fill(f64::NAN)),
            number => number.parse().map(NullRule::Fill).map_err(|_| {
                let expected = "`refuse`, `skip`, `nan` or a number";
                ConfigError::wrong_form(options.path(name), format!("`{number}`"), expected)
            }),
        }
    }

    /// The name in identities.
    pub(crate) fn name(self) -> String {
        match self {
            NullRule::Refuse => "refuse".into(),
            NullRule::Skip => "skip".into(),
            NullRule::Fill(value) => format!("{value:?}"),
        }
    }

    /// The value that stands for missing ones of a type, if there is one.
    pub(crate) fn fill(self, element: Element) -> Option<Values> {
        let NullRule::Fill(value) = self else { return None };
        let (values, wrong) = converted(&Values::F64(vec![value]), Element::F64, element);
        wrong.is_empty().then_some(values)
    }
}

/// Rows of a field that lack a value.
pub(crate) struct NullRows<'a> {
    /// The field's name, and its place among those that are read.
    pub(crate) field: (&'a str, usize),
    /// The rows, counted among those that are read.
    pub(crate) rows: BTreeSet<u32>,
}

impl NullRows<'_> {
    /// Makes faults of the rows, or leaves them out. `first` is the number of the unit's first row in the file.
    pub(crate) fn report(
        self,
        rule: NullRule,
        rows: &Rows<'_>,
        first: u64,
        offset: &dyn Fn(u64) -> u64,
        read: &mut ReadRows,
    ) {
        let (name, place) = self.field;
        for row in self.rows {
            if rule == NullRule::Skip {
                read.skipped.push(row);
                continue;
            }
            let number = rows.get(row as usize);
            let kind = TableFault::Null { column: name.to_owned(), row: first + number };
            read.faults.push(RowFault {
                row,
                field: Some(place),
                kind: kind.into(),
                offset: offset(number),
                line: None,
            });
        }
    }
}

/// Puts a value at positions of a column.
pub(crate) fn put(values: &mut Values, positions: &[usize], value: &Values) {
    macro_rules! put {
        ($to:expr, $from:expr) => {
            positions.iter().for_each(|&at| $to[at] = $from[0])
        };
    }
    match (values, value) {
        (Values::Bytes(to), Values::Bytes(from)) => put!(to, from),
        (Values::Bits16(to), Values::Bits16(from)) => put!(to, from),
        (Values::Bits32(to), Values::Bits32(from)) => put!(to, from),
        (Values::Bits64(to), Values::Bits64(from)) => put!(to, from),
        (Values::F32(to), Values::F32(from)) => put!(to, from),
        (Values::F64(to), Values::F64(from)) => put!(to, from),
        _ => unreachable!("both are of the column's type"),
    }
}
