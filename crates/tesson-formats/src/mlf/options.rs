//! The options of label files, and what they mean.

use tesson_core::{ConfigError, OptionKind, OptionTable, Options, ReaderDefaults, Registry, Section, Value};

use crate::options::{only_stream, option};

/// One entry of `input`.
static STREAM: OptionTable = OptionTable(&[
    option("mlfFile", OptionKind::Path, Some(""), "The label file."),
    option(
        "mlfFileList",
        OptionKind::Paths,
        Some(""),
        "Several label files, or a file that names one on each line.",
    ),
    option("labelDim", OptionKind::Whole, Some(""), "Number of classes; wins over `dim`."),
    option("dim", OptionKind::Whole, Some(""), "Number of classes, at most 65535."),
    option("labelMappingFile", OptionKind::Path, Some(""), "Names of the classes, one on each line."),
    option(
        "phoneBoundaries",
        OptionKind::Bool,
        Some("false"),
        "Whether the first frame of each line of the file has the value 2 instead of 1.",
    ),
    option("definesMBSize", OptionKind::Bool, Some("false"), "Whether this stream is what lengths count."),
    option("cacheIndex", OptionKind::Bool, Some(""), "As at the deserializer."),
    option(
        "labelType",
        OptionKind::Text,
        Some(""),
        "Accepted from older configurations, where it is `category`.",
    ),
    option("type", OptionKind::Text, Some(""), "The same as `labelType`."),
]);

/// The options of the deserializer. Those of its stream may stand around that, too.
pub(crate) static OPTIONS: OptionTable = OptionTable(&[
    option("input", OptionKind::Streams(&STREAM), None, "One section, named as the stream."),
    option(
        "chunkSizeInBytes",
        OptionKind::Whole,
        Some(""),
        "Bytes of a label file that are parsed at a time.",
    ),
    option("verbosity", OptionKind::Whole, Some(""), "Accepted without effect."),
]);

/// The largest number of classes.
const MAX_DIM: u64 = 65535;

/// What the options mean.
pub(crate) fn describe(
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
    let mapping = stream.text("labelMappingFile")?.map_or(Value::Text(String::new()), Value::Text);
    let section = Section::from_iter([
        ("mlfFiles", files(&stream)?),
        ("labelMappingFile", mapping),
        ("dim", Value::Whole(dim(&stream)?.into())),
        ("phoneBoundaries", Value::Bool(boundaries)),
        ("definesMBSize", Value::Bool(stream.bool("definesMBSize")?)),
    ]);
    let mut described = Section::default();
    if let Some(bytes) = options.whole("chunkSizeInBytes")? {
        described.push("chunkSizeInBytes", Value::Whole(bytes.into()));
    }
    described.push("input", Value::Section(Section::from_iter([(name, Value::Section(section))])));
    Ok(described)
}

fn dim(stream: &Options<'_>) -> Result<u64, ConfigError> {
    let (name, dim) = match (stream.whole("labelDim")?, stream.whole("dim")?) {
        (Some(dim), _) => ("labelDim", dim),
        (None, Some(dim)) => ("dim", dim),
        (None, None) => return Err(ConfigError::new(stream.path("dim"), "required option is missing")),
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
    if let Some(file) = stream.text("mlfFile")? {
        return Ok(Value::List(vec![Value::Text(file)]));
    }
    match stream.given("mlfFileList") {
        None => Err(ConfigError::new(stream.path("mlfFile"), "neither this nor `mlfFileList` is given")),
        Some(Value::Text(list)) if !list.contains(':') => {
            Ok(Value::Section(Section::from_iter([("list", Value::Text(list.clone()))])))
        }
        Some(_) => Ok(Value::List(stream.items("mlfFileList")?.unwrap_or_default())),
    }
}
