//! Labels and keys as lines of images have them, and the columns of chunks.

use tesson_core::{Chunk, Data, EncodedColumn, Keys, Offsets, StreamColumn, Values};

use super::ImageStream;

/// The number at the beginning of a label, after blanks and a `+`, and whether more follows it; `None` where there is
/// none, or one beyond 64 bits.
pub(crate) fn parse_label(text: &[u8]) -> Option<(u64, bool)> {
    let text = text.trim_ascii_start();
    let text = text.strip_prefix(b"+").unwrap_or(text);
    let digits = leading_digits(text);
    let label = std::str::from_utf8(digits).ok()?.parse().ok()?;
    Some((label, !text[digits.len()..].trim_ascii().is_empty()))
}

/// The number that a key begins with, after blanks and a sign, as CNTK reads numeric keys: what follows the digits is
/// ignored, more than 64 bits are 2^64 - 1, a minus wraps. `None` where there is no digit.
pub(crate) fn parse_numeric_key(text: &[u8]) -> Option<u64> {
    let text = text.trim_ascii_start();
    let (is_negative, text) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    };
    let digits = std::str::from_utf8(leading_digits(text)).ok().filter(|digits| !digits.is_empty())?;
    match digits.parse::<u64>() {
        Ok(number) if is_negative => Some(number.wrapping_neg()),
        Ok(number) => Some(number),
        Err(_) => Some(u64::MAX),
    }
}

fn leading_digits(text: &[u8]) -> &[u8] {
    let n = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    &text[..n]
}

/// Text for an error, where what is no UTF-8 or cannot be seen is escaped.
pub(crate) fn lossy(text: &[u8]) -> String {
    match std::str::from_utf8(text) {
        Ok(text) if !text.contains(char::is_control) => text.into(),
        _ => text.escape_ascii().to_string(),
    }
}

/// The columns of images and of their labels, in the memory that a chunk has held: filling them allocates nothing unless
/// they are larger than those before.
#[derive(Default)]
pub(crate) struct ImageColumns {
    pub(crate) images: EncodedColumn,
    pub(crate) labels: Vec<u32>,
    /// Memory for the rest of a chunk, empty.
    streams: Vec<StreamColumn>,
    lengths: Vec<u32>,
}

impl ImageColumns {
    /// Empty columns.
    pub(crate) fn recycled(chunk: &mut Chunk) -> ImageColumns {
        let Chunk { mut streams, mut lengths, .. } = std::mem::replace(chunk, Chunk::empty());
        let mut columns = ImageColumns::default();
        for StreamColumn { data, .. } in streams.drain(..) {
            match data {
                Data::Encoded(images) => columns.images = images,
                Data::Sparse { columns: labels, .. } => columns.labels = labels,
                _ => {}
            }
        }
        columns.images.clear();
        columns.labels.clear();
        lengths.clear();
        ImageColumns { streams, lengths, ..columns }
    }

    /// A chunk with a sequence for each image.
    pub(crate) fn into_chunk(self, streams: &[ImageStream], keys: Keys) -> Chunk {
        let n = self.images.len();
        let (mut images, mut labels) = (Some(self.images), Some(self.labels));
        let data = |stream: &ImageStream| match stream {
            ImageStream::Images(_) => Data::Encoded(images.take().expect("one stream is of images")),
            ImageStream::Labels(stream) => {
                let columns = labels.take().expect("at most one stream is of labels");
                if stream.as_numbers {
                    let values = Values::Bits64(columns.into_iter().map(u64::from).collect());
                    Data::Dense { values }
                } else {
                    Data::Sparse { rows: Offsets::Every(1), values: Values::Ones(columns.len()), columns }
                }
            }
        };
        let (mut columns, mut lengths) = (self.streams, self.lengths);
        let data = streams.iter().map(data);
        columns.extend(data.map(|data| StreamColumn { samples: Offsets::Every(1), data }));
        lengths.resize(n, 1);
        Chunk::new(keys, lengths, columns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_the_digits_that_strtoull_finds() {
        for (text, expected) in [
            ("3", Some((3, false))),
            ("3\r", Some((3, false))),
            (" +4", Some((4, false))),
            ("3abc", Some((3, true))),
            ("5.9", Some((5, true))),
            ("18446744073709551615", Some((u64::MAX, false))),
            ("18446744073709551616", None),
            ("-1", None),
            ("cat", None),
            ("", None),
        ] {
            assert_eq!(parse_label(text.as_bytes()), expected, "{text:?}");
        }
    }

    #[test]
    fn numeric_keys_end_where_their_digits_end() {
        for (text, expected) in [
            ("7", Some(7)),
            ("007.mfc", Some(7)),
            (" +1-b", Some(1)),
            ("-1", Some(u64::MAX)),
            ("99999999999999999999", Some(u64::MAX)),
            ("k1", None),
            ("-", None),
        ] {
            assert_eq!(parse_numeric_key(text.as_bytes()), expected, "{text:?}");
        }
    }
}
