//! Mirroring images left to right, at random.

use tesson_core::{
    Error, OpenTransform, OptionSet, Options, ReadFile, TransformFormat, options, transform_of,
};

use super::canvas::Canvas;
use super::fault::TransformFault;
use super::options::{SEED, seed_if_given, share};
use super::random::Random;
use super::real::Real;
use super::step::{ApplyStep, StepFacts};
use crate::image_transforms::{self, NamedStep};

pub(crate) static FORMAT: TransformFormat = transform_of::<HorizontalFlip>(
    "HorizontalFlip",
    "Mirrors the image left to right, at random.",
    OpenTransform::Chained(image_transforms::open),
);

pub(crate) fn step(options: &Options<'_>, _: &ReadFile<'_>) -> Result<NamedStep, Error> {
    Ok(NamedStep::of(HorizontalFlip::read(options, &())?, "horizontal flip"))
}

options! {
    /// Mirrors images left to right with this probability.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct HorizontalFlip(options) {
        /// The share of images that are mirrored, chosen at random.
        pub probability: f64 = "probability", "0.5"
            => "Share of images that are mirrored, from 0 to 1."
            [read share(options, "probability")?] [identity "probability"];
        _: Option<u64> = SEED [read seed_if_given(options)?];
    }
}

impl StepFacts for HorizontalFlip {
    fn name(&self) -> &'static str {
        FORMAT.name
    }

    fn draws(&self) -> bool {
        true
    }
}

impl ApplyStep for HorizontalFlip {
    fn apply<F: Real>(
        &self,
        canvas: &mut Canvas<'_, F>,
        random: &mut dyn Random,
    ) -> Result<(), TransformFault> {
        if random.real(0.0, 1.0) < self.probability {
            canvas.mirror();
        }
        Ok(())
    }
}
