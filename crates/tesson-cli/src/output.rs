//! Standard output: lines for people, or one JSON object a line.

use std::io::{self, BufWriter, StdoutLock, Write};

use serde::Serialize;
pub(crate) use tesson_report::text::{count, counted, inflected, size};

/// The writer of answers.
pub(crate) struct Output {
    out: BufWriter<StdoutLock<'static>>,
    json: bool,
}

impl Output {
    /// Standard output, for people or for programs.
    pub(crate) fn new(json: bool) -> Output {
        Output { out: BufWriter::with_capacity(1 << 16, io::stdout().lock()), json }
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

    /// Writes two columns: a name and its value.
    pub(crate) fn pair(&mut self, name: &str, value: &str) -> io::Result<()> {
        writeln!(self.out, "{name:<12}{value}")
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
