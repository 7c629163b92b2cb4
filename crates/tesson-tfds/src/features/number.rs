//! Stored values as numbers, whatever their type.

use super::cast::{self, from_bfloat16, from_half};
use super::dtype::DType;
use super::fault::FeatureFault;

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

    /// Appends it in a type.
    pub(super) fn write(self, dtype: DType, out: &mut Vec<u8>) -> Result<(), FeatureFault> {
        let kind = |found: &str, expected| FeatureFault::Kind { found: found.into(), expected };
        match (dtype, self) {
            (DType::String, _) => Err(kind("numbers", "str or bytes")),
            (DType::Complex64 | DType::Complex128, number) => {
                let (real, imaginary) = match number {
                    Number::Whole(n) => (n as f64, 0.0),
                    Number::Real(x) => (x, 0.0),
                    Number::Complex(x, y) => (x, y),
                };
                for x in [real, imaginary] {
                    match dtype {
                        DType::Complex64 => out.extend(stored_float(x, dtype)?.to_le_bytes()),
                        _ => out.extend(x.to_le_bytes()),
                    }
                }
                Ok(())
            }
            (_, Number::Complex(..)) => Err(kind("complex numbers", "real ones")),
            (DType::Float16 | DType::BFloat16 | DType::Float32 | DType::Float64, number) => {
                let x = match number {
                    Number::Whole(n) => n as f64,
                    Number::Real(x) => x,
                    Number::Complex(x, _) => x,
                };
                match dtype {
                    DType::Float64 => out.extend(x.to_le_bytes()),
                    DType::BFloat16 => out.extend(cast::to_bfloat16(stored_float(x, dtype)?).to_le_bytes()),
                    _ => cast::floats(dtype, &[stored_float(x, dtype)?], out),
                }
                Ok(())
            }
            (_, Number::Real(_)) => Err(kind("floating-point values", "whole numbers")),
            (_, Number::Whole(n)) => {
                cast::ints(dtype, &[stored_int(n, dtype)?], out);
                Ok(())
            }
        }
    }
}

/// An integer as it is stored: 64 bits, from which those of the type are taken.
pub(super) fn stored_int(n: i128, dtype: DType) -> Result<i64, FeatureFault> {
    let (lowest, highest): (i128, i128) = match dtype {
        DType::Bool => (0, 1),
        DType::Int8 => (i8::MIN.into(), i8::MAX.into()),
        DType::Int16 => (i16::MIN.into(), i16::MAX.into()),
        DType::Int32 => (i32::MIN.into(), i32::MAX.into()),
        DType::UInt8 => (0, u8::MAX.into()),
        DType::UInt16 => (0, u16::MAX.into()),
        DType::UInt32 => (0, u32::MAX.into()),
        DType::UInt64 => (0, u64::MAX.into()),
        _ => (i64::MIN.into(), i64::MAX.into()),
    };
    if (lowest..=highest).contains(&n) {
        Ok(n as i64)
    } else {
        Err(FeatureFault::Range { found: n.to_string(), dtype: dtype.name() })
    }
}

/// A float as it is stored: 32 bits, whatever the type.
pub(super) fn stored_float(x: f64, dtype: DType) -> Result<f32, FeatureFault> {
    let stored = x as f32;
    let fits = match dtype {
        // From here on the nearest one is infinite.
        DType::Float16 => stored.is_nan() || stored.abs() < 65520.0,
        _ => stored.is_nan() || stored.is_finite(),
    };
    let dtype = match dtype {
        DType::Float64 => "float32, which stores a float64 without an encoding",
        dtype => dtype.name(),
    };
    if fits || x.is_infinite() {
        Ok(stored)
    } else {
        Err(FeatureFault::Range { found: x.to_string(), dtype })
    }
}
