//! Turning an image about its centre by a random angle.
//!
//! The image keeps its size. Positions are whole numbers of 1/2^25 of a pixel, and 8-bit images are blended in whole numbers,
//! so results do not depend on how a processor rounds.

use tesson_core::{
    ConfigError, Error, OpenTransform, OptionKind, OptionSet, Options, ReadFile, TransformFormat, Words,
    options, transform_of,
};

use super::canvas::Canvas;
use super::fault::TransformFault;
use super::fill::Fill;
use super::options::{SEED, fill, limits, reals, seed_if_given};
use super::random::Random;
use super::real::Real;
use super::step::{ApplyStep, StepFacts};
use super::view::Size;
use crate::image_transforms::{self, NamedStep};

pub(crate) static FORMAT: TransformFormat = transform_of::<RandomRotation>(
    "RandomRotation",
    "Rotates the image about its centre by a random angle; its size stays.",
    OpenTransform::Chained(image_transforms::open),
);

/// The values of `interpolation`: true if pixels are blended.
static INTERPOLATIONS: Words<bool, 2> = Words::new([("nearest", false), ("linear", true)]);

fn degrees(options: &Options<'_>) -> Result<[f64; 2], ConfigError> {
    let given = options.numbers("degrees")?;
    let range = match given[..] {
        [most] => [-most, most],
        [smallest, largest] => [smallest, largest],
        _ => [f64::NAN; 2],
    };
    if range.iter().all(|angle| angle.is_finite()) && range[0] <= range[1] {
        return Ok(range);
    }
    let found: Vec<String> = given.iter().map(f64::to_string).collect();
    let expected = "an angle from 0, or the smallest angle and the largest one";
    Err(ConfigError::out_of_range(options.path("degrees"), format!("`{}`", found.join(":")), expected))
}

pub(crate) fn step(options: &Options<'_>, _: &ReadFile<'_>) -> Result<NamedStep, Error> {
    Ok(NamedStep::of(RandomRotation::read(options, &())?, "random rotation"))
}

options! {
    /// Turns an image by a random angle.
    #[derive(Clone, Debug, PartialEq)]
    pub struct RandomRotation(options) {
        /// The smallest and the largest angle, in degrees counterclockwise.
        pub degrees: [f64; 2] = "degrees": OptionKind::Numbers, required
            => "Smallest and largest angle in degrees, counterclockwise; one number is the largest angle to either side."
            [read degrees(options)?]
            [describe as |rotation| reals(rotation.degrees)]
            [identity with |rotation, text| text.field("degrees", limits(rotation.degrees))];
        /// `true`: the four pixels around a position are blended; `false`: the nearest one is taken.
        pub blends: bool = "interpolation" in INTERPOLATIONS, "nearest"
            => "Method to compute pixels: take the nearest one, or blend the four around a position (`linear`)."
            [identity flag "linear"];
        /// The fill for pixels outside of the image.
        pub fill: Fill = "value": OptionKind::Numbers, "0"
            => "Fill value outside of the image: one number for all channels, or one for each; whole numbers from 0 to 255 keep \
             8-bit images in 8 bits."
            [read fill(options)?]
            [identity "value"];
        _: Option<u64> = SEED [read seed_if_given(options)?];
    }
}

/// A turn: cosine and sine in 1/2^24.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    cos: i64,
    sin: i64,
}

/// The fractional bits of a position.
const BITS: u32 = 25;

impl Turn {
    /// A turn by `degrees` counterclockwise.
    pub fn new(degrees: f64) -> Turn {
        let (sin, cos) = degrees.to_radians().sin_cos();
        let fixed = |x: f64| (x * f64::from(1 << (BITS - 1))).round() as i64;
        Turn { cos: fixed(cos), sin: fixed(sin) }
    }

    /// The column and the row, in 1/2^25, that pixels of one row come from.
    fn sources(self, size: Size, y: usize) -> impl Iterator<Item = (i64, i64)> {
        let (width, height) = (size.width as i64, size.height as i64);
        let half = 1 << (BITS - 1);
        // Twice the distance from the centre.
        let down = 2 * y as i64 + 1 - height;
        (0..width).map(move |x| {
            let right = 2 * x + 1 - width;
            (
                self.cos * right - self.sin * down + half * (width - 1),
                self.sin * right + self.cos * down + half * (height - 1),
            )
        })
    }
}

/// A type of pixel values that can be blended.
pub trait Blend: Copy + Default {
    /// The mean of two rows of two values; the weights of the second column and of the second row are of 256.
    fn blend(values: [[Self; 2]; 2], weights: [i64; 2]) -> Self;
}

impl Blend for u8 {
    fn blend(values: [[u8; 2]; 2], [x, y]: [i64; 2]) -> u8 {
        let [top, bottom] = values.map(|[left, right]| i64::from(left) * (256 - x) + i64::from(right) * x);
        ((top * (256 - y) + bottom * y + (1 << 15)) >> 16) as u8
    }
}

macro_rules! blend {
    ($type:ty) => {
        impl Blend for $type {
            fn blend(values: [[$type; 2]; 2], weights: [i64; 2]) -> $type {
                let [x, y] = weights.map(|weight| weight as $type / 256.0);
                let [top, bottom] = values.map(|[left, right]| left * (1.0 - x) + right * x);
                top * (1.0 - y) + bottom * y
            }
        }
    };
}

blend!(f32);
blend!(f64);

impl RandomRotation {
    /// The turn of the next image. Where there is only one angle, nothing is drawn.
    pub fn turn(&self, random: &mut dyn Random) -> Turn {
        Turn::new(random.real(self.degrees[0], self.degrees[1]))
    }

    /// Replaces the contents of `out` by the turned image.
    pub(super) fn rotate<T: Blend>(
        &self,
        turn: Turn,
        size: Size,
        values: &[T],
        out: &mut Vec<T>,
        convert: impl Fn(f32) -> T,
    ) {
        let channels = size.channels;
        let at = |x: i64, y: i64, channel: usize| {
            let is_inside = (0..size.width as i64).contains(&x) && (0..size.height as i64).contains(&y);
            if is_inside {
                values[(y as usize * size.width + x as usize) * channels + channel]
            } else {
                convert(self.fill.of(channel))
            }
        };
        out.clear();
        out.reserve(size.values());
        for y in 0..size.height {
            for (x, y) in turn.sources(size, y) {
                if !self.blends {
                    let nearest = |position: i64| (position + (1 << (BITS - 1))) >> BITS;
                    out.extend((0..channels).map(|channel| at(nearest(x), nearest(y), channel)));
                    continue;
                }
                let weights = [x, y].map(|position| (position & ((1 << BITS) - 1)) >> (BITS - 8));
                let (x, y) = (x >> BITS, y >> BITS);
                out.extend((0..channels).map(|channel| {
                    let row = |y| [at(x, y, channel), at(x + 1, y, channel)];
                    T::blend([row(y), row(y + 1)], weights)
                }));
            }
        }
    }
}

impl StepFacts for RandomRotation {
    fn name(&self) -> &'static str {
        FORMAT.name
    }

    fn draws(&self) -> bool {
        true
    }

    fn fill(&self) -> Option<&Fill> {
        Some(&self.fill)
    }
}

impl ApplyStep for RandomRotation {
    fn apply<F: Real>(
        &self,
        canvas: &mut Canvas<'_, F>,
        random: &mut dyn Random,
    ) -> Result<(), TransformFault> {
        self.fill.check(FORMAT.name, canvas.size().channels)?;
        let turn = self.turn(random);
        if canvas.is_real() || self.makes_reals() {
            canvas.replace_reals(|size, values, out| self.rotate(turn, size, values, out, F::from));
        } else {
            canvas
                .replace_bytes(|size, values, out| self.rotate(turn, size, values, out, |value| value as u8));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turned(degrees: f64, blends: bool, size: Size, values: &[u8]) -> Vec<u8> {
        let rotation = RandomRotation { degrees: [degrees; 2], blends, fill: Fill::new([9.0]).unwrap() };
        let mut out = Vec::new();
        rotation.rotate(Turn::new(degrees), size, values, &mut out, |x| x as u8);
        out
    }

    #[test]
    fn right_angles_move_pixels_counterclockwise() {
        let (size, square) = (Size::new(2, 2, 2), [1, 2, 3, 4, 5, 6, 7, 8]);
        for blends in [false, true] {
            assert_eq!(turned(0.0, blends, size, &square), square);
            assert_eq!(turned(90.0, blends, size, &square), [3, 4, 7, 8, 1, 2, 5, 6]);
            assert_eq!(turned(-180.0, blends, size, &square), [7, 8, 5, 6, 3, 4, 1, 2]);
            assert_eq!(turned(360.0, blends, size, &square), square);
        }
        // Pixels that leave the image are lost.
        assert_eq!(turned(90.0, false, Size::new(1, 3, 1), &[1, 2, 3]), [9, 2, 9]);
    }

    #[test]
    fn pixels_between_pixels_are_blended_and_the_outside_has_its_value() {
        let size = Size::new(3, 3, 1);
        let found = turned(45.0, true, size, &[100; 9]);
        assert_eq!(found[4], 100);
        let corner = u32::from(found[0]);
        assert!((9..100).contains(&corner) && found[0] == found[8], "{found:?}");
        assert_eq!(turned(45.0, false, size, &[1, 2, 3, 4, 5, 6, 7, 8, 9])[4], 5);
        let (floats, mut out) = ([100.0f32; 9], Vec::new());
        let rotation = RandomRotation { degrees: [45.0; 2], blends: true, fill: Fill::new([9.0]).unwrap() };
        rotation.rotate(Turn::new(45.0), size, &floats, &mut out, |x| x);
        assert!(out.iter().zip(found).all(|(float, byte)| (float - f32::from(byte)).abs() <= 0.5));
    }
}
