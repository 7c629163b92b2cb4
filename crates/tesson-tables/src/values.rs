//! Values out of the bytes of files, and conversions from one type to another.

use half::f16;
use tesson_core::{Element, Strings, Values};

/// The order of the bytes of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ByteOrder {
    /// The least significant one first.
    Little,
    /// The most significant one first.
    Big,
}

/// No values yet, in the form in which tables have those of a type: floats are not narrowed.
pub(crate) fn no_values(element: Element, capacity: usize) -> Values {
    match element {
        Element::F32 => Values::F32(Vec::with_capacity(capacity)),
        Element::F64 => Values::F64(Vec::with_capacity(capacity)),
        Element::Bytes | Element::Text => Values::Strings(Strings::default()),
        _ => match element.size() {
            1 => Values::Bytes(Vec::with_capacity(capacity)),
            2 => Values::Bits16(Vec::with_capacity(capacity)),
            4 => Values::Bits32(Vec::with_capacity(capacity)),
            _ => Values::Bits64(Vec::with_capacity(capacity)),
        },
    }
}

/// Like [`no_values`], in the memory of a column of the same form that is left, if there is one.
pub(crate) fn no_values_in(left: &mut Vec<Values>, element: Element, capacity: usize) -> Values {
    let new = no_values(element, 0);
    let same = |column: &Values| std::mem::discriminant(column) == std::mem::discriminant(&new);
    let Some(place) = left.iter().position(same) else { return no_values(element, capacity) };
    let mut values = left.swap_remove(place);
    truncate(&mut values, 0);
    values
}

/// Keeps the first `n` values.
pub(crate) fn truncate(values: &mut Values, n: usize) {
    match values {
        Values::Ones(len) => *len = n.min(*len),
        Values::Bytes(v) => v.truncate(n),
        Values::Bits16(v) => v.truncate(n),
        Values::Bits32(v) => v.truncate(n),
        Values::Bits64(v) => v.truncate(n),
        Values::F32(v) => v.truncate(n),
        Values::F64(v) => v.truncate(n),
        Values::Strings(v) => v.truncate(n),
        _ => unreachable!("all forms of values are listed"),
    }
}

macro_rules! extend {
    ($values:expr, $bytes:expr, $order:expr, $type:ty) => {{
        let parts = $bytes.as_chunks().0.iter();
        match $order {
            ByteOrder::Little => $values.extend(parts.map(|part| <$type>::from_le_bytes(*part))),
            ByteOrder::Big => $values.extend(parts.map(|part| <$type>::from_be_bytes(*part))),
        }
    }};
}

/// Appends the values that bytes hold to those of the same type.
pub(crate) fn append_bytes(values: &mut Values, bytes: &[u8], order: ByteOrder) {
    match values {
        Values::Bytes(values) => values.extend_from_slice(bytes),
        Values::Bits16(values) => extend!(values, bytes, order, u16),
        Values::Bits32(values) => extend!(values, bytes, order, u32),
        Values::Bits64(values) => extend!(values, bytes, order, u64),
        Values::F32(values) => extend!(values, bytes, order, f32),
        Values::F64(values) => extend!(values, bytes, order, f64),
        _ => unreachable!("`no_values` makes none of these"),
    }
}

/// A value of any type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Number {
    /// A whole number, or 0 and 1 for false and true.
    Whole(i128),
    /// A floating-point number.
    Real(f64),
}

impl Number {
    /// The number as text.
    pub(crate) fn text(self) -> String {
        match self {
            Number::Whole(n) => n.to_string(),
            Number::Real(x) => format!("{x:?}"),
        }
    }

    /// The whole number that it is, if it is one.
    fn whole(self) -> Option<i128> {
        match self {
            Number::Whole(n) => Some(n),
            Number::Real(x) if x.fract() == 0.0 && x.abs() < 2e19 => Some(x as i128),
            Number::Real(_) => None,
        }
    }

    /// The nearest floating-point number.
    fn real(self) -> f64 {
        match self {
            Number::Whole(n) => n as f64,
            Number::Real(x) => x,
        }
    }
}

/// The value at a position of a column.
pub(crate) fn number(values: &Values, element: Element, at: usize) -> Number {
    match (values, element) {
        (Values::Ones(_), _) => Number::Whole(1),
        (Values::Bytes(v), Element::I8) => Number::Whole((v[at] as i8).into()),
        (Values::Bytes(v), _) => Number::Whole(v[at].into()),
        (Values::Bits16(v), Element::I16) => Number::Whole((v[at] as i16).into()),
        (Values::Bits16(v), Element::F16) => Number::Real(f16::from_bits(v[at]).into()),
        (Values::Bits16(v), _) => Number::Whole(v[at].into()),
        (Values::Bits32(v), Element::I32) => Number::Whole((v[at] as i32).into()),
        (Values::Bits32(v), _) => Number::Whole(v[at].into()),
        (Values::Bits64(v), Element::I64) => Number::Whole((v[at] as i64).into()),
        (Values::Bits64(v), _) => Number::Whole(v[at].into()),
        (Values::F32(v), _) => Number::Real(v[at].into()),
        (Values::F64(v), _) => Number::Real(v[at]),
        _ => unreachable!("all forms of values are listed"),
    }
}

/// Values converted to another type, and the positions of those that are no such values: a 0 stands for each.
///
/// Whole numbers and wide floats become the nearest floating-point number, which was asked for. A floating-point number becomes
/// a whole one only where it is one, and nothing wraps around.
pub(crate) fn converted(values: &Values, from: Element, to: Element) -> (Values, Vec<usize>) {
    let n = values.len();
    let mut wrong = Vec::new();
    let converted = match (values, to) {
        (Values::F64(v), Element::F32) => Values::F32(v.iter().map(|&x| x as f32).collect()),
        (Values::F32(v), Element::F64) => Values::F64(v.iter().map(|&x| x.into()).collect()),
        (_, Element::F32) => Values::F32((0..n).map(|i| to_f32(number(values, from, i))).collect()),
        (_, Element::F64) => Values::F64((0..n).map(|i| number(values, from, i).real()).collect()),
        (_, Element::F16) => {
            Values::Bits16((0..n).map(|i| f16::from_f64(number(values, from, i).real()).to_bits()).collect())
        }
        _ => {
            let mut bits = |i: usize| {
                let bits = whole_bits(number(values, from, i), to);
                bits.unwrap_or_else(|| {
                    wrong.push(i);
                    0
                })
            };
            match to.size() {
                1 => Values::Bytes((0..n).map(|i| bits(i) as u8).collect()),
                2 => Values::Bits16((0..n).map(|i| bits(i) as u16).collect()),
                4 => Values::Bits32((0..n).map(|i| bits(i) as u32).collect()),
                _ => Values::Bits64((0..n).map(&mut bits).collect()),
            }
        }
    };
    (converted, wrong)
}

/// The nearest number of 32 bits, rounded once.
fn to_f32(number: Number) -> f32 {
    match number {
        Number::Whole(n) => n as f32,
        Number::Real(x) => x as f32,
    }
}

/// The bits of a whole number or truth value of a type, in the lowest ones.
pub(crate) fn whole_bits(number: Number, to: Element) -> Option<u64> {
    let n = number.whole()?;
    let bits = 8 * to.size() as u32;
    let limits = match to {
        Element::Bool => 0..=1,
        Element::I8 | Element::I16 | Element::I32 | Element::I64 => {
            -(1 << (bits - 1))..=(1 << (bits - 1)) - 1
        }
        _ => 0..=(1i128 << bits) - 1,
    };
    limits.contains(&n).then_some(n as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_that_are_left_give_their_memory_to_those_of_their_form() {
        let mut left = vec![Values::F32(vec![1.0; 9]), Values::Bits64(vec![7; 5])];
        let Values::Bits64(wide) = no_values_in(&mut left, Element::I64, 1) else { panic!("64 bits") };
        assert!(wide.is_empty() && wide.capacity() >= 5);
        assert_eq!((no_values_in(&mut left, Element::U64, 0), left.len()), (Values::Bits64(vec![]), 1));
    }

    #[test]
    fn bytes_of_either_order_are_the_same_values() {
        let mut little = no_values(Element::F32, 2);
        append_bytes(&mut little, &[0, 0, 128, 63, 0, 0, 0, 192], ByteOrder::Little);
        let mut big = no_values(Element::F32, 2);
        append_bytes(&mut big, &[63, 128, 0, 0, 192, 0, 0, 0], ByteOrder::Big);
        assert_eq!((&little, &big), (&Values::F32(vec![1.0, -2.0]), &little));
    }

    #[test]
    fn values_that_do_not_fit_are_found() {
        let values = Values::Bits64(vec![7, -1i64 as u64, 256, 255]);
        let expected = (Values::Bytes(vec![7, 0, 0, 255]), vec![1, 2]);
        assert_eq!(converted(&values, Element::I64, Element::U8), expected);
        let values = Values::F32(vec![2.0, 2.5, f32::NAN, -128.0]);
        let expected = (Values::Bytes(vec![2, 0, 0, 128]), vec![1, 2]);
        assert_eq!(converted(&values, Element::F32, Element::I8), expected);
        let values = Values::F64(vec![1.8446744073709552e19, 9007199254740993.0]);
        let expected = (Values::Bits64(vec![0, 9007199254740992]), vec![0]);
        assert_eq!(converted(&values, Element::F64, Element::U64), expected);
    }

    #[test]
    fn whole_numbers_become_the_nearest_float_at_once() {
        // Rounding to 64 bits first would give 9007199791611904.
        let values = Values::Bits64(vec![(1 << 53) + (1 << 29) + 1]);
        let (found, wrong) = converted(&values, Element::I64, Element::F32);
        assert_eq!((found, wrong), (Values::F32(vec![9007200328482816.0]), vec![]));
        let halves = converted(&Values::Bits16(vec![0x3C00, 0xC000]), Element::F16, Element::F32);
        assert_eq!(halves, (Values::F32(vec![1.0, -2.0]), vec![]));
    }
}
