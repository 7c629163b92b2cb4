//! The grammar (spec/brainscript.md §2): entries of records, items of lists. Its functions have its names.

use std::ops::Range;

use tesson_core::{ConfigError, repeated};

use super::lex::{BLANKS, Lexer, closing, is_closing};
use super::script::Script;
use super::tree::{Node, Record};
use crate::Result;
use crate::TextFault;
use crate::reader::is_reader;

/// Sections within each other. Real ones have six levels.
const MOST_LEVELS: usize = 100;

/// The records of a script, repeated names merged. A section that cannot be parsed is an error if a reader lies in it, or if
/// there is no reader at all.
pub(super) fn parse(script: &Script) -> Result<Record> {
    let mut record = Record::default();
    let mut parser =
        Parser { lex: Lexer::new(script), levels: 0, within_reader: false, broken: None, readers: 0 };
    parser.entries(&mut record, None)?;
    match parser.broken {
        Some(error) if parser.readers == 0 => Err(error),
        _ => Ok(record),
    }
}

struct Parser<'s> {
    lex: Lexer<'s>,
    levels: usize,
    within_reader: bool,
    /// The error of the first section that cannot be parsed and contains no reader.
    broken: Option<ConfigError>,
    readers: usize,
}

/// A bracket that is open: where it stands, and what closes it.
type Open = (usize, u8);

const BETWEEN_ENTRIES: &[u8] = b" \t\r\n;,";
const BETWEEN_ITEMS: &[u8] = b" \t\r\n:,";

impl<'s> Parser<'s> {
    /// Entries up to a closing bracket, or to the end of the text.
    fn entries(&mut self, record: &mut Record, open: Option<Open>) -> Result<()> {
        loop {
            self.lex.skip(BETWEEN_ENTRIES);
            match (self.lex.peek(), open) {
                (None, None) => return Ok(()),
                (None, Some((at, close))) => return Err(self.lex.unclosed(at, close)),
                (Some(byte), Some((_, close))) if is_closing(byte) => {
                    if byte != close {
                        return Err(self.lex.unmatched(byte, close));
                    }
                    self.lex.at += 1;
                    return Ok(());
                }
                // Real files have a brace too many at their end.
                (Some(byte), None) if is_closing(byte) => self.lex.at += 1,
                _ => self.entry(record)?,
            }
        }
    }

    fn entry(&mut self, record: &mut Record) -> Result<()> {
        let at = self.lex.at;
        let name = self.name();
        if name.is_empty() || name.starts_with(':') {
            return Err(self.lex.error(at, &TextFault::Nameless));
        }
        let value = match self.lex.peek() {
            Some(b'=') => self.given_value(at, name, record)?,
            Some(b'"') => self.quoted()?,
            Some(byte) if closing(byte).is_some() => self.named_group(name, record)?,
            _ => Node::True,
        };
        record.put(name, at, value);
        Ok(())
    }

    /// A name, and the blanks behind it.
    fn name(&mut self) -> &'s str {
        let start = self.lex.at;
        while self.lex.peek().is_some_and(|b| !b"=[{(]});,\n\"".contains(&b)) {
            self.lex.at += 1;
        }
        self.lex.text(start, self.lex.at).trim()
    }

    /// Parses the value after an equals sign.
    fn given_value(&mut self, at: usize, name: &str, record: &mut Record) -> Result<Node> {
        self.lex.at += 1;
        self.lex.skip(BLANKS);
        let line = self.lex.at;
        if self.lex.peek() == Some(b'\n') {
            self.lex.skip(b" \t\r\n");
            // Anything else on a later line is an entry of its own.
            if !self.lex.peek().is_some_and(|b| b == b'"' || closing(b).is_some()) {
                self.lex.at = line;
            }
        }
        match self.lex.peek() {
            Some(b'"') => self.quoted(),
            Some(byte) if closing(byte).is_some() => self.named_group(name, record),
            _ => {
                let bare = self.bare(b"\n;,")?;
                if bare.is_empty() {
                    return Err(self.lex.error(at, &TextFault::Valueless { name: name.to_string() }));
                }
                Ok(Node::Text(bare))
            }
        }
    }

    fn quoted(&mut self) -> Result<Node> {
        let (start, end) = self.lex.quoted()?;
        Ok(Node::Text(start..end))
    }

    /// Text up to one of these bytes, a closing bracket, or behind the match of a bracket or quote in it; trimmed.
    fn bare(&mut self, ends: &[u8]) -> Result<Range<usize>> {
        let start = self.lex.at;
        while let Some(byte) = self.lex.peek() {
            if byte == b'"' {
                self.lex.quoted()?;
                break;
            }
            if closing(byte).is_some() {
                self.lex.group()?;
                break;
            }
            if is_closing(byte) || ends.contains(&byte) {
                break;
            }
            self.lex.at += 1;
        }
        let text = self.lex.text(start, self.lex.at);
        let blanks = text.len() - text.trim_start().len();
        Ok(start + blanks..start + blanks + text.trim().len())
    }

    /// A group as the value of a name: a `[ ]` record is merged with the record that is there (spec/brainscript.md §4).
    fn named_group(&mut self, name: &str, record: &mut Record) -> Result<Node> {
        let is_code =
            name.len() >= 14 && name.as_bytes()[name.len() - 14..].eq_ignore_ascii_case(b"NetworkBuilder");
        if is_code {
            self.lex.group()?;
            return Ok(Node::Code);
        }
        let merges = self.lex.peek() == Some(b'[') && self.is_record();
        let old = if merges { record.take_record(name) } else { None };
        let is_reader = is_reader(name);
        self.readers += usize::from(is_reader);
        let (start, levels, outer) = (self.lex.at, self.levels, self.within_reader);
        self.within_reader |= is_reader;
        let may_break = !self.within_reader && old.is_none();
        let parsed = self.group(old.unwrap_or_default());
        self.within_reader = outer;
        let Err(error) = parsed else { return parsed };
        if !may_break || !self.skip_broken(start) {
            return Err(error);
        }
        self.levels = levels;
        self.broken.get_or_insert_with(|| error.clone());
        Ok(Node::Broken(Box::new(error)))
    }

    /// Goes behind a group that cannot be parsed, if no reader lies in it and its brackets match.
    fn skip_broken(&mut self, start: usize) -> bool {
        self.lex.at = start;
        self.lex.group().is_ok() && !holds_reader(self.lex.text(start, self.lex.at))
    }

    /// A record or a list. Entries of a record are put into `record`.
    fn group(&mut self, mut record: Record) -> Result<Node> {
        let at = self.lex.at;
        if self.levels == MOST_LEVELS {
            return Err(self.lex.error(at, &TextFault::TooDeep { most: MOST_LEVELS }));
        }
        self.levels += 1;
        let is_record = self.is_record();
        let close = self.lex.peek().and_then(closing).expect("it stands at an opening bracket");
        self.lex.at += 1;
        let node = if is_record {
            self.entries(&mut record, Some((at, close)))?;
            Node::Record(record)
        } else {
            self.items((at, close))?
        };
        self.levels -= 1;
        Ok(node)
    }

    /// True if the group at the cursor is a record. Its content decides, not its bracket, unless it is empty.
    fn is_record(&self) -> bool {
        let mut ahead = self.lex.clone();
        let open = ahead.peek();
        ahead.at += 1;
        ahead.skip(BETWEEN_ENTRIES);
        let round = open == Some(b'(');
        match ahead.peek() {
            Some(byte) if is_closing(byte) => return !round,
            Some(byte) if byte == b'"' || closing(byte).is_some() => return false,
            _ => {}
        }
        while ahead.peek().is_some_and(|b| !b"=[{(]});,:\n\"".contains(&b)) {
            ahead.at += 1;
        }
        match ahead.peek() {
            Some(b'=' | b'"' | b'[' | b'{' | b'(') => true,
            Some(b':') => false,
            _ => !round,
        }
    }

    fn items(&mut self, open: Open) -> Result<Node> {
        let mut items = Vec::new();
        loop {
            self.lex.skip(BETWEEN_ITEMS);
            match self.lex.peek() {
                None => return Err(self.lex.unclosed(open.0, open.1)),
                Some(byte) if is_closing(byte) => {
                    if byte != open.1 {
                        return Err(self.lex.unmatched(byte, open.1));
                    }
                    self.lex.at += 1;
                    return Ok(Node::List(items));
                }
                Some(b'"') => items.push((self.quoted()?, 1)),
                Some(byte) if closing(byte).is_some() => items.push((self.group(Record::default())?, 1)),
                _ => items.push(self.bare_item()?),
            }
        }
    }

    /// `bare`, or `bare * count`.
    fn bare_item(&mut self) -> Result<(Node, u64)> {
        let range = self.bare(b"\n:,")?;
        let (item, count) = repeated(self.lex.text(range.start, range.end));
        if count == 0 {
            return Err(self.lex.error(range.start, &TextFault::NoRepeats));
        }
        Ok((Node::Text(range.start..range.start + item.len()), count))
    }
}

/// True if a text has an entry that looks like a reader.
fn holds_reader(text: &str) -> bool {
    let in_name = |c: char| c.is_alphanumeric() || "_.-".contains(c);
    text.split('"').step_by(2).any(|mut unquoted| {
        while let Some(start) = unquoted.find(in_name) {
            let rest = &unquoted[start..];
            let (name, behind) = rest.split_at(rest.find(|c| !in_name(c)).unwrap_or(rest.len()));
            if is_reader(name) && behind.trim_start().starts_with(['=', '[', '{', '(']) {
                return true;
            }
            unquoted = behind;
        }
        false
    })
}
