//! The options of label files, and what they mean.

use std::path::{Path, PathBuf};

use tesson_core::identity::Identity;
use tesson_core::{
    ConfigError, ConfigErrorKind, Element, OnlySection, OptionKind, OptionName, OptionSet, OptionSpec,
    Options, ReaderDefaults, Section, Value, Words, options,
};

use super::label::{TimeUnit, Times};
use super::table::TableRules;
use crate::kaldi::named_files;
use crate::options::{DEFINES_SIZE, VERBOSITY};

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

const LENGTH_TOLERANCE: OptionSpec = OptionSpec::optional(
    "lengthTolerance",
    OptionKind::Whole,
    "Number of frames by which labels may be longer or shorter than the first deserializer's sequence: they are cut, or the last \
     one is repeated; a larger difference is a fault. Without it labels of any length are delivered.",
);

const CHUNK_BYTES: OptionSpec = OptionSpec::with_default(
    "chunkSizeInBytes",
    OptionKind::Whole,
    "67108864",
    "Size of a chunk, in bytes of a label file.",
);

const NUMBERS: OptionSpec = OptionSpec::optional(
    "dtype",
    OptionKind::OneOf(&["int64"]),
    "`int64` delivers the number of the class of each frame, and needs no number of classes; by default samples are sparse, with a 1 \
     in the column of the class.",
);

options! {
    /// Label files, and the number of their classes.
    #[derive(Clone, Debug)]
    pub(super) struct LabelSource(options, reader: ReaderDefaults) {
        pub(super) let name: String = options.entry().to_owned();
        pub(super) files: LabelFiles = "mlfFile": OptionKind::Path, optional
            => "The label file."
            [read files(options)?]
            [describe with |labels, _, section| {
                section.push("mlfFiles", labels.files.described());
                Ok(())
            }];
        _ = "mlfFileList": OptionKind::Paths, optional
            => "Several label files, or a file that names one on each line."
            [describe never];
        _ = "labelDim": OptionKind::Whole, optional
            => "Number of classes; takes precedence over `dim`."
            [describe never];
        pub(super) dim: u32 = "dim": OptionKind::Whole, optional
            => "Number of classes, at most 65535."
            [read dim(options)?]
            [describe as |labels| Value::Whole(labels.dim.into())];
        /// True if samples are the numbers of classes, false if they are sparse with a 1 in the column of the class.
        pub(super) as_numbers: bool = NUMBERS
            [read as_numbers(options)?]
            [describe if given]
            [identity with |labels, identity| identity.flag("numbers", labels.as_numbers)];
    }
}

options! {
    /// The frames of label files.
    #[derive(Clone, Debug)]
    pub(super) struct LabelFrames(options, reader: ReaderDefaults) {
        pub(super) phone_boundaries: bool = "phoneBoundaries", "false"
            => "Mark the first frame of each line of the file with the value 2 instead of 1."
            [identity "boundaries"];
        /// True if it is set, which has no effect.
        pub(super) ignores_size: bool = "definesMBSize", "false"
            => "Ignored, with a warning: CNTK 2.7 does not read it for labels."
            [describe as |_| Value::Bool(false)];
        pub(super) tolerance: Option<u32> = LENGTH_TOLERANCE
            [read tolerance(options)?]
            [describe with |labels, _, section| describe_tolerance(labels.tolerance, section)]
            [identity after "framePeriod" if given "tolerance"];
        let frame_mode: bool = reader.frame_mode;
        let numeric_keys: bool = reader.numeric_keys => [identity "numeric"];
        check check_boundaries;
    }
}

options! {
    /// Options that only older configurations have.
    #[derive(Clone, Debug)]
    pub(super) struct OldOptions(options, reader: ReaderDefaults) {
        _ = "cacheIndex": OptionKind::Bool, optional
            => "Accepted; has no effect: indexing takes no longer than reading a cache."
            [describe never];
        _ = "labelType": OptionKind::Text, optional
            => "Accepted from older configurations, which set it to `category`."
            [describe never];
        _ = "type": OptionKind::Text, optional
            => "Another name for `labelType`."
            [describe never];
    }
}

options! {
    /// One entry of `input` of text files. That of other files becomes one with what they have.
    #[derive(Clone, Debug)]
    pub(super) struct TextStream(options, reader: ReaderDefaults) {
        ..pub(super) source: LabelSource;
        /// The list of states.
        pub(super) states: Option<PathBuf> = "labelMappingFile", optional
            => "Names of the classes, one on each line; without it labels are numbers in column 4."
            [describe after "mlfFile" as |labels| labels.states.as_deref().map_or(Value::Text(String::new()), text)]
            [identity with |labels, identity| identity.field("states", labels.states.is_some())];
        ..pub(super) frames: LabelFrames;
        pub(super) times: Times = "framePeriod": OptionKind::Whole, "100000"
            => "Shift of frames in units of 100 ns, by which times are divided; `auto` takes that of the features."
            [read times(options)?]
            [describe with describe_period]
            [identity with |labels, identity| identify_times(labels.times, identity)];
        _ = "timeUnit" in TIME_UNITS, "auto"
            => "Unit of the first two columns: times of `100ns`, or numbers of `frames`; `auto` reads them as times in lines \
             that last for a frame or more."
            [describe if given];
        ..old: OldOptions;
        /// True if the shift of frames is that of the features.
        pub(super) let period_of_features: bool = takes_period(options);
    }
}

options! {
    /// One entry of `input` of binary files.
    #[derive(Debug)]
    struct BinaryStream(options, reader: ReaderDefaults) {
        ..source: LabelSource;
        ..frames: LabelFrames;
        ..old: OldOptions;
    }
}

options! {
    /// One entry of `input` of alignments.
    #[derive(Debug)]
    struct AlignmentStream(options, reader: ReaderDefaults) {
        let name: String = options.entry().to_owned();
        files: LabelFiles = "arkFile": OptionKind::Files, required
            => "The archive of alignments, binary or text; a pattern or a list names several, in this order."
            [read LabelFiles::Listed(named_files(options, "arkFile")?)]
            [describe as |labels| labels.files.described()];
        dim: u32 = "dim": OptionKind::Whole, optional
            => "Number of classes, at most 65535."
            [read dim(options)?]
            [describe as |labels| Value::Whole(labels.dim.into())];
        as_numbers: bool = NUMBERS [read as_numbers(options)?] [describe if given];
        defines_size: bool = DEFINES_SIZE;
        tolerance: Option<u32> = LENGTH_TOLERANCE
            [read tolerance(options)?]
            [describe with |labels, _, section| describe_tolerance(labels.tolerance, section)];
    }
}

/// Declares the options of label files whose stream has its options in a set. Those may stand around the stream, too.
macro_rules! label_files {
    ($(#[$doc:meta] $name:ident: $stream:ty;)*) => {$(
        options! {
            #[$doc]
            #[derive(Debug)]
            pub(crate) struct $name(options, reader: ReaderDefaults) {
                stream: OnlySection<$stream> = "input", required
                    => "One section, named as the stream."
                    [describe last];
                chunk_bytes: u64 = CHUNK_BYTES [describe if given];
                _ = VERBOSITY [describe never];
            }
        }
    )*};
}

label_files! {
    /// The options of text files.
    TextLabels: TextStream;
    /// The options of binary files.
    BinaryLabels: BinaryStream;
    /// The options of alignments.
    AlignmentLabels: AlignmentStream;
}

/// The largest number of classes.
const MAX_DIM: u64 = 65535;

/// Where the names of label files are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LabelFiles {
    Listed(Vec<PathBuf>),
    /// In a file, one on each line.
    InFile(PathBuf),
}

/// The options, resolved.
#[derive(Clone, Debug)]
pub(crate) struct LabelOptions {
    pub(super) encoding: Encoding,
    pub(super) stream: TextStream,
    pub(super) defines_size: bool,
    pub(super) table: TableRules,
    pub(super) element: Element,
}

/// Frames by which labels may be longer or shorter than what they join, as far as they are counted.
fn tolerance(stream: &Options<'_>) -> Result<Option<u32>, ConfigError> {
    let given = stream.whole_if_given("lengthTolerance")?;
    Ok(given.map(|frames| u32::try_from(frames).unwrap_or(u32::MAX)))
}

fn describe_tolerance(tolerance: Option<u32>, section: &mut Section) -> Result<(), ConfigError> {
    if let Some(frames) = tolerance {
        section.push("lengthTolerance", Value::Whole(frames.into()));
    }
    Ok(())
}

fn describe_period(
    labels: &TextStream,
    options: &Options<'_>,
    section: &mut Section,
) -> Result<(), ConfigError> {
    if options.given("framePeriod").is_some() {
        section.push(
            "framePeriod",
            if labels.period_of_features {
                Value::Text("auto".into())
            } else {
                Value::Whole(options.whole("framePeriod")?.into())
            },
        );
    }
    Ok(())
}

fn check_boundaries(labels: &LabelFrames, options: &Options<'_>) -> Result<(), ConfigError> {
    if !labels.phone_boundaries || !labels.frame_mode {
        return Ok(());
    }
    Err(ConfigError::refused(options.path("phoneBoundaries"), &MlfRefusal::BoundariesOfFrames))
}

fn text(path: &Path) -> Value {
    Value::Text(path.to_string_lossy().into_owned())
}

impl LabelFiles {
    fn described(&self) -> Value {
        match self {
            LabelFiles::Listed(files) => Value::List(files.iter().map(|file| text(file)).collect()),
            LabelFiles::InFile(list) => Value::Section(Section::from_iter([("list", text(list))])),
        }
    }
}

impl TextLabels {
    pub(super) fn resolved(self, reader: &ReaderDefaults) -> LabelOptions {
        LabelOptions::new(Encoding::Text, self.stream.0, self.chunk_bytes, reader)
    }
}

impl BinaryLabels {
    pub(super) fn resolved(self, reader: &ReaderDefaults) -> LabelOptions {
        let BinaryStream { source, frames, old } = self.stream.0;
        let stream =
            TextStream { source, states: None, frames, times: NO_TIMES, old, period_of_features: false };
        LabelOptions::new(Encoding::Binary, stream, self.chunk_bytes, reader)
    }
}

impl AlignmentLabels {
    pub(crate) fn resolved(self, reader: &ReaderDefaults) -> LabelOptions {
        let AlignmentStream { name, files, dim, as_numbers, defines_size, tolerance } = self.stream.0;
        let frames = LabelFrames {
            phone_boundaries: false,
            ignores_size: false,
            tolerance,
            frame_mode: false,
            numeric_keys: reader.numeric_keys,
        };
        let stream = TextStream {
            source: LabelSource { name, files, dim, as_numbers },
            states: None,
            frames,
            times: NO_TIMES,
            old: OldOptions {},
            period_of_features: false,
        };
        LabelOptions {
            defines_size,
            ..LabelOptions::new(Encoding::Alignments, stream, self.chunk_bytes, reader)
        }
    }
}

impl LabelOptions {
    fn new(
        encoding: Encoding,
        stream: TextStream,
        chunk_bytes: u64,
        reader: &ReaderDefaults,
    ) -> LabelOptions {
        let (numeric_keys, frame_mode) = (reader.numeric_keys, reader.frame_mode);
        let table = TableRules { chunk_bytes, numeric_keys, frame_mode };
        LabelOptions { encoding, stream, defines_size: false, table, element: reader.element }
    }

    /// The options that change sequences, keys or values.
    pub(super) fn identity(&self) -> String {
        let name = match self.encoding {
            Encoding::Text => "mlf",
            Encoding::Binary => "mlf-binary",
            Encoding::Alignments => "kaldi-alignments",
        };
        self.stream.identify(Identity::new(name, 1).part()).text()
    }
}

/// The shift of frames that CNTK takes for granted.
const DEFAULT_PERIOD: f64 = 100_000.0;

/// Of files without times, which have numbers of frames.
const NO_TIMES: Times = Times { unit: TimeUnit::Auto, period: DEFAULT_PERIOD };

/// Appends the unit and the shift of frames, as far as they are given.
fn identify_times(times: Times, identity: Identity) -> Identity {
    let identity = match TIME_UNITS.word(times.unit) {
        Some(unit) if times.unit != TimeUnit::Auto => identity.field("unit", unit),
        _ => identity,
    };
    if times.period == DEFAULT_PERIOD { identity } else { identity.field("period", times.period) }
}

/// True if the shift of frames is `auto`.
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
            let expected = "a shift of frames in units of 100 ns, such as `100000` for 10 ms";
            Err(ConfigError::out_of_range(stream.path("framePeriod"), "`0`", expected))
        }
        period => Ok(Times { unit, period: period as f64 }),
    }
}

/// True if samples are the numbers of classes.
fn as_numbers(stream: &Options<'_>) -> Result<bool, ConfigError> {
    if stream.text_if_given("dtype")?.is_none() {
        return Ok(false);
    }
    if stream.table().find("phoneBoundaries").is_some() && stream.bool("phoneBoundaries")? {
        return Err(ConfigError::refused(stream.path("phoneBoundaries"), &MlfRefusal::BoundariesOfNumbers));
    }
    Ok(true)
}

fn dim(stream: &Options<'_>) -> Result<u32, ConfigError> {
    let label_dim = match stream.table().find("labelDim") {
        Some(_) => stream.whole_if_given("labelDim")?,
        None => None,
    };
    let (name, dim) = match (label_dim, stream.whole_if_given("dim")?) {
        (Some(dim), _) => ("labelDim", dim),
        (None, Some(dim)) => ("dim", dim),
        (None, None) if as_numbers(stream)? => return Ok(MAX_DIM as u32),
        (None, None) => return Err(stream.missing("dim")),
    };
    match dim {
        1..=MAX_DIM => Ok(dim as u32),
        _ => {
            let expected = format!("a number from 1 to {MAX_DIM}");
            Err(ConfigError::out_of_range(stream.path(name), format!("`{dim}`"), expected))
        }
    }
}

/// The label files: a list, or the file that lists them.
fn files(stream: &Options<'_>) -> Result<LabelFiles, ConfigError> {
    if let Some(file) = stream.text_if_given("mlfFile")? {
        return Ok(LabelFiles::Listed(vec![file.into()]));
    }
    match stream.given("mlfFileList") {
        None => {
            let neither = ConfigErrorKind::NeitherGiven { other: OptionName::new("mlfFileList") };
            Err(ConfigError::refused(stream.path("mlfFile"), &neither))
        }
        Some(Value::Text(list)) if !list.contains(':') => Ok(LabelFiles::InFile(list.into())),
        Some(_) => {
            let items = stream.items_if_given("mlfFileList")?.unwrap_or_default();
            if items.is_empty() {
                let path = stream.path("mlfFileList");
                return Err(ConfigError::nothing_given(path, "an empty list", "at least one label file"));
            }
            let path = |item: Value| match item {
                Value::Text(path) => Ok(PathBuf::from(path)),
                other => Err(stream.wrong_type("mlfFileList", &other, "the name of a file")),
            };
            items.into_iter().map(path).collect::<Result<_, _>>().map(LabelFiles::Listed)
        }
    }
}

const FRAME_MODE: OptionName = OptionName::new("frameMode");
const PHONE_BOUNDARIES: OptionName = OptionName::new("phoneBoundaries");
const DTYPE: OptionName = OptionName::new("dtype");

tesson_core::error_kinds! {
    /// Why options of label files are refused.
    pub enum MlfRefusal {
        /// Boundaries of phones are asked for, and each frame is a sequence of its own.
        BoundariesOfFrames
            = "mlf.boundaries-of-frames": "frames have no boundaries"; "leave out either this or {FRAME_MODE}"
            => "Leave out {PHONE_BOUNDARIES} or {FRAME_MODE}.",
        /// Boundaries of phones are asked for, and samples are the numbers of classes.
        BoundariesOfNumbers
            = "mlf.boundaries-of-numbers": "numbers of classes mark no boundaries"; "leave out either this or {DTYPE}"
            => "Leave out {PHONE_BOUNDARIES} or {DTYPE}.",
    }
}
