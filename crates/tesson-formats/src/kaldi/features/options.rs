//! The options of features, and what they mean.

use std::path::PathBuf;

use tesson_core::identity::{Identity, Quoted};
use tesson_core::{
    ConfigError, ConfigErrorKind, Element, OnlySection, OptionKind, OptionName, OptionSet, Options,
    ReaderDefaults, Value, options,
};

use crate::kaldi::named_files;
use crate::options::{DEFINES_SIZE, VERBOSITY, describe_files};
use crate::utterance::chunks::Most;
use crate::utterance::window::{self, Window, WindowRefusal};

options! {
    /// The options of a stream of features.
    #[derive(Clone, Debug)]
    pub(super) struct FeatureOptions(options, reader: ReaderDefaults) {
        /// The stream's name.
        pub(super) let stream: String = options.entry().to_owned()
            => [identity with |features, text| text.field("stream", Quoted(&features.stream))];
        pub(super) let are_lists: bool = options.given("scpFile").is_some() => [identity flag "listed"];
        /// Script files, or archives.
        pub(super) files: Vec<PathBuf> = "scpFile", optional
            => "The script file: `key file:offset` on each line, or `key file` for a file of one matrix, with `[first:last]` for \
             some of its rows, counted from 0 and with the last one included. A list of script files is read as one."
            [read files(options)?]
            [describe with |features, options, section| describe_files(options, features.option(), section)];
        _ = "arkFile": OptionKind::Files, optional
            => "In place of `scpFile`: the archive, binary or text; a pattern or a list names several, in this order."
            [describe never];
        _ = "dim": OptionKind::Whole, required
            => "Number of values in a frame: the columns of the matrices; `auto` takes those of the first one."
            [describe with |features, _, section| window::describe_dim(features.window.values.into(), section)];
        /// Without values for a `dim` of `auto`, until a matrix has been found.
        pub(super) window: Window = "contextWindow": OptionKind::Numbers, "0:0"
            => "Number of frames before and after each frame that are part of its sample."
            [read window(options)?]
            [describe with |features, _, section| {
                section.push("left", Value::Whole(features.window.left.into()));
                section.push("right", Value::Whole(features.window.right.into()));
                Ok(())
            }];
        pub(super) root: String = "root": OptionKind::Path, optional
            => "Folder of relative file names in the script file; by default the working directory."
            [otherwise String::new()]
            [describe last if given];
        /// Frames of an utterance, at most.
        pub(super) max_frames: u64 = "maxSequenceSize", optional
            => "Leave out utterances with more frames."
            [otherwise u64::MAX]
            [describe after "chunkSizeInBytes"]
            [identity "max"];
        pub(super) chunk: Most = "chunkSizeInFrames": OptionKind::Whole, "90000"
            => "Size of a chunk, the unit of randomization, in frames; a chunk ends with the utterance that exceeds it."
            [read Most::of(options)?]
            [describe if given]
            [identity "chunk"];
        _ = "chunkSizeInBytes": OptionKind::Whole, optional
            => "Size of a chunk in bytes of matrices; a chunk also ends with the utterance that exceeds it.";
        pub(super) let numeric_keys: bool = reader.numeric_keys => [identity flag "numbers"];
        pub(super) defines_size: bool = DEFINES_SIZE
            [describe after "contextWindow"]
            [identity flag "defines"];
        pub(super) let element: Element = reader.element;
        pub(super) let frame_mode: bool = reader.frame_mode;
    }
}

options! {
    /// The options of the deserializer. Those of its stream may stand around that, too.
    #[derive(Debug)]
    pub(super) struct FeatureSection(options, reader: ReaderDefaults) {
        pub(super) stream: OnlySection<FeatureOptions> = "input", required
            => "One section, named as the stream.";
        _ = VERBOSITY [describe never];
    }
}

impl FeatureOptions {
    /// The option that names the files.
    fn option(&self) -> &'static str {
        if self.are_lists { "scpFile" } else { "arkFile" }
    }

    /// Everything that changes sequences, keys or values, but for the files themselves.
    pub(super) fn identity(&self) -> String {
        self.identify(Identity::new("kaldi", 1)).text()
    }
}

/// Script files, or archives.
fn files(stream: &Options<'_>) -> Result<Vec<PathBuf>, ConfigError> {
    match (stream.given("scpFile"), stream.given("arkFile")) {
        (Some(_), None) => named_files(stream, "scpFile"),
        (None, Some(_)) => named_files(stream, "arkFile"),
        (None, None) => {
            let neither = ConfigErrorKind::NeitherGiven { other: OptionName::new("arkFile") };
            Err(ConfigError::refused(stream.path("scpFile"), &neither))
        }
        (Some(_), Some(_)) => {
            let both = ConfigErrorKind::BothGiven { other: OptionName::new("scpFile") };
            Err(ConfigError::refused(stream.path("arkFile"), &both))
        }
    }
}

/// The values of a frame, with the frames before and after it.
fn window(stream: &Options<'_>) -> Result<Window, ConfigError> {
    let values = window::dim(stream)? as u32;
    let (left, right) = context_window(stream)?;
    let window = Window { left, right, values };
    if window.sample_len() > i32::MAX as u64 {
        let refusal = WindowRefusal::TooManyValues { values: values.into(), left, right };
        return Err(ConfigError::refused(stream.path("contextWindow"), &refusal));
    }
    Ok(window)
}

/// The frames before and after each one.
fn context_window(stream: &Options<'_>) -> Result<(u32, u32), ConfigError> {
    let Some(given) = stream.given("contextWindow") else { return Ok((0, 0)) };
    let whole = |x: f64| (x >= 0.0 && x.fract() == 0.0 && x < 1e9).then_some(x as u32);
    let sides = match stream.numbers("contextWindow")?[..] {
        [left, right] => whole(left).zip(whole(right)),
        _ => None,
    };
    sides.ok_or_else(|| {
        let expected = "the frames before and after, such as `5:5`";
        ConfigError::wrong_form(stream.path("contextWindow"), given, expected)
    })
}
