//! A line of a script file (spec/speech.md §2, §3): `name=file[first,last]`, or a file as a whole.

use std::borrow::Cow;

use tesson_core::ListedPaths;

use super::fault::HtkFault;
use crate::images::lossy;

/// The fields of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line<'a> {
    /// The name up to its last `.`.
    pub(super) key: Cow<'a, [u8]>,
    /// The file, complete.
    pub(super) path: String,
    /// The first frame and their number; `None` for all of the file.
    pub(super) range: Option<(u32, u32)>,
}

/// How the lines of one script file are completed.
#[derive(Clone, Debug)]
pub(super) struct LineRules {
    /// `prefixPathInSCP`, with a `/` at its end if it is not empty.
    prefix: String,
    paths: ListedPaths,
}

/// Frames of an utterance, at most: chunks count them with 32 bits.
pub(super) const MOST_FRAMES: u32 = 1 << 31;

impl LineRules {
    pub(super) fn new(scp: &str, prefix: &str, root: &str) -> LineRules {
        let prefix = match prefix.replace('\\', "/").trim_end_matches('/') {
            "" => String::new(),
            folder => format!("{folder}/"),
        };
        LineRules { prefix, paths: ListedPaths::new(scp, root) }
    }

    /// Parses a line without its line feed; `None` for a blank one.
    ///
    /// # Errors
    /// The fault in the line.
    pub(super) fn parse<'a>(&self, line: &'a [u8]) -> Result<Option<Line<'a>>, HtkFault> {
        if line.trim_ascii().is_empty() {
            return Ok(None);
        }
        let (line, dots) = self.with_folder(line);
        let equals = line.iter().position(|&byte| byte == b'=');
        let rest = equals.map_or(0, |at| at + 1);
        let bracket = line[rest..].iter().position(|&byte| byte == b'[').map(|at| rest + at);
        if equals.is_none() && bracket.is_some() {
            return Err(HtkFault::NoName { found: lossy(&line) });
        }
        let end = bracket.unwrap_or_else(|| line.len() - usize::from(line.ends_with(b"\r")));
        if end == rest {
            return Err(HtkFault::NoFile { found: lossy(line.trim_ascii_end()) });
        }
        let range = bracket.map(|at| parse_range(&line[at..])).transpose()?;
        let path = self.path(&line[rest..end], dots.is_some_and(|at| at >= rest))?;
        let name = equals.unwrap_or(end);
        let name = line[..name].iter().rposition(|&byte| byte == b'.').unwrap_or(name);
        let key = match line {
            Cow::Borrowed(line) => Cow::Borrowed(&line[..name]),
            Cow::Owned(mut line) => {
                line.truncate(name);
                Cow::Owned(line)
            }
        };
        Ok(Some(Line { key, path, range }))
    }

    /// The line with the folder of the script file in the place of the first `...`, and where that was. With a prefix the
    /// dots have no meaning.
    fn with_folder<'a>(&self, line: &'a [u8]) -> (Cow<'a, [u8]>, Option<usize>) {
        match line.windows(3).position(|three| three == b"...").filter(|_| self.prefix.is_empty()) {
            Some(at) => {
                let parts = [&line[..at], self.paths.folder().as_bytes(), &line[at + 3..]];
                (Cow::Owned(parts.concat()), Some(at))
            }
            None => (Cow::Borrowed(line), None),
        }
    }

    /// A path, complete; `in_folder` says whether it begins in the folder of the script file.
    fn path(&self, written: &[u8], in_folder: bool) -> Result<String, HtkFault> {
        let written =
            std::str::from_utf8(written).map_err(|_| HtkFault::NotUtf8 { found: lossy(written) })?;
        Ok(if in_folder {
            written.to_owned()
        } else if self.prefix.is_empty() {
            self.paths.rooted(written)
        } else {
            self.paths.rooted(&[&self.prefix, written].concat())
        })
    }
}

/// The first frame and the number of frames of a range, which begins with its bracket and ends with the line.
fn parse_range(text: &[u8]) -> Result<(u32, u32), HtkFault> {
    let end = text.iter().position(|&byte| byte == b']');
    let shown = || lossy(text[..end.map_or(text.len(), |end| end + 1)].trim_ascii_end());
    let bad = || HtkFault::BadRange { found: shown() };
    let end = end.ok_or_else(bad)?;
    let comma = text[..end].iter().position(|&byte| byte == b',').ok_or_else(bad)?;
    let first = frame_number(&text[1..comma]).ok_or_else(bad)?;
    let last = frame_number(&text[comma + 1..end]).ok_or_else(bad)?;
    if let [byte, ..] = &text[end + 1..]
        && *byte != b'\r'
    {
        return Err(HtkFault::TextAfterRange { found: lossy(&text[end + 1..]) });
    }
    match last.checked_sub(first) {
        None => Err(HtkFault::RangeBackward { first, last }),
        Some(more) if more >= MOST_FRAMES => Err(bad()),
        Some(more) => Ok((first, more + 1)),
    }
}

/// A number with blanks around it and perhaps a `+`.
fn frame_number(text: &[u8]) -> Option<u32> {
    let text = text.trim_ascii();
    let digits = text.strip_prefix(b"+").unwrap_or(text);
    let are_digits = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(digits).ok().filter(|_| are_digits)?.parse().ok()
}

/// The number that a key is: digits, perhaps with a `+`; more than 64 bits are 2^64 - 1.
pub(crate) fn numeric_key(key: &[u8]) -> Option<u64> {
    let digits = key.strip_prefix(b"+").unwrap_or(key);
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    Some(std::str::from_utf8(digits).ok()?.parse().unwrap_or(u64::MAX))
}
