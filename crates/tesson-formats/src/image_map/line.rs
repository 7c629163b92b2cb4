//! The lines of a map file: `[key TAB] path TAB label [TAB ignored …]`, each judged by itself.

use super::fault::ImageMapFault;
use crate::pictures::{lossy, parse_label};

/// The columns of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Line<'a> {
    /// The key, where the line has one.
    pub(super) key: Option<&'a [u8]>,
    /// The path as it is written.
    pub(super) path: &'a [u8],
    /// The text of the label; `None` where no labels are wanted.
    pub(super) label: Option<&'a [u8]>,
}

impl<'a> Line<'a> {
    /// Splits a line, which is neither blank nor a comment.
    pub(super) fn parse(line: &'a [u8], with_labels: bool) -> Result<Line<'a>, ImageMapFault> {
        // An empty column at the end of a line is none.
        let ends_with_tab = line.ends_with(b"\t");
        let mut columns = line[..line.len() - usize::from(ends_with_tab)].split(|&byte| byte == b'\t');
        let first = columns.next().unwrap_or_default();
        let parsed = match (columns.next(), columns.next()) {
            (None, _) if with_labels => return Err(ImageMapFault::OneColumn),
            (None, _) => Line { key: None, path: first, label: None },
            (Some(label), None) => {
                if with_labels && ends_with_tab && parse_label(label).is_none() {
                    return Err(ImageMapFault::NoLabel { path: lossy(first) });
                }
                Line { key: None, path: first, label: with_labels.then_some(label) }
            }
            (Some(path), Some(label)) => Line { key: Some(first), path, label: with_labels.then_some(label) },
        };
        match parsed {
            Line { key: Some(b""), .. } => Err(ImageMapFault::EmptyKey),
            Line { path: b"", .. } => Err(ImageMapFault::EmptyPath),
            parsed => Ok(parsed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(line: &str) -> Result<(Option<&str>, &str, &str), &'static str> {
        let text = |bytes| std::str::from_utf8(bytes).expect("UTF-8");
        let parsed =
            Line::parse(line.as_bytes(), true).map_err(|fault| tesson_core::ErrorCodes::code(&fault))?;
        Ok((parsed.key.map(text), text(parsed.path), text(parsed.label.unwrap_or_default())))
    }

    #[test]
    fn lines_have_two_columns_or_more() {
        assert_eq!(columns("a.jpg\t3"), Ok((None, "a.jpg", "3")));
        assert_eq!(columns("7\ta.jpg\t3"), Ok((Some("7"), "a.jpg", "3")));
        assert_eq!(columns("7\ta.jpg\t3\tx\ty"), Ok((Some("7"), "a.jpg", "3")));
        assert_eq!(columns("a.jpg\t3\t"), Ok((None, "a.jpg", "3")), "an empty last column is none");
        assert_eq!(columns("7\t3.pgm\t"), Ok((None, "7", "3.pgm")), "the label is the 3 of it");
        for (line, code) in [
            ("a.jpg", "image-map.one-column"),
            ("a.jpg\t", "image-map.one-column"),
            ("a.jpg 3", "image-map.one-column"),
            ("7\ta.jpg\t", "image-map.no-label"),
            ("\ta.jpg\t3", "image-map.empty-key"),
            ("7\t\t3", "image-map.empty-path"),
        ] {
            assert_eq!(columns(line), Err(code), "{line:?}");
        }
    }

    #[test]
    fn without_labels_a_path_is_enough() {
        let parsed = |line: &'static str| Line::parse(line.as_bytes(), false).map(|l| (l.key, l.path));
        assert_eq!(parsed("a.jpg"), Ok((None, &b"a.jpg"[..])));
        assert_eq!(parsed("a.jpg\tcat"), Ok((None, &b"a.jpg"[..])));
        assert_eq!(parsed("7\ta.jpg\tcat"), Ok((Some(&b"7"[..]), &b"a.jpg"[..])));
    }
}
