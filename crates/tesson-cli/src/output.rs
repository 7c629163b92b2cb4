//! Standard output: lines for people, or one JSON object a line.

use std::io::{self, BufWriter, IsTerminal, StdoutLock, Write};

use console::Term;
use serde::Serialize;
pub(crate) use tesson_report::text::{count, counted, inflected, size};

/// The writer of answers.
pub(crate) struct Output {
    out: BufWriter<StdoutLock<'static>>,
    json: bool,
    /// The columns of the terminal that standard output is.
    columns: Option<usize>,
}

/// The columns of the names of pairs.
const NAMES: usize = 12;

/// Pairs that are to be copied.
const COPIED: [&str; 2] = ["in Python", "command"];

impl Output {
    /// Standard output, for people or for programs.
    pub(crate) fn new(json: bool) -> Output {
        let columns = io::stdout().is_terminal().then(|| Term::stdout().size_checked()).flatten();
        let columns = columns.map(|(_, columns)| columns.into());
        Output { out: BufWriter::with_capacity(1 << 16, io::stdout().lock()), json, columns }
    }

    /// True if answers are JSON.
    pub(crate) fn is_json(&self) -> bool {
        self.json
    }

    /// Writes bytes as they are.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.write_all(bytes)
    }

    /// Writes a part of a line.
    fn part(&mut self, text: &str) -> io::Result<()> {
        self.bytes(text.as_bytes())
    }

    /// Writes one line.
    pub(crate) fn line(&mut self, text: &str) -> io::Result<()> {
        self.part(text)?;
        self.part("\n")
    }

    /// Writes one line of JSON.
    pub(crate) fn json(&mut self, value: &impl Serialize) -> io::Result<()> {
        self.json_part(value)?;
        self.part("\n")
    }

    /// Writes a part of a line of JSON.
    fn json_part(&mut self, value: &impl Serialize) -> io::Result<()> {
        Ok(serde_json::to_writer(&mut self.out, value)?)
    }

    /// Writes two columns: a name and its value, which on a terminal is wrapped between words.
    pub(crate) fn pair(&mut self, name: &str, value: &str) -> io::Result<()> {
        let columns = self.columns.filter(|_| !COPIED.contains(&name)).unwrap_or(usize::MAX);
        let mut name = name;
        for line in wrapped(value, columns.saturating_sub(NAMES)) {
            writeln!(self.out, "{:<NAMES$}{line}", std::mem::take(&mut name))?;
        }
        Ok(())
    }

    /// Writes a line below the values of pairs, as it is.
    pub(crate) fn below(&mut self, line: &str) -> io::Result<()> {
        writeln!(self.out, "{:NAMES$}{line}", "")
    }

    /// Writes an answer: one line of JSON for programs, pairs for people.
    pub(crate) fn answer(&mut self, json: &serde_json::Value, pairs: &[(&str, String)]) -> io::Result<()> {
        if self.json {
            self.json(json)
        } else {
            pairs.iter().try_for_each(|(name, value)| self.pair(name, value))
        }
    }

    /// Hands everything over to the system.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// The lines of a text that is wrapped between words; a longer word has a line of its own.
fn wrapped(text: &str, columns: usize) -> Vec<&str> {
    let (mut lines, mut rest) = (Vec::new(), text);
    while let Some((beyond, after)) = rest.char_indices().nth(columns) {
        let last = if after == ' ' { Some(beyond) } else { rest[..beyond].rfind(' ') };
        let Some(end) = last.or_else(|| rest.find(' ')) else { break };
        lines.push(rest[..end].trim_end());
        rest = rest[end..].trim_start();
    }
    lines.push(rest);
    lines
}

/// A line of JSON that is an object with one list, written entry by entry.
pub(crate) struct JsonList {
    is_empty: bool,
}

impl JsonList {
    /// Writes the beginning: the list's name.
    pub(crate) fn begin(name: &str, out: &mut Output) -> io::Result<JsonList> {
        out.part("{")?;
        out.json_part(&name)?;
        out.part(":[")?;
        Ok(JsonList { is_empty: true })
    }

    /// Writes the next entry.
    pub(crate) fn push(&mut self, entry: &impl Serialize, out: &mut Output) -> io::Result<()> {
        if !std::mem::take(&mut self.is_empty) {
            out.part(",")?;
        }
        out.json_part(entry)
    }

    /// Writes the end of the list and of the line.
    pub(crate) fn end(self, out: &mut Output) -> io::Result<()> {
        out.part("]}\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_wrapped_between_words() {
        assert_eq!(wrapped("a training step", 80), ["a training step"]);
        assert_eq!(wrapped("a training step", 15), ["a training step"]);
        assert_eq!(wrapped("a training step", 14), ["a training", "step"]);
        assert_eq!(wrapped("a training step", 10), ["a training", "step"]);
        assert_eq!(wrapped("a training step", 4), ["a", "training", "step"]);
        assert_eq!(wrapped("Ködermöwe über", 9), ["Ködermöwe", "über"]);
        assert_eq!(wrapped("über", 0), ["über"]);
        assert_eq!(wrapped("", 0), [""]);
    }
}
