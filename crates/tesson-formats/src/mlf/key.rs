//! Names of utterances as keys (spec/speech.md §2).

use crate::images::parse_numeric_key;

/// The key of a name between quotes: without one leading `*/`, unless nothing follows it, up to its last dot.
pub(super) fn of_name(name: &[u8]) -> &[u8] {
    let name = name.strip_prefix(b"*/").filter(|rest| !rest.is_empty()).unwrap_or(name);
    match name.iter().rposition(|&byte| byte == b'.') {
        Some(dot) => &name[..dot],
        None => name,
    }
}

/// The name on the line that begins an entry; `None` if that is not in quotes.
pub(super) fn quoted(line: &[u8]) -> Option<&[u8]> {
    let line = line.trim_ascii_end();
    let name = line.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    (!name.is_empty()).then_some(name)
}

/// A numeric key: digits alone, maybe after a `+`; more than 64 bits are 2^64 - 1. `None` for anything else, which the
/// reference reads as the number that it begins with.
pub(super) fn number(key: &[u8]) -> Option<u64> {
    let digits = key.strip_prefix(b"+").unwrap_or(key);
    let is_number = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    if is_number { parse_numeric_key(digits) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lose_a_pattern_and_what_follows_the_last_dot() {
        for (line, key) in [
            (r#""x""#, Some("x")),
            (r#""*/a.b.c""#, Some("a.b")),
            (r#""*/*/a.lab""#, Some("*/a")),
            (r#""*/""#, Some("*/")),
            (r#""q.""#, Some("q")),
            (r#"".q""#, Some("")),
            (r#""d.e/q""#, Some("d")),
            (r#""*\x.lab""#, Some(r"*\x")),
            (r#""/data/x.lab""#, Some("/data/x")),
            (r#""x.lab" z""#, Some("x")),
            (r#""x" z""#, Some(r#"x" z"#)),
            (r#""x.lab" -> "d""#, Some("x")),
            ("\"x.lab\" \t", Some("x")),
            (r#"" x .lab""#, Some(" x ")),
            (r#""""#, None),
            ("x.lab", None),
            (r#"x.lab""#, None),
            (r#" "x.lab""#, None),
        ] {
            let found = quoted(line.as_bytes()).map(of_name);
            assert_eq!(found, key.map(str::as_bytes), "{line}");
        }
    }

    #[test]
    fn numeric_keys_are_digits_alone() {
        for (text, key) in [
            ("7", Some(7)),
            ("+007", Some(7)),
            ("99999999999999999999", Some(u64::MAX)),
            ("7-a", None),
            ("-7", None),
            (" 7", None),
            ("+", None),
            ("", None),
        ] {
            assert_eq!(number(text.as_bytes()), key, "{text:?}");
        }
    }
}
