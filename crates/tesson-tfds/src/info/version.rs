//! Versions of datasets (spec/tfds.md §1.1).

use std::fmt;
use std::str::FromStr;

/// `x.y.z`, compared as numbers.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(pub [u64; 3]);

impl FromStr for Version {
    type Err = ();

    /// Three decimal numbers without leading zeros.
    fn from_str(text: &str) -> Result<Version, ()> {
        VersionPattern::from_str(text)?.exact().ok_or(())
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, z] = self.0;
        write!(f, "{x}.{y}.{z}")
    }
}

/// A pattern of versions, any part of which may be left open: `2.*.*`.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct VersionPattern([Option<u64>; 3]);

impl VersionPattern {
    /// The version, if nothing is left open.
    pub fn exact(self) -> Option<Version> {
        let [x, y, z] = self.0;
        Some(Version([x?, y?, z?]))
    }

    /// True if a version matches the pattern.
    pub fn matches(self, version: Version) -> bool {
        self.0.iter().zip(version.0).all(|(part, found)| part.is_none_or(|part| part == found))
    }
}

impl FromStr for VersionPattern {
    type Err = ();

    fn from_str(text: &str) -> Result<VersionPattern, ()> {
        let mut parts = text.split('.');
        let parts = [parts.next(), parts.next(), parts.next(), parts.next()];
        let [Some(x), Some(y), Some(z), None] = parts else { return Err(()) };
        Ok(VersionPattern([part(x)?, part(y)?, part(z)?]))
    }
}

impl fmt::Display for VersionPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, part) in self.0.iter().enumerate() {
            f.write_str(if i > 0 { "." } else { "" })?;
            match part {
                Some(number) => write!(f, "{number}")?,
                None => f.write_str("*")?,
            }
        }
        Ok(())
    }
}

fn part(text: &str) -> Result<Option<u64>, ()> {
    if text == "*" {
        return Ok(None);
    }
    let is_plain = text.bytes().all(|b| b.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    if is_plain { text.parse().map(Some).map_err(|_| ()) } else { Err(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_three_numbers_and_compared_as_such() {
        let version = |text: &str| text.parse::<Version>();
        assert!(version("10.0.0").unwrap() > version("2.1.10").unwrap());
        assert_eq!(version("0.2.11").unwrap().to_string(), "0.2.11");
        for text in ["1.0", "1.0.0.0", "01.0.0", "1.0.x", "1.0.*", "", "1..0", "+1.0.0", " 1.0.0"] {
            assert_eq!(version(text), Err(()), "{text}");
        }
    }

    #[test]
    fn a_pattern_leaves_parts_open() {
        let pattern: VersionPattern = "2.*.10".parse().unwrap();
        assert!(pattern.matches(Version([2, 7, 10])) && !pattern.matches(Version([2, 7, 1])));
        assert_eq!(pattern.to_string(), "2.*.10");
        assert_eq!(pattern.exact(), None);
    }
}
