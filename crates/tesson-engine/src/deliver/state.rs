//! The state that all threads of a pipeline share, under one lock. Each part has its own rules; here is what needs
//! several of them.
//!
//! For the next editor: everything here runs under the lock and must be short: no reading, no decoding, no allocation
//! that grows with the data. A rule that concerns one part belongs in that part, where it can be tested without
//! threads. The life of a ticket is [`State::admit`], [`State::answer`] for each missing block, [`State::start`],
//! [`State::finish`], [`State::pop`]; each keeps tickets, blocks and the memory of minibatches in step.

use tesson_core::Error;

use super::batch_budget::{BatchBudget, Candidate};
use super::corpus_index::{CorpusIndex, CorpusSize};
use super::growth::Growth;
use super::planning::{Planning, PlanningContext};
use super::residency::{Residency, Waiter};
use super::row_allowance::RowAllowance;
use super::ticket::{Held, Outcome, Started, Ticket, TicketId, Work};
use super::tickets::Tickets;
use super::{PipelineConfig, Taken};
use crate::block::BlockId;

/// The state shared by all threads.
pub(super) struct State {
    pub(super) planning: Planning,
    pub(super) tickets: Tickets,
    pub(super) residency: Residency,
    pub(super) batches: BatchBudget,
    pub(super) rows: RowAllowance,
    /// The index while it grows.
    pub(super) growth: Option<Growth>,
    /// How many tickets in front a caller waits for; 0 if none does.
    pub(super) awaited: usize,
    /// Workers that wait for something to do.
    pub(super) resting: usize,
    /// A worker has panicked.
    pub(super) broken: bool,
}

/// A minibatch to be made.
pub(super) struct Task {
    pub(super) id: TicketId,
    pub(super) work: Box<Work>,
}

/// Memory beside blocks and tickets, in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Beside {
    /// Of former minibatches, waiting to be used again.
    pub(super) idle: usize,
    /// Of samples that are being decoded.
    pub(super) decoding: usize,
}

impl State {
    pub(super) fn new(setup: &PipelineConfig, planning: PlanningContext) -> State {
        let corpus_index = planning.corpus_index();
        let size: CorpusSize = corpus_index.size();
        let growth = match corpus_index {
            CorpusIndex::Indexed(_) => None,
            CorpusIndex::Growing(resources) => Some(Growth::new(resources.clone())),
        };
        State {
            growth,
            planning: Planning::new(planning),
            tickets: Tickets::default(),
            residency: Residency::new(size.n_blocks, setup),
            batches: BatchBudget::new(setup.batch_limits()),
            rows: RowAllowance::of(size),
            awaited: 0,
            resting: 0,
            broken: false,
        }
    }

    /// Drops all tickets. Blocks stay.
    pub(super) fn discard_prefetch(&mut self) {
        self.planning.discard();
        self.tickets.discard();
        self.batches.discard();
        self.residency.discard_tickets();
        if let Some(growth) = &mut self.growth {
            growth.rewind();
        }
        self.rows.renew();
    }

    /// Takes the planner, unless a thread is planning.
    pub(super) fn take_planner(&mut self) -> Option<Box<PlanningContext>> {
        self.planning.take(self.growth.as_mut())
    }

    /// Takes the ticket in front, which is done. What it made goes to the caller in one move: it is some hundred bytes.
    pub(super) fn pop(&mut self) -> Result<Taken, Error> {
        let Some(ticket) = self.tickets.pop() else { return Ok(Taken::End) };
        self.batches.take(ticket.bytes(), ticket.charged());
        match ticket.into_outcome() {
            Some(Outcome::Failed(e)) => Err(e),
            Some(Outcome::Made(mut work)) => match work.packed.take() {
                Some(packed) => {
                    self.planning.deliver(packed.after, work);
                    Ok(Taken::Made(packed))
                }
                None => Ok(Taken::End),
            },
            None => Ok(Taken::End),
        }
    }

    /// True if a corpus has outgrown memory and everything planned before has been delivered: reading on needs an
    /// index.
    pub(super) fn is_stuck(&self) -> bool {
        self.growth.as_ref().is_some_and(|growth| growth.is_outgrown() && growth.waits())
            && self.tickets.is_empty()
            && !self.residency.is_loading()
            && self.planning.is_free()
    }

    /// True if a caller waits and this many tickets in front are done.
    pub(super) fn is_served(&self, n: usize) -> bool {
        self.awaited > 0 && self.tickets.are_done(n)
    }

    /// True if a growing corpus has something to cut or decode.
    pub(super) fn is_growth_behind(&self) -> bool {
        self.growth.as_ref().is_some_and(Growth::is_behind)
    }

    /// True unless the planner waits for an addition to the index that has not arrived.
    pub(super) fn has_news(&self) -> bool {
        !self.growth.as_ref().is_some_and(Growth::waits)
    }

    /// True if there is memory for making a minibatch.
    pub(super) fn fits(&mut self, id: TicketId, setup: &PipelineConfig) -> bool {
        let (is_front, is_awaited) = (id <= self.tickets.front_id(), self.awaited > 0);
        // What is drawn for one that its caller never takes would be lost, so none is made ahead.
        if setup.transforms.draw_in_order() && !(is_front && is_awaited) {
            self.batches.hold_back();
            return false;
        }
        if self.batches.all_fit() {
            return true;
        }
        let (part_bytes, least) = (setup.part_bytes(), self.batches.least());
        let cost = self.tickets.get(id).map_or(0, |ticket| ticket.cost(part_bytes, least));
        let front = self.tickets.front().filter(|ticket| ticket.is_waiting());
        let front_cost = front.map_or(0, |ticket| ticket.cost(part_bytes, least));
        self.batches.fits(Candidate { is_front, is_awaited, cost, front_cost })
    }

    /// Takes a ticket's work on, with the blocks that are there. It does not wait for the others any more.
    pub(super) fn start(&mut self, id: TicketId, setup: &PipelineConfig) -> Option<Task> {
        let least = self.batches.least();
        let Started { work, cost } = self.tickets.get_mut(id)?.start(setup.part_bytes(), least)?;
        self.batches.start(cost);
        for (&block, _) in work.blocks.iter().zip(&work.held).filter(|(_, held)| held.is_none()) {
            self.residency.forget_waiter(block, id);
        }
        Some(Task { id, work })
    }

    /// A minibatch has been made, or it has failed: its blocks may leave, and its caller finds it.
    pub(super) fn finish(&mut self, task: Task, made: Result<(), Error>) {
        let Task { id, work } = task;
        let tickets = &self.tickets;
        for &block in &work.retired {
            self.residency.retire(block, id, |other| tickets.get(other).is_some_and(Ticket::is_waiting));
        }
        let (outcome, bytes) = match made {
            Ok(()) => {
                let bytes = work.memory();
                self.batches.note_size(work.packed.as_ref().map_or(0, |packed| packed.arrays.bytes()));
                (Outcome::Made(work), bytes)
            }
            Err(e) => {
                self.planning.recycle(work);
                (Outcome::Failed(e), 0)
            }
        };
        if let Some(ticket) = self.tickets.get_mut(id) {
            let cost = ticket.finish(outcome, bytes);
            self.batches.finish(cost, bytes);
        }
    }

    /// Takes a planned minibatch in: what it needs is looked up, queued and waited for.
    pub(super) fn admit(&mut self, work: Result<Box<Work>, Error>, setup: &PipelineConfig) {
        let id = self.tickets.next_id();
        let mut work = match work {
            Ok(work) => work,
            Err(e) => return self.tickets.push(Ticket::done(Outcome::Failed(e))),
        };
        if let (Some(growth), Some(last)) = (&mut self.growth, work.plan.own.last()) {
            growth.reach(BlockId::of_run(last.chunk));
        }
        if setup.reading.by_row || work.is_block {
            work.held.extend(work.blocks.iter().map(|_| None));
            self.tickets.make_ready(id);
        } else {
            for (at, &block) in (0..).zip(&work.blocks) {
                let resident = self.residency.need(block, Waiter { ticket: id, at });
                let line_base = self.line_base(block);
                work.held.push(resident.map(|block| Held { block, line_base }));
            }
            if work.held.iter().all(Option::is_some) {
                self.tickets.make_ready(id);
            }
        }
        let ticket = Ticket::waiting(work, setup.memory.limit);
        self.batches.plan(ticket.bytes());
        self.tickets.push(ticket);
    }

    /// Tells the tickets that wait for a block what became of it. Returns whether one of them has failed.
    pub(super) fn answer<'e>(
        &mut self,
        mut waiters: Vec<Waiter>,
        answer: impl Fn() -> Result<Held, &'e Error>,
    ) -> bool {
        let mut failed = false;
        for Waiter { ticket: id, at } in waiters.drain(..) {
            let Some(ticket) = self.tickets.get_mut(id) else { continue };
            if !ticket.answer(at, answer()) {
                continue;
            }
            if ticket.is_done() { failed = true } else { self.tickets.make_ready(id) }
        }
        self.residency.recycle(waiters);
        failed
    }

    /// Physical line of a block's first byte, where the block itself does not know it.
    pub(super) fn line_base(&self, block: BlockId) -> u64 {
        self.growth.as_ref().map_or(0, |growth| growth.run(block).line)
    }

    /// Bytes that minibatches, samples that are being decoded, and the caller will take of the room for blocks.
    pub(super) fn reserved(&self, beside: Beside, setup: &PipelineConfig) -> usize {
        let (part_bytes, least) = (setup.part_bytes(), self.batches.least());
        let front = self.tickets.front().map_or(0, |ticket| ticket.cost(part_bytes, least));
        self.batches.reserved(front, beside.idle) + beside.decoding
    }

    /// Makes room for this many more bytes of blocks, beside the [reserved](Self::reserved) ones, by evicting idle
    /// blocks; returns false if these are not enough.
    pub(super) fn make_room(&mut self, bytes: usize, beside: Beside, setup: &PipelineConfig) -> bool {
        let reserved = self.reserved(beside, setup);
        self.residency.make_room(bytes.saturating_add(reserved))
    }

    /// Evicts blocks until there is room for what is [reserved](Self::reserved).
    pub(super) fn shrink(&mut self, beside: Beside, setup: &PipelineConfig) {
        let reserved = self.reserved(beside, setup);
        self.residency.shrink(reserved, self.tickets.front_id());
    }

    /// Bytes that pages without files may take: what is set aside for them, or what blocks leave beside what is
    /// [reserved](Self::reserved).
    pub(super) fn page_limit(&self, beside: Beside, setup: &PipelineConfig) -> usize {
        let free = self.residency.free(self.reserved(beside, setup));
        free.max(setup.pool_limits(self.batches.outside()).pages)
    }
}
