//! A random rectangle in torchvision's sense: an evenly drawn share of the area, an aspect ratio drawn evenly in its logarithm.

use tesson_core::{
    Error, OpenTransform, OptionKind, OptionSet, Options, ReadFile, TransformFormat, options, transform_of,
};

use super::canvas::Canvas;
use super::fault::TransformFault;
use super::options::{SEED, limits, range, reals, seed_if_given};
use super::random::Random;
use super::real::Real;
use super::step::{ApplyStep, OpenSize, StepFacts};
use super::view::{Rect, Sides};
use crate::image_transforms::{self, NamedStep};

pub(crate) static FORMAT: TransformFormat = transform_of::<RandomResizedCrop>(
    "RandomResizedCrop",
    "Cuts out a random rectangle as torchvision does; put a `Scale` after it.",
    OpenTransform::Chained(image_transforms::open),
);

pub(crate) fn step(options: &Options<'_>, _: &ReadFile<'_>) -> Result<NamedStep, Error> {
    Ok(NamedStep::of(RandomResizedCrop::read(options, &())?, "random resized crop"))
}

options! {
    /// Cuts out a random rectangle. A [`Scale`](super::scale::Scale) after it gives all of them one size.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct RandomResizedCrop(options) {
        /// The smallest and largest share of the area; torchvision's default is 0.08 to 1.
        pub area_ratio: [f64; 2] = "areaRatio": OptionKind::Numbers, "0.08:1"
            => "Smallest and largest share of the area."
            [read range(options, "areaRatio", 1.0)?]
            [describe as |crop| reals(crop.area_ratio)]
            [identity with |crop, text| text.field("area", limits(crop.area_ratio))];
        /// The smallest and largest ratio of width to height; torchvision's default is 3/4 to 4/3.
        pub aspect_ratio: [f64; 2] = "aspectRatio": OptionKind::Numbers, "0.75:1.3333333333333333"
            => "Smallest and largest ratio of width to height."
            [read range(options, "aspectRatio", f64::INFINITY)?]
            [describe as |crop| reals(crop.aspect_ratio)]
            [identity with |crop, text| text.field("aspect", limits(crop.aspect_ratio))];
        _: Option<u64> = SEED [read seed_if_given(options)?];
    }
}

impl RandomResizedCrop {
    /// The rectangle of an image of this size.
    pub fn rectangle(&self, of: Sides, random: &mut dyn Random) -> Rect {
        let Sides { height, width } = of;
        let ([smallest, largest], [narrowest, widest]) = (self.area_ratio, self.aspect_ratio);
        let area = width as f64 * height as f64;
        for _ in 0..10 {
            let area = area * random.real(smallest, largest);
            let aspect = random.real(narrowest.ln(), widest.ln()).exp();
            // Python's `round`: halves to even.
            let w = (area * aspect).sqrt().round_ties_even() as usize;
            let h = (area / aspect).sqrt().round_ties_even() as usize;
            if (1..=width).contains(&w) && (1..=height).contains(&h) {
                let y = random.integer(0, (height - h) as i64) as usize;
                let x = random.integer(0, (width - w) as i64) as usize;
                return Rect { x, y, width: w, height: h };
            }
        }
        // The largest rectangle in the middle with an allowed ratio.
        let ratio = width as f64 / height as f64;
        let (w, h) = match ratio {
            _ if ratio < narrowest => (width, (width as f64 / narrowest).round_ties_even() as usize),
            _ if ratio > widest => ((height as f64 * widest).round_ties_even() as usize, height),
            _ => (width, height),
        };
        let (w, h) = (w.clamp(1, width), h.clamp(1, height));
        Rect { x: (width - w) / 2, y: (height - h) / 2, width: w, height: h }
    }
}

impl StepFacts for RandomResizedCrop {
    fn name(&self) -> &'static str {
        FORMAT.name
    }

    fn output(&self, [_, _, channels]: OpenSize) -> Result<OpenSize, TransformFault> {
        Ok([None, None, channels])
    }

    fn draws(&self) -> bool {
        true
    }
}

impl ApplyStep for RandomResizedCrop {
    fn apply<F: Real>(
        &self,
        canvas: &mut Canvas<'_, F>,
        random: &mut dyn Random,
    ) -> Result<(), TransformFault> {
        canvas.cut(self.rectangle(canvas.size().sides(), random));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::random::CntkRandom;
    use super::*;

    #[test]
    fn rectangles_lie_within_the_image_and_have_the_drawn_shares() {
        let crop = RandomResizedCrop { area_ratio: [0.08, 1.0], aspect_ratio: [0.75, 4.0 / 3.0] };
        let mut random = CntkRandom::new(vec![0]);
        for _ in 0..1000 {
            let rect = crop.rectangle(Sides { width: 97, height: 61 }, &mut random);
            assert!(rect.x + rect.width <= 97 && rect.y + rect.height <= 61, "{rect:?}");
            let (share, aspect) =
                ((rect.width * rect.height) as f64 / (97.0 * 61.0), rect.width as f64 / rect.height as f64);
            assert!(share > 0.07 && (0.7..1.43).contains(&aspect), "{rect:?}");
        }
    }

    #[test]
    fn an_image_that_no_rectangle_fits_gives_its_middle() {
        let crop = RandomResizedCrop { area_ratio: [1.0; 2], aspect_ratio: [0.75, 4.0 / 3.0] };
        let rect = |width, height| crop.rectangle(Sides { height, width }, &mut CntkRandom::new(vec![0]));
        assert_eq!(rect(100, 10), Rect { x: 43, y: 0, width: 13, height: 10 });
        assert_eq!(rect(10, 100), Rect { x: 0, y: 43, width: 10, height: 13 });
    }
}
