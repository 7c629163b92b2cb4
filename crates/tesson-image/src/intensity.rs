//! Adding noise along the principal axes of colour.

use tesson_core::identity::Identity;
use tesson_core::{
    ConfigError, Error, OpenTransform, OptionKind, OptionSpec, OptionTable, Options, ReadFile, Section,
    TransformFormat, Value,
};

use crate::options::{SEED, describe_seed};
use crate::picture_transforms::{self, NamedStep, content, refused};
use crate::transform::intensity::Intensity;
use crate::transform::pipeline::Step;

pub(crate) static FORMAT: TransformFormat = TransformFormat {
    name: "Intensity",
    help: "Adds noise to a picture along the principal axes of its colours.",
    options: &OPTIONS,
    describe,
    open: OpenTransform::Chained(picture_transforms::open),
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

pub(crate) fn step(options: &Options<'_>, read: &ReadFile<'_>) -> Result<NamedStep, Error> {
    let deviation = options.numbers("intensityStdDev")?.first().copied().unwrap_or(0.0);
    let identity = Identity::new("intensity", 1).field("deviation", deviation);
    let Some(path) = options.text_if_given("intensityFile")? else {
        return Ok(NamedStep { step: Step::Identity, identity });
    };
    let file = read(path.as_ref())?;
    let intensity =
        Intensity::from_file(deviation, &file).map_err(|fault| refused(options, "intensityFile", &fault))?;
    Ok(NamedStep { step: Step::Intensity(intensity), identity: identity.field("file", content(&file)) })
}

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
