//! Covering a random rectangle of a picture.

use tesson_core::identity::{Identity, List};
use tesson_core::{
    ConfigError, Error, OpenTransform, OptionKind, OptionSpec, OptionTable, Options, ReadFile, Section,
    TransformFormat, Value,
};

use crate::options::{SEED, describe_seed, range, reals, share};
use crate::picture_transforms::{self, NamedStep, refused};
use crate::transform::fill::Fill;
use crate::transform::pipeline::Step;
use crate::transform::random_erasing::RandomErasing;

pub(crate) static FORMAT: TransformFormat = TransformFormat {
    name: "RandomErasing",
    help: "Covers a random rectangle of the picture, as torchvision does.",
    options: &OPTIONS,
    describe,
    open: OpenTransform::Chained(picture_transforms::open),
};

static OPTIONS: OptionTable = OptionTable(&[
    OptionSpec::with_default(
        "probability",
        OptionKind::Real,
        "0.5",
        "The share of pictures that have such a rectangle, from 0 to 1.",
    ),
    OptionSpec::with_default(
        "areaRatio",
        OptionKind::Numbers,
        "0.02:0.33",
        "Smallest and largest share of the area.",
    ),
    OptionSpec::with_default(
        "aspectRatio",
        OptionKind::Numbers,
        "0.3:3.3",
        "Smallest and largest ratio of width to height.",
    ),
    OptionSpec::with_default(
        "value",
        OptionKind::Numbers,
        "0",
        "What the rectangle is filled with, a number for all channels or one of each; whole ones from 0 to 255 leave pictures in 8 bits.",
    ),
    SEED,
]);

/// Smallest and largest share and ratio.
fn ranges(options: &Options<'_>) -> Result<[[f64; 2]; 2], ConfigError> {
    Ok([range(options, "areaRatio", 1.0)?, range(options, "aspectRatio", f64::INFINITY)?])
}

pub(crate) fn step(options: &Options<'_>, _: &ReadFile<'_>) -> Result<NamedStep, Error> {
    let (probability, [area, aspect]) = (share(options, "probability")?, ranges(options)?);
    let value: Vec<f32> = options.numbers("value")?.into_iter().map(|x| x as f32).collect();
    let ([small, large], [narrow, wide]) = (area, aspect);
    let identity = Identity::new("random erasing", 1)
        .field("probability", probability)
        .field("area", format_args!("{small}:{large}"))
        .field("aspect", format_args!("{narrow}:{wide}"))
        .field("value", List(&value));
    let fill = Fill::new(value).map_err(|fault| refused(options, "value", &fault))?;
    let erasing = RandomErasing::new(probability, area, aspect, fill);
    Ok(NamedStep { step: Step::RandomErasing(erasing), identity })
}

fn describe(options: &Options<'_>) -> Result<Section, ConfigError> {
    let [area, aspect] = ranges(options)?;
    let value = options.numbers("value")?.into_iter().map(Value::Real).collect();
    let mut section = Section::from_iter([
        ("probability", Value::Real(share(options, "probability")?)),
        ("areaRatio", reals(area)),
        ("aspectRatio", reals(aspect)),
        ("value", Value::List(value)),
    ]);
    describe_seed(options, &mut section)?;
    Ok(section)
}
