//! Planning ahead: from the planner's batches to tickets that know their blocks.

use std::cmp::Reverse;
use std::sync::MutexGuard;

use tesson_core::{Error, Fetch};
use tesson_plan::{Planned, Progress};

use super::ticket::{Held, Outcome, Ticket, Work};
use super::{CorpusIndex, PipelineConfig, PlanningContext, Presence, Shared, State};
use crate::pack::Item;

/// Minibatches planned in one go, at most.
pub(super) const PLANNED_AT_ONCE: usize = 32;

/// Minibatches of up to so many bytes count as that, without a look at their sequences.
const SMALL_BATCH: u64 = 256 << 10;

impl Shared {
    /// Tells the store of blocks whose sequences will be read one by one from now on.
    fn announce(&self, blocks: &[u32]) {
        let CorpusIndex::Indexed { corpus, table, .. } = &self.corpus_index else { return };
        for &block in blocks {
            let (chunk, range) = table.place(block);
            let (resource, first) = corpus.span(chunk, range.start);
            let (_, last) = corpus.span(chunk, range.end - 1);
            self.setup.resources.will_need(resource, first.start..last.end);
        }
    }

    /// Plans up to `room` minibatches.
    pub(super) fn plan(
        &self,
        mut planning: Box<PlanningContext>,
        room: usize,
        generation: u64,
    ) -> MutexGuard<'_, State> {
        let mut planned = Vec::with_capacity(room);
        let mut over = false;
        let mut wanted = false;
        while planned.len() < room && !over && !wanted {
            let demand = planning.demand;
            let mut work = planning.works.pop().unwrap_or_else(|| Box::new(Work::new(demand)));
            let (planner, index) = planning.parts();
            match planner.next_batch(index, demand, &mut work.plan) {
                Ok(Progress::Planned) => {
                    over = work.plan.data_end;
                    planning.prepare(&mut work, self.setup.charge_foreign);
                    planning.measure(&mut work, &self.setup);
                    planned.push(Ok(work));
                }
                Ok(Progress::NeedIndex) => {
                    wanted = true;
                    planning.works.push(work);
                }
                Err(e) => {
                    over = true;
                    planned.push(Err(Error::from(e)));
                }
            }
        }
        let fresh = std::mem::take(&mut planning.fresh);
        if self.setup.by_row {
            self.announce(&fresh);
        }
        let mut state = self.lock();
        if state.generation == generation {
            for work in planned {
                state.admit(work, &self.setup);
            }
            state.plan_over = over;
            if let Some(growth) = &mut state.growth {
                growth.wanted = wanted;
                if let Some(e) = growth.stopped().filter(|_| wanted) {
                    state.plan_over = true;
                    state.admit(Err(e), &self.setup);
                }
            }
        }
        state.planning = Some(planning);
        self.planner_free.notify_all();
        if state.plan_over && state.awaited > 0 {
            self.done.notify_all();
        }
        state
    }
}

impl PlanningContext {
    /// Finds the blocks of a plan.
    fn prepare(&mut self, work: &mut Work, charge_foreign: bool) {
        self.serial += 1;
        work.demand = self.demand;
        work.clear();
        self.items(&work.plan.own, &mut work.items, &mut work.blocks);
        if charge_foreign {
            self.items(&work.plan.foreign, &mut work.others, &mut work.blocks);
        }
        let (planner, index) = self.parts();
        // An index that still grows has not been passed once.
        let after = work.plan.after;
        work.passed = after.sweep.saturating_mul(index.n_sequences()).saturating_add(after.sequence);
        planner.take_retired(index, &mut work.retired);
        if let CorpusIndex::Indexed { table, .. } = &self.corpus_index {
            work.retired = work.retired.iter().flat_map(|&chunk| table.blocks(chunk)).collect();
        }
        for &block in &work.retired {
            if let Some(stamp) = self.stamps.get_mut(block as usize) {
                *stamp = (0, 0);
            }
        }
    }

    /// Finds out how many samples a minibatch has, and how many bytes, about. Where that is little whatever it holds, what
    /// was asked for counts; sparse values take about as much as their storage.
    fn measure(&mut self, work: &mut Work, setup: &PipelineConfig) {
        let own = &work.plan.own;
        let (_, index) = self.parts();
        let most = work.demand.samples.saturating_mul(setup.made_sample_bytes);
        let length = |p: &Planned| u64::from(index.lengths(p.chunk as usize).get(p.sequence as usize));
        let (samples, dense) = match most <= SMALL_BATCH {
            true => (u64::MAX, most),
            false => {
                let samples = own.iter().map(length).sum::<u64>();
                (samples, samples.saturating_mul(setup.made_sample_bytes))
            }
        };
        work.samples = usize::try_from(samples).unwrap_or(usize::MAX);
        work.bytes = dense;
        if let Some(first) = own.first().filter(|_| setup.has_sparse()) {
            let chunk = index.chunk(first.chunk as usize);
            work.bytes = dense.max(own.len() as u64 * (chunk.bytes / u64::from(chunk.n_sequences.max(1))));
        }
    }

    /// Where the planned sequences lie: appended to `items`, and the blocks that are new to `blocks`.
    fn items(&mut self, planned: &[Planned], items: &mut Vec<Item>, blocks: &mut Vec<u32>) {
        for p in planned {
            let (block, row) = self.find(p.chunk, p.sequence);
            if self.stamps.len() <= block as usize {
                self.stamps.resize(block as usize + 1, (0, 0));
            }
            let stamp = &mut self.stamps[block as usize];
            if stamp.0 != self.serial {
                if stamp.0 == 0 {
                    self.fresh.push(block);
                }
                *stamp = (self.serial, blocks.len() as u32);
                blocks.push(block);
            }
            items.push(Item { held: stamp.1, row });
        }
    }
}

impl State {
    /// Brings the planner's index up to date with what has been decoded.
    pub(super) fn sync_index(&mut self, planning: &mut PlanningContext) {
        planning.works.append(&mut self.works);
        let Some(growth) = &mut self.growth else { return };
        for grown in growth.take_fresh() {
            planning.grown.push(grown.lengths, grown.bytes);
        }
        if growth.is_sealed() && !planning.grown.is_complete() {
            planning.grown.seal();
        }
    }

    /// Takes a planned minibatch in: what it needs is looked up, queued and waited for.
    fn admit(&mut self, work: Result<Box<Work>, Error>, setup: &PipelineConfig) {
        let number = self.front + self.tickets.len() as u64;
        let mut work = match work {
            Ok(work) => work,
            Err(e) => return self.tickets.push_back(Ticket::done(Outcome::Failed(e))),
        };
        if let (Some(growth), Some(last)) = (&mut self.growth, work.plan.own.last()) {
            growth.reached = last.chunk;
        }
        if setup.by_row {
            work.held.extend(work.blocks.iter().map(|_| None));
            self.ready.push(Reverse(number));
            return self.push(Ticket::waiting(work, setup));
        }
        for &number_of_block in &work.blocks {
            let line_base = self.line_base(number_of_block);
            let block = &mut self.blocks[number_of_block as usize];
            block.last_ticket = Some(number);
            block.idle = false;
            block.unwanted = false;
            if let Presence::Absent = block.presence {
                block.presence = Presence::Queued;
                self.queue.push_back(number_of_block);
            }
            work.held.push(match &block.presence {
                Presence::Resident(resident) => Some(Held { block: resident.clone(), line_base }),
                Presence::Absent | Presence::Queued | Presence::Loading => {
                    if block.waiters.capacity() == 0 {
                        block.waiters = self.idle_waiters.pop().unwrap_or_default();
                    }
                    block.waiters.push((number, work.held.len() as u32));
                    None
                }
            });
        }
        if work.held.iter().all(Option::is_some) {
            self.ready.push(Reverse(number));
        }
        self.push(Ticket::waiting(work, setup));
    }

    fn push(&mut self, ticket: Ticket) {
        self.planned = self.planned.saturating_add(ticket.bytes);
        self.tickets.push_back(ticket);
    }
}
