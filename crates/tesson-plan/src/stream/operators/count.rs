//! The check that the files supply as many examples as the split counts (spec/tfds.md §8.11).

use std::fmt;

use super::{Below, Facts, Operator, SkipControl, Skipped, Stop};

/// The error that the files do not supply as many examples as the plan counts (spec/tfds.md §8.11).
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct CountMismatch {
    /// Examples that were expected.
    pub expected: u64,
    /// The examples that were found; if there are more than expected, one more than that.
    pub found: u64,
}

impl fmt::Display for CountMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { expected, found } = self;
        if found > expected {
            write!(f, "found more examples in the shards, expected the {expected} of the split")
        } else {
            write!(f, "found {found} examples in the shards, expected the {expected} of the split")
        }
    }
}

impl std::error::Error for CountMismatch {}

/// Compares the number of examples with the expected one.
#[derive(Clone, Debug)]
pub(in crate::stream) struct Count {
    expected: u64,
    found: u64,
}

impl Count {
    pub(in crate::stream) fn new(expected: u64) -> Count {
        Count { expected, found: 0 }
    }

    /// The number of further examples that are not too many.
    pub(in crate::stream) fn left(&self) -> u64 {
        self.expected - self.found
    }

    /// The error for the present count.
    pub(in crate::stream) fn mismatch(&self) -> CountMismatch {
        CountMismatch { expected: self.expected, found: self.found }
    }

    /// Counts examples that have been taken from below, no more than are left.
    pub(in crate::stream) fn add(&mut self, n: u64) {
        self.found += n;
    }
}

impl Operator for Count {
    fn begin(&mut self, mut below: Below<'_>) {
        self.found = 0;
        below.begin();
    }

    #[inline]
    fn next(&mut self, mut below: Below<'_>) -> Result<u64, Stop> {
        let answer = below.next();
        self.found += u64::from(answer.is_ok());
        let is_wrong = match answer {
            Ok(_) => self.found > self.expected,
            Err(_) => self.found != self.expected,
        };
        if is_wrong {
            return Err(Stop::WrongCount);
        }
        answer
    }

    fn skip(&mut self, n: u64, mut below: Below<'_>, control: &mut SkipControl<'_>) -> Skipped {
        let (skipped, stop) = below.skip(n.min(self.left()), control);
        self.found += skipped;
        match stop {
            None if skipped == n => (n, None),
            // Either one example too many or the end; `next` decides.
            _ => (skipped, self.next(below).err()),
        }
    }

    /// The facts of the layer below; with a wrong count no traversal is read to its end.
    fn facts(&self, below: &Facts) -> Facts {
        let whole = below.whole.clone().filter(|_| below.len == Some(self.expected));
        Facts { whole, ..below.clone() }
    }
}
