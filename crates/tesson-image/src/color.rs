//! Brightness, contrast and saturation, changed at random.

use tesson_core::identity::Identity;
use tesson_core::{
    ConfigError, Error, OpenTransform, OptionKind, OptionSpec, OptionTable, Options, ReadFile, Section,
    TransformFormat, Value,
};

use crate::options::{SEED, describe_seed, share};
use crate::picture_transforms::{self, NamedStep};
use crate::transform::color::Color;
use crate::transform::pipeline::Step;

pub(crate) static FORMAT: TransformFormat = TransformFormat {
    name: "Color",
    help: "Changes brightness, contrast and saturation at random.",
    options: &OPTIONS,
    describe,
    open: OpenTransform::Chained(picture_transforms::open),
};

static OPTIONS: OptionTable = OptionTable(&[
    OptionSpec::with_default(
        "brightnessRadius",
        OptionKind::Real,
        "0",
        "How far brightness may change, from 0 to 1.",
    ),
    OptionSpec::with_default(
        "contrastRadius",
        OptionKind::Real,
        "0",
        "How far contrast may change, from 0 to 1.",
    ),
    OptionSpec::with_default(
        "saturationRadius",
        OptionKind::Real,
        "0",
        "How far saturation may change, from 0 to 1.",
    ),
    SEED,
]);

pub(crate) fn step(options: &Options<'_>, _: &ReadFile<'_>) -> Result<NamedStep, Error> {
    let color = Color {
        brightness: share(options, "brightnessRadius")?,
        contrast: share(options, "contrastRadius")?,
        saturation: share(options, "saturationRadius")?,
    };
    let identity = Identity::new("color", 1)
        .field("brightness", color.brightness)
        .field("contrast", color.contrast)
        .field("saturation", color.saturation);
    Ok(NamedStep { step: Step::Color(color), identity })
}

fn describe(options: &Options<'_>) -> Result<Section, ConfigError> {
    let names = ["brightnessRadius", "contrastRadius", "saturationRadius"];
    let described = names.map(|name| Ok((name, Value::Real(share(options, name)?))));
    let mut section = described.into_iter().collect::<Result<Section, ConfigError>>()?;
    describe_seed(options, &mut section)?;
    Ok(section)
}
