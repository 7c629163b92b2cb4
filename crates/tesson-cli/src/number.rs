//! Numbers in JSON: the fewest digits that give every bit back.

use std::fmt::{Display, LowerExp, Write};

/// Appends a 32-bit float. Infinities and NaN become the texts `"inf"`, `"-inf"` and `"nan"`, which JSON numbers are not.
pub(crate) fn put_f32(out: &mut String, x: f32) {
    put(out, x, x.into());
}

/// Appends a 64-bit float; as [`put_f32`].
pub(crate) fn put_f64(out: &mut String, x: f64) {
    put(out, x, x);
}

fn put(out: &mut String, x: impl Display + LowerExp, wide: f64) {
    let written = match wide.abs() {
        _ if wide.is_nan() => out.write_str("\"nan\""),
        f64::INFINITY => out.write_str(if wide > 0.0 { "\"inf\"" } else { "\"-inf\"" }),
        // Without the fraction readers of JSON take it for the whole number 0, which has no sign.
        0.0 => out.write_str(if wide.is_sign_negative() { "-0.0" } else { "0" }),
        1e-5..1e16 => write!(out, "{x}"),
        _ => write!(out, "{x:e}"),
    };
    written.expect("a string takes any text");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn f32_text(x: f32) -> String {
        let mut out = String::new();
        put_f32(&mut out, x);
        out
    }

    fn f64_text(x: f64) -> String {
        let mut out = String::new();
        put_f64(&mut out, x);
        out
    }

    #[test]
    fn numbers_have_the_fewest_digits_that_bring_them_back() {
        let cases = [
            (0.0, "0"),
            (-0.0, "-0.0"),
            (1.0, "1"),
            (-2.5, "-2.5"),
            (0.1, "0.1"),
            (16_777_216.0, "16777216"),
            (0.0001, "0.0001"),
            (1.5e-7, "1.5e-7"),
            (f32::MAX, "3.4028235e38"),
            (f32::MIN_POSITIVE, "1.1754944e-38"),
            (f32::from_bits(1), "1e-45"),
        ];
        for (x, text) in cases {
            assert_eq!(f32_text(x), text);
        }
        assert_eq!(f64_text(0.1), "0.1");
        assert_eq!(f64_text(f64::from(0.1f32)), "0.10000000149011612");
        assert_eq!(f64_text(5e-324), "5e-324");
    }

    #[test]
    fn numbers_that_json_has_not_become_texts() {
        assert_eq!(f32_text(f32::INFINITY), "\"inf\"");
        assert_eq!(f32_text(f32::NEG_INFINITY), "\"-inf\"");
        assert_eq!(f32_text(f32::NAN), "\"nan\"");
        assert_eq!(f64_text(-f64::NAN), "\"nan\"");
    }

    #[test]
    fn every_bit_comes_back() {
        // A stride through all bit patterns that meets every exponent.
        for bits in (0..=u32::MAX).step_by(65_521) {
            let x = f32::from_bits(bits);
            if x.is_finite() {
                let back: f32 = f32_text(x).parse().unwrap();
                assert_eq!(back.to_bits(), bits);
            }
        }
    }
}
