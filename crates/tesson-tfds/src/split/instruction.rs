//! A slice of a split as users write it (spec/tfds.md §7.1).

use crate::refusal::SplitRefusal;

/// The unit of a slice's bounds.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Examples.
    Examples,
    /// Hundredths of the split.
    Percent,
    /// Files.
    Shards,
}

/// The rounding of percentages to examples.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// To the closest example.
    Closest,
    /// All percents have the same size, and the remainder belongs to none (`pct1_dropremainder`).
    DropRemainder,
}

/// A bound of a slice; negative ones count from the end.
#[derive(Copy, Clone, Debug, PartialEq)]
pub enum Bound {
    /// Examples or files.
    Count(i64),
    /// Hundredths.
    Percent(f64),
}

/// The bounds of a slice; both in the same unit. A missing one is the beginning or the end.
#[derive(Copy, Clone, Debug, PartialEq)]
pub enum Range {
    /// In examples.
    Examples(Option<i64>, Option<i64>),
    /// In hundredths.
    Percent(Option<f64>, Option<f64>, Rounding),
    /// In files.
    Shards(Option<i64>, Option<i64>),
}

/// A split or a slice of it.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadInstruction {
    /// The split's name.
    pub split: String,
    /// The part of the split.
    pub range: Range,
}

impl ReadInstruction {
    /// A slice with bounds in a unit.
    ///
    /// # Errors
    /// A bound of examples or files that is no whole number; hundredths beyond the whole.
    pub fn new(
        split: impl Into<String>,
        from: Option<Bound>,
        to: Option<Bound>,
        unit: Unit,
        rounding: Rounding,
    ) -> Result<ReadInstruction, SplitRefusal> {
        let counts = |unit| -> Result<_, SplitRefusal> {
            Ok((from.map(|b| count(b, unit)).transpose()?, to.map(|b| count(b, unit)).transpose()?))
        };
        let range = match unit {
            Unit::Examples => counts("examples").map(|(from, to)| Range::Examples(from, to))?,
            Unit::Shards => counts("shards").map(|(from, to)| Range::Shards(from, to))?,
            Unit::Percent => {
                let (from, to) = (from.map(percent).transpose()?, to.map(percent).transpose()?);
                Range::Percent(from, to, rounding)
            }
        };
        Ok(ReadInstruction { split: split.into(), range })
    }

    /// A whole split.
    pub fn whole(split: impl Into<String>) -> ReadInstruction {
        ReadInstruction { split: split.into(), range: Range::Examples(None, None) }
    }
}

fn count(bound: Bound, unit: &'static str) -> Result<i64, SplitRefusal> {
    match bound {
        Bound::Count(n) => Ok(n),
        Bound::Percent(x) => Err(SplitRefusal::Fraction { found: x, unit }),
    }
}

fn percent(bound: Bound) -> Result<f64, SplitRefusal> {
    let percent = match bound {
        Bound::Count(n) => n as f64,
        Bound::Percent(x) => x,
    };
    if (-100.0..=100.0).contains(&percent) {
        return Ok(percent);
    }
    Err(SplitRefusal::Percent { found: percent })
}
