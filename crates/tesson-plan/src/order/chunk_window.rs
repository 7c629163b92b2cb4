//! Chunks shuffled, and sequences among those of the chunks in a window: CNTK's block randomizer (spec/engine.md §5).
//!
//! In each sweep the chunks are shuffled, each sequence is swapped with another so that both stay within each other's
//! windows, and ranks share by the place of a sequence's chunk. `shuffle` works out one sweep; this file holds the
//! current one, and the one before it while a cursor in it may be resumed.
//!
//! Advice for the next editor: planning runs ahead of delivery, so a resume usually goes back only a little.
//! `release` says how far: sequences from there on are kept, across one end of a sweep. Going back further restarts
//! the sweep, which is correct and costs one pass over its sequence numbers; the reference reshuffles with another
//! seed there (spec/engine.md §16.1), and Tesson does not reproduce that. The bound in `working_bytes` follows from
//! how `Shuffle` grows and forgets its list: change them together.

use tesson_core::{ChunkId, Index, SequenceId};

use super::lookahead::Lookahead;
use super::places::Places;
use super::shuffle::{Shuffle, most_left, place_of_chunk};
use super::sweep::SweepOrder;
use super::{
    Definition, Next, Order, OrderInfo, OrderMemory, OrderSpec, Parameters, SharedUnit, Tumbling, Window,
};
use crate::Cursor;
use crate::Result;

/// Chunks shuffled, and sequences among those of the chunks in a window.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct ChunkWindow {
    /// The window.
    pub window: Window,
    /// The seed; sweep `w` uses `seed + w`.
    pub seed: u64,
}

pub(super) static INFO: OrderInfo = OrderInfo {
    name: "chunk_window",
    version: 1,
    code: 1,
    is_local: false,
    is_shuffled: true,
    plans_while_indexing: false,
    stops_when_full: false,
    shared_unit: SharedUnit::Chunks,
    redraws_shares: true,
    window_start: None,
    with: |Parameters { seed, window }| {
        Some(OrderSpec::ChunkWindow(ChunkWindow { window: window?, seed: seed? }))
    },
};

impl Definition for ChunkWindow {
    fn info(&self) -> &'static OrderInfo {
        &INFO
    }

    fn parameters(&self) -> Parameters {
        Parameters { seed: Some(self.seed), window: Some(self.window) }
    }

    fn build(&self) -> Box<dyn Order> {
        Box::new(ChunkWindowOrder {
            window: self.window,
            seed: self.seed,
            current: None,
            previous: None,
            oldest: None,
            retired: Vec::new(),
            lookahead: Lookahead::default(),
            is_new: true,
        })
    }

    fn check(&self, index: &Index) -> Result<()> {
        self.window.check(index, 0)
    }

    fn home(&self, index: &Index, planned: SequenceId, sweep: u64) -> u64 {
        place_of_chunk(index, planned.chunk, self.seed, sweep)
    }

    fn working_bytes(&self, index: &Index) -> u64 {
        let places = 2 * Places::bytes_of(index);
        if self.window.holds_all(index) {
            let n = index.n_sequences();
            // A list of all, made in one go, and the end of the sweep before.
            return 4 * (n + most_left(n)) + places;
        }
        let n = u128::from(index.n_sequences());
        let (window, total) = self.window.size_of_total(index);
        // Four thirds of a window are held while it moves forward, in a list with room for an eighth more; beside it, where a sweep
        // ends, what is left of one.
        let sequences = (n * u128::from(window.min(total)) * 5).div_ceil(2 * u128::from(total.max(1)));
        // Two sweeps are held for a while when one ends.
        4 * (sequences.min(2 * n) as u64) + places
    }

    fn needs_all_chunks(&self, index: &Index) -> bool {
        match self.window {
            Window::Chunks(chunks) => chunks >= index.n_chunks() as u64,
            Window::Samples(samples) => samples / 2 >= index.n_samples(),
        }
    }

    fn on_local_timeline(&self) -> Option<OrderSpec> {
        let ChunkWindow { window, seed } = *self;
        Some(OrderSpec::Tumbling(Tumbling { window, seed }))
    }
}

/// The order at work: the shuffles of one sweep after the other.
struct ChunkWindowOrder {
    window: Window,
    seed: u64,
    current: Option<Shuffle>,
    /// The sweep before the current one, while a cursor in it may be resumed.
    previous: Option<Shuffle>,
    /// The oldest cursor that may be resumed, if that is known.
    oldest: Option<Cursor>,
    /// Chunks that their sweep no longer needs and that have not been reported yet.
    retired: Vec<ChunkId>,
    lookahead: Lookahead,
    /// True until a sequence has been prepared.
    is_new: bool,
}

impl ChunkWindowOrder {
    /// Leaves a sweep for another: keeps its shuffle if a cursor in it may be resumed, or else reuses its memory.
    fn leave(&mut self, index: &Index, mut left: Shuffle, sweep: u64) -> Shuffle {
        if left.sweep < sweep {
            left.retire(u64::MAX, &mut self.retired);
        }
        let resumed_from = self.oldest.filter(|oldest| oldest.sweep <= left.sweep && left.sweep < sweep);
        let from = |oldest: Cursor| if oldest.sweep == left.sweep { oldest.sequence } else { 0 };
        if let Some(from) = resumed_from.map(from)
            && left.leave(from)
        {
            self.previous = Some(left);
            return Shuffle::new(index, self.window, self.seed, sweep);
        }
        left.restart(index, self.window, self.seed, sweep);
        left
    }
}

impl SweepOrder for ChunkWindowOrder {
    fn enter(&mut self, index: &Index, sweep: u64) {
        // A shuffle is a large value: it is not moved unless the sweep changes.
        if self.current.as_ref().is_some_and(|current| current.sweep == sweep) {
            return;
        }
        self.current = Some(match (self.current.take(), self.previous.take()) {
            (_, Some(previous)) if previous.sweep == sweep => previous,
            (Some(current), _) => self.leave(index, current, sweep),
            (None, _) => Shuffle::new(index, self.window, self.seed, sweep),
        });
    }

    fn prepare(&mut self, index: &Index, from: u64) {
        let current = self.current.as_mut().expect("a sweep is entered before it is asked");
        if self.lookahead.holds(current.sweep, from) {
            return;
        }
        if std::mem::take(&mut self.is_new) {
            current.preview(from);
        }
        let keep = match self.oldest {
            Some(oldest) if oldest.sweep == current.sweep => oldest.sequence,
            Some(oldest) if oldest.sweep < current.sweep => 0,
            _ => u64::MAX,
        };
        let end = current.prepare(from, keep);
        self.lookahead.fill(index, current.sweep, from..end, |sequence| current.get(sequence));
    }

    #[inline]
    fn prepared(&self, from: u64) -> &[Next] {
        self.lookahead.from(from)
    }
}

impl OrderMemory for ChunkWindowOrder {
    fn release(&mut self, oldest: &Cursor) {
        self.oldest = Some(*oldest);
        if self.previous.as_ref().is_some_and(|p| p.sweep < oldest.sweep) {
            self.previous = None;
        }
    }

    /// Makes a cursor's sweep current, and restarts it if the cursor's sequence has been dropped.
    fn rewind(&mut self, index: &Index, cursor: &Cursor) {
        self.enter(index, cursor.sweep);
        if let Some(current) = self.current.as_mut().filter(|c| !c.holds(cursor.sequence)) {
            current.restart(index, self.window, self.seed, cursor.sweep);
        }
    }

    fn take_retired(&mut self, _: &Index, _: &Cursor, until: &Cursor, into: &mut Vec<ChunkId>) {
        if let Some(current) = &mut self.current {
            let done = if current.sweep < until.sweep { u64::MAX } else { until.sequence };
            current.retire(done, &mut self.retired);
        }
        into.append(&mut self.retired);
    }

    /// Pools of as many sequences as a window holds, one after the other.
    fn pools(&mut self, index: &Index, sweep: u64) -> Vec<u64> {
        self.enter(index, sweep);
        let current = self.current.as_ref().expect("a sweep is entered before it is asked");
        current.pools(index, self.window)
    }

    fn bytes(&self) -> usize {
        [&self.current, &self.previous].into_iter().flatten().map(Shuffle::bytes).sum()
    }
}
