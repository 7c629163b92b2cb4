//! Files and command-line arguments, in order, as one text (spec/brainscript.md §1, §6).

use std::ops::Range;
use std::sync::Arc;

use tesson_core::{ConfigError, ConfigSpan};

use crate::TextFault;

/// Reads a file of a configuration by the name that it has there.
pub type ReadFile<'a> = &'a dyn Fn(&str) -> Result<String, ConfigError>;

/// The text of a configuration: what files and arguments hold, line by line, without comments.
#[derive(Clone, Default)]
pub struct Script {
    text: String,
    lines: Vec<Line>,
    /// Files read so far: none is read twice.
    files: Vec<String>,
    n_arguments: usize,
}

#[derive(Clone)]
struct Line {
    /// Where the line begins in the text.
    start: usize,
    file: Arc<str>,
    number: u32,
}

/// How many files may lie inside each other by including.
const MOST_INCLUDES: usize = 32;

/// Bytes of text, at most.
const MOST_BYTES: usize = 64 << 20;

impl Script {
    /// A script of nothing.
    pub fn new() -> Script {
        Script::default()
    }

    /// Appends a text, called `name` in messages. Lines that begin with `include=` stand for the files they name.
    ///
    /// # Errors
    /// Those of reading the included files; texts too large to be meant.
    pub fn text(&mut self, name: &str, text: &str, read: ReadFile<'_>) -> Result<(), ConfigError> {
        self.append(name, text, read, 0)
    }

    /// Appends a file.
    ///
    /// # Errors
    /// A file that has been read before, and what reading it answers.
    pub fn file(&mut self, name: &str, read: ReadFile<'_>) -> Result<(), ConfigError> {
        if self.files.iter().any(|f| f == name) {
            return Err(ConfigError::refused("", &TextFault::FileTwice).in_file(name));
        }
        self.read(name, read, 0)
    }

    /// Appends files: `a.cntk+b.cntk`.
    ///
    /// # Errors
    /// Those of [`Script::file`].
    pub fn files(&mut self, names: &str, read: ReadFile<'_>) -> Result<(), ConfigError> {
        names.split('+').map(str::trim).try_for_each(|name| self.file(name, read))
    }

    /// Appends an argument of a command line, `name=value`, as a line. Nothing in it is a comment.
    pub fn argument(&mut self, argument: &str) {
        self.n_arguments += 1;
        let file: Arc<str> = format!("argument {}", self.n_arguments).into();
        for (number, line) in (1..).zip(argument.lines()) {
            self.line(&file, number, line);
        }
    }

    fn read(&mut self, name: &str, read: ReadFile<'_>, depth: usize) -> Result<(), ConfigError> {
        self.files.push(name.to_string());
        let text = read(name)?;
        self.append(name, &text, read, depth)
    }

    fn append(
        &mut self,
        name: &str,
        text: &str,
        read: ReadFile<'_>,
        depth: usize,
    ) -> Result<(), ConfigError> {
        if depth > MOST_INCLUDES || self.text.len() + text.len() > MOST_BYTES {
            return Err(ConfigError::refused("", &TextFault::TooLarge).in_file(name));
        }
        let file: Arc<str> = name.into();
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        for (number, line) in (1..).zip(text.lines()) {
            let Some(included) = line.strip_prefix("include=") else {
                self.line(&file, number, without_comment(line));
                continue;
            };
            for included in without_comment(included).split('+').map(|i| i.trim().trim_matches('"')) {
                if !self.files.iter().any(|f| f == included) {
                    let place = ConfigSpan { file: Arc::clone(&file), line: number, column: 1 };
                    self.read(included, read, depth + 1).map_err(|e| e.at(Some(place)))?;
                }
            }
        }
        Ok(())
    }

    fn line(&mut self, file: &Arc<str>, number: u32, line: &str) {
        self.lines.push(Line { start: self.text.len(), file: Arc::clone(file), number });
        self.text.push_str(line.trim_end_matches('\r'));
        self.text.push('\n');
    }

    pub(super) fn as_str(&self) -> &str {
        &self.text
    }

    /// Where a byte of the text comes from.
    pub(super) fn place(&self, offset: usize) -> Option<ConfigSpan> {
        let line = &self.lines[self.lines.partition_point(|l| l.start <= offset).checked_sub(1)?];
        let column = self.text.get(Range { start: line.start, end: offset })?.chars().count() as u32 + 1;
        Some(ConfigSpan { file: Arc::clone(&line.file), line: line.number, column })
    }

    /// An error at a byte of the text.
    pub(super) fn error(&self, offset: usize, fault: &TextFault) -> ConfigError {
        ConfigError::refused("", fault).at(self.place(offset))
    }
}

/// The line without its comment: `#` or `//` first on the line, `#` behind a blank, `//` behind a blank and before a
/// blank or the line's end, all of them outside of quotes (spec/brainscript.md §3).
fn without_comment(line: &str) -> &str {
    let bytes = line.as_bytes();
    let blank = |at: usize| matches!(bytes.get(at), None | Some(b' ' | b'\t' | b'\r'));
    let (mut quoted, mut first) = (false, true);
    for (at, &byte) in bytes.iter().enumerate() {
        let behind_blank = at == 0 || blank(at - 1);
        let slashes = byte == b'/' && bytes.get(at + 1) == Some(&b'/');
        let comment = match byte {
            b'#' => first || behind_blank,
            b'/' if slashes => first || (behind_blank && blank(at + 2)),
            _ => false,
        };
        if comment && !quoted {
            return &line[..at];
        }
        quoted ^= byte == b'"';
        first &= blank(at);
    }
    line
}

#[cfg(test)]
mod tests {
    use super::without_comment;

    #[test]
    fn comments_begin_a_line_or_stand_behind_a_blank() {
        let cases = [
            ("# all", ""),
            ("  // all", "  "),
            ("//all", ""),
            ("a = 1 # b", "a = 1 "),
            ("a = 1\t// b", "a = 1\t"),
            ("a = 1 //", "a = 1 "),
            ("a = 1 #", "a = 1 "),
            ("a = b#c", "a = b#c"),
            ("a = b#c # d", "a = b#c "),
            ("a = //server/x", "a = //server/x"),
            ("a = http://x // y", "a = http://x "),
            ("a = b//c", "a = b//c"),
            ("a = \"b # c\" # d", "a = \"b # c\" "),
            ("", ""),
        ];
        for (line, rest) in cases {
            assert_eq!(without_comment(line), rest, "{line}");
        }
    }
}
