//! The seeds of shuffles, as tf.data derives them (spec/tfds.md §8.4).
//!
//! For the next editor: nothing here is a choice. Reductions, defaults and the rejection of large words imitate
//! TensorFlow's code, and the tests hold values recorded from it; a tidier derivation is another order.

use crate::rng::{Mt19937, Words};

/// The modulus to which tf.data reduces seeds.
const MODULUS: i128 = (1 << 31) - 1;

/// TensorFlow's graph seed if none is set.
const DEFAULT_GRAPH_SEED: u64 = 87654321;

/// The two seeds of a shuffle, as tf.data derives them from those of the user.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct SeedPair(pub u64, pub u64);

impl SeedPair {
    /// The pair of an operation's own seed under the global one, if that is set.
    pub fn new(op: i128, global: Option<i128>) -> SeedPair {
        let low = |seed: i128| seed.rem_euclid(MODULUS) as u64;
        match (global.map_or(DEFAULT_GRAPH_SEED, low), low(op)) {
            (0, 0) => SeedPair(0, MODULUS as u64),
            (first, second) => SeedPair(first, second),
        }
    }
}

/// The seeding of a shuffle over all of its passes.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Seeding {
    /// Its seeds.
    pub pair: SeedPair,
    /// `true`: each pass has another order (`reshuffle_each_iteration`); `false`: all have the same.
    pub reshuffle: bool,
}

impl Seeding {
    /// The random words of a pass, numbered from 0.
    pub(super) fn words(self, pass: u64) -> Words {
        let SeedPair(first, second) = self.pair;
        let source = Words::new(first, second);
        if !self.reshuffle {
            return source;
        }
        // tf.data draws the two seeds of each pass from one generator; those of any pass are found without the passes
        // before.
        let at = pass.wrapping_mul(2);
        Words::new(source.at(at).into(), source.at(at.wrapping_add(1)).into())
    }
}

/// The global seed (`tf.random.set_seed`), and the stream from which shuffles without a seed of their own draw one.
#[derive(Clone, Debug)]
pub struct GlobalSeeds {
    seed: i128,
    twister: Box<Mt19937>,
}

impl GlobalSeeds {
    /// The stream of a global seed, from its beginning.
    pub fn new(seed: i128) -> GlobalSeeds {
        let size = seed.unsigned_abs();
        let words: [u32; 4] = std::array::from_fn(|i| (size >> (32 * i)) as u32);
        let n = words.iter().rposition(|&w| w != 0).map_or(1, |last| last + 1);
        GlobalSeeds { seed, twister: Box::new(Mt19937::from_words(&words[..n])) }
    }

    /// The global seed itself.
    pub fn seed(&self) -> i128 {
        self.seed
    }

    /// The seed of the next shuffle that has none of its own.
    pub fn draw(&mut self) -> i64 {
        loop {
            // Rejected rather than reduced, as the reference does: every draw counts.
            let word = self.twister.draw();
            if word < 1 << 31 {
                return word.into();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_those_of_the_specification() {
        assert_eq!(SeedPair::new(32, None), SeedPair(87654321, 32));
        assert_eq!(SeedPair::new(-1, None), SeedPair(87654321, (1 << 31) - 2));
        assert_eq!(SeedPair::new(0, Some(0)), SeedPair(0, (1 << 31) - 1));
        assert_eq!(SeedPair::new((1 << 31) - 1, None), SeedPair(87654321, 0));
        assert_eq!(SeedPair::new(5, Some((1 << 31) + 6)), SeedPair(7, 5));
    }

    #[test]
    fn draws_from_a_global_seed_are_those_of_the_specification() {
        let draws = |seed: i128, n: usize| {
            let mut global = GlobalSeeds::new(seed);
            (0..n).map(|_| global.draw()).collect::<Vec<_>>()
        };
        assert_eq!(draws(1234, 3), [1892932127, 501869158, 32175636]);
        assert_eq!(draws(-1234, 1), [1892932127]);
        assert_eq!(draws((1 << 40) + 7, 2), [2044078442, 1077368710]);
    }

    #[test]
    fn passes_are_seeded_as_the_specification_says() {
        let seeding = |reshuffle| Seeding { pair: SeedPair(87654321, 32), reshuffle };
        for (pass, pair) in [(2390514801, 1543945521), (724364669, 527533645), (465395815, 2974967883)]
            .into_iter()
            .enumerate()
        {
            assert_eq!(
                seeding(true).words(pass as u64).at(0),
                Words::new(pair.0, pair.1).at(0),
                "pass {pass}"
            );
        }
        assert_eq!(seeding(false).words(7).at(3), Words::new(87654321, 32).at(3));
    }
}
