//! Chunks shuffled, and sequences within one window of chunks after the other, where each rank has its own timeline
//! (spec/engine.md §8.2).
//!
//! Ranks share by the place of a chunk in the sweep. A window takes chunks of the rank until it is full, even across
//! sweep ends; the sequences of each sweep in it are shuffled together.
//!
//! Advice for the next editor: the seed of each shuffle is the sum of the place at which the window began (0 after a
//! sweep end), the sweep and the seed, and the shuffle is the tail swap (spec/engine.md §4), not the full swap of `shuffle.rs`. Both
//! are CNTK's. With several workers the reference crashes or hangs in cases that are listed there; this file follows
//! the rules of the text in them.

use tesson_core::{ChunkId, Index, SequenceId};

use super::local::{Entry, FillWindow, LocalOrder};
use super::shuffle::{chunk_places, place_of_chunk};
use super::{Definition, Order, OrderInfo, OrderSpec, Parameters, SharedUnit, Window, WindowStartFields};
use crate::Result;
use crate::WindowStart;
use crate::rng::Mt19937_64;
use crate::share::Share;

/// Chunks shuffled, and sequences within one window of chunks after the other.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Tumbling {
    /// The amount that is shuffled at a time.
    pub window: Window,
    /// The seed; sweep `w` uses `seed + w`.
    pub seed: u64,
}

pub(super) static INFO: OrderInfo = OrderInfo {
    name: "tumbling",
    version: 1,
    code: 5,
    is_local: true,
    is_shuffled: true,
    plans_while_indexing: false,
    stops_when_full: false,
    shared_unit: SharedUnit::Chunks,
    redraws_shares: true,
    window_start: Some(WindowStartFields {
        place: "chunkPosition",
        sweep: "sweepIndex",
        sweep_is_ignored: false,
    }),
    with: |Parameters { seed, window }| Some(OrderSpec::Tumbling(Tumbling { window: window?, seed: seed? })),
};

impl Definition for Tumbling {
    fn info(&self) -> &'static OrderInfo {
        &INFO
    }

    fn parameters(&self) -> Parameters {
        Parameters { seed: Some(self.seed), window: Some(self.window) }
    }

    fn build(&self) -> Box<dyn Order> {
        Box::new(LocalOrder::new(TumblingWindows { order: *self, places: (0, Vec::new()) }))
    }

    fn check(&self, index: &Index) -> Result<()> {
        self.window.check(index, 1)
    }

    fn home(&self, index: &Index, planned: SequenceId, sweep: u64) -> u64 {
        place_of_chunk(index, planned.chunk, self.seed, sweep)
    }

    fn working_bytes(&self, index: &Index) -> u64 {
        let n = index.n_sequences();
        let (window, total) = self.window.size_of_total(index);
        // A window may hold a small corpus many times. An entry takes 16 bytes, in a list that doubles its capacity.
        let entries = (u128::from(n) * u128::from(window)).div_ceil(u128::from(total.max(1)));
        u64::try_from(entries).unwrap_or(u64::MAX).saturating_add(n).saturating_mul(32)
    }

    fn needs_all_chunks(&self, index: &Index) -> bool {
        let (window, total) = self.window.size_of_total(index);
        window >= total
    }
}

/// The filler of windows, with the order of the chunks in the sweep that was needed last.
struct TumblingWindows {
    order: Tumbling,
    places: (u64, Vec<ChunkId>),
}

impl TumblingWindows {
    /// The chunk at a place of a sweep.
    fn chunk_at(&mut self, index: &Index, WindowStart { place, sweep }: WindowStart) -> ChunkId {
        if self.places.0 != sweep || self.places.1.len() != index.n_chunks() {
            self.places = (sweep, chunk_places(index.n_chunks(), self.order.seed.wrapping_add(sweep)));
        }
        self.places.1[place as usize]
    }
}

impl FillWindow for TumblingWindows {
    fn fill(&mut self, index: &Index, share: Share, next: &mut WindowStart, entries: &mut Vec<Entry>) {
        let Tumbling { window, seed } = self.order;
        let mut left = window.size();
        let (mut start, mut base) = (0, next.place);
        while left > 0 {
            let WindowStart { place, sweep } = *next;
            if share.owns(place) {
                let chunk = self.chunk_at(index, *next);
                let lengths = index.lengths(chunk);
                for i in 0..lengths.len() {
                    entries.push(Entry::Sequence(SequenceId { chunk, sequence: i as u32 }, lengths.get(i)));
                }
                left = left.saturating_sub(window.size_of_chunk(index, chunk));
            }
            next.place += 1;
            if next.place == index.n_chunks() as u64 {
                shuffle(&mut entries[start..], base.wrapping_add(sweep).wrapping_add(seed));
                entries.push(Entry::SweepEnd);
                (start, base) = (entries.len(), 0);
                *next = WindowStart { place: 0, sweep: sweep.wrapping_add(1) };
            }
        }
        shuffle(&mut entries[start..], base.wrapping_add(next.sweep).wrapping_add(seed));
    }

    fn bytes(&self) -> usize {
        self.places.1.capacity() * size_of::<ChunkId>()
    }
}

/// Shuffles by the tail swap of spec/engine.md §4. `entries` is a tail of the window. The specification counts
/// positions within the whole window; the draws are the same.
fn shuffle(entries: &mut [Entry], seed: u64) {
    let mut generator = Mt19937_64::new(seed);
    let n = entries.len();
    for i in 0..n {
        let j = i as u64 + generator.draw() % (n - i) as u64;
        entries.swap(i, j as usize);
    }
}
