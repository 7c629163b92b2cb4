//! The chunks of a sweep by place, and the windows of the places (spec/engine.md §5.1, §5.2).
//!
//! For the next editor: the table of any chunks is the definition. Chunks that are alike need only their permutation,
//! as everything else follows from the number of a place by arithmetic; a corpus with one sequence in each chunk
//! would otherwise pay 36 bytes for each sequence. The property test below holds both to the same answers. `find` and
//! `at` are called for every sequence and therefore inlined.

use tesson_core::{ChunkId, Index};

use super::Window;
use super::interval_table::IntervalTable;
use super::shuffle::place_chunks;
use super::window::{self, AlikeWindows};

/// A chunk at its place in the sweep. All fields but `chunk` are positions of sequences.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) chunk: ChunkId,
    pub(super) first: u32,
    /// The window of the place.
    pub(super) begin: u32,
    pub(super) end: u32,
    /// The slots with windows that hold this place: those that its sequences can reach.
    pub(super) reach_begin: u32,
    pub(super) reach_end: u32,
}

/// The places of a sweep.
pub(super) enum Places {
    /// Of chunks that are alike, by place; each has so many sequences.
    Alike { chunks: Vec<ChunkId>, sequences: u32, windows: AlikeWindows, is_whole: bool },
    /// Of any chunks: one more at the end, where everything ends.
    Any { places: Vec<Place>, table: IntervalTable, is_whole: bool },
}

impl Default for Places {
    fn default() -> Places {
        Places::Any { places: vec![Place::default()], table: IntervalTable::default(), is_whole: false }
    }
}

impl Places {
    /// Bytes that the places of a corpus take.
    pub(super) fn bytes_of(index: &Index) -> u64 {
        // A place, two cells of the table, and the list of the chunks while they are laid out.
        const ANY: usize = size_of::<Place>() + 3 * size_of::<u32>();
        let each = if index.common_chunk().is_some() { size_of::<ChunkId>() } else { ANY };
        each as u64 * index.n_chunks() as u64
    }

    /// Lays the chunks end to end in the order of a sweep, whose seed is given, in the memory of another one.
    pub(super) fn lay_out(&mut self, index: &Index, window: Window, seed: u64) {
        let Some(alike) = index.common_chunk() else { return self.lay_out_any(index, window, seed) };
        let n = index.n_chunks();
        let mut chunks = match self {
            Places::Alike { chunks, .. } => std::mem::take(chunks),
            Places::Any { .. } => Vec::new(),
        };
        place_chunks(n, seed, &mut chunks);
        let windows = AlikeWindows::new(n, window, alike.n_samples);
        let is_whole = windows.window(0) == (0, n) && windows.window(n - 1) == (0, n);
        *self = Places::Alike { chunks, sequences: alike.n_sequences, windows, is_whole };
    }

    fn lay_out_any(&mut self, index: &Index, window: Window, seed: u64) {
        let (mut places, mut table) = match std::mem::take(self) {
            Places::Any { places, table, .. } => (places, table),
            Places::Alike { .. } => (Vec::new(), IntervalTable::default()),
        };
        let (mut first, mut chunks) = (0, Vec::new());
        place_chunks(index.n_chunks(), seed, &mut chunks);
        places.clear();
        for chunk in chunks {
            places.push(Place { chunk, first, ..Place::default() });
            first += index.chunk(chunk).n_sequences;
        }
        places.push(Place { first, ..Place::default() });
        table.rebuild(places.len() - 1, first.into(), |p| places[p].first.into());
        let n = places.len() - 1;
        let is_whole = match window {
            Window::Chunks(size) => set_windows(&mut places, window::in_chunks(n, size)),
            Window::Samples(size) => {
                let mut before = vec![0u64];
                for (i, place) in places[..n].iter().enumerate() {
                    before.push(before[i] + index.chunk(place.chunk).n_samples);
                }
                set_windows(&mut places, window::in_samples(&before, size))
            }
        };
        *self = Places::Any { places, table, is_whole };
    }

    /// How many there are.
    #[inline]
    pub(super) fn len(&self) -> usize {
        match self {
            Places::Alike { chunks, .. } => chunks.len(),
            Places::Any { places, .. } => places.len() - 1,
        }
    }

    /// The position where the sweep ends.
    #[inline]
    pub(super) fn end(&self) -> u32 {
        match self {
            Places::Alike { chunks, sequences, .. } => chunks.len() as u32 * sequences,
            Places::Any { places, .. } => places[places.len() - 1].first,
        }
    }

    /// True if every window holds the whole sweep; then no draw is rejected.
    #[inline]
    pub(super) fn is_whole(&self) -> bool {
        match self {
            Places::Alike { is_whole, .. } | Places::Any { is_whole, .. } => *is_whole,
        }
    }

    /// One of them; after the last one where the sweep ends.
    #[inline]
    pub(super) fn at(&self, place: usize) -> Place {
        let (chunks, sequences, windows) = match self {
            Places::Any { places, .. } => return places[place],
            Places::Alike { chunks, sequences, windows, .. } => (chunks, *sequences, *windows),
        };
        let position = |place: usize| place as u32 * sequences;
        let first = position(place);
        let Some(&chunk) = chunks.get(place) else { return Place { first, ..Place::default() } };
        let ((begin, end), (reach_begin, reach_end)) = (windows.window(place), windows.reach(place));
        Place {
            chunk,
            first,
            begin: position(begin),
            end: position(end),
            reach_begin: position(reach_begin),
            reach_end: position(reach_end),
        }
    }

    /// The place of a position.
    #[inline]
    pub(super) fn find(&self, position: u32) -> usize {
        match self {
            Places::Alike { sequences: 1, .. } => position as usize,
            Places::Alike { sequences, .. } => (position / sequences) as usize,
            Places::Any { places, table, .. } => table.find(position.into(), |p| places[p].first.into()),
        }
    }

    /// Bytes of memory held.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Places::Alike { chunks, .. } => chunks.capacity() * size_of::<ChunkId>(),
            Places::Any { places, table, .. } => places.capacity() * size_of::<Place>() + table.bytes(),
        }
    }
}

/// Records the windows of all places, and from them which slots each place can reach. Returns `true` if every window holds the
/// whole sweep. Both ends of a window only move forward, so the places with windows that hold a given place are consecutive, too.
fn set_windows(places: &mut [Place], windows: impl Iterator<Item = (usize, usize)>) -> bool {
    let (mut entered, mut left) = (0, 0);
    let mut whole = true;
    let n = places.len() - 1;
    for (slot, (begin, end)) in windows.enumerate() {
        let first = places[slot].first;
        places[left..begin].iter_mut().for_each(|place| place.reach_end = first);
        places[entered..end].iter_mut().for_each(|place| place.reach_begin = first);
        (left, entered) = (begin, end);
        let (begin_first, end_first) = (places[begin].first, places[end].first);
        places[slot].begin = begin_first;
        places[slot].end = end_first;
        whole &= begin == 0 && end == n;
    }
    let all = places[n].first;
    places[left..n].iter_mut().for_each(|place| place.reach_end = all);
    whole
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tesson_core::CompactLengths;

    use super::*;

    proptest! {
        #[test]
        fn places_of_chunks_that_are_alike_are_those_of_any(
            n in 1usize..40,
            sequences in 1u32..4,
            length in 1u32..4,
            size in 1u64..90,
            in_samples: bool,
            seed: u64,
        ) {
            let window = if in_samples { Window::Samples(size) } else { Window::Chunks(size) };
            let mut index = Index::new();
            (0..n).for_each(|_| index.push(CompactLengths::constant(length, sequences), 7));
            let (mut alike, mut any) = (Places::default(), Places::default());
            alike.lay_out(&index, window, seed);
            any.lay_out_any(&index, window, seed);
            let is_alike = matches!(alike, Places::Alike { .. });
            prop_assert!(is_alike);
            prop_assert_eq!((alike.len(), alike.end(), alike.is_whole()), (any.len(), any.end(), any.is_whole()));
            for place in 0..=n {
                prop_assert_eq!(alike.at(place), any.at(place));
            }
            for position in 0..any.end() {
                prop_assert_eq!(alike.find(position), any.find(position));
            }
        }
    }
}
