//! The options of the text format, and what they mean.

use std::borrow::Cow;
use std::path::PathBuf;

use tesson_core::identity::{Identity, Maybe, Quoted};
use tesson_core::{
    ConfigError, Element, OptionKind, OptionName, OptionSet, OptionSetting, Options, ReaderDefaults,
    Sections, Shape, StreamInfo, Value, Words, check_name, options, repeated_name,
};

use super::decimal::Grammar;
use crate::options::{ALIAS, CACHE_INDEX, FILE, GivenTransforms, PRECISIONS, TRACE_LEVEL, TRANSFORMS};

/// True if samples of a stream are sparse.
static FORMATS: Words<bool, 2> = Words::new([("dense", false), ("sparse", true)]);

/// True for the lenient rules; false if exactly the rows that CNTK 2.7 refuses are faults.
static LENIENT: Words<bool, 2> = Words::new([("lenient", true), ("cntk", false)]);

static EMPTY_INPUTS: Words<EmptyInputs, 4> = Words::new([
    ("keep", EmptyInputs::Keep),
    ("skip", EmptyInputs::Skip),
    ("fault", EmptyInputs::Fault),
    ("error", EmptyInputs::Error),
]);

static NUMBERS: Words<Grammar, 2> = Words::new([("cntk", Grammar::Cntk), ("extended", Grammar::Extended)]);

/// The handling of a sequence without samples of a stream, under the lenient rules. A sequence that lacks samples
/// because they were faulty is always left out.
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

impl EmptyInputs {
    /// The name in identities.
    fn name(self) -> &'static str {
        match self {
            EmptyInputs::Keep => "Keep",
            EmptyInputs::Skip => "Skip",
            EmptyInputs::Fault => "Fault",
            EmptyInputs::Error => "Error",
        }
    }
}

options! {
    /// One stream, as the file knows it.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub(crate) struct Input(options, element: Element) {
        let name: String = options.entry().to_owned()
            => [identity with |input, text| text.word(Quoted(&input.name))];
        /// Values in a sample; 0 until the first sample has been read.
        pub(crate) dim: u32 = "dim": OptionKind::Whole, optional
            => "Number of values in a sample; `auto` counts those of a dense stream's first sample."
            [read dim(options)?]
            [describe after "alias" as |input| match input.dim {
                0 => Value::Text("auto".into()),
                dim => Value::Whole(dim.into()),
            }]
            [identity after "format" with |input, text| text.word(input.dim)];
        pub(crate) sparse: bool = "format" in FORMATS, required
            => "How samples are written: with all their values (`dense`) or as pairs `index:value` (`sparse`)."
            [describe after "dim"]
            [identity after "alias" with |input, text| text.word(if input.sparse { "sparse" } else { "dense" })];
        pub(crate) alias: Box<[u8]> = ALIAS
            [read alias(options)?]
            [describe as |input| Value::Text(input.text().into_owned())]
            [identity with |input, text| text.word(Quoted(&input.text()))];
        let element: Element = *element => [identity with |input, text| text.word(input.element.name())];
        defines_size: bool = "definesMBSize", "false"
            => "Count samples of this stream only, and skip rows and sequences without it."
            [identity flag "definesMBSize"];
        transforms: GivenTransforms = TRANSFORMS;
    }
}

impl Input {
    /// The name in the file.
    fn text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.alias)
    }

    fn stream(&self) -> StreamInfo {
        StreamInfo::dense(&self.name, Shape::new([self.dim as usize]), self.element).with_sparse(self.sparse)
    }
}

options! {
    /// The options of the deserializer.
    #[derive(Clone, Debug)]
    pub(crate) struct CtfOptions(options, reader: ReaderDefaults) {
        pub(crate) let element: Element =
            options.word_if_given("precision", &PRECISIONS)?.unwrap_or(reader.element);
        pub(crate) files: Vec<PathBuf> = FILE;
        pub(crate) inputs: Sections<Input> = "input", required
            => "One section for each stream, which has its name."
            [within &element] [describe last];
        pub(crate) let streams: Vec<StreamInfo> = inputs.iter().map(Input::stream).collect();
        /// The stream with `definesMBSize`.
        pub(crate) let main: Option<usize> = inputs.iter().position(|input| input.defines_size);
        pub(crate) skip_ids: bool = "skipSequenceIds", "false"
            => "Read every row as a sequence, whatever its id."
            [identity "skipSequenceIds"];
        pub(crate) let text_keys: bool = !reader.numeric_keys => [identity "textKeys"];
        pub(crate) max_errors: u64 = "maxErrors", "0"
            => "Number of faults to tolerate before reading fails."
            [read max_errors(options)?];
        _: u64 = TRACE_LEVEL;
        pub(crate) chunk_bytes: u64 = "chunkSizeInBytes", "33554432"
            => "Largest size of a chunk, in bytes; a longer sequence is a chunk of its own."
            [read chunk_bytes(options)?]
            [identity after "numbers" "chunkSizeInBytes"];
        pub(crate) keep: bool = "keepDataInMemory", "false"
            => "Keep parsed chunks in memory after their last use in a sweep."
            [describe after "cacheIndex"];
        pub(crate) cache_index: bool = CACHE_INDEX
            [otherwise reader.cache_index]
            [describe as |ctf| Value::Bool(ctf.cache_index)];
        _: bool = "frameMode", "false"
            => "Used by the older reader only; in a composite reader, the reader's `frameMode` decides."
            [describe never];
        _ = "precision" in PRECISIONS, optional
            => "Type of the values; by default the reader's."
            [describe never];
        pub(crate) lenient: bool = "rules" in LENIENT, "lenient"
            => "Which rows count as faults: `lenient` accepts more, `cntk` accepts exactly what CNTK 2.7 accepts."
            [identity with |ctf, text| text.field("lenient", ctf.lenient)];
        /// `None`: what the mode of the file asks for.
        pub(crate) empty: Option<EmptyInputs> = "emptyInputs" in EMPTY_INPUTS, optional
            => "How the lenient rules handle a sequence that lacks one of the streams: deliver it without samples there (`keep`, \
             the default with ids), leave it out of all streams (`skip`), also charge a fault (`fault`, the default without \
             ids, where a sequence is a row), or fail (`error`)."
            [identity with |ctf, text| text.field("emptyInputs", Maybe(ctf.empty.map(EmptyInputs::name)))];
        pub(crate) grammar: Grammar = "numbers" in NUMBERS, "cntk"
            => "Syntax of numbers: `extended` also reads `.5`, `1.e5`, `nan` and `inf`, and requires a separator between values."
            [describe if given]
            [identity with |ctf, text| text.field("numbers", ctf.grammar.name())];
        _ = "numChunksToCache": OptionKind::Unused, optional
            => "Accepted from older configurations; has no effect.";
        check check_inputs;
    }
}

/// The largest dimension: columns are delivered as signed 32-bit numbers.
const MAX_DIM: u64 = i32::MAX as u64;

impl CtfOptions {
    /// True if dimensions are still to be taken from the data.
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
        let identity = self.identify(Identity::new("ctf", 2).part());
        self.inputs.iter().fold(identity, |text, input| input.identify(text.part())).text()
    }
}

/// Refuses a file without streams, and streams that claim the same.
fn check_inputs(ctf: &CtfOptions, options: &Options<'_>) -> Result<(), ConfigError> {
    if ctf.inputs.is_empty() {
        return Err(ConfigError::refused(options.path("input"), &CtfRefusal::NoStreams));
    }
    let sections = options.sections("input")?;
    if let Some((first, again)) = repeated_name(ctf.inputs.iter().map(|input| &input.alias)) {
        let (alias, other) = (ctf.inputs[again].text().to_string(), ctf.inputs[first].name.clone());
        let refusal = CtfRefusal::AliasTwice { alias, other };
        return Err(ConfigError::refused(sections[again].1.path("alias"), &refusal));
    }
    let mut definers = ctf.inputs.iter().enumerate().filter(|(_, input)| input.defines_size);
    if let (Some((_, first)), Some((again, _))) = (definers.next(), definers.next()) {
        let refusal = CtfRefusal::SizeDefinedTwice { first: first.name.clone() };
        return Err(ConfigError::refused(sections[again].1.path("definesMBSize"), &refusal));
    }
    Ok(())
}

/// The name of a stream in the file, by default that of its section.
fn alias(options: &Options<'_>) -> Result<Box<[u8]>, ConfigError> {
    let alias = match (options.text_if_given("alias")?, options.written("alias")) {
        (Some(alias), _) => alias,
        // Elsewhere an empty option counts as absent; an empty alias is a mistake.
        (None, Some(Value::Text(empty))) if empty.is_empty() => String::new(),
        (None, _) => options.entry().to_owned(),
    };
    if alias.is_empty() {
        return Err(ConfigError::refused(options.path("alias"), &CtfRefusal::EmptyAlias));
    }
    check_name(&alias).map_err(|refusal| ConfigError::refused(options.path("alias"), &refusal))?;
    Ok(alias.into_bytes().into())
}

/// `chunkSizeInBytes`, at least 1.
fn chunk_bytes(options: &Options<'_>) -> Result<u64, ConfigError> {
    match options.whole("chunkSizeInBytes")? {
        0 => Err(ConfigError::out_of_range(options.path("chunkSizeInBytes"), "`0`", "at least 1 byte")),
        bytes => Ok(bytes),
    }
}

/// `maxErrors`. CNTK takes -1 for as many as it can count, which hides what is wrong with a file.
fn max_errors(options: &Options<'_>) -> Result<u64, ConfigError> {
    let given = options.given("maxErrors");
    if matches!(given, Some(Value::Whole(-1))) || matches!(given, Some(Value::Text(t)) if t == "-1") {
        return Err(ConfigError::refused(options.path("maxErrors"), &CtfRefusal::AnyErrors));
    }
    options.whole("maxErrors")
}

/// A stream's dimension; 0 where it is to be taken from the data.
fn dim(options: &Options<'_>) -> Result<u32, ConfigError> {
    let sparse = options.word("format", &FORMATS)?;
    if !sparse && matches!(options.given("dim"), Some(Value::Text(t)) if t.eq_ignore_ascii_case("auto")) {
        return Ok(0);
    }
    match options.whole_if_given("dim")? {
        None => Err(options.missing("dim")),
        Some(dim @ 1..=MAX_DIM) => Ok(dim as u32),
        Some(dim) => {
            let expected = format!("a number from 1 to {MAX_DIM}");
            Err(ConfigError::out_of_range(options.path("dim"), format!("`{dim}`"), expected))
        }
    }
}

const DIM: OptionName = OptionName::new("dim");
const DEFINES_MB_SIZE: OptionName = OptionName::new("definesMBSize");
const AS_MANY_AS_CNTK: OptionSetting = OptionName::set_to("maxErrors", "4294967295");

tesson_core::error_kinds! {
    /// Why options of the text format are refused.
    pub enum CtfRefusal {
        /// No stream is listed.
        NoStreams
            = "ctf.no-streams": "found no streams, expected a section for each, such as `features = [ dim = 10 ; format = dense ]` \
                or `{{\"features\": {{\"dim\": 10, \"format\": \"dense\"}}}}`"
            => in manual "Give each stream a section.",
        /// Two streams have the same name in the file.
        AliasTwice { alias: String = "x".into(), other: String = "features".into() }
            = "ctf.alias-twice": "the alias `{alias}` is stream `{other}`'s already, expected one of its own"
            => in manual "Give each stream the name that it has in the file.",
        /// The name of a stream in the file is empty.
        EmptyAlias
            = "ctf.empty-alias": "the alias is empty, expected a name"
            => in manual "Give the name that the stream has in the file.",
        /// Two streams are to define the size of minibatches.
        SizeDefinedTwice { first: String = "features".into() }
            = "ctf.size-defined-twice": "`{first}` has {DEFINES_MB_SIZE} already, one stream may"
            => in manual "Set {DEFINES_MB_SIZE} of one stream only.",
        /// As many faults as there are are to be forgiven, which hides what is wrong with a file.
        AnyErrors
            = "ctf.any-errors": "found `-1`, expected the number of faults to forgive, from 0"; "`tesson check` counts those of a \
                file, and {AS_MANY_AS_CNTK} forgives as many as CNTK does for -1"
            => "Give the number of faults to forgive; `tesson check` counts those of a file.",
        /// The dimension of a stream is to be taken from the data, and its first rows do not show it.
        OpenDim { stream: String = "x".into(), looked_at: u64 = 67_108_864 }
            = "ctf.open-dim": "{DIM} of `{stream}` is `auto` and no sample in the first {looked_at} bytes of rows shows it"
            => in manual "Give {DIM} of the stream as a number.",
    }
}
