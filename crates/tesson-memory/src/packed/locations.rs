//! Where packed sequences lie.
//!
//! The cost of a random order is the number of cache lines it touches. A sequence of at most one line is given a line
//! of its own where that takes little more memory: it is found without a table and comes whole.

use super::pages::Pages;
use super::{CACHE_LINE, Items, SLACK, prefetch};

/// The first byte of a line whose sequence lies elsewhere; no sequence begins with it. The sequence's begin and end
/// follow.
const ELSEWHERE: u8 = 0xff;

/// Of this many sequences one may lie elsewhere, and lines may take so much of what the sequences do after each other.
const SELDOM: usize = 4;
const MORE_MEMORY: (usize, usize) = (3, 2);

/// Packed sequences, and where each lies.
#[derive(Debug)]
pub(super) enum Locations {
    /// One after the other: where each begins, one entry more than there are sequences.
    Dense { starts: Vec<u32>, bytes: Pages },
    /// In lines of their own, and what does not fit into one after all lines.
    Lines(Pages),
}

impl Locations {
    /// Takes over sequences that lie one after the other in `packed`, with [`SLACK`] bytes after the last.
    pub(super) fn of(starts: Vec<u32>, packed: &[u8]) -> Locations {
        let n = starts.len() - 1;
        let used = starts[n] as usize;
        let beyond = |w: &&[u32]| (w[1] - w[0]) as usize > CACHE_LINE;
        let (mut elsewhere, mut more) = (0, 0);
        for w in starts.windows(2).filter(beyond) {
            (elsewhere, more) = (elsewhere + 1, more + (w[1] - w[0]) as usize);
        }
        let lines = n * CACHE_LINE + more;
        let small = lines * MORE_MEMORY.1 <= (used + 4 * n) * MORE_MEMORY.0 && u32::try_from(lines).is_ok();
        if small && elsewhere * SELDOM <= n {
            return Locations::lines(&starts, packed, lines);
        }
        let mut bytes = Pages::zeroed(used + SLACK);
        bytes.items().copy_from_slice(&packed[..used + SLACK]);
        Locations::Dense { starts, bytes }
    }

    fn lines(starts: &[u32], packed: &[u8], total: usize) -> Locations {
        let mut pages = Pages::zeroed(total + SLACK);
        let (lines, mut rest) = pages.items().split_at_mut((starts.len() - 1) * CACHE_LINE);
        let mut at = lines.len();
        for (line, w) in lines.as_chunks_mut::<CACHE_LINE>().0.iter_mut().zip(starts.windows(2)) {
            let (start, n) = (w[0] as usize, (w[1] - w[0]) as usize);
            if n <= CACHE_LINE {
                // Whole lines are copied fastest; what lies after a sequence is never looked at.
                line.copy_from_slice(&packed[start..start + CACHE_LINE]);
                continue;
            }
            line[0] = ELSEWHERE;
            line[1..5].copy_from_slice(&(at as u32).to_le_bytes());
            line[5..9].copy_from_slice(&((at + n) as u32).to_le_bytes());
            let (place, after) = rest.split_at_mut(n);
            place.copy_from_slice(&packed[start..start + n]);
            (rest, at) = (after, at + n);
        }
        Locations::Lines(pages)
    }

    /// From the beginning of a sequence on.
    #[inline]
    pub(super) fn items(&self, sequence: usize) -> Items<'_> {
        let (bytes, start) = match self {
            Locations::Dense { starts, bytes } => (bytes, starts[sequence] as usize),
            Locations::Lines(bytes) => {
                let at = sequence * CACHE_LINE;
                match bytes[at..].first_chunk() {
                    Some(line) if line[0] != ELSEWHERE => return Items { bytes: line, line: Some(line) },
                    _ => (bytes, number(bytes, at + 1)),
                }
            }
        };
        Items { bytes: &bytes[start..], line: None }
    }

    /// Has what says where a sequence lies brought into the cache; most often that is the sequence itself.
    #[inline]
    pub(super) fn prefetch_place(&self, sequence: usize) {
        match self {
            Locations::Dense { starts, .. } => prefetch(starts.get(sequence)),
            Locations::Lines(bytes) => prefetch(bytes.get(sequence * CACHE_LINE)),
        }
    }

    /// Has a sequence, whose place is in the cache, brought there as well.
    #[inline]
    pub(super) fn prefetch(&self, sequence: usize) {
        let (start, end, bytes) = match self {
            Locations::Dense { starts, bytes } => {
                (starts[sequence] as usize, starts[sequence + 1] as usize, bytes)
            }
            Locations::Lines(bytes) => {
                let at = sequence * CACHE_LINE;
                if bytes[at] != ELSEWHERE {
                    return;
                }
                (number(bytes, at + 1), number(bytes, at + 5), bytes)
            }
        };
        for at in (start..end).step_by(CACHE_LINE) {
            prefetch(bytes.get(at));
        }
        prefetch(bytes.get(end));
    }

    /// Bytes of memory held.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Locations::Dense { starts, bytes } => starts.capacity() * 4 + bytes.bytes(),
            Locations::Lines(bytes) => bytes.bytes(),
        }
    }
}

/// The number at a place.
#[inline]
fn number(bytes: &[u8], at: usize) -> usize {
    bytes[at..].first_chunk().map_or(0, |&n| u32::from_le_bytes(n)) as usize
}
