//! `shard`: every `count`-th example, as the share of one of several readers (spec/tfds.md §8.7).

use std::num::NonZeroU64;

use serde_json::{Map, Value, json};
use tesson_core::ResumeError;

use super::{Below, Facts, Operator, SkipControl, Skipped, Stop};
use crate::stream::element_order::count_to;
use crate::{PlanRefusal, Result};

/// Delivers every `count`-th example, from `index` on.
#[derive(Clone, Debug)]
pub(in crate::stream) struct Shard {
    count: u64,
    index: u64,
    /// The number of examples to leave out before the next one of this share.
    before: u64,
}

impl Shard {
    /// A share at its beginning.
    ///
    /// # Errors
    /// [`PlanRefusal::NoSuchShare`] if `index` is not below `count`.
    pub(super) fn new(count: NonZeroU64, index: u64) -> Result<Shard> {
        let count = count.get();
        if index >= count {
            return Err(PlanRefusal::NoSuchShare { index, count });
        }
        Ok(Shard { count, index, before: index })
    }

    /// The position of a pass over elements.
    pub(in crate::stream) fn position(&self) -> Value {
        json!({"before": self.before})
    }

    /// Goes to a position of a pass over elements.
    pub(in crate::stream) fn go_to(&mut self, position: &Map<String, Value>) -> Result<(), ResumeError> {
        self.before = count_to(position, "before", self.count - 1)?;
        Ok(())
    }
}

impl Operator for Shard {
    fn begin(&mut self, mut below: Below<'_>) {
        self.before = self.index;
        below.begin();
    }

    #[inline]
    fn next(&mut self, mut below: Below<'_>) -> Result<u64, Stop> {
        below.leave_out(&mut self.before)?;
        let record = below.next()?;
        self.before = self.count - 1;
        Ok(record)
    }

    fn skip(&mut self, n: u64, mut below: Below<'_>, control: &mut SkipControl<'_>) -> Skipped {
        let wanted = (n - 1).saturating_mul(self.count).saturating_add(self.before).saturating_add(1);
        let (found, stop) = below.skip(wanted, control);
        let own = found.saturating_sub(self.before).div_ceil(self.count);
        // The next example of this share lies where it did, plus one round for each that was skipped, minus the
        // records found.
        let next = u128::from(self.before) + u128::from(own) * u128::from(self.count);
        self.before = (next - u128::from(found)) as u64;
        (own, stop)
    }

    fn facts(&self, below: &Facts) -> Facts {
        let share = |len: u64| len.saturating_sub(self.index).div_ceil(self.count);
        Facts { len: below.len.map(share), ..below.clone() }
    }
}
