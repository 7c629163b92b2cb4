//! The lines of a text file as entries: a header, then names, each followed by labels and a dot
//! (spec/speech.md §6).

use tesson_core::{DataErrorKind, Error};

use super::fault::MlfFault;
use super::key;
use super::label::Times;
use super::table::Entry;
use crate::images::lossy;

/// The first line of a file, which may also precede any name.
pub(super) const HEADER: &[u8] = b"#!MLF!#";

/// The line that ends an entry.
const DOT: &[u8] = b".";

/// Where the scanner stands between two lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Before the first line of the file.
    Start,
    /// Between entries.
    Between,
    /// Within the entry that is open.
    Labels,
}

/// Whose labels follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Name {
    /// Those of the key that was found last.
    Known,
    /// Those of no utterance: the name is not in quotes.
    Unusable,
    /// Of an entry that began before the scanner did.
    Earlier,
}

/// The entry that is open.
#[derive(Clone, Copy, Debug)]
struct OpenEntry {
    offset: u64,
    line: u64,
    name: Name,
}

/// Entries, and their keys one after the other.
#[derive(Debug, Default)]
pub(super) struct Entries {
    /// Each with the end of its key.
    list: Vec<(Entry, usize)>,
    keys: Vec<u8>,
}

impl Entries {
    /// Hands over all entries, with lines that count `lines` more, and forgets them.
    pub(super) fn drain(
        &mut self,
        lines: u64,
        mut to: impl FnMut(Entry, &[u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut start = 0;
        for (entry, end) in self.list.drain(..) {
            to(Entry { line: entry.line + lines, ..entry }, &self.keys[start..end])?;
            start = end;
        }
        // What is left is the key of the open entry.
        self.keys.drain(..start);
        Ok(())
    }

    /// Takes over the key of the entry that another scanner has left open, after both have handed over their entries.
    pub(super) fn take_open_key(&mut self, other: &mut Entries) {
        self.keys.append(&mut other.keys);
    }
}

/// Something wrong that does not keep a file from being read.
#[derive(Debug)]
pub(super) struct Finding {
    pub(super) fault: MlfFault,
    pub(super) offset: u64,
    pub(super) line: u64,
}

/// Findings, of which a limited number is kept.
#[derive(Debug)]
pub(super) struct Findings {
    pub(super) list: Vec<Finding>,
    /// How many more there are.
    pub(super) more: u64,
    most: usize,
}

impl Findings {
    pub(super) fn new(most: usize) -> Findings {
        Findings { list: Vec::new(), more: 0, most }
    }

    fn push(&mut self, fault: MlfFault, offset: u64, line: u64) {
        if self.list.len() < self.most {
            self.list.push(Finding { fault, offset, line })
        } else {
            self.more += 1
        }
    }

    /// Adds findings of a later part of the file, whose lines count from `line` on.
    fn append(&mut self, later: Findings, line: u64) {
        self.more += later.more;
        for found in later.list {
            self.push(found.fault, found.offset, line + found.line);
        }
    }
}

/// A line that begins at a byte of the file, without its end and a byte-order mark; `None` if it is blank.
pub(super) fn content(line: &[u8], offset: u64) -> Option<&[u8]> {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let line = if offset == 0 { line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line) } else { line };
    let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t');
    // Mostly the first byte is not blank.
    (!line.iter().all(is_blank)).then_some(line)
}

/// True if a line leaves a scanner in the same state wherever it stood before: labels follow.
pub(super) fn is_ordinary(content: &[u8]) -> bool {
    content != DOT && content != HEADER
}

/// Reads lines one after the other.
pub(super) struct Scanner {
    times: Times,
    pub(super) state: State,
    open: OpenEntry,
    /// The last line of labels of the open entry.
    last: Vec<u8>,
    has_labels: bool,
    pub(super) entries: Entries,
    pub(super) findings: Findings,
    /// The entry that began before the scanner did, if it has ended: where, and whether `earlier_last` is its last line of
    /// labels.
    earlier: Option<(u64, bool)>,
    earlier_last: Vec<u8>,
    /// Lines so far.
    pub(super) lines: u64,
}

impl Scanner {
    /// A scanner at the beginning of a file.
    pub(super) fn new(times: Times, most_findings: usize) -> Scanner {
        Scanner {
            times,
            state: State::Start,
            open: OpenEntry { offset: 0, line: 0, name: Name::Earlier },
            last: Vec::new(),
            has_labels: false,
            entries: Entries::default(),
            findings: Findings::new(most_findings),
            earlier: None,
            earlier_last: Vec::new(),
            lines: 0,
        }
    }

    /// A scanner within the labels of an entry.
    pub(super) fn within_entry(times: Times, most_findings: usize) -> Scanner {
        Scanner { state: State::Labels, ..Scanner::new(times, most_findings) }
    }

    /// Takes the next line, which begins at a byte of the file.
    #[inline]
    pub(super) fn line(&mut self, line: &[u8], offset: u64) -> Result<(), DataErrorKind> {
        if let Some(content) = content(line, offset) {
            match self.state {
                State::Labels if content == DOT => self.close(offset)?,
                State::Labels => {
                    self.last.clear();
                    self.last.extend_from_slice(content);
                    self.has_labels = true;
                }
                State::Start => self.header(content)?,
                State::Between if content == HEADER => {}
                State::Between => self.name(content, offset),
            }
        }
        self.lines += 1;
        Ok(())
    }

    fn header(&mut self, content: &[u8]) -> Result<(), DataErrorKind> {
        if content != HEADER {
            return Err(MlfFault::NoHeader { found: lossy(&content[..content.len().min(40)]) }.into());
        }
        self.state = State::Between;
        Ok(())
    }

    fn name(&mut self, content: &[u8], offset: u64) {
        let name = match key::quoted(content) {
            Some(name) => {
                self.entries.keys.extend_from_slice(key::of_name(name));
                Name::Known
            }
            None => {
                let found = lossy(&content[..content.len().min(40)]);
                self.findings.push(MlfFault::BadName { found }, offset, self.lines);
                Name::Unusable
            }
        };
        self.open = OpenEntry { offset, line: self.lines, name };
        self.has_labels = false;
        self.state = State::Labels;
    }

    /// Ends the open entry at its dot.
    fn close(&mut self, dot: u64) -> Result<(), DataErrorKind> {
        self.state = State::Between;
        let OpenEntry { offset, line, name } = self.open;
        let keys_end = self.entries.list.last().map_or(0, |(_, end)| *end);
        match name {
            Name::Earlier => {
                self.earlier = Some((dot, self.has_labels));
                std::mem::swap(&mut self.last, &mut self.earlier_last);
            }
            Name::Unusable => {}
            Name::Known if !self.has_labels => {
                self.findings.push(MlfFault::NoLabels, offset, line);
                self.entries.keys.truncate(keys_end);
            }
            Name::Known => {
                let found = dot - offset;
                let size = u32::try_from(found)
                    .map_err(|_| DataErrorKind::SequenceTooLarge { found, limit: u32::MAX.into() })?;
                // What is wrong with the line is a fault of the utterance, if that is ever used.
                let frames = self.times.end(&self.last).unwrap_or(1);
                self.entries.list.push((Entry { offset, line, size, frames }, self.entries.keys.len()));
            }
        }
        self.has_labels = false;
        Ok(())
    }

    /// Takes what another scanner has found that began within the labels where this one stands. Returns the number of lines
    /// before it; its entries follow those of this one.
    pub(super) fn adopt(&mut self, other: &mut Scanner) -> Result<u64, DataErrorKind> {
        let before = self.lines;
        self.lines += other.lines;
        let Some((dot, has_labels)) = other.earlier.take() else {
            if other.has_labels {
                std::mem::swap(&mut self.last, &mut other.last);
                self.has_labels = true;
            }
            return Ok(before);
        };
        if has_labels {
            std::mem::swap(&mut self.last, &mut other.earlier_last);
            self.has_labels = true;
        }
        self.close(dot)?;
        let none = Findings::new(0);
        self.findings.append(std::mem::replace(&mut other.findings, none), before);
        self.state = other.state;
        self.open = OpenEntry { line: before + other.open.line, ..other.open };
        self.has_labels = other.has_labels;
        std::mem::swap(&mut self.last, &mut other.last);
        Ok(before)
    }

    /// Ends the file.
    pub(super) fn finish(&mut self) -> Result<(), DataErrorKind> {
        match self.state {
            State::Start => Err(DataErrorKind::EmptyFile),
            State::Labels => {
                let OpenEntry { offset, line, .. } = self.open;
                self.findings.push(MlfFault::NoEnd, offset, line);
                Ok(())
            }
            State::Between => Ok(()),
        }
    }
}
