//! The options of the binary format, and their meaning.

use std::path::PathBuf;

use tesson_core::{
    ConfigError, Element, OptionKind, OptionName, OptionSetting, Options, ReaderDefaults, Sections, Value,
    check_name, options, repeated_name,
};

use crate::options::{ALIAS, FILE, GivenTransforms, PRECISIONS, TRACE_LEVEL, TRANSFORMS};

options! {
    /// One entry of `input`.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub(super) struct Input(options, reader: ReaderDefaults) {
        pub(super) let name: String = options.entry().to_owned();
        /// The stream's name in the file.
        pub(super) alias: String = ALIAS
            [read alias(options)?]
            [describe as |input| Value::Text(input.alias.clone())];
        pub(super) skip: bool = "skip", "false"
            => "Leave the stream out, and do not read data that only it needs."
            [describe with |input, _, section| {
                if input.skip {
                    section.push("skip", Value::Bool(true));
                }
                Ok(())
            }];
        transforms: GivenTransforms = TRANSFORMS;
        _ = "dim": OptionKind::Unused, optional
            => "Ignored: the file declares the size of samples.";
        _ = "format": OptionKind::Unused, optional
            => "Ignored: the file declares which streams are sparse.";
    }
}

options! {
    /// The options of the deserializer.
    #[derive(Clone, Debug)]
    pub(super) struct CbfOptions(options, reader: ReaderDefaults) {
        pub(super) files: Vec<PathBuf> = FILE;
        pub(super) inputs: Sections<Input> = "input", optional
            => "One section for each stream to rename or leave out; other streams keep their names."
            [describe last];
        _ = TRACE_LEVEL;
        pub(super) keep: bool = "keepDataInMemory", "false"
            => "Keep decoded chunks in memory after their last use in a sweep.";
        pub(super) element: Element = "precision" in PRECISIONS, optional
            => "Type of the values, whatever the type in the file; by default the reader's."
            [otherwise reader.element]
            [describe never];
        _ = "cacheIndex": OptionKind::Unused, optional
            => "Has no effect: the file's chunk table is its index.";
        let numeric_keys: bool = reader.numeric_keys;
        check check_keys;
        check check_aliases;
    }
}

fn check_keys(cbf: &CbfOptions, options: &Options<'_>) -> Result<(), ConfigError> {
    if cbf.numeric_keys {
        return Ok(());
    }
    Err(ConfigError::refused(options.path("file"), &CbfRefusal::TextKeys))
}

/// The name of a stream in the file, by default that of its section.
fn alias(options: &Options<'_>) -> Result<String, ConfigError> {
    let alias = options.text_if_given("alias")?.unwrap_or_else(|| options.entry().to_owned());
    check_name(&alias).map_err(|refusal| ConfigError::refused(options.path("alias"), &refusal))?;
    Ok(alias)
}

/// Refuses two names for a stream of the file.
fn check_aliases(cbf: &CbfOptions, options: &Options<'_>) -> Result<(), ConfigError> {
    let Some((first, again)) = repeated_name(cbf.inputs.iter().map(|input| &input.alias)) else {
        return Ok(());
    };
    let Input { name, alias, .. } = cbf.inputs[first].clone();
    let path = options.sections("input")?[again].1.path("alias");
    Err(ConfigError::refused(path, &CbfRefusal::TwoNames { alias, name }))
}

const USE_NUMERIC_SEQUENCE_KEYS_FALSE: OptionSetting = OptionName::set_to("useNumericSequenceKeys", "false");

tesson_core::error_kinds! {
    /// Why options of the binary format are refused.
    pub enum CbfRefusal {
        /// Keys are to be read as texts, and those of the format are numbers.
        TextKeys
            = "cbf.text-keys": "keys of the binary format are numbers, the reader asks for texts \
                ({USE_NUMERIC_SEQUENCE_KEYS_FALSE})"
            => in manual "Leave out {USE_NUMERIC_SEQUENCE_KEYS_FALSE}, or convert the data to text.",
        /// One stream of the file is listed under two names.
        TwoNames { alias: String = "x".into(), name: String = "features".into() }
            = "cbf.two-names": "the stream `{alias}` of the file is `{name}` already, expected one name for it"
            => in manual "List each stream of the file once.",
        /// No stream of the file is left.
        NothingLeft
            = "cbf.nothing-left": "all streams of the file are left out, expected at least one"
            => in manual "List at least one stream.",
    }
}
