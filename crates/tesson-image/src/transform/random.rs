//! Random numbers of transforms: from a draw that belongs to one picture, or as CNTK 2.7 has them.

use tesson_core::{Draw, Mt19937};

/// What transforms draw. Ranges of one value draw nothing.
pub trait Random {
    /// The numbers that follow are for this step of a pipeline.
    fn begin(&mut self, step: usize);

    /// An evenly distributed number from `from` to, and without, `to`.
    fn real(&mut self, from: f64, to: f64) -> f64;

    /// An evenly distributed whole number from `from` to `to`, both included.
    fn integer(&mut self, from: i64, to: i64) -> i64;

    /// One of two, equally likely.
    fn coin(&mut self) -> bool;

    /// A number of the normal distribution of mean 0 and deviation 1.
    fn normal(&mut self) -> f32;
}

/// One stream of numbers for all steps of a pipeline.
impl Random for Draw<'_> {
    fn begin(&mut self, _: usize) {}

    fn real(&mut self, from: f64, to: f64) -> f64 {
        Draw::real(self, from, to)
    }

    fn integer(&mut self, from: i64, to: i64) -> i64 {
        Draw::integer(self, from, to)
    }

    fn coin(&mut self) -> bool {
        Draw::coin(self)
    }

    fn normal(&mut self) -> f32 {
        Draw::normal(self)
    }
}

/// The generators of CNTK 2.7 (specification of images, §9.1): each step has one for each index in a minibatch, seeded with
/// the step's seed plus the index. They are never reset, so numbers depend on all minibatches before.
#[derive(Debug, Default)]
pub struct CntkRandom {
    seeds: Vec<u32>,
    /// For each step, those of the indices that have drawn.
    generators: Vec<Vec<Mt19937>>,
    index: usize,
    step: usize,
}

impl CntkRandom {
    /// Generators for steps of these seeds.
    pub fn new(seeds: Vec<u32>) -> CntkRandom {
        let generators = seeds.iter().map(|_| Vec::new()).collect();
        CntkRandom { seeds, generators, index: 0, step: 0 }
    }

    /// The numbers that follow are for the picture at this index of the minibatch.
    pub fn at_index(&mut self, index: usize) -> &mut CntkRandom {
        self.index = index;
        self
    }

    fn word(&mut self) -> u32 {
        let (seed, generators) = (self.seeds[self.step], &mut self.generators[self.step]);
        for j in generators.len()..=self.index {
            generators.push(Mt19937::new(seed.wrapping_add(j as u32)));
        }
        generators[self.index].draw()
    }

    /// Draws by a distribution that [`Draw`] has as well.
    fn draw<T>(&mut self, make: impl FnOnce(&mut Draw<'_>) -> T) -> T {
        make(&mut Draw::from_words(&mut std::iter::repeat_with(|| self.word())))
    }
}

impl Random for CntkRandom {
    fn begin(&mut self, step: usize) {
        self.step = step;
    }

    fn real(&mut self, from: f64, to: f64) -> f64 {
        if from == to {
            return from;
        }
        loop {
            // Rounding may give the end of the range.
            let x = self.draw(|draw| draw.real(from, to));
            if x < to {
                return x;
            }
        }
    }

    fn integer(&mut self, from: i64, to: i64) -> i64 {
        let range = to.abs_diff(from) as u32;
        if range == 0 {
            return from;
        }
        // All buckets but the last have the same size; words beyond them are drawn again.
        let bucket = match range.checked_add(1) {
            Some(n) => u32::MAX / n + u32::from(u32::MAX % n == range),
            None => 1,
        };
        loop {
            let x = self.word() / bucket;
            if x <= range {
                return from + i64::from(x);
            }
        }
    }

    fn coin(&mut self) -> bool {
        self.draw(|draw| draw.coin())
    }

    fn normal(&mut self) -> f32 {
        self.draw(|draw| draw.normal())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_specification() {
        let mut random = CntkRandom::new(vec![0]);
        assert_eq!([(); 4].map(|()| random.integer(0, 22)), [12, 13, 16, 19]);
        let mut random = CntkRandom::new(vec![0]);
        let found = [(); 2].map(|()| random.real(0.5, f64::from(0.9f32)));
        for (found, expected) in found.into_iter().zip([0.719_525_387_836_97, 0.737_137_832_421_04]) {
            assert!((found - expected).abs() < 1e-14, "{found} {expected}");
        }
        let mut random = CntkRandom::new(vec![0]);
        let found = [(); 3].map(|()| random.normal());
        assert_eq!(found, [-0.678_141_06, 1.310_827_7, 1.155_48]);
    }

    #[test]
    fn each_index_and_each_step_has_its_own_generator() {
        let mut random = CntkRandom::new(vec![7, 8]);
        random.at_index(1).begin(0);
        let first = random.word();
        random.at_index(0).begin(1);
        assert_eq!(random.word(), first, "7 + 1 is 8 + 0");
        assert_ne!(random.word(), first);
    }
}
