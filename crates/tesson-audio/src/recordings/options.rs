//! The options of recordings, and their meaning.

use std::path::PathBuf;

use tesson_core::identity::{Identity, Quoted};
use tesson_core::{
    ConfigError, Element, OnlySection, OptionKind, OptionSet, Options, ReaderDefaults, options,
};

use crate::fault::AudioRefusal;
use crate::spec::{LogMelSpec, within};

options! {
    /// One entry of `input`.
    #[derive(Clone, Debug)]
    pub(super) struct AudioStream(options, reader: ReaderDefaults) {
        pub(super) let name: String = options.entry().to_owned();
        ..pub(super) mel: LogMelSpec;
        pub(super) defines_size: bool = "definesMBSize", "false"
            => "Count samples of this stream only.";
    }
}

options! {
    /// The options of the deserializer.
    #[derive(Clone, Debug)]
    pub(super) struct AudioOptions(options, reader: ReaderDefaults) {
        pub(super) list: PathBuf = "file", required
            => "The list: a key, a blank and the path of a WAV or FLAC file on each line. A leading `...` in a path stands for \
             the list's own folder.";
        pub(super) stream: OnlySection<AudioStream> = "input", required
            => "One section, named as the stream."
            [identity with |audio, text| text.field("stream", Quoted(&audio.stream.0.name))];
        pub(super) root: String = "root": OptionKind::Path, optional
            => "Folder of relative paths in the list; by default the working directory."
            [otherwise String::new()];
        /// Samples of a recording, at least.
        pub(super) min_samples: u64 = "minSeconds": OptionKind::Real, optional
            => "Leave out shorter recordings."
            [read samples(options, "minSeconds", stream.0.mel.rate)?.unwrap_or(0)]
            [identity "min"];
        /// Samples of a recording, at most.
        pub(super) max_samples: u64 = "maxSeconds": OptionKind::Real, optional
            => "Leave out longer recordings."
            [read samples(options, "maxSeconds", stream.0.mel.rate)?.unwrap_or(u64::MAX)]
            [identity "max"];
        pub(super) chunk_frames: u64 = "chunkSizeInFrames", "90000"
            => "Size of a chunk, the unit of randomization, in frames; a chunk ends with the recording that exceeds it."
            [read options.whole_within("chunkSizeInFrames", 1..=1 << 30)?]
            [identity "chunk"];
        pub(super) let element: Element = reader.element;
        pub(super) let numeric_keys: bool = reader.numeric_keys => [identity flag "numbers"];
        /// A recording that cannot be read is an error when it is delivered, not when the source is opened.
        pub(super) let forgives: bool = reader.forgives;
        let frame_mode: bool = reader.frame_mode;
        check check_frame_mode;
    }
}

impl AudioOptions {
    /// Everything that changes sequences, keys or values, but for the list itself.
    pub(super) fn identity(&self) -> String {
        let AudioStream { mel, defines_size, .. } = &self.stream.0;
        let text = self.identify(Identity::new("audio", 1)).flag("defines", *defines_size);
        text.part().word(mel.identity()).text()
    }
}

fn check_frame_mode(audio: &AudioOptions, options: &Options<'_>) -> Result<(), ConfigError> {
    if !audio.frame_mode {
        return Ok(());
    }
    Err(ConfigError::refused(options.path("input"), &AudioRefusal::FrameMode))
}

/// The samples of a time in seconds.
fn samples(options: &Options<'_>, option: &str, rate: u32) -> Result<Option<u64>, ConfigError> {
    let seconds = options.real_if_given(option)?;
    let seconds = seconds.map(|seconds| within(options, option, seconds, 0.0..=1e9)).transpose()?;
    Ok(seconds.map(|seconds| (seconds * f64::from(rate)) as u64))
}
