//! Single sequences beside the plan: what waited in the rows of truncated reading when a state was saved.

use tesson_core::Error;
use tesson_plan::{Demand, Planned};

use super::Pipeline;
use super::job::Bench;
use super::ticket::{Packed, Work};
use crate::pack::Item;

impl Pipeline {
    /// Makes a minibatch of one sequence, at once. It has been delivered before, so its faults are not charged again.
    ///
    /// # Errors
    /// Unreadable storage.
    pub(crate) fn single(&self, planned: Planned) -> Result<Packed, Error> {
        let (block, row) = self.shared.table().find(planned.chunk, planned.sequence);
        let mut work = Work::new(Demand { samples: 1, workers: 1, rank: 0 });
        work.plan.own.push(planned);
        work.items.push(Item { held: 0, row });
        work.blocks.push(block);
        work.held.push(None);
        self.shared.assemble(&mut work, &mut Bench::new())
    }
}
