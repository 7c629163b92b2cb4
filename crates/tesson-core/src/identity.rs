//! The text that identifies what a saved state or an index cache belongs to.

use std::fmt::{self, Display, Write};

/// Writes an identity: everything that changes sequences, keys or values, as names and values.
///
/// Resume states and index caches hold a hash of this text, so a text that has been written once must never change.
/// All names and words in it are therefore literals, never the output of `Debug`, which changes when a type or a
/// variant is renamed. A writer that must change its text takes the next version, and users' states become invalid.
///
/// ```
/// use tesson_core::identity::{Identity, Maybe, Quoted};
///
/// let text = Identity::new("csv", 1).part().field("header", true).field("key", Maybe(Some(Quoted("id")))).text();
/// assert_eq!(text, r#"csv 1; header=true key=Some("id")"#);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Identity(String);

impl Identity {
    /// Starts the text of a format, and of the version in which its options are written.
    pub fn new(format: &str, version: u32) -> Identity {
        Identity::of(format).word(version)
    }

    /// Continues a text. Writers that had no version from the beginning start with their name here.
    pub fn of(text: impl Into<String>) -> Identity {
        Identity(text.into())
    }

    /// Appends a word.
    #[must_use]
    pub fn word(mut self, word: impl Display) -> Identity {
        let space = if self.0.is_empty() || self.0.ends_with('\n') { "" } else { " " };
        write!(self.0, "{space}{word}").expect("strings take everything");
        self
    }

    /// Appends a name and its value.
    #[must_use]
    pub fn field(self, name: &str, value: impl Display) -> Identity {
        self.word(format_args!("{name}={value}"))
    }

    /// Appends a name and its value if there is one.
    #[must_use]
    pub fn maybe(self, name: &str, value: Option<impl Display>) -> Identity {
        match value {
            Some(value) => self.field(name, value),
            None => self,
        }
    }

    /// Appends a word if it applies.
    #[must_use]
    pub fn flag(self, word: &str, applies: bool) -> Identity {
        if applies { self.word(word) } else { self }
    }

    /// Ends a part of the text.
    #[must_use]
    pub fn part(mut self) -> Identity {
        self.0.push(';');
        self
    }

    /// Ends a line of the text.
    #[must_use]
    pub fn line(mut self) -> Identity {
        self.0.push('\n');
        self
    }

    /// The text.
    pub fn text(self) -> String {
        self.0
    }
}

/// A text in quotes.
///
/// Its escapes are those of Rust's `Debug` for texts, as earlier releases wrote them.
pub struct Quoted<'a>(pub &'a str);

impl Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        for c in self.0.chars() {
            match c {
                '"' | '\\' => write!(f, "\\{c}")?,
                '\0' => f.write_str("\\0")?,
                '\t' => f.write_str("\\t")?,
                '\n' => f.write_str("\\n")?,
                '\r' => f.write_str("\\r")?,
                '\u{1}'..='\u{1f}' | '\u{7f}' => write!(f, "\\u{{{:x}}}", u32::from(c))?,
                ' '..='~' => f.write_char(c)?,
                // Combining and unprintable characters: their escapes depend on Unicode's tables alone.
                _ => write!(f, "{}", c.escape_debug())?,
            }
        }
        f.write_char('"')
    }
}

/// A value that may be absent: `Some(value)` or `None`.
pub struct Maybe<T>(pub Option<T>);

impl<T: Display> Display for Maybe<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(value) => write!(f, "Some({value})"),
            None => f.write_str("None"),
        }
    }
}

/// Several values: `[a, b]`.
pub struct List<'a, T>(pub &'a [T]);

impl<T: Display> Display for List<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('[')?;
        for (i, value) in self.0.iter().enumerate() {
            write!(f, "{}{value}", if i == 0 { "" } else { ", " })?;
        }
        f.write_char(']')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_is_what_earlier_releases_printed() {
        let texts = [
            "",
            "x",
            "a b",
            "quo\"te\\'",
            "\0\t\n\r\u{1}\u{1f}\u{7f}",
            "é 漢字 😀",
            "e\u{301} \u{200b}\u{a0}\u{e000}",
        ];
        for text in texts {
            assert_eq!(Quoted(text).to_string(), format!("{text:?}"));
        }
        assert_eq!(Maybe(Some(3)).to_string(), format!("{:?}", Some(3)));
        assert_eq!(Maybe(None::<u8>).to_string(), format!("{:?}", None::<u8>));
        for list in [&[][..], &[1], &[1, 2, 3]] {
            assert_eq!(List(list).to_string(), format!("{list:?}"));
        }
    }

    #[test]
    fn words_stand_apart_and_parts_end() {
        let text = Identity::new("f", 2)
            .part()
            .field("a", 1)
            .flag("b", true)
            .flag("c", false)
            .line()
            .word("d")
            .word("");
        assert_eq!(text.text(), "f 2; a=1 b\nd ");
    }
}
