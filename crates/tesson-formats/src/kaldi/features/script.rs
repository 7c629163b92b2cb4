//! A line of a script file: a key, and where its matrix lies: `key file:offset`, or `key file` for a file of one matrix, with
//! `[first:last]` or `[first:last,first:last]` behind it for some of its rows and columns.

use std::ops::RangeInclusive;

use crate::images::lossy;
use crate::kaldi::fault::KaldiFault;

/// The fields of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line<'a> {
    pub(super) key: &'a str,
    pub(super) path: &'a str,
    /// The byte that the matrix begins at.
    pub(super) offset: u64,
    /// The rows of it, and the columns, if not all.
    pub(super) rows: Option<RangeInclusive<u32>>,
    pub(super) columns: Option<RangeInclusive<u32>>,
}

/// Parses a line; `None` for a blank one.
///
/// # Errors
/// The fault in the line.
pub(super) fn parse(line: &[u8]) -> Result<Option<Line<'_>>, KaldiFault> {
    let line = line.trim_ascii();
    if line.is_empty() {
        return Ok(None);
    }
    let text = std::str::from_utf8(line).map_err(|_| KaldiFault::NotUtf8 { found: lossy(line) })?;
    let (key, place) = text.split_once([' ', '\t']).unwrap_or((text, ""));
    let place = place.trim_start();
    if place.is_empty() {
        return Err(KaldiFault::NoFile { found: text.to_owned() });
    }
    if place.starts_with('|') || place.ends_with('|') {
        return Err(KaldiFault::Command { found: place.to_owned() });
    }
    let (place, range) = match place.strip_suffix(']').and_then(|place| place.rsplit_once('[')) {
        Some((place, range)) => (place, Some(range)),
        None => (place, None),
    };
    let (rows, columns) = range.map_or(Ok((None, None)), ranges)?;
    let (path, offset) = match place.rsplit_once(':').map(|(path, offset)| (path, offset.parse())) {
        Some((path, Ok(offset))) => (path, offset),
        _ => (place, 0),
    };
    Ok(Some(Line { key, path, offset, rows, columns }))
}

type Ranges = (Option<RangeInclusive<u32>>, Option<RangeInclusive<u32>>);

/// The ranges of rows and columns between brackets. An empty one, or a `:` alone, is all.
fn ranges(text: &str) -> Result<Ranges, KaldiFault> {
    let bad = || KaldiFault::BadRange { found: format!("[{text}]") };
    let range = |text: &str| -> Result<Option<RangeInclusive<u32>>, KaldiFault> {
        if matches!(text.trim(), "" | ":") {
            return Ok(None);
        }
        let (first, last) = text.split_once(':').ok_or_else(bad)?;
        let number = |text: &str| text.trim().parse::<u32>().map_err(|_| bad());
        let (first, last) = (number(first)?, number(last)?);
        if first <= last && last < u32::MAX { Ok(Some(first..=last)) } else { Err(bad()) }
    };
    let (rows, columns) = text.split_once(',').unwrap_or((text, ""));
    Ok((range(rows)?, range(columns)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_name_a_matrix_or_a_part_of_it() {
        let line = |path, offset, rows, columns| Ok(Some(Line { key: "u1", path, offset, rows, columns }));
        assert_eq!(parse(b"u1 a.ark:17\r"), line("a.ark", 17, None, None));
        assert_eq!(parse(b"u1\tc:/a b.ark:0[3:5]"), line("c:/a b.ark", 0, Some(3..=5), None));
        assert_eq!(parse(b"u1 a.mat[:,0:12]"), line("a.mat", 0, None, Some(0..=12)));
        assert_eq!(parse(b"u1 a.mat[,1:2]"), line("a.mat", 0, None, Some(1..=2)));
        assert_eq!(parse(b"u1 a:9[0:1, 2:2]"), line("a", 9, Some(0..=1), Some(2..=2)));
        assert_eq!(parse(b" \t"), Ok(None));
    }

    #[test]
    fn other_lines_are_refused() {
        let code = |line: &[u8]| parse(line).unwrap_err();
        assert_eq!(code(b"u1"), KaldiFault::NoFile { found: "u1".into() });
        assert_eq!(code(b"u1 gunzip -c a |"), KaldiFault::Command { found: "gunzip -c a |".into() });
        for range in ["[5:3]", "[x:3]", "[3]", "[0:4294967295]"] {
            let line = format!("u1 a:1{range}");
            assert_eq!(code(line.as_bytes()), KaldiFault::BadRange { found: range.into() });
        }
        assert!(matches!(code(b"u1 \xff"), KaldiFault::NotUtf8 { .. }));
    }
}
