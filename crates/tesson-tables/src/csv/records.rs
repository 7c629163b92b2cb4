//! Rows of bytes: `csv-core` says where fields end; offsets and lines are counted here.

use csv_core::{ReadRecordResult, Reader, ReaderBuilder};

/// The structure of text with this delimiter.
pub(super) fn reader(delimiter: u8) -> Reader {
    ReaderBuilder::new().delimiter(delimiter).build()
}

/// Rows of bytes in memory, one after the other.
pub(super) struct Records<'a> {
    reader: Reader,
    bytes: &'a [u8],
    at: usize,
    /// Line feeds before `at`.
    lines: u64,
    fields: Vec<u8>,
    ends: Vec<usize>,
    n_fields: usize,
    start: usize,
    line: u64,
}

impl<'a> Records<'a> {
    /// The rows of bytes that begin with one.
    pub(super) fn new(bytes: &'a [u8], delimiter: u8) -> Records<'a> {
        Records {
            reader: reader(delimiter),
            bytes,
            at: 0,
            lines: 0,
            fields: vec![0; 1 << 10],
            ends: vec![0; 64],
            n_fields: 0,
            start: 0,
            line: 0,
        }
    }

    /// Goes on to the next row; false at the end of the bytes.
    pub(super) fn advance(&mut self) -> bool {
        // Empty lines are no rows.
        while let Some(byte @ (b'\r' | b'\n')) = self.bytes.get(self.at) {
            self.lines += u64::from(*byte == b'\n');
            self.at += 1;
        }
        (self.start, self.line) = (self.at, self.lines);
        if self.at == self.bytes.len() {
            return false;
        }
        let (mut n_bytes, mut n_ends) = (0, 0);
        loop {
            let input = &self.bytes[self.at..];
            let (result, read, written, ended) =
                self.reader.read_record(input, &mut self.fields[n_bytes..], &mut self.ends[n_ends..]);
            self.lines += memchr::memchr_iter(b'\n', &input[..read]).count() as u64;
            (self.at, n_bytes, n_ends) = (self.at + read, n_bytes + written, n_ends + ended);
            match result {
                ReadRecordResult::OutputFull => self.fields.resize(2 * self.fields.len(), 0),
                ReadRecordResult::OutputEndsFull => self.ends.resize(2 * self.ends.len(), 0),
                // The bytes end with the row; an empty input makes the reader finish it.
                ReadRecordResult::InputEmpty => {}
                ReadRecordResult::Record => break,
                ReadRecordResult::End => return false,
            }
        }
        self.n_fields = n_ends;
        true
    }

    /// Number of fields of the row.
    pub(super) fn len(&self) -> usize {
        self.n_fields
    }

    /// A field of the row.
    pub(super) fn field(&self, i: usize) -> &[u8] {
        let start = i.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.fields[start..self.ends[i]]
    }

    /// Position of the row's first byte.
    pub(super) fn start(&self) -> usize {
        self.start
    }

    /// Position after the row.
    pub(super) fn end(&self) -> usize {
        self.at
    }

    /// Physical line of the row, counted from the first byte.
    pub(super) fn line(&self) -> u64 {
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
        let text = b"a,b\n\r\n\"x\n\"\"y\",2\r\nlast,\"q";
        let mut records = Records::new(text, b',');
        let mut found = Vec::new();
        while records.advance() {
            let fields: Vec<String> =
                (0..records.len()).map(|i| String::from_utf8_lossy(records.field(i)).into()).collect();
            found.push((records.start(), records.line(), fields.join("|")));
        }
        assert_eq!(found, [(0, 0, "a|b".into()), (6, 2, "x\n\"y|2".into()), (17, 4, "last|q".to_owned())]);
    }
}
