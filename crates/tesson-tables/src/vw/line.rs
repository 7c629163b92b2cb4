//! The parts of a line: `[label [importance [base]]] ['tag]|namespace[:weight] feature[:value] …|…`.

use tesson_formats::fields::double;

use super::hash::NameHash;
use crate::fault::TableFault;
use crate::text::shown;

/// A line up to its features.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Parts<'a> {
    /// The words of the label.
    pub(super) label: &'a [u8],
    /// The tag, empty if there is none.
    pub(super) tag: &'a [u8],
    /// The text behind the first bar; `None` without a bar.
    features: Option<&'a [u8]>,
}

/// A feature.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Feature<'a> {
    /// Its namespace, empty for the one without a name.
    pub(super) namespace: &'a [u8],
    pub(super) name: &'a [u8],
    /// A value that is a text.
    pub(super) text: Option<&'a [u8]>,
    /// Its value times the weight of the namespace, or 1 for a text.
    pub(super) value: f64,
    /// The number of the namespace's name.
    seed: u64,
    /// Features of the namespace before it that have no name.
    unnamed: u64,
}

impl Feature<'_> {
    /// Its number, of which columns are the lowest bits.
    pub(super) fn number(&self, hash: NameHash) -> u64 {
        match self.text {
            Some(text) => hash.of(text, hash.of(self.name, self.seed)),
            None if self.name.is_empty() => self.seed.wrapping_add(self.unnamed),
            None => hash.of(self.name, self.seed),
        }
    }

    /// Writes its full name, as Vowpal Wabbit prints it for an audit.
    pub(super) fn write_name(&self, into: &mut Vec<u8>) {
        into.clear();
        if !self.namespace.is_empty() {
            into.extend_from_slice(self.namespace);
            into.push(b'^');
        }
        into.extend_from_slice(self.name);
        if let Some(text) = self.text {
            into.push(b'^');
            into.extend_from_slice(text);
        }
    }
}

impl<'a> Parts<'a> {
    /// The parts of a line. As Vowpal Wabbit has it, what is before a tab is no part of the label, and a last word with an
    /// apostrophe or without a blank behind it is the tag.
    pub(super) fn of(line: &'a [u8]) -> Parts<'a> {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let (before, features) = match memchr::memchr(b'|', line) {
            Some(bar) => (&line[..bar], Some(&line[bar + 1..])),
            None => (line, None),
        };
        let before = memchr::memchr(b'\t', before).map_or(before, |tab| &before[tab + 1..]);
        let label = before.trim_ascii_end();
        let last = label.iter().rposition(|byte| *byte == b' ').map_or(0, |blank| blank + 1);
        let (label, tag) = match label[last..].split_first() {
            Some((b'\'', tag)) => (&label[..last], tag),
            Some(_) if label.len() == before.len() => (&label[..last], &label[last..]),
            _ => (label, &[][..]),
        };
        Parts { label: label.trim_ascii(), tag, features }
    }

    /// Label, importance and base, as far as they are given.
    ///
    /// # Errors
    /// A label of another kind.
    pub(super) fn numbers(&self) -> Result<[Option<&'a [u8]>; 3], TableFault> {
        let mut words = self.label.split(|byte| *byte == b' ').filter(|word| !word.is_empty());
        let numbers = [words.next(), words.next(), words.next()];
        let first = numbers[0].unwrap_or_default();
        let colons = first.iter().filter(|byte| **byte == b':').count();
        let kind = match first {
            b"shared" | b"ccb" | b"slates" => "a part of an example of several lines",
            _ if colons > 1 => "the action, cost and probability of a contextual bandit",
            _ if colons == 1 => "the cost of a class or of an action",
            _ if first.contains(&b',') => "several classes",
            _ if words.next().is_some() => "more than three words",
            _ => return Ok(numbers),
        };
        Err(TableFault::OtherLabel { found: shown(self.label), kind })
    }

    /// Calls `each` with the features.
    ///
    /// # Errors
    /// A part that is no feature, and a value that becomes too large by the weight of its namespace.
    pub(super) fn each_feature(
        &self,
        hash: NameHash,
        mut each: impl FnMut(&Feature<'a>),
    ) -> Result<(), TableFault> {
        let Some(features) = self.features else { return Ok(()) };
        let mut parts = features.split(|byte| *byte == b'|').peekable();
        while let Some(part) = parts.next() {
            let at_bar = parts.peek().is_some();
            let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t');
            let (head, rest) = part.split_at(part.iter().position(is_blank).unwrap_or(part.len()));
            let (namespace, weight) = match split(head) {
                (b"", None) => (&[][..], 1.0),
                (name, weight) => match weight.map_or(Some(1.0), number) {
                    Some(weight) if !name.is_empty() => (name, weight),
                    _ => return Err(bad(head)),
                },
            };
            let seed = if namespace.is_empty() { 0 } else { hash.of(namespace, 0) };
            let mut unnamed = 0;
            for word in rest.split(is_blank).filter(|word| !word.is_empty()) {
                let (name, given) = split(word);
                let (value, text) = match given {
                    None => (weight, None),
                    Some(given) => match number(given).map(|value| weight * value) {
                        Some(value) if !value.is_finite() => {
                            return Err(TableFault::FeatureProduct { found: shown(word), weight });
                        }
                        Some(value) => (value, None),
                        // Vowpal Wabbit leaves the namespace's weight out here.
                        None if is_text(given) && !name.is_empty() => (1.0, Some(given)),
                        None => return Err(bad(word)),
                    },
                };
                // To Vowpal Wabbit such a bar is a part of the text.
                if text.is_some() && at_bar && part.ends_with(word) {
                    return Err(bad(word));
                }
                each(&Feature { namespace, name, text, value, seed, unnamed });
                unnamed += u64::from(name.is_empty());
            }
        }
        Ok(())
    }
}

/// A word up to its first colon, and the text behind that.
fn split(word: &[u8]) -> (&[u8], Option<&[u8]>) {
    match memchr::memchr(b':', word) {
        Some(colon) => (&word[..colon], Some(&word[colon + 1..])),
        None => (word, None),
    }
}

/// A finite number.
fn number(text: &[u8]) -> Option<f64> {
    double(text).filter(|x| x.is_finite())
}

/// True for a value that is a text: one that does not begin like a number, and is none of the words for numbers.
fn is_text(value: &[u8]) -> bool {
    let begins = value.first().is_some_and(|byte| !byte.is_ascii_digit() && !b"+-.:".contains(byte));
    begins
        && !value.contains(&b':')
        && !std::str::from_utf8(value).is_ok_and(|text| text.parse::<f64>().is_ok())
}

#[cold]
fn bad(word: &[u8]) -> TableFault {
    TableFault::BadFeature { found: shown(word) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_and_tags_are_told_apart_as_vowpal_wabbit_does() {
        for (line, label, tag) in [
            ("1 2 0.5 'tag|a x\n", "1 2 0.5", "tag"),
            ("1 'tag |a x", "1", "tag"),
            ("1 tag|a x", "1", "tag"),
            ("1 |a x", "1", ""),
            ("1|a x", "", "1"),
            ("|a x\r\n", "", ""),
            (" |a x", "", ""),
            ("note\t1 |a x", "1", ""),
            ("1 ", "1", ""),
            ("1 '", "1", ""),
        ] {
            let parts = Parts::of(line.as_bytes());
            assert_eq!((parts.label, parts.tag), (label.as_bytes(), tag.as_bytes()), "{line}");
        }
    }

    #[test]
    fn features_have_namespaces_and_values() {
        let of = |line: &str| {
            let (mut found, mut name) = (Vec::new(), Vec::new());
            Parts::of(line.as_bytes()).each_feature(NameHash::Strings, |feature| {
                feature.write_name(&mut name);
                found.push(format!("{}={}", String::from_utf8_lossy(&name), feature.value));
            })?;
            Ok::<_, TableFault>(found.join(" "))
        };
        for (line, expected) in [
            ("1 |a:2 x:3 y  :4|b\tz:-1e1 |", "a^x=6 a^y=2 a^=8 b^z=-10"),
            ("| x:str y |c", "x^str=1 y=1"),
            ("|a:2 x:str y", "a^x^str=1 a^y=2"),
            ("1", ""),
        ] {
            assert_eq!(of(line).as_deref(), Ok(expected), "{line}");
        }
        for line in [
            "|a x:1y",
            "|a x:",
            "|a x:1:2",
            "|a :text",
            "|:2 x",
            "|a:b x",
            "|a x:nan",
            "|a x:b:c",
            "|a x:b|c y",
        ] {
            assert!(matches!(of(line), Err(TableFault::BadFeature { .. })), "{line}");
        }
        let product = TableFault::FeatureProduct { found: "y:1e300".into(), weight: -1e10 };
        assert_eq!(of("|a x:1e308 |b:-1e10 x:1e298 y:1e300"), Err(product));
    }
}
