//! `Transpose`: reorders rows, columns, channels to channels, rows, columns.

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
    name: "Transpose",
    help: "Puts channels first: from height, width, channels to channels, height, width.",
    options: &OptionTable(&[]),
    describe: |_| Ok(Section::default()),
    open: OpenTransform::Chained(image_transforms::open),
};

pub(crate) fn step(_: &Options<'_>, _: &ReadFile<'_>) -> Result<NamedStep, Error> {
    Ok(NamedStep { step: Arc::new(Transpose), identity: Identity::new("transpose", 1) })
}

/// Puts channels first, where the result is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transpose;

impl StepFacts for Transpose {
    fn name(&self) -> &'static str {
        FORMAT.name
    }

    fn effect(&self) -> Effect {
        Effect::Transposed
    }
}

impl ApplyStep for Transpose {
    fn apply<F: Real>(&self, _: &mut Canvas<'_, F>, _: &mut dyn Random) -> Result<(), TransformFault> {
        Ok(())
    }
}
