//! The options of the binary format, and what they mean.

use std::path::PathBuf;

use tesson_core::{
    ConfigError, Element, OptionKind, OptionTable, Options, ReaderDefaults, Registry, Section, Value,
    check_name, option_table, repeated_name,
};

use crate::options::{ALIAS, FILE, PRECISIONS, TRACE_LEVEL, TRANSFORMS, describe_transforms};

/// One entry of `input`.
static INPUT: OptionTable = option_table! {
    ALIAS,
    "skip": OptionKind::Bool, "false"
        => "Leaves the stream out; what only it needs is not read.",
    TRANSFORMS,
    "dim": OptionKind::Unused, optional
        => "Not looked at: the file says how large samples are.",
    "format": OptionKind::Unused, optional
        => "Not looked at: the file says whether samples are sparse.",
};

/// The options of the deserializer.
pub(super) static OPTIONS: OptionTable = option_table! {
    FILE,
    "input": OptionKind::Sections(&INPUT), optional
        => "One section for each stream that is renamed or left out; others come under their own names.",
    TRACE_LEVEL,
    "keepDataInMemory": OptionKind::Bool, "false"
        => "Keep decoded chunks in memory after their last use in a sweep.",
    "precision": PRECISIONS.kind(), optional
        => "Type of the values, whatever the file's is; the reader's is the default.",
    "cacheIndex": OptionKind::Unused, optional
        => "Without effect: the file's chunk table is its index.",
};

/// One entry of `input`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Input {
    pub(super) name: String,
    /// The stream's name in the file.
    pub(super) alias: String,
    pub(super) skip: bool,
}

/// The options, resolved.
#[derive(Clone, Debug)]
pub(super) struct CbfOptions {
    pub(super) files: Vec<PathBuf>,
    pub(super) inputs: Vec<Input>,
    pub(super) element: Element,
    pub(super) keep: bool,
}

impl CbfOptions {
    /// Resolves a section.
    pub(super) fn new(options: &Options<'_>, defaults: &ReaderDefaults) -> Result<CbfOptions, ConfigError> {
        if !defaults.numeric_keys {
            let what = "keys of the binary format are numbers, the reader asks for texts (`useNumericSequenceKeys = false`)";
            return Err(ConfigError::new(options.path("file"), what));
        }
        let element = options.word_if_given("precision", &PRECISIONS)?.unwrap_or(defaults.element);
        let files = options.files("file")?;
        Ok(CbfOptions { files, inputs: inputs(options)?, element, keep: options.bool("keepDataInMemory")? })
    }
}

fn inputs(options: &Options<'_>) -> Result<Vec<Input>, ConfigError> {
    let (mut inputs, mut paths): (Vec<Input>, Vec<String>) = Default::default();
    for (name, stream) in options.sections("input")? {
        let alias = stream.text_if_given("alias")?.unwrap_or_else(|| name.to_string());
        check_name(&alias).map_err(|what| ConfigError::new(stream.path("alias"), what))?;
        paths.push(stream.path("alias"));
        inputs.push(Input { name: name.to_string(), alias, skip: stream.bool("skip")? });
    }
    if let Some((first, again)) = repeated_name(inputs.iter().map(|input| &input.alias)) {
        let Input { name, alias, .. } = &inputs[first];
        let what = format!("the stream `{alias}` of the file is `{name}` already, expected one name for it");
        return Err(ConfigError::new(paths.swap_remove(again), what));
    }
    Ok(inputs)
}

/// Resolves the options, for people and for other programs.
pub(super) fn describe(
    options: &Options<'_>,
    defaults: &ReaderDefaults,
    registry: &Registry,
) -> Result<Section, ConfigError> {
    let resolved = CbfOptions::new(options, defaults)?;
    let input = resolved.inputs.iter().zip(options.sections("input")?).map(|(input, (name, given))| {
        let mut stream = Section::from_iter([("alias", Value::Text(input.alias.clone()))]);
        if input.skip {
            stream.push("skip", Value::Bool(true));
        }
        describe_transforms(&given, registry, &mut stream)?;
        Ok((name, Value::Section(stream)))
    });
    let input: Section = input.collect::<Result<_, ConfigError>>()?;
    Ok(Section::from_iter([
        ("file", options.described_files("file")?),
        ("traceLevel", Value::Whole(options.whole("traceLevel")?.into())),
        ("keepDataInMemory", Value::Bool(resolved.keep)),
        ("input", Value::Section(input)),
    ]))
}
