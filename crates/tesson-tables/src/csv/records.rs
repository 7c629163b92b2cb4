//! Rows of bytes: `csv-core` says where fields end; offsets and lines are counted here.

use std::io::{self, BufRead};

use csv_core::{ReadRecordResult, Reader, ReaderBuilder};

/// The structure of text with this delimiter.
pub(super) fn reader(delimiter: u8) -> Reader {
    ReaderBuilder::new().delimiter(delimiter).build()
}

/// The rows of CSV, one after the other.
pub struct Records<R> {
    reader: Reader,
    input: R,
    /// Bytes that have been taken from the input.
    at: u64,
    /// Line feeds before `at`.
    lines: u64,
    fields: Vec<u8>,
    ends: Vec<usize>,
    n_fields: usize,
    start: u64,
    line: u64,
}

impl<R: BufRead> Records<R> {
    /// The rows of an input that begins with one.
    pub fn new(input: R, delimiter: u8) -> Records<R> {
        Records {
            reader: reader(delimiter),
            input,
            at: 0,
            lines: 0,
            fields: vec![0; 1 << 10],
            ends: vec![0; 64],
            n_fields: 0,
            start: 0,
            line: 0,
        }
    }

    /// Goes on to the next row; false at the end of the input.
    ///
    /// # Errors
    /// An input that cannot be read.
    pub fn advance(&mut self) -> io::Result<bool> {
        // Empty lines are no rows.
        loop {
            let bytes = self.input.fill_buf()?;
            let empty = bytes.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
            let (is_row, is_end) = (empty < bytes.len(), bytes.is_empty());
            self.lines += memchr::memchr_iter(b'\n', &bytes[..empty]).count() as u64;
            self.consume(empty);
            (self.start, self.line) = (self.at, self.lines);
            if is_end {
                self.n_fields = 0;
                return Ok(false);
            }
            if is_row {
                break;
            }
        }
        let (mut n_bytes, mut n_ends) = (0, 0);
        loop {
            // At the end of the input no bytes are left, which makes the reader finish the row.
            let input = self.input.fill_buf()?;
            let (result, read, written, ended) =
                self.reader.read_record(input, &mut self.fields[n_bytes..], &mut self.ends[n_ends..]);
            self.lines += memchr::memchr_iter(b'\n', &input[..read]).count() as u64;
            self.consume(read);
            (n_bytes, n_ends) = (n_bytes + written, n_ends + ended);
            match result {
                ReadRecordResult::OutputFull => self.fields.resize(2 * self.fields.len(), 0),
                ReadRecordResult::OutputEndsFull => self.ends.resize(2 * self.ends.len(), 0),
                ReadRecordResult::InputEmpty => {}
                ReadRecordResult::Record => break,
                ReadRecordResult::End => return Ok(false),
            }
        }
        self.n_fields = n_ends;
        Ok(true)
    }

    fn consume(&mut self, n: usize) {
        self.input.consume(n);
        self.at += n as u64;
    }
}

impl<'a> Records<&'a [u8]> {
    /// Goes on with the rows of other bytes, which begin with one.
    pub(super) fn restart(&mut self, input: &'a [u8]) {
        self.reader.reset();
        (self.input, self.at, self.lines) = (input, 0, 0);
    }

    /// Goes on to the next row of bytes in memory; false at their end.
    pub(super) fn next_row(&mut self) -> bool {
        self.advance().expect("bytes in memory can be read")
    }
}

impl<R> Records<R> {
    /// Number of fields of the row.
    #[expect(clippy::len_without_is_empty, reason = "a row has a field")]
    pub fn len(&self) -> usize {
        self.n_fields
    }

    /// A field of the row.
    ///
    /// # Panics
    /// If the row has no such field.
    pub fn field(&self, i: usize) -> &[u8] {
        let start = i.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.fields[start..self.ends[i]]
    }

    /// Position of the row's first byte.
    pub fn start(&self) -> u64 {
        self.start
    }

    /// Position after the row.
    pub fn end(&self) -> u64 {
        self.at
    }

    /// Physical line of the row, from 0.
    pub fn line(&self) -> u64 {
        self.line
    }

    /// Line feeds up to the end of the row.
    pub(super) fn lines(&self) -> u64 {
        self.lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_their_offsets_and_lines() {
        let text = &b"a,b\n\r\n\"x\n\"\"y\",2\r\nlast,\"q"[..];
        let mut records = Records::new(text, b',');
        let mut found = Vec::new();
        while records.next_row() {
            let fields: Vec<String> =
                (0..records.len()).map(|i| String::from_utf8_lossy(records.field(i)).into()).collect();
            found.push((records.start(), records.line(), fields.join("|")));
        }
        assert_eq!(found, [(0, 0, "a|b".into()), (6, 2, "x\n\"y|2".into()), (17, 4, "last|q".to_owned())]);
    }
}
