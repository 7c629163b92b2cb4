//! Stored values as numbers, whatever their type.

use super::cast::{from_bfloat16, from_half};
use super::dtype::DType;

/// A number of any type.
#[derive(Clone, Copy)]
pub(crate) enum Number {
    Whole(i128),
    Real(f64),
    Complex(f64, f64),
}

impl Number {
    /// The number that is stored in these bytes; a byte of a string is one, too.
    pub(crate) fn of(dtype: DType, bytes: &[u8]) -> Number {
        fn first<const N: usize>(bytes: &[u8]) -> [u8; N] {
            bytes.first_chunk().copied().unwrap_or([0; N])
        }
        let float = |bytes: &[u8]| f64::from(f32::from_le_bytes(first(bytes)));
        let double = |bytes: &[u8]| f64::from_le_bytes(first(bytes));
        match dtype {
            DType::Bool => Number::Whole(i128::from(bytes[0] != 0)),
            DType::UInt8 | DType::String => Number::Whole(bytes[0].into()),
            DType::Int8 => Number::Whole((bytes[0] as i8).into()),
            DType::Int16 => Number::Whole(i16::from_le_bytes(first(bytes)).into()),
            DType::Int32 => Number::Whole(i32::from_le_bytes(first(bytes)).into()),
            DType::Int64 => Number::Whole(i64::from_le_bytes(first(bytes)).into()),
            DType::UInt16 => Number::Whole(u16::from_le_bytes(first(bytes)).into()),
            DType::UInt32 => Number::Whole(u32::from_le_bytes(first(bytes)).into()),
            DType::UInt64 => Number::Whole(u64::from_le_bytes(first(bytes)).into()),
            DType::Float16 => Number::Real(from_half(u16::from_le_bytes(first(bytes)))),
            DType::BFloat16 => Number::Real(from_bfloat16(u16::from_le_bytes(first(bytes))).into()),
            DType::Float32 => Number::Real(float(bytes)),
            DType::Float64 => Number::Real(double(bytes)),
            DType::Complex64 => Number::Complex(float(bytes), float(&bytes[4..])),
            DType::Complex128 => Number::Complex(double(bytes), double(&bytes[8..])),
        }
    }
}
