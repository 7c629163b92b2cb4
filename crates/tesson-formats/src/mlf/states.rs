//! The list of states: the name of each class, on the line of its number.

use std::collections::HashMap;

use super::fault::MlfFault;
use crate::images::lossy;

/// The classes by name.
#[derive(Clone, Debug, Default)]
pub(super) struct States {
    classes: HashMap<Box<[u8]>, u32>,
}

/// A state that occurs twice, and where.
#[derive(Debug, PartialEq)]
pub(super) struct StateTwice {
    pub(super) fault: MlfFault,
    /// Where its second line begins, and its number from 0.
    pub(super) offset: u64,
    pub(super) line: u64,
}

impl States {
    /// Reads a list: lines end at `\n` or `\r`, empty ones do not count, everything else of a line is its name.
    pub(super) fn parse(list: &[u8]) -> Result<States, StateTwice> {
        let mut states = States::default();
        let mut lines: Vec<u64> = Vec::new();
        let mut at = if list.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
        let mut line = 0;
        while at < list.len() {
            let rest = &list[at..];
            let n = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')).unwrap_or(rest.len());
            let name = &rest[..n];
            if !name.is_empty() {
                let class = states.classes.len() as u32;
                if let Some(first) = states.classes.insert(name.into(), class) {
                    let fault = MlfFault::StateTwice { name: lossy(name), first: lines[first as usize] + 1 };
                    return Err(StateTwice { fault, offset: at as u64, line });
                }
                lines.push(line);
            }
            line += u64::from(rest.get(n) == Some(&b'\n'));
            at += n + 1;
        }
        Ok(states)
    }

    /// The class of a name.
    pub(super) fn class(&self, name: &[u8]) -> Option<u32> {
        self.classes.get(name).copied()
    }

    /// Number of classes.
    pub(super) fn len(&self) -> usize {
        self.classes.len()
    }

    /// The names of the classes, by number.
    pub(super) fn names(&self) -> Vec<String> {
        let mut names: Vec<(u32, &[u8])> =
            self.classes.iter().map(|(name, &class)| (class, &**name)).collect();
        names.sort_unstable();
        names.into_iter().map(|(_, name)| lossy(name)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_the_numbers_of_lines_that_are_not_empty() {
        for list in [&b"sil\naa\nb b \n"[..], b"sil\r\n\r\n\naa\nb b ", b"\xef\xbb\xbfsil\raa\rb b "] {
            let states = States::parse(list).unwrap();
            let found = [&b"sil"[..], b"aa", b"b b ", b"b b", b""].map(|name| states.class(name));
            assert_eq!(found, [Some(0), Some(1), Some(2), None, None]);
            assert_eq!(states.names(), ["sil", "aa", "b b "]);
        }
    }

    #[test]
    fn a_name_that_occurs_twice_is_refused_with_both_lines() {
        let found = States::parse(b"sil\n\naa\nsil\n").unwrap_err();
        let fault = MlfFault::StateTwice { name: "sil".into(), first: 1 };
        assert_eq!(found, StateTwice { fault, offset: 8, line: 3 });
    }
}
