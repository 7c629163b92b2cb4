//! Single sequences beside the plan: what waited in the rows of truncated reading when a state was saved, and those
//! that `show` asks for.

use tesson_core::{Error, SequenceId};
use tesson_plan::{BatchPlan, Demand};

use super::Pipeline;
use super::corpus_index::CorpusIndex;
use super::job::WorkerScratch;
use super::ticket::{Packed, Work};
use crate::block::BlockRow;
use crate::pack::Item;

impl Pipeline {
    /// True while the index still grows, so that no sequence can be looked up.
    pub(crate) fn is_growing(&self) -> bool {
        matches!(self.shared.corpus_index, CorpusIndex::Growing(_))
    }

    /// Makes a minibatch of one sequence, as it is in a sweep, at once; of `keep` samples of it, where the data end inside
    /// it. Its faults are returned, not charged.
    ///
    /// # Errors
    /// Unreadable storage.
    pub(crate) fn single(&self, planned: SequenceId, sweep: u64, keep: Option<u32>) -> Result<Packed, Error> {
        let BlockRow { block, row } = self.shared.table().find(planned);
        let mut work = Work::new(Demand { samples: 1, workers: 1, rank: 0 });
        work.plan = BatchPlan::of_one(planned, sweep);
        work.plan.keep_of_last = keep;
        work.items.push(Item { held: 0, row });
        work.blocks.push(block);
        work.held.push(None);
        self.shared.assemble(&mut work, &mut WorkerScratch::new(&self.shared.setup))?;
        Ok(work.packed.expect("a minibatch that was made lies with its work"))
    }
}
