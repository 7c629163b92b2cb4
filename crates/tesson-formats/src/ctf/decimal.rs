//! Numbers: the grammar, and conversion to the nearest value of the element type.
//!
//! Every conversion is correctly rounded, once, from the decimal to the element type (half to even).

use super::bytes::skip_digits;
use crate::floats::Float;

/// The element types of streams.
pub(crate) trait Real: Float + Send + std::fmt::Debug + 'static {
    /// The nearest value to `mantissa / 10^scale`, where that takes one exact step; `None` where it does not.
    fn from_decimal(negative: bool, mantissa: u64, scale: usize) -> Option<Self>;
    /// The nearest value to `mantissa` times ten to the power of `power`. `None` where that would take more than one exact step.
    fn from_product(negative: bool, mantissa: u64, power: usize) -> Option<Self>;
    /// The nearest value to `mantissa` times ten to the power of `exponent`, likewise.
    #[inline]
    fn from_scientific(negative: bool, mantissa: u64, exponent: i64) -> Option<Self> {
        let power = usize::try_from(exponent.unsigned_abs()).ok()?;
        if exponent < 0 {
            Self::from_decimal(negative, mantissa, power)
        } else {
            Self::from_product(negative, mantissa, power)
        }
    }
    /// A whole number below 2^24, which every element type holds exactly.
    fn from_small(n: u32) -> Self;
    /// The values as `f32`, if they are of that type.
    #[cfg(target_arch = "x86_64")]
    fn singles(values: &mut [Self]) -> Option<&mut [f32]>;
}

/// Powers of ten that `f64` holds exactly.
pub(crate) static POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18,
    1e19, 1e20, 1e21, 1e22,
];

/// The nearest `f64`s to the inverses of powers of ten, as far as no float that they scale is denormal.
pub(crate) static INVERSES: [f64; 38] = [
    1e0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-11, 1e-12, 1e-13, 1e-14, 1e-15,
    1e-16, 1e-17, 1e-18, 1e-19, 1e-20, 1e-21, 1e-22, 1e-23, 1e-24, 1e-25, 1e-26, 1e-27, 1e-28, 1e-29, 1e-30,
    1e-31, 1e-32, 1e-33, 1e-34, 1e-35, 1e-36, 1e-37,
];

/// The nearest `f64`: both operands are exact, so the division rounds once.
#[inline]
fn quotient(negative: bool, mantissa: u64, scale: usize) -> Option<f64> {
    if mantissa >= 1 << 53 || scale >= POWERS.len() {
        return None;
    }
    let x = mantissa as i64 as f64 / POWERS[scale];
    Some(f64::from_bits(x.to_bits() | u64::from(negative) << 63))
}

/// The `f32` that a double rounds to, which is off by less than 4 units in its last place; `None` if the middle of two floats,
/// where the low 29 bits are 1 and zeros, is that near. Not for what would be denormal.
#[inline]
fn rounded(negative: bool, x: f64) -> Option<f32> {
    let low = x.to_bits() as u32 & 0x1FFF_FFFF;
    if low.wrapping_sub(0x1000_0000 - 4) <= 8 {
        return None;
    }
    Some(f32::from_bits((x as f32).to_bits() | u32::from(negative) << 31))
}

/// The nearest `f32`, by way of the nearest `f64`.
#[cold]
fn from_quotient(negative: bool, mantissa: u64, scale: usize) -> Option<f32> {
    let x = quotient(negative, mantissa, scale)?;
    // Rounding twice goes wrong only where the first rounding hits the middle of two floats: middles are themselves
    // doubles, so no other double can hide one.
    if x.to_bits() & 0x1FFF_FFFF == 0x1000_0000 { None } else { Some(x as f32) }
}

impl Real for f32 {
    #[inline]
    fn from_decimal(negative: bool, mantissa: u64, scale: usize) -> Option<f32> {
        if mantissa > i64::MAX as u64 || scale >= INVERSES.len() {
            return None;
        }
        // A product instead of a quotient: three roundings, of the digits, in the table and here, each to less than a unit in
        // the last place. Never below 10^-37, so no float is denormal.
        let x = mantissa as i64 as f64 * INVERSES[scale];
        rounded(negative, x).or_else(|| from_quotient(negative, mantissa, scale))
    }

    #[inline]
    fn from_product(negative: bool, mantissa: u64, power: usize) -> Option<f32> {
        if mantissa > i64::MAX as u64 {
            return None;
        }
        // Two roundings, of the digits and here.
        rounded(negative, mantissa as i64 as f64 * POWERS.get(power)?)
    }

    #[inline]
    fn from_small(n: u32) -> f32 {
        // Signed: many processors have no conversion of unsigned numbers.
        n.cast_signed() as f32
    }

    #[cfg(target_arch = "x86_64")]
    #[inline]
    fn singles(values: &mut [f32]) -> Option<&mut [f32]> {
        Some(values)
    }
}

impl Real for f64 {
    #[inline]
    fn from_decimal(negative: bool, mantissa: u64, scale: usize) -> Option<f64> {
        quotient(negative, mantissa, scale)
    }

    #[inline]
    fn from_product(negative: bool, mantissa: u64, power: usize) -> Option<f64> {
        // Both operands are exact, so the product rounds once.
        let power = POWERS.get(power).filter(|_| mantissa < 1 << 53)?;
        let x = mantissa as i64 as f64 * power;
        Some(f64::from_bits(x.to_bits() | u64::from(negative) << 63))
    }

    #[inline]
    fn from_small(n: u32) -> f64 {
        f64::from(n.cast_signed())
    }

    #[cfg(target_arch = "x86_64")]
    #[inline]
    fn singles(_: &mut [f64]) -> Option<&mut [f32]> {
        None
    }
}

/// Which spellings of numbers are read (`numbers`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Grammar {
    /// `[+-] digit+ [ "." digit* ] [ (e|E) [+-] digit+ ]`, no exponent behind a final point.
    Cntk,
    /// Also `.5`, `1.e5`, `nan` and `inf` (in any case), and values must be separated.
    Extended,
}

impl Grammar {
    /// The name in identities.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Grammar::Cntk => "Cntk",
            Grammar::Extended => "Extended",
        }
    }
}

/// The number that starts at `from`: its value, and where it ends. `None` if none starts there.
///
/// The caller checks the bytes that follow a number.
pub(crate) fn read<E: Real>(bytes: &[u8], from: usize, grammar: Grammar) -> Option<(E, usize)> {
    let negative = bytes.get(from) == Some(&b'-');
    let whole = from + usize::from(negative || bytes.get(from) == Some(&b'+'));
    let point = skip_digits(bytes, whole);
    let mut end = point;
    if bytes.get(point) == Some(&b'.') {
        end = skip_digits(bytes, point + 1);
    }
    let (n_whole, n_fraction) = (point - whole, end.saturating_sub(point + 1));
    match grammar {
        Grammar::Cntk if n_whole == 0 => return None,
        Grammar::Extended if n_whole + n_fraction == 0 => return read_word(bytes, from, whole),
        _ => {}
    }
    let mantissa_end = end;
    if grammar == Grammar::Extended || end == point || n_fraction > 0 {
        end = skip_exponent(bytes, end);
    }
    if n_whole + n_fraction <= 19 {
        let add = |m: u64, d: &u8| m.wrapping_mul(10).wrapping_add(u64::from(d - b'0'));
        let mantissa = bytes[whole..point].iter().fold(0, add);
        let mantissa = bytes[(point + 1).min(mantissa_end)..mantissa_end].iter().fold(mantissa, add);
        let value = if end == mantissa_end {
            E::from_decimal(negative, mantissa, n_fraction)
        } else {
            let exponent = exponent(&bytes[mantissa_end..end]).saturating_sub(n_fraction as i64);
            E::from_scientific(negative, mantissa, exponent)
        };
        if let Some(x) = value {
            return Some((x, end));
        }
    }
    Some((convert(negative, bytes, [whole, point, mantissa_end, end]), end))
}

/// The value of `bytes[start..end]`, if it is `[-] digit+ [ . digit* ]` of few enough digits for one exact step.
pub(crate) fn ordinary<E: Real>(bytes: &[u8], start: usize, end: usize) -> Option<E> {
    let text = &bytes[start..end];
    let (negative, digits) = text.strip_prefix(b"-").map_or((false, text), |digits| (true, digits));
    let (mut mantissa, mut n, mut point) = (0_u64, 0, None);
    for (at, byte) in digits.iter().enumerate() {
        match byte {
            b'0'..=b'9' => {
                (mantissa, n) = (mantissa.wrapping_mul(10).wrapping_add(u64::from(byte - b'0')), n + 1)
            }
            b'.' if at > 0 && point.is_none() => point = Some(at),
            _ => return None,
        }
    }
    if n == 0 || n > 19 {
        return None;
    }
    E::from_decimal(negative, mantissa, point.map_or(0, |point| digits.len() - point - 1))
}

/// Behind the exponent that starts at `at`; `at` itself where none does.
fn skip_exponent(bytes: &[u8], at: usize) -> usize {
    if !matches!(bytes.get(at), Some(b'e' | b'E')) {
        return at;
    }
    let digits = at + 1 + usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
    let end = skip_digits(bytes, digits);
    if end > digits { end } else { at }
}

/// `nan` or `inf`, in any case.
fn read_word<E: Real>(bytes: &[u8], from: usize, word: usize) -> Option<(E, usize)> {
    let text = bytes.get(word..word + 3)?;
    if !text.eq_ignore_ascii_case(b"nan") && !text.eq_ignore_ascii_case(b"inf") {
        return None;
    }
    let signed = std::str::from_utf8(&bytes[from..word + 3]).ok()?;
    Some((signed.parse().ok()?, word + 3))
}

/// Texts up to this length go to the standard library as they are; it counts their exponents rightly.
const SHORT: usize = 1000;

/// More digits than any double's exact decimal expansion: what lies beyond only tells whether something does.
const DIGITS: usize = 800;

/// The nearest value of a number of the grammar; `[whole, point, fraction end, end]` are places in `bytes`.
fn convert<E: Real>(negative: bool, bytes: &[u8], [whole, point, fraction_end, end]: [usize; 4]) -> E {
    if end - whole <= SHORT {
        let text = std::str::from_utf8(&bytes[whole - usize::from(negative)..end]).unwrap_or("0");
        return text.parse().unwrap_or_default();
    }
    // d.ddd…: leading zeros dropped, the digits cut where they cannot matter any more but for being there.
    let fraction = &bytes[(point + 1).min(fraction_end)..fraction_end];
    let digits = bytes[whole..point].iter().chain(fraction);
    let zeros = digits.clone().take_while(|&&d| d == b'0').count();
    let mut rest = digits.skip(zeros).map(|&d| char::from(d));
    let mut kept: String = rest.by_ref().take(DIGITS).collect();
    if rest.any(|d| d != '0') {
        kept.push('1');
    }
    let exponent = exponent(&bytes[fraction_end..end]) + (point - whole) as i64 - zeros as i64;
    let sign = if negative { "-" } else { "" };
    format!("{sign}0.{kept}0e{}", exponent.clamp(-5000, 5000)).parse().unwrap_or_default()
}

/// The value of `e[+-]digits`, or 0 of nothing; held where no mantissa of a file could bring it back.
fn exponent(text: &[u8]) -> i64 {
    let Some((_, signed)) = text.split_first() else { return 0 };
    let negative = signed.first() == Some(&b'-');
    let digits = &signed[usize::from(matches!(signed.first(), Some(b'+' | b'-')))..];
    let add = |x: i64, d: &u8| x.saturating_mul(10).saturating_add(i64::from(d - b'0')).min(1 << 60);
    let size = digits.iter().fold(0, add);
    if negative { -size } else { size }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Option<(f64, usize)>) {
        assert_eq!(read::<f64>(text.as_bytes(), 0, Grammar::Cntk), expected, "{text}");
    }

    #[test]
    fn a_number_is_read_up_to_the_first_byte_that_cannot_continue_it() {
        check("12", Some((12.0, 2)));
        check("-1.5e2 ", Some((-150.0, 6)));
        check("+3.", Some((3.0, 3)));
        check("1.e2", Some((1.0, 2)));
        check("1e", Some((1.0, 1)));
        check("1e+", Some((1.0, 1)));
        check("1-2", Some((1.0, 1)));
        check("1.5.2", Some((1.5, 3)));
        check("1E-2x", Some((0.01, 4)));
        check("0e400", Some((0.0, 5)));
        check("1e999999999999999999999999", Some((f64::INFINITY, 26)));
        check("1e-999999999999999999999999", Some((0.0, 27)));
    }

    #[test]
    fn what_starts_no_number_is_none() {
        for text in [".5", "-.5", "-", "+", "e5", "nan", "inf", "--1", ""] {
            check(text, None);
        }
    }

    #[test]
    fn extended_numbers_are_read_when_asked_for() {
        let value = |text: &str| read::<f32>(text.as_bytes(), 0, Grammar::Extended);
        assert_eq!(value(".5"), Some((0.5, 2)));
        assert_eq!(value("-.5e1"), Some((-5.0, 5)));
        assert_eq!(value("1.e2"), Some((100.0, 4)));
        assert_eq!(value("-INF"), Some((f32::NEG_INFINITY, 4)));
        assert!(value("nan").is_some_and(|(x, n)| x.is_nan() && n == 3));
        assert_eq!(value("."), None);
        assert_eq!(value("no"), None);
    }

    #[test]
    fn negative_zero_keeps_its_sign() {
        let (x, _) = read::<f32>(b"-0", 0, Grammar::Cntk).unwrap();
        assert!(x == 0.0 && x.is_sign_negative());
    }

    #[test]
    fn decimals_at_the_middle_of_two_floats_round_to_even_and_once() {
        let value = |text: &str| read::<f32>(text.as_bytes(), 0, Grammar::Cntk).unwrap().0;
        for text in [
            "16777217",
            "16777219",
            "16777217.0000000001",
            "8388608.5",
            "8388609.5",
            "1.00000005960464477540",
            "1.6777217e7",
            "1.6777217e+07",
            "16777217000e-3",
            "1.677721700000000000e+07",
            "8388608.500000000000",
            "3.4028235677973366e38",
            "3.4028235677973365e+38",
            "3.4028234e38",
        ] {
            assert_eq!(value(text).to_bits(), text.parse::<f32>().unwrap().to_bits(), "{text}");
        }
    }

    #[test]
    fn every_scale_has_its_ties_rounded_as_the_standard_library_does() {
        for places in 1..=8u32 {
            for n in ((1i64 << 23)..1 << 24).step_by(9973) {
                for near in -1..=1 {
                    // An odd multiple of half the distance of floats there.
                    let (digits, ten) = ((n * 2 + 1) * 5i64.pow(places) + near, 10i64.pow(places));
                    let text = format!("{}.{:0w$}", digits / ten, digits % ten, w = places as usize);
                    let (value, _) = read::<f32>(text.as_bytes(), 0, Grammar::Cntk).unwrap();
                    assert_eq!(value.to_bits(), text.parse::<f32>().unwrap().to_bits(), "{text}");
                }
            }
        }
    }

    #[test]
    fn exponents_of_every_size_are_rounded_as_the_standard_library_does() {
        let mut state = 7u64;
        for exponent in -60..=60 {
            for n in 0..200 {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                let digits = (state >> (state & 63)).to_string();
                let (first, rest) = digits.split_at(1);
                let sign = if n % 2 == 0 { "-" } else { "" };
                let text = match n % 3 {
                    0 => format!("{sign}{first}.{rest}0e{exponent:+03}"),
                    1 => format!("{sign}{digits}E{exponent}"),
                    _ => format!("{sign}0.00{digits}e{exponent:+}"),
                };
                let (single, end) = read::<f32>(text.as_bytes(), 0, Grammar::Cntk).unwrap();
                let (double, _) = read::<f64>(text.as_bytes(), 0, Grammar::Cntk).unwrap();
                assert_eq!(end, text.len());
                assert_eq!(single.to_bits(), text.parse::<f32>().unwrap().to_bits(), "{text}");
                assert_eq!(double.to_bits(), text.parse::<f64>().unwrap().to_bits(), "{text}");
            }
        }
    }

    #[test]
    fn megabytes_of_digits_have_their_value() {
        let zeros = "0".repeat(1_000_000);
        let value = |text: String| read::<f64>(text.as_bytes(), 0, Grammar::Cntk).unwrap().0;
        assert_eq!(value(format!("0.{zeros}25e1000001")), 2.5);
        assert_eq!(value(format!("1{zeros}e-1000000")), 1.0);
        assert_eq!(value(format!("{zeros}7")), 7.0);
        assert_eq!(value(format!("9007199254740992.{zeros}")), 9007199254740992.0);
        assert_eq!(value(format!("9007199254740993.{zeros}")), 9007199254740992.0);
        assert_eq!(value(format!("9007199254740993.{zeros}1")), 9007199254740994.0);
        assert_eq!(value(format!("{zeros}.{zeros}")), 0.0);
    }

    #[test]
    fn nineteen_digits_and_more_are_rounded_rightly() {
        let mut state = 1u64;
        for _ in 0..20_000 {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let (a, b) = (state >> (state & 63), state.rotate_left(32) >> (state >> 58));
            let text = format!("{a}.{b}");
            let (single, n) = read::<f32>(text.as_bytes(), 0, Grammar::Cntk).unwrap();
            let (double, _) = read::<f64>(text.as_bytes(), 0, Grammar::Cntk).unwrap();
            assert_eq!(n, text.len());
            assert_eq!(single.to_bits(), text.parse::<f32>().unwrap().to_bits(), "{text}");
            assert_eq!(double.to_bits(), text.parse::<f64>().unwrap().to_bits(), "{text}");
        }
    }
}
