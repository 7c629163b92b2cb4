//! Making a picture larger or smaller.

use tesson_core::identity::Identity;
use tesson_core::{
    ConfigError, Error, OpenTransform, OptionKind, OptionSpec, OptionTable, Options, ReadFile, Section,
    TransformFormat, Value, Words,
};

use crate::options::{SEED, describe_seed};
use crate::picture_transforms::{self, NamedStep, refused};
use crate::transform::pipeline::Step;
use crate::transform::scale::{Scale, ScaleMode};
use crate::transform::{Filter, Interpolation};

pub(crate) static FORMAT: TransformFormat = TransformFormat {
    name: "Scale",
    help: "Scales the picture to a width and a height.",
    options: &OPTIONS,
    describe,
    open: OpenTransform::Chained(picture_transforms::open),
};

static INTERPOLATIONS: Words<Interpolation, 7> = Words::new([
    ("nearest", Interpolation::Nearest),
    ("linear", Interpolation::Linear),
    ("cubic", Interpolation::Cubic),
    ("lanczos", Interpolation::Lanczos),
    ("linear-aa", Interpolation::Antialiased(Filter::Linear)),
    ("cubic-aa", Interpolation::Antialiased(Filter::Cubic)),
    ("lanczos-aa", Interpolation::Antialiased(Filter::Lanczos)),
]);

static OPTIONS: OptionTable = OptionTable(&[
    OptionSpec::required("width", OptionKind::Whole, "Width in pixels."),
    OptionSpec::required("height", OptionKind::Whole, "Height in pixels."),
    OptionSpec::required(
        "channels",
        OptionKind::Whole,
        "Channels of the stream; pictures are not converted.",
    ),
    OptionSpec::with_default(
        "scaleMode",
        OptionKind::Text,
        "fill",
        "What happens to the shape: `fill` changes it, `crop` cuts what is too much, `pad` adds what is missing.",
    ),
    OptionSpec::with_default(
        "interpolations",
        INTERPOLATIONS.kind_of_list(),
        "linear",
        "How pixels are worked out: of several one is drawn for each picture; those with `-aa` are antialiased, as Pillow's.",
    ),
    OptionSpec::with_default(
        "padValue",
        OptionKind::Numbers,
        "-1",
        "What padding consists of: a value for all channels, or one of each, or the edge repeated (-1).",
    ),
    SEED,
]);

/// Width, height, channels.
fn size(options: &Options<'_>) -> Result<[usize; 3], ConfigError> {
    let mut size = [0; 3];
    for (n, name) in size.iter_mut().zip(["width", "height", "channels"]) {
        *n = match usize::try_from(options.whole(name)?) {
            Ok(n @ 1..) => n,
            found => {
                let what = format!("found `{}`, expected at least 1", found.unwrap_or(usize::MAX));
                return Err(ConfigError::new(options.path(name), what));
            }
        };
    }
    Ok(size)
}

/// The values of padding; `None` for the pixels of the edge.
fn padding(options: &Options<'_>, channels: usize) -> Result<Option<[u32; 4]>, ConfigError> {
    let given = options.numbers("padValue")?;
    let is_value = |value: &f64| (0.0..=f64::from(i32::MAX)).contains(value) && value.fract() == 0.0;
    match given[..] {
        [-1.0] => return Ok(None),
        [value] if is_value(&value) => return Ok(Some([value as u32; 4])),
        _ if given.len() == channels && channels <= 4 && given.iter().all(is_value) => {}
        _ => {
            let found: Vec<String> = given.iter().map(f64::to_string).collect();
            let what = format!(
                "found `{}`, expected -1, a whole number from 0 to 2147483647, or one of each channel (`channels` = {channels})",
                found.join(":")
            );
            return Err(ConfigError::new(options.path("padValue"), what));
        }
    }
    let mut pixel = [0; 4];
    pixel.iter_mut().zip(given).for_each(|(to, value)| *to = value as u32);
    Ok(Some(pixel))
}

fn mode(options: &Options<'_>, channels: usize) -> Result<ScaleMode, ConfigError> {
    let padding = padding(options, channels)?;
    match options.text("scaleMode")?.as_str() {
        "fill" => Ok(ScaleMode::Fill),
        "crop" => Ok(ScaleMode::Crop),
        "pad" => Ok(ScaleMode::Pad(padding)),
        other => {
            let what = format!("found `{other}`, expected `fill`, `crop` or `pad` in lower case");
            Err(ConfigError::new(options.path("scaleMode"), what))
        }
    }
}

pub(crate) fn step(options: &Options<'_>, _: &ReadFile<'_>) -> Result<NamedStep, Error> {
    let [width, height, channels] = size(options)?;
    let (mode, interpolations) =
        (mode(options, channels)?, options.words("interpolations", &INTERPOLATIONS)?);
    let words: Vec<&str> = interpolations.iter().filter_map(|&how| INTERPOLATIONS.word(how)).collect();
    let scale = Scale::new([width, height], channels, mode, interpolations);
    let scale = scale.map_err(|fault| refused(options, "width", &fault))?;
    let identity =
        Identity::new("scale", 1).word(format_args!("{width}x{height}x{channels}")).word(words.join(":"));
    let identity = match mode {
        ScaleMode::Fill => identity.word("fill"),
        ScaleMode::Crop => identity.word("crop"),
        ScaleMode::Pad(None) => identity.word("pad edge"),
        ScaleMode::Pad(Some(pixel)) => {
            let [red, green, blue, more] = pixel;
            identity.field("pad", format_args!("[{red}, {green}, {blue}, {more}]"))
        }
    };
    Ok(NamedStep { step: Step::Scale(scale), identity })
}

fn describe(options: &Options<'_>) -> Result<Section, ConfigError> {
    let size = size(options)?;
    mode(options, size[2])?;
    let [width, height, channels] = size.map(|n| Value::Whole(n as i128));
    let words = options.words("interpolations", &INTERPOLATIONS)?.into_iter();
    let words = words.filter_map(|how| INTERPOLATIONS.word(how)).map(|word| Value::Text(word.into()));
    let words: Vec<Value> = words.collect();
    let interpolations = if let [one] = &words[..] { one.clone() } else { Value::List(words) };
    let padding = options.numbers("padValue")?.into_iter().map(|value| Value::Whole(value as i128));
    let padding: Vec<Value> = padding.collect();
    let mut section = Section::from_iter([
        ("width", width),
        ("height", height),
        ("channels", channels),
        ("scaleMode", Value::Text(options.text("scaleMode")?)),
        ("interpolations", interpolations),
        ("padValue", if let [one] = &padding[..] { one.clone() } else { Value::List(padding) }),
    ]);
    describe_seed(options, &mut section)?;
    Ok(section)
}
