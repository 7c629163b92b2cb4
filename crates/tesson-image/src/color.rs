//! Brightness, contrast and saturation, changed at random.

use tesson_core::{
    ConfigError, OptionKind, OptionSpec, OptionTable, Options, Section, TransformFormat, Value,
};

use crate::options::{SEED, describe_seed, share};

pub(crate) static FORMAT: TransformFormat = TransformFormat {
    name: "Color",
    help: "Changes brightness, contrast and saturation at random.",
    options: &OPTIONS,
    describe,
    open: None,
};

static OPTIONS: OptionTable = OptionTable(&[
    OptionSpec::with_default(
        "brightnessRadius",
        OptionKind::Real,
        "0",
        "How far brightness may change, from 0 to 1.",
    ),
    OptionSpec::with_default(
        "contrastRadius",
        OptionKind::Real,
        "0",
        "How far contrast may change, from 0 to 1.",
    ),
    OptionSpec::with_default(
        "saturationRadius",
        OptionKind::Real,
        "0",
        "How far saturation may change, from 0 to 1.",
    ),
    SEED,
]);

fn describe(options: &Options<'_>) -> Result<Section, ConfigError> {
    let names = ["brightnessRadius", "contrastRadius", "saturationRadius"];
    let described = names.map(|name| Ok((name, Value::Real(share(options, name)?))));
    let mut section = described.into_iter().collect::<Result<Section, ConfigError>>()?;
    describe_seed(options, &mut section)?;
    Ok(section)
}
