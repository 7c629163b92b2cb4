//! Values to zero mean and unit deviation, channel by channel.

use tesson_core::identity::Identity;
use tesson_core::{
    ConfigError, Error, OpenTransform, OptionKind, OptionSpec, OptionTable, Options, ReadFile, Section,
    TransformFormat, Value,
};

use crate::picture_transforms::{self, NamedStep, refused};
use crate::transform::normalize::Normalize;
use crate::transform::pipeline::Step;

pub(crate) static FORMAT: TransformFormat = TransformFormat {
    name: "Normalize",
    help: "Divides values, subtracts the mean and divides by the standard deviation, channel by channel.",
    options: &OPTIONS,
    describe,
    open: OpenTransform::Chained(picture_transforms::open),
};

static OPTIONS: OptionTable = OptionTable(&[
    OptionSpec::required(
        "mean",
        OptionKind::Numbers,
        "The mean of each channel, in the order of the channels, of values that have been divided by `divisor`; one number is for all \
         channels.",
    ),
    OptionSpec::required("std", OptionKind::Numbers, "The standard deviation of each channel, likewise."),
    OptionSpec::with_default("divisor", OptionKind::Real, "255", "What values are divided by first."),
]);

pub(crate) fn step(options: &Options<'_>, _: &ReadFile<'_>) -> Result<NamedStep, Error> {
    let single = |name: &str| -> Result<Vec<f32>, ConfigError> {
        Ok(options.numbers(name)?.into_iter().map(|x| x as f32).collect())
    };
    let (mean, std, divisor) = (single("mean")?, single("std")?, options.real("divisor")? as f32);
    let normalize = Normalize::new(divisor, &mean, &std).map_err(|fault| refused(options, "std", &fault))?;
    let identity = Identity::new("normalize", 1)
        .field("divisor", divisor)
        .field("mean", tesson_core::identity::List(&mean))
        .field("std", tesson_core::identity::List(&std));
    Ok(NamedStep { step: Step::Normalize(normalize), identity })
}

fn describe(options: &Options<'_>) -> Result<Section, ConfigError> {
    let reals = |name| Ok(Value::List(options.numbers(name)?.into_iter().map(Value::Real).collect()));
    Ok(Section::from_iter([
        ("mean", reals("mean")?),
        ("std", reals("std")?),
        ("divisor", Value::Real(options.real("divisor")?)),
    ]))
}
