//! The tickets of a pipeline, in the order of the plan.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use super::ticket::{Ticket, TicketId};

/// All tickets that have not been taken.
#[derive(Default)]
pub(super) struct Tickets {
    queue: VecDeque<Ticket>,
    /// The one in front, or the next one that is planned.
    front: TicketId,
    /// Those whose blocks are all there.
    ready: BinaryHeap<Reverse<TicketId>>,
}

impl Tickets {
    pub(super) fn len(&self) -> usize {
        self.queue.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// The ticket in front.
    pub(super) fn front(&self) -> Option<&Ticket> {
        self.queue.front()
    }

    /// The number of the ticket in front.
    pub(super) fn front_id(&self) -> TicketId {
        self.front
    }

    /// The number that the next ticket gets.
    pub(super) fn next_id(&self) -> TicketId {
        self.front.after(self.queue.len())
    }

    pub(super) fn push(&mut self, ticket: Ticket) {
        self.queue.push_back(ticket);
    }

    /// Takes the ticket in front.
    pub(super) fn pop(&mut self) -> Option<Ticket> {
        let ticket = self.queue.pop_front()?;
        self.front = self.front.after(1);
        Some(ticket)
    }

    pub(super) fn get(&self, id: TicketId) -> Option<&Ticket> {
        self.queue.get(id.since(self.front)?)
    }

    pub(super) fn get_mut(&mut self, id: TicketId) -> Option<&mut Ticket> {
        self.queue.get_mut(id.since(self.front)?)
    }

    /// The first ticket that waits for blocks.
    pub(super) fn first_waiting(&self) -> Option<TicketId> {
        self.queue.iter().position(Ticket::is_waiting).map(|at| self.front.after(at))
    }

    /// True if the first `n` tickets are done.
    pub(super) fn are_done(&self, n: usize) -> bool {
        self.queue.len() >= n && self.queue.iter().take(n).all(Ticket::is_done)
    }

    /// All blocks of a ticket are there.
    pub(super) fn make_ready(&mut self, id: TicketId) {
        self.ready.push(Reverse(id));
    }

    /// The first ticket whose blocks are all there.
    pub(super) fn ready(&self) -> Option<TicketId> {
        self.ready.peek().map(|&Reverse(id)| id)
    }

    /// Somebody takes on the ticket that is [ready](Tickets::ready).
    pub(super) fn take_ready(&mut self) {
        self.ready.pop();
    }

    /// Drops all tickets; their numbers are not given again.
    pub(super) fn discard(&mut self) {
        self.front = self.next_id();
        self.queue.clear();
        self.ready.clear();
    }
}

#[cfg(test)]
mod tests {
    use tesson_core::UsageError;

    use super::super::ticket::Outcome;
    use super::*;

    fn done() -> Ticket {
        Ticket::done(Outcome::Failed(UsageError::new("as planned".into()).into()))
    }

    #[test]
    fn a_number_names_its_ticket_until_that_is_taken_or_discarded() {
        let mut tickets = Tickets::default();
        let ids: Vec<TicketId> = (0..3)
            .map(|_| {
                let id = tickets.next_id();
                tickets.push(done());
                id
            })
            .collect();
        assert!(tickets.are_done(3) && !tickets.are_done(4));
        assert!(tickets.pop().is_some());
        assert!(tickets.get(ids[0]).is_none() && tickets.get(ids[1]).is_some());
        assert_eq!(tickets.front_id(), ids[1]);
        tickets.discard();
        assert!(tickets.is_empty() && ids.iter().all(|&id| tickets.get(id).is_none()));
        let next = tickets.next_id();
        assert!(next > ids[2]);
        tickets.push(done());
        assert!(tickets.get(next).is_some());
    }

    #[test]
    fn the_first_in_the_order_of_the_plan_is_made_first() {
        let mut tickets = Tickets::default();
        let ids: Vec<TicketId> = (0..3).map(|n| TicketId::default().after(n)).collect();
        [2, 0, 1].into_iter().for_each(|n| tickets.make_ready(ids[n]));
        for id in ids {
            assert_eq!(tickets.ready(), Some(id));
            tickets.take_ready();
        }
        assert_eq!(tickets.ready(), None);
    }
}
