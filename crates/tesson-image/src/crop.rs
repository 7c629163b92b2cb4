//! Cutting a rectangle out of a picture, at random or not.

use tesson_core::{
    ConfigError, OptionKind, OptionSpec, OptionTable, Options, Section, TransformFormat, Value, Words,
};

use crate::options::{SEED, describe_seed, pair, reals};

pub(crate) static FORMAT: TransformFormat = TransformFormat {
    name: "Crop",
    help: "Cuts a rectangle out of the picture.",
    options: &OPTIONS,
    describe,
    open: None,
};

/// Where the rectangle lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Crop {
    Center,
    Random,
    MultiView,
}

static CROPS: Words<Crop, 4> = Words::new([
    ("Center", Crop::Center),
    ("RandomSide", Crop::Random),
    ("RandomArea", Crop::Random),
    ("MultiView10", Crop::MultiView),
]);

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
        OptionKind::OneOf(&["None", "UniRatio"]),
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

fn describe(options: &Options<'_>) -> Result<Section, ConfigError> {
    let word = |name: &str| Ok(options.text(name)?.to_ascii_lowercase());
    let crop = options.word("cropType", &CROPS)?;
    let (side, area) = (ratio(options, "sideRatio")?, ratio(options, "areaRatio")?);
    if side != [0.0; 2] && area != [0.0; 2] {
        let what = "`sideRatio` is given too, only one of the two may be";
        return Err(ConfigError::new(options.path("areaRatio"), what));
    }
    let flip = match crop {
        Crop::MultiView => false,
        Crop::Center => options.bool_if_given("hflip")?.unwrap_or(false),
        Crop::Random => options.bool_if_given("hflip")?.unwrap_or(true),
    };
    let mut section = Section::from_iter([
        ("cropSize", size(options)?),
        ("sideRatio", reals(side)),
        ("areaRatio", reals(area)),
        ("aspectRatio", reals(aspect(options)?)),
        ("jitterType", Value::Text(word("jitterType")?)),
        ("hflip", Value::Bool(flip)),
    ]);
    section.0.insert(0, ("cropType".into(), Value::Text(word("cropType")?)));
    describe_seed(options, &mut section)?;
    Ok(section)
}

fn size(options: &Options<'_>) -> Result<Value, ConfigError> {
    let size = pair(options, "cropSize")?;
    let whole = |x: f64| x >= 0.0 && x.fract() == 0.0 && x <= f64::from(i32::MAX);
    if !size.into_iter().all(whole) {
        let what = "expected whole numbers of pixels from 0";
        return Err(ConfigError::new(options.path("cropSize"), what));
    }
    Ok(Value::List(size.into_iter().map(|x| Value::Whole(x as i128)).collect()))
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
