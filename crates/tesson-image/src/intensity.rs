//! Adding noise along the principal axes of colour.

use tesson_core::{
    ConfigError, OptionKind, OptionSpec, OptionTable, Options, Section, TransformFormat, Value,
};

use crate::options::{SEED, describe_seed};

pub(crate) static FORMAT: TransformFormat = TransformFormat {
    name: "Intensity",
    help: "Adds noise to a picture along the principal axes of its colours.",
    options: &OPTIONS,
    describe,
    open: None,
};

static OPTIONS: OptionTable = OptionTable(&[
    OptionSpec::optional("intensityFile", OptionKind::Path, "The axes, as OpenCV stores matrices."),
    OptionSpec::with_default(
        "intensityStdDev",
        OptionKind::Numbers,
        "0",
        "Standard deviation of the noise, one for each epoch.",
    ),
    SEED,
]);

fn describe(options: &Options<'_>) -> Result<Section, ConfigError> {
    let file = options.text_if_given("intensityFile")?.unwrap_or_default();
    let deviations = options.numbers("intensityStdDev")?;
    let mut section = Section::from_iter([
        ("intensityFile", Value::Text(file)),
        ("intensityStdDev", Value::List(deviations.into_iter().map(Value::Real).collect())),
    ]);
    describe_seed(options, &mut section)?;
    Ok(section)
}
