//! Which rows make which sequences: the one definition that the index and the parser share.

use std::sync::Arc;

use super::bytes::{is_blank, is_unprintable, is_white, skip_blanks, skip_digits};
use super::tag::Tag;

/// How sequences are distinguished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keying {
    /// Every row is a sequence; its key is its line number.
    Lines,
    /// Rows carry numbers; a row whose number differs from the one in force starts a sequence.
    Numbers,
    /// Likewise with texts up to the first white space or `|`.
    Texts,
}

/// The rules that make sequences of rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RowRules {
    pub(crate) keying: Keying,
    /// `rules = "lenient"`.
    pub(crate) lenient: bool,
    /// The name of the stream that defines minibatch sizes, if one does.
    pub(crate) main: Option<Arc<[u8]>>,
}

/// The id at the beginning of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RowId<'a> {
    /// The row has none: it continues the sequence before it.
    None,
    Number(u64),
    Text(&'a [u8]),
    /// Digits beyond 64 bits: no index can be made.
    Overflow(&'a [u8]),
    /// An id that runs into the end of the file: no row at all.
    NoRow,
}

/// The number that the last rows began with, as they wrote it: most rows repeat it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LastId(Option<Tag>);

impl LastId {
    pub(crate) fn of_number(digits: &[u8]) -> LastId {
        LastId(Tag::new(digits))
    }

    /// The length of the id, if the row begins with the same digits and no more. A row without an answer may still have
    /// the same id.
    #[inline]
    pub(crate) fn repeated(self, row: &[u8]) -> Option<usize> {
        let (end, n) = self.0?.behind(row)?;
        (!end.is_ascii_digit()).then_some(n)
    }
}

impl RowRules {
    /// The id of the row that begins `row`, and the length of what the parser is to skip for it.
    ///
    /// `row` may reach beyond the row; where it ends, the file does.
    #[inline]
    pub(crate) fn id<'a>(&self, row: &'a [u8]) -> (RowId<'a>, usize) {
        match self.keying {
            Keying::Lines => (RowId::None, self.number_end(row)),
            Keying::Numbers => {
                let end = self.number_end(row);
                (self.number(row, end), end)
            }
            Keying::Texts => {
                let end = row.iter().position(|&b| is_white(b) || b == b'|').unwrap_or(row.len());
                let id = match end {
                    0 => RowId::None,
                    _ if end == row.len() => RowId::NoRow,
                    _ => RowId::Text(&row[..end]),
                };
                (id, end)
            }
        }
    }

    /// Behind the digits that begin the row; blanks before them are skipped by the lenient rules only.
    #[inline]
    fn number_end(&self, row: &[u8]) -> usize {
        let start = if self.lenient { skip_blanks(row, 0) } else { 0 };
        skip_digits(row, start)
    }

    #[inline]
    fn number<'a>(&self, row: &'a [u8], end: usize) -> RowId<'a> {
        let start = if self.lenient { skip_blanks(row, 0) } else { 0 };
        if start == end {
            return RowId::None;
        }
        if end == row.len() {
            return RowId::NoRow;
        }
        let digits = &row[start..end];
        let value = digits
            .iter()
            .try_fold(0u64, |n, d| n.checked_mul(10).and_then(|n| n.checked_add(u64::from(d - b'0'))));
        value.map_or(RowId::Overflow(digits), RowId::Number)
    }

    /// True if every row counts, whatever its content.
    pub(crate) fn all_rows_count(&self) -> bool {
        self.main.is_none() && !(self.lenient && self.keying == Keying::Lines)
    }

    /// True if the row that begins `row` counts for the length of its sequence.
    ///
    /// `row` may reach beyond the row, whose first line feed ends it.
    #[inline]
    pub(crate) fn counts(&self, row: &[u8]) -> bool {
        if self.all_rows_count() {
            return true;
        }
        let needs_content = self.lenient && self.keying == Keying::Lines;
        (!needs_content || has_input(row) || has_text(row))
            && self.main.as_deref().is_none_or(|name| names(row, name))
    }
}

/// True if the row contains a `|` that is not followed by `#`.
#[inline]
pub(crate) fn has_input(row: &[u8]) -> bool {
    let mut bytes = row.iter();
    while let Some(&b) = bytes.find(|&&b| b == b'|' || b == b'\n') {
        match b {
            b'\n' => return false,
            _ if bytes.as_slice().first() != Some(&b'#') => return true,
            _ => {}
        }
    }
    false
}

/// True if the row contains anything but blanks before its first `|`. Unprintable bytes are skipped like blanks between
/// inputs, so they count as such here.
#[cold]
fn has_text(row: &[u8]) -> bool {
    let before = row.iter().take_while(|&&b| b != b'|' && b != b'\n');
    before.copied().any(|b| !is_blank(b) && !is_unprintable(b))
}

/// True if the row contains `|name`, comments included, followed by white space, `|`, an unprintable byte or the end of
/// the row.
fn names(row: &[u8], name: &[u8]) -> bool {
    let row = &row[..row.iter().position(|&b| b == b'\n').unwrap_or(row.len())];
    let ends = |b: u8| b <= 0x20 || b == b'|' || b >= 0x80;
    row.iter().enumerate().filter(|&(_, &b)| b == b'|').any(|(at, _)| {
        let rest = &row[at + 1..];
        rest.starts_with(name) && rest.get(name.len()).is_none_or(|&b| ends(b))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(keying: Keying, lenient: bool) -> RowRules {
        RowRules { keying, lenient, main: None }
    }

    fn check_id(lenient: bool, row: &str, expected: RowId<'_>) {
        assert_eq!(rules(Keying::Numbers, lenient).id(row.as_bytes()).0, expected, "{row:?}");
    }

    #[test]
    fn an_id_is_the_digits_at_the_first_byte() {
        check_id(false, "007|a", RowId::Number(7));
        check_id(false, "5x |a", RowId::Number(5));
        check_id(false, "5.5 |a", RowId::Number(5));
        check_id(false, "5\n", RowId::Number(5));
        check_id(false, " 5 |a", RowId::None);
        check_id(false, "-6 |a", RowId::None);
        check_id(false, "|a 1", RowId::None);
        check_id(false, "\n7 |a", RowId::None);
        check_id(false, "18446744073709551615 ", RowId::Number(u64::MAX));
        check_id(false, "18446744073709551616 ", RowId::Overflow(b"18446744073709551616"));
    }

    #[test]
    fn digits_that_run_into_the_end_of_the_file_are_no_row() {
        check_id(false, "12", RowId::NoRow);
        check_id(false, "99999999999999999999999", RowId::NoRow);
        check_id(true, " 12", RowId::NoRow);
    }

    #[test]
    fn lenient_ids_may_stand_behind_blanks() {
        check_id(true, " \t5 |a", RowId::Number(5));
        check_id(true, "  |a", RowId::None);
    }

    #[test]
    fn a_text_key_ends_at_white_space_or_a_pipe() {
        let id = |row: &'static str| rules(Keying::Texts, false).id(row.as_bytes()).0;
        assert_eq!(id("x1|a"), RowId::Text(b"x1"));
        assert_eq!(id("x1\x0B|a"), RowId::Text(b"x1"));
        assert_eq!(id("|a 1\n"), RowId::None);
        assert_eq!(id(" x |a 1\n"), RowId::None);
        assert_eq!(id("x"), RowId::NoRow);
    }

    #[test]
    fn a_row_counts_for_the_main_stream_if_it_names_it() {
        let counts = |row: &str| {
            RowRules { keying: Keying::Numbers, lenient: false, main: Some(b"b".as_slice().into()) }
                .counts(row.as_bytes())
        };
        assert!(counts("1 |b 2\n"));
        assert!(counts("1 |b"));
        assert!(counts("1 |a 1|b|c\n"));
        assert!(counts("1 |# in a comment |b\n"));
        assert!(!counts("1 |bb 2\n"));
        assert!(!counts("1 |a 2\n1 |b 2\n"));
    }

    #[test]
    fn a_lenient_line_counts_unless_it_is_blank_or_a_comment() {
        let counts = |row: &str| rules(Keying::Lines, true).counts(row.as_bytes());
        assert!(counts("|a\n"));
        assert!(counts("|# x | y\n"));
        assert!(counts("text |"));
        assert!(!counts("|# x\n|a"));
        assert!(!counts("  \n"));
        assert!(!counts(" \t\r\n|a"));
        assert!(!counts(" |# x |# y"));
        assert!(!counts("\n|a"));
        assert!(counts("text\n"));
        assert!(counts("5\n"));
        assert!(counts(" x |# comment\n"));
        assert!(rules(Keying::Lines, false).counts(b"\n"));
        assert!(rules(Keying::Numbers, true).counts(b"\n"));
    }
}
