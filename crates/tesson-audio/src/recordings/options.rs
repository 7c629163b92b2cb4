//! The options of recordings, resolved.

use std::path::PathBuf;

use tesson_core::identity::{Identity, Quoted};
use tesson_core::{ConfigError, Element, OptionKind, OptionTable, Options, ReaderDefaults, option_table};

use crate::spec::LogMelSpec;

/// One entry of `input`.
static STREAM: OptionTable = option_table! {
    "sampleRate": OptionKind::Whole, "16000"
        => "Samples in a second that all recordings have.",
    "filters": OptionKind::Whole, "80"
        => "Mel filters: the values in a frame.",
    "windowSeconds": OptionKind::Real, "0.025"
        => "The length of a frame, in seconds.",
    "shiftSeconds": OptionKind::Real, "0.01"
        => "The time from the beginning of a frame to that of the next, in seconds.",
    "lowestFrequency": OptionKind::Real, "20"
        => "Where the lowest filter begins, in hertz.",
    "highestFrequency": OptionKind::Real, optional
        => "Where the highest filter ends, in hertz; by default half the rate.",
    "preemphasis": OptionKind::Real, "0.97"
        => "How much of the sample before it each sample loses.",
    "definesMBSize": OptionKind::Bool, "false"
        => "Whether this stream is what lengths count."
};

/// The options of the deserializer.
pub(super) static OPTIONS: OptionTable = option_table! {
    "file": OptionKind::Path, required
        => "The list: a key, a blank and the path of a WAV or FLAC file in each line. A path that begins with `...` starts at the list's own folder.",
    "input": OptionKind::Streams(&STREAM), required
        => "One section, named as the stream.",
    "root": OptionKind::Path, optional
        => "The folder of relative paths in the list; by default the working directory.",
    "minSeconds": OptionKind::Real, optional
        => "Shorter recordings are left out.",
    "maxSeconds": OptionKind::Real, optional
        => "Longer recordings are left out.",
    "chunkSizeInFrames": OptionKind::Whole, "90000"
        => "Frames of a chunk, the unit of randomization; it ends with the recording that goes beyond."
};

/// The options, resolved.
#[derive(Clone, Debug)]
pub(super) struct AudioOptions {
    pub(super) list: PathBuf,
    /// The stream's name.
    pub(super) stream: String,
    pub(super) root: String,
    pub(super) mel: LogMelSpec,
    /// Samples of a recording, at least and at most.
    pub(super) min_samples: u64,
    pub(super) max_samples: u64,
    pub(super) chunk_frames: u64,
    pub(super) defines_size: bool,
    pub(super) element: Element,
    pub(super) numeric_keys: bool,
    /// A recording that cannot be read is an error when it is delivered, not when the source is opened.
    pub(super) forgives: bool,
}

/// The most samples in a second, far above those of any recording.
const MOST_RATE: u64 = 1 << 20;

/// Seconds of a frame, at most.
const MOST_SECONDS: f64 = 60.0;

impl AudioOptions {
    pub(super) fn new(options: &Options<'_>, defaults: &ReaderDefaults) -> Result<AudioOptions, ConfigError> {
        let mut streams = options.sections("input")?;
        let (1, Some((name, stream))) = (streams.len(), streams.pop()) else {
            let what = format!("found {} streams, expected 1", options.sections("input")?.len());
            return Err(ConfigError::new(options.path("input"), what));
        };
        if defaults.frame_mode {
            let what = "recordings are sequences, their frames cannot be; set `frameMode = false`".to_owned();
            return Err(ConfigError::new(options.path("input"), what));
        }
        let mel = mel(&stream)?;
        let samples = |option: &str| -> Result<Option<u64>, ConfigError> {
            let seconds = options.real_if_given(option)?;
            let seconds = seconds.map(|seconds| within(options, option, seconds, 0.0..=1e9)).transpose()?;
            Ok(seconds.map(|seconds| (seconds * f64::from(mel.rate)) as u64))
        };
        let chunk_frames = options.whole("chunkSizeInFrames")?;
        if !(1..=1 << 30).contains(&chunk_frames) {
            let what = format!("found {chunk_frames}, expected 1 to {}", 1 << 30);
            return Err(ConfigError::new(options.path("chunkSizeInFrames"), what));
        }
        Ok(AudioOptions {
            list: options.text("file")?.into(),
            stream: name.to_owned(),
            root: options.text_if_given("root")?.unwrap_or_default(),
            mel,
            min_samples: samples("minSeconds")?.unwrap_or(0),
            max_samples: samples("maxSeconds")?.unwrap_or(u64::MAX),
            chunk_frames,
            defines_size: stream.bool("definesMBSize")?,
            element: defaults.element,
            numeric_keys: defaults.numeric_keys,
            forgives: defaults.forgives,
        })
    }

    /// Everything that changes sequences, keys or values, but for the list itself.
    pub(super) fn identity(&self) -> String {
        Identity::new("audio", 1)
            .field("stream", Quoted(&self.stream))
            .field("min", self.min_samples)
            .field("max", self.max_samples)
            .field("chunk", self.chunk_frames)
            .flag("numbers", self.numeric_keys)
            .flag("defines", self.defines_size)
            .part()
            .word(self.mel.identity())
            .text()
    }
}

/// The parameters of mel energies.
fn mel(stream: &Options<'_>) -> Result<LogMelSpec, ConfigError> {
    let whole = |option: &str, most: u64| match stream.whole(option)? {
        n if (1..=most).contains(&n) => Ok(n as u32),
        n => Err(ConfigError::new(stream.path(option), format!("found {n}, expected 1 to {most}"))),
    };
    let rate = whole("sampleRate", MOST_RATE)?;
    let samples = |option: &str, least: u32| {
        let seconds = within(stream, option, stream.real(option)?, 0.0..=MOST_SECONDS)?;
        match (seconds * f64::from(rate)).round() as u32 {
            n if n >= least => Ok(n),
            n => {
                let what = format!("{seconds} seconds are {n} samples, expected {least} at least");
                Err(ConfigError::new(stream.path(option), what))
            }
        }
    };
    let half = f64::from(rate) / 2.0;
    let lowest = within(stream, "lowestFrequency", stream.real("lowestFrequency")?, 0.0..=half)?;
    let highest = stream.real_if_given("highestFrequency")?.unwrap_or(half);
    let highest = within(stream, "highestFrequency", highest, lowest..=half)?;
    if lowest >= highest {
        let what = format!("found {highest}, expected more than `lowestFrequency`, {lowest}");
        return Err(ConfigError::new(stream.path("highestFrequency"), what));
    }
    Ok(LogMelSpec {
        rate,
        filters: whole("filters", 4096)?,
        window: samples("windowSeconds", 2)?,
        shift: samples("shiftSeconds", 1)?,
        lowest,
        highest,
        preemphasis: within(stream, "preemphasis", stream.real("preemphasis")?, 0.0..=1.0)?,
    })
}

fn within(
    options: &Options<'_>,
    option: &str,
    value: f64,
    range: std::ops::RangeInclusive<f64>,
) -> Result<f64, ConfigError> {
    if range.contains(&value) {
        return Ok(value);
    }
    let what = format!("found {value}, expected {} to {}", range.start(), range.end());
    Err(ConfigError::new(options.path(option), what))
}
