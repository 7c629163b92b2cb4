//! The generators of CNTK 2.7's transforms (spec/image.md §9.1).

use crate::{Mt19937, StepWords};

/// Words for the transforms of a stream: each transform has a generator for each index in a minibatch, seeded with the
/// transform's seed plus the index. Generators are never reset, so words depend on all minibatches before.
///
/// ```
/// use tesson_core::{CntkWords, Draw};
///
/// let mut words = CntkWords::default();
/// words.begin(0, 0, 0);
/// assert_eq!(Draw::from_steps(&mut words).as_cntk().integer(0, 22), 12);
/// ```
#[derive(Debug, Default)]
pub struct CntkWords {
    /// For each position in the stream's list, those of the indices that have drawn.
    generators: Vec<Vec<Mt19937>>,
    index: usize,
    /// The position of the transform that has begun, and of the step of it that has.
    first: usize,
    position: usize,
    seed: u32,
}

impl CntkWords {
    /// Begins with the words of the transform at `position` in the stream's list, which has this seed, for the sequence at
    /// `index` of its minibatch.
    pub fn begin(&mut self, index: usize, position: u64, seed: u64) {
        (self.index, self.first) = (index, position as usize);
        self.begin_step(0, seed);
    }
}

impl StepWords for CntkWords {
    fn word(&mut self) -> u32 {
        let CntkWords { generators, index, position, seed, .. } = self;
        if generators.len() <= *position {
            generators.resize_with(*position + 1, Vec::new);
        }
        let generators = &mut generators[*position];
        let missing = generators.len() as u32..=*index as u32;
        generators.extend(missing.map(|j| Mt19937::new(seed.wrapping_add(j))));
        generators[*index].draw()
    }

    fn begin_step(&mut self, number: u64, seed: u64) {
        (self.position, self.seed) = (self.first + number as usize, seed as u32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Draw;

    fn draws<T>(draw: impl FnMut(&mut Draw<'_>) -> T, n: usize) -> Vec<T> {
        let (mut words, mut draw) = (CntkWords::default(), draw);
        words.begin(0, 0, 0);
        let mut numbers = Draw::from_steps(&mut words).as_cntk();
        (0..n).map(|_| draw(&mut numbers)).collect()
    }

    #[test]
    fn numbers_are_those_of_the_specification() {
        assert_eq!(draws(|draw| draw.integer(0, 22), 4), [12, 13, 16, 19]);
        let found = draws(|draw| draw.real(0.5, f64::from(0.9f32)), 2);
        for (found, expected) in found.into_iter().zip([0.719_525_387_836_97, 0.737_137_832_421_04]) {
            assert!((found - expected).abs() < 1e-14, "{found} {expected}");
        }
        assert_eq!(draws(|draw| draw.normal(), 3), [-0.678_141_06, 1.310_827_7, 1.155_48]);
    }

    #[test]
    fn each_index_and_each_transform_has_its_own_generator() {
        let mut words = CntkWords::default();
        words.begin(1, 2, 7);
        let first = words.word();
        words.begin(0, 2, 8);
        words.begin_step(1, 8);
        assert_eq!(words.word(), first, "7 + 1 is 8 + 0");
        assert_ne!(words.word(), first);
    }
}
