//! Transforms: sample in, sample out, on the way from a deserializer to a minibatch.

use std::sync::OnceLock;

use crate::{Scratch, StreamInfo, UserError};

/// Random numbers, lent to a transform for one sequence. The same ones come whenever the sequence comes in the same
/// sweep, whichever thread, minibatch or worker it is in.
pub trait Draw {
    /// The next 32 bits.
    fn word(&mut self) -> u32;

    /// A number from `from` up to, and without, `to`.
    fn real(&mut self, from: f64, to: f64) -> f64 {
        f64::from(self.word()) / 2f64.powi(32) * (to - from) + from
    }

    /// A whole number from `from` to `to`, both included, which are fewer than 2^32 apart.
    fn integer(&mut self, from: i64, to: i64) -> i64 {
        let n = to.abs_diff(from).wrapping_add(1);
        from.wrapping_add((u64::from(self.word()).wrapping_mul(n) >> 32) as i64)
    }

    /// One of two, equally likely.
    fn coin(&mut self) -> bool {
        self.word() < 1 << 31
    }

    /// A number from the normal distribution of mean 0 and deviation 1 (spec of images, §9.1: a ziggurat of 128 layers).
    fn normal(&mut self) -> f32 {
        let layers = Ziggurat::get();
        loop {
            let u = self.word();
            let sign = if u & 1 == 1 { 1.0 } else { -1.0 };
            let i = ((u & 255) >> 1) as usize;
            let x = (f64::from(u >> 8) * 2f64.powi(-24) * layers.x[i]) as f32;
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
    #[doc(hidden)]
    fn tail(&mut self) -> f32 {
        loop {
            let a = -(1.0 - self.uniform()).ln() / Ziggurat::R;
            let b = -(1.0 - self.uniform()).ln();
            if 2.0 * b > a * a {
                return (Ziggurat::R + a) as f32;
            }
        }
    }

    #[doc(hidden)]
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
    const AREA: f64 = 9.912_563_035_262_17e-3;

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

/// The samples of one sequence on their way through a transform, in the type of the stream.
pub enum Flow<'a> {
    /// 32-bit floats.
    F32 {
        /// Sample after sample.
        input: &'a [f32],
        /// Where the transformed samples are appended.
        output: &'a mut Vec<f32>,
    },
    /// 64-bit floats.
    F64 {
        /// Sample after sample.
        input: &'a [f64],
        /// Where the transformed samples are appended.
        output: &'a mut Vec<f64>,
    },
}

/// The samples of one sequence of a sparse stream on their way through a transform.
pub struct SparseFlow<'a> {
    /// Where each sample's entries begin, and where those of the last end, counted from the first of these.
    pub bounds: &'a [i32],
    /// The column of each entry, ascending within a sample.
    pub columns: &'a [i32],
    /// The value of each entry, and where those of the transformed samples are appended.
    pub values: Flow<'a>,
    /// Where the number of entries of each transformed sample is appended.
    pub counts_out: &'a mut Vec<u32>,
    /// Where their columns are appended, ascending within a sample.
    pub columns_out: &'a mut Vec<i32>,
}

/// Makes of each sample of a stream another one. Their number stays.
///
/// A sparse stream may stay sparse, which a transform has to be made for ([`Transform::takes_sparse`]), or become dense:
/// then the transform gets dense samples of it.
pub trait Transform: Send + Sync {
    /// What errors call it.
    fn name(&self) -> &str;

    /// Its parameters, and a version, in a stable text form: a saved state is refused where this differs.
    fn identity(&self) -> String;

    /// A seed of its own, so that two alike draw different numbers.
    fn seed(&self) -> u64 {
        0
    }

    /// The stream that comes out, known before any data: name and type stay, the shape may change, and a sparse stream
    /// may become dense.
    ///
    /// # Errors
    /// A sentence that says which streams are expected.
    fn output(&self, input: &StreamInfo) -> Result<StreamInfo, String>;

    /// Transforms the samples of a sequence. A function of these samples and of the numbers drawn alone.
    ///
    /// # Errors
    /// Whatever goes wrong.
    fn apply(
        &self,
        samples: Flow<'_>,
        input: &StreamInfo,
        draw: &mut dyn Draw,
        scratch: &mut Scratch,
    ) -> Result<(), UserError>;

    /// Whether sparse samples may be sparse when they are transformed.
    fn takes_sparse(&self) -> bool {
        false
    }

    /// Transforms the samples of a sequence of a sparse stream that stays sparse.
    ///
    /// # Errors
    /// Whatever goes wrong.
    fn apply_sparse(
        &self,
        _samples: SparseFlow<'_>,
        _input: &StreamInfo,
        _draw: &mut dyn Draw,
        _scratch: &mut Scratch,
    ) -> Result<(), UserError> {
        Err("it transforms dense samples".into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers that come as given.
    struct Given<'a>(std::slice::Iter<'a, u32>);

    impl Draw for Given<'_> {
        fn word(&mut self) -> u32 {
            *self.0.next().expect("as many as the test draws")
        }
    }

    fn given(words: &[u32]) -> Given<'_> {
        Given(words.iter())
    }

    /// The first words of the 32-bit Mersenne Twister of seed 0: the check values of the specification are made of them.
    const WORDS: [u32; 4] = [2_357_136_044, 2_546_248_239, 3_071_714_933, 3_626_093_760];

    #[test]
    fn numbers_are_those_of_the_specification() {
        let mut draw = given(&WORDS);
        let normal = [-0.678_141_06f32, 1.310_827_7, 1.155_48].map(f64::from);
        for expected in normal {
            let found = f64::from(draw.normal());
            assert!((found - expected).abs() < 1e-6, "{found} {expected}");
        }
        let found = given(&WORDS).real(0.5, f64::from(0.9f32));
        assert!((found - 0.719_525_387_836_97).abs() < 1e-12, "{found}");
    }

    #[test]
    fn whole_numbers_take_both_ends() {
        assert_eq!(given(&[0]).integer(-3, 4), -3);
        assert_eq!(given(&[u32::MAX]).integer(-3, 4), 4);
        assert_eq!(given(&[u32::MAX]).integer(7, 7), 7);
        assert_eq!([given(&[0]).coin(), given(&[1 << 31]).coin()], [true, false]);
    }

    #[test]
    fn the_tail_lies_beyond_the_last_layer() {
        // Layer 0 at its right end, then two uniforms in the middle.
        let found = given(&[0xffff_ff01, 1 << 31, 1 << 31]).normal();
        assert!(f64::from(found) > Ziggurat::R, "{found}");
    }
}
