//! Standard output: lines for people, or one JSON object a line.

use std::io::{self, BufWriter, StdoutLock, Write};

use serde::Serialize;

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

/// A count with its thousands apart.
pub(crate) fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A count of things, in the singular or the plural: `1 fault`, `2 faults`.
pub(crate) fn counted(n: u64, noun: &str) -> String {
    format!("{} {}", count(n), inflected(n, noun))
}

/// The noun in the singular for 1, or else in the plural.
pub(crate) fn inflected(n: u64, noun: &str) -> String {
    let ending = match n {
        1 => "",
        _ if noun.ends_with("ch") => "es",
        _ => "s",
    };
    format!("{noun}{ending}")
}

/// A number of bytes in the unit that leaves one to three digits before the point.
pub(crate) fn size(bytes: u64) -> String {
    let units = ["", "kB", "MB", "GB", "TB", "PB", "EB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 999.95 && unit + 1 < units.len() {
        value /= 1000.0;
        unit += 1;
    }
    match unit {
        0 => counted(bytes, "byte"),
        _ => format!("{value:.1} {}", units[unit]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_have_their_thousands_apart() {
        let found: Vec<String> = [0, 999, 1000, 1_234_567].map(count).into();
        assert_eq!(found, ["0", "999", "1,000", "1,234,567"]);
    }

    #[test]
    fn one_of_a_thing_is_in_the_singular() {
        let found = [(0, "fault"), (1, "fault"), (1000, "fault"), (1, "minibatch"), (2, "minibatch")];
        assert_eq!(
            found.map(|(n, noun)| counted(n, noun)),
            ["0 faults", "1 fault", "1,000 faults", "1 minibatch", "2 minibatches"]
        );
    }

    #[test]
    fn sizes_have_the_unit_that_suits_them() {
        let found: Vec<String> = [0, 1, 999, 1000, 999_949, 999_950, 1 << 40].map(size).into();
        assert_eq!(found, ["0 bytes", "1 byte", "999 bytes", "1.0 kB", "999.9 kB", "1.0 MB", "1.1 TB"]);
        assert_eq!(size(u64::MAX), "18.4 EB");
    }
}
