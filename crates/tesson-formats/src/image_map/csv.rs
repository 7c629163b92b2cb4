//! Maps as CSV (RFC 4180): a header that names the columns, then an image in each record. Fields in quotes may hold commas,
//! line feeds and, doubled, quotes.

use std::borrow::Cow;

use super::fault::ImageMapFault;
use super::line::{Line, LineStart, OnLine, TextRules};
use super::options::Columns;
use super::text::TextLine;
use crate::images::lossy;

type Fields<'a> = Vec<Cow<'a, [u8]>>;

/// A CSV map, line by line: a record is one line or, where quotes are open at its end, several.
pub(super) struct Records<'a> {
    rules: TextRules,
    columns: &'a Columns,
    header: Option<Header>,
    /// The header is wrong: it is not known what the records after it are.
    is_over: bool,
    /// The lines of a record that is not complete, where it begins, and its quotes.
    open: Vec<u8>,
    start: RecordStart,
    quotes: Quotes,
    /// The number of the next record after the header.
    number: u64,
}

/// Where a record begins.
#[derive(Clone, Copy, Default)]
struct RecordStart {
    offset: u64,
    line: u32,
}

/// A record has more bytes than it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooLong {
    pub(super) offset: u64,
    pub(super) line: u32,
}

impl<'a> Records<'a> {
    pub(super) fn new(rules: TextRules, columns: &'a Columns) -> Records<'a> {
        Records {
            rules,
            columns,
            header: None,
            is_over: false,
            open: Vec::new(),
            start: RecordStart::default(),
            quotes: Quotes::Before,
            number: 0,
        }
    }

    /// Takes the next line, and calls `on` if a record ends there. A record may have so many bytes.
    ///
    /// # Errors
    /// A record that has more.
    pub(super) fn push(
        &mut self,
        line: TextLine<'_>,
        longest: u64,
        on: &mut OnLine<'_>,
    ) -> Result<(), TooLong> {
        if self.is_over {
            return Ok(());
        }
        if self.open.is_empty() {
            let content = line.bytes.strip_suffix(b"\n").unwrap_or(line.bytes);
            if content.trim_ascii().is_empty() || self.rules.is_comment(content) {
                return Ok(());
            }
            self.start = RecordStart { offset: line.offset, line: line.number };
            self.quotes = Quotes::Before.after(line.bytes);
            if self.quotes != Quotes::Inside {
                self.end(line.bytes, on);
                return Ok(());
            }
        } else {
            self.quotes = self.quotes.after(line.bytes);
        }
        if (self.open.len() + line.bytes.len()) as u64 > longest {
            return Err(TooLong { offset: self.start.offset, line: self.start.line });
        }
        self.open.extend_from_slice(line.bytes);
        if self.quotes != Quotes::Inside {
            self.end_open(on);
        }
        Ok(())
    }

    /// The file has ended: so has a record whose quotes are open.
    pub(super) fn finish(mut self, on: &mut OnLine<'_>) {
        if !self.open.is_empty() {
            self.end_open(on);
        }
    }

    fn end_open(&mut self, on: &mut OnLine<'_>) {
        let mut bytes = std::mem::take(&mut self.open);
        self.end(&bytes, on);
        bytes.clear();
        self.open = bytes;
    }

    /// Takes a complete record.
    fn end(&mut self, bytes: &[u8], on: &mut OnLine<'_>) {
        let fields = record(bytes);
        let at = LineStart { offset: self.start.offset, line: self.start.line, number: self.number };
        match &self.header {
            Some(header) => {
                self.number += 1;
                on(at, fields.and_then(|fields| header.line(fields)));
            }
            None => {
                match fields.and_then(|names| Header::new(&names, self.rules.with_labels, self.columns)) {
                    Ok(header) => self.header = Some(header),
                    Err(fault) => {
                        self.is_over = true;
                        on(at, Err(fault));
                    }
                }
            }
        }
    }
}

/// Where one stands in a record, as far as it depends on quotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Quotes {
    /// At the beginning of a field.
    Before,
    /// In quotes, where a line feed is one of the field.
    Inside,
    /// After a quote in quotes: the last one, or the first of two that stand for one.
    Closing,
    /// In a field without quotes.
    Without,
    /// After a fault, which the rest of the line is passed over for.
    Over,
}

impl Quotes {
    /// The state after more bytes of the record.
    fn after(self, bytes: &[u8]) -> Quotes {
        if self != Quotes::Inside && !bytes.contains(&b'"') {
            return Quotes::Without;
        }
        bytes.iter().fold(self, |quotes, byte| match (quotes, byte) {
            (Quotes::Before | Quotes::Closing, b'"') => Quotes::Inside,
            (Quotes::Inside, b'"') => Quotes::Closing,
            (Quotes::Inside | Quotes::Over, _) => quotes,
            (_, b',') => Quotes::Before,
            (Quotes::Closing, _) => Quotes::Over,
            _ => Quotes::Without,
        })
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

/// The fields of a record.
fn record(text: &[u8]) -> Result<Fields<'_>, ImageMapFault> {
    let mut fields = Vec::new();
    let mut at = 0;
    loop {
        let (field, end) = match text.get(at) {
            Some(b'"') => match quoted(&text[at + 1..]) {
                Some((field, n)) => (field, at + 1 + n),
                None => return Err(ImageMapFault::OpenQuote),
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
            [] | [b'\n'] | [b'\r'] | [b'\r', b'\n'] => return Ok(fields),
            [..] => return Err(ImageMapFault::AfterQuote),
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
        let mut records = Records::new(TextRules { with_labels: true, comments: true }, columns);
        let mut on = |at: LineStart, line: Result<Line<'_>, ImageMapFault>| {
            let text = |bytes: &[u8]| lossy(bytes);
            let line = match line {
                Ok(Line { key, path, label }) => {
                    let key = key.map_or(at.number.to_string(), |key| text(&key));
                    format!("{key} {} {}", text(&path), text(&label.unwrap_or_default()))
                }
                Err(fault) => tesson_core::ErrorCodes::code(&fault).to_owned(),
            };
            lines.push((at.line, line));
        };
        for (number, bytes) in (1..).zip(text.as_bytes().split_inclusive(|&byte| byte == b'\n')) {
            records.push(TextLine { number, offset: 0, bytes }, u64::MAX, &mut on).unwrap();
        }
        records.finish(&mut on);
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
