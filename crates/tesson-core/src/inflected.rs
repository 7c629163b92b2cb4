//! Counts in texts for people.

use std::fmt::Display;

/// A count of things, in the singular or the plural: `1 field`, `2 fields`.
pub fn number_of(n: impl Display, noun: &str) -> String {
    let n = n.to_string();
    let noun = inflected(u64::from(n != "1") + 1, noun);
    format!("{n} {noun}")
}

/// The noun in the singular for 1, or else in the plural.
pub fn inflected(n: u64, noun: &str) -> String {
    let ending = match n {
        1 => "",
        _ if noun.ends_with("ch") || noun.ends_with('s') => "es",
        _ => "s",
    };
    format!("{noun}{ending}")
}
