//! Sparse pairs, eight bytes at a time in a machine word.
//!
//! For the next editor: the byte at the lowest address is the lowest byte of a word, so text reads from low to high.
//! `digits` has each digit's value in its byte; `other` has the high bit of every byte that is no digit, by an
//! addition that carries into it from 10 on (the masks keep the carry within the byte). Shifting the number to the
//! upper end of the word puts zeros before it, so that the same multiplications convert any number of digits.
//! Whatever is unusual ends the loop and goes to the plain parser, which also finds the faults.

use super::super::bytes::{is_blank, is_end};
use super::super::decimal::{Grammar, Real, read};
use super::super::tag::Tag;
use super::Pairs;

/// Reads pairs as far as they are ordinary.
#[inline]
pub(super) fn sparse<E: Real>(
    bytes: &[u8],
    dim: u32,
    grammar: Grammar,
    pairs: &mut Pairs,
    columns: &mut Vec<u32>,
    values: &mut Vec<E>,
) {
    let Pairs { mut at, mut next, mut sorted } = *pairs;
    // One blank, up to seven digits, a colon.
    while let Some(word) = bytes.get(at + 1..at + 9).and_then(|b| b.first_chunk::<8>()) {
        let word = u64::from_le_bytes(*word);
        let digits = word ^ 0x3030_3030_3030_3030;
        // The high bit of every byte that is no digit.
        let other =
            (((digits & 0x7F7F_7F7F_7F7F_7F7F) + 0x7676_7676_7676_7676) | digits) & 0x8080_8080_8080_8080;
        let bits = other.trailing_zeros() & !7;
        if !is_blank(bytes[at]) || bits == 0 || other == 0 || (word >> bits) as u8 != b':' {
            break;
        }
        let index = whole(digits << (64 - bits));
        if index >= dim {
            break;
        }
        let value = at + 2 + bits as usize / 8;
        // Most values are one digit, and in the same word.
        let (digit, end) = ((digits >> 8 >> bits) as u8, (word >> 16 >> bits) as u8);
        let (number, end) = if bits <= 40 && digit <= 9 && is_end(end) {
            (E::from_small(digit.into()), value + 1)
        } else {
            match read(bytes, value, grammar) {
                Some((number, end)) if bytes.get(end).is_none_or(|&b| is_end(b)) => (number, end),
                _ => break,
            }
        };
        sorted &= next <= index;
        next = index + 1;
        columns.push(index);
        values.push(number);
        at = end;
    }
    *pairs = Pairs { at, next, sorted };
}

/// The text that opens a stream's sample in rows that are read whole, and the stream.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Opening {
    /// ` |name `.
    pub(crate) tag: Tag,
    pub(crate) dim: u32,
}

/// Reads a row from `at` on, behind its id, if it is nothing but one pair of every stream, each of up to six digits, a
/// colon and a digit: the pairs, and where the next row starts.
#[inline]
pub(crate) fn whole_row<const N: usize>(
    bytes: &[u8],
    mut at: usize,
    openings: &[Opening; N],
) -> Option<([(u32, u8); N], usize)> {
    let mut pairs = [(0, 0); N];
    for (pair, opening) in pairs.iter_mut().zip(openings) {
        at += opening.tag.behind(bytes.get(at..)?)?.1;
        let word = u64::from_le_bytes(*bytes.get(at..)?.first_chunk::<8>()?);
        let digits = word ^ 0x3030_3030_3030_3030;
        let other =
            (((digits & 0x7F7F_7F7F_7F7F_7F7F) + 0x7676_7676_7676_7676) | digits) & 0x8080_8080_8080_8080;
        let bits = other.trailing_zeros() & !7;
        if bits == 0 || bits > 48 || (word >> bits) as u8 != b':' {
            return None;
        }
        *pair = (whole(digits << (64 - bits)), (digits >> 8 >> bits) as u8);
        if pair.0 >= opening.dim || pair.1 > 9 {
            return None;
        }
        at += 2 + bits as usize / 8;
        // The next stream's opening says that the value ends here.
    }
    (bytes.get(at) == Some(&b'\n')).then_some((pairs, at + 1))
}

/// The number whose decimal digits are the bytes of a word, the last in the highest byte.
#[inline]
pub(crate) fn whole(digits: u64) -> u32 {
    // Neighbours are joined to pairs, pairs to fours, fours to the whole.
    let pairs = (digits.wrapping_mul(10) + (digits >> 8)) & 0x00FF_00FF_00FF_00FF;
    let fours = (pairs.wrapping_mul(100) + (pairs >> 16)) & 0x0000_FFFF_0000_FFFF;
    (fours.wrapping_mul(10_000) + (fours >> 32)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digits_of_a_word_are_a_number() {
        let check = |text: &[u8; 8], expected| {
            assert_eq!(whole(u64::from_le_bytes(*text) ^ 0x3030_3030_3030_3030), expected);
        };
        check(b"00000007", 7);
        check(b"12345678", 12_345_678);
        check(b"99999999", 99_999_999);
    }

    #[test]
    fn what_is_odd_is_left_to_the_plain_parser() {
        let check = |text: &str, expected: &[(u32, f32)], rest: &str| {
            let (mut columns, mut values) = (Vec::new(), Vec::new());
            let mut pairs = Pairs { at: 0, next: 0, sorted: true };
            sparse::<f32>(text.as_bytes(), 100, Grammar::Cntk, &mut pairs, &mut columns, &mut values);
            let at = pairs.at;
            assert_eq!(columns.into_iter().zip(values).collect::<Vec<_>>(), expected, "{text:?}");
            assert_eq!(&text[at..], rest, "{text:?}");
        };
        check(" 1:1 2:-2.5 3:4|b 1 2 3 4\n", &[(1, 1.0), (2, -2.5), (3, 4.0)], "|b 1 2 3 4\n");
        check(" 1:1 100:1 2:1    \n", &[(1, 1.0)], " 100:1 2:1    \n");
        check(" 1:1  2:1         \n", &[(1, 1.0)], "  2:1         \n");
        check(" 12345678:1         \n", &[], " 12345678:1         \n");
        check(" :1         \n", &[], " :1         \n");
        check(" 1: 1         \n", &[], " 1: 1         \n");
        check(" 1:1x         \n", &[], " 1:1x         \n");
    }
}
