//! The fingerprint of a corpus, independent of its path and times.

use std::io::Write as _;

use tesson_core::{DeserializerFacts, Error, Fetch, ResourceId};
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

/// Bytes at both ends of each file that are part of the fingerprint.
const END: u64 = 64 << 10;

/// A hash of the corpora of deserializers, each with its first file and how many it has: what the deserializer says of it,
/// else the sizes of its files and the first and last 64 KiB of each.
pub(crate) fn corpus<'a>(
    parts: impl Iterator<Item = (&'a DeserializerFacts, u32)>,
    resources: &dyn Fetch,
) -> Result<u64, Error> {
    let mut hash = Xxh3::new();
    let mut bytes = Vec::new();
    for (facts, first) in parts {
        if let Some(given) = facts.fingerprint {
            hash.update(&given.to_le_bytes());
            continue;
        }
        for id in (first..).map(ResourceId).take(facts.resources.len()) {
            let size = resources.size(id)?;
            hash.update(&size.to_le_bytes());
            bytes.clear();
            resources.read(id, 0..size.min(END), &mut bytes)?;
            resources.read(id, size.saturating_sub(END).max(size.min(END))..size, &mut bytes)?;
            hash.update(&bytes);
        }
    }
    Ok(hash.digest())
}

/// A hash of a text.
pub(crate) fn text(text: &str) -> u64 {
    xxh3_64(text.as_bytes())
}

/// The hash of a number's decimal text, without allocating that text.
pub(crate) fn decimal(number: u64) -> u64 {
    let mut digits = [0; 20];
    let mut rest = &mut digits[..];
    write!(rest, "{number}").expect("64 bits have at most 20 digits");
    let n = 20 - rest.len();
    xxh3_64(&digits[..n])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_hash_as_their_digits() {
        for number in [0, 7, 1_234_567, u64::MAX] {
            assert_eq!(decimal(number), text(&number.to_string()));
        }
    }
}
