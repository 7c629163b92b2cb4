//! Numbers in words, for people.

pub use tesson_core::inflected;

/// A count with its thousands apart.
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A count of things, in the singular or the plural: `1 fault`, `2 faults`.
pub fn counted(n: u64, noun: &str) -> String {
    format!("{} {}", count(n), inflected(n, noun))
}

/// A number of bytes in the unit that leaves one to three digits before the point.
pub fn size(bytes: u64) -> String {
    let units = ["", "kB", "MB", "GB", "TB", "PB", "EB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 999.95 && unit + 1 < units.len() {
        value /= 1000.0;
        unit += 1;
    }
    match unit {
        0 => counted(bytes, "byte"),
        _ => format!("{value:.1} {}", units[unit]),
    }
}

/// A number with about four digits, as people write it.
pub fn number(x: f64) -> String {
    let magnitude = x.abs();
    if x == 0.0 {
        "0".to_owned()
    } else if !(1e-4..1e7).contains(&magnitude) {
        format!("{x:.3e}")
    } else if x.fract() == 0.0 {
        let sign = if x < 0.0 { "-" } else { "" };
        format!("{sign}{}", count(magnitude as u64))
    } else {
        let decimals = (3 - magnitude.log10().floor() as i32).clamp(0, 8) as usize;
        let text = format!("{x:.decimals$}");
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
    }
}

/// A share in percent, and what is less than shown as `< 0.1 %`.
pub fn percent(share: f64) -> String {
    match 100.0 * share {
        p if p > 0.0 && p < 0.05 => "< 0.1 %".to_owned(),
        p if (99.95..100.0).contains(&p) => "> 99.9 %".to_owned(),
        p => format!("{p:.1} %"),
    }
}

/// A shape as `28x28x3`: a scalar is `1`, and any size is `?`.
pub fn dims(shape: &[usize]) -> String {
    let dim = |&n: &usize| if n == 0 { "?".to_owned() } else { n.to_string() };
    let dims: Vec<String> = shape.iter().map(dim).collect();
    if dims.is_empty() { "1".to_owned() } else { dims.join("x") }
}

/// The first characters of a text, and `…` if there are more.
pub fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_have_their_thousands_apart() {
        let found: Vec<String> = [0, 999, 1000, 1_234_567].map(count).into();
        assert_eq!(found, ["0", "999", "1,000", "1,234,567"]);
    }

    #[test]
    fn one_of_a_thing_is_in_the_singular() {
        let found = [(0, "fault"), (1, "class"), (1000, "class"), (1, "minibatch"), (2, "minibatch")];
        assert_eq!(
            found.map(|(n, noun)| counted(n, noun)),
            ["0 faults", "1 class", "1,000 classes", "1 minibatch", "2 minibatches"]
        );
    }

    #[test]
    fn sizes_have_the_unit_that_suits_them() {
        let found: Vec<String> = [0, 1, 999, 1000, 999_949, 999_950, 1 << 40].map(size).into();
        assert_eq!(found, ["0 bytes", "1 byte", "999 bytes", "1.0 kB", "999.9 kB", "1.0 MB", "1.1 TB"]);
        assert_eq!(size(u64::MAX), "18.4 EB");
    }

    #[test]
    fn numbers_have_about_four_digits() {
        let found = [0.0, 1.0, -1234567.0, 0.123456, 12.5, 1234.5678, 1e-7, 2.5e9, 0.1].map(number);
        assert_eq!(found, ["0", "1", "-1,234,567", "0.1235", "12.5", "1235", "1.000e-7", "2.500e9", "0.1"]);
    }

    #[test]
    fn a_share_that_is_not_all_or_none_does_not_look_so() {
        assert_eq!(
            [0.0, 0.0001, 0.123, 0.9999, 1.0].map(percent),
            ["0.0 %", "< 0.1 %", "12.3 %", "> 99.9 %", "100.0 %"]
        );
    }
}
