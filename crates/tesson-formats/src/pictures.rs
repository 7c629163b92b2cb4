//! What the options of all formats of pictures have in common.

use tesson_core::{ConfigError, OptionKind, OptionSpec, OptionTable, Options, Registry, Section, Value};

/// One entry of `input`: the pictures or the labels.
static INPUT: OptionTable = OptionTable(&[
    OptionSpec::optional(
        "transforms",
        OptionKind::Transforms,
        "Of the stream of pictures: what is done to each, in this order; may be empty.",
    ),
    OptionSpec::optional("labelDim", OptionKind::Whole, "Of the stream of labels: the number of classes.")
        .also_named(&["dim"]),
]);

pub(crate) const FILE: OptionSpec =
    OptionSpec::required("file", OptionKind::Path, "The file, relative to the working directory.");
pub(crate) const STREAMS: OptionSpec = OptionSpec::required(
    "input",
    OptionKind::Sections(&INPUT),
    "Two sections, named as their streams: one with `transforms`, one with `labelDim`.",
);
pub(crate) const GRAYSCALE: OptionSpec = OptionSpec::with_default(
    "grayscale",
    OptionKind::Bool,
    "false",
    "Whether pictures are decoded to one channel.",
);
pub(crate) const MULTI_VIEW_CROP: OptionSpec = OptionSpec::with_default(
    "multiViewCrop",
    OptionKind::Bool,
    "false",
    "Whether every picture becomes ten sequences, the views of a `MultiView10` crop.",
);

pub(crate) const VERBOSITY: OptionSpec =
    OptionSpec::optional("verbosity", OptionKind::Whole, "Accepted without effect.");

/// The largest number of classes.
const MAX_DIM: u64 = i32::MAX as u64;

/// What the options mean.
pub(crate) fn describe(options: &Options<'_>, registry: &Registry) -> Result<Section, ConfigError> {
    let mut section = Section::from_iter([
        ("file", Value::Text(options.text("file")?)),
        ("grayscale", Value::Bool(options.bool("grayscale")?)),
        ("multiViewCrop", Value::Bool(options.bool("multiViewCrop")?)),
    ]);
    let (mut pictures, mut labels, mut input) = (0, 0, Section::default());
    for (name, stream) in options.sections("input")? {
        let described = match (stream.given("transforms"), stream.whole_if_given("labelDim")?) {
            (Some(_), None) => {
                pictures += 1;
                ("transforms", Value::List(stream.transforms("transforms", registry)?))
            }
            (None, Some(dim @ 1..=MAX_DIM)) => {
                labels += 1;
                ("labelDim", Value::Whole(dim.into()))
            }
            (None, Some(dim)) => {
                let what = format!("found `{dim}`, expected a number from 1 to {MAX_DIM}");
                return Err(ConfigError::new(stream.path("labelDim"), what));
            }
            _ => {
                let what = format!("stream `{name}` expects `transforms`, or `labelDim`, and not both");
                return Err(ConfigError::new(options.path("input"), what));
            }
        };
        input.push(name, Value::Section(Section::from_iter([described])));
    }
    if (pictures, labels) != (1, 1) {
        let what = format!(
            "found {pictures} streams with `transforms` and {labels} with `labelDim`, expected one of each"
        );
        return Err(ConfigError::new(options.path("input"), what));
    }
    section.push("input", Value::Section(input));
    Ok(section)
}
