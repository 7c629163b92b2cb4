//! `Cast`: converts the values of images to the element type of the stream.

use std::sync::Arc;

use tesson_core::identity::Identity;
use tesson_core::{Error, OpenTransform, OptionTable, Options, ReadFile, Section, TransformFormat};

use super::canvas::Canvas;
use super::fault::TransformFault;
use super::random::Random;
use super::real::Real;
use super::step::{ApplyStep, Effect, StepFacts};
use crate::image_transforms::{self, NamedStep};

pub(crate) static FORMAT: TransformFormat = TransformFormat {
    name: "Cast",
    help: "Converts values to the stream's type.",
    options: &OptionTable(&[]),
    describe: |_| Ok(Section::default()),
    open: OpenTransform::Chained(image_transforms::open),
};

pub(crate) fn step(_: &Options<'_>, _: &ReadFile<'_>) -> Result<NamedStep, Error> {
    Ok(NamedStep { step: Arc::new(Cast), identity: Identity::new("cast", 1) })
}

/// Converts to the stream's type, which happens where the result is stored anyhow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cast;

impl StepFacts for Cast {
    fn name(&self) -> &'static str {
        FORMAT.name
    }

    fn effect(&self) -> Effect {
        Effect::Converted
    }
}

impl ApplyStep for Cast {
    fn apply<F: Real>(&self, _: &mut Canvas<'_, F>, _: &mut dyn Random) -> Result<(), TransformFault> {
        Ok(())
    }
}
