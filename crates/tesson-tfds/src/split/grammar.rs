//! Splits as strings: `train[10%:]+test` (spec/tfds.md §7.1).

use std::num::IntErrorKind;

use tesson_core::ConfigError;

use super::{Bound, ReadInstruction, Rounding, Selection, Unit, wrong};
use crate::refusal::SplitRefusal;

/// Parses the text of a split.
pub(super) fn parse(text: &str) -> Result<Selection, ConfigError> {
    let parts: Vec<&str> = text.split('+').collect();
    let n = parts.len();
    // White space is allowed around `+` and nowhere else.
    let trimmed = parts.into_iter().enumerate().map(|(i, part)| {
        let part = if i > 0 { part.trim_start() } else { part };
        if i + 1 < n { part.trim_end() } else { part }
    });
    let mut parts: Vec<Selection> = trimmed.map(|part| self::part(part, text)).collect::<Result<_, _>>()?;
    Ok(if n == 1 { parts.remove(0) } else { Selection::Sum(parts) })
}

fn part(part: &str, whole: &str) -> Result<Selection, ConfigError> {
    let refuse = |why: SplitRefusal| {
        let (part, whole, why) = (part.to_owned(), whole.to_owned(), Box::new(why));
        wrong(&SplitRefusal::Part { part, whole, why })
    };
    let (name, selector) = match part.split_once('[') {
        None => (part, None),
        Some((name, rest)) => {
            let selector = rest.strip_suffix(']').ok_or_else(|| refuse(SplitRefusal::OpenBracket))?;
            (name, Some(selector))
        }
    };
    if name.is_empty() || !name.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-') {
        return Err(refuse(SplitRefusal::BadName));
    }
    match selector {
        None if name == "all" => Ok(Selection::All),
        None => Ok(Selection::Part(ReadInstruction::whole(name))),
        Some(_) if name == "all" => Err(refuse(SplitRefusal::SliceOfAll)),
        Some(selector) => Ok(Selection::Part(slice(name, selector).map_err(refuse)?)),
    }
}

fn slice(name: &str, selector: &str) -> Result<ReadInstruction, SplitRefusal> {
    let Some((from, to)) = selector.split_once(':') else {
        let (number, unit) = with_unit(selector);
        if unit != Some(Unit::Shards) {
            return Err(SplitRefusal::NoSlice { found: selector.to_owned() });
        }
        let Bound::Count(shard) = bound(number, Unit::Shards)? else {
            return Err(SplitRefusal::NoWholeNumber { found: number.to_owned() });
        };
        let end = shard.saturating_add(1);
        let (from, to) = (Some(Bound::Count(shard)), Some(Bound::Count(end)));
        return ReadInstruction::new(name, from, to, Unit::Shards, Rounding::Closest);
    };
    if from.is_empty() && to.is_empty() {
        return Err(SplitRefusal::NoBounds);
    }
    let ((from, left), (to, right)) = (with_unit(from), with_unit(to));
    // One unit holds for both.
    let unit = left.or(right).unwrap_or(Unit::Examples);
    let bound = |number: &str| (!number.is_empty()).then(|| bound(number, unit)).transpose();
    let has_number = |number: &str, unit: Option<Unit>| unit.is_none() || !number.is_empty();
    if !has_number(from, left) || !has_number(to, right) {
        return Err(SplitRefusal::UnitAlone { found: selector.to_owned() });
    }
    ReadInstruction::new(name, bound(from)?, bound(to)?, unit, Rounding::Closest)
}

/// A bound without its unit, and that.
fn with_unit(bound: &str) -> (&str, Option<Unit>) {
    for (suffix, unit) in [("%", Unit::Percent), ("shard", Unit::Shards)] {
        if let Some(number) = bound.strip_suffix(suffix) {
            return (number, Some(unit));
        }
    }
    (bound, None)
}

fn bound(number: &str, unit: Unit) -> Result<Bound, SplitRefusal> {
    let no_number = || SplitRefusal::NoNumber { found: number.to_owned() };
    let plain = plain(number).ok_or_else(no_number)?;
    if unit == Unit::Percent {
        return plain.parse().map(Bound::Percent).map_err(|_| no_number());
    }
    match plain.parse::<i64>() {
        Ok(n) => Ok(Bound::Count(n)),
        // A bound beyond 64 bits is beyond every split, as the largest number is.
        Err(error) if *error.kind() == IntErrorKind::PosOverflow => Ok(Bound::Count(i64::MAX)),
        Err(error) if *error.kind() == IntErrorKind::NegOverflow => Ok(Bound::Count(i64::MIN)),
        Err(_) => Err(SplitRefusal::NoWholeNumber { found: number.to_owned() }),
    }
}

/// Digits, points and a sign before them; underscores between digits are taken out, as Python does.
fn plain(number: &str) -> Option<String> {
    let digits = number.strip_prefix('-').unwrap_or(number).as_bytes();
    let is_digit = |i: usize| digits.get(i).is_some_and(u8::is_ascii_digit);
    let is_allowed = |(i, &b): (usize, &u8)| match b {
        b'_' => i > 0 && is_digit(i - 1) && is_digit(i + 1),
        b'.' => true,
        b => b.is_ascii_digit(),
    };
    let all = !digits.is_empty() && digits.iter().enumerate().all(is_allowed);
    all.then(|| number.replace('_', ""))
}

#[cfg(test)]
mod tests {
    use super::super::Range;
    use super::*;

    fn check(text: &str, split: &str, range: Range) {
        let expected = Selection::Part(ReadInstruction { split: split.into(), range });
        assert_eq!(parse(text).unwrap(), expected, "{text}");
    }

    #[test]
    fn the_unit_of_one_bound_is_that_of_both() {
        let percent = Range::Percent(Some(10.0), Some(20.0), Rounding::Closest);
        check("train[10%:20]", "train", percent);
        check("train[10:20%]", "train", percent);
        check("train[.5%:]", "train", Range::Percent(Some(0.5), None, Rounding::Closest));
        check("a-b_c[:-1_0]", "a-b_c", Range::Examples(None, Some(-10)));
        check("train[-1shard]", "train", Range::Shards(Some(-1), Some(0)));
    }

    #[test]
    fn bounds_beyond_64_bits_are_the_furthest_ones() {
        let (far, back) = ("train[:99999999999999999999shard]", "train[-99999999999999999999:]");
        check(far, "train", Range::Shards(None, Some(i64::MAX)));
        check(back, "train", Range::Examples(Some(i64::MIN), None));
        let shard = Range::Shards(Some(i64::MAX), Some(i64::MAX));
        check("train[9223372036854775807shard]", "train", shard);
    }

    #[test]
    fn sums_may_have_white_space_around_the_plus() {
        let part = |name: &str| Selection::Part(ReadInstruction::whole(name));
        assert_eq!(parse("train \t+ test").unwrap(), Selection::Sum(vec![part("train"), part("test")]));
        assert_eq!(parse("all").unwrap(), Selection::All);
    }

    #[test]
    fn a_refusal_names_the_part_and_why() {
        let error = parse("train+test[5]").unwrap_err().to_string();
        let expected = "split: `test[5]` of `train+test[5]`: `5` is no slice; expected `from:to`, or one shard such as `2shard`";
        assert_eq!(error, expected);
        for text in
            ["train[%:5]", "train[:shard]", "train[.:]", "train[1..2%:]", "a b", "train+", "+", "train[:5]]"]
        {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
