//! Which blocks are in memory, which are on their way, and which make room for others.
//!
//! A block is absent, queued, being loaded, or resident. Tickets need blocks: planning a ticket queues those that are absent, and
//! the sweep's last ticket that needs a block lets it go. What goes at once and what stays while there is room is the only policy
//! here; no result depends on it.
//!
//! For the next editor: a block in memory lives as long as anyone has its [`Resident`]; evicting it here only gives
//! up this owner and its bytes in the account. `used` counts loaded blocks and reservations of running loads, never
//! both of one block. Lists are cleaned late: the queue may name blocks that were needed, evicted and needed again,
//! and `idle` blocks that are in use again, so code that takes from a list checks the block's state first. Searching a
//! list at each change would cost more than these checks. `idle` names a block once, however often it is used again:
//! with enough memory nothing is ever taken from it.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::PipelineConfig;
use super::present_blocks::PresentBlocks;
use super::ticket::TicketId;
use crate::block::{BlockId, Resident};
use crate::stats::Counters;

/// The way of a block that is not absent through memory.
enum Presence {
    Queued,
    Loading,
    Resident(Resident),
}

/// A block that is not absent.
pub(super) struct Block {
    presence: Presence,
    /// The last ticket that needs it, if any ticket does.
    last_ticket: Option<TicketId>,
    /// Bytes it holds or has reserved.
    bytes: usize,
    /// Its sweep is done with it, it stays only while there is room.
    idle: bool,
    /// The list of idle blocks has its number, though it may be in use again.
    listed: bool,
    /// Its sweep is done with it before it is even there.
    unwanted: bool,
    /// The tickets that need it and have been planned before it was there.
    waiters: Vec<Waiter>,
}

impl Block {
    fn new(presence: Presence, waiters: Vec<Waiter>) -> Block {
        Block { presence, last_ticket: None, bytes: 0, idle: false, listed: false, unwanted: false, waiters }
    }

    fn is_queued(&self) -> bool {
        matches!(self.presence, Presence::Queued)
    }

    fn is_resident(&self) -> bool {
        matches!(self.presence, Presence::Resident(_))
    }
}

/// A ticket that waits for a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Waiter {
    pub(super) ticket: TicketId,
    /// The block's number among the ticket's own.
    pub(super) at: u32,
}

/// How long blocks stay, and how many bytes they may have.
#[derive(Clone, Copy, Debug)]
pub(super) struct ResidencyLimits {
    /// Bytes of blocks in memory, with what is reserved beside them.
    pub(super) budget: usize,
    /// True if blocks stay in memory after their sweep has used them.
    pub(super) retain: bool,
}

/// All blocks of a pipeline.
pub(super) struct Residency {
    blocks: PresentBlocks,
    /// Memory of blocks' waiters, to be used again.
    idle_waiters: Vec<Vec<Waiter>>,
    /// Blocks to be loaded, in the order in which they are needed.
    queue: VecDeque<BlockId>,
    /// Loads and cuts under way.
    loading: usize,
    /// Blocks that may be evicted.
    idle: VecDeque<BlockId>,
    /// Bytes of blocks in memory, and of those being loaded.
    used: usize,
    limits: ResidencyLimits,
    counters: Arc<Counters>,
}

impl Residency {
    /// A number of blocks, all of them absent.
    pub(super) fn new(n_blocks: usize, setup: &PipelineConfig) -> Residency {
        Residency::with_limits(n_blocks, setup.residency_limits(), &setup.counters)
    }

    fn with_limits(n_blocks: usize, limits: ResidencyLimits, counters: &Arc<Counters>) -> Residency {
        Residency {
            blocks: PresentBlocks::none_of(n_blocks),
            idle_waiters: Vec::new(),
            queue: VecDeque::new(),
            loading: 0,
            idle: VecDeque::new(),
            used: 0,
            limits,
            counters: Arc::clone(counters),
        }
    }

    /// A planned ticket needs a block, as number `at` of its own. Returns the block if it is in memory; otherwise the ticket waits
    /// for it.
    pub(super) fn need(&mut self, id: BlockId, waiter: Waiter) -> Option<Resident> {
        if self.blocks.get(id).is_none() {
            let waiters = self.idle_waiters.pop().unwrap_or_default();
            self.blocks.insert(id, Block::new(Presence::Queued, waiters));
            self.queue.push_back(id);
        }
        let block = self.blocks.get_mut(id)?;
        // Tickets are admitted in plan order, so this one is the last until the next call.
        block.last_ticket = Some(waiter.ticket);
        block.idle = false;
        block.unwanted = false;
        if let Presence::Resident(resident) = &block.presence {
            return Some(resident.clone());
        }
        if block.waiters.capacity() == 0 {
            block.waiters = self.idle_waiters.pop().unwrap_or_default();
        }
        block.waiters.push(waiter);
        None
    }

    /// A ticket does not wait for a block any more.
    pub(super) fn forget_waiter(&mut self, id: BlockId, ticket: TicketId) {
        if let Some(block) = self.blocks.get_mut(id) {
            block.waiters.retain(|waiter| waiter.ticket != ticket);
        }
    }

    /// Makes a block absent, and keeps the memory of its waiters. Returns the bytes that it had.
    fn remove(&mut self, id: BlockId) -> usize {
        let Some(Block { waiters, bytes, listed, .. }) = self.blocks.remove(id) else { return 0 };
        debug_assert!(!listed, "a block leaves the list of idle ones before it leaves memory");
        self.recycle(waiters);
        bytes
    }

    /// Gives back the memory of waiters that have been told.
    pub(super) fn recycle(&mut self, mut waiters: Vec<Waiter>) {
        if waiters.capacity() > 0 {
            waiters.clear();
            self.idle_waiters.push(waiters);
        }
    }

    /// True if blocks wait to be loaded.
    pub(super) fn has_queued(&self) -> bool {
        !self.queue.is_empty()
    }

    /// True if blocks are being loaded or cut.
    pub(super) fn is_loading(&self) -> bool {
        self.loading > 0
    }

    /// The next block to be loaded. Those leave the queue that only tickets before the one in front have needed: their minibatches
    /// have been made without them.
    pub(super) fn next_queued(&mut self, front: TicketId) -> Option<BlockId> {
        while let Some(&id) = self.queue.front() {
            if self.blocks.get(id).is_some_and(Block::is_queued) {
                if self.is_needed(id, front) {
                    return Some(id);
                }
                self.remove(id);
            }
            self.queue.pop_front();
        }
        None
    }

    /// The [next block](Residency::next_queued) is being loaded, which takes so many bytes.
    pub(super) fn start_load(&mut self, id: BlockId, reserved: usize) {
        self.queue.pop_front();
        self.used += reserved;
        self.loading += 1;
        if let Some(block) = self.blocks.get_mut(id) {
            block.presence = Presence::Loading;
        }
    }

    /// A load has come to its end, and what was reserved for it is free.
    pub(super) fn end_load(&mut self, reserved: usize) {
        self.loading -= 1;
        self.used -= reserved;
    }

    /// A byte run of a corpus that grows is being cut.
    pub(super) fn start_cut(&mut self) {
        self.loading += 1;
    }

    /// A byte run has been cut, and decoded if there was one.
    pub(super) fn end_cut(&mut self) {
        self.loading -= 1;
    }

    /// A byte run is the last block from now on, and is being decoded.
    pub(super) fn push_loading(&mut self) {
        self.blocks.push(Block::new(Presence::Loading, Vec::new()));
    }

    /// A block of so many bytes is in memory; returns who waits for it. It leaves again if its sweep is done with it.
    pub(super) fn settle(&mut self, id: BlockId, resident: Resident, bytes: usize) -> Vec<Waiter> {
        let Some(block) = self.blocks.get_mut(id) else { unreachable!("it is being loaded") };
        self.used += bytes;
        block.presence = Presence::Resident(resident);
        block.bytes = bytes;
        block.idle = false;
        let waiters = std::mem::take(&mut block.waiters);
        let is_unwanted = std::mem::take(&mut block.unwanted);
        self.counters.blocks_loaded.fetch_add(1, Ordering::Relaxed);
        self.counters.resident_bytes.store(self.used as u64, Ordering::Relaxed);
        self.counters.peak_resident_bytes.fetch_max(self.used as u64, Ordering::Relaxed);
        if is_unwanted {
            self.leave(id);
        }
        waiters
    }

    /// A block could not be loaded; returns who waits for it.
    pub(super) fn fail(&mut self, id: BlockId) -> Vec<Waiter> {
        self.blocks.remove(id).map_or_else(Vec::new, |block| block.waiters)
    }

    /// A byte run could not be decoded: nothing was planned of it.
    pub(super) fn forget_run(&mut self, id: BlockId) {
        self.remove(id);
    }

    /// The sweep does not come back to a block after this ticket. `is_waiting` tells whether another ticket still waits for its
    /// blocks.
    pub(super) fn retire(&mut self, id: BlockId, ticket: TicketId, is_waiting: impl Fn(TicketId) -> bool) {
        let Some(block) = self.blocks.get_mut(id) else { return };
        if block.last_ticket.is_some_and(|last| last > ticket) {
            return;
        }
        match block.presence {
            Presence::Loading => block.unwanted = true,
            Presence::Resident(_) => self.leave(id),
            Presence::Queued => {
                // Tickets are made in any order: an earlier one may still wait for it. If none does, the rows that were
                // needed of it have been fetched by themselves.
                block.unwanted = block.waiters.iter().any(|waiter| is_waiting(waiter.ticket));
                if !block.unwanted {
                    self.remove(id);
                }
            }
        }
    }

    /// True if a block is needed by the ticket in front or a later one.
    fn is_needed(&self, id: BlockId, front: TicketId) -> bool {
        let last_ticket = self.blocks.get(id).and_then(|block| block.last_ticket);
        last_ticket.is_some_and(|last| last >= front)
    }

    /// A block is not needed for now: it stays while there is room, or goes at once.
    fn leave(&mut self, id: BlockId) {
        if !self.limits.retain {
            return self.evict(id);
        }
        if let Some(block) = self.blocks.get_mut(id).filter(|block| !block.idle) {
            block.idle = true;
            if !std::mem::replace(&mut block.listed, true) {
                self.idle.push_back(id);
            }
        }
    }

    fn evict(&mut self, id: BlockId) {
        self.used -= self.remove(id);
        self.counters.blocks_evicted.fetch_add(1, Ordering::Relaxed);
    }

    /// Bytes of blocks in memory, and of those being loaded.
    pub(super) fn used(&self) -> usize {
        self.used
    }

    /// Bytes that are left beside blocks and `reserved` bytes.
    pub(super) fn free(&self, reserved: usize) -> usize {
        self.limits.budget.saturating_sub(self.used.saturating_add(reserved))
    }

    /// True if this many more bytes of blocks fit without evicting any.
    pub(super) fn has_room(&self, bytes: usize) -> bool {
        self.used.saturating_add(bytes) <= self.limits.budget
    }

    /// Makes room for this many more bytes by evicting idle blocks; returns false if these are not enough.
    pub(super) fn make_room(&mut self, bytes: usize) -> bool {
        while !self.has_room(bytes) {
            let Some(id) = self.idle.pop_front() else { return false };
            let Some(block) = self.blocks.get_mut(id) else { continue };
            block.listed = false;
            if block.idle {
                self.evict(id);
            }
        }
        true
    }

    /// Evicts blocks until there is room for so many bytes: idle ones, then those that no ticket from the one in front on needs.
    pub(super) fn shrink(&mut self, bytes: usize, front: TicketId) {
        if self.make_room(bytes) {
            return;
        }
        for id in self.blocks.ids() {
            if self.has_room(bytes) {
                break;
            }
            if self.blocks.get(id).is_some_and(Block::is_resident) && !self.is_needed(id, front) {
                self.evict(id);
            }
        }
    }

    /// No ticket needs any block. Blocks stay, but for those that minibatches have taken rows out of.
    pub(super) fn discard_tickets(&mut self) {
        for id in std::mem::take(&mut self.queue) {
            // A block is in the queue twice if it was not needed for a while; it may have been loaded already.
            if self.blocks.get(id).is_some_and(Block::is_queued) {
                self.remove(id);
            }
        }
        let mut divided = Vec::new();
        for (id, block) in self.blocks.iter_mut() {
            block.last_ticket = None;
            block.waiters.clear();
            if let Presence::Resident(resident) = &block.presence
                && resident.slices().is_some()
            {
                divided.push(id);
            }
        }
        divided.into_iter().for_each(|id| self.evict(id));
    }
}

#[cfg(test)]
mod tests {
    use tesson_core::Chunk;

    use super::*;
    use crate::block::{ChunkPool, Decoded};

    const A: BlockId = BlockId(0);
    const B: BlockId = BlockId(1);

    fn residency(budget: usize, retain: bool) -> Residency {
        Residency::with_limits(3, ResidencyLimits { budget, retain }, &Arc::default())
    }

    fn waiter(ticket: usize) -> Waiter {
        Waiter { ticket: TicketId::default().after(ticket), at: 0 }
    }

    fn id(ticket: usize) -> TicketId {
        waiter(ticket).ticket
    }

    fn resident() -> Resident {
        Resident::new(Decoded::columns(Chunk::empty()), &Arc::new(ChunkPool::new(0)))
    }

    /// Loads the next block, of so many bytes.
    fn load(residency: &mut Residency, bytes: usize) -> Vec<Waiter> {
        let id = residency.next_queued(TicketId::default()).expect("a block is queued");
        residency.start_load(id, bytes);
        residency.end_load(bytes);
        residency.settle(id, resident(), bytes)
    }

    #[test]
    fn a_block_is_queued_once_and_everyone_who_waits_is_told() {
        let mut residency = residency(100, true);
        assert!(residency.need(A, waiter(0)).is_none() && residency.need(A, waiter(1)).is_none());
        assert_eq!(load(&mut residency, 10), [waiter(0), waiter(1)]);
        assert!(!residency.has_queued() && residency.need(A, waiter(2)).is_some());
        assert_eq!((residency.used(), residency.free(30)), (10, 60));
    }

    #[test]
    fn a_block_that_nobody_needs_any_more_is_not_loaded() {
        let mut residency = residency(100, true);
        residency.need(A, waiter(0));
        residency.need(B, waiter(1));
        assert_eq!(residency.next_queued(id(1)), Some(B));
        // It is queued again when it is needed again.
        residency.need(A, waiter(2));
        assert!(residency.has_queued());
        assert_eq!(residency.next_queued(id(2)), Some(A));
    }

    #[test]
    fn a_sweep_that_is_done_with_a_block_evicts_it_or_leaves_it_while_there_is_room() {
        for retain in [false, true] {
            let mut residency = residency(100, retain);
            residency.need(A, waiter(0));
            residency.need(A, waiter(1));
            load(&mut residency, 60);
            residency.retire(A, id(0), |_| false);
            // The other ticket needs it yet.
            assert_eq!(residency.used(), 60);
            residency.retire(A, id(1), |_| false);
            assert_eq!(residency.used(), if retain { 60 } else { 0 });
            assert!(residency.make_room(100) && residency.used() == 0);
            assert!(!residency.make_room(101));
        }
    }

    #[test]
    fn an_idle_block_that_is_needed_again_stays() {
        let mut residency = residency(100, true);
        residency.need(A, waiter(0));
        load(&mut residency, 60);
        residency.retire(A, id(0), |_| false);
        assert!(residency.need(A, waiter(1)).is_some());
        assert!(!residency.make_room(50) && residency.used() == 60);
        // Not even where memory has to be found, unless no ticket needs it.
        residency.shrink(50, id(1));
        assert_eq!(residency.used(), 60);
        residency.shrink(50, id(2));
        assert_eq!(residency.used(), 0);
    }

    #[test]
    fn a_block_is_listed_once_however_often_it_is_used_again() {
        let mut residency = residency(100, true);
        residency.need(A, waiter(0));
        let waiters = load(&mut residency, 30);
        residency.recycle(waiters);
        for ticket in 0..50 {
            residency.need(A, waiter(ticket));
            residency.retire(A, id(ticket), |_| false);
            // Nobody waited for it: it was in memory.
            residency.recycle(Vec::new());
        }
        assert_eq!((residency.idle.len(), residency.idle_waiters.len()), (1, 1));
        // One that is taken from the list while it is in use is listed again after that.
        residency.need(A, waiter(50));
        assert!(!residency.make_room(80) && residency.idle.is_empty());
        residency.retire(A, id(50), |_| false);
        assert!(residency.make_room(80) && residency.used() == 0);
    }

    #[test]
    fn a_block_whose_sweep_ends_before_it_is_there_leaves_at_once() {
        let mut residency = residency(100, false);
        residency.need(A, waiter(0));
        residency.start_load(A, 10);
        residency.retire(A, id(0), |_| true);
        residency.end_load(10);
        assert_eq!(residency.settle(A, resident(), 10), [waiter(0)]);
        assert_eq!(residency.used(), 0);
        // One that is not being loaded is loaded only for those who wait.
        residency.need(B, waiter(1));
        residency.retire(B, id(1), |_| true);
        assert_eq!(residency.next_queued(id(0)), Some(B));
        residency.retire(B, id(1), |_| false);
        assert_eq!(residency.next_queued(id(0)), None);
    }

    #[test]
    fn a_failed_block_is_tried_again_when_it_is_needed_again() {
        let mut residency = residency(100, false);
        residency.need(A, waiter(0));
        residency.start_load(A, 10);
        residency.end_load(10);
        assert_eq!(residency.fail(A), [waiter(0)]);
        assert!(!residency.is_loading() && residency.used() == 0);
        residency.need(A, waiter(1));
        assert_eq!(residency.next_queued(id(0)), Some(A));
    }

    #[test]
    fn discarded_tickets_wait_for_nothing_and_blocks_stay() {
        let mut residency = residency(100, false);
        residency.need(A, waiter(0));
        load(&mut residency, 10);
        residency.need(B, waiter(0));
        residency.discard_tickets();
        assert!(!residency.has_queued() && residency.used() == 10);
        residency.need(B, waiter(1));
        assert_eq!(load(&mut residency, 10), [waiter(1)]);
    }
}
