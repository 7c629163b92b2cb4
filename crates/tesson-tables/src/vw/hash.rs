//! The columns of names, which are their hashes.

/// How names become numbers, in the words of Vowpal Wabbit's option `--hash`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NameHash {
    /// Names of digits are numbers already.
    Strings,
    /// All names are hashed.
    All,
}

impl NameHash {
    /// The number of a name behind the one whose number is `seed`.
    pub(super) fn of(self, name: &[u8], seed: u64) -> u64 {
        let is_space = |byte: &u8| *byte <= b' ';
        let start = name.iter().take_while(|byte| is_space(byte)).count();
        let trimmed = &name[start..];
        let end = trimmed.iter().rev().take_while(|byte| is_space(byte)).count();
        let trimmed = &trimmed[..trimmed.len() - end];
        if self == NameHash::All {
            return murmur3(name, seed as u32).into();
        }
        if !trimmed.iter().all(u8::is_ascii_digit) {
            return murmur3(trimmed, seed as u32).into();
        }
        let number = trimmed
            .iter()
            .fold(0_u64, |number, digit| number.wrapping_mul(10).wrapping_add(u64::from(digit - b'0')));
        number.wrapping_add(seed)
    }
}

/// MurmurHash3 of 32 bits, Austin Appleby's `MurmurHash3_x86_32`.
fn murmur3(bytes: &[u8], seed: u32) -> u32 {
    let mixed = |word: u32| word.wrapping_mul(0xcc9e_2d51).rotate_left(15).wrapping_mul(0x1b87_3593);
    let (words, rest) = bytes.as_chunks::<4>();
    let mut hash = words.iter().fold(seed, |hash, word| {
        (hash ^ mixed(u32::from_le_bytes(*word))).rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64)
    });
    if !rest.is_empty() {
        let mut word = [0; 4];
        word[..rest.len()].copy_from_slice(rest);
        hash ^= mixed(u32::from_le_bytes(word));
    }
    hash ^= bytes.len() as u32;
    hash = (hash ^ hash >> 16).wrapping_mul(0x85eb_ca6b);
    hash = (hash ^ hash >> 13).wrapping_mul(0xc2b2_ae35);
    hash ^ hash >> 16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_of_murmur3() {
        for (text, seed, expected) in [
            ("", 0, 0),
            ("", 1, 0x514e_28b7),
            ("", u32::MAX, 0x81f1_6f39),
            ("test", 0, 0xba6b_d213),
            ("test", 0x9747_b28c, 0x704b_81dc),
            ("Hello, world!", 0, 0xc036_3e43),
            ("Hello, world!", 0x9747_b28c, 0x2488_4cba),
            ("aaa", 0x9747_b28c, 0x283e_0130),
            ("aa", 0x9747_b28c, 0x5d21_1726),
        ] {
            assert_eq!(murmur3(text.as_bytes(), seed), expected, "{text:?} {seed}");
        }
    }

    #[test]
    fn columns_are_those_of_vowpal_wabbit() {
        let column = |mode: NameHash, namespace: &str, names: &[&str]| {
            let seed = mode.of(namespace.as_bytes(), 0);
            names.iter().fold(seed, |seed, name| mode.of(name.as_bytes(), seed)) % (1 << 18)
        };
        // As version 9.11 prints them with `--audit`.
        for (namespace, names, strings, all) in [
            ("a", &["x"][..], 55432, 55432),
            ("a", &["7"], 92601, 31062),
            ("x", &["z"], 182_338, 182_338),
            ("b", &["x", "str"], 40796, 40796),
            ("b", &["12"], 163_343, 181_763),
            ("b", &["012"], 163_343, 196_992),
            ("b", &["é"], 224_290, 224_290),
            ("5", &["a"], 66185, 16590),
            ("5", &["3"], 8, 245_861),
            ("f", &["q"], 236_429, 236_429),
        ] {
            assert_eq!(column(NameHash::Strings, namespace, names), strings, "{namespace} {names:?}");
            assert_eq!(column(NameHash::All, namespace, names), all, "{namespace} {names:?}");
        }
    }
}
