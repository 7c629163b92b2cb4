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

/// Bytes that finding a sequence without a line of its own is taken to cost: it has another cache line to come.
const START: usize = 4;

/// Sequences of which one start is kept.
const GROUP: usize = 8;

/// Where sequences that lie one after the other begin.
#[derive(Debug)]
pub(super) enum Starts {
    /// Of each, and where the last one ends.
    Each(Vec<u32>),
    /// Of sequences of which each takes less than 256 bytes.
    Groups(Vec<Group>),
}

/// The start of the first of some sequences, and the lengths of all.
#[derive(Clone, Copy, Debug)]
pub(super) struct Group {
    start: u32,
    lengths: [u8; GROUP],
}

impl Starts {
    /// `starts` has one entry more than there are sequences.
    fn of(starts: Vec<u32>) -> Starts {
        let n = starts.len() - 1;
        if starts.windows(2).any(|w| w[1] - w[0] > u8::MAX.into()) {
            return Starts::Each(starts);
        }
        let group = |first: usize| {
            let mut lengths = [0; GROUP];
            lengths
                .iter_mut()
                .zip(starts[first..].windows(2))
                .for_each(|(length, w)| *length = (w[1] - w[0]) as u8);
            Group { start: starts[first], lengths }
        };
        Starts::Groups((0..n).step_by(GROUP).map(group).collect())
    }

    /// Where a sequence begins.
    #[inline]
    fn of_sequence(&self, sequence: usize) -> usize {
        match self {
            Starts::Each(starts) => starts[sequence] as usize,
            Starts::Groups(groups) => groups[sequence / GROUP].start_of(sequence % GROUP),
        }
    }

    /// Where a sequence begins and ends.
    #[inline]
    fn range(&self, sequence: usize) -> (usize, usize) {
        match self {
            Starts::Each(starts) => (starts[sequence] as usize, starts[sequence + 1] as usize),
            Starts::Groups(groups) => {
                let (group, i) = (&groups[sequence / GROUP], sequence % GROUP);
                let start = group.start_of(i);
                (start, start + usize::from(group.lengths[i]))
            }
        }
    }

    /// Has what says where a sequence begins brought into the cache.
    #[inline]
    fn prefetch(&self, sequence: usize) {
        match self {
            Starts::Each(starts) => prefetch(starts.get(sequence)),
            Starts::Groups(groups) => prefetch(groups.get(sequence / GROUP)),
        }
    }

    /// Bytes of memory held.
    fn bytes(&self) -> usize {
        match self {
            Starts::Each(starts) => size_of_val(starts.as_slice()),
            Starts::Groups(groups) => size_of_val(groups.as_slice()),
        }
    }
}

impl Group {
    /// Where sequence `i` of the group begins.
    #[inline]
    fn start_of(&self, i: usize) -> usize {
        const EVEN: u64 = 0x00ff_00ff_00ff_00ff;
        // The lengths of those before it, added four at a time.
        let before = u64::from_le_bytes(self.lengths) & ((1 << (8 * i)) - 1);
        let pairs = (before & EVEN) + (before >> 8 & EVEN);
        self.start as usize + (pairs.wrapping_mul(0x0001_0001_0001_0001) >> 48) as usize
    }
}

/// Packed sequences, and where each lies.
#[derive(Debug)]
pub(super) enum Locations {
    /// One after the other.
    Dense { starts: Starts, bytes: Pages },
    /// In lines of their own, and what does not fit into one after all lines.
    Lines(Pages),
}

impl Locations {
    /// Takes over sequences that lie one after the other in `packed`, with [`SLACK`] bytes after the last. They have lines of their
    /// own only where all take no more than `most` bytes then.
    pub(super) fn of(starts: Vec<u32>, packed: &[u8], most: usize) -> Locations {
        let n = starts.len() - 1;
        let used = starts[n] as usize;
        let beyond = |w: &&[u32]| (w[1] - w[0]) as usize > CACHE_LINE;
        let (mut elsewhere, mut more) = (0, 0);
        for w in starts.windows(2).filter(beyond) {
            (elsewhere, more) = (elsewhere + 1, more + (w[1] - w[0]) as usize);
        }
        let lines = n * CACHE_LINE + more;
        let small =
            lines * MORE_MEMORY.1 <= (used + n * START) * MORE_MEMORY.0 && u32::try_from(lines).is_ok();
        if small && lines <= most && elsewhere * SELDOM <= n {
            return Locations::lines(&starts, packed, lines);
        }
        let starts = Starts::of(starts);
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
            Locations::Dense { starts, bytes } => (bytes, starts.of_sequence(sequence)),
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
            Locations::Dense { starts, .. } => starts.prefetch(sequence),
            Locations::Lines(bytes) => prefetch(bytes.get(sequence * CACHE_LINE)),
        }
    }

    /// Has a sequence, whose place is in the cache, brought there as well.
    #[inline]
    pub(super) fn prefetch(&self, sequence: usize) {
        let ((start, end), bytes) = match self {
            Locations::Dense { starts, bytes } => (starts.range(sequence), bytes),
            Locations::Lines(bytes) => {
                let at = sequence * CACHE_LINE;
                if bytes[at] != ELSEWHERE {
                    return;
                }
                ((number(bytes, at + 1), number(bytes, at + 5)), bytes)
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
            Locations::Dense { starts, bytes } => starts.bytes() + bytes.bytes(),
            Locations::Lines(bytes) => bytes.bytes(),
        }
    }
}

/// The number at a place.
#[inline]
fn number(bytes: &[u8], at: usize) -> usize {
    bytes[at..].first_chunk().map_or(0, |&n| u32::from_le_bytes(n)) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starts_of_short_sequences_are_those_of_each() {
        for longest in [0, 1, 40, 255, 256] {
            for n in [0u32, 1, 7, 8, 9, 64, 100] {
                let lengths = (0..n)
                    .map(|i| if i % 3 == 1 { longest } else { i.wrapping_mul(37) % (longest.min(255) + 1) });
                let mut starts = vec![0u32];
                lengths.for_each(|length| starts.push(starts[starts.len() - 1] + length));
                let found = Starts::of(starts.clone());
                let are_short = longest < 256 || n < 2;
                assert_eq!(matches!(found, Starts::Groups(_)), are_short, "{n} of {longest}");
                for i in 0..n as usize {
                    assert_eq!(found.range(i), (starts[i] as usize, starts[i + 1] as usize), "{i} of {n}");
                    assert_eq!(found.of_sequence(i), starts[i] as usize);
                }
                assert!(!are_short || found.bytes() <= 12 * (n as usize).div_ceil(8));
            }
        }
    }
}
