//! The stored order, where each rank has its own timeline (spec/engine.md §8.1); for deserializers that are not
//! composable.
//!
//! A window is the next chunk that has sequences of the rank. Ranks share by the number of the sequence in the
//! corpus, which starts again with every sweep, unlike in `as_stored`.

use tesson_core::Index;

use super::local::{Entry, FillWindow, LocalOrder};
use super::{Definition, Order, OrderInfo, OrderSpec, SharedUnit, WindowStartFields};
use crate::share::Share;
use crate::{Planned, WindowStart};

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

    fn home(&self, index: &Index, planned: Planned, _: u64) -> u64 {
        index.chunk(planned.chunk as usize).first_sequence + u64::from(planned.sequence)
    }

    fn working_bytes(&self, index: &Index) -> u64 {
        let largest = (0..index.n_chunks()).map(|c| index.chunk(c).n_sequences).max();
        4 * u64::from(largest.unwrap_or(0))
    }
}

impl FillWindow for LocalPlain {
    fn fill(&mut self, index: &Index, share: Share, next: &mut WindowStart, entries: &mut Vec<Entry>) {
        let n = index.n_chunks() as u64;
        while entries.is_empty() {
            let chunk = next.place % n;
            let first = index.chunk(chunk as usize).first_sequence;
            let lengths = index.lengths(chunk as usize);
            for i in (0..lengths.len()).filter(|&i| share.owns(first + i as u64)) {
                let planned = Planned { chunk: chunk as u32, sequence: i as u32 };
                entries.push(Entry::Sequence(planned, lengths.get(i)));
            }
            next.place = chunk + 1;
            if chunk + 1 == n {
                entries.push(Entry::SweepEnd);
                next.place = 0;
            }
        }
    }
}
