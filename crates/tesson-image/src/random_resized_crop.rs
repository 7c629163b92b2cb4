//! Cutting a random rectangle out of a picture as torchvision does; a `Scale` makes all of one size.

use tesson_core::identity::Identity;
use tesson_core::{
    ConfigError, Error, OpenTransform, OptionKind, OptionSpec, OptionTable, Options, ReadFile, Section,
    TransformFormat,
};

use crate::options::{SEED, describe_seed, range, reals};
use crate::picture_transforms::{self, NamedStep};
use crate::transform::pipeline::Step;
use crate::transform::random_resized_crop::RandomResizedCrop;

pub(crate) static FORMAT: TransformFormat = TransformFormat {
    name: "RandomResizedCrop",
    help: "Cuts out a random rectangle as torchvision does, to be followed by a `Scale`.",
    options: &OPTIONS,
    describe,
    open: OpenTransform::Chained(picture_transforms::open),
};

static OPTIONS: OptionTable = OptionTable(&[
    OptionSpec::with_default(
        "areaRatio",
        OptionKind::Numbers,
        "0.08:1",
        "Smallest and largest share of the area.",
    ),
    OptionSpec::with_default(
        "aspectRatio",
        OptionKind::Numbers,
        "0.75:1.3333333333333333",
        "Smallest and largest ratio of width to height.",
    ),
    SEED,
]);

fn crop(options: &Options<'_>) -> Result<RandomResizedCrop, ConfigError> {
    Ok(RandomResizedCrop {
        area_ratio: range(options, "areaRatio", 1.0)?,
        aspect_ratio: range(options, "aspectRatio", f64::INFINITY)?,
    })
}

pub(crate) fn step(options: &Options<'_>, _: &ReadFile<'_>) -> Result<NamedStep, Error> {
    let crop = crop(options)?;
    let RandomResizedCrop { area_ratio: [small, large], aspect_ratio: [narrow, wide] } = crop;
    let identity = Identity::new("random resized crop", 1)
        .field("area", format_args!("{small}:{large}"))
        .field("aspect", format_args!("{narrow}:{wide}"));
    Ok(NamedStep { step: Step::RandomResizedCrop(crop), identity })
}

fn describe(options: &Options<'_>) -> Result<Section, ConfigError> {
    let crop = crop(options)?;
    let mut section = Section::from_iter([
        ("areaRatio", reals(crop.area_ratio)),
        ("aspectRatio", reals(crop.aspect_ratio)),
    ]);
    describe_seed(options, &mut section)?;
    Ok(section)
}
