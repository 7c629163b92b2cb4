//! The parts that option tables of several formats share.

use tesson_core::{
    ConfigError, Element, OptionField, OptionKind, OptionSpec, OptionType, Options, Registry, Section, Value,
    Words,
};

/// The types of values that a format's `precision` may be.
pub(crate) static PRECISIONS: Words<Element, 2> =
    Words::new([("float", Element::F32), ("double", Element::F64)]);

pub(crate) const FILE: OptionSpec = OptionSpec::required(
    "file",
    OptionKind::Files,
    "The file, relative to the working directory; a pattern such as `part-*` or `part-{00..15}`, or a list, joins several files \
     to one corpus, in this order (files of `*` by name). The same id in two files means two sequences.",
);
pub(crate) const ALIAS: OptionSpec = OptionSpec::optional(
    "alias",
    OptionKind::Text,
    "Name of the stream in the file, if it differs from the section's.",
);
pub(crate) const TRANSFORMS: OptionSpec = OptionSpec::optional(
    "transforms",
    OptionKind::Transforms,
    "The transforms of the stream's samples, in the order in which they run, when minibatches are made.",
);
pub(crate) const TRACE_LEVEL: OptionSpec = OptionSpec::with_default(
    "traceLevel",
    OptionKind::Whole,
    "1",
    "Amount of logging: 0 errors, 1 also warnings, 2 everything.",
);
pub(crate) const CACHE_INDEX: OptionSpec = OptionSpec::optional(
    "cacheIndex",
    OptionKind::Bool,
    "Keep the index in a file beside the data, for the next time; by default as the reader's `cacheIndex`.",
);
pub(crate) const VERBOSITY: OptionSpec =
    OptionSpec::optional("verbosity", OptionKind::Whole, "Accepted; has no effect.");
pub(crate) const DEFINES_SIZE: OptionSpec = OptionSpec::with_default(
    "definesMBSize",
    OptionKind::Bool,
    "false",
    "Count samples of this stream only.",
);

/// The transforms of a stream, which are made with the source and described here, where there are any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GivenTransforms;

impl OptionType for GivenTransforms {
    const KIND: OptionKind = OptionKind::Transforms;

    fn described(
        &self,
        options: &Options<'_>,
        name: &str,
        registry: &Registry,
    ) -> Result<Option<Value>, ConfigError> {
        let transforms = options.transforms(name, registry)?;
        Ok((!transforms.is_empty()).then_some(Value::List(transforms)))
    }
}

impl<C> OptionField<C> for GivenTransforms {
    fn read(_: &Options<'_>, _: &str, _: &C) -> Result<GivenTransforms, ConfigError> {
        Ok(GivenTransforms)
    }
}

/// Adds the files of an option to a description: a list as it is, or one name.
pub(crate) fn describe_files(
    options: &Options<'_>,
    name: &'static str,
    section: &mut Section,
) -> Result<(), ConfigError> {
    let files = match options.given(name) {
        Some(list @ Value::List(_)) => list.clone(),
        _ => Value::Text(options.text(name)?),
    };
    section.push(name, files);
    Ok(())
}
