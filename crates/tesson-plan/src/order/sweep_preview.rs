//! A few sequences of a shuffled sweep before the whole sweep is shuffled (spec/engine.md §5).
//!
//! The shuffle swaps the item at each position with any other, so the sequences at the first positions are known only
//! after its last swap. But a few positions can be followed backwards: from where their items are at the end, swap by
//! swap, to where they were at the beginning. That takes all draws, too, and hardly any memory, while the shuffle
//! itself waits for memory at every swap. It takes a third of the time, so the first minibatch need not wait for the
//! whole order.
//!
//! Advice for the next editor: the draws must be those of `Shuffle::swap_freely`, in reverse, so the generator is
//! copied at the beginning of each stretch and each stretch is drawn forwards. The stretches are whole renewals of
//! the generator, which lets `pass_over` skip the tempering. Nearly all swaps touch none of the followed positions; a
//! bit for each position finds that out for 64 swaps at a time.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::rng::{Mt19937_64, Remainder};

/// The number of positions that are followed: those of a few minibatches. Tests have small sweeps.
const POSITIONS: u32 = if cfg!(test) { 7 } else { 16 << 10 };

/// The smallest number of sequences in a sweep for which a preview is faster than the shuffle.
const WORTH: u32 = if cfg!(test) { 20 } else { 1 << 20 };

/// Bits of a word.
const WORD: usize = u64::BITS as usize;

/// The draws of one stretch: whole renewals of the generator, and whole words of bits.
const DRAWS: usize = WORD * Mt19937_64::AT_ONCE;

/// The sequences at some positions once the sweep is shuffled.
pub(super) struct SweepPreview {
    first: u32,
    /// Named by their positions before the shuffle.
    sequences: Vec<u32>,
}

impl SweepPreview {
    /// The sequences at `from` and after it, in a sweep of `n` sequences that are all in every window; `generator` is
    /// about to make the first draw. `None` if the shuffle itself is fast enough.
    pub(super) fn of(generator: &Mt19937_64, n: u32, from: u32) -> Option<SweepPreview> {
        let wanted = from..n.min(from.saturating_add(POSITIONS));
        (n >= WORTH).then(|| SweepPreview::follow(generator.clone(), n, wanted))
    }

    fn follow(mut generator: Mt19937_64, n: u32, wanted: Range<u32>) -> SweepPreview {
        let stretches = (n as usize).div_ceil(DRAWS);
        let mut generators = Vec::with_capacity(stretches);
        for _ in 0..stretches {
            generators.push(generator.clone());
            generator.pass_over(DRAWS / Mt19937_64::AT_ONCE);
        }
        let remainder = Remainder::by(n.into());
        let mut followed = Followed::new(n, &wanted);
        let mut partners = Vec::with_capacity(DRAWS);
        for (i, mut generator) in generators.into_iter().enumerate().rev() {
            let first = i * DRAWS;
            let len = DRAWS.min(n as usize - first);
            partners.clear();
            while partners.len() < len {
                let draws = generator.ready();
                let used = draws.len().min(len - partners.len());
                partners.extend(draws[..used].iter().map(|&draw| remainder.of(draw) as u32));
                generator.skip(used);
            }
            for (k, partners) in partners.chunks(WORD).enumerate().rev() {
                followed.undo((first + k * WORD) as u32, partners);
            }
        }
        SweepPreview { first: wanted.start, sequences: followed.found(&wanted) }
    }

    /// The end of the positions, if `position` is one of them.
    pub(super) fn end(&self, position: u64) -> Option<u64> {
        let range = u64::from(self.first)..u64::from(self.first) + self.sequences.len() as u64;
        range.contains(&position).then_some(range.end)
    }

    /// The sequence at a position.
    pub(super) fn at(&self, position: u64) -> u32 {
        self.sequences[(position - u64::from(self.first)) as usize]
    }

    /// Bytes of memory held.
    pub(super) fn bytes(&self) -> usize {
        self.sequences.capacity() * size_of::<u32>()
    }
}

/// The followed items, while swaps are undone.
struct Followed {
    /// A bit for each position, set if a followed item is there; nearly all are 0.
    bits: Vec<u64>,
    /// For the present position of an item, its position after the shuffle.
    ends: BTreeMap<u32, u32>,
}

impl Followed {
    fn new(n: u32, wanted: &Range<u32>) -> Followed {
        let bits = vec![0; (n as usize).div_ceil(WORD)];
        let mut followed = Followed { bits, ends: BTreeMap::new() };
        wanted.clone().for_each(|position| followed.put(position, position));
        followed
    }

    /// Undoes the swaps of these partners with the positions that begin at `first`; at most as many as a word has
    /// bits.
    fn undo(&mut self, first: u32, partners: &[u32]) {
        let at_positions = self.bits[first as usize / WORD];
        let bit = |position: u32| self.bits[position as usize / WORD] >> (position % WORD as u32) & 1;
        // True if any followed item is met, without a branch for each partner.
        if partners.iter().fold(at_positions, |any, &partner| any | bit(partner)) != 0 {
            for (i, &partner) in partners.iter().enumerate().rev() {
                self.swap(first + i as u32, partner);
            }
        }
    }

    fn swap(&mut self, a: u32, b: u32) {
        let (from_a, from_b) = (self.take(a), self.take(b));
        from_a.into_iter().for_each(|end| self.put(b, end));
        from_b.into_iter().for_each(|end| self.put(a, end));
    }

    fn take(&mut self, position: u32) -> Option<u32> {
        let (word, bit) = (&mut self.bits[position as usize / WORD], 1 << (position % WORD as u32));
        let is_here = *word & bit != 0;
        *word &= !bit;
        is_here.then(|| self.ends.remove(&position)).flatten()
    }

    fn put(&mut self, position: u32, end: u32) {
        self.bits[position as usize / WORD] |= 1 << (position % WORD as u32);
        self.ends.insert(position, end);
    }

    /// The positions of the items before the shuffle, in the order of their positions after it.
    fn found(self, wanted: &Range<u32>) -> Vec<u32> {
        let mut found = vec![0; wanted.len()];
        for (beginning, end) in self.ends {
            found[(end - wanted.start) as usize] = beginning;
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_preview_equals_the_shuffled_sweep(
            seed: u64,
            n in prop_oneof![1u32..50, 1000u32..60_000],
            from: prop::sample::Index,
            len in 1u32..300,
        ) {
            let mut list: Vec<u32> = (0..n).collect();
            let mut generator = Mt19937_64::new(seed);
            (0..list.len()).for_each(|t| list.swap(t, (generator.draw() % u64::from(n)) as usize));
            let from = from.index(n as usize) as u32;
            let wanted = from..n.min(from + len);
            let preview = SweepPreview::follow(Mt19937_64::new(seed), n, wanted.clone());
            let found: Vec<u32> = wanted.clone().map(|position| preview.at(position.into())).collect();
            prop_assert_eq!(found, &list[wanted.start as usize..wanted.end as usize]);
            prop_assert_eq!(preview.end(wanted.start.into()), Some(wanted.end.into()));
            prop_assert_eq!(preview.end(wanted.end.into()), None);
        }
    }
}
