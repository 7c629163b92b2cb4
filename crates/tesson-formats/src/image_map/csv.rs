//! Maps as CSV (RFC 4180): a header that names the columns, then a picture in each record. Fields in quotes may hold commas,
//! line feeds and, doubled, quotes.

use std::borrow::Cow;

use super::fault::ImageMapFault;
use super::line::{Line, LineStart, OnLine, TextRules};
use super::options::Columns;
use crate::pictures::lossy;

type Fields<'a> = Vec<Cow<'a, [u8]>>;

/// The lines of a map, which begins at byte `start` of its file.
pub(super) fn each(text: &[u8], start: usize, rules: TextRules, columns: &Columns, on: &mut OnLine<'_>) {
    let mut records = Records { rest: text, offset: start, line: 1, rules };
    let Some((at, header)) = records.next() else { return };
    let header = match header.and_then(|names| Header::new(&names, rules.with_labels, columns)) {
        Ok(header) => header,
        Err(fault) => return on(LineStart { offset: at.offset, line: at.line, number: 0 }, Err(fault)),
    };
    for (number, (at, fields)) in (0..).zip(records) {
        let line = fields.and_then(|fields| header.line(fields));
        on(LineStart { offset: at.offset, line: at.line, number }, line);
    }
}

/// Which column is what.
struct Header {
    n: usize,
    key: Option<usize>,
    path: usize,
    label: Option<usize>,
}

impl Header {
    fn new(names: &Fields<'_>, with_labels: bool, columns: &Columns) -> Result<Header, ImageMapFault> {
        let find = |wanted: &str| names.iter().position(|name| name.trim_ascii() == wanted.as_bytes());
        let found = || names.iter().map(|name| format!("`{}`", lossy(name))).collect::<Vec<_>>().join(", ");
        let needed = |column: &str| {
            find(column).ok_or_else(|| ImageMapFault::NoColumn { column: column.to_owned(), found: found() })
        };
        Ok(Header {
            n: names.len(),
            key: match &columns.key {
                Some(given) => Some(needed(given)?),
                None => find(Columns::KEY),
            },
            path: needed(columns.path())?,
            label: with_labels.then(|| needed(columns.label())).transpose()?,
        })
    }

    fn line<'a>(&self, mut fields: Fields<'a>) -> Result<Line<'a>, ImageMapFault> {
        if fields.len() != self.n {
            return Err(ImageMapFault::WrongColumns { found: fields.len(), expected: self.n });
        }
        let mut take = |column: usize| std::mem::take(&mut fields[column]);
        let line =
            Line { key: self.key.map(&mut take), label: self.label.map(&mut take), path: take(self.path) };
        line.complete()
    }
}

/// Where a record begins.
#[derive(Clone, Copy)]
struct RecordStart {
    offset: usize,
    line: u32,
}

/// The records of a text, without blank lines.
struct Records<'a> {
    rest: &'a [u8],
    offset: usize,
    line: u32,
    rules: TextRules,
}

impl<'a> Iterator for Records<'a> {
    type Item = (RecordStart, Result<Fields<'a>, ImageMapFault>);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if self.rest.is_empty() {
                return None;
            }
            let at = RecordStart { offset: self.offset, line: self.line };
            let line_end = self.rest.iter().position(|&byte| byte == b'\n').unwrap_or(self.rest.len());
            let line = &self.rest[..line_end];
            if line.trim_ascii().is_empty() || self.rules.is_comment(line) {
                self.advance(line_end + 1);
                continue;
            }
            let (fields, end) = record(self.rest);
            self.advance(end);
            return Some((at, fields));
        }
    }
}

impl Records<'_> {
    fn advance(&mut self, n: usize) {
        let (passed, rest) = self.rest.split_at(n.min(self.rest.len()));
        self.line += passed.iter().filter(|&&byte| byte == b'\n').count() as u32;
        self.offset += passed.len();
        self.rest = rest;
    }
}

/// The first record of a text and where the next one begins: after a fault, at the next line.
fn record(text: &[u8]) -> (Result<Fields<'_>, ImageMapFault>, usize) {
    let mut fields = Vec::new();
    let mut at = 0;
    loop {
        let (field, end) = match text.get(at) {
            Some(b'"') => match quoted(&text[at + 1..]) {
                Some((field, n)) => (field, at + 1 + n),
                None => return (Err(ImageMapFault::OpenQuote), text.len()),
            },
            _ => {
                let rest = &text[at.min(text.len())..];
                let n = rest.iter().position(|&byte| byte == b',' || byte == b'\n').unwrap_or(rest.len());
                let field = if rest.get(n) == Some(&b',') { &rest[..n] } else { trim_return(&rest[..n]) };
                (Cow::Borrowed(field), at + n)
            }
        };
        fields.push(field);
        at = match &text[end..] {
            [b',', ..] => end + 1,
            [] => return (Ok(fields), end),
            [b'\n', ..] => return (Ok(fields), end + 1),
            [b'\r'] | [b'\r', b'\n', ..] => return (Ok(fields), (end + 2).min(text.len())),
            [..] => {
                let next =
                    text[end..].iter().position(|&byte| byte == b'\n').map_or(text.len(), |n| end + n + 1);
                return (Err(ImageMapFault::AfterQuote), next);
            }
        };
    }
}

fn trim_return(field: &[u8]) -> &[u8] {
    field.strip_suffix(b"\r").unwrap_or(field)
}

/// The field in quotes whose first quote has been passed, and the bytes up to the end of its last one; `None` if that is
/// missing.
fn quoted(text: &[u8]) -> Option<(Cow<'_, [u8]>, usize)> {
    let mut field = Cow::Borrowed(&text[..0]);
    let mut at = 0;
    loop {
        let n = text[at..].iter().position(|&byte| byte == b'"')?;
        let part = &text[at..at + n];
        let is_doubled = text.get(at + n + 1) == Some(&b'"');
        match &mut field {
            Cow::Borrowed([]) if !is_doubled => field = Cow::Borrowed(part),
            field => field.to_mut().extend_from_slice(part),
        }
        at += n + 1;
        if !is_doubled {
            return Some((field, at));
        }
        field.to_mut().push(b'"');
        at += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each line with its number: key, path and label, or the code of its fault.
    fn lines(text: &str, columns: &Columns) -> Vec<(u32, String)> {
        let mut lines = Vec::new();
        let rules = TextRules { with_labels: true, comments: true };
        each(text.as_bytes(), 0, rules, columns, &mut |at, line| {
            let text = |bytes: &[u8]| lossy(bytes);
            let line = match line {
                Ok(Line { key, path, label }) => {
                    let key = key.map_or(at.number.to_string(), |key| text(&key));
                    format!("{key} {} {}", text(&path), text(&label.unwrap_or_default()))
                }
                Err(fault) => tesson_core::ErrorCodes::code(&fault).to_owned(),
            };
            lines.push((at.line, line));
        });
        lines
    }

    #[test]
    fn a_header_names_the_columns_in_any_order() {
        let text = "label,more,path\r\n3,x,a.jpg\r\n\r\n# no\n4,,\"b, \"\"c\"\".jpg\"\n5,\"1\n2\",d\n6,,e";
        let expected = [(2, "0 a.jpg 3"), (5, "1 b, \"c\".jpg 4"), (6, "2 d 5"), (8, "3 e 6")];
        assert_eq!(lines(text, &Columns::default()), expected.map(|(n, line)| (n, line.to_owned())));
        let named = Columns { path: Some("file".into()), label: Some("y".into()), key: Some("id".into()) };
        assert_eq!(lines("id,file,y\nk,a,1\n", &named), [(2, "k a 1".to_owned())]);
        assert_eq!(lines("key,path,label\nk,a,1", &Columns::default()), [(2, "k a 1".to_owned())]);
        assert_eq!(lines("", &Columns::default()), []);
    }

    #[test]
    fn what_is_wrong_is_said_of_its_line() {
        let codes = |text: &str| lines(text, &Columns::default());
        let fault = |line: u32, code: &str| (line, code.to_owned());
        assert_eq!(codes("a;b\n1;2\n"), [fault(1, "image-map.no-column")]);
        let text = "path,label\na\n,1\nb,\n\"c\"d,1\n\"x\ny\",2\ne,\"3\nf,4\n";
        let expected = [
            (2, "image-map.wrong-columns"),
            (3, "image-map.empty-path"),
            (4, "2 b "),
            (5, "image-map.after-quote"),
            (6, "0"),
            (8, "image-map.open-quote"),
        ];
        let mut found = codes(text);
        assert_eq!(found[4].1, "4 x\\ny 2");
        found[4].1 = "0".into();
        assert_eq!(found, expected.map(|(n, code)| fault(n, code)));
    }
}
