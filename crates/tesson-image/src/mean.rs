//! Subtracting a mean picture.

use tesson_core::identity::Identity;
use tesson_core::{
    ConfigError, Error, OpenTransform, OptionKind, OptionSpec, OptionTable, Options, ReadFile, Section,
    TransformFormat, Value,
};

use crate::picture_transforms::{self, NamedStep, content, refused};
use crate::transform::mean::Mean;
use crate::transform::pipeline::Step;

pub(crate) static FORMAT: TransformFormat = TransformFormat {
    name: "Mean",
    help: "Subtracts a mean picture.",
    options: &OPTIONS,
    describe,
    open: OpenTransform::Chained(picture_transforms::open),
};

static OPTIONS: OptionTable = OptionTable(&[OptionSpec::optional(
    "meanFile",
    OptionKind::Path,
    "The mean picture, as OpenCV stores matrices; nothing is subtracted without it.",
)]);

pub(crate) fn step(options: &Options<'_>, read: &ReadFile<'_>) -> Result<NamedStep, Error> {
    let identity = Identity::new("mean", 1);
    let Some(path) = options.text_if_given("meanFile")? else {
        return Ok(NamedStep { step: Step::Identity, identity });
    };
    let file = read(path.as_ref())?;
    let mean = Mean::from_file(&file).map_err(|fault| refused(options, "meanFile", &fault))?;
    Ok(NamedStep { step: Step::Mean(mean), identity: identity.field("file", content(&file)) })
}

fn describe(options: &Options<'_>) -> Result<Section, ConfigError> {
    let file = options.text_if_given("meanFile")?.unwrap_or_default();
    Ok(Section::from_iter([("meanFile", Value::Text(file))]))
}
