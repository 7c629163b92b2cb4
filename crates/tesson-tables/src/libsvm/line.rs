//! The parts of a line.

/// A line: `label[,label…] [qid:number] index:value … [# comment]`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parts<'a> {
    /// The labels, with commas between them; empty if the line begins with a pair.
    pub labels: &'a [u8],
    /// The number after `qid:`.
    pub query: Option<&'a [u8]>,
    /// The words with the pairs.
    pub pairs: &'a [u8],
}

impl Parts<'_> {
    /// The parts of a line.
    pub fn of(line: &[u8]) -> Parts<'_> {
        let end = memchr::memchr(b'#', line).unwrap_or(line.len());
        let line = line[..end].trim_ascii();
        let (labels, rest) = if word(line).0.contains(&b':') { (&[][..], line) } else { word(line) };
        match word(rest) {
            (first, pairs) if first.starts_with(b"qid:") => Parts { labels, query: Some(&first[4..]), pairs },
            _ => Parts { labels, query: None, pairs: rest },
        }
    }

    /// True if the line is no row: it is empty or a comment.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty() && self.query.is_none() && self.pairs.is_empty()
    }
}

/// The first word of a text without leading space, and the text behind it, likewise.
pub(super) fn word(text: &[u8]) -> (&[u8], &[u8]) {
    let end = text.iter().position(u8::is_ascii_whitespace).unwrap_or(text.len());
    (&text[..end], text[end..].trim_ascii_start())
}

/// The words of a text without leading space.
pub fn words(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (word, behind) = word(rest);
        rest = behind;
        (!word.is_empty()).then_some(word)
    })
}

/// A pair's index and the text of its value; `None` if the word is no pair.
pub fn pair(word: &[u8]) -> Option<(u64, &str)> {
    let (index, value) = std::str::from_utf8(word).ok()?.split_once(':')?;
    Some((index.parse().ok()?, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_queries_and_comments_may_be_missing() {
        let cases: [(&str, &str, Option<&str>, &str); 6] = [
            ("+1 qid:7 1:0.5  3:2 # note 9:9\n", "+1", Some("7"), "1:0.5  3:2"),
            ("1,4\t2:1\r\n", "1,4", None, "2:1"),
            (" 2:1", "", None, "2:1"),
            ("qid:3 2:1", "", Some("3"), "2:1"),
            ("-1", "-1", None, ""),
            ("0 #1:2", "0", None, ""),
        ];
        for (line, labels, query, pairs) in cases {
            let parts =
                Parts { labels: labels.as_bytes(), query: query.map(str::as_bytes), pairs: pairs.as_bytes() };
            assert_eq!(Parts::of(line.as_bytes()), parts, "{line:?}");
        }
    }

    #[test]
    fn a_pair_is_an_index_and_a_value() {
        assert_eq!(pair(b"12:-1e3"), Some((12, "-1e3")));
        assert_eq!(words(b"1:2 \t 3:4").collect::<Vec<_>>(), [b"1:2", b"3:4"]);
        for word in ["12", "a:1", "-1:2", ":1", "1.5:2", "99999999999999999999:1"] {
            assert_eq!(pair(word.as_bytes()), None, "{word}");
        }
    }
}
