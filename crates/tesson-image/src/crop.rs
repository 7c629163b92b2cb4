//! Cutting a rectangle out of a picture, at random or not.

use tesson_core::{ConfigError, OptionKind, OptionTable, Options, Section, TransformFormat, Value};

use crate::options::{SEED, describe_seed, option, pair, reals};

pub(crate) static FORMAT: TransformFormat = TransformFormat {
    name: "Crop",
    help: "Cuts a rectangle out of the picture.",
    options: &OPTIONS,
    describe,
    open: None,
};

static OPTIONS: OptionTable = OptionTable(&[
    option(
        "cropType",
        OptionKind::OneOf(&["Center", "RandomSide", "RandomArea", "MultiView10"]),
        Some("Center"),
        "Where the rectangle lies: in the middle, at random, or in each of ten views.",
    ),
    option(
        "cropSize",
        OptionKind::Numbers,
        Some("0"),
        "Width and height in pixels; 0 leaves it to the ratios.",
    ),
    option("sideRatio", OptionKind::Numbers, Some("0"), "Smallest and largest share of the shorter side."),
    option("areaRatio", OptionKind::Numbers, Some("0"), "Smallest and largest share of the area."),
    option("aspectRatio", OptionKind::Numbers, Some("1"), "Smallest and largest ratio of width to height."),
    option(
        "jitterType",
        OptionKind::OneOf(&["None", "UniRatio"]),
        Some("None"),
        "Whether the ratios are the smallest ones, or drawn evenly from smallest to largest.",
    ),
    option(
        "hflip",
        OptionKind::Bool,
        Some(""),
        "Whether every other picture is mirrored; the default is yes for crops at random.",
    ),
    SEED,
]);

fn describe(options: &Options<'_>) -> Result<Section, ConfigError> {
    let word = |name: &str| Ok(options.text(name)?.unwrap_or_default().to_ascii_lowercase());
    let crop = word("cropType")?;
    let (side, area) = (ratio(options, "sideRatio")?, ratio(options, "areaRatio")?);
    if side != [0.0; 2] && area != [0.0; 2] {
        let what = "`sideRatio` is given too, only one of the two may be";
        return Err(ConfigError::new(options.path("areaRatio"), what));
    }
    let flip = match (options.given("hflip"), crop.as_str()) {
        (_, "multiview10") => false,
        (Some(_), _) => options.bool("hflip")?,
        (None, _) => crop != "center",
    };
    let mut section = Section::from_iter([
        ("cropSize", size(options)?),
        ("sideRatio", reals(side)),
        ("areaRatio", reals(area)),
        ("aspectRatio", reals(aspect(options)?)),
        ("jitterType", Value::Text(word("jitterType")?)),
        ("hflip", Value::Bool(flip)),
    ]);
    section.0.insert(0, ("cropType".into(), Value::Text(crop)));
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
