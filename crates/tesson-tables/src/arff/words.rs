//! The words of a line: in quotes or not, commas, braces.

use std::ops::Range;

/// A part of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    /// A text without quotes.
    Plain(Text),
    /// A text in quotes.
    Quoted(Text),
    Comma,
    Open,
    Close,
}

/// Where a text is: in its line, or behind the texts that had escapes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Text {
    start: u32,
    end: u32,
    is_unescaped: bool,
}

impl Text {
    /// The bytes of the text.
    pub(super) fn of<'a>(self, line: &'a [u8], unescaped: &'a [u8]) -> &'a [u8] {
        let bytes = if self.is_unescaped { unescaped } else { line };
        &bytes[self.start as usize..self.end as usize]
    }

    fn new(range: Range<usize>, is_unescaped: bool) -> Text {
        Text { start: range.start as u32, end: range.end as u32, is_unescaped }
    }
}

/// A fault of a line, as errors say it.
pub(super) type Wrong = &'static str;

/// The words of a line, up to a comment.
pub(super) struct Words<'a> {
    line: &'a [u8],
    at: usize,
}

impl<'a> Words<'a> {
    pub(super) fn new(line: &'a [u8]) -> Words<'a> {
        Words { line, at: 0 }
    }

    /// The next word. Texts with escapes are put behind `unescaped`.
    pub(super) fn next(&mut self, unescaped: &mut Vec<u8>) -> Result<Option<Word>, Wrong> {
        let rest = &self.line[self.at..];
        self.at += rest.iter().take_while(|byte| is_space(**byte)).count();
        let start = self.at;
        let word = match self.line.get(start) {
            None | Some(b'%') => return Ok(None),
            Some(b',') => Word::Comma,
            Some(b'{') => Word::Open,
            Some(b'}') => Word::Close,
            Some(&quote @ (b'\'' | b'"')) => return self.quoted(quote, unescaped).map(Some),
            Some(_) => {
                let length = self.line[start..].iter().position(|byte| ENDS_WORD[usize::from(*byte)]);
                self.at = length.map_or(self.line.len(), |length| start + length);
                return match self.line.get(self.at) {
                    Some(b'\'' | b'"') => {
                        Err("found a quote within a value, expected quotes around values that hold one")
                    }
                    Some(b'%') => {
                        Err("found `%` within a value, expected quotes around values that hold one")
                    }
                    _ => Ok(Some(Word::Plain(Text::new(start..self.at, false)))),
                };
            }
        };
        self.at += 1;
        Ok(Some(word))
    }

    /// The text in quotes that begins here.
    fn quoted(&mut self, quote: u8, unescaped: &mut Vec<u8>) -> Result<Word, Wrong> {
        const OPEN: Wrong = "found a quote that is never closed, expected its end in the same line";
        let start = self.at + 1;
        let end = start + memchr::memchr2(quote, b'\\', &self.line[start..]).ok_or(OPEN)?;
        let text = if self.line[end] == quote {
            self.at = end + 1;
            Text::new(start..end, false)
        } else {
            let first = unescaped.len();
            let mut at = start;
            loop {
                let next = at + memchr::memchr2(quote, b'\\', &self.line[at..]).ok_or(OPEN)?;
                unescaped.extend_from_slice(&self.line[at..next]);
                if self.line[next] == quote {
                    self.at = next + 1;
                    break;
                }
                at = next + 1 + escape(&self.line[next + 1..], unescaped).ok_or(OPEN)?;
            }
            Text::new(first..unescaped.len(), true)
        };
        match self.line.get(self.at) {
            Some(&byte) if !is_space(byte) && !matches!(byte, b',' | b'{' | b'}' | b'%') => {
                Err("found text right behind a quote, expected a comma or a blank")
            }
            _ => Ok(Word::Quoted(text)),
        }
    }
}

/// Appends what the bytes behind a backslash stand for; returns how many they are. `None` at the end of a line.
fn escape(rest: &[u8], into: &mut Vec<u8>) -> Option<usize> {
    let mut character = |c: char| into.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
    let (c, length) = match *rest.first()? {
        b'n' => ('\n', 1),
        b'r' => ('\r', 1),
        b't' => ('\t', 1),
        b'a' => ('\u{7}', 1),
        b'b' => ('\u{8}', 1),
        b'f' => ('\u{c}', 1),
        b'v' => ('\u{b}', 1),
        b'0'..=b'7' => {
            // At most three digits, and below 256.
            let most = if rest[0] <= b'3' { 3 } else { 2 };
            let digits = rest.iter().take(most).take_while(|byte| matches!(byte, b'0'..=b'7'));
            let (n, length) = digits.fold((0, 0), |(n, length), digit| (8 * n + (digit - b'0'), length + 1));
            (char::from(n), length)
        }
        b'u' => match hexadecimal(rest.get(1..5).unwrap_or_default()) {
            Some(c) => (c, 5),
            None => ('u', 1),
        },
        // The line ends with the backslash.
        b'\n' => return None,
        byte => {
            into.push(byte);
            return Some(1);
        }
    };
    character(c);
    Some(length)
}

/// The character of four hexadecimal digits.
fn hexadecimal(digits: &[u8]) -> Option<char> {
    let is_digits = digits.len() == 4 && digits.iter().all(u8::is_ascii_hexdigit);
    let text = std::str::from_utf8(digits).ok().filter(|_| is_digits)?;
    char::from_u32(u32::from_str_radix(text, 16).ok()?)
}

/// True for blanks and control characters.
const fn is_space(byte: u8) -> bool {
    byte <= b' '
}

/// True for each byte that ends a word without quotes.
static ENDS_WORD: [bool; 256] = {
    let (mut ends, mut byte) = ([false; 256], 0);
    while byte < ends.len() {
        let at = byte as u8;
        ends[byte] = is_space(at) || matches!(at, b',' | b'{' | b'}' | b'\'' | b'"' | b'%');
        byte += 1;
    }
    ends
};

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Result<Vec<String>, Wrong> {
        let (mut words, mut unescaped, mut found) = (Words::new(line.as_bytes()), Vec::new(), Vec::new());
        while let Some(word) = words.next(&mut unescaped)? {
            let shown =
                |text: Text| String::from_utf8_lossy(text.of(line.as_bytes(), &unescaped)).into_owned();
            found.push(match word {
                Word::Plain(text) => shown(text),
                Word::Quoted(text) => format!("<{}>", shown(text)),
                Word::Comma => ",".into(),
                Word::Open => "{".into(),
                Word::Close => "}".into(),
            });
        }
        Ok(found)
    }

    #[test]
    fn words_are_those_of_weka() {
        for (line, expected) in [
            ("1,a b\t-2.5 % 3,4\n", "1 , a b -2.5"),
            ("{0 1, 3 'x y'}, {0.5}\r\n", "{ 0 1 , 3 <x y> } , { 0.5 }"),
            (
                r#"'it\'s','a\tb\\','%,{}',"\"q\"",'ä\u0041\101\9'"#,
                "<it's> , <a\tb\\> , <%,{}> , <\"q\"> , <äAA9>",
            ),
            (r"'\377\47\0'", "<ÿ'\0>"),
            ("'',?,'?'", "<> , ? , <?>"),
            ("class{a,b}", "class { a , b }"),
        ] {
            assert_eq!(of(line).unwrap().join(" "), expected, "{line}");
        }
        for line in ["'open", "'open\\", "'open\\\n", "'a'b", "don't", "50%", "a'b'"] {
            assert!(of(line).is_err(), "{line}");
        }
    }
}
