//! The lines of a file of images in Base64: `[key TAB] label TAB image`, and the image's bytes.

use super::fault::Base64ImageFault;
use crate::images::{lossy, parse_label};

/// The fields of a line; the image is only located.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Line<'a> {
    pub(super) key: Option<&'a [u8]>,
    /// 0 where no labels are wanted.
    pub(super) label: u64,
    /// Where the image begins in the line.
    pub(super) image: usize,
}

/// True if the lines of a file have keys: its first line has three columns.
pub(super) fn has_keys(first_line: &[u8]) -> bool {
    first_line.splitn(3, |&byte| byte == b'\t').nth(2).is_some_and(|third| !third.is_empty())
}

impl<'a> Line<'a> {
    /// Splits a line. `dim` is the number of classes, if labels are wanted.
    pub(super) fn parse(
        line: &'a [u8],
        with_key: bool,
        dim: Option<u64>,
    ) -> Result<Line<'a>, Base64ImageFault> {
        let expected = if with_key {
            "a key, a label and an image in Base64, separated by tabs"
        } else {
            "a label, a tab and an image in Base64"
        };
        let tab = |from: usize| {
            let found = line[from..].iter().position(|&byte| byte == b'\t');
            found.map(|at| from + at).ok_or(Base64ImageFault::MissingColumn { expected })
        };
        let label_begin = if with_key { tab(0)? + 1 } else { 0 };
        let label_end = tab(label_begin)?;
        let key = with_key.then(|| &line[..label_begin - 1]);
        if key == Some(b"") {
            return Err(Base64ImageFault::EmptyKey);
        }
        let label = match dim {
            None => 0,
            Some(dim) => {
                let text = &line[label_begin..label_end];
                let (label, _) =
                    parse_label(text).ok_or_else(|| Base64ImageFault::BadLabel { found: lossy(text) })?;
                if label >= dim {
                    return Err(Base64ImageFault::LabelOutOfRange { label, dim });
                }
                label
            }
        };
        Ok(Line { key, label, image: label_end + 1 })
    }
}

/// Marks a byte that is no character of Base64.
const NONE: u8 = 0xff;

/// The value of each character of Base64.
static VALUES: [u8; 256] = {
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut values = [NONE; 256];
    let mut i = 0;
    while i < alphabet.len() {
        values[alphabet[i] as usize] = i as u8;
        i += 1;
    }
    values
};

/// Appends the bytes of an image to `into`. As CNTK reads it: what is no character of Base64 is cut off at the end, and
/// counts as 0 elsewhere.
pub(super) fn decode(text: &[u8], into: &mut Vec<u8>) -> Result<(), Base64ImageFault> {
    let is_base64 = |byte: &u8| VALUES[*byte as usize] != NONE || *byte == b'=';
    let n = text.iter().rposition(is_base64).map_or(0, |last| last + 1);
    if n == 0 {
        return Err(Base64ImageFault::NoImage);
    }
    let (groups, rest) = text[..n].as_chunks::<4>();
    if !rest.is_empty() {
        return Err(Base64ImageFault::BadLength { found: n as u64 });
    }
    into.reserve(3 * groups.len());
    for group in groups {
        let bits = group.iter().fold(0, |bits: u32, &byte| {
            let value = VALUES[byte as usize];
            bits << 6 | u32::from(if value == NONE { 0 } else { value })
        });
        into.extend_from_slice(&bits.to_be_bytes()[1..]);
    }
    let n_padding = text[..n].iter().rev().take(2).take_while(|&&byte| byte == b'=').count();
    into.truncate(into.len() - n_padding);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_says_whether_lines_have_keys() {
        assert!(has_keys(b"7\t1\tQk0="));
        assert!(!has_keys(b"1\tQk0="));
        assert!(!has_keys(b"1\tQk0=\t"));
    }

    #[test]
    fn columns_are_separated_by_tabs() {
        let parsed = Line::parse(b"7\t 3x\tQk0=", true, Some(4));
        assert_eq!(parsed, Ok(Line { key: Some(b"7"), label: 3, image: 6 }));
        assert_eq!(Line::parse(b"cat\tQk0=", false, None), Ok(Line { key: None, label: 0, image: 4 }));
        let code = |line: &'static [u8], with_key| {
            Line::parse(line, with_key, Some(4)).map_err(|fault| tesson_core::ErrorCodes::code(&fault))
        };
        assert_eq!(code(b"1 Qk0=", false), Err("base64-image.missing-column"));
        assert_eq!(code(b"1\tQk0=", true), Err("base64-image.missing-column"));
        assert_eq!(code(b"\t1\tQk0=", true), Err("base64-image.empty-key"));
        assert_eq!(code(b"cat\tQk0=", false), Err("base64-image.bad-label"));
        assert_eq!(code(b"4\tQk0=", false), Err("base64-image.label-out-of-range"));
    }

    #[test]
    fn base64_is_read_leniently() {
        let decoded = |text: &str| {
            let mut bytes = b"!".to_vec();
            decode(text.as_bytes(), &mut bytes).map(|()| bytes[1..].to_vec())
        };
        assert_eq!(decoded("TWFu"), Ok(b"Man".to_vec()));
        assert_eq!(decoded("TWE= \r"), Ok(b"Ma".to_vec()), "blanks at the end are cut off");
        assert_eq!(decoded("TQ=="), Ok(b"M".to_vec()));
        assert_eq!(decoded("T?Fu"), Ok(vec![0x4c, 0x01, 0x6e]), "what is no Base64 counts as 0");
        assert_eq!(decoded("TWF"), Err(Base64ImageFault::BadLength { found: 3 }));
        assert_eq!(decoded(" ??"), Err(Base64ImageFault::NoImage));
    }
}
