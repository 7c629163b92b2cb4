//! Mirroring pictures left to right, at random.

use tesson_core::identity::Identity;
use tesson_core::{
    ConfigError, Error, OpenTransform, OptionKind, OptionSpec, OptionTable, Options, ReadFile, Section,
    TransformFormat, Value,
};

use crate::options::{SEED, describe_seed, share};
use crate::picture_transforms::{self, NamedStep};
use crate::transform::pipeline::Step;

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
    Ok(NamedStep { step: Step::HorizontalFlip(probability), identity })
}

fn describe(options: &Options<'_>) -> Result<Section, ConfigError> {
    let mut section = Section::from_iter([("probability", Value::Real(share(options, "probability")?))]);
    describe_seed(options, &mut section)?;
    Ok(section)
}
