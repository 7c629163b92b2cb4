//! Turning a picture by a random angle.

use tesson_core::identity::{Identity, List};
use tesson_core::{
    ConfigError, Error, OpenTransform, OptionKind, OptionSpec, OptionTable, Options, ReadFile, Section,
    TransformFormat, Value, Words,
};

use crate::options::{SEED, describe_seed, reals};
use crate::picture_transforms::{self, NamedStep, refused};
use crate::transform::fill::Fill;
use crate::transform::pipeline::Step;
use crate::transform::random_rotation::RandomRotation;

pub(crate) static FORMAT: TransformFormat = TransformFormat {
    name: "RandomRotation",
    help: "Turns the picture about its centre by a random angle; its size stays.",
    options: &OPTIONS,
    describe,
    open: OpenTransform::Chained(picture_transforms::open),
};

/// The values of `interpolation`: true if pixels are blended.
static INTERPOLATIONS: Words<bool, 2> = Words::new([("nearest", false), ("linear", true)]);

static OPTIONS: OptionTable = OptionTable(&[
    OptionSpec::required(
        "degrees",
        OptionKind::Numbers,
        "Smallest and largest angle, counterclockwise; one number is the largest to either side.",
    ),
    OptionSpec::with_default(
        "interpolation",
        INTERPOLATIONS.kind(),
        "nearest",
        "Whether the nearest pixel is taken, or the four around a position are blended.",
    ),
    OptionSpec::with_default(
        "value",
        OptionKind::Numbers,
        "0",
        "What lies outside of the picture, a number for all channels or one of each; whole ones from 0 to 255 leave pictures in 8 bits.",
    ),
    SEED,
]);

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
    let what = format!(
        "found `{}`, expected an angle from 0, or the smallest angle and the largest one",
        found.join(":")
    );
    Err(ConfigError::new(options.path("degrees"), what))
}

pub(crate) fn step(options: &Options<'_>, _: &ReadFile<'_>) -> Result<NamedStep, Error> {
    let (degrees, blends) = (degrees(options)?, options.word("interpolation", &INTERPOLATIONS)?);
    let value: Vec<f32> = options.numbers("value")?.into_iter().map(|x| x as f32).collect();
    let identity = Identity::new("random rotation", 1)
        .field("degrees", format_args!("{}:{}", degrees[0], degrees[1]))
        .flag("linear", blends)
        .field("value", List(&value));
    let fill = Fill::new(value).map_err(|fault| refused(options, "value", &fault))?;
    Ok(NamedStep { step: Step::RandomRotation(RandomRotation { degrees, blends, fill }), identity })
}

fn describe(options: &Options<'_>) -> Result<Section, ConfigError> {
    let value = options.numbers("value")?.into_iter().map(Value::Real).collect();
    let mut section = Section::from_iter([
        ("degrees", reals(degrees(options)?)),
        ("interpolation", Value::Text(options.text("interpolation")?)),
        ("value", Value::List(value)),
    ]);
    describe_seed(options, &mut section)?;
    Ok(section)
}
