//! Subtracting a mean picture.

use tesson_core::{ConfigError, OptionKind, OptionTable, Options, Section, TransformFormat, Value};

use crate::options::option;

pub(crate) static FORMAT: TransformFormat = TransformFormat {
    name: "Mean",
    help: "Subtracts a mean picture.",
    options: &OPTIONS,
    describe,
    open: None,
};

static OPTIONS: OptionTable = OptionTable(&[option(
    "meanFile",
    OptionKind::Path,
    Some(""),
    "The mean picture, as OpenCV stores matrices; nothing is subtracted without it.",
)]);

fn describe(options: &Options<'_>) -> Result<Section, ConfigError> {
    let file = options.text("meanFile")?.unwrap_or_default();
    Ok(Section::from_iter([("meanFile", Value::Text(file))]))
}
