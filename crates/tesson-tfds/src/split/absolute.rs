//! Converting slices into ranges of records (spec/tfds.md §7.2, §7.4).

use tesson_core::{ConfigError, nearest};

use super::{Range, ReadInstruction, Rounding, Selection, wrong};
use crate::info::{Dataset, Split};
use crate::refusal::SplitRefusal;

/// Records `from … to - 1` of a split; none if `from` is not below `to`.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Absolute {
    /// The number of the split in the dataset.
    pub split: usize,
    /// The first record.
    pub from: i64,
    /// The record after the last one.
    pub to: i64,
}

pub(super) fn resolve(selection: &Selection, dataset: &Dataset) -> Result<Vec<Absolute>, ConfigError> {
    match selection {
        Selection::All => {
            let whole = |(split, s): (usize, &Split)| Absolute { split, from: 0, to: s.n_examples() as i64 };
            Ok(dataset.splits.iter().enumerate().map(whole).collect())
        }
        Selection::Part(instruction) => Ok(vec![part(instruction, dataset)?]),
        Selection::Sum(parts) => {
            let parts = parts.iter().map(|part| resolve(part, dataset));
            Ok(parts.collect::<Result<Vec<_>, _>>()?.concat())
        }
        Selection::Even { of, n, index, drop_remainder } => {
            if index >= n {
                return Err(wrong(&SplitRefusal::NoShare { index: *index, n: *n }));
            }
            let share = |part| even(part, *n, *index, *drop_remainder);
            Ok(resolve(of, dataset)?.into_iter().map(share).collect())
        }
    }
}

fn part(instruction: &ReadInstruction, dataset: &Dataset) -> Result<Absolute, ConfigError> {
    let name = &instruction.split;
    let Some(split) = dataset.splits.iter().position(|split| split.name == *name) else {
        return Err(unknown(name, dataset));
    };
    let lengths: Vec<i64> = dataset.splits[split].shards.iter().map(|shard| shard.len as i64).collect();
    let n: i64 = lengths.iter().sum();
    let (from, to) = bounds(instruction.range, &lengths, n).map_err(|why| {
        let (split, why) = (name.clone(), Box::new(why));
        wrong(&SplitRefusal::Within { split, why })
    })?;
    if from.unsigned_abs() > n.unsigned_abs() || to.unsigned_abs() > n.unsigned_abs() {
        return Err(wrong(&SplitRefusal::Beyond { split: name.clone(), from, to, n }));
    }
    let from_start = |bound: i64| if bound < 0 { bound + n } else { bound };
    Ok(Absolute { split, from: from_start(from), to: from_start(to) })
}

/// The bounds in examples; negative ones count from the end.
fn bounds(range: Range, lengths: &[i64], n: i64) -> Result<(i64, i64), SplitRefusal> {
    match range {
        Range::Examples(from, to) => Ok((from.unwrap_or(0), to.unwrap_or(n))),
        Range::Percent(from, to, rounding) => {
            let of = |bound: Option<f64>| bound.map(|p| percent(p, n, rounding)).transpose();
            Ok((of(from)?.unwrap_or(0), of(to)?.unwrap_or(n)))
        }
        Range::Shards(from, to) => {
            let n_shards = lengths.len() as i64;
            // Nothing but the end can be meant by an upper bound of 0.
            let end = to.map(|to| if to <= 0 { to.saturating_add(n_shards) } else { to });
            Ok((
                from.map_or(0, |from| sum_below(lengths, from)),
                end.map_or(n, |end| sum_below(lengths, end)),
            ))
        }
    }
}

fn percent(percent: f64, n: i64, rounding: Rounding) -> Result<i64, SplitRefusal> {
    match rounding {
        Rounding::Closest => Ok((percent * n as f64 / 100.0).round_ties_even() as i64),
        Rounding::DropRemainder if n < 100 => Err(SplitRefusal::FewForPercents { n }),
        Rounding::DropRemainder if percent.fract() != 0.0 => {
            Err(SplitRefusal::WholePercents { found: percent })
        }
        Rounding::DropRemainder => Ok(percent as i64 * (n / 100)),
    }
}

/// The sum of `lengths[..end]` as Python slices: a negative end counts from the back, one beyond an end is that end.
fn sum_below(lengths: &[i64], end: i64) -> i64 {
    let n = lengths.len() as i64;
    let end = if end < 0 { end.saturating_add(n).max(0) } else { end.min(n) };
    lengths[..end as usize].iter().sum()
}

/// One share of a part. The first shares take the remainder, unless it is dropped.
fn even(part: Absolute, n: u64, index: u64, drop_remainder: bool) -> Absolute {
    let (n, index) = (i128::from(n), i128::from(index));
    let m = i128::from(part.to - part.from);
    let (size, rest) = (m.div_euclid(n), if drop_remainder { 0 } else { m.rem_euclid(n) });
    // Not beyond the part, so it fits.
    let at = |i: i128| part.from + (size * i + i.min(rest)) as i64;
    Absolute { split: part.split, from: at(index), to: at(index + 1) }
}

/// Names of splits that an error lists.
const SHOWN_SPLITS: usize = 20;

fn unknown(name: &str, dataset: &Dataset) -> ConfigError {
    let names = || dataset.splits.iter().map(|split| split.name.as_str());
    let nearest = nearest(name, names()).map(str::to_owned);
    let shown: Vec<&str> = names().take(SHOWN_SPLITS).collect();
    let more = if names().count() > SHOWN_SPLITS { ", …" } else { "" };
    let there = format!("{}{more}", shown.join(", "));
    wrong(&SplitRefusal::Unknown { name: name.to_owned(), there, nearest })
}
