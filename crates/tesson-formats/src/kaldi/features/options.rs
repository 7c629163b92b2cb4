//! The options of features, and what they mean.

use std::path::PathBuf;

use tesson_core::identity::{Identity, Quoted};
use tesson_core::{
    ConfigError, Element, OptionKind, OptionTable, Options, ReaderDefaults, Registry, Section, Value,
    option_table,
};

use crate::kaldi::named_files;
use crate::options::{DEFINES_SIZE, VERBOSITY, only_stream};
use crate::utterance::chunks::Most;
use crate::utterance::window::Window;

/// One entry of `input`.
static STREAM: OptionTable = option_table! {
    "scpFile": OptionKind::Files, optional
        => "The script file: `key file:offset` in each line, or `key file` for a file of one matrix, with `[first:last]` for some of its rows, both counted from 0 and part of it. Several, as a list, are read as one.",
    "arkFile": OptionKind::Files, optional
        => "In place of `scpFile`: the archive, in binary or as text; a pattern, or a list, for several, in this order.",
    "dim": OptionKind::Whole, required
        => "Values in a frame: the columns of the matrices.",
    "contextWindow": OptionKind::Numbers, "0:0"
        => "The frames before and after each one that are part of its sample.",
    "root": OptionKind::Path, optional
        => "The folder of relative file names in the script file; by default the working directory.",
    "maxSequenceSize": OptionKind::Whole, optional
        => "Utterances with more frames are left out.",
    "chunkSizeInFrames": OptionKind::Whole, "90000"
        => "Frames of a chunk, the unit of randomization; it ends with the utterance that goes beyond.",
    "chunkSizeInBytes": OptionKind::Whole, optional
        => "Ends a chunk also with the utterance that takes it beyond so many bytes of matrices.",
    DEFINES_SIZE,
};

/// The options of the deserializer.
pub(super) static OPTIONS: OptionTable = option_table! {
    "input": OptionKind::Streams(&STREAM), required
        => "One section, named as the stream.",
    VERBOSITY,
};

/// The options, resolved.
#[derive(Clone, Debug)]
pub(super) struct FeatureOptions {
    /// The stream's name.
    pub(super) stream: String,
    /// Script files, or archives.
    pub(super) files: Vec<PathBuf>,
    pub(super) are_lists: bool,
    pub(super) window: Window,
    pub(super) root: String,
    /// Frames of an utterance, at most.
    pub(super) max_frames: u64,
    pub(super) chunk: Most,
    pub(super) defines_size: bool,
    pub(super) element: Element,
    pub(super) frame_mode: bool,
    pub(super) numeric_keys: bool,
}

impl FeatureOptions {
    pub(super) fn new(
        options: &Options<'_>,
        defaults: &ReaderDefaults,
    ) -> Result<FeatureOptions, ConfigError> {
        let (name, stream) = only_stream(options)?;
        let within = |option: &str, most: u64| match stream.whole(option)? {
            n if (1..=most).contains(&n) => Ok(n),
            n => {
                let what = format!("found {n}, expected 1 to {most}");
                Err(ConfigError::new(stream.path(option), what))
            }
        };
        let (option, are_lists) = match (stream.given("scpFile"), stream.given("arkFile")) {
            (Some(_), None) => ("scpFile", true),
            (None, Some(_)) => ("arkFile", false),
            (None, None) => {
                return Err(ConfigError::new(stream.path("scpFile"), "neither this nor `arkFile` is given"));
            }
            (Some(_), Some(_)) => {
                return Err(ConfigError::new(
                    stream.path("arkFile"),
                    "`scpFile` is given, too; give one of the two",
                ));
            }
        };
        let values = within("dim", i32::MAX as u64)? as u32;
        let (left, right) = context_window(&stream)?;
        let window = Window { left, right, values };
        if window.sample_len() > i32::MAX as u64 {
            let what = format!("{values} values in a frame and {left}:{right} frames around it are too many");
            return Err(ConfigError::new(stream.path("contextWindow"), what));
        }
        Ok(FeatureOptions {
            stream: name.to_owned(),
            files: named_files(&stream, option)?,
            are_lists,
            window,
            root: stream.text_if_given("root")?.unwrap_or_default(),
            max_frames: stream.whole_if_given("maxSequenceSize")?.unwrap_or(u64::MAX),
            chunk: Most::of(&stream)?,
            defines_size: stream.bool("definesMBSize")?,
            element: defaults.element,
            frame_mode: defaults.frame_mode,
            numeric_keys: defaults.numeric_keys,
        })
    }

    /// Everything that changes sequences, keys or values, but for the files themselves.
    pub(super) fn identity(&self) -> String {
        Identity::new("kaldi", 1)
            .field("stream", Quoted(&self.stream))
            .flag("listed", self.are_lists)
            .field("max", self.max_frames)
            .field("chunk", self.chunk.word())
            .flag("numbers", self.numeric_keys)
            .flag("defines", self.defines_size)
            .text()
    }
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
        let what = format!("found {}, expected the frames before and after, such as `5:5`", given.describe());
        ConfigError::new(stream.path("contextWindow"), what)
    })
}

/// Resolves the options.
pub(super) fn describe(
    options: &Options<'_>,
    defaults: &ReaderDefaults,
    _registry: &Registry,
) -> Result<Section, ConfigError> {
    let (name, stream) = only_stream(options)?;
    let resolved = FeatureOptions::new(options, defaults)?;
    let option = if resolved.are_lists { "scpFile" } else { "arkFile" };
    let files = match stream.given(option) {
        Some(list @ Value::List(_)) => list.clone(),
        _ => Value::Text(stream.text(option)?),
    };
    let Window { left, right, values } = resolved.window;
    let mut section = Section::from_iter([
        (option, files),
        ("dim", Value::Whole(values.into())),
        ("left", Value::Whole(left.into())),
        ("right", Value::Whole(right.into())),
        ("definesMBSize", Value::Bool(resolved.defines_size)),
    ]);
    resolved.chunk.describe(&stream, &mut section);
    if resolved.max_frames != u64::MAX {
        section.push("maxSequenceSize", Value::Whole(resolved.max_frames.into()));
    }
    if stream.given("root").is_some() {
        section.push("root", Value::Text(resolved.root.clone()));
    }
    Ok(Section::from_iter([("input", Value::Section(Section::from_iter([(name, Value::Section(section))])))]))
}
