//! Covering a random rectangle of an image, in torchvision's sense.

use tesson_core::{
    Error, OpenTransform, OptionKind, OptionSet, Options, ReadFile, TransformFormat, options, transform_of,
};

use super::canvas::Canvas;
use super::fault::TransformFault;
use super::fill::Fill;
use super::options::{SEED, fill, limits, range, reals, seed_if_given, share};
use super::random::Random;
use super::real::Real;
use super::step::{ApplyStep, StepFacts};
use super::view::{Rect, Sides, Size};
use crate::image_transforms::{self, NamedStep};

pub(crate) static FORMAT: TransformFormat = transform_of::<RandomErasing>(
    "RandomErasing",
    "Covers a random rectangle of the image, as torchvision does.",
    OpenTransform::Chained(image_transforms::open),
);

pub(crate) fn step(options: &Options<'_>, _: &ReadFile<'_>) -> Result<NamedStep, Error> {
    Ok(NamedStep::of(RandomErasing::read(options, &())?, "random erasing"))
}

options! {
    /// Covers a random rectangle of an image with a fill.
    #[derive(Clone, Debug, PartialEq)]
    pub struct RandomErasing(options) {
        probability: f64 = "probability", "0.5"
            => "Share of images that get such a rectangle, from 0 to 1."
            [read share(options, "probability")?] [identity "probability"];
        area_ratio: [f64; 2] = "areaRatio": OptionKind::Numbers, "0.02:0.33"
            => "Smallest and largest share of the area."
            [read range(options, "areaRatio", 1.0)?]
            [describe as |erasing| reals(erasing.area_ratio)]
            [identity with |erasing, text| text.field("area", limits(erasing.area_ratio))];
        aspect_ratio: [f64; 2] = "aspectRatio": OptionKind::Numbers, "0.3:3.3"
            => "Smallest and largest ratio of width to height."
            [read range(options, "aspectRatio", f64::INFINITY)?]
            [describe as |erasing| reals(erasing.aspect_ratio)]
            [identity with |erasing, text| text.field("aspect", limits(erasing.aspect_ratio))];
        fill: Fill = "value": OptionKind::Numbers, "0"
            => "Fill value of the rectangle: one number for all channels, or one for each; whole numbers from 0 to 255 keep \
             8-bit images in 8 bits."
            [read fill(options)?]
            [identity "value"];
        _: Option<u64> = SEED [read seed_if_given(options)?];
    }
}

impl RandomErasing {
    /// Covers images with this probability. The share of the area and the ratio of width to height each lie between
    /// two limits.
    pub fn new(probability: f64, area_ratio: [f64; 2], aspect_ratio: [f64; 2], fill: Fill) -> RandomErasing {
        RandomErasing { probability, area_ratio, aspect_ratio, fill }
    }

    /// The rectangle of an image of this size; `None` where nothing is covered: by the probability, or because ten drawn
    /// rectangles are not smaller than the image on both sides.
    pub fn rectangle(&self, of: Sides, random: &mut dyn Random) -> Option<Rect> {
        let Sides { height, width } = of;
        if random.real(0.0, 1.0) >= self.probability {
            return None;
        }
        let ([smallest, largest], [narrowest, widest]) = (self.area_ratio, self.aspect_ratio);
        for _ in 0..10 {
            let area = width as f64 * height as f64 * random.real(smallest, largest);
            let aspect = random.real(narrowest.ln(), widest.ln()).exp();
            // Python's `round`: halves to even.
            let w = (area * aspect).sqrt().round_ties_even() as usize;
            let h = (area / aspect).sqrt().round_ties_even() as usize;
            if w < width && h < height {
                let y = random.integer(0, (height - h) as i64) as usize;
                let x = random.integer(0, (width - w) as i64) as usize;
                return Some(Rect { x, y, width: w, height: h });
            }
        }
        None
    }

    /// Covers a rectangle of an image.
    pub fn cover<T: Copy>(&self, size: Size, values: &mut [T], rect: Rect, convert: impl Fn(f32) -> T) {
        let n = size.channels;
        for row in values.chunks_exact_mut(size.width * n).skip(rect.y).take(rect.height) {
            for pixel in row[rect.x * n..(rect.x + rect.width) * n].chunks_exact_mut(n) {
                for (channel, to) in pixel.iter_mut().enumerate() {
                    *to = convert(self.fill.of(channel));
                }
            }
        }
    }
}

impl StepFacts for RandomErasing {
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

impl ApplyStep for RandomErasing {
    fn apply<F: Real>(
        &self,
        canvas: &mut Canvas<'_, F>,
        random: &mut dyn Random,
    ) -> Result<(), TransformFault> {
        let size = canvas.size();
        self.fill.check(FORMAT.name, size.channels)?;
        // The type of the values is the same whether a rectangle is covered or not.
        if self.makes_reals() {
            canvas.reals();
        }
        match self.rectangle(size.sides(), random) {
            Some(rect) if canvas.is_real() => {
                let (size, values) = canvas.reals();
                self.cover(size, values, rect, F::from);
            }
            Some(rect) => {
                let (size, values) = canvas.bytes();
                self.cover(size, values, rect, |value| value as u8);
            }
            None => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::random::CntkRandom;
    use super::*;

    fn erasing(probability: f64, area: [f64; 2], value: &[f32]) -> RandomErasing {
        RandomErasing::new(probability, area, [0.3, 3.3], Fill::new(value).expect("there is a value"))
    }

    #[test]
    fn rectangles_lie_within_the_image_and_have_the_drawn_shares() {
        let all = erasing(1.0, [0.02, 0.33], &[0.0]);
        let half = erasing(0.5, [0.02, 0.33], &[0.0]);
        let mut random = CntkRandom::new(vec![0]);
        let mut covered = 0;
        for _ in 0..1000 {
            let rect =
                all.rectangle(Sides { width: 97, height: 61 }, &mut random).expect("such a rectangle fits");
            assert!(rect.x + rect.width <= 97 && rect.y + rect.height <= 61, "{rect:?}");
            let share = (rect.width * rect.height) as f64 / (97.0 * 61.0);
            assert!((0.018..0.34).contains(&share), "{rect:?}");
            covered += usize::from(half.rectangle(Sides { width: 97, height: 61 }, &mut random).is_some());
        }
        assert!((450..550).contains(&covered), "{covered} of 1000");
    }

    #[test]
    fn what_is_as_large_as_the_image_covers_nothing() {
        let mut random = CntkRandom::new(vec![0]);
        assert_eq!(
            erasing(1.0, [1.0; 2], &[0.0]).rectangle(Sides { width: 9, height: 9 }, &mut random),
            None
        );
        assert_eq!(
            erasing(0.0, [0.1; 2], &[0.0]).rectangle(Sides { width: 9, height: 9 }, &mut random),
            None
        );
    }

    #[test]
    fn a_rectangle_has_the_value_of_each_channel() {
        let mut values = [9u8; 3 * 2 * 3];
        let rect = Rect { x: 1, y: 1, width: 1, height: 2 };
        erasing(1.0, [0.1; 2], &[1.0, 2.0, 3.0]).cover(Size::new(3, 2, 3), &mut values, rect, |x| x as u8);
        assert_eq!(values, [9, 9, 9, 9, 9, 9, 9, 9, 9, 1, 2, 3, 9, 9, 9, 1, 2, 3]);
    }
}
