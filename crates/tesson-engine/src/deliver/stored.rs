//! Streams that blocks keep as they were read: decoded and transformed while a minibatch is gathered.
//!
//! For the next editor: whether such a sample can be decoded is known only here, so its faults come beside those of
//! the blocks and are merged by number in the plan. Other workers' sequences are decoded too where faults count for
//! all: every rank has to see the same faults. Frames of one recording are transformed together where the result is
//! known to be equal (`Transforms::joins`); that is a matter of speed alone.

use tesson_core::Error;
use tesson_plan::{BatchKind, BatchSlot};

use super::Shared;
use super::ticket::{Work, WorkPart};
use crate::fault::Charge;
use crate::pack::{Item, Source};
use crate::samples::StreamBatch;
use crate::transform::{ChainMemory, PlacedItem, StoredBatches, Transforms};

/// These streams of a minibatch that is being gathered.
pub(super) struct StoredStreams {
    batches: StoredBatches,
    /// The batches of other workers' sequences, made only to see their faults.
    dropped: StoredBatches,
    /// The places of the own sequences in the plan, then of those of others.
    slots: Vec<BatchSlot>,
    n_own: usize,
    /// Own sequences that could not be decoded, by number among them, ascending.
    undecodable: Vec<usize>,
    faults: Vec<(BatchSlot, Charge)>,
}

/// The sequences of a minibatch that could not be decoded.
#[derive(Default)]
pub(super) struct Undecodable {
    /// By number among the minibatch's own, ascending.
    items: Vec<usize>,
    faults: Vec<(BatchSlot, Charge)>,
}

/// The number of sequences between the request for frames of recordings and their use.
const AHEAD: usize = 8;

impl Shared {
    /// The streams of a minibatch that are made before others are packed, empty; `None` if it has none.
    ///
    /// # Errors
    /// A minibatch that is known to be too large.
    pub(super) fn stored_streams(&self, work: &Work) -> Result<Option<StoredStreams>, Error> {
        let transforms = &self.setup.transforms;
        let n_own = work.items.len();
        let bytes = usize::try_from(transforms.stored_bytes(n_own)).unwrap_or(usize::MAX);
        if bytes > self.setup.largest_batch() {
            return Err(self.too_large(work, bytes));
        }
        let n_samples = if transforms.has_recordings() { self.n_samples(work) } else { 0 };
        Ok(transforms.has_stored().then(|| StoredStreams {
            batches: transforms.stored_batches(n_own, n_samples, &self.pools),
            dropped: transforms.dropped_batches(&self.pools),
            slots: work.plan.own_slots().chain(work.plan.foreign_slots()).collect(),
            n_own,
            undecodable: Vec::new(),
            faults: Vec::new(),
        }))
    }

    /// The samples of a minibatch's own sequences as the index counts them; 0 where there is no index.
    fn n_samples(&self, work: &Work) -> usize {
        let Some(blocks) = self.corpus_index.blocks() else { return 0 };
        work.plan.own.iter().map(|&own| blocks.index.length(own) as usize).sum()
    }

    /// Appends a part of a minibatch to these streams: items by number, other workers' after its own.
    ///
    /// # Errors
    /// Those of transforms that do not decode.
    pub(super) fn append_stored(
        &self,
        streams: &mut StoredStreams,
        part: WorkPart<'_>,
        sources: &[Source<'_>],
        memory: &mut ChainMemory,
    ) -> Result<(), Error> {
        let (transforms, resources) = (&self.setup.transforms, &*self.setup.resources);
        let WorkPart { work, numbers } = part;
        let n_own = streams.n_own;
        let item = |number: usize| match number.checked_sub(n_own) {
            None => work.items[number],
            Some(other) => work.others[other],
        };
        let together = transforms.join_frames();
        // Frames of a window lie all over memory: they are asked for some sequences ahead, and where they lie twice as far ahead.
        let ask = |number: usize, ask: fn(&Transforms, usize, &Source<'_>)| {
            if number < numbers.end {
                let Item { held, row } = item(number);
                ask(transforms, row as usize, &sources[held as usize]);
            }
        };
        (numbers.start..numbers.start + 2 * AHEAD).for_each(|i| ask(i, Transforms::prefetch_places));
        (numbers.start..numbers.start + AHEAD).for_each(|i| ask(i, Transforms::prefetch_frames));
        let mut number = numbers.start;
        while number < numbers.end {
            let (first, slot) = (item(number), streams.slots[number]);
            let source = &sources[first.held as usize];
            ask(number + 2 * AHEAD, Transforms::prefetch_places);
            ask(number + AHEAD, Transforms::prefetch_frames);
            // Frames of a recording often follow each other.
            let mut n = 1;
            while number + n < numbers.end.min(n_own)
                && follows(work.items[number + n - 1], work.items[number + n])
                && transforms.joins(source, work.items[number + n - 1].row as usize)
            {
                n += 1;
            }
            let rows = first.row as usize..first.row as usize + n;
            if (n > 1 || together && number < n_own)
                && source.chunk.left_out.is_empty()
                && transforms.append_together(rows, source, &mut streams.batches, memory)
            {
                number += n;
                continue;
            }
            number += 1;
            if source.chunk.is_left_out(first.row) {
                continue;
            }
            let is_own = number <= n_own;
            let into = if is_own { &mut streams.batches } else { &mut streams.dropped };
            let fault = transforms.append_stored(
                PlacedItem { item: first, place: slot },
                source,
                resources,
                into,
                memory,
            )?;
            streams.dropped.clear();
            if let Some(charge) = fault {
                streams.faults.push((slot, charge));
                streams.undecodable.extend(is_own.then_some(number - 1));
            }
        }
        Ok(())
    }

    /// The batches, each with the number of its stream, and what could not be decoded.
    pub(super) fn finish_stored(
        &self,
        streams: Option<StoredStreams>,
    ) -> (Vec<(usize, StreamBatch)>, Undecodable) {
        let Some(StoredStreams { batches, undecodable, faults, .. }) = streams else {
            return (Vec::new(), Undecodable::default());
        };
        (batches.finish(&self.setup.transforms, &self.pools), Undecodable { items: undecodable, faults })
    }

    /// Adds to the faults of a minibatch those of decoding that count now, in plan order.
    pub(super) fn charge_undecodable(
        &self,
        work: &Work,
        undecodable: &mut Undecodable,
        charges: &mut Vec<(u64, Charge)>,
    ) {
        for (slot, charge) in undecodable.faults.drain(..) {
            self.charge_in(work, slot, charge, charges);
        }
        charges.sort_by_key(|(number, _)| *number);
    }

    /// Adds a fault that was found while a minibatch was made, if it counts now.
    pub(super) fn charge_in(
        &self,
        work: &Work,
        slot: BatchSlot,
        charge: Charge,
        charges: &mut Vec<(u64, Charge)>,
    ) {
        let again =
            work.plan.kind == BatchKind::RepeatedStep || !self.is_first_visit(work, slot.planned, slot.sweep);
        if charge.fatal || !again {
            charges.push((slot.number, charge));
        }
    }
}

/// True if an item directly follows another one in the same block.
pub(super) fn follows(item: Item, next: Item) -> bool {
    item.held == next.held && item.row + 1 == next.row
}

impl StoredStreams {
    /// Bytes of the samples so far.
    pub(super) fn bytes(&self) -> usize {
        self.batches.bytes()
    }

    /// Of own items, which begin with number `first`, those that could be decoded.
    pub(super) fn decoded(&self, items: &[Item], first: usize) -> Vec<Item> {
        let is_there =
            |(number, _): &(usize, &Item)| self.undecodable.binary_search(&(first + number)).is_err();
        items.iter().enumerate().filter(is_there).map(|(_, item)| *item).collect()
    }
}

impl Undecodable {
    /// True if there is no undecodable item.
    pub(super) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// True if the minibatch's own item of this number is undecodable.
    pub(super) fn contains(&self, number: usize) -> bool {
        !self.items.is_empty() && self.items.binary_search(&number).is_ok()
    }
}
