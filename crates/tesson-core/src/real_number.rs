//! Real numbers as configurations spell them.

/// A number as C's `strtod` reads it in the C locale, if that is all there is: `1e-3`, `inf`, `0x1p3`.
pub(crate) fn real(text: &str) -> Option<f64> {
    let text = text.trim();
    let (negative, digits) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let value = match digits.get(..2) {
        Some("0x" | "0X") => hexadecimal(&digits[2..])?,
        // Rust would accept a second sign here.
        _ if digits.starts_with(['+', '-']) => return None,
        _ => digits.parse().ok()?,
    };
    Some(if negative { -value } else { value })
}

/// `1.8p3`, hexadecimal digits and a power of 2, which may be left out.
fn hexadecimal(text: &str) -> Option<f64> {
    let (digits, power) = text.split_once(['p', 'P']).unwrap_or((text, "0"));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let mut power: i32 = power.parse().ok()?;
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let mut value = 0.0f64;
    for digit in whole.chars().chain(fraction.chars()) {
        value = value.mul_add(16.0, f64::from(digit.to_digit(16)?));
    }
    power = power.saturating_sub(4 * i32::try_from(fraction.len()).ok()?);
    Some(value * power_of_two(power))
}

/// 2 to a power, exactly: `powi` may round, and differently on each machine.
fn power_of_two(power: i32) -> f64 {
    match power {
        ..-1074 => 0.0,
        -1074..-1022 => f64::from_bits(1 << (power + 1074)),
        -1022..1024 => f64::from_bits(((power + 1023) as u64) << 52),
        1024.. => f64::INFINITY,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_c() {
        let cases = [
            ("1e-3", 0.001),
            ("+.5", 0.5),
            ("5.", 5.0),
            ("-inf", f64::NEG_INFINITY),
            ("0x1p3", 8.0),
            ("-0X.8", -0.5),
            ("0x1.8P1", 3.0),
            ("0x1p-1022", f64::MIN_POSITIVE),
            ("0x1p-1074", f64::from_bits(1)),
            ("0x1p1023", f64::from_bits(2046 << 52)),
            ("0x1p-1075", 0.0),
            ("0x1p1024", f64::INFINITY),
        ];
        for (text, value) in cases {
            assert_eq!(real(text), Some(value), "{text}");
        }
        for text in ["", "x", "1x", "0x", "0xg", "0x1p", "--1", "+-1", "1 2", "0x.p1"] {
            assert_eq!(real(text), None, "{text}");
        }
    }
}
