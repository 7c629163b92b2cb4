//! Making a picture larger or smaller.

use tesson_core::identity::Identity;
use tesson_core::{
    ConfigError, Error, OpenTransform, OptionKind, OptionSpec, OptionTable, Options, ReadFile, Section,
    TransformFormat, Value, Words,
};

use crate::picture_transforms::{self, NamedStep, refused};
use crate::transform::Interpolation;
use crate::transform::pipeline::Step;
use crate::transform::scale::{Scale, ScaleMode};

pub(crate) static FORMAT: TransformFormat = TransformFormat {
    name: "Scale",
    help: "Scales the picture to a width and a height.",
    options: &OPTIONS,
    describe,
    open: OpenTransform::Chained(picture_transforms::open),
};

static INTERPOLATIONS: Words<Interpolation, 4> = Words::new([
    ("nearest", Interpolation::Nearest),
    ("linear", Interpolation::Linear),
    ("cubic", Interpolation::Cubic),
    ("lanczos", Interpolation::Lanczos),
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
    OptionSpec::with_default("interpolations", INTERPOLATIONS.kind(), "linear", "How pixels are worked out."),
    OptionSpec::with_default(
        "padValue",
        OptionKind::Integer,
        "-1",
        "What padding consists of: a value for all channels, or the edge repeated (-1).",
    ),
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

fn mode(options: &Options<'_>) -> Result<ScaleMode, ConfigError> {
    let pad = options.integer("padValue")?;
    if pad < -1 {
        let what = format!("found `{pad}`, expected -1 or a value from 0");
        return Err(ConfigError::new(options.path("padValue"), what));
    }
    match options.text("scaleMode")?.as_str() {
        "fill" => Ok(ScaleMode::Fill),
        "crop" => Ok(ScaleMode::Crop),
        "pad" => Ok(ScaleMode::Pad(u32::try_from(pad).ok())),
        other => {
            let what = format!("found `{other}`, expected `fill`, `crop` or `pad` in lower case");
            Err(ConfigError::new(options.path("scaleMode"), what))
        }
    }
}

pub(crate) fn step(options: &Options<'_>, _: &ReadFile<'_>) -> Result<NamedStep, Error> {
    let [width, height, channels] = size(options)?;
    let (mode, interpolation) = (mode(options)?, options.word("interpolations", &INTERPOLATIONS)?);
    let scale = Scale::new([width, height], channels, mode, interpolation);
    let scale = scale.map_err(|fault| refused(options, "width", &fault))?;
    let identity = Identity::new("scale", 1).word(format_args!("{width}x{height}x{channels}")).word(
        match interpolation {
            Interpolation::Nearest => "nearest",
            Interpolation::Linear => "linear",
            Interpolation::Cubic => "cubic",
            Interpolation::Lanczos => "lanczos",
        },
    );
    let identity = match mode {
        ScaleMode::Fill => identity.word("fill"),
        ScaleMode::Crop => identity.word("crop"),
        ScaleMode::Pad(None) => identity.word("pad edge"),
        ScaleMode::Pad(Some(value)) => identity.field("pad", value),
    };
    Ok(NamedStep { step: Step::Scale(scale), identity })
}

fn describe(options: &Options<'_>) -> Result<Section, ConfigError> {
    mode(options)?;
    let [width, height, channels] = size(options)?.map(|n| Value::Whole(n as i128));
    Ok(Section::from_iter([
        ("width", width),
        ("height", height),
        ("channels", channels),
        ("scaleMode", Value::Text(options.text("scaleMode")?)),
        ("interpolations", Value::Text(options.text("interpolations")?)),
        ("padValue", Value::Whole(options.integer("padValue")?.into())),
    ]))
}
