//! Stored values as numbers.

use crate::features::{DType, Number, from_bfloat16, from_half};

/// True if values of a type can be those of a stream.
pub(super) fn is_number(dtype: DType) -> bool {
    !matches!(dtype, DType::String | DType::Complex64 | DType::Complex128)
}

/// True if values of a type are whole numbers.
pub(super) fn is_whole(dtype: DType) -> bool {
    let floats = [DType::Float16, DType::BFloat16, DType::Float32, DType::Float64];
    is_number(dtype) && !floats.contains(&dtype)
}

/// One whole number.
pub(super) fn whole(dtype: DType, bytes: &[u8]) -> i128 {
    if let Number::Whole(n) = Number::of(dtype, bytes) { n } else { 0 }
}

/// Each value of a column. Numbers of 64 bits beyond 2^53 are rounded, which is all that a stream can hold.
pub(super) fn each(dtype: DType, bytes: &[u8], mut to: impl FnMut(f64)) {
    macro_rules! all {
        ($type:ty, $size:literal) => {
            bytes.as_chunks::<$size>().0.iter().for_each(|b| to(<$type>::from_le_bytes(*b) as f64))
        };
    }
    match dtype {
        DType::Bool | DType::UInt8 => all!(u8, 1),
        DType::Int8 => all!(i8, 1),
        DType::Int16 => all!(i16, 2),
        DType::UInt16 => all!(u16, 2),
        DType::Int32 => all!(i32, 4),
        DType::UInt32 => all!(u32, 4),
        DType::Int64 => all!(i64, 8),
        DType::UInt64 => all!(u64, 8),
        DType::Float32 => all!(f32, 4),
        DType::Float64 => all!(f64, 8),
        DType::BFloat16 => {
            bytes.as_chunks::<2>().0.iter().for_each(|b| to(from_bfloat16(u16::from_le_bytes(*b)).into()));
        }
        DType::Float16 => bytes.as_chunks::<2>().0.iter().for_each(|b| to(from_half(u16::from_le_bytes(*b)))),
        DType::Complex64 | DType::Complex128 | DType::String => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_are_those_of_the_standard() {
        let cases: [(u16, f64); 7] = [
            (0x3c00, 1.0),
            (0xc000, -2.0),
            (0x7bff, 65504.0),
            (0x0001, 5.960_464_477_539_063e-8),
            (0x0400, 6.103_515_625e-5),
            (0x3555, 0.333_251_953_125),
            (0xfc00, f64::NEG_INFINITY),
        ];
        for (bits, value) in cases {
            assert_eq!(from_half(bits), value, "{bits:#06x}");
        }
        assert!(from_half(0x7e00).is_nan());
        assert_eq!(from_bfloat16(0xbfc0), -1.5);
    }

    #[test]
    fn whole_numbers_keep_their_sign_and_size() {
        assert_eq!(whole(DType::Int8, &[0xff]), -1);
        assert_eq!(whole(DType::UInt8, &[0xff]), 255);
        assert_eq!(whole(DType::Int64, &i64::MIN.to_le_bytes()), i64::MIN.into());
        assert_eq!(whole(DType::UInt64, &u64::MAX.to_le_bytes()), u64::MAX.into());
        assert_eq!(whole(DType::Int16, &(-300_i16).to_le_bytes()), -300);
    }
}
