//! The shuffle of one sweep: chunk order, windows, and the pass over the sequences (spec/engine.md §5).
//!
//! Advice for the next editor: the order of draws is CNTK's and part of every saved state. The same seed makes the
//! chunk order and, in a second generator, the pass over the sequences; each position of the pass draws at least
//! once, and again for every rejected partner. Neither shuffle is uniform (decision 23), and both must stay as they
//! are.
//!
//! Sequences are named by their *position* before the shuffle, so "its home lies in the window" is "its position lies
//! in the window's positions", and a table of places is needed only to find from which slots a sequence may be taken
//! (`reach`). Windows move forward only; all of the laziness rests on that. A slot is final when the pass has left
//! the last slot with a window that holds it, which is `reach_end` of its place.
//!
//! The whole order of a sweep as a list was rejected (decision 2): 4 GB at 10⁹ sequences, and a full pass before the
//! first minibatch even for small windows. With one window over everything the list is the whole order anyway; there
//! [`SweepPreview`] serves the first minibatches.

use tesson_core::{ChunkId, Index, SequenceId};

use super::Window;
use super::places::{Place, Places};
use super::sweep_preview::SweepPreview;
use crate::rng::{Mt19937_64, Remainder};

/// The chunks by place in a sweep; `seed` is the base seed + the number of the sweep (spec/engine.md §5.1).
pub(super) fn chunk_places(n: usize, seed: u64) -> Vec<ChunkId> {
    let mut chunks = Vec::new();
    place_chunks(n, seed, &mut chunks);
    chunks
}

/// Writes the chunks by place in a sweep to a list, whose memory is reused.
pub(super) fn place_chunks(n: usize, seed: u64, chunks: &mut Vec<ChunkId>) {
    chunks.clear();
    chunks.extend((0..n as u32).map(ChunkId));
    let mut generator = Mt19937_64::new(seed);
    let remainder = Remainder::by((n as u64).max(1));
    for i in 0..n {
        // Every item swaps with any other. That is not uniform, but it is CNTK's shuffle.
        chunks.swap(i, remainder.of(generator.draw()) as usize);
    }
}

/// The place of a chunk in a sweep.
pub(super) fn place_of_chunk(index: &Index, chunk: ChunkId, seed: u64, sweep: u64) -> u64 {
    let places = chunk_places(index.n_chunks(), seed.wrapping_add(sweep));
    places.iter().position(|&other| other == chunk).map_or(u64::MAX, |place| place as u64)
}

/// How many of the `n` sequences of a sweep that was shuffled as a whole stay at most when it is left.
pub(super) fn most_left(n: u64) -> u64 {
    (n / 8).max(4096).min(n)
}

/// The order of one sweep, worked out no further than needed.
///
/// Holds 4 bytes a sequence of one and a half windows or so and [what the places take](Places::bytes_of).
pub(super) struct Shuffle {
    pub(super) sweep: u64,
    places: Places,
    generator: Mt19937_64,
    /// The sequence at positions `base`, `base + 1`, …, by its position before the shuffle.
    list: Vec<u32>,
    base: u32,
    /// The position that the pass has reached, and its place.
    next: u32,
    place: usize,
    /// Serves the first minibatches of a run instead of the list.
    preview: Option<SweepPreview>,
    /// The number of places with chunks that have been reported as done.
    retired: usize,
}

impl Shuffle {
    /// The shuffle of a sweep. The corpus has fewer than 2^32 sequences.
    pub(super) fn new(index: &Index, window: Window, seed: u64, sweep: u64) -> Shuffle {
        let mut shuffle = Shuffle {
            sweep,
            places: Places::default(),
            generator: Mt19937_64::new(seed),
            list: Vec::new(),
            base: 0,
            next: 0,
            place: 0,
            preview: None,
            retired: 0,
        };
        shuffle.restart(index, window, seed, sweep);
        shuffle
    }

    /// Works out only the few sequences from `from` on if the whole sweep would take long.
    pub(super) fn preview(&mut self, from: u64) {
        if self.places.is_whole() {
            self.preview = SweepPreview::of(&self.generator, self.places.end(), from as u32);
        }
    }

    /// Begins another sweep, in the memory of this one.
    pub(super) fn restart(&mut self, index: &Index, window: Window, seed: u64, sweep: u64) {
        let seed = seed.wrapping_add(sweep);
        self.sweep = sweep;
        self.places.lay_out(index, window, seed);
        self.generator = Mt19937_64::new(seed);
        self.list.clear();
        (self.base, self.next, self.place, self.retired) = (0, 0, 0, 0);
        self.preview = None;
    }

    /// The positions at which pools begin, each of as many places as fill a window, and the end of the sweep.
    pub(super) fn pools(&self, index: &Index, window: Window) -> Vec<u64> {
        let mut begins = Vec::new();
        let mut taken: u64 = 0;
        for place in (0..self.places.len()).map(|p| self.places.at(p)) {
            let size = window.size_of_chunk(index, place.chunk);
            if begins.is_empty() || taken + size > window.size() {
                begins.push(place.first.into());
                taken = 0;
            }
            taken += size;
        }
        begins.push(self.places.end().into());
        begins
    }

    /// Works the sweep out as far as sequence `from` needs, and returns the end of the sequences that are final then.
    /// Sequences before the window of `from`, and before `keep`, may be forgotten; going back to them restarts the
    /// sweep.
    pub(super) fn prepare(&mut self, from: u64, keep: u64) -> u64 {
        if let Some(end) = self.preview.as_ref().and_then(|preview| preview.end(from)) {
            return end;
        }
        self.preview = None;
        let all = self.places.end();
        let slot = self.places.find(from as u32);
        if self.next < all {
            let Place { begin, reach_end, .. } = self.places.at(slot);
            self.forget(begin.min(keep.min(from) as u32));
            self.run(reach_end);
        }
        if self.next == all { all.into() } else { self.places.at(slot + 1).first.into() }
    }

    /// True if sequence `from` has not been forgotten.
    pub(super) fn holds(&self, from: u64) -> bool {
        from >= self.base.into()
    }

    /// Drops the sequences before a position if there are enough to be worth moving the rest, which is at most three times as many.
    fn forget(&mut self, before: u32) {
        let before = before.min(self.places.at(self.place).begin).saturating_sub(self.base) as usize;
        if before > 1024 && before * 4 > self.list.len() {
            self.list.drain(..before);
            self.base += before as u32;
        }
    }

    /// Forgets the sequences before `from` of a sweep that is left for a later one, and gives their memory back. Returns true if
    /// what stays is little enough to lie beside the list of the next sweep ([`most_left`]).
    pub(super) fn leave(&mut self, from: u64) -> bool {
        let all = self.places.end();
        let before = if self.next == all { all } else { self.places.at(self.place).begin };
        let before = before.min(from.min(all.into()) as u32).saturating_sub(self.base) as usize;
        if self.places.is_whole() && (self.list.len() - before) as u64 > most_left(all.into()) {
            return false;
        }
        self.list.drain(..before);
        self.list.shrink_to_fit();
        self.base += before as u32;
        true
    }

    /// Makes room for `n` more sequences, and for an eighth more than there are: a window over much of the data is memory that
    /// its blocks do not have.
    fn make_room(&mut self, n: usize) {
        if self.list.capacity() - self.list.len() < n {
            self.list.reserve_exact(n.max(self.list.len() / 8));
        }
    }

    /// Runs the pass up to a position at which a place begins.
    fn run(&mut self, goal: u32) {
        while self.next < goal {
            let place = self.places.at(self.place);
            let to = self.places.at(self.place + 1).first;
            let filled = self.base + self.list.len() as u32;
            if filled < place.end {
                self.make_room((place.end - filled) as usize);
                self.list.extend(filled..place.end);
            }
            if self.places.is_whole() {
                self.swap_freely(to);
            } else {
                self.swap_within_windows(place, to);
            }
            self.next = to;
            self.place += 1;
        }
    }

    /// Runs the pass up to position `to` where every window is the whole sweep: no test can fail, so draws are used
    /// in blocks as the generator makes them.
    fn swap_freely(&mut self, to: u32) {
        let remainder = Remainder::by(self.list.len() as u64);
        let mut t = self.next as usize;
        while t < to as usize {
            let draws = self.generator.ready();
            let n = draws.len().min(to as usize - t);
            for &draw in &draws[..n] {
                self.list.swap(t, remainder.of(draw) as usize);
                t += 1;
            }
            self.generator.skip(n);
        }
    }

    /// Runs the pass up to position `to` within the slot of one place.
    fn swap_within_windows(&mut self, slot: Place, to: u32) {
        let remainder = Remainder::by(u64::from(slot.end - slot.begin).max(1));
        for t in self.next..to {
            let sequence = self.list[(t - self.base) as usize];
            let home = self.places.at(self.places.find(sequence));
            let partner = loop {
                let j = slot.begin + remainder.of(self.generator.draw()) as u32;
                let other = self.list[(j - self.base) as usize];
                // Both tests of spec/engine.md §5.3. The second one uses the home of the sequence at `t`, which is
                // looked up once, instead of the home of every partner that is drawn.
                let welcome = slot.begin <= other && other < slot.end;
                if welcome & (home.reach_begin <= j && j < home.reach_end) {
                    break j;
                }
            };
            self.list.swap((t - self.base) as usize, (partner - self.base) as usize);
        }
    }

    /// The sequence with number `sequence` of the sweep, which has been prepared, and its home.
    #[inline]
    pub(super) fn get(&self, sequence: u64) -> (SequenceId, u64) {
        let position = match &self.preview {
            Some(preview) => preview.at(sequence),
            None => self.list[(sequence - u64::from(self.base)) as usize],
        };
        let home = self.places.find(position);
        let place = self.places.at(home);
        (SequenceId { chunk: place.chunk, sequence: position - place.first }, home as u64)
    }

    /// Reports the chunks with no sequence at `sequence` or later, each once.
    pub(super) fn retire(&mut self, sequence: u64, into: &mut Vec<ChunkId>) {
        while self.retired < self.places.len() {
            let Place { chunk, reach_end, .. } = self.places.at(self.retired);
            if u64::from(reach_end) > sequence {
                break;
            }
            into.push(chunk);
            self.retired += 1;
        }
    }

    /// Bytes of memory held.
    pub(super) fn bytes(&self) -> usize {
        size_of::<Shuffle>()
            + self.places.bytes()
            + self.list.capacity() * size_of::<u32>()
            + self.preview.as_ref().map_or(0, SweepPreview::bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tesson_core::CompactLengths;

    fn check_places(n: usize, seed: u64, expected: &[u32]) {
        assert_eq!(chunk_places(n, seed), expected.iter().copied().map(ChunkId).collect::<Vec<_>>());
    }

    #[test]
    fn chunk_orders_are_those_of_the_specification() {
        check_places(5, 0, &[4, 0, 3, 1, 2]);
        check_places(5, 1, &[1, 0, 3, 2, 4]);
        check_places(5, 2, &[1, 4, 2, 0, 3]);
        check_places(5, 3, &[1, 3, 2, 4, 0]);
        check_places(8, 0, &[5, 2, 3, 0, 4, 1, 7, 6]);
        check_places(8, 7, &[7, 3, 6, 1, 4, 5, 0, 2]);
        check_places(12, 0, &[10, 2, 8, 0, 4, 9, 7, 6, 5, 11, 1, 3]);
        check_places(12, (1 << 63) + 5, &[11, 3, 2, 10, 9, 6, 1, 4, 8, 0, 5, 7]);
        check_places(1, 3, &[0]);
    }

    /// The worked example of spec/engine.md §5.4: order as `chunk.sequence`.
    fn check_order(window: Window, sweep: u64, expected: &str) {
        let mut index = Index::new();
        for lengths in [&[1, 2, 3][..], &[1, 2], &[3, 1, 2], &[3, 6]] {
            index.push(CompactLengths::new(lengths), 1);
        }
        index.seal();
        let mut shuffle = Shuffle::new(&index, window, 0, sweep);
        let mut found = Vec::new();
        let mut ready = 0;
        for i in 0..10 {
            if i == ready {
                ready = shuffle.prepare(i, i);
            }
            let (SequenceId { chunk, sequence }, _) = shuffle.get(i);
            found.push(format!("{chunk}.{sequence}"));
        }
        assert_eq!(found.join(" "), expected, "{window}, sweep {sweep}");
    }

    #[test]
    fn the_worked_example_comes_out_row_by_row() {
        use Window::{Chunks, Samples};
        check_order(Chunks(1), 0, "2.0 2.1 2.2 0.0 0.1 0.2 1.0 1.1 3.0 3.1");
        check_order(Chunks(1), 1, "0.0 0.2 0.1 2.2 2.0 2.1 3.0 3.1 1.1 1.0");
        check_order(Chunks(2), 0, "0.0 2.2 2.1 2.0 0.1 0.2 1.0 1.1 3.0 3.1");
        check_order(Chunks(2), 1, "2.1 0.2 0.1 2.2 2.0 0.0 3.1 3.0 1.1 1.0");
        check_order(Chunks(3), 0, "2.0 2.2 0.1 0.2 2.1 0.0 3.1 3.0 1.1 1.0");
        check_order(Chunks(3), 1, "0.1 2.2 0.0 0.2 3.1 3.0 1.1 1.0 2.1 2.0");
        check_order(Chunks(128), 0, "0.1 1.1 0.0 3.1 2.1 2.2 3.0 1.0 0.2 2.0");
        check_order(Chunks(128), 1, "0.1 0.2 1.0 3.0 2.2 3.1 0.0 1.1 2.0 2.1");
        check_order(Samples(9), 0, "2.0 2.1 2.2 0.0 0.1 0.2 1.0 1.1 3.0 3.1");
        check_order(Samples(14), 0, "2.0 2.1 2.2 0.1 0.2 0.0 1.1 1.0 3.1 3.0");
        check_order(Samples(14), 1, "0.0 0.2 0.1 2.1 2.2 2.0 3.1 3.0 1.0 1.1");
    }
}
