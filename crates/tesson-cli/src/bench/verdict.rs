//! The verdict of `tesson bench`: what bounds the rate, beside this machine's own, and what would change it.

use std::io::Read as _;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tesson::SourceConfig;
use tesson_config::Randomize;
use tesson_engine::DEFAULT_MEMORY_LIMIT;

use super::Figures;
use crate::data;
use crate::output::{counted, size};

/// Bytes that are read to find out how fast files are read alone, and the time that this may take.
const MOST_BYTES: u64 = 512 << 20;
const MOST_TIME: Duration = Duration::from_millis(500);

/// The share of the time, spent on reading alone, from which on it bounds the rate.
const READING_BOUNDS: f64 = 0.5;

/// The share from which on reading less would be noticed.
const READING_MATTERS: f64 = 0.1;

/// How often data are read, on average, from which on they count as read again.
const READ_AGAIN: f64 = 1.5;

/// The rate at which the files are read alone, by one thread into one buffer.
pub(super) struct BareReading {
    bytes: u64,
    time: Duration,
}

impl BareReading {
    /// Reads the files, or as much of them as is enough. `None` if none of them is a file of this machine.
    pub(super) fn measure<'a>(files: impl Iterator<Item = &'a Path>) -> Option<BareReading> {
        let (mut buffer, mut bytes, started) = (vec![0; 512 << 10], 0, Instant::now());
        for file in files {
            let Ok(mut file) = data::stream(file) else { continue };
            while bytes < MOST_BYTES && started.elapsed() < MOST_TIME {
                match file.read(&mut buffer) {
                    Ok(0) | Err(_) => break,
                    Ok(n) => bytes += n as u64,
                }
            }
        }
        (bytes > 0).then(|| BareReading { bytes, time: started.elapsed() })
    }

    /// Bytes a second.
    fn rate(&self) -> f64 {
        self.bytes as f64 / self.time.as_secs_f64().max(1e-9)
    }
}

/// A reason why the rate is no higher.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Bound {
    /// Data are read again and again, because they do not stay in memory.
    ReadAgain { times: f64 },
    /// The storage.
    Reading,
    /// The work of fewer threads than there are cores.
    Threads { threads: usize, cores: usize },
    /// The work of all cores.
    Work { threads: usize },
}

/// The verdict on a run.
pub(super) struct Verdict {
    bound: Bound,
    /// Bytes a second of reading alone.
    alone: Option<f64>,
    /// The share of the time that reading alone would take.
    reading_share: Option<f64>,
    /// The time between two minibatches.
    step: Duration,
    advice: String,
}

impl Verdict {
    pub(super) fn new(figures: &Figures, config: &SourceConfig, alone: Option<&BareReading>) -> Verdict {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = if config.runtime.threads == 0 { cores } else { config.runtime.threads };
        let alone = alone.map(BareReading::rate);
        let seconds = figures.rest.as_secs_f64().max(1e-9);
        let reading_share = alone.map(|rate| (figures.bytes as f64 / rate / seconds).min(1.0));
        let again = figures.times_read() >= READ_AGAIN && config.order.randomize != Randomize::Off;
        let bound = if again && reading_share.is_some_and(|share| share >= READING_MATTERS) {
            Bound::ReadAgain { times: figures.times_read() }
        } else if reading_share.is_some_and(|share| share >= READING_BOUNDS) {
            Bound::Reading
        } else if threads < cores {
            Bound::Threads { threads, cores }
        } else {
            Bound::Work { threads }
        };
        let step = figures
            .rest
            .checked_div(u32::try_from(figures.counts[0]).unwrap_or(u32::MAX))
            .unwrap_or_default();
        Verdict { bound, alone, reading_share, step, advice: advice(bound, config) }
    }

    pub(super) fn json(&self) -> Value {
        json!({
            "bound": match self.bound {
                Bound::ReadAgain { .. } => "reading again",
                Bound::Reading => "reading",
                Bound::Threads { .. } => "threads",
                Bound::Work { .. } => "work",
            },
            "bytesPerSecondAlone": self.alone,
            "readingShare": self.reading_share,
            "stepSeconds": self.step.as_secs_f64(),
            "advice": self.advice,
        })
    }

    /// Lines for people.
    pub(super) fn lines(&self) -> Vec<(&'static str, String)> {
        let mut lines = Vec::new();
        if let (Some(rate), Some(share)) = (self.alone, self.reading_share) {
            let percent = match (share * 100.0).round() as u64 {
                0 => "less than 1 %".to_owned(),
                percent => format!("{percent} %"),
            };
            let rate = size(rate as u64);
            lines.push((
                "limit",
                format!("the files alone are read at {rate}/s, which takes {percent} of the time"),
            ));
        }
        let bound = match self.bound {
            Bound::ReadAgain { times } => format!("the data were read {times:.1} times"),
            Bound::Reading => "reading bounds the rate".to_owned(),
            Bound::Threads { threads, cores } => {
                format!("the work of {} of {cores} cores bounds the rate", counted(threads as u64, "thread"))
            }
            Bound::Work { threads } => {
                format!("the work of {} bounds the rate", counted(threads as u64, "thread"))
            }
        };
        if !self.step.is_zero() {
            let step = self.step.as_secs_f64() * 1000.0;
            lines.push(("verdict", format!("a training step of {step:.2} ms or more never waits; {bound}")));
        }
        lines.push(("change", self.advice.clone()));
        lines
    }
}

/// The option or the layout of files that would change it.
fn advice(bound: Bound, config: &SourceConfig) -> String {
    let format = config.deserializers.first().map_or("", |first| first.format.name);
    match bound {
        Bound::ReadAgain { .. } => {
            let limit = size(config.runtime.memory_limit.unwrap_or(DEFAULT_MEMORY_LIMIT));
            format!(
                "raise --memory-limit, now {limit}, or shuffle within a smaller window; `tesson plan --io` compares orders"
            )
        }
        Bound::Reading => {
            "fewer bytes: a binary or compressed format (`tesson convert`), or faster storage".to_owned()
        }
        Bound::Threads { cores, .. } => format!("--threads {cores}, or leave it out"),
        Bound::Work { .. } if format == tesson_formats::ctf::FORMAT.name => {
            "a binary file is read with less work: `tesson convert` to *.cbf; else more cores".to_owned()
        }
        Bound::Work { .. } if format.contains("Image") => {
            "store images at the size that is asked for; else more cores".to_owned()
        }
        Bound::Work { .. } => "more cores".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(bytes: u64, stored: u64) -> Figures {
        Figures {
            opening: Duration::ZERO,
            first: Duration::ZERO,
            rest: Duration::from_secs(1),
            counts: [100, 1000, 1000],
            sweeps: 1,
            bytes,
            stored: Some(stored),
            blocks: 0,
            stalls: 0,
            stalled: Duration::ZERO,
            plain_jpegs: 0,
        }
    }

    /// The bound of a run that reads so many bytes of so many stored ones, where 1,000 a second are read alone.
    fn bound(bytes: u64, stored: u64, threads: usize, randomize: Randomize) -> Bound {
        let config = r#"{"deserializers": [{"type": "CNTKTextFormatDeserializer", "file": "a", "input": {"x": {"dim": 1, "format": "dense"}}}]}"#;
        let mut config = tesson::config::from_json(config).unwrap();
        config.order.randomize = randomize;
        config.runtime.threads = threads;
        let alone = BareReading { bytes: 1000, time: Duration::from_secs(1) };
        Verdict::new(&figures(bytes, stored), &config, Some(&alone)).bound
    }

    #[test]
    fn the_bound_is_what_takes_the_time() {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        assert_eq!(bound(600, 600, 0, Randomize::Global), Bound::Reading);
        assert_eq!(bound(600, 200, 0, Randomize::Global), Bound::ReadAgain { times: 3.0 });
        assert_eq!(bound(600, 200, 0, Randomize::Off), Bound::Reading);
        // Reading again what takes no time is no reason.
        assert_eq!(bound(60, 20, 0, Randomize::Global), Bound::Work { threads: cores });
        assert_eq!(bound(60, 60, cores + 1, Randomize::Off), Bound::Work { threads: cores + 1 });
    }
}
