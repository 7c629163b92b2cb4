//! Orders on a timeline of each rank's own (§8): windows of entries that are filled one after the other.

use tesson_core::Index;

use super::{Window, chunk_places};
use crate::rng::Mt19937_64;
use crate::share::Share;
use crate::{Cursor, Planned, WindowStart};

/// One step of a local timeline.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    /// A sequence, and its counted length.
    Sequence(Planned, u32),
    /// A sweep of the data is over.
    SweepEnd,
}

/// The windows of a rank.
pub(crate) struct Local {
    /// The window and the seed; `None`: chunk by chunk, as stored.
    tumbling: Option<(Window, u64)>,
    entries: Vec<Entry>,
    /// Where the entries come from, and whose they are.
    filled: Option<(WindowStart, Share)>,
    /// Where the window behind this one begins.
    next: WindowStart,
    /// The order of the chunks in the sweep that was looked at last.
    places: (u64, Vec<u32>),
    /// Chunks of windows that are over.
    retired: Vec<u32>,
}

impl Local {
    /// Chunk by chunk.
    pub(crate) fn plain() -> Local {
        Local::new(None)
    }

    /// Shuffled, a window at a time.
    pub(crate) fn tumbling(window: Window, seed: u64) -> Local {
        Local::new(Some((window, seed)))
    }

    fn new(tumbling: Option<(Window, u64)>) -> Local {
        Local {
            tumbling,
            entries: Vec::new(),
            filled: None,
            next: WindowStart::default(),
            places: (0, Vec::new()),
            retired: Vec::new(),
        }
    }

    /// Whether this rank gets anything at all: otherwise its windows would never be full.
    pub(crate) fn has_share(&self, index: &Index, rank: u64) -> bool {
        match self.tumbling {
            Some(_) => rank < index.n_chunks() as u64,
            None => rank < index.n_sequences(),
        }
    }

    /// The entry at a cursor, which is moved on to a window that has one.
    pub(crate) fn at(&mut self, index: &Index, share: Share, cursor: &mut Cursor) -> Entry {
        while cursor.sequence >= self.window_len(index, share, cursor.window) {
            cursor.sequence -= self.entries.len() as u64;
            cursor.window = self.next;
        }
        self.entries[cursor.sequence as usize]
    }

    /// Entries of the window that a cursor names.
    pub(crate) fn window_len(&mut self, index: &Index, share: Share, window: WindowStart) -> u64 {
        if self.filled != Some((window, share)) {
            self.fill(index, share, window);
        }
        self.entries.len() as u64
    }

    /// Appends chunks of windows that are over.
    pub(crate) fn take_retired(&mut self, into: &mut Vec<u32>) {
        into.append(&mut self.retired);
    }

    /// Bytes of memory held.
    pub(crate) fn bytes(&self) -> usize {
        self.entries.capacity() * size_of::<Entry>() + self.places.1.capacity() * size_of::<u32>()
    }

    fn fill(&mut self, index: &Index, share: Share, start: WindowStart) {
        self.leave();
        self.entries.clear();
        self.filled = Some((start, share));
        self.next = start;
        match self.tumbling.clone() {
            None => self.fill_plainly(index, share),
            Some((window, seed)) => self.fill_shuffled(index, share, &window, seed),
        }
    }

    /// The window that is given up has been passed, for all that is known.
    fn leave(&mut self) {
        let before = self.retired.len();
        self.retired.extend(self.entries.iter().filter_map(|entry| match entry {
            Entry::Sequence(planned, _) => Some(planned.chunk),
            Entry::SweepEnd => None,
        }));
        self.retired[before..].sort_unstable();
        self.retired.dedup();
    }

    /// The next chunk that has sequences of ours, or ends the sweep (§8.1).
    fn fill_plainly(&mut self, index: &Index, share: Share) {
        let n = index.n_chunks() as u64;
        while self.entries.is_empty() {
            let chunk = self.next.place % n;
            let first = index.chunk(chunk as usize).first_sequence;
            let lengths = index.lengths(chunk as usize);
            for i in (0..lengths.len()).filter(|&i| share.owns(first + i as u64)) {
                let planned = Planned { chunk: chunk as u32, sequence: i as u32 };
                self.entries.push(Entry::Sequence(planned, lengths.get(i)));
            }
            self.next.place = chunk + 1;
            if chunk + 1 == n {
                self.entries.push(Entry::SweepEnd);
                self.next.place = 0;
            }
        }
    }

    /// So many chunks of ours, shuffled as far as their sweep goes (§8.2).
    fn fill_shuffled(&mut self, index: &Index, share: Share, window: &Window, seed: u64) {
        let n = index.n_chunks() as u64;
        let (mut left, in_samples) = match *window {
            Window::Chunks(chunks) => (chunks, false),
            Window::Samples(samples) => (samples, true),
        };
        let (mut start, mut base) = (0, self.next.place);
        while left > 0 {
            let WindowStart { place, sweep } = self.next;
            self.look_up(index, seed, sweep);
            if share.owns(place) {
                let chunk = self.places.1[place as usize];
                let lengths = index.lengths(chunk as usize);
                for i in 0..lengths.len() {
                    self.entries.push(Entry::Sequence(Planned { chunk, sequence: i as u32 }, lengths.get(i)));
                }
                let samples = index.chunk(chunk as usize).n_samples;
                left = left.saturating_sub(if in_samples { samples } else { 1 });
            }
            self.next.place += 1;
            if self.next.place == n {
                shuffle(&mut self.entries[start..], base.wrapping_add(sweep).wrapping_add(seed));
                self.entries.push(Entry::SweepEnd);
                (start, base) = (self.entries.len(), 0);
                self.next = WindowStart { place: 0, sweep: sweep.wrapping_add(1) };
            }
        }
        shuffle(&mut self.entries[start..], base.wrapping_add(self.next.sweep).wrapping_add(seed));
    }

    fn look_up(&mut self, index: &Index, seed: u64, sweep: u64) {
        if self.places.0 != sweep || self.places.1.len() != index.n_chunks() {
            self.places = (sweep, chunk_places(index.n_chunks(), seed.wrapping_add(sweep)));
        }
    }
}

/// The tail swap of §4. `entries` is a tail of the window: positions count within the whole window, which makes no
/// difference to what is drawn.
fn shuffle(entries: &mut [Entry], seed: u64) {
    let mut generator = Mt19937_64::new(seed);
    let n = entries.len();
    for i in 0..n {
        let j = i as u64 + generator.draw() % (n - i) as u64;
        entries.swap(i, j as usize);
    }
}
