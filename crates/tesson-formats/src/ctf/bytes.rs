//! Classes of bytes, as the text format draws them.

use std::borrow::Cow;

/// Space or tab: what stands between values.
#[inline]
pub(crate) fn is_blank(b: u8) -> bool {
    b == b' ' || b == b'\t'
}

/// A byte that ends a name or a value list, as a blank does not end the list: controls (line feed and tab aside) and
/// everything beyond ASCII. Between inputs it is skipped like a blank.
#[inline]
pub(crate) fn is_unprintable(b: u8) -> bool {
    (b < 0x20 && b != b'\n' && b != b'\t') || b > 0x7F
}

/// A byte that ends a name or a value: blank, line feed, `|` or unprintable.
#[inline]
pub(crate) fn is_end(b: u8) -> bool {
    b <= 0x20 || b == b'|' || b > 0x7F
}

/// White space as C has it; what is skipped before the first row and ends a text key.
#[inline]
pub(crate) fn is_white(b: u8) -> bool {
    matches!(b, b' ' | b'\t' | b'\n' | 0x0B | 0x0C | b'\r')
}

/// The first position from `at` on whose byte is no digit.
#[inline]
pub(crate) fn skip_digits(bytes: &[u8], mut at: usize) -> usize {
    while bytes.get(at).is_some_and(u8::is_ascii_digit) {
        at += 1;
    }
    at
}

/// The first position from `at` on whose byte is no blank.
#[inline]
pub(crate) fn skip_blanks(bytes: &[u8], mut at: usize) -> usize {
    while bytes.get(at).is_some_and(|&b| is_blank(b)) {
        at += 1;
    }
    at
}

/// The next `|` or line feed from `at` on, or the end.
pub(crate) fn skip_to_input(bytes: &[u8], at: usize) -> usize {
    let rest = &bytes[at.min(bytes.len())..];
    at + rest.iter().position(|&b| b == b'|' || b == b'\n').unwrap_or(rest.len())
}

/// The text from `at` to the next end of a value, for messages: at most 40 bytes of it.
pub(crate) fn quote(bytes: &[u8], at: usize) -> String {
    let rest = &bytes[at..bytes.len().min(at + 40)];
    let n = rest.iter().skip(1).position(|&b| is_end(b)).map_or(rest.len(), |n| n + 1);
    let text: Cow<'_, str> = String::from_utf8_lossy(&rest[..n]);
    text.into_owned()
}
