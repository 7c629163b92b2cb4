//! Mirroring pictures left to right, at random.

use std::sync::Arc;

use tesson_core::identity::Identity;
use tesson_core::{
    ConfigError, Error, OpenTransform, OptionKind, OptionSpec, OptionTable, Options, ReadFile, Section,
    TransformFormat, Value,
};

use super::canvas::Canvas;
use super::fault::TransformFault;
use super::options::{SEED, describe_seed, share};
use super::random::Random;
use super::real::Real;
use super::step::{ApplyStep, StepFacts};
use crate::picture_transforms::{self, NamedStep};

pub(crate) static FORMAT: TransformFormat = TransformFormat {
    name: "HorizontalFlip",
    help: "Mirrors the picture left to right, at random.",
    options: &OPTIONS,
    describe,
    open: OpenTransform::Chained(picture_transforms::open),
};

static OPTIONS: OptionTable = OptionTable(&[
    OptionSpec::with_default(
        "probability",
        OptionKind::Real,
        "0.5",
        "The share of pictures that are mirrored, from 0 to 1.",
    ),
    SEED,
]);

pub(crate) fn step(options: &Options<'_>, _: &ReadFile<'_>) -> Result<NamedStep, Error> {
    let probability = share(options, "probability")?;
    let identity = Identity::new("horizontal flip", 1).field("probability", probability);
    Ok(NamedStep { step: Arc::new(HorizontalFlip(probability)), identity })
}

fn describe(options: &Options<'_>) -> Result<Section, ConfigError> {
    let mut section = Section::from_iter([("probability", Value::Real(share(options, "probability")?))]);
    describe_seed(options, &mut section)?;
    Ok(section)
}

/// Mirrors pictures left to right with this probability.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HorizontalFlip(pub f64);

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
        if random.real(0.0, 1.0) < self.0 {
            canvas.mirror();
        }
        Ok(())
    }
}
