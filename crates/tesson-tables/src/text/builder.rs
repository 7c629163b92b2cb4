//! The columns of rows that are parsed, value by value.

use half::f16;
use tesson_core::{Data, Element, Offsets, StreamColumn, Values};
use tesson_formats::fields::{FieldKernel, Fields, double, single};

use crate::nulls::NullRule;
use crate::table::FieldKind;
use crate::values::{ByteOrder, Number, append_bytes, no_values_in, truncate, whole_bits};

/// A value of a text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Scalar<'a> {
    /// True or false.
    Bool(bool),
    /// A whole number.
    Whole(i128),
    /// A number with a fraction or an exponent, an infinity or NaN.
    Real(f64),
    /// Any other text.
    Text(&'a str),
}

/// The value that a field of a text is: a word for true or false, a number, or the text itself.
pub(crate) fn parse_scalar(text: &str) -> Scalar<'_> {
    let word = text.trim_ascii();
    match word {
        "true" | "True" | "TRUE" => return Scalar::Bool(true),
        "false" | "False" | "FALSE" => return Scalar::Bool(false),
        _ => {}
    }
    if let Some(n) = parse_whole(word.as_bytes()) {
        return Scalar::Whole(n);
    }
    // Of a whole number of more digits a float would keep 17.
    let is_long = word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    match word.parse::<f64>() {
        Ok(x) if !is_long => Scalar::Real(x),
        _ => Scalar::Text(text),
    }
}

/// A whole number of at most 20 digits.
fn parse_whole(text: &[u8]) -> Option<i128> {
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        digits => (false, digits),
    };
    if digits.is_empty() || digits.len() > 20 {
        return None;
    }
    let mut n: i128 = 0;
    for byte in digits {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        n = n * 10 + i128::from(digit);
    }
    Some(if negative { -n } else { n })
}

/// A column while rows are parsed.
pub(crate) struct ColumnBuilder {
    element: Element,
    values: Values,
    /// Values in a sample.
    per_sample: usize,
    /// Where the samples of each row end; `None`: one in each row.
    ends: Option<Vec<u32>>,
    /// Values before the row that is being parsed.
    before: usize,
}

impl ColumnBuilder {
    /// No rows yet of a field, of about so many.
    pub(crate) fn new(kind: &FieldKind, rows: usize) -> ColumnBuilder {
        ColumnBuilder::new_in(&mut Vec::new(), kind, rows)
    }

    /// Like [`ColumnBuilder::new`], in the memory of a column that is left.
    pub(crate) fn new_in(left: &mut Vec<Values>, kind: &FieldKind, rows: usize) -> ColumnBuilder {
        let (element, per_sample, ends) = match kind {
            FieldKind::Flat(element, shape) => (*element, shape.len(), None),
            FieldKind::Ragged(element, shape) => (*element, shape.len(), Some(vec![0])),
            FieldKind::Sparse { .. } | FieldKind::Other(_) => (Element::Text, 1, None),
        };
        let capacity = if ends.is_none() { rows * per_sample } else { rows };
        let values = no_values_in(left, element, capacity);
        ColumnBuilder { element, values, per_sample, ends, before: 0 }
    }

    /// Appends a value to the row. Returns false, and appends nothing, if it is none of the column's type.
    pub(crate) fn push(&mut self, value: Scalar<'_>) -> bool {
        match (value, self.element) {
            (Scalar::Text(text), Element::Text | Element::Bytes) => self.push_string(text.as_bytes()),
            (Scalar::Bool(x), Element::Bool) => self.push_bits(x.into()),
            (Scalar::Whole(n), Element::F32 | Element::F64 | Element::F16) => {
                self.push_real(n as f64, || n as f32)
            }
            (Scalar::Real(x), Element::F32 | Element::F64 | Element::F16) => self.push_real(x, || x as f32),
            (Scalar::Whole(n), element) if !element.is_string() && element != Element::Bool => {
                match whole_bits(Number::Whole(n), element) {
                    Some(bits) => self.push_bits(bits),
                    None => return false,
                }
            }
            _ => return false,
        }
        true
    }

    /// Appends the value of a field of a text. Returns false, and appends nothing, if it is none of the column's type.
    pub(crate) fn push_field(&mut self, field: &[u8]) -> bool {
        match self.element {
            Element::Bytes => self.push_string(field),
            Element::Text if std::str::from_utf8(field).is_ok() => self.push_string(field),
            Element::Text => return false,
            Element::F32 => {
                let (Some(x), Values::F32(values)) = (single(field.trim_ascii()), &mut self.values) else {
                    return false;
                };
                values.push(x);
            }
            Element::F64 => {
                let (Some(x), Values::F64(values)) = (double(field.trim_ascii()), &mut self.values) else {
                    return false;
                };
                values.push(x);
            }
            _ => return std::str::from_utf8(field).is_ok_and(|text| self.push(parse_scalar(text))),
        }
        true
    }

    /// Appends rows of numbers, up to the first that is no number: says how many. Columns of other types than floats are left to
    /// [`ColumnBuilder::push_field`].
    pub(crate) fn push_rows(&mut self, kernel: FieldKernel, fields: Fields<'_>) -> usize {
        match &mut self.values {
            Values::F32(values) => kernel.append_singles(fields, values),
            Values::F64(values) => kernel.append_doubles(fields, values),
            _ => {}
        }
        let n = self.n_pushed();
        self.before += n;
        n
    }

    /// Appends the values that bytes hold to a column of numbers.
    pub(crate) fn push_bytes(&mut self, bytes: &[u8], order: ByteOrder) {
        append_bytes(&mut self.values, bytes, order);
    }

    fn push_string(&mut self, string: &[u8]) {
        if let Values::Strings(values) = &mut self.values {
            values.push(string);
        }
    }

    fn push_real(&mut self, x: f64, single: impl FnOnce() -> f32) {
        match &mut self.values {
            Values::F32(values) => values.push(single()),
            Values::F64(values) => values.push(x),
            Values::Bits16(values) => values.push(f16::from_f64(x).to_bits()),
            _ => unreachable!("floating-point columns have these values"),
        }
    }

    fn push_bits(&mut self, bits: u64) {
        match &mut self.values {
            Values::Bytes(values) => values.push(bits as u8),
            Values::Bits16(values) => values.push(bits as u16),
            Values::Bits32(values) => values.push(bits as u32),
            Values::Bits64(values) => values.push(bits),
            _ => unreachable!("columns of whole numbers have these values"),
        }
    }

    /// Number of values of the row that is being parsed.
    pub(crate) fn n_pushed(&self) -> usize {
        self.values.len() - self.before
    }

    /// True if the values of the row make up samples, one if rows have one each.
    pub(crate) fn fits(&self) -> bool {
        let n = self.n_pushed();
        if self.ends.is_some() { n.is_multiple_of(self.per_sample.max(1)) } else { n == self.per_sample }
    }

    /// Ends the row, whose values [fit](ColumnBuilder::fits).
    pub(crate) fn end_row(&mut self) {
        self.before = self.values.len();
        if let Some(ends) = &mut self.ends {
            ends.push((self.before / self.per_sample.max(1)) as u32);
        }
    }

    /// Gives the row the value that stands for missing ones, or an empty list. Returns false if it has none.
    pub(crate) fn fill(&mut self, nulls: NullRule) -> bool {
        let NullRule::Fill(value) = nulls else { return false };
        if self.ends.is_some() {
            return true;
        }
        let whole = Scalar::Whole(value as i128);
        let value = if value.fract() == 0.0 { whole } else { Scalar::Real(value) };
        (0..self.per_sample).all(|_| self.push(value))
    }

    /// Ends a row with a fault: in place of its values there are zeros or empty strings, or no sample.
    pub(crate) fn end_faulty_row(&mut self) {
        truncate(&mut self.values, self.before);
        if self.ends.is_none() {
            for _ in 0..self.per_sample {
                match &mut self.values {
                    Values::Strings(strings) => strings.append_empty(1),
                    Values::F32(_) | Values::F64(_) => self.push_real(0.0, || 0.0),
                    _ => self.push_bits(0),
                }
            }
        }
        self.end_row();
    }

    /// The column.
    pub(crate) fn finish(self) -> StreamColumn {
        let samples = self.ends.map_or(Offsets::Every(1), Offsets::At);
        StreamColumn { samples, data: Data::Dense { values: self.values } }
    }
}

/// A column of pairs while rows are parsed.
pub(crate) struct SparseBuilder {
    /// Where the pairs of each row end.
    ends: Vec<u32>,
    pub(crate) columns: Vec<u32>,
    pub(crate) values: Values,
}

impl SparseBuilder {
    /// No rows yet, in the memory of a column that is left.
    pub(crate) fn new_in(left: &mut Vec<Values>, element: Element) -> SparseBuilder {
        SparseBuilder { ends: vec![0], columns: Vec::new(), values: no_values_in(left, element, 0) }
    }

    /// The last column of the row that is being parsed.
    pub(crate) fn last(&self) -> Option<u32> {
        self.columns[self.before()..].last().copied()
    }

    /// Ends the row, which has no pairs if it is faulty.
    pub(crate) fn end_row(&mut self, is_faulty: bool) {
        if is_faulty {
            let before = self.before();
            self.columns.truncate(before);
            truncate(&mut self.values, before);
        }
        self.ends.push(self.columns.len() as u32);
    }

    /// The column.
    pub(crate) fn finish(self) -> StreamColumn {
        let SparseBuilder { ends, columns, values } = self;
        StreamColumn {
            samples: Offsets::Every(1),
            data: Data::Sparse { rows: Offsets::At(ends), columns, values },
        }
    }

    /// Pairs before the row that is being parsed.
    fn before(&self) -> usize {
        self.ends[self.ends.len() - 1] as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_true_numbers_or_texts() {
        let cases = [
            (" 7", Scalar::Whole(7)),
            ("-9223372036854775808", Scalar::Whole(i64::MIN.into())),
            ("18446744073709551615", Scalar::Whole(u64::MAX.into())),
            ("123456789012345678901", Scalar::Text("123456789012345678901")),
            ("1.23456789012345678901", Scalar::Real(1.234_567_890_123_456_8)),
            ("1e3", Scalar::Real(1000.0)),
            (".5", Scalar::Real(0.5)),
            ("-inf", Scalar::Real(f64::NEG_INFINITY)),
            ("True", Scalar::Bool(true)),
            ("1,5", Scalar::Text("1,5")),
            ("", Scalar::Text("")),
            ("-", Scalar::Text("-")),
            (" a ", Scalar::Text(" a ")),
        ];
        for (text, expected) in cases {
            assert_eq!(parse_scalar(text), expected, "{text:?}");
        }
    }

    #[test]
    fn single_floats_are_rounded_once() {
        let mut column = ColumnBuilder::new(&FieldKind::Flat(Element::F32, tesson_core::Shape::new([])), 1);
        // Rounded to 64 bits first, it would be 1.
        assert!(column.push_field(b"1.000000059604644775390626"));
        column.end_row();
        let Data::Dense { values } = column.finish().data else { panic!("dense") };
        assert_eq!(values, Values::F32(vec![1.000_000_1]));
    }
}
