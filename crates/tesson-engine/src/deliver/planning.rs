//! Where planning stands: the planner, unless a thread is planning, and what it plans on.
//!
//! For the next editor: [`Planning`] stays in the state; the thread that plans or moves the planner takes
//! [`PlanningContext`] out of it, so its absence is the lock on the planner. `delivered` is kept apart from the planner's own
//! cursor, which is as far ahead as was planned: the planner may forget what lies before the last delivery, and
//! nothing after it.

use tesson_core::{ChunkId, Index, SequenceId};
use tesson_plan::{Cursor, Demand, Planner};

use super::PipelineConfig;
use super::corpus_index::CorpusIndex;
use super::growth::Growth;
use super::ticket::Work;
use crate::block::{BlockId, BlockRow};
use crate::pack::Item;

/// Minibatches of up to so many bytes count as that, without a look at their sequences.
const SMALL_BATCH: u64 = 256 << 10;

/// Where planning stands.
pub(super) struct Planning {
    /// The planner, unless a thread is planning.
    context: Option<Box<PlanningContext>>,
    /// Changes whenever what was planned is discarded.
    generation: u64,
    /// True if there is something to plan: a demand is known.
    running: bool,
    /// The plan has come to its end, or to an error.
    over: bool,
    /// Where the plan stands after the last minibatch handed out.
    delivered: Cursor,
    /// Memory of minibatches that have been made, for the next plans.
    #[expect(clippy::vec_box, reason = "tickets hand them on in their boxes")]
    works: Vec<Box<Work>>,
}

impl Planning {
    pub(super) fn new(context: PlanningContext) -> Planning {
        Planning {
            context: Some(Box::new(context)),
            generation: 0,
            running: false,
            over: false,
            delivered: Cursor::default(),
            works: Vec::new(),
        }
    }

    /// The number of times that plans were discarded; a plan of an earlier generation is void.
    pub(super) fn generation(&self) -> u64 {
        self.generation
    }

    /// True if no thread is planning.
    pub(super) fn is_free(&self) -> bool {
        self.context.is_some()
    }

    /// True if nothing more will be planned.
    pub(super) fn is_over(&self) -> bool {
        self.over
    }

    /// True if a thread that plans would find something to do.
    pub(super) fn is_wanted(&self) -> bool {
        self.running && !self.over
    }

    /// Takes the planner, unless another thread has it. Its index is brought up to date with what has been decoded.
    pub(super) fn take(&mut self, growth: Option<&mut Growth>) -> Option<Box<PlanningContext>> {
        let mut context = self.context.take()?;
        context.works.append(&mut self.works);
        if let Some(growth) = growth {
            context.grow(growth);
        }
        Some(context)
    }

    /// Takes the planner like [`take`](Planning::take), after releasing in it what has been delivered.
    pub(super) fn take_to_plan(&mut self, growth: Option<&mut Growth>) -> Option<Box<PlanningContext>> {
        let mut context = self.take(growth)?;
        context.planner.released(self.delivered);
        Some(context)
    }

    /// Gives the planner back after planning.
    pub(super) fn give_back(&mut self, context: Box<PlanningContext>) {
        self.context = Some(context);
    }

    /// Gives the planner back after it has been moved; planning resumes there if there is a demand.
    pub(super) fn begin(&mut self, context: Box<PlanningContext>, has_demand: bool) {
        self.delivered = context.planner.cursor();
        self.context = Some(context);
        self.running = has_demand;
    }

    /// Discards the plans that were made, and stops planning until there is a new demand.
    pub(super) fn discard(&mut self) {
        self.generation += 1;
        self.running = false;
        self.over = false;
    }

    /// The plan has come to its end, or it has not.
    pub(super) fn set_over(&mut self, over: bool) {
        self.over = over;
    }

    /// A minibatch has been handed out, after which the plan stands here.
    pub(super) fn deliver(&mut self, after: Cursor, work: Box<Work>) {
        self.delivered = after;
        self.recycle(work);
    }

    /// Gives the memory of a minibatch back.
    pub(super) fn recycle(&mut self, work: Box<Work>) {
        self.works.push(work);
    }
}

/// The planner and what it plans on: taken out of the state while a thread plans.
pub(crate) struct PlanningContext {
    planner: Planner,
    corpus_index: CorpusIndex,
    /// The index while it grows.
    grown: Index,
    demand: Demand,
    /// For each block its number among those of the last plan that needs it, plus 1; 0 where no plan of the block's sweep needed
    /// it before the last ones.
    places: Vec<u32>,
    /// Blocks that no plan of their sweep needed before the last ones.
    fresh: Vec<BlockId>,
    /// Memory for the chunks that a sweep does not come back to.
    retired_chunks: Vec<ChunkId>,
    /// In a stored order the blocks that the last plan ended in: of its own sequences, and of those of other ranks.
    reached: [Option<BlockId>; 2],
    /// Memory of minibatches that have been made.
    #[expect(clippy::vec_box, reason = "tickets hand them on in their boxes")]
    works: Vec<Box<Work>>,
}

impl PlanningContext {
    pub(crate) fn new(planner: Planner, corpus_index: CorpusIndex) -> PlanningContext {
        PlanningContext {
            planner,
            corpus_index,
            grown: Index::new(),
            demand: Demand { samples: 1, workers: 1, rank: 0 },
            places: Vec::new(),
            fresh: Vec::new(),
            retired_chunks: Vec::new(),
            reached: [None; 2],
            works: Vec::new(),
        }
    }

    /// The index that it plans on.
    pub(super) fn corpus_index(&self) -> &CorpusIndex {
        &self.corpus_index
    }

    /// Whose minibatches are planned, and of which size.
    pub(super) fn demand(&self) -> Demand {
        self.demand
    }

    pub(super) fn set_demand(&mut self, demand: Demand) {
        self.demand = demand;
    }

    /// The planner beside the index it plans on.
    pub(super) fn parts(&mut self) -> (&mut Planner, &Index) {
        match &self.corpus_index {
            CorpusIndex::Indexed(blocks) => (&mut self.planner, &blocks.index),
            CorpusIndex::Growing(_) => (&mut self.planner, &self.grown),
        }
    }

    /// Memory for the next minibatch.
    pub(super) fn work(&mut self) -> Box<Work> {
        self.works.pop().unwrap_or_else(|| Box::new(Work::new(self.demand)))
    }

    /// Gives memory back that no minibatch was planned into.
    pub(super) fn recycle(&mut self, work: Box<Work>) {
        self.works.push(work);
    }

    /// Blocks that no plan of their sweep needed before those since the last call.
    pub(super) fn take_fresh(&mut self) -> Vec<BlockId> {
        std::mem::take(&mut self.fresh)
    }

    /// Brings the index up to date with what has been decoded.
    fn grow(&mut self, growth: &mut Growth) {
        for grown in growth.take_fresh() {
            self.grown.push(grown.lengths, grown.bytes);
        }
        if growth.is_sealed() && !self.grown.is_complete() {
            self.grown.seal();
        }
    }

    /// Finds the blocks of a plan.
    pub(super) fn prepare(&mut self, work: &mut Work, setup: &PipelineConfig) {
        work.demand = self.demand;
        work.clear();
        self.items(&work.plan.own, &mut work.items, &mut work.blocks);
        if setup.charge_foreign {
            self.items(&work.plan.foreign, &mut work.others, &mut work.blocks);
        }
        let mut retired = std::mem::take(&mut self.retired_chunks);
        let (planner, index) = self.parts();
        // An index that still grows has not been passed once.
        let after = work.plan.after;
        work.passed = after.sweep.saturating_mul(index.n_sequences()).saturating_add(after.sequence);
        retired.clear();
        planner.take_retired(index, &mut retired);
        match &self.corpus_index {
            CorpusIndex::Indexed(blocks) => {
                work.retired.extend(retired.iter().flat_map(|&chunk| blocks.table.blocks(chunk)));
            }
            CorpusIndex::Growing(_) => {
                work.retired.extend(retired.iter().map(|chunk| BlockId::of_run(*chunk)))
            }
        }
        self.retired_chunks = retired;
        if setup.passes_by() {
            self.retire_passed(work);
        }
        for block in &work.retired {
            if let Some(place) = self.places.get_mut(block.index()) {
                *place = 0;
            }
        }
    }

    /// In a stored order blocks are needed one after the other, so a plan is the last that needs any but those that it ends in: what
    /// is left of a large chunk need not wait in memory for the end of the chunk.
    fn retire_passed(&mut self, work: &mut Work) {
        let before = self.reached;
        for (reached, items) in self.reached.iter_mut().zip([&work.items, &work.others]) {
            *reached = items.last().map(|item| work.blocks[item.held as usize]).or(*reached);
        }
        let passed = before.iter().flatten().chain(&work.blocks);
        work.retired.extend(passed.filter(|block| !self.reached.contains(&Some(**block))));
    }

    /// Finds out how many samples a minibatch has, and how many bytes, about. Where that is little whatever it holds, what
    /// was asked for counts; sparse values take about as much as their storage.
    pub(super) fn measure(&mut self, work: &mut Work, setup: &PipelineConfig) {
        let own = &work.plan.own;
        let (_, index) = self.parts();
        let made = setup.sample_bytes.made;
        let most = work.demand.samples.saturating_mul(made);
        let length = |p: &SequenceId| u64::from(index.length(*p));
        let (samples, dense) = if most <= SMALL_BATCH {
            (u64::MAX, most)
        } else {
            let samples = own.iter().map(length).sum::<u64>();
            (samples, samples.saturating_mul(made))
        };
        work.samples = usize::try_from(samples).unwrap_or(usize::MAX);
        work.bytes = dense;
        if let Some(first) = own.first().filter(|_| setup.has_sparse()) {
            let chunk = index.chunk(first.chunk);
            work.bytes = dense.max(own.len() as u64 * (chunk.bytes / u64::from(chunk.n_sequences.max(1))));
        }
    }

    /// Where the planned sequences lie: appended to `items`, and the blocks that are new to `blocks`.
    fn items(&mut self, planned: &[SequenceId], items: &mut Vec<Item>, blocks: &mut Vec<BlockId>) {
        for &p in planned {
            let BlockRow { block, row } = self.find(p);
            if self.places.len() <= block.index() {
                self.places.resize(block.index() + 1, 0);
            }
            // A place left by an earlier plan is recognized by the list of this plan's blocks, so `places`, which has
            // an entry for each block, need not be cleared for each minibatch.
            let place = &mut self.places[block.index()];
            if place.checked_sub(1).and_then(|at| blocks.get(at as usize)) != Some(&block) {
                if *place == 0 {
                    self.fresh.push(block);
                }
                blocks.push(block);
                *place = blocks.len() as u32;
            }
            items.push(Item { held: *place - 1, row });
        }
    }

    /// The block that holds a sequence, and where it lies in it.
    fn find(&self, planned: SequenceId) -> BlockRow {
        match &self.corpus_index {
            CorpusIndex::Indexed(blocks) => blocks.table.find(planned),
            CorpusIndex::Growing(_) => {
                BlockRow { block: BlockId::of_run(planned.chunk), row: planned.sequence }
            }
        }
    }
}
