//! Sizes in bytes, as people write them.

/// Units and their sizes: decimal with `B`, binary with `iB`, and the bare letter as binary, as `dd` and `sort` take it.
const UNITS: &[(&str, u64)] = &[
    ("", 1),
    ("b", 1),
    ("kb", 1000),
    ("mb", 1_000_000),
    ("gb", 1_000_000_000),
    ("tb", 1_000_000_000_000),
    ("k", 1 << 10),
    ("m", 1 << 20),
    ("g", 1 << 30),
    ("t", 1 << 40),
    ("kib", 1 << 10),
    ("mib", 1 << 20),
    ("gib", 1 << 30),
    ("tib", 1 << 40),
];

/// Parses a size such as `1048576`, `512MB` (decimal), `2GiB` or `1.5G` (binary). `None` if it is none, or not below 2^64.
pub fn parse(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let unit = unit.trim().to_ascii_lowercase();
    let size = UNITS.iter().find(|(name, _)| *name == unit)?.1;
    match number.parse::<u64>() {
        Ok(whole) => whole.checked_mul(size),
        Err(_) => fraction(number, size),
    }
}

fn fraction(number: &str, size: u64) -> Option<u64> {
    let bytes = number.parse::<f64>().ok()? * size as f64;
    (number.contains('.') && bytes < u64::MAX as f64).then_some(bytes as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_decimal_with_b_and_binary_with_i() {
        let cases = [
            ("0", 0),
            ("1048576", 1 << 20),
            ("512MB", 512_000_000),
            ("512 mb", 512_000_000),
            ("2GiB", 2 << 30),
            ("2g", 2 << 30),
            ("1.5k", 1536),
            ("7B", 7),
        ];
        for (text, bytes) in cases {
            assert_eq!(parse(text), Some(bytes), "{text}");
        }
    }

    #[test]
    fn anything_else_is_no_size() {
        for text in ["", "x", "-1", "1.2.3GB", "12XB", "99999999999999999999", "99999999999 GiB", "1e3"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
