//! Cutting a rectangle out of a picture, at random or not.

use tesson_core::identity::Identity;
use tesson_core::{
    ConfigError, Error, OpenTransform, OptionKind, OptionSpec, OptionTable, Options, ReadFile, Section,
    TransformFormat, Value, Words,
};

use crate::options::{SEED, describe_seed, pair, reals};
use crate::picture_transforms::{self, NamedStep};
use crate::transform::crop::{Crop, CropKind, CropSize};
use crate::transform::pipeline::Step;

pub(crate) static FORMAT: TransformFormat = TransformFormat {
    name: "Crop",
    help: "Cuts a rectangle out of the picture.",
    options: &OPTIONS,
    describe,
    open: OpenTransform::Chained(picture_transforms::open),
};

static CROPS: Words<CropKind, 4> = Words::new([
    ("Center", CropKind::Center),
    ("RandomSide", CropKind::Random),
    ("RandomArea", CropKind::Random),
    ("MultiView10", CropKind::MultiView10),
]);

/// The values of `jitterType`: true if ratios are drawn.
static JITTERS: Words<bool, 2> = Words::new([("None", false), ("UniRatio", true)]);

static OPTIONS: OptionTable = OptionTable(&[
    OptionSpec::with_default(
        "cropType",
        CROPS.kind(),
        "Center",
        "Where the rectangle lies: in the middle, at random, or in each of ten views.",
    ),
    OptionSpec::with_default(
        "cropSize",
        OptionKind::Numbers,
        "0",
        "Width and height in pixels; 0 leaves it to the ratios.",
    ),
    OptionSpec::with_default(
        "sideRatio",
        OptionKind::Numbers,
        "0",
        "Smallest and largest share of the shorter side.",
    ),
    OptionSpec::with_default(
        "areaRatio",
        OptionKind::Numbers,
        "0",
        "Smallest and largest share of the area.",
    ),
    OptionSpec::with_default(
        "aspectRatio",
        OptionKind::Numbers,
        "1",
        "Smallest and largest ratio of width to height.",
    ),
    OptionSpec::with_default(
        "jitterType",
        JITTERS.kind(),
        "None",
        "Whether the ratios are the smallest ones, or drawn evenly from smallest to largest.",
    ),
    OptionSpec::optional(
        "hflip",
        OptionKind::Bool,
        "Whether every other picture is mirrored; the default is yes for crops at random.",
    ),
    SEED,
]);

/// The crop that the options describe.
fn crop(options: &Options<'_>) -> Result<Crop, ConfigError> {
    let kind = options.word("cropType", &CROPS)?;
    let (side, area) = (ratio(options, "sideRatio")?, ratio(options, "areaRatio")?);
    if side != [0.0; 2] && area != [0.0; 2] {
        let what = "`sideRatio` is given too, only one of the two may be";
        return Err(ConfigError::new(options.path("areaRatio"), what));
    }
    // Ratios are stored in single precision.
    let single = |ratio: [f64; 2]| ratio.map(|x| x as f32);
    let [width, height] = size(options)?;
    let size = match (width, height) {
        (1.., 1..) => CropSize::Pixels(width, height),
        _ if side != [0.0; 2] => CropSize::SideRatio(single(side)),
        _ if area != [0.0; 2] => CropSize::AreaRatio(single(area)),
        _ => CropSize::Whole,
    };
    let hflip = match kind {
        CropKind::MultiView10 => false,
        CropKind::Center => options.bool_if_given("hflip")?.unwrap_or(false),
        CropKind::Random => options.bool_if_given("hflip")?.unwrap_or(true),
    };
    let jitter = options.word("jitterType", &JITTERS)?;
    Ok(Crop { kind, size, aspect_ratio: single(aspect(options)?), jitter, hflip })
}

pub(crate) fn step(options: &Options<'_>, _: &ReadFile<'_>) -> Result<NamedStep, Error> {
    let crop = crop(options)?;
    let kind = match crop.kind {
        CropKind::Center => "center",
        CropKind::Random => "random",
        CropKind::MultiView10 => "views",
    };
    let identity = Identity::new("crop", 1).word(kind);
    let ratio = |identity: Identity, name: &str, [least, most]: [f32; 2]| {
        identity.field(name, format_args!("{least}:{most}"))
    };
    let identity = match crop.size {
        CropSize::Whole => identity,
        CropSize::Pixels(width, height) => identity.field("size", format_args!("{width}:{height}")),
        CropSize::SideRatio(side) => ratio(identity, "side", side),
        CropSize::AreaRatio(area) => ratio(identity, "area", area),
    };
    let identity = ratio(identity, "aspect", crop.aspect_ratio);
    let identity = identity.flag("jitter", crop.jitter).flag("hflip", crop.hflip);
    Ok(NamedStep { step: Step::Crop(crop), identity })
}

fn describe(options: &Options<'_>) -> Result<Section, ConfigError> {
    let word = |name: &str| Ok(options.text(name)?.to_ascii_lowercase());
    let crop = crop(options)?;
    let pixels = size(options)?.map(|n| Value::Whole(n as i128));
    let mut section = Section::from_iter([
        ("cropType", Value::Text(word("cropType")?)),
        ("cropSize", Value::List(pixels.into())),
        ("sideRatio", reals(ratio(options, "sideRatio")?)),
        ("areaRatio", reals(ratio(options, "areaRatio")?)),
        ("aspectRatio", reals(aspect(options)?)),
        ("jitterType", Value::Text(word("jitterType")?)),
        ("hflip", Value::Bool(crop.hflip)),
    ]);
    describe_seed(options, &mut section)?;
    Ok(section)
}

/// Width and height in pixels; 0 where ratios say them.
fn size(options: &Options<'_>) -> Result<[usize; 2], ConfigError> {
    let size = pair(options, "cropSize")?;
    let whole = |x: f64| x >= 0.0 && x.fract() == 0.0 && x <= f64::from(i32::MAX);
    if !size.into_iter().all(whole) {
        let what = "expected whole numbers of pixels from 0";
        return Err(ConfigError::new(options.path("cropSize"), what));
    }
    Ok(size.map(|x| x as usize))
}

fn ratio(options: &Options<'_>, name: &str) -> Result<[f64; 2], ConfigError> {
    let [least, most] = pair(options, name)?;
    if [least, most] == [0.0; 2] || (0.0 < least && least <= most && most <= 1.0) {
        return Ok([least, most]);
    }
    let what = format!("found `{least}:{most}`, expected 0 < smallest ≤ largest ≤ 1");
    Err(ConfigError::new(options.path(name), what))
}

fn aspect(options: &Options<'_>) -> Result<[f64; 2], ConfigError> {
    let [least, most] = pair(options, "aspectRatio")?;
    if 0.0 < least && least <= most {
        return Ok([least, most]);
    }
    let what = format!("found `{least}:{most}`, expected 0 < smallest ≤ largest");
    Err(ConfigError::new(options.path("aspectRatio"), what))
}
