//! The stored order, where each rank has its own timeline (spec/engine.md §8.1); for deserializers that are not
//! composable.
//!
//! A window is the next chunk that has sequences of the rank. Ranks share by the number of the sequence in the
//! corpus, which starts again with every sweep, unlike in `as_stored`.

use tesson_core::{ChunkId, Index, SequenceId};

use super::local::{Entry, FillWindow, LocalOrder};
use super::{Definition, Order, OrderInfo, OrderSpec, SharedUnit, WindowStartFields};
use crate::WindowStart;
use crate::share::Share;

/// [`OrderSpec::LocalPlain`].
pub(super) struct LocalPlain;

pub(super) static INFO: OrderInfo = OrderInfo {
    name: "local_plain",
    version: 1,
    code: 4,
    is_local: true,
    is_shuffled: false,
    plans_while_indexing: false,
    stops_when_full: false,
    shared_unit: SharedUnit::Sequences,
    redraws_shares: false,
    window_start: Some(WindowStartFields {
        place: "currentChunkPosition",
        // The reference counts it only with several workers.
        sweep: "currentSequencePosition",
        sweep_is_ignored: true,
    }),
    with: |_| Some(OrderSpec::LocalPlain),
};

impl Definition for LocalPlain {
    fn info(&self) -> &'static OrderInfo {
        &INFO
    }

    fn build(&self) -> Box<dyn Order> {
        Box::new(LocalOrder::new(LocalPlain))
    }

    fn home(&self, index: &Index, planned: SequenceId, _: u64) -> u64 {
        index.number_of(planned)
    }

    fn working_bytes(&self, index: &Index) -> u64 {
        let largest = index.chunk_ids().map(|c| index.chunk(c).n_sequences).max();
        4 * u64::from(largest.unwrap_or(0))
    }
}

impl FillWindow for LocalPlain {
    fn fill(&mut self, index: &Index, share: Share, next: &mut WindowStart, entries: &mut Vec<Entry>) {
        let n = index.n_chunks() as u64;
        while entries.is_empty() {
            // In stored order the place of a chunk is its number.
            let place = next.place % n;
            let chunk = ChunkId(place as u32);
            let first = index.chunk(chunk).first_sequence;
            let lengths = index.lengths(chunk);
            for i in (0..lengths.len()).filter(|&i| share.owns(first + i as u64)) {
                let planned = SequenceId { chunk, sequence: i as u32 };
                entries.push(Entry::Sequence(planned, lengths.get(i)));
            }
            next.place = place + 1;
            if place + 1 == n {
                entries.push(Entry::SweepEnd);
                next.place = 0;
            }
        }
    }
}
