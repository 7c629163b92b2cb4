//! The options of label files, and what they mean.

use std::path::PathBuf;

use tesson_core::identity::Identity;
use tesson_core::{
    ConfigError, Element, OptionKind, OptionSpec, OptionTable, Options, ReaderDefaults, Registry, Section,
    Value, Words,
};

use super::label::{TimeUnit, Times};
use super::table::TableRules;
use crate::kaldi::named_files;
use crate::options::{DEFINES_SIZE, VERBOSITY, only_stream};

/// How label files are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    /// Master label files.
    Text,
    /// CNTK's binary form of them.
    Binary,
    /// Kaldi's archives of alignments.
    Alignments,
}

static TIME_UNITS: Words<TimeUnit, 3> = Words::new([
    ("auto", TimeUnit::Auto),
    ("100ns", TimeUnit::HundredNanoseconds),
    ("frames", TimeUnit::Frames),
]);

const FILE: OptionSpec = OptionSpec::optional("mlfFile", OptionKind::Path, "The label file.");
const FILE_LIST: OptionSpec = OptionSpec::optional(
    "mlfFileList",
    OptionKind::Paths,
    "Several label files, or a file that names one on each line.",
);
const LABEL_DIM: OptionSpec =
    OptionSpec::optional("labelDim", OptionKind::Whole, "Number of classes; wins over `dim`.");
const DIM: OptionSpec = OptionSpec::optional("dim", OptionKind::Whole, "Number of classes, at most 65535.");
const PHONE_BOUNDARIES: OptionSpec = OptionSpec::with_default(
    "phoneBoundaries",
    OptionKind::Bool,
    "false",
    "Whether the first frame of each line of the file has the value 2 instead of 1.",
);
const IGNORED_SIZE: OptionSpec = OptionSpec::with_default(
    "definesMBSize",
    OptionKind::Bool,
    "false",
    "Ignored, with a warning: CNTK 2.7 does not read it for labels.",
);
const CACHE_INDEX: OptionSpec = OptionSpec::optional(
    "cacheIndex",
    OptionKind::Bool,
    "Accepted without effect: indexing takes no longer than reading a cache.",
);
const LABEL_TYPE: OptionSpec = OptionSpec::optional(
    "labelType",
    OptionKind::Text,
    "Accepted from older configurations, where it is `category`.",
);
const TYPE: OptionSpec = OptionSpec::optional("type", OptionKind::Text, "The same as `labelType`.");

const LENGTH_TOLERANCE: OptionSpec = OptionSpec::optional(
    "lengthTolerance",
    OptionKind::Whole,
    "Frames by which labels may be longer or shorter than the first deserializer's sequence: they are cut, or the last \
     one is repeated; a larger difference is a fault. Without it any lengths are delivered.",
);

/// One entry of `input` of text files.
static TEXT_STREAM: OptionTable = OptionTable(&[
    FILE,
    FILE_LIST,
    LABEL_DIM,
    DIM,
    OptionSpec::optional(
        "labelMappingFile",
        OptionKind::Path,
        "Names of the classes, one on each line; without it labels are numbers in column 4.",
    ),
    PHONE_BOUNDARIES,
    IGNORED_SIZE,
    LENGTH_TOLERANCE,
    OptionSpec::with_default(
        "framePeriod",
        OptionKind::Whole,
        "100000",
        "The shift of frames in units of 100 ns: what times are divided by; `auto` takes that of the features.",
    ),
    OptionSpec::with_default(
        "timeUnit",
        TIME_UNITS.kind(),
        "auto",
        "What the first two columns are: `100ns` times, `frames` numbers of frames; `auto` takes them for times in lines \
         that last for a frame or more.",
    ),
    CACHE_INDEX,
    LABEL_TYPE,
    TYPE,
]);

/// One entry of `input` of binary files.
static BINARY_STREAM: OptionTable = OptionTable(&[
    FILE,
    FILE_LIST,
    LABEL_DIM,
    DIM,
    PHONE_BOUNDARIES,
    IGNORED_SIZE,
    LENGTH_TOLERANCE,
    CACHE_INDEX,
    LABEL_TYPE,
    TYPE,
]);

/// One entry of `input` of alignments.
static ALIGNMENT_STREAM: OptionTable = OptionTable(&[
    OptionSpec::required(
        "arkFile",
        OptionKind::Files,
        "The archive of alignments, in binary or as text; a pattern, or a list, for several, in this order.",
    ),
    OptionSpec::required("dim", OptionKind::Whole, "Number of classes, at most 65535."),
    DEFINES_SIZE,
    LENGTH_TOLERANCE,
]);

const CHUNK_BYTES: OptionSpec = OptionSpec::with_default(
    "chunkSizeInBytes",
    OptionKind::Whole,
    "67108864",
    "Bytes of a label file in a chunk.",
);

/// The options of text files. Those of their stream may stand around that, too.
pub(super) static TEXT_OPTIONS: OptionTable = OptionTable(&[input(&TEXT_STREAM), CHUNK_BYTES, VERBOSITY]);

/// The options of binary files, in the same way.
pub(super) static BINARY_OPTIONS: OptionTable = OptionTable(&[input(&BINARY_STREAM), CHUNK_BYTES, VERBOSITY]);

/// The options of alignments, in the same way.
pub(crate) static ALIGNMENT_OPTIONS: OptionTable =
    OptionTable(&[input(&ALIGNMENT_STREAM), CHUNK_BYTES, VERBOSITY]);

const fn input(stream: &'static OptionTable) -> OptionSpec {
    OptionSpec::required("input", OptionKind::Streams(stream), "One section, named as the stream.")
}

/// The largest number of classes.
const MAX_DIM: u64 = 65535;

/// Where the names of label files are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum LabelFiles {
    Listed(Vec<PathBuf>),
    /// In a file, one on each line.
    InFile(PathBuf),
}

/// The options, resolved.
#[derive(Clone, Debug)]
pub(super) struct LabelOptions {
    pub(super) encoding: Encoding,
    /// The name of the stream.
    pub(super) name: String,
    pub(super) files: LabelFiles,
    /// The list of states.
    pub(super) states: Option<PathBuf>,
    /// The number of classes.
    pub(super) dim: u32,
    pub(super) phone_boundaries: bool,
    pub(super) defines_size: bool,
    /// Whether `definesMBSize` is set without effect.
    pub(super) ignores_size: bool,
    pub(super) times: Times,
    /// Whether the shift of frames is that of the features.
    pub(super) period_of_features: bool,
    pub(super) table: TableRules,
    pub(super) element: Element,
    /// Frames by which labels may be longer or shorter than what they join.
    pub(super) tolerance: Option<u32>,
}

impl LabelOptions {
    pub(super) fn new(
        encoding: Encoding,
        options: &Options<'_>,
        defaults: &ReaderDefaults,
    ) -> Result<LabelOptions, ConfigError> {
        let (name, stream) = only_stream(options)?;
        let is_alignment = encoding == Encoding::Alignments;
        let phone_boundaries = !is_alignment && stream.bool("phoneBoundaries")?;
        if phone_boundaries && defaults.frame_mode {
            let what = "frames have no boundaries; leave out either this or `frameMode`";
            return Err(ConfigError::new(stream.path("phoneBoundaries"), what));
        }
        let defines_size = stream.bool("definesMBSize")?;
        let is_text = encoding == Encoding::Text;
        Ok(LabelOptions {
            encoding,
            name: name.to_owned(),
            files: if is_alignment {
                LabelFiles::Listed(named_files(&stream, "arkFile")?)
            } else {
                files(&stream)?
            },
            states: if is_text { stream.text_if_given("labelMappingFile")?.map(PathBuf::from) } else { None },
            dim: dim(&stream)?,
            phone_boundaries,
            defines_size: is_alignment && defines_size,
            ignores_size: !is_alignment && defines_size,
            times: if is_text { times(&stream)? } else { FRAMES },
            period_of_features: is_text && takes_period(&stream),
            table: TableRules {
                chunk_bytes: options.whole("chunkSizeInBytes")?,
                numeric_keys: defaults.numeric_keys,
                frame_mode: defaults.frame_mode,
            },
            element: defaults.element,
            tolerance: stream.whole_if_given("lengthTolerance")?.map(|k| k.min(u32::MAX.into()) as u32),
        })
    }

    /// The options that change sequences, keys or values.
    pub(super) fn identity(&self) -> String {
        let (name, unit) = match (self.encoding, self.times.unit) {
            (Encoding::Binary, _) => ("mlf-binary", None),
            (Encoding::Alignments, _) => ("kaldi-alignments", None),
            (_, TimeUnit::Auto) => ("mlf", None),
            (_, TimeUnit::HundredNanoseconds) => ("mlf", Some("100ns")),
            (_, TimeUnit::Frames) => ("mlf", Some("frames")),
        };
        let mut identity = Identity::new(name, 1).part();
        identity = identity.field("states", self.states.is_some()).field("boundaries", self.phone_boundaries);
        identity = identity.field("numeric", self.table.numeric_keys);
        if let Some(unit) = unit {
            identity = identity.field("unit", unit);
        }
        if self.times.period != DEFAULT_PERIOD {
            identity = identity.field("period", self.times.period);
        }
        if let Some(tolerance) = self.tolerance {
            identity = identity.field("tolerance", tolerance);
        }
        identity.text()
    }
}

/// The shift of frames that CNTK takes for granted.
const DEFAULT_PERIOD: f64 = 100_000.0;

/// Binary files have numbers of frames.
const FRAMES: Times = Times { unit: TimeUnit::Frames, period: DEFAULT_PERIOD };

/// Whether the shift of frames is `auto`.
fn takes_period(stream: &Options<'_>) -> bool {
    matches!(stream.given("framePeriod"), Some(Value::Text(text)) if text.eq_ignore_ascii_case("auto"))
}

fn times(stream: &Options<'_>) -> Result<Times, ConfigError> {
    let unit = stream.word("timeUnit", &TIME_UNITS)?;
    if takes_period(stream) {
        return Ok(Times { unit, period: DEFAULT_PERIOD });
    }
    match stream.whole("framePeriod")? {
        0 => {
            let what = "found `0`, expected a shift of frames in units of 100 ns, such as `100000` for 10 ms";
            Err(ConfigError::new(stream.path("framePeriod"), what))
        }
        period => Ok(Times { unit, period: period as f64 }),
    }
}

fn dim(stream: &Options<'_>) -> Result<u32, ConfigError> {
    let label_dim = match stream.table().find("labelDim") {
        Some(_) => stream.whole_if_given("labelDim")?,
        None => None,
    };
    let (name, dim) = match (label_dim, stream.whole_if_given("dim")?) {
        (Some(dim), _) => ("labelDim", dim),
        (None, Some(dim)) => ("dim", dim),
        (None, None) => return Err(stream.missing("dim")),
    };
    match dim {
        1..=MAX_DIM => Ok(dim as u32),
        _ => {
            let what = format!("found `{dim}`, expected a number from 1 to {MAX_DIM}");
            Err(ConfigError::new(stream.path(name), what))
        }
    }
}

/// The label files: a list, or the file that lists them.
fn files(stream: &Options<'_>) -> Result<LabelFiles, ConfigError> {
    if let Some(file) = stream.text_if_given("mlfFile")? {
        return Ok(LabelFiles::Listed(vec![file.into()]));
    }
    match stream.given("mlfFileList") {
        None => Err(ConfigError::new(stream.path("mlfFile"), "neither this nor `mlfFileList` is given")),
        Some(Value::Text(list)) if !list.contains(':') => Ok(LabelFiles::InFile(list.into())),
        Some(_) => {
            let items = stream.items_if_given("mlfFileList")?.unwrap_or_default();
            if items.is_empty() {
                let what = "found an empty list, expected at least one label file";
                return Err(ConfigError::new(stream.path("mlfFileList"), what));
            }
            let path = |item: Value| match item {
                Value::Text(path) => Ok(PathBuf::from(path)),
                other => {
                    let what = format!("found {}, expected the name of a file", other.describe());
                    Err(ConfigError::new(stream.path("mlfFileList"), what))
                }
            };
            items.into_iter().map(path).collect::<Result<_, _>>().map(LabelFiles::Listed)
        }
    }
}

/// Resolves the options of text files.
pub(super) fn describe_text(
    options: &Options<'_>,
    defaults: &ReaderDefaults,
    _: &Registry,
) -> Result<Section, ConfigError> {
    describe(Encoding::Text, options, defaults)
}

/// Those of binary files.
pub(super) fn describe_binary(
    options: &Options<'_>,
    defaults: &ReaderDefaults,
    _: &Registry,
) -> Result<Section, ConfigError> {
    describe(Encoding::Binary, options, defaults)
}

/// Those of alignments.
pub(crate) fn describe_alignments(
    options: &Options<'_>,
    defaults: &ReaderDefaults,
    _: &Registry,
) -> Result<Section, ConfigError> {
    describe(Encoding::Alignments, options, defaults)
}

fn describe(
    encoding: Encoding,
    options: &Options<'_>,
    defaults: &ReaderDefaults,
) -> Result<Section, ConfigError> {
    let resolved = LabelOptions::new(encoding, options, defaults)?;
    let (name, stream) = only_stream(options)?;
    let text = |path: &PathBuf| Value::Text(path.to_string_lossy().into_owned());
    let files = match &resolved.files {
        LabelFiles::Listed(files) => Value::List(files.iter().map(text).collect()),
        LabelFiles::InFile(list) => Value::Section(Section::from_iter([("list", text(list))])),
    };
    let is_alignment = encoding == Encoding::Alignments;
    let mut section = Section::from_iter([(if is_alignment { "arkFile" } else { "mlfFiles" }, files)]);
    if resolved.encoding == Encoding::Text {
        let states = resolved.states.as_ref().map_or(Value::Text(String::new()), text);
        section.push("labelMappingFile", states);
    }
    section.push("dim", Value::Whole(resolved.dim.into()));
    if !is_alignment {
        section.push("phoneBoundaries", Value::Bool(resolved.phone_boundaries));
    }
    section.push("definesMBSize", Value::Bool(resolved.defines_size));
    if let Some(tolerance) = resolved.tolerance {
        section.push("lengthTolerance", Value::Whole(tolerance.into()));
    }
    // The reference has neither of these: they are said where they are given.
    if resolved.encoding == Encoding::Text && stream.given("framePeriod").is_some() {
        let period = match resolved.period_of_features {
            true => Value::Text("auto".into()),
            false => Value::Whole(stream.whole("framePeriod")?.into()),
        };
        section.push("framePeriod", period);
    }
    if resolved.encoding == Encoding::Text && stream.given("timeUnit").is_some() {
        section.push("timeUnit", Value::Text(stream.text("timeUnit")?));
    }
    let mut described = Section::default();
    if options.given("chunkSizeInBytes").is_some() {
        described.push("chunkSizeInBytes", Value::Whole(resolved.table.chunk_bytes.into()));
    }
    described.push("input", Value::Section(Section::from_iter([(name, Value::Section(section))])));
    Ok(described)
}
