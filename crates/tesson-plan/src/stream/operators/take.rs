//! `take`: the first examples (spec/tfds.md §8.7).

use serde_json::{Map, Value, json};
use tesson_core::ResumeError;

use super::{Below, Facts, Operator, SkipControl, Skipped, Stop};
use crate::stream::element_order::count_to;

/// Delivers the first `n` examples.
#[derive(Clone, Debug)]
pub(in crate::stream) struct Take {
    n: u64,
    left: u64,
}

impl Take {
    /// A negative number stands for all examples.
    pub(super) fn new(n: i64) -> Take {
        Take { n: u64::try_from(n).unwrap_or(u64::MAX), left: 0 }
    }

    /// The position of a pass over elements.
    pub(in crate::stream) fn position(&self) -> Value {
        json!({"taken": self.n - self.left})
    }

    /// Goes to a position of a pass over elements.
    pub(in crate::stream) fn go_to(&mut self, position: &Map<String, Value>) -> Result<(), ResumeError> {
        self.left = self.n - count_to(position, "taken", self.n)?;
        Ok(())
    }
}

impl Operator for Take {
    fn begin(&mut self, mut below: Below<'_>) {
        self.left = self.n;
        if self.n > 0 {
            below.begin();
        }
    }

    #[inline]
    fn next(&mut self, mut below: Below<'_>) -> Result<u64, Stop> {
        if self.left == 0 {
            return Err(Stop::End);
        }
        let record = below.next()?;
        self.left -= 1;
        Ok(record)
    }

    fn skip(&mut self, n: u64, mut below: Below<'_>, control: &mut SkipControl<'_>) -> Skipped {
        let (skipped, stop) = below.skip(n.min(self.left), control);
        self.left -= skipped;
        (skipped, stop.or((skipped < n).then_some(Stop::End)))
    }

    fn facts(&self, below: &Facts) -> Facts {
        if self.n == 0 {
            return below.nothing();
        }
        let to_the_end = below.len.is_some_and(|len| self.n > len);
        // If nothing below is traversed twice (`once`), the first example begins every pass that is begun at all.
        let whole = below.whole.clone().filter(|_| to_the_end || below.once);
        Facts { len: Some(below.len.map_or(self.n, |len| len.min(self.n))), whole, ..below.clone() }
    }
}
