//! Making a picture larger or smaller.

use tesson_core::{
    ConfigError, OptionKind, OptionSpec, OptionTable, Options, Section, TransformFormat, Value,
};

pub(crate) static FORMAT: TransformFormat = TransformFormat {
    name: "Scale",
    help: "Scales the picture to a width and a height.",
    options: &OPTIONS,
    describe,
    open: None,
};

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
        OptionKind::OneOf(&["nearest", "linear", "cubic", "lanczos"]),
        "linear",
        "How pixels are worked out.",
    ),
    OptionSpec::with_default(
        "padValue",
        OptionKind::Integer,
        "-1",
        "What padding consists of: a value for all channels, or the edge repeated (-1).",
    ),
]);

fn describe(options: &Options<'_>) -> Result<Section, ConfigError> {
    let mode = options.text("scaleMode")?;
    if !["fill", "crop", "pad"].contains(&mode.as_str()) {
        let what = format!("found `{mode}`, expected `fill`, `crop` or `pad` in lower case");
        return Err(ConfigError::new(options.path("scaleMode"), what));
    }
    let pad = options.integer("padValue")?;
    if pad < -1 {
        let what = format!("found `{pad}`, expected -1 or a value from 0");
        return Err(ConfigError::new(options.path("padValue"), what));
    }
    let interpolation = options.text("interpolations")?;
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
    match options.whole(name)? {
        0 => Err(ConfigError::new(options.path(name), "found `0`, expected at least 1")),
        n => Ok(Value::Whole(n.into())),
    }
}
