//! Casts of stored numbers to the feature's type (spec/tfds.md §6.2): integers wrap, floats round to nearest even.

use super::dtype::DType;

/// Appends integers as values of a type, little-endian.
pub(super) fn ints(dtype: DType, values: &[i64], out: &mut Vec<u8>) {
    match dtype {
        DType::Bool => out.extend(values.iter().map(|v| u8::from(*v != 0))),
        DType::Int8 | DType::UInt8 => append(values, out, |v| [v as u8]),
        DType::Int16 | DType::UInt16 => append(values, out, |v| (v as u16).to_le_bytes()),
        DType::Int32 | DType::UInt32 => append(values, out, |v| (v as u32).to_le_bytes()),
        _ => append(values, out, i64::to_le_bytes),
    }
}

/// Appends floats as values of a type, little-endian.
pub(super) fn floats(dtype: DType, values: &[f32], out: &mut Vec<u8>) {
    match dtype {
        DType::Float16 => append(values, out, |v| half(v).to_le_bytes()),
        DType::Float64 => append(values, out, |v| f64::from(v).to_le_bytes()),
        _ => append(values, out, f32::to_le_bytes),
    }
}

/// The value of a 16-bit float, exactly.
pub(crate) fn from_half(bits: u16) -> f64 {
    let (exponent, fraction) = (i32::from(bits >> 10 & 0x1f), f64::from(bits & 0x3ff));
    let magnitude = match exponent {
        0 => fraction * 2f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        e => (1024.0 + fraction) * 2f64.powi(e - 25),
    };
    if bits & 0x8000 == 0 { magnitude } else { -magnitude }
}

/// The value of a float of 16 bits with the exponent of 32-bit ones: their upper half.
pub(crate) fn from_bfloat16(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}

/// The nearest float of 16 bits with the exponent of 32-bit ones, halves to even.
pub(super) fn to_bfloat16(value: f32) -> u16 {
    let bits = value.to_bits();
    if value.is_nan() {
        return (bits >> 16) as u16 | 0x40;
    }
    ((bits + 0x7fff + (bits >> 16 & 1)) >> 16) as u16
}

/// Room is made once, so that the loop has no branch and becomes vector code.
fn append<T: Copy, const N: usize>(values: &[T], out: &mut Vec<u8>, bytes: impl Fn(T) -> [u8; N]) {
    let start = out.len();
    out.resize(start + values.len() * N, 0);
    for (to, value) in out[start..].as_chunks_mut::<N>().0.iter_mut().zip(values) {
        *to = bytes(*value);
    }
}

/// The nearest 16-bit float, halves to even; too large ones become infinite.
fn half(value: f32) -> u16 {
    let bits = value.to_bits();
    let sign = (bits >> 16) as u16 & 0x8000;
    let magnitude = bits & 0x7fff_ffff;
    let rounded = |kept: u32, dropped: u32, half: u32| {
        kept + u32::from(dropped > half || dropped == half && kept & 1 == 1)
    };
    let half_bits = match magnitude {
        // Not a number: quiet, with the upper bits of its payload.
        0x7f80_0001.. => 0x7e00 | (magnitude >> 13) & 0x1ff,
        // From 65520 on the nearest one is infinite.
        0x477f_f000.. => 0x7c00,
        // Normal: the exponent's bias goes from 127 to 15.
        0x3880_0000.. => {
            let shifted = magnitude - (112 << 23);
            rounded(shifted >> 13, shifted & 0x1fff, 0x1000)
        }
        // Subnormal: a multiple of 2^-24.
        0x3300_0000.. => {
            let shift = 126 - (magnitude >> 23);
            let fraction = magnitude & 0x7f_ffff | 0x80_0000;
            rounded(fraction >> shift, fraction & ((1 << shift) - 1), 1 << (shift - 1))
        }
        _ => 0,
    };
    sign | half_bits as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_are_rounded_to_even() {
        let cases: &[(f32, u16)] = &[
            (0.0, 0),
            (-0.0, 0x8000),
            (1.0, 0x3c00),
            (-2.0, 0xc000),
            (65504.0, 0x7bff),
            (65519.996, 0x7bff),
            (65520.0, 0x7c00),
            (70000.0, 0x7c00),
            (f32::INFINITY, 0x7c00),
            (1.0 + 0.00048828125, 0x3c00),
            (1.0 + 3.0 * 0.00048828125, 0x3c02),
            (6.1035156e-5, 0x0400),
            (6.097555e-5, 0x03ff),
            (5.9604645e-8, 0x0001),
            (2.9802322e-8, 0x0000),
            (2.9802326e-8, 0x0001),
            (8.940697e-8, 0x0002),
            (1e-30, 0),
        ];
        for (value, expected) in cases {
            assert_eq!(half(*value), *expected, "{value}");
        }
        assert_eq!(half(f32::NAN) & 0x7e00, 0x7e00);
    }

    #[test]
    fn every_half_comes_back() {
        for bits in 0..0x7c00_u16 {
            let (exponent, fraction) = (i32::from(bits >> 10), f32::from(bits & 0x3ff));
            let value = match exponent {
                0 => fraction * 2f32.powi(-24),
                e => (1024.0 + fraction) * 2f32.powi(e - 25),
            };
            assert_eq!(half(value), bits);
            assert_eq!(half(-value), bits | 0x8000);
        }
    }

    #[test]
    fn integers_wrap() {
        let cast = |dtype, value: i64| {
            let mut out = Vec::new();
            ints(dtype, &[value], &mut out);
            out
        };
        assert_eq!(cast(DType::UInt8, 300), [44]);
        assert_eq!(cast(DType::Int16, -1), [255, 255]);
        assert_eq!(cast(DType::Bool, -7), [1]);
        assert_eq!(cast(DType::UInt64, i64::MIN), [0, 0, 0, 0, 0, 0, 0, 0x80]);
    }
}
