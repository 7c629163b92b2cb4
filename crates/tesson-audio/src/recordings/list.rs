//! Lists of recordings: a key, a blank and a path in each line, as Kaldi's `wav.scp`.

use std::collections::HashMap;

use tesson_core::{Error, Fetch, LOOKAHEAD, ResourceId, TextSet};

use crate::fault::AudioFault;

/// Bytes that are read at once.
pub(super) const PIECE: u64 = 256 << 10;

/// The offset of a line, and its number from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LineStart {
    pub(super) offset: u64,
    pub(super) number: u32,
}

/// The parts of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Line<'a> {
    pub(super) key: &'a str,
    pub(super) path: &'a str,
}

/// Takes the lines of a list that are not blank.
pub(super) type OnLine<'a> = dyn FnMut(LineStart, Result<Line<'_>, AudioFault>) -> Result<(), Error> + 'a;

/// Calls `each` for each line that is not blank, of a list that is read in pieces of so many bytes. `too_long` is the error of a
/// line of which more than the given number of bytes would be in memory.
///
/// # Errors
/// Errors of `each` and `too_long`, and unreadable storage.
pub(super) fn each_line(
    fetch: &dyn Fetch,
    list: ResourceId,
    piece: u64,
    too_long: &dyn Fn(LineStart, u64) -> Error,
    each: &mut OnLine<'_>,
) -> Result<(), Error> {
    let size = fetch.size(list)?;
    let most = fetch.largest().saturating_add(LOOKAHEAD).min(u32::MAX.into());
    let mut at = LineStart { offset: 0, number: 1 };
    let (mut buffer, mut searched, mut read_to) = (Vec::new(), 0, 0);
    loop {
        let mut begin = 0;
        while let Some(length) = buffer[searched..].iter().position(|&byte| byte == b'\n') {
            let end = searched + length;
            take(&buffer[begin..end], &mut at, each)?;
            (begin, searched) = (end + 1, end + 1);
        }
        buffer.drain(..begin);
        searched = buffer.len();
        if read_to == size {
            return take(&buffer, &mut at, each);
        }
        let room = most.saturating_sub(searched as u64);
        if room == 0 {
            return Err(too_long(at, most));
        }
        let end = (read_to + piece.min(room)).min(size);
        fetch.read_after(list, read_to..end, searched, &mut buffer)?;
        read_to = end;
    }
}

/// Takes a line without its end, and moves to the next one.
fn take(line: &[u8], at: &mut LineStart, each: &mut OnLine<'_>) -> Result<(), Error> {
    let text = match at.number {
        1 => line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line),
        _ => line,
    };
    let offset = at.offset + (line.len() - text.len()) as u64;
    let trimmed = text.trim_ascii();
    if !trimmed.is_empty() {
        each(LineStart { offset, number: at.number }, parse(trimmed))?;
    }
    *at = LineStart { offset: offset + text.len() as u64 + 1, number: at.number.saturating_add(1) };
    Ok(())
}

fn parse(line: &[u8]) -> Result<Line<'_>, AudioFault> {
    let line = std::str::from_utf8(line).map_err(|_| AudioFault::NotUtf8 { found: shown(line) })?;
    let Some((key, path)) = line.split_once([' ', '\t']) else {
        return Err(AudioFault::NoPath { found: shown(line.as_bytes()) });
    };
    let path = path.trim_start();
    if path.ends_with('|') {
        Err(AudioFault::Command { found: shown(path.as_bytes()) })
    } else {
        Ok(Line { key, path })
    }
}

/// Text as errors show it: bytes that are no characters escaped, and not all of a long one.
fn shown(text: &[u8]) -> String {
    const MOST: usize = 60;
    let mut shown = text[..text.len().min(MOST)].escape_ascii().to_string();
    if text.len() > MOST {
        shown.push('…');
    }
    shown
}

/// The keys of recordings, each once.
#[derive(Default)]
pub(super) struct KeysSeen {
    keys: TextSet,
    /// Those that are no numbers, where keys are, and their lines.
    refused: HashMap<String, u32>,
}

impl KeysSeen {
    /// Takes the key of a line. `line_of` is the line of a recording, of those whose keys have been taken.
    pub(super) fn take(
        &mut self,
        key: &str,
        line: u32,
        are_numbers: bool,
        line_of: impl FnOnce(u32) -> u32,
    ) -> Result<Option<u64>, AudioFault> {
        let repeated = |first| AudioFault::DuplicateKey { key: key.to_owned(), first };
        if let Some(&first) = self.refused.get(key) {
            return Err(repeated(first));
        }
        let mut number = None;
        if are_numbers {
            let digits = key.strip_prefix('+').unwrap_or(key);
            number = digits.bytes().all(|b| b.is_ascii_digit()).then(|| digits.parse().ok()).flatten();
            if number.is_none() {
                self.refused.insert(key.to_owned(), line);
                return Err(AudioFault::NotNumericKey { key: key.to_owned() });
            }
        }
        self.keys.insert(key.as_bytes()).map_err(|first| repeated(line_of(first)))?;
        Ok(number)
    }

    /// Bytes of memory that they take.
    pub(super) fn bytes(&self) -> usize {
        self.keys.bytes()
    }

    /// All keys, end to end, and the end of each.
    pub(super) fn into_texts(self) -> (Vec<u8>, Vec<u64>) {
        self.keys.into_parts()
    }
}

#[cfg(test)]
mod tests {
    use tesson_core::InMemory;

    use super::*;

    #[test]
    fn lines_are_keys_and_paths() {
        let text = b"\xef\xbb\xbfu1 a b.wav\r\n\n \nu2\t  /x.flac\nu3\nu4 sox |\nu5 \xe9\n";
        let file = InMemory::new(text);
        let in_pieces = |piece| {
            let mut found = Vec::new();
            let too_long = |_, _| unreachable!("lines may be of any length");
            each_line(&file, ResourceId(0), piece, &too_long, &mut |LineStart { offset, number }, line| {
                found.push((
                    offset,
                    number,
                    line.map(|Line { key, path }| (key.to_owned(), path.to_owned())),
                ));
                Ok(())
            })
            .unwrap();
            found
        };
        let ok = |key: &str, path: &str| Ok((key.to_owned(), path.to_owned()));
        let expected = [
            (3, 1, ok("u1", "a b.wav")),
            (18, 4, ok("u2", "/x.flac")),
            (31, 5, Err(AudioFault::NoPath { found: "u3".into() })),
            (34, 6, Err(AudioFault::Command { found: "sox |".into() })),
            (43, 7, Err(AudioFault::NotUtf8 { found: "u5 \\xe9".into() })),
        ];
        for piece in 1..=text.len() as u64 + 1 {
            assert_eq!(in_pieces(piece), expected, "{piece} bytes at once");
        }
    }

    #[test]
    fn no_more_of_a_list_is_in_memory_than_a_line_and_a_piece() {
        let text: String = (0..1000).map(|i| format!("u{i} {i}.wav\n")).collect();
        let file = InMemory { largest: 200, ..InMemory::new(text.into_bytes()) };
        let mut n = 0;
        let too_long = |_, _| unreachable!("no line is long");
        let mut count = |_, line: Result<Line<'_>, AudioFault>| {
            n += u32::from(line.is_ok());
            Ok(())
        };
        each_line(&file, ResourceId(0), 100, &too_long, &mut count).unwrap();
        assert_eq!((n, file.longest_read.into_inner()), (1000, 100));
    }

    #[test]
    fn a_key_occurs_once_and_may_have_to_be_a_number() {
        let line_of = |number: u32| [1, 4][number as usize];
        let repeated = |key: &str, first| Err(AudioFault::DuplicateKey { key: key.into(), first });
        let mut keys = KeysSeen::default();
        assert_eq!(keys.take("07", 1, true, line_of), Ok(Some(7)));
        assert_eq!(keys.take("x7", 2, true, line_of), Err(AudioFault::NotNumericKey { key: "x7".into() }));
        assert_eq!(keys.take("x7", 3, true, line_of), repeated("x7", 2));
        assert_eq!(keys.take("u", 4, false, line_of), Ok(None));
        assert_eq!(keys.take("u", 5, false, line_of), repeated("u", 4));
        assert_eq!(keys.take("07", 6, true, line_of), repeated("07", 1));
    }
}
