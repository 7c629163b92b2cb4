//! Tickets: planned minibatches on their way.
//!
//! For the next editor: a ticket is waiting, being made, or done, and never goes back. Its [`Work`] is a box that
//! moves from the planner through the ticket to the worker and, once the minibatch is taken, back to the planner: its
//! lists keep their memory from minibatch to minibatch. Numbers of tickets are never given twice; a block or worker
//! that answers to a discarded ticket finds none.

use std::ops::Range;

use tesson_core::Error;
use tesson_plan::{BatchPlan, BatchShare, BatchSlot, Cursor, Demand};

use crate::arrays::Arrays;
use crate::block::{BlockId, Resident};
use crate::fault::Charge;
use crate::pack::Item;

/// The number of a ticket: that of its minibatch in the order of the plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct TicketId(u64);

impl TicketId {
    /// The `n`-th number after this one.
    pub(super) fn after(self, n: usize) -> TicketId {
        TicketId(self.0 + n as u64)
    }

    /// How many numbers lie between another one and this one, unless this one is earlier.
    pub(super) fn since(self, other: TicketId) -> Option<usize> {
        usize::try_from(self.0.checked_sub(other.0)?).ok()
    }
}

/// A planned minibatch and the data it needs.
pub(super) struct Work {
    pub(super) plan: BatchPlan,
    /// Whose share it is.
    pub(super) demand: Demand,
    /// Sequences from the start of the data to the end of the plan, over all sweeps and ranks.
    pub(super) passed: u64,
    /// The sequences to be packed, as rows of `blocks`.
    pub(super) items: Vec<Item>,
    /// Sequences of the global minibatch that others deliver and whose faults count all the same.
    pub(super) others: Vec<Item>,
    /// True if the minibatch is read as a block of its own, and needs none of `blocks`.
    pub(super) is_block: bool,
    /// The blocks that its sequences lie in, each once.
    pub(super) blocks: Vec<BlockId>,
    /// Those of them that are in memory.
    pub(super) held: Vec<Option<Held>>,
    /// Blocks that this sweep does not come back to after this minibatch.
    pub(super) retired: Vec<BlockId>,
    /// Samples that each stream of the minibatch has, at most.
    pub(super) samples: usize,
    /// Bytes that the minibatch will have, as far as the plan tells.
    pub(super) bytes: u64,
    /// The minibatch, once it is made.
    pub(super) packed: Option<Packed>,
}

impl Work {
    pub(super) fn new(demand: Demand) -> Work {
        Work {
            plan: BatchPlan::default(),
            demand,
            passed: 0,
            items: Vec::new(),
            others: Vec::new(),
            is_block: false,
            blocks: Vec::new(),
            held: Vec::new(),
            retired: Vec::new(),
            samples: 0,
            bytes: 0,
            packed: None,
        }
    }

    /// Forgets all but the plan, keeping the memory.
    pub(super) fn clear(&mut self) {
        self.items.clear();
        self.others.clear();
        self.blocks.clear();
        self.held.clear();
        self.retired.clear();
    }

    /// Bytes of memory that the minibatch holds, once it is made.
    pub(super) fn memory(&self) -> usize {
        self.packed.as_ref().map_or(0, |packed| packed.arrays.memory())
    }
}

/// Some of a minibatch's sequences: by number its own, then those of other ranks.
#[derive(Clone)]
pub(super) struct WorkPart<'a> {
    pub(super) work: &'a Work,
    pub(super) numbers: Range<usize>,
}

/// A block in memory, and the line it begins at. Holding it keeps it there.
pub(super) struct Held {
    pub(super) block: Resident,
    pub(super) line_base: u64,
}

/// Where a ticket stands.
enum Stage {
    /// For the blocks it does not hold yet, so many of which are still to come.
    Waiting { work: Box<Work>, missing: usize, failed: Option<Box<FailedBlock>> },
    /// A worker makes it.
    Making,
    /// It can be handed out.
    Done(Outcome),
}

/// A block that could not be loaded: the first one among those of a ticket, whichever failed first.
struct FailedBlock {
    at: u32,
    error: Error,
}

/// The reason why a ticket cannot be made yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wait {
    pub(super) sequences: usize,
    pub(super) missing_blocks: usize,
}

/// A minibatch that is being made, and the bytes that it takes meanwhile.
pub(super) struct Started {
    pub(super) work: Box<Work>,
    pub(super) cost: usize,
}

/// A planned minibatch.
pub(super) struct Ticket {
    stage: Stage,
    /// Bytes that the minibatch will have, as far as the plan tells; the memory limit at most, as it is refused then.
    bytes: usize,
    /// Bytes that it takes since it is being made.
    charged: usize,
}

impl Ticket {
    /// A ticket that waits for the blocks that it does not hold. More than `most` bytes are refused.
    pub(super) fn waiting(work: Box<Work>, most: usize) -> Ticket {
        let missing = work.held.iter().filter(|h| h.is_none()).count();
        let bytes = work.bytes.min(most as u64) as usize;
        Ticket { bytes, charged: 0, stage: Stage::Waiting { work, missing, failed: None } }
    }

    pub(super) fn done(outcome: Outcome) -> Ticket {
        Ticket { stage: Stage::Done(outcome), bytes: 0, charged: 0 }
    }

    /// Bytes that the minibatch will have, as far as the plan tells.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Bytes that it takes since it is being made.
    pub(super) fn charged(&self) -> usize {
        self.charged
    }

    pub(super) fn is_done(&self) -> bool {
        matches!(self.stage, Stage::Done(_))
    }

    pub(super) fn is_waiting(&self) -> bool {
        matches!(self.stage, Stage::Waiting { .. })
    }

    pub(super) fn into_outcome(self) -> Option<Outcome> {
        match self.stage {
            Stage::Done(outcome) => Some(outcome),
            Stage::Waiting { .. } | Stage::Making => None,
        }
    }

    /// Block `at` of the ticket's is there, or could not be loaded. Whether that was the last one it waited for: it can be
    /// made then, or it [has failed](Ticket::is_done), with the error of the first block that failed in the order of the
    /// minibatch, whichever was tried first.
    pub(super) fn answer(&mut self, at: u32, answer: Result<Held, &Error>) -> bool {
        let Stage::Waiting { work, missing, failed } = &mut self.stage else { return false };
        *missing -= 1;
        match answer {
            Ok(held) => work.held[at as usize] = Some(held),
            Err(_) if failed.as_ref().is_some_and(|first| first.at < at) => {}
            Err(error) => *failed = Some(Box::new(FailedBlock { at, error: error.clone() })),
        }
        if *missing > 0 {
            return false;
        }
        if let Some(first) = failed.take() {
            self.stage = Stage::Done(Outcome::Failed(first.error));
        }
        true
    }

    /// Bytes that it will take while it is made, `least` or more: what is not in memory is decoded beside it, in parts of about
    /// so many bytes.
    pub(super) fn cost(&self, part_bytes: usize, least: usize) -> usize {
        let bytes = self.bytes.max(least);
        match &self.stage {
            Stage::Waiting { missing: 1.., .. } => bytes + bytes.min(part_bytes),
            _ => bytes,
        }
    }

    /// The data that a waiting ticket lacks; `None` in later stages.
    pub(super) fn wait(&self) -> Option<Wait> {
        let Stage::Waiting { work, missing, .. } = &self.stage else { return None };
        Some(Wait { sequences: work.items.len(), missing_blocks: *missing })
    }

    /// Takes the work and its inputs, to make the minibatch. Sequences of blocks that are missing are fetched by themselves, also
    /// where a block could not be loaded: maybe for bytes that the minibatch does not need.
    pub(super) fn start(&mut self, part_bytes: usize, least: usize) -> Option<Started> {
        let cost = self.cost(part_bytes, least);
        match std::mem::replace(&mut self.stage, Stage::Making) {
            Stage::Waiting { work, .. } => {
                self.charged = cost;
                Some(Started { work, cost })
            }
            other => {
                self.stage = other;
                None
            }
        }
    }

    /// The minibatch has been made, and takes so many bytes; returns what it took meanwhile.
    pub(super) fn finish(&mut self, outcome: Outcome, bytes: usize) -> usize {
        self.stage = Stage::Done(outcome);
        std::mem::replace(&mut self.charged, bytes)
    }
}

/// A minibatch as it leaves the workers.
pub(crate) struct Packed {
    /// The first sequence that was planned.
    pub(crate) first: Option<BatchSlot>,
    /// Samples kept of the last one, where the data end inside it.
    pub(crate) keep_of_last: Option<u32>,
    pub(crate) arrays: Arrays,
    pub(crate) share: Option<BatchShare>,
    pub(crate) sweep_end: bool,
    pub(crate) data_end: bool,
    /// True if no rank has a sequence in it, as far as can be known without the others' data, and none has to take it
    /// as a step.
    pub(crate) is_empty: bool,
    /// Where the plan stands after it.
    pub(crate) after: Cursor,
    /// Sequences from the start of the data to there, over all sweeps and ranks.
    pub(crate) passed: u64,
    pub(crate) charges: Vec<Charge>,
    /// A refusal of the packer: this minibatch cannot be delivered, the next one may.
    pub(crate) refused: Option<Error>,
}

/// The result of making a ticket; the minibatch is stored with its work.
pub(super) enum Outcome {
    Made(Box<Work>),
    Failed(Error),
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tesson_core::{Chunk, UsageError};

    use super::*;
    use crate::block::{ChunkPool, Decoded};

    /// A ticket that waits for so many blocks.
    fn waiting(n: usize) -> Ticket {
        let mut work = Box::new(Work::new(Demand { samples: 1, workers: 1, rank: 0 }));
        work.held.resize_with(n, || None);
        Ticket { stage: Stage::Waiting { work, missing: n, failed: None }, bytes: 0, charged: 0 }
    }

    fn held() -> Held {
        let block = Resident::new(Decoded::columns(Chunk::empty()), &Arc::new(ChunkPool::new(0)));
        Held { block, line_base: 0 }
    }

    #[test]
    fn it_can_be_made_once_all_blocks_are_there() {
        let mut ticket = waiting(2);
        assert!(!ticket.answer(1, Ok(held())));
        assert!(ticket.answer(0, Ok(held())));
        assert!(!ticket.is_done() && ticket.start(0, 0).is_some());
    }

    #[test]
    fn the_first_of_its_blocks_that_fails_is_its_error_whichever_is_tried_first() {
        let errors = ["first", "second"].map(|text| Error::from(UsageError::new(text.into())));
        for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            let mut ticket = waiting(3);
            for (n, at) in order.into_iter().enumerate() {
                let answer = if at == 0 { Ok(held()) } else { Err(&errors[at as usize - 1]) };
                assert_eq!(ticket.answer(at, answer), n == 2, "{order:?}");
            }
            let Some(Outcome::Failed(error)) = ticket.into_outcome() else { panic!("{order:?}: not failed") };
            assert_eq!(error.to_string(), errors[0].to_string(), "{order:?}");
        }
    }
}
