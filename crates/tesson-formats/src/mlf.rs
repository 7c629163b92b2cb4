//! Master label files of HTK. Its options are understood; the reader is still to be written.

use tesson_core::{
    ConfigError, Format, KeyType, OptionKind, OptionTable, Options, ReaderDefaults, Registry, Section, Value,
    option_table,
};

use crate::options::{DEFINES_SIZE, VERBOSITY, not_built, only_stream};

/// The registry's entry.
pub static FORMAT: Format = Format::new(
    "HTKMLFDeserializer",
    "Labels of speech: HTK master label files, a class for each frame.",
    &OPTIONS,
    |options, _| not_built(FORMAT.name, options),
)
.with_describe(describe)
.with_keys(KeyType::Text);

/// One entry of `input`.
static STREAM: OptionTable = option_table! {
    "mlfFile": OptionKind::Path, optional
        => "The label file.",
    "mlfFileList": OptionKind::Paths, optional
        => "Several label files, or a file that names one on each line.",
    "labelDim": OptionKind::Whole, optional
        => "Number of classes; wins over `dim`.",
    "dim": OptionKind::Whole, optional
        => "Number of classes, at most 65535.",
    "labelMappingFile": OptionKind::Path, optional
        => "Names of the classes, one on each line.",
    "phoneBoundaries": OptionKind::Bool, "false"
        => "Whether the first frame of each line of the file has the value 2 instead of 1.",
    DEFINES_SIZE,
    "cacheIndex": OptionKind::Bool, optional
        => "As at the deserializer.",
    "labelType": OptionKind::Text, optional
        => "Accepted from older configurations, where it is `category`.",
    "type": OptionKind::Text, optional
        => "The same as `labelType`.",
};

/// The options of the deserializer. Those of its stream may stand around that, too.
static OPTIONS: OptionTable = option_table! {
    "input": OptionKind::Streams(&STREAM), required
        => "One section, named as the stream.",
    "chunkSizeInBytes": OptionKind::Whole, optional
        => "Bytes of a label file that are parsed at a time.",
    VERBOSITY,
};

/// The largest number of classes.
const MAX_DIM: u64 = 65535;

/// Resolves the options.
fn describe(
    options: &Options<'_>,
    defaults: &ReaderDefaults,
    _registry: &Registry,
) -> Result<Section, ConfigError> {
    let (name, stream) = only_stream(options)?;
    let boundaries = stream.bool("phoneBoundaries")?;
    if boundaries && defaults.frame_mode {
        let what = "frames have no boundaries; leave out either this or `frameMode`";
        return Err(ConfigError::new(stream.path("phoneBoundaries"), what));
    }
    let mapping = stream.text_if_given("labelMappingFile")?.map_or(Value::Text(String::new()), Value::Text);
    let section = Section::from_iter([
        ("mlfFiles", files(&stream)?),
        ("labelMappingFile", mapping),
        ("dim", Value::Whole(dim(&stream)?.into())),
        ("phoneBoundaries", Value::Bool(boundaries)),
        ("definesMBSize", Value::Bool(stream.bool("definesMBSize")?)),
    ]);
    let mut described = Section::default();
    if let Some(bytes) = options.whole_if_given("chunkSizeInBytes")? {
        described.push("chunkSizeInBytes", Value::Whole(bytes.into()));
    }
    described.push("input", Value::Section(Section::from_iter([(name, Value::Section(section))])));
    Ok(described)
}

fn dim(stream: &Options<'_>) -> Result<u64, ConfigError> {
    let (name, dim) = match (stream.whole_if_given("labelDim")?, stream.whole_if_given("dim")?) {
        (Some(dim), _) => ("labelDim", dim),
        (None, Some(dim)) => ("dim", dim),
        (None, None) => return Err(stream.missing("dim")),
    };
    match dim {
        1..=MAX_DIM => Ok(dim),
        _ => {
            let what = format!("found `{dim}`, expected a number from 1 to {MAX_DIM}");
            Err(ConfigError::new(stream.path(name), what))
        }
    }
}

/// The label files: a list, or the file that lists them.
fn files(stream: &Options<'_>) -> Result<Value, ConfigError> {
    if let Some(file) = stream.text_if_given("mlfFile")? {
        return Ok(Value::List(vec![Value::Text(file)]));
    }
    match stream.given("mlfFileList") {
        None => Err(ConfigError::new(stream.path("mlfFile"), "neither this nor `mlfFileList` is given")),
        Some(Value::Text(list)) if !list.contains(':') => {
            Ok(Value::Section(Section::from_iter([("list", Value::Text(list.clone()))])))
        }
        Some(_) => Ok(Value::List(stream.items_if_given("mlfFileList")?.unwrap_or_default())),
    }
}
