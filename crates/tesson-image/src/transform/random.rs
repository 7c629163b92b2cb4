//! Random numbers of transforms: from a draw that belongs to one image, or as CNTK 2.7 has them.

use tesson_core::{CntkWords, Draw};

/// The random draws of transforms. Ranges of one value draw nothing.
pub trait Random {
    /// Begins a step of a pipeline: the following numbers are for it.
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

/// CNTK 2.7's random numbers for a pipeline without an engine: see [`CntkWords`].
#[derive(Debug, Default)]
pub struct CntkRandom {
    /// The seed of each step.
    seeds: Vec<u32>,
    words: CntkWords,
    index: usize,
}

impl CntkRandom {
    /// Generators for steps of these seeds.
    pub fn new(seeds: Vec<u32>) -> CntkRandom {
        CntkRandom { seeds, words: CntkWords::default(), index: 0 }
    }

    /// The numbers that follow are for the image at this index of the minibatch.
    pub fn at_index(&mut self, index: usize) -> &mut CntkRandom {
        self.index = index;
        self.begin(0);
        self
    }

    fn draw(&mut self) -> Draw<'_> {
        Draw::from_steps(&mut self.words).as_cntk()
    }
}

impl Random for CntkRandom {
    fn begin(&mut self, step: usize) {
        let seed = self.seeds.get(step).copied().unwrap_or_default();
        self.words.begin(self.index, step as u64, seed.into());
    }

    fn real(&mut self, from: f64, to: f64) -> f64 {
        self.draw().real(from, to)
    }

    fn integer(&mut self, from: i64, to: i64) -> i64 {
        self.draw().integer(from, to)
    }

    fn coin(&mut self) -> bool {
        self.draw().coin()
    }

    fn normal(&mut self) -> f32 {
        self.draw().normal()
    }
}
