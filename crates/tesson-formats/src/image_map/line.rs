//! The lines of a map, whatever its form: a key, a path and a label; and CNTK's form of them, `[key TAB] path TAB label
//! [TAB ignored …]`, each judged by itself.

use std::borrow::Cow;

use super::fault::ImageMapFault;
use super::text::TextLine;
use crate::images::{lossy, parse_label};

/// An image as the map lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line<'a> {
    /// The key, where the line has one.
    pub(super) key: Option<Cow<'a, [u8]>>,
    /// The path as it is written.
    pub(super) path: Cow<'a, [u8]>,
    /// The text of the label; `None` where no labels are wanted.
    pub(super) label: Option<Cow<'a, [u8]>>,
}

/// Where a line begins, and its image's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LineStart {
    pub(super) offset: u64,
    /// The line, from 1.
    pub(super) line: u32,
    /// The key of a line without one.
    pub(super) number: u64,
}

/// Takes the lines of a map, in their order.
pub(super) type OnLine<'a> = dyn FnMut(LineStart, Result<Line<'_>, ImageMapFault>) + 'a;

/// The rules that all forms of text share.
#[derive(Clone, Copy, Debug)]
pub(super) struct TextRules {
    pub(super) with_labels: bool,
    /// Lines that begin with `#` are ignored.
    pub(super) comments: bool,
}

impl TextRules {
    /// A line without its end, and where it is; nothing of one that is blank or a comment.
    pub(super) fn content(self, line: TextLine<'_>) -> Option<(LineStart, &[u8])> {
        let content = without_end(line.bytes);
        let is_blank = content.iter().all(|byte| byte.is_ascii_whitespace() && *byte != b'\t');
        let at = LineStart { offset: line.offset, line: line.number, number: u64::from(line.number) - 1 };
        (!is_blank && !self.is_comment(content)).then_some((at, content))
    }

    pub(super) fn is_comment(self, line: &[u8]) -> bool {
        self.comments && line.starts_with(b"#")
    }
}

fn without_end(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

impl<'a> Line<'a> {
    /// Splits a line in CNTK's form, which is neither blank nor a comment.
    pub(super) fn parse(line: &'a [u8], with_labels: bool) -> Result<Line<'a>, ImageMapFault> {
        // An empty column at the end of a line is none.
        let ends_with_tab = line.ends_with(b"\t");
        let mut columns = line[..line.len() - usize::from(ends_with_tab)].split(|&byte| byte == b'\t');
        let first = columns.next().unwrap_or_default();
        let (key, path, label) = match (columns.next(), columns.next()) {
            (None, _) if with_labels && first.starts_with(b"#") => return Err(ImageMapFault::Comment),
            (None, _) if with_labels => return Err(ImageMapFault::OneColumn),
            (None, _) => (None, first, None),
            (Some(label), None) => {
                if with_labels && ends_with_tab && parse_label(label).is_none() {
                    return Err(ImageMapFault::NoLabel { path: lossy(first) });
                }
                (None, first, Some(label))
            }
            (Some(path), Some(label)) => (Some(first), path, Some(label)),
        };
        Line {
            key: key.map(Cow::Borrowed),
            path: path.into(),
            label: label.filter(|_| with_labels).map(Cow::Borrowed),
        }
        .complete()
    }

    /// Returns the line, unless its key or its path is empty.
    pub(super) fn complete(self) -> Result<Line<'a>, ImageMapFault> {
        match &self {
            Line { key: Some(key), .. } if key.is_empty() => Err(ImageMapFault::EmptyKey),
            Line { path, .. } if path.is_empty() => Err(ImageMapFault::EmptyPath),
            _ => Ok(self),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(line: &str) -> Result<(Option<String>, String, String), &'static str> {
        let text = |bytes: Cow<'_, [u8]>| String::from_utf8(bytes.into_owned()).expect("UTF-8");
        let parsed =
            Line::parse(line.as_bytes(), true).map_err(|fault| tesson_core::ErrorCodes::code(&fault))?;
        Ok((parsed.key.map(text), text(parsed.path), text(parsed.label.unwrap_or_default())))
    }

    #[test]
    fn lines_have_two_columns_or_more() {
        let found = |key: Option<&str>, path: &str, label: &str| {
            Ok((key.map(str::to_owned), path.to_owned(), label.to_owned()))
        };
        assert_eq!(columns("a.jpg\t3"), found(None, "a.jpg", "3"));
        assert_eq!(columns("7\ta.jpg\t3"), found(Some("7"), "a.jpg", "3"));
        assert_eq!(columns("7\ta.jpg\t3\tx\ty"), found(Some("7"), "a.jpg", "3"));
        assert_eq!(columns("a.jpg\t3\t"), found(None, "a.jpg", "3"), "an empty last column is none");
        assert_eq!(columns("7\t3.pgm\t"), found(None, "7", "3.pgm"), "the label is the 3 of it");
        for (line, code) in [
            ("a.jpg", "image-map.one-column"),
            ("a.jpg\t", "image-map.one-column"),
            ("a.jpg 3", "image-map.one-column"),
            ("# a.jpg 3", "image-map.comment"),
            ("7\ta.jpg\t", "image-map.no-label"),
            ("\ta.jpg\t3", "image-map.empty-key"),
            ("7\t\t3", "image-map.empty-path"),
        ] {
            assert_eq!(columns(line), Err(code), "{line:?}");
        }
    }

    #[test]
    fn without_labels_a_path_is_enough() {
        let parsed = |line: &'static str| {
            let line = Line::parse(line.as_bytes(), false).unwrap();
            assert_eq!(line.label, None);
            (line.key.map(Cow::into_owned), line.path.into_owned())
        };
        assert_eq!(parsed("a.jpg"), (None, b"a.jpg".to_vec()));
        assert_eq!(parsed("a.jpg\tcat"), (None, b"a.jpg".to_vec()));
        assert_eq!(parsed("7\ta.jpg\tcat"), (Some(b"7".to_vec()), b"a.jpg".to_vec()));
    }
}
