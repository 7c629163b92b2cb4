//! Blanks, quotes and brackets.

use tesson_core::ConfigError;

use super::script::Script;
use crate::Result;
use crate::TextFault;

/// A place in the text of a script.
#[derive(Clone)]
pub(super) struct Lexer<'s> {
    pub(super) script: &'s Script,
    bytes: &'s [u8],
    pub(super) at: usize,
}

pub(super) const BLANKS: &[u8] = b" \t\r";

/// The bracket that closes an opening one.
pub(super) fn closing(open: u8) -> Option<u8> {
    match open {
        b'[' => Some(b']'),
        b'{' => Some(b'}'),
        b'(' => Some(b')'),
        _ => None,
    }
}

pub(super) fn is_closing(byte: u8) -> bool {
    matches!(byte, b']' | b'}' | b')')
}

impl<'s> Lexer<'s> {
    pub(super) fn new(script: &'s Script) -> Lexer<'s> {
        Lexer { script, bytes: script.as_str().as_bytes(), at: 0 }
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    pub(super) fn skip(&mut self, bytes: &[u8]) {
        while self.peek().is_some_and(|b| bytes.contains(&b)) {
            self.at += 1;
        }
    }

    pub(super) fn text(&self, from: usize, to: usize) -> &'s str {
        // Ends lie before or behind ASCII, or at an end of the text.
        &self.script.as_str()[from..to]
    }

    pub(super) fn error(&self, at: usize, fault: &TextFault) -> ConfigError {
        self.script.error(at, fault)
    }

    /// Goes behind the quote that closes the one it stands at; returns where the text between them begins and ends.
    pub(super) fn quoted(&mut self) -> Result<(usize, usize)> {
        let open = self.at;
        self.at += 1;
        while let Some(byte) = self.peek() {
            match byte {
                b'"' => {
                    self.at += 1;
                    return Ok((open + 1, self.at - 1));
                }
                b'\n' => break,
                _ => self.at += 1,
            }
        }
        Err(self.error(open, &TextFault::OpenQuote))
    }

    /// Goes behind the bracket that closes the one it stands at. Quotes protect brackets.
    pub(super) fn group(&mut self) -> Result<()> {
        let mut open: Vec<(usize, u8)> = Vec::new();
        while let Some(byte) = self.peek() {
            if let Some(close) = closing(byte) {
                open.push((self.at, close));
            } else if is_closing(byte) {
                let Some((_, close)) = open.pop() else { break };
                if close != byte {
                    return Err(self.unmatched(byte, close));
                }
                if open.is_empty() {
                    self.at += 1;
                    return Ok(());
                }
            } else if byte == b'"' {
                self.quoted()?;
                continue;
            }
            self.at += 1;
        }
        let (at, close) = open.last().copied().unwrap_or((self.at, b']'));
        Err(self.unclosed(at, close))
    }

    pub(super) fn unmatched(&self, found: u8, expected: u8) -> ConfigError {
        let (found, expected) = (char::from(found), char::from(expected));
        self.error(self.at, &TextFault::Unmatched { found, expected })
    }

    pub(super) fn unclosed(&self, at: usize, expected: u8) -> ConfigError {
        self.error(at, &TextFault::Unclosed { expected: char::from(expected) })
    }
}
