//! Subtracting a mean picture.

use tesson_core::{
    ConfigError, OptionKind, OptionSpec, OptionTable, Options, Section, TransformFormat, Value,
};

pub(crate) static FORMAT: TransformFormat = TransformFormat {
    name: "Mean",
    help: "Subtracts a mean picture.",
    options: &OPTIONS,
    describe,
    open: None,
};

static OPTIONS: OptionTable = OptionTable(&[OptionSpec::optional(
    "meanFile",
    OptionKind::Path,
    "The mean picture, as OpenCV stores matrices; nothing is subtracted without it.",
)]);

fn describe(options: &Options<'_>) -> Result<Section, ConfigError> {
    let file = options.text_if_given("meanFile")?.unwrap_or_default();
    Ok(Section::from_iter([("meanFile", Value::Text(file))]))
}
