//! Rows of a block as the bounds of their fields: by words of eight bytes, and by `csv-core` where a field is quoted.

use super::records::Records;
use crate::table::Rows;

/// The rows of a block that are read.
#[derive(Default)]
pub(super) struct SplitRows {
    /// Where the fields of each row begin, and one position more, which is one beyond the end of the last field.
    pub(super) bounds: Vec<u32>,
    /// The first byte of each row.
    pub(super) starts: Vec<u32>,
    /// Rows with another number of fields, and that number; their bounds are none.
    pub(super) odd: Vec<(u32, usize)>,
    /// The fields of rows with quotes, which lie behind the bytes of the block.
    unquoted: Vec<u8>,
}

impl SplitRows {
    /// Finds the fields of some rows in the bytes of a block, behind which it puts those that were quoted.
    ///
    /// # Errors
    /// The number of rows, if there are not as many.
    pub(super) fn split(
        &mut self,
        bytes: &mut Vec<u8>,
        delimiter: u8,
        n_fields: usize,
        rows: &Rows<'_>,
    ) -> Result<(), u64> {
        self.bounds.clear();
        self.starts.clear();
        self.odd.clear();
        self.unquoted.clear();
        let found = self.find(bytes, delimiter, n_fields, rows);
        bytes.extend_from_slice(&self.unquoted);
        found
    }

    fn find(&mut self, bytes: &[u8], delimiter: u8, n_fields: usize, rows: &Rows<'_>) -> Result<(), u64> {
        let mut records: Option<Records<&[u8]>> = None;
        let mut marks = Marks::new(bytes, delimiter);
        let (mut at, mut next) = (0, 0);
        for i in 0..rows.len() {
            let row = rows.get(i);
            loop {
                at += bytes[at..].iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
                if at == bytes.len() {
                    return Err(next);
                }
                let (first, start) = (self.bounds.len(), at);
                let plain = if at == 0 && bytes.starts_with(BYTE_ORDER_MARK) {
                    None
                } else {
                    self.plain_row(bytes, delimiter, at, &mut marks)
                };
                at = match plain {
                    Some(end) => end,
                    None => {
                        self.bounds.truncate(first);
                        let records = records.get_or_insert_with(|| Records::new(&[][..], delimiter));
                        records.restart(&bytes[at..]);
                        records.next_row();
                        self.quoted_row(records, bytes.len());
                        marks.go_to(at + records.end() as usize);
                        at + records.end() as usize
                    }
                };
                next += 1;
                if next <= row {
                    self.bounds.truncate(first);
                    continue;
                }
                let found = self.bounds.len() - first - 1;
                if found != n_fields {
                    self.odd.push((i as u32, found));
                    self.bounds.truncate(first);
                    self.bounds.resize(first + n_fields + 1, 0);
                }
                self.starts.push(start as u32);
                break;
            }
        }
        Ok(())
    }

    /// Finds the fields of a row without quotes, and where the row ends. `None` if a quote comes first.
    #[inline]
    fn plain_row(
        &mut self,
        bytes: &[u8],
        delimiter: u8,
        start: usize,
        marks: &mut Marks<'_>,
    ) -> Option<usize> {
        self.bounds.push(start as u32);
        for at in marks {
            match bytes[at] {
                // The end of an empty line, which belongs to no row.
                _ if at < start => {}
                byte if byte == delimiter => self.bounds.push(at as u32 + 1),
                b'\n' | b'\r' => {
                    self.bounds.push(at as u32 + 1);
                    return Some(at + 1);
                }
                b'"' => return None,
                _ => {}
            }
        }
        self.bounds.push(bytes.len() as u32 + 1);
        Some(bytes.len())
    }

    /// Puts the fields of a row behind `n` bytes, as if they stood there between delimiters.
    fn quoted_row(&mut self, row: &Records<&[u8]>, n: usize) {
        for i in 0..row.len() {
            self.bounds.push((n + self.unquoted.len()) as u32);
            self.unquoted.extend_from_slice(row.field(i));
            self.unquoted.push(0);
        }
        self.bounds.push((n + self.unquoted.len()) as u32);
    }
}

const BYTE_ORDER_MARK: &[u8] = &[0xef, 0xbb, 0xbf];

/// The positions of delimiters, quotes and ends of lines, among few others.
struct Marks<'a> {
    bytes: &'a [u8],
    /// The delimiter, eight times.
    delimiter: u64,
    /// Where the word begins that the mask is of, and the next one.
    word: usize,
    next: usize,
    /// The highest bit of each byte of the word that is a mark.
    mask: u64,
}

/// A word of eight times this byte.
const fn each(byte: u8) -> u64 {
    u64::from_ne_bytes([byte; 8])
}

impl Marks<'_> {
    fn new(bytes: &[u8], delimiter: u8) -> Marks<'_> {
        Marks { bytes, delimiter: each(delimiter), word: 0, next: 0, mask: 0 }
    }

    /// Goes on at a position.
    fn go_to(&mut self, at: usize) {
        (self.next, self.mask) = (at, 0);
    }

    /// The marks of a word. No sum below goes beyond its byte.
    fn of_word(&self, word: u64) -> u64 {
        const LOW: u64 = each(0x7f);
        let differs = |pattern: u64| {
            let other = word ^ pattern;
            ((other & LOW) + LOW) | other
        };
        // Bytes from 0x0e on; line feeds and carriage returns are below, and hardly anything else.
        let others = ((word & LOW) + each(0x80 - 0x0e)) | word;
        !(others & differs(self.delimiter) & differs(each(b'"'))) & !LOW
    }
}

impl Iterator for Marks<'_> {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        while self.mask == 0 {
            let rest = self.bytes.get(self.next..)?;
            let word = match rest.first_chunk::<8>() {
                Some(word) => u64::from_le_bytes(*word),
                None if rest.is_empty() => return None,
                None => {
                    let mut word = [0xff; 8];
                    word[..rest.len()].copy_from_slice(rest);
                    u64::from_le_bytes(word)
                }
            };
            self.mask = self.of_word(word);
            (self.word, self.next) = (self.next, self.next + 8);
        }
        let at = self.word + self.mask.trailing_zeros() as usize / 8;
        self.mask &= self.mask - 1;
        Some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The fields of rows by splitting, and those that `csv-core` finds, which must agree.
    fn check(text: &[u8], delimiter: u8) {
        let mut records = Records::new(text, delimiter);
        let mut expected: Vec<(u64, Vec<Vec<u8>>)> = Vec::new();
        while records.next_row() {
            let fields = (0..records.len()).map(|i| records.field(i).to_vec());
            expected.push((records.start(), fields.collect()));
        }
        let n_fields = expected.first().map_or(1, |(_, fields)| fields.len());
        let (mut split, mut bytes) = (SplitRows::default(), text.to_vec());
        let n = expected.len();
        let rows = Rows::Range(0..n as u64);
        assert_eq!(split.split(&mut bytes, delimiter, n_fields, &rows), Ok(()));
        for (row, (start, fields)) in expected.iter().enumerate() {
            assert_eq!(u64::from(split.starts[row]), *start);
            let odd = split.odd.iter().find(|(odd, _)| *odd as usize == row);
            match odd {
                Some((_, found)) => assert!(*found == fields.len() && fields.len() != n_fields),
                None => {
                    let bounds = &split.bounds[row * (n_fields + 1)..(row + 1) * (n_fields + 1)];
                    let found: Vec<&[u8]> =
                        bounds.windows(2).map(|at| &bytes[at[0] as usize..at[1] as usize - 1]).collect();
                    assert_eq!(found, *fields, "row {row} of {}", String::from_utf8_lossy(text));
                }
            }
        }
        // One row more than there are, and every second one.
        let mut bytes = text.to_vec();
        let too_many = split.split(&mut bytes, delimiter, n_fields, &Rows::Range(0..n as u64 + 1));
        assert_eq!(too_many, Err(n as u64));
        let some: Vec<u32> = (0..n as u32).step_by(2).collect();
        let mut bytes = text.to_vec();
        let rows = Rows::List { first: 0, from: 0, rows: &some };
        assert_eq!(split.split(&mut bytes, delimiter, n_fields, &rows), Ok(()));
        let starts: Vec<u64> = expected.iter().step_by(2).map(|(start, _)| *start).collect();
        assert_eq!(split.starts.iter().map(|start| u64::from(*start)).collect::<Vec<_>>(), starts);
    }

    #[test]
    fn rows_are_split_as_csv_core_does() {
        let texts: [&[u8]; 12] = [
            b"",
            b"\n\r\n",
            b"a,b\n\r\n\"x\n\"\"y\",2\r\nlast,\"q",
            b"1,2,3\n4,5\n6,7,8\n,,\n\n9,,",
            b"a,b\rc,d\r\r\ne,f\r",
            b"a b\tc,\x01\x00\x0b,d\n\"\",\"\",x\n",
            b"a\"b,c\nd,e\"\n",
            b"\xef\xbb\xbfa,b\nc,d\n",
            b"\xef\xbb\xbf\n\xef\xbb\xbf,1\n",
            b"long field of many bytes,another one with spaces\nx,\"quoted, with a comma\"\ny,z",
            b"\"a\"b,c\n\"open,\n\n",
            b"x",
        ];
        for text in texts {
            check(text, b',');
            check(&text.iter().map(|&b| if b == b',' { b'\t' } else { b }).collect::<Vec<_>>(), b'\t');
            check(text, b'e');
        }
    }

    #[test]
    fn random_bytes_are_split_as_csv_core_does() {
        let mut state = 7_u32;
        let mut next = |below: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) % below
        };
        for _ in 0..2000 {
            let alphabet = b"0123456789.-,,,,\n\n\r\"; \t\xff\xef";
            let quotes = next(3) == 0;
            let text: Vec<u8> = (0..next(200))
                .map(|_| alphabet[next(alphabet.len() as u32) as usize])
                .filter(|&byte| quotes || byte != b'"')
                .collect();
            check(&text, b',');
        }
    }
}
