//! Random numbers for transforms.

use std::sync::OnceLock;

/// Random numbers for one transform of one sequence (spec/image.md §9.2).
///
/// The engine supplies them: they are a function of the source's seed, the sweep, the sequence's key, the number of
/// its copy, and the transform's name, its number among those of that name, and its seed. Neither threads nor the
/// size of minibatches nor a resume changes them.
///
/// Each method takes words of 32 bits from one stream, in the order of the calls, and converts them exactly as
/// documented, because recorded results depend on it. If only one answer is possible, no word is taken.
pub struct Draw<'a> {
    words: Source<'a>,
    augmentation: Augmentation,
}

/// The source of the random numbers that transforms draw.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Augmentation {
    /// The numbers of each sequence: a function of seed, sweep, key, copy and transform.
    #[default]
    Sequence,
    /// CNTK 2.7's: those of an index in the minibatch, from generators that run on and are never reset ([`CntkWords`](crate::CntkWords)).
    Cntk,
}

enum Source<'a> {
    /// Words that a test chose.
    Chosen(&'a mut dyn Iterator<Item = u32>),
    Steps(&'a mut dyn StepWords),
}

/// Words for each of several transforms that are applied as one ([`Transform::step_names`](crate::Transform::step_names)).
pub trait StepWords {
    /// The next word of the step.
    fn word(&mut self) -> u32;

    /// Begins with the words of step `number`, counted from 0; `seed` is that of its transform.
    fn begin_step(&mut self, number: u64, seed: u64);
}

impl<'a> Draw<'a> {
    /// Draws from these words, which must not end: for tests of transforms, which choose them.
    ///
    /// ```
    /// use tesson_core::Draw;
    ///
    /// let mut words = [1 << 31, 0].into_iter();
    /// let mut draw = Draw::from_words(&mut words);
    /// assert_eq!(draw.real(0.0, 8.0), 4.0);
    /// assert!(draw.coin());
    /// ```
    pub fn from_words(words: &'a mut dyn Iterator<Item = u32>) -> Draw<'a> {
        Draw { words: Source::Chosen(words), augmentation: Augmentation::Sequence }
    }

    /// Draws from the words of steps, of which the first has begun.
    pub fn from_steps(words: &'a mut dyn StepWords) -> Draw<'a> {
        Draw { words: Source::Steps(words), augmentation: Augmentation::Sequence }
    }

    /// Makes numbers of the words as CNTK 2.7 does.
    #[must_use]
    pub fn as_cntk(self) -> Draw<'a> {
        Draw { augmentation: Augmentation::Cntk, ..self }
    }

    /// Begins with the numbers of step `number`, counted from 0, for a transform that combines several; `seed` is
    /// that of the step's transform. Words that a test chose simply continue.
    pub fn begin_step(&mut self, number: u64, seed: u64) {
        if let Source::Steps(words) = &mut self.words {
            words.begin_step(number, seed);
        }
    }

    /// The next word: 32 even bits.
    ///
    /// # Panics
    /// After the last of the words that a test chose.
    pub fn word(&mut self) -> u32 {
        match &mut self.words {
            Source::Chosen(words) => words.next().expect("a test gives as many words as are drawn"),
            Source::Steps(words) => words.word(),
        }
    }

    /// An evenly distributed number from `from` to `to`, exclusive: `u / 2^32 · (to - from) + from` for a word `u`,
    /// in double precision. Rounding may yield `to`, for which CNTK draws again.
    pub fn real(&mut self, from: f64, to: f64) -> f64 {
        if from == to {
            return from;
        }
        loop {
            let x = f64::from(self.word()) / 2f64.powi(32) * (to - from) + from;
            if x < to || self.augmentation == Augmentation::Sequence {
                return x;
            }
        }
    }

    /// An evenly distributed whole number from `from` to `to`, both included, which are fewer than 2^32 apart:
    /// `from + ⌊u · (to - from + 1) / 2^32⌋` of a word `u`. CNTK divides words by the size of a bucket instead.
    pub fn integer(&mut self, from: i64, to: i64) -> i64 {
        if from == to {
            return from;
        }
        if self.augmentation == Augmentation::Cntk {
            return from.wrapping_add(self.bucket(to.abs_diff(from) as u32).into());
        }
        let n = to.abs_diff(from).wrapping_add(1);
        from.wrapping_add((u64::from(self.word()).wrapping_mul(n) >> 32) as i64)
    }

    /// One of the buckets 0 to `last`, which divide the words. Words beyond the last one are drawn again.
    fn bucket(&mut self, last: u32) -> u32 {
        let size = match last.checked_add(1) {
            Some(n) => u32::MAX / n + u32::from(u32::MAX % n == last),
            None => 1,
        };
        loop {
            let bucket = self.word() / size;
            if bucket <= last {
                return bucket;
            }
        }
    }

    /// One of two, equally likely: whether a word is below 2^31.
    pub fn coin(&mut self) -> bool {
        self.word() < 1 << 31
    }

    /// A number of the normal distribution of mean 0 and deviation 1, by the ziggurat of 128 layers
    /// (spec/image.md §9.1): one word most often, more where it falls on the edge of a layer.
    pub fn normal(&mut self) -> f32 {
        let layers = Ziggurat::get();
        loop {
            let u = self.word();
            let sign = if u & 1 == 1 { 1.0 } else { -1.0 };
            let i = ((u & 255) >> 1) as usize;
            // The layer's end is rounded first, as the reference multiplies in single precision.
            let x = (u >> 8) as f32 * 2f32.powi(-24) * layers.x[i] as f32;
            if f64::from(x) < layers.x[i + 1] {
                return sign * x;
            }
            if i == 0 {
                return sign * self.tail();
            }
            let y = density(layers.x[i]) + self.uniform() * (density(layers.x[i + 1]) - density(layers.x[i]));
            if y < density(f64::from(x)) {
                return sign * x;
            }
        }
    }

    /// A number of the normal distribution beyond its last layer.
    fn tail(&mut self) -> f32 {
        loop {
            let a = -(1.0 - self.uniform()).ln() / Ziggurat::R;
            let b = -(1.0 - self.uniform()).ln();
            if 2.0 * b > a * a {
                return (Ziggurat::R + a) as f32;
            }
        }
    }

    fn uniform(&mut self) -> f64 {
        f64::from(self.word() as f32 * 2f32.powi(-32))
    }
}

fn density(x: f64) -> f64 {
    (-x * x / 2.0).exp()
}

/// The right ends of the layers, outermost first; the last is 0.
struct Ziggurat {
    x: [f64; 129],
}

impl Ziggurat {
    const R: f64 = 3.442_619_855_896_652;
    /// The area of a layer: that of the last one, its tail included.
    const AREA: f64 = 9.912_563_035_336_47e-3;

    fn get() -> &'static Ziggurat {
        static LAYERS: OnceLock<Ziggurat> = OnceLock::new();
        LAYERS.get_or_init(|| {
            let mut x = [0.0; 129];
            (x[0], x[1]) = (Ziggurat::AREA / density(Ziggurat::R), Ziggurat::R);
            for i in 1..127 {
                x[i + 1] = (-2.0 * (Ziggurat::AREA / x[i] + density(x[i])).ln()).sqrt();
            }
            Ziggurat { x }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first words of the 32-bit Mersenne Twister of seed 0: the check values of the specification are made of them.
    const WORDS: [u32; 4] = [2_357_136_044, 2_546_248_239, 3_071_714_933, 3_626_093_760];

    /// The result of drawing all of these words.
    fn drawn<T>(words: &[u32], made: impl FnOnce(&mut Draw<'_>) -> T) -> T {
        let mut words = words.iter().copied();
        let made = made(&mut Draw::from_words(&mut words));
        assert_eq!(words.next(), None, "every word is drawn");
        made
    }

    #[test]
    fn numbers_are_those_of_the_specification() {
        let normal = [-0.678_141_06f32, 1.310_827_7, 1.155_48].map(f64::from);
        let mut words = WORDS.into_iter();
        let mut draw = Draw::from_words(&mut words);
        for expected in normal {
            let found = f64::from(draw.normal());
            assert!((found - expected).abs() < 1e-6, "{found} {expected}");
        }
        let found = drawn(&WORDS[..1], |draw| draw.real(0.5, f64::from(0.9f32)));
        assert!((found - 0.719_525_387_836_97).abs() < 1e-12, "{found}");
    }

    /// Worked out from the specification in NumPy's `float32`; products in double precision differ by one unit of the last
    /// place in each.
    #[test]
    fn normal_numbers_are_products_in_single_precision() {
        for (word, bits) in [
            (0x1027_c4d1, 1_031_383_245),
            (0x7ed4_d57b, 1_061_659_938),
            (0xa6ce_cc1b, 1_070_593_725),
            (0x1807_2e8c, 3_188_428_859),
        ] {
            assert_eq!(drawn(&[word], |draw| draw.normal().to_bits()), bits, "{word:#x}");
        }
    }

    #[test]
    fn layers_have_one_area_and_meet_in_the_middle() {
        let x = &Ziggurat::get().x;
        // The reference's own table begins so.
        assert!((x[0] - 3.713_086_246_740_363).abs() < 1e-14, "{}", x[0]);
        assert!((Ziggurat::AREA / x[127] + density(x[127]) - 1.0).abs() < 1e-13);
    }

    #[test]
    fn whole_numbers_take_both_ends() {
        assert_eq!(drawn(&[0], |draw| draw.integer(-3, 4)), -3);
        assert_eq!(drawn(&[u32::MAX], |draw| draw.integer(-3, 4)), 4);
        assert_eq!(drawn(&[0, 1 << 31], |draw| [draw.coin(), draw.coin()]), [true, false]);
    }

    #[test]
    fn a_range_of_one_value_takes_no_word() {
        assert_eq!(drawn(&[], |draw| (draw.integer(7, 7), draw.real(0.5, 0.5))), (7, 0.5));
    }

    #[test]
    fn the_tail_lies_beyond_the_last_layer() {
        // Layer 0 at its right end, then two uniforms in the middle.
        let found = drawn(&[0xffff_ff01, 1 << 31, 1 << 31], |draw| draw.normal());
        assert!(f64::from(found) > Ziggurat::R, "{found}");
    }
}
