//! The options of the text format, and what they mean.

use std::path::PathBuf;

use tesson_core::identity::{Identity, Maybe, Quoted};
use tesson_core::{
    ConfigError, Element, OptionKind, OptionTable, Options, ReaderDefaults, Registry, Section, Shape,
    StreamInfo, Value, Words, option_table,
};

use super::decimal::Grammar;
use crate::options::{ALIAS, CACHE_INDEX, FILE, PRECISIONS, TRACE_LEVEL, TRANSFORMS, describe_transforms};

/// Whether samples of a stream are sparse.
static FORMATS: Words<bool, 2> = Words::new([("dense", false), ("sparse", true)]);

/// Whether CNTK 2.7 is followed in what it takes for a fault, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rules {
    Lenient,
    Cntk,
}

static RULES: Words<Rules, 2> = Words::new([("lenient", Rules::Lenient), ("cntk", Rules::Cntk)]);

static EMPTY_INPUTS: Words<EmptyInputs, 4> = Words::new([
    ("keep", EmptyInputs::Keep),
    ("skip", EmptyInputs::Skip),
    ("fault", EmptyInputs::Fault),
    ("error", EmptyInputs::Error),
]);

static NUMBERS: Words<Grammar, 2> = Words::new([("cntk", Grammar::Cntk), ("extended", Grammar::Extended)]);

/// One entry of `input`.
static INPUT: OptionTable = option_table! {
    "dim": OptionKind::Whole, optional
        => "Values in a sample; `auto` takes a dense stream's from its first sample.",
    "format": FORMATS.kind(), required
        => "Whether samples list all their values or only pairs `index:value`.",
    ALIAS,
    "definesMBSize": OptionKind::Bool, "false"
        => "The rows that name this stream are what lengths count; rows and sequences without it do not exist.",
    TRANSFORMS,
};

/// The options of the deserializer.
pub(crate) static OPTIONS: OptionTable = option_table! {
    FILE,
    "input": OptionKind::Sections(&INPUT), required
        => "One section a stream, named as the stream.",
    "skipSequenceIds": OptionKind::Bool, "false"
        => "Every row is a sequence, whatever ids the file has.",
    "maxErrors": OptionKind::Whole, "0"
        => "Faults that are forgiven over the life of the reader.",
    TRACE_LEVEL,
    "chunkSizeInBytes": OptionKind::Whole, "33554432"
        => "Largest size of a chunk, in bytes; a longer sequence is a chunk of its own.",
    "keepDataInMemory": OptionKind::Bool, "false"
        => "Keep parsed chunks in memory after their last use in a sweep.",
    CACHE_INDEX,
    "frameMode": OptionKind::Bool, "false"
        => "Read by the older reader only: in a composite reader, the reader's `frameMode` decides.",
    "precision": PRECISIONS.kind(), optional
        => "Type of the values; the reader's is the default.",
    "rules": RULES.kind(), "lenient"
        => "Whether CNTK 2.7 is followed in what it takes for a fault, too.",
    "emptyInputs": EMPTY_INPUTS.kind(), optional
        => "What the lenient rules do with a sequence that lacks one of the streams: deliver it without samples there \
            (`keep`, the default with ids), leave it out of all streams (`skip`), also charging a fault (`fault`, the \
            default without ids, where the sequence is a row), or fail.",
    "numbers": NUMBERS.kind(), "cntk"
        => "`extended` also reads `.5`, `1.e5`, `nan` and `inf`, and wants a separator between values.",
    "numChunksToCache": OptionKind::Unused, optional
        => "Found in older configurations; without effect.",
};

/// What the lenient rules do with a sequence that lacks one of its streams. What a stream lacks because its samples were
/// faulty is not their matter: such a sequence is always left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EmptyInputs {
    /// Deliver it, without samples in that stream.
    Keep,
    /// Leave it out of all streams.
    Skip,
    /// Leave it out, and charge a fault.
    Fault,
    /// Fail, whatever the budget.
    Error,
}

/// One stream, as the file knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Input {
    pub(crate) alias: Box<[u8]>,
    /// Values in a sample; 0 until the first sample has been read.
    pub(crate) dim: u32,
    pub(crate) sparse: bool,
}

/// The options, resolved.
#[derive(Clone, Debug)]
pub(crate) struct CtfOptions {
    pub(crate) files: Vec<PathBuf>,
    pub(crate) streams: Vec<StreamInfo>,
    pub(crate) inputs: Vec<Input>,
    pub(crate) element: Element,
    /// The stream with `definesMBSize`.
    pub(crate) main: Option<usize>,
    pub(crate) skip_ids: bool,
    pub(crate) text_keys: bool,
    pub(crate) lenient: bool,
    /// `None`: what the mode of the file asks for.
    pub(crate) empty: Option<EmptyInputs>,
    pub(crate) grammar: Grammar,
    pub(crate) max_errors: u64,
    pub(crate) chunk_bytes: u64,
    pub(crate) keep: bool,
    pub(crate) cache_index: bool,
}

/// The largest dimension: columns are delivered as signed 32-bit numbers.
const MAX_DIM: u64 = i32::MAX as u64;

impl CtfOptions {
    /// Resolves a section.
    pub(crate) fn new(options: &Options<'_>, defaults: &ReaderDefaults) -> Result<CtfOptions, ConfigError> {
        let element = options.word_if_given("precision", &PRECISIONS)?.unwrap_or(defaults.element);
        let mut resolved = CtfOptions {
            files: options.files("file")?,
            streams: Vec::new(),
            inputs: Vec::new(),
            element,
            main: None,
            skip_ids: options.bool("skipSequenceIds")?,
            text_keys: !defaults.numeric_keys,
            lenient: options.word("rules", &RULES)? == Rules::Lenient,
            empty: options.word_if_given("emptyInputs", &EMPTY_INPUTS)?,
            grammar: options.word("numbers", &NUMBERS)?,
            max_errors: max_errors(options)?,
            chunk_bytes: options.whole("chunkSizeInBytes")?,
            keep: options.bool("keepDataInMemory")?,
            cache_index: options.bool_if_given("cacheIndex")?.unwrap_or(defaults.cache_index),
        };
        if resolved.chunk_bytes == 0 {
            return Err(ConfigError::new(
                options.path("chunkSizeInBytes"),
                "found `0`, expected at least 1 byte",
            ));
        }
        options.bool("frameMode")?;
        options.whole_if_given("traceLevel")?;
        for (name, input) in options.sections("input")? {
            resolved.add_input(name, &input)?;
        }
        if resolved.inputs.is_empty() {
            return Err(ConfigError::new(
                options.path("input"),
                "found no streams, expected a section for each, such as `features = [ dim = 10 ; format = dense ]` or \
                 `{\"features\": {\"dim\": 10, \"format\": \"dense\"}}`",
            ));
        }
        Ok(resolved)
    }

    fn add_input(&mut self, name: &str, options: &Options<'_>) -> Result<(), ConfigError> {
        let sparse = options.word("format", &FORMATS)?;
        let dim = dim(options, sparse)?;
        let alias = match (options.text_if_given("alias")?, options.written("alias")) {
            (Some(alias), _) => alias,
            // Elsewhere an empty option counts as absent; an empty alias is a mistake.
            (None, Some(Value::Text(empty))) if empty.is_empty() => String::new(),
            (None, _) => name.to_string(),
        };
        if alias.is_empty() {
            return Err(ConfigError::new(options.path("alias"), "the alias is empty, expected a name"));
        }
        let alias: Box<[u8]> = alias.into_bytes().into();
        if let Some(other) = self.inputs.iter().position(|i| i.alias == alias) {
            let (text, other) = (String::from_utf8_lossy(&alias), &self.streams[other].name);
            let what = format!("the alias `{text}` is stream `{other}`'s already, expected one of its own");
            return Err(ConfigError::new(options.path("alias"), what));
        }
        if options.bool("definesMBSize")? {
            if let Some(other) = self.main {
                let what =
                    format!("`{}` has `definesMBSize` already, one stream may", self.streams[other].name);
                return Err(ConfigError::new(options.path("definesMBSize"), what));
            }
            self.main = Some(self.inputs.len());
        }
        let shape = Shape::new([dim as usize]);
        self.streams.push(StreamInfo::dense(name, shape, self.element).with_sparse(sparse));
        self.inputs.push(Input { alias, dim, sparse });
        Ok(())
    }

    /// Whether dimensions are still to be taken from the data.
    pub(crate) fn has_open_dims(&self) -> bool {
        self.inputs.iter().any(|i| i.dim == 0)
    }

    /// Takes the dimension of a stream from the data.
    pub(crate) fn set_dim(&mut self, stream: usize, dim: u32) {
        self.inputs[stream].dim = dim;
        self.streams[stream].shape = Shape::new([dim as usize]);
    }

    /// Everything that changes sequences, keys or values, as text.
    pub(crate) fn identity(&self) -> String {
        let empty = self.empty.map(|empty| match empty {
            EmptyInputs::Keep => "Keep",
            EmptyInputs::Skip => "Skip",
            EmptyInputs::Fault => "Fault",
            EmptyInputs::Error => "Error",
        });
        let numbers = match self.grammar {
            Grammar::Cntk => "Cntk",
            Grammar::Extended => "Extended",
        };
        let mut identity = Identity::new("ctf", 2)
            .part()
            .field("skipSequenceIds", self.skip_ids)
            .field("textKeys", self.text_keys)
            .field("lenient", self.lenient)
            .field("emptyInputs", Maybe(empty))
            .field("numbers", numbers)
            .field("chunkSizeInBytes", self.chunk_bytes);
        for (i, (stream, input)) in self.streams.iter().zip(&self.inputs).enumerate() {
            identity = identity
                .part()
                .word(Quoted(&stream.name))
                .word(Quoted(&String::from_utf8_lossy(&input.alias)))
                .word(if input.sparse { "sparse" } else { "dense" })
                .word(input.dim)
                .word(self.element.name())
                .flag("definesMBSize", self.main == Some(i));
        }
        identity.text()
    }
}

/// Resolves the options. Those that the reference does not have are listed only if they are given.
pub(crate) fn describe(
    options: &Options<'_>,
    defaults: &ReaderDefaults,
    registry: &Registry,
) -> Result<Section, ConfigError> {
    let resolved = CtfOptions::new(options, defaults)?;
    let word = |name: &str| Ok(Value::Text(options.text(name)?.to_ascii_lowercase()));
    let mut section = Section::from_iter([
        ("file", options.described_files("file")?),
        ("skipSequenceIds", Value::Bool(resolved.skip_ids)),
        ("maxErrors", Value::Whole(resolved.max_errors.into())),
        ("traceLevel", Value::Whole(options.whole("traceLevel")?.into())),
        ("chunkSizeInBytes", Value::Whole(resolved.chunk_bytes.into())),
        ("cacheIndex", Value::Bool(resolved.cache_index)),
        ("keepDataInMemory", Value::Bool(resolved.keep)),
        ("rules", word("rules")?),
    ]);
    for name in ["emptyInputs", "numbers"] {
        if options.given(name).is_some() {
            section.push(name, word(name)?);
        }
    }
    let streams = resolved.inputs.iter().zip(options.sections("input")?).enumerate();
    let streams = streams.map(|(i, (input, (name, given)))| {
        let mut stream = Section::from_iter([
            ("alias", Value::Text(String::from_utf8_lossy(&input.alias).into_owned())),
            ("dim", if input.dim == 0 { Value::Text("auto".into()) } else { Value::Whole(input.dim.into()) }),
            ("format", Value::Text(if input.sparse { "sparse" } else { "dense" }.into())),
            ("definesMBSize", Value::Bool(resolved.main == Some(i))),
        ]);
        describe_transforms(&given, registry, &mut stream)?;
        Ok((name, Value::Section(stream)))
    });
    section.push("input", Value::Section(streams.collect::<Result<_, ConfigError>>()?));
    Ok(section)
}

/// `maxErrors`. CNTK takes -1 for as many as it can count, which hides what is wrong with a file.
fn max_errors(options: &Options<'_>) -> Result<u64, ConfigError> {
    let given = options.given("maxErrors");
    if matches!(given, Some(Value::Whole(-1))) || matches!(given, Some(Value::Text(t)) if t == "-1") {
        let what = "found `-1`, expected the number of faults to forgive, from 0; `tesson check` counts those of a file, \
                    and `maxErrors = 4294967295` forgives as many as CNTK does for -1";
        return Err(ConfigError::new(options.path("maxErrors"), what));
    }
    options.whole("maxErrors")
}

/// A stream's dimension; 0 where it is to be taken from the data.
fn dim(options: &Options<'_>, sparse: bool) -> Result<u32, ConfigError> {
    if !sparse && matches!(options.given("dim"), Some(Value::Text(t)) if t.eq_ignore_ascii_case("auto")) {
        return Ok(0);
    }
    match options.whole_if_given("dim")? {
        None => Err(options.missing("dim")),
        Some(dim @ 1..=MAX_DIM) => Ok(dim as u32),
        Some(dim) => {
            let what = format!("found `{dim}`, expected a number from 1 to {MAX_DIM}");
            Err(ConfigError::new(options.path("dim"), what))
        }
    }
}
