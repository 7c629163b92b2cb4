//! The options of features, and what they mean.

use std::path::PathBuf;

use tesson_core::identity::{Identity, Quoted};
use tesson_core::{
    ConfigError, Element, OnlySection, OptionKind, OptionSet, Options, ReaderDefaults, Section, Value, Words,
    options,
};

use super::header::{ByteOrder, HeaderRules, KINDS, QUANTIZED};
use crate::options::{DEFINES_SIZE, VERBOSITY, describe_files};
use crate::utterance::chunks::Most;
use crate::utterance::window::{self, GivenWindow, Window, WindowRefusal};

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

/// The checks when a source is opened.
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

options! {
    /// The options of a stream of features.
    #[derive(Clone, Debug)]
    pub(super) struct HtkOptions(options, reader: ReaderDefaults) {
        /// The stream's name.
        pub(super) let stream: String = options.entry().to_owned()
            => [identity after "contextWindow" with |htk, text| text.field("stream", Quoted(&htk.stream))];
        pub(super) lists: Vec<PathBuf> = "scpFile", required
            => "The script file: `name=file[first,last]` for each utterance, with frames counted from 0 and the last one \
             included, or `name=file` for a whole file. A list of script files is read as one. In a line `...` stands for the \
             script file's own folder."
            [describe with |_, options, section| describe_files(options, "scpFile", section)];
        /// 0 for `auto`, until a file has been read.
        pub(super) dim: u64 = "dim": OptionKind::Whole, required
            => "Number of values in a frame, or in all frames of the window together; `auto` takes that of the first file."
            [read window::dim(options)?]
            [describe with |htk, _, section| window::describe_dim(htk.dim, section)]
            [identity "dim"];
        pub(super) window: GivenWindow = "contextWindow": OptionKind::Numbers, "1"
            => "Frames of a sample: an odd number in all, or `left:right` of the frame itself. Without it the number follows \
             from `dim`."
            [read context_window(options)?]
            [describe with |htk, _, section| describe_window(htk.window, section)]
            [identity "window"];
        pub(super) prefix: String = "prefixPathInSCP", optional
            => "Prefix of the file names in the script file."
            [otherwise String::new()]
            [describe as |htk| Value::Text(htk.prefix.clone())];
        pub(super) root: String = "root": OptionKind::Path, optional
            => "Folder of relative file names in the script file; by default the working directory."
            [otherwise String::new()]
            [describe after "chunkSizeInBytes" if given];
        pub(super) is_expanded: bool = "expandToUtterance", "false"
            => "Read utterances of one frame, and repeat it to the length of the first deserializer's sequence."
            [identity flag "expanded"];
        /// Frames of an utterance, at most.
        pub(super) max_frames: u64 = "maxSequenceSize" | "maxSequenceLength", optional
            => "Leave out utterances with more frames."
            [otherwise u64::MAX]
            [identity "max"];
        pub(super) on_duplicate: OnDuplicate = "onDuplicate" in ON_DUPLICATE, "drop"
            => "How utterances with one key are handled: leave all out (`drop`), read the `first`, or refuse to open (`error`)."
            [describe after "root" if given]
            [identity after "chunkSizeInFrames" "duplicates"];
        pub(super) chunk: Most = "chunkSizeInFrames": OptionKind::Whole, "90000"
            => "Size of a chunk, the unit of randomization, in frames; a chunk ends with the utterance that exceeds it."
            [read Most::of(options)?]
            [describe if given]
            [identity "chunk"];
        _ = "chunkSizeInBytes": OptionKind::Whole, optional
            => "Size of a chunk in bytes, where each value counts 4; a chunk also ends with the utterance that exceeds it.";
        byte_order: Option<ByteOrder> = "byteOrder" in BYTE_ORDERS, "auto"
            => "Byte order of the files; by default detected from each header."
            [describe if given]
            [identity "order"];
        pub(super) header: HeaderRules = "allowKinds": OptionKind::Text, optional
            => "Kinds of files to accept beside MFCC, FBANK, USER and PLP, separated by `:`: `WAVEFORM`, `LPC`, `LPREFC`, \
             `LPCEPSTRA`, `LPDELCEP`, `IREFC`, `MELSPEC`, `DISCRETE`, `VQ`, or `all`."
            [read HeaderRules::new(byte_order, allowed_kinds(options)?)]
            [identity with |htk, text| text.field("kinds", htk.header.kinds)];
        pub(super) verify: Verify = "verify" in VERIFY, "first"
            => "Checks when a source is opened: the `first` file, each `header` with the ranges in its file, or in `full` also \
             the size of each file. The rest is checked when it is read."
            [describe if given];
        pub(super) let numeric_keys: bool = reader.numeric_keys => [identity flag "numbers"];
        pub(super) defines_size: bool = DEFINES_SIZE
            [describe after "expandToUtterance"]
            [identity flag "defines"];
        _ = "type": OptionKind::Text, optional
            => "Accepted from older configurations, which set it to `real`."
            [describe never];
        pub(super) let element: Element = reader.element;
        pub(super) let frame_mode: bool = reader.frame_mode;
        check check_window;
    }
}

options! {
    /// The options of the deserializer. Those of its stream may stand around that, too.
    #[derive(Debug)]
    pub(super) struct HtkSection(options, reader: ReaderDefaults) {
        pub(super) stream: OnlySection<HtkOptions> = "input", required
            => "One section, named as the stream.";
        _ = VERBOSITY [describe never];
    }
}

impl HtkOptions {
    /// Everything that changes sequences, keys or values, but for the lists themselves.
    pub(super) fn identity(&self) -> String {
        self.identify(Identity::new("htk", 1)).text()
    }
}

/// Refuses more values in a sample than are counted.
fn check_window(htk: &HtkOptions, options: &Options<'_>) -> Result<(), ConfigError> {
    let (dim, (left, right)) = (htk.dim, htk.window.sides().unwrap_or((0, 0)));
    if (Window { left, right, values: 1 }).frames().saturating_mul(dim) > i32::MAX as u64 {
        let refusal = WindowRefusal::TooManyValues { values: dim, left, right };
        return Err(ConfigError::refused(options.path("contextWindow"), &refusal));
    }
    Ok(())
}

/// Adds the frames before and after each one to a description.
fn describe_window(window: GivenWindow, section: &mut Section) -> Result<(), ConfigError> {
    // One even number can only be the frames on each side.
    let (left, right) = match window {
        GivenWindow::Single(n) if n % 2 == 0 => (n, n),
        window => window.sides().unwrap_or_default(),
    };
    section.push("left", Value::Whole(left.into()));
    section.push("right", Value::Whole(right.into()));
    Ok(())
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
                let expected = format!("`all`, or some of {}, {QUANTIZED}", KINDS.join(", "));
                return Err(ConfigError::unknown_word(stream.path("allowKinds"), &item, expected));
            }
        };
    }
    Ok(kinds)
}

/// Reads the option `contextWindow` (spec/speech.md §5.3).
fn context_window(options: &Options<'_>) -> Result<GivenWindow, ConfigError> {
    let Some(given) = options.given("contextWindow") else { return Ok(GivenWindow::None) };
    let wrong = || {
        let expected = "a number of frames such as `11`, or two numbers such as `5:5`";
        ConfigError::wrong_form(options.path("contextWindow"), given, expected)
    };
    let whole = |x: f64| if x >= 0.0 && x.fract() == 0.0 && x < 1e9 { Ok(x as u32) } else { Err(wrong()) };
    match options.numbers("contextWindow")?[..] {
        [n] => Ok(GivenWindow::Single(whole(n)?)),
        [left, right] => Ok(GivenWindow::Pair(whole(left)?, whole(right)?)),
        _ => Err(wrong()),
    }
}
