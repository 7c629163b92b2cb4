//! The options of features, and what they mean.

use std::path::PathBuf;

use tesson_core::identity::{Identity, Quoted};
use tesson_core::{
    ConfigError, Element, OptionKind, OptionTable, Options, ReaderDefaults, Registry, Section, Value, Words,
    option_table,
};

use super::header::{ByteOrder, HeaderRules, KINDS, QUANTIZED};
use crate::options::{DEFINES_SIZE, VERBOSITY, only_stream};
use crate::utterance::chunks::Most;
use crate::utterance::window::{GivenWindow, Window};

static BYTE_ORDERS: Words<Option<ByteOrder>, 3> =
    Words::new([("auto", None), ("big", Some(ByteOrder::Big)), ("little", Some(ByteOrder::Little))]);

/// Which of several utterances of one key are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OnDuplicate {
    /// None of them.
    Drop,
    /// The first.
    First,
    /// Opening the source fails.
    Error,
}

static ON_DUPLICATE: Words<OnDuplicate, 3> =
    Words::new([("drop", OnDuplicate::Drop), ("first", OnDuplicate::First), ("error", OnDuplicate::Error)]);

/// What is checked when a source is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Verify {
    /// The first file.
    First,
    /// Headers and ranges of all files.
    Header,
    /// The sizes of all files, too.
    Full,
}

static VERIFY: Words<Verify, 3> =
    Words::new([("first", Verify::First), ("header", Verify::Header), ("full", Verify::Full)]);

/// One entry of `input`.
static STREAM: OptionTable = option_table! {
    "scpFile": OptionKind::Files, required
        => "The script file: `name=file[first,last]` for each utterance, both frames counted from 0 and part of it, or `name=file` for a whole file. Several script files, as a list, are read as one. In a line `...` stands for the script file's own folder.",
    "dim": OptionKind::Whole, required
        => "Values in a frame, or in all frames of the window together.",
    "contextWindow": OptionKind::Numbers, "1"
        => "The frames of a sample: an odd number of them in all, or `left:right` of the frame itself. Without it `dim` says how many there are.",
    "prefixPathInSCP": OptionKind::Text, optional
        => "Put before the file names of the script file.",
    "root": OptionKind::Path, optional
        => "The folder of relative file names in the script file; by default the working directory.",
    "expandToUtterance": OptionKind::Bool, "false"
        => "Whether utterances are one frame, repeated as often as the first deserializer's sequence is long.",
    "maxSequenceSize" | "maxSequenceLength": OptionKind::Whole, optional
        => "Utterances with more frames are left out.",
    "onDuplicate": ON_DUPLICATE.kind(), "drop"
        => "Utterances whose key occurs again: all are left out (`drop`), the `first` is read, or opening is an `error`.",
    "chunkSizeInFrames": OptionKind::Whole, "90000"
        => "Frames of a chunk, the unit of randomization; it ends with the utterance that goes beyond.",
    "chunkSizeInBytes": OptionKind::Whole, optional
        => "Ends a chunk also with the utterance that takes it beyond so many bytes, where each value counts 4.",
    "byteOrder": BYTE_ORDERS.kind(), "auto"
        => "The order of bytes in the files; by default each header shows it.",
    "allowKinds": OptionKind::Text, optional
        => "Kinds of files that are read beside MFCC, FBANK, USER and PLP, with `:` between them: `WAVEFORM`, `LPC`, `LPREFC`, `LPCEPSTRA`, `LPDELCEP`, `IREFC`, `MELSPEC`, `DISCRETE`, `VQ`, or `all`.",
    "verify": VERIFY.kind(), "first"
        => "What is looked at when a source is opened: the `first` file, each `header` with the ranges in its file, or in `full` the size of each file, too. The rest is looked at when it is read.",
    DEFINES_SIZE,
    "type": OptionKind::Text, optional
        => "Accepted from older configurations, where it is `real`.",
};

/// The options of the deserializer. Those of its stream may stand around that, too.
pub(super) static OPTIONS: OptionTable = option_table! {
    "input": OptionKind::Streams(&STREAM), required
        => "One section, named as the stream.",
    VERBOSITY,
};

/// The options, resolved.
#[derive(Clone, Debug)]
pub(super) struct HtkOptions {
    /// The stream's name.
    pub(super) stream: String,
    pub(super) lists: Vec<PathBuf>,
    pub(super) dim: u64,
    pub(super) window: GivenWindow,
    pub(super) prefix: String,
    pub(super) root: String,
    pub(super) is_expanded: bool,
    /// Frames of an utterance, at most.
    pub(super) max_frames: u64,
    pub(super) on_duplicate: OnDuplicate,
    pub(super) chunk: Most,
    pub(super) header: HeaderRules,
    pub(super) verify: Verify,
    pub(super) defines_size: bool,
    pub(super) element: Element,
    pub(super) frame_mode: bool,
    pub(super) numeric_keys: bool,
}

impl HtkOptions {
    pub(super) fn new(options: &Options<'_>, defaults: &ReaderDefaults) -> Result<HtkOptions, ConfigError> {
        let (name, stream) = only_stream(options)?;
        let within = |option: &str, least: u64, most: u64| match stream.whole(option)? {
            n if (least..=most).contains(&n) => Ok(n),
            n => {
                let what = format!("found {n}, expected {least} to {most}");
                Err(ConfigError::new(stream.path(option), what))
            }
        };
        let (dim, window) = (within("dim", 1, i32::MAX as u64)?, context_window(&stream)?);
        let (left, right) = window.sides().unwrap_or((0, 0));
        if (Window { left, right, values: 1 }).frames().saturating_mul(dim) > i32::MAX as u64 {
            let what = format!("{dim} values in a frame and {left}:{right} frames around it are too many");
            return Err(ConfigError::new(stream.path("contextWindow"), what));
        }
        let order = stream.word("byteOrder", &BYTE_ORDERS)?;
        Ok(HtkOptions {
            stream: name.to_owned(),
            lists: stream.files("scpFile")?,
            dim,
            window,
            prefix: stream.text_if_given("prefixPathInSCP")?.unwrap_or_default(),
            root: stream.text_if_given("root")?.unwrap_or_default(),
            is_expanded: stream.bool("expandToUtterance")?,
            max_frames: stream.whole_if_given("maxSequenceSize")?.unwrap_or(u64::MAX),
            on_duplicate: stream.word("onDuplicate", &ON_DUPLICATE)?,
            chunk: Most::of(&stream)?,
            header: HeaderRules::new(order, allowed_kinds(&stream)?),
            verify: stream.word("verify", &VERIFY)?,
            defines_size: stream.bool("definesMBSize")?,
            element: defaults.element,
            frame_mode: defaults.frame_mode,
            numeric_keys: defaults.numeric_keys,
        })
    }

    /// Everything that changes sequences, keys or values, but for the lists themselves.
    pub(super) fn identity(&self) -> String {
        let order = BYTE_ORDERS.word(self.header.order).unwrap_or_default();
        Identity::new("htk", 1)
            .field("dim", self.dim)
            .field("window", self.window)
            .field("stream", Quoted(&self.stream))
            .flag("expanded", self.is_expanded)
            .field("max", self.max_frames)
            .field("chunk", self.chunk.word())
            .field("duplicates", ON_DUPLICATE.word(self.on_duplicate).unwrap_or_default())
            .field("order", order)
            .field("kinds", self.header.kinds)
            .flag("numbers", self.numeric_keys)
            .flag("defines", self.defines_size)
            .text()
    }
}

/// The kinds that `allowKinds` lists, by bit.
fn allowed_kinds(stream: &Options<'_>) -> Result<u16, ConfigError> {
    let mut kinds = 0;
    for item in stream.items_if_given("allowKinds")?.unwrap_or_default() {
        let name = match &item {
            Value::Text(name) => name.trim(),
            _ => "",
        };
        kinds |= match HeaderRules::kind_bit(name) {
            _ if name.eq_ignore_ascii_case("all") => u16::MAX,
            Some(bit) => bit,
            None => {
                let what = format!(
                    "found {}, expected `all`, or some of {}, {QUANTIZED}",
                    item.describe(),
                    KINDS.join(", ")
                );
                return Err(ConfigError::new(stream.path("allowKinds"), what));
            }
        };
    }
    Ok(kinds)
}

/// What `contextWindow` is (spec/speech.md §5.3).
fn context_window(options: &Options<'_>) -> Result<GivenWindow, ConfigError> {
    let Some(given) = options.given("contextWindow") else { return Ok(GivenWindow::None) };
    let wrong = || {
        let what = format!(
            "found {}, expected a number of frames such as `11`, or two numbers such as `5:5`",
            given.describe()
        );
        ConfigError::new(options.path("contextWindow"), what)
    };
    let whole = |x: f64| if x >= 0.0 && x.fract() == 0.0 && x < 1e9 { Ok(x as u32) } else { Err(wrong()) };
    match options.numbers("contextWindow")?[..] {
        [n] => Ok(GivenWindow::Single(whole(n)?)),
        [left, right] => Ok(GivenWindow::Pair(whole(left)?, whole(right)?)),
        _ => Err(wrong()),
    }
}

/// Resolves the options.
pub(super) fn describe(
    options: &Options<'_>,
    defaults: &ReaderDefaults,
    _registry: &Registry,
) -> Result<Section, ConfigError> {
    let (name, stream) = only_stream(options)?;
    let resolved = HtkOptions::new(options, defaults)?;
    // One even number can only be the frames on each side.
    let (left, right) = match resolved.window {
        GivenWindow::Single(n) if n % 2 == 0 => (n, n),
        window => window.sides().unwrap_or_default(),
    };
    let lists = match stream.given("scpFile") {
        Some(list @ Value::List(_)) => list.clone(),
        _ => Value::Text(stream.text("scpFile")?),
    };
    let mut section = Section::from_iter([
        ("scpFile", lists),
        ("dim", Value::Whole(resolved.dim.into())),
        ("left", Value::Whole(left.into())),
        ("right", Value::Whole(right.into())),
        ("prefixPathInSCP", Value::Text(resolved.prefix.clone())),
        ("expandToUtterance", Value::Bool(resolved.is_expanded)),
        ("definesMBSize", Value::Bool(resolved.defines_size)),
    ]);
    if resolved.max_frames != u64::MAX {
        section.push("maxSequenceSize", Value::Whole(resolved.max_frames.into()));
    }
    resolved.chunk.describe(&stream, &mut section);
    for name in ["root", "onDuplicate", "byteOrder", "allowKinds", "verify"] {
        if stream.given(name).is_some() {
            section.push(name, Value::Text(stream.text(name)?));
        }
    }
    Ok(Section::from_iter([("input", Value::Section(Section::from_iter([(name, Value::Section(section))])))]))
}
