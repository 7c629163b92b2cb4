//! The parameters of mel energies.

use std::ops::RangeInclusive;

use crate::fault::AudioRefusal;
use tesson_core::identity::Identity;
use tesson_core::{ConfigError, OptionKind, OptionSet, Options, ReaderDefaults, options};

options! {
    /// The parameters of mel energies: the frames, and the filters.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub(crate) struct LogMelSpec(options, reader: ReaderDefaults) {
        /// Samples in a second.
        pub(crate) rate: u32 = "sampleRate": OptionKind::Whole, "16000"
            => "Samples per second, which must be that of all recordings."
            [read options.whole_within("sampleRate", 1..=MOST_RATE)? as u32]
            [identity "rate"];
        pub(crate) filters: u32 = "filters": OptionKind::Whole, "80"
            => "Number of mel filters, which is the number of values in a frame."
            [read options.whole_within("filters", 1..=4096)? as u32]
            [identity "filters"];
        /// Samples of a frame.
        pub(crate) window: u32 = "windowSeconds": OptionKind::Real, "0.025"
            => "Length of a frame, in seconds."
            [read samples(options, "windowSeconds", rate, 2)?]
            [identity "window"];
        /// Samples from the beginning of a frame to that of the next.
        pub(crate) shift: u32 = "shiftSeconds": OptionKind::Real, "0.01"
            => "Time from the beginning of a frame to that of the next, in seconds."
            [read samples(options, "shiftSeconds", rate, 1)?]
            [identity "shift"];
        /// The frequencies between which the filters lie, in hertz.
        pub(crate) lowest: f64 = "lowestFrequency", "20"
            => "Lower end of the lowest filter, in hertz."
            [read within(options, "lowestFrequency", options.real("lowestFrequency")?, 0.0..=half(rate))?]
            [identity with |mel, text| text.field("lowest", mel.lowest.to_bits())];
        pub(crate) highest: f64 = "highestFrequency", optional
            => "Upper end of the highest filter, in hertz; by default half the sample rate."
            [read highest(options, lowest, rate)?]
            [identity with |mel, text| text.field("highest", mel.highest.to_bits())];
        pub(crate) preemphasis: f64 = "preemphasis", "0.97"
            => "Share of the preceding sample that is subtracted from each sample."
            [read within(options, "preemphasis", options.real("preemphasis")?, 0.0..=1.0)?]
            [identity with |mel, text| text.field("preemphasis", mel.preemphasis.to_bits())];
    }
}

/// Samples in a second, at most: what recordings have is far below.
const MOST_RATE: u64 = 1 << 20;

/// Seconds of a frame, at most.
const MOST_SECONDS: f64 = 60.0;

impl LogMelSpec {
    /// The number of frames in `n_samples` samples.
    pub(crate) fn n_frames(&self, n_samples: u64) -> u64 {
        match n_samples.checked_sub(self.window.into()) {
            Some(more) => 1 + more / u64::from(self.shift),
            None => 0,
        }
    }

    /// The time from one frame to the next, in units of 100 ns.
    pub(crate) fn period(&self) -> u32 {
        (f64::from(self.shift) * 1e7 / f64::from(self.rate)).round() as u32
    }

    pub(crate) fn identity(&self) -> String {
        self.identify(Identity::new("log mel", 1)).text()
    }
}

/// The highest frequency that samples have.
fn half(rate: u32) -> f64 {
    f64::from(rate) / 2.0
}

/// The samples of a time in seconds, at least so many.
fn samples(options: &Options<'_>, option: &str, rate: u32, least: u32) -> Result<u32, ConfigError> {
    let seconds = within(options, option, options.real(option)?, 0.0..=MOST_SECONDS)?;
    match (seconds * f64::from(rate)).round() as u32 {
        n if n >= least => Ok(n),
        n => {
            let refusal = AudioRefusal::FewSamples { seconds, samples: n, least };
            Err(ConfigError::refused(options.path(option), &refusal))
        }
    }
}

fn highest(options: &Options<'_>, lowest: f64, rate: u32) -> Result<f64, ConfigError> {
    let highest = options.real_if_given("highestFrequency")?.unwrap_or(half(rate));
    let highest = within(options, "highestFrequency", highest, lowest..=half(rate))?;
    if lowest >= highest {
        let refusal = AudioRefusal::NoBand { highest, lowest };
        return Err(ConfigError::refused(options.path("highestFrequency"), &refusal));
    }
    Ok(highest)
}

/// A number within limits.
pub(crate) fn within(
    options: &Options<'_>,
    option: &str,
    value: f64,
    range: RangeInclusive<f64>,
) -> Result<f64, ConfigError> {
    if range.contains(&value) {
        return Ok(value);
    }
    let expected = format!("{} to {}", range.start(), range.end());
    Err(ConfigError::out_of_range(options.path(option), value.to_string(), expected))
}
