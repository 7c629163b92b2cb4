//! `skip`: all but the first examples (spec/tfds.md §8.7).

use serde_json::{Map, Value, json};
use tesson_core::ResumeError;

use super::{Below, Facts, Operator, SkipControl, Skipped, Stop};
use crate::stream::element_order::count_to;

/// Leaves out the first `n` examples; all of them if `n` is negative.
#[derive(Clone, Debug)]
pub(in crate::stream) struct Skip {
    n: i64,
    /// The number of examples still to be left out.
    left: u64,
}

impl Skip {
    pub(super) fn new(n: i64) -> Skip {
        Skip { n, left: 0 }
    }

    /// The position of a pass over elements.
    pub(in crate::stream) fn position(&self) -> Value {
        json!({"left": self.left})
    }

    /// Goes to a position of a pass over elements.
    pub(in crate::stream) fn go_to(&mut self, position: &Map<String, Value>) -> Result<(), ResumeError> {
        self.left = count_to(position, "left", self.n.unsigned_abs())?;
        Ok(())
    }
}

impl Operator for Skip {
    fn begin(&mut self, mut below: Below<'_>) {
        self.left = self.n.unsigned_abs();
        if self.n >= 0 {
            below.begin();
        }
    }

    #[inline]
    fn next(&mut self, mut below: Below<'_>) -> Result<u64, Stop> {
        if self.n < 0 {
            return Err(Stop::End);
        }
        below.leave_out(&mut self.left)?;
        below.next()
    }

    fn skip(&mut self, n: u64, mut below: Below<'_>, control: &mut SkipControl<'_>) -> Skipped {
        if self.n < 0 {
            return (0, Some(Stop::End));
        }
        // In one call: the saved state of a buffer may lie after the examples that are left out.
        let (found, stop) = below.skip(self.left.saturating_add(n), control);
        let out = found.min(self.left);
        self.left -= out;
        (found - out, stop)
    }

    fn facts(&self, below: &Facts) -> Facts {
        match self.n {
            ..0 => below.nothing(),
            n => Facts { len: below.len.map(|len| len.saturating_sub(n.unsigned_abs())), ..below.clone() },
        }
    }
}
