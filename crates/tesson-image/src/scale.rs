//! Making a picture larger or smaller.

use tesson_core::{ConfigError, OptionKind, OptionTable, Options, Section, TransformFormat, Value};

use crate::options::option;

pub(crate) static FORMAT: TransformFormat = TransformFormat {
    name: "Scale",
    help: "Scales the picture to a width and a height.",
    options: &OPTIONS,
    describe,
    open: None,
};

static OPTIONS: OptionTable = OptionTable(&[
    option("width", OptionKind::Whole, None, "Width in pixels."),
    option("height", OptionKind::Whole, None, "Height in pixels."),
    option("channels", OptionKind::Whole, None, "Channels of the stream; pictures are not converted."),
    option(
        "scaleMode",
        OptionKind::Text,
        Some("fill"),
        "What happens to the shape: `fill` changes it, `crop` cuts what is too much, `pad` adds what is missing.",
    ),
    option(
        "interpolations",
        OptionKind::OneOf(&["nearest", "linear", "cubic", "lanczos"]),
        Some("linear"),
        "How pixels are worked out.",
    ),
    option(
        "padValue",
        OptionKind::Integer,
        Some("-1"),
        "What padding consists of: a value for all channels, or the edge repeated (-1).",
    ),
]);

fn describe(options: &Options<'_>) -> Result<Section, ConfigError> {
    let mode = options.text("scaleMode")?.unwrap_or_default();
    if !["fill", "crop", "pad"].contains(&mode.as_str()) {
        let what = format!("found `{mode}`, expected `fill`, `crop` or `pad` in lower case");
        return Err(ConfigError::new(options.path("scaleMode"), what));
    }
    let pad = options.integer("padValue")?.unwrap_or(-1);
    if pad < -1 {
        let what = format!("found `{pad}`, expected -1 or a value from 0");
        return Err(ConfigError::new(options.path("padValue"), what));
    }
    let interpolation = options.text("interpolations")?.unwrap_or_default();
    Ok(Section::from_iter([
        ("width", at_least_one(options, "width")?),
        ("height", at_least_one(options, "height")?),
        ("channels", at_least_one(options, "channels")?),
        ("scaleMode", Value::Text(mode)),
        ("interpolations", Value::Text(interpolation)),
        ("padValue", Value::Whole(pad.into())),
    ]))
}

fn at_least_one(options: &Options<'_>, name: &str) -> Result<Value, ConfigError> {
    match options.whole(name)?.unwrap_or_default() {
        0 => Err(ConfigError::new(options.path(name), "found `0`, expected at least 1")),
        n => Ok(Value::Whole(n.into())),
    }
}
