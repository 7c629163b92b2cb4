//! Lists of recordings: a key, a blank and a path in each line, as Kaldi's `wav.scp`.

use std::collections::HashMap;

use crate::fault::AudioFault;

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

/// Calls `each` for each line that is not blank.
pub(super) fn each_line(bytes: &[u8], each: &mut dyn FnMut(LineStart, Result<Line<'_>, AudioFault>)) {
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let mut offset = (bytes.len() - text.len()) as u64;
    for (number, line) in (1..).zip(text.split(|&b| b == b'\n')) {
        let trimmed = line.trim_ascii();
        if !trimmed.is_empty() {
            each(LineStart { offset, number }, parse(trimmed));
        }
        offset += line.len() as u64 + 1;
    }
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
pub(super) struct KeysSeen(HashMap<String, u32>);

impl KeysSeen {
    /// Takes the key of a line.
    pub(super) fn take(
        &mut self,
        key: &str,
        line: u32,
        are_numbers: bool,
    ) -> Result<Option<u64>, AudioFault> {
        if let Some(&first) = self.0.get(key) {
            return Err(AudioFault::DuplicateKey { key: key.to_owned(), first });
        }
        self.0.insert(key.to_owned(), line);
        if !are_numbers {
            return Ok(None);
        }
        let digits = key.strip_prefix('+').unwrap_or(key);
        let number = digits.bytes().all(|b| b.is_ascii_digit()).then(|| digits.parse().ok()).flatten();
        number.map(Some).ok_or_else(|| AudioFault::NotNumericKey { key: key.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_keys_and_paths() {
        let mut found = Vec::new();
        let text = b"\xef\xbb\xbfu1 a b.wav\r\n\n \nu2\t  /x.flac\nu3\nu4 sox |\nu5 \xe9\n";
        each_line(text, &mut |LineStart { offset, number }, line| {
            found.push((offset, number, line.map(|Line { key, path }| (key.to_owned(), path.to_owned()))));
        });
        let ok = |key: &str, path: &str| Ok((key.to_owned(), path.to_owned()));
        let expected = [
            (3, 1, ok("u1", "a b.wav")),
            (18, 4, ok("u2", "/x.flac")),
            (31, 5, Err(AudioFault::NoPath { found: "u3".into() })),
            (34, 6, Err(AudioFault::Command { found: "sox |".into() })),
            (43, 7, Err(AudioFault::NotUtf8 { found: "u5 \\xe9".into() })),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_key_occurs_once_and_may_have_to_be_a_number() {
        let mut keys = KeysSeen::default();
        assert_eq!(keys.take("07", 1, true), Ok(Some(7)));
        assert_eq!(keys.take("x7", 2, true), Err(AudioFault::NotNumericKey { key: "x7".into() }));
        assert_eq!(keys.take("u", 3, false), Ok(None));
        assert_eq!(keys.take("u", 4, false), Err(AudioFault::DuplicateKey { key: "u".into(), first: 3 }));
    }
}
