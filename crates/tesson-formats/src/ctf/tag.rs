//! Short texts that rows begin with again and again, compared a machine word at a time.

/// A text of up to eight bytes to look for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tag {
    word: u64,
    /// Ones where `word` has bytes of the text.
    mask: u64,
    n: usize,
}

impl Tag {
    /// `None` if the text is empty or longer.
    pub(crate) fn new(text: &[u8]) -> Option<Tag> {
        let n = text.len();
        if n == 0 || n > 8 {
            return None;
        }
        let mut word = [0; 8];
        word[..n].copy_from_slice(text);
        Some(Tag { word: u64::from_le_bytes(word), mask: u64::MAX >> (64 - 8 * n), n })
    }

    /// The byte behind the text and the text's length, if `bytes` begin with it and enough follows to see that at once.
    #[inline]
    pub(crate) fn behind(self, bytes: &[u8]) -> Option<(u8, usize)> {
        let word = u64::from_le_bytes(*bytes.first_chunk::<8>()?);
        if (word ^ self.word) & self.mask != 0 {
            return None;
        }
        Some((*bytes.get(self.n)?, self.n))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_is_found_where_the_bytes_begin_with_it() {
        let check = |text: &str, row: &str, expected| {
            let found = Tag::new(text.as_bytes()).unwrap().behind(row.as_bytes());
            assert_eq!(found, expected, "{text} in {row}");
        };
        check("a", "a 123456", Some((b' ', 1)));
        check("abc", "abcd1234", Some((b'd', 3)));
        check("abcdefgh", "abcdefgh|", Some((b'|', 8)));
        check("abcdefgh", "abcdefgh", None);
        check("abc", "abX12345", None);
        check("abc", "abc 123", None);
        assert_eq!(Tag::new(b""), None);
        assert_eq!(Tag::new(b"abcdefghi"), None);
    }
}
