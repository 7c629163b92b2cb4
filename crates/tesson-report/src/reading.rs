//! The speed of reading, beside what this machine can do, and what would change it.

use std::io::Read;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tesson::store::{Store, Stores};
use tesson::{Demand, Error, Source, SourceConfig};

use crate::text::{counted, number, percent, size};

/// Time that is measured, and the least that the figure of a rate means something after.
const TIME: Duration = Duration::from_secs(2);

/// Bytes read for each one used, beyond which it is the order that reads again: large chunks of local files are looked over first, and
/// then read in parts.
const READ_AGAIN: f64 = 2.2;

/// Minibatches after which a rate means something, and a time in which data that are not too few give them.
const LEAST_MINIBATCHES: u64 = 20;
const LEAST_SECONDS: f64 = 1.0;

/// Bytes that are read to find what the storage gives.
const PLAIN_BYTES: u64 = 256 << 20;

/// Measurements of a loop that does nothing with its minibatches.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Reading {
    /// Time measured.
    pub seconds: f64,
    /// Minibatches delivered meanwhile.
    pub minibatches: u64,
    /// Examples in them.
    pub examples: u64,
    /// Samples in them.
    pub samples: u64,
    /// Bytes read from storage.
    pub bytes_read: u64,
    /// Bytes that these examples take in storage, if known.
    pub bytes_used: Option<u64>,
    /// Blocks and single examples that were loaded.
    pub requests: u64,
    /// The share of the time in which the loop waited.
    pub waited: f64,
    /// Bytes a second that the storage gives to a plain read of the same files, if they can be read so.
    pub storage_rate: Option<f64>,
    /// Threads that decode.
    pub threads: u64,
    /// Cores of the machine.
    pub cores: u64,
    /// The resource that the loop would wait for, and a remedy.
    pub verdict: String,
}

impl Reading {
    /// True if too little was measured for a rate to mean something.
    pub fn is_too_short(&self) -> bool {
        self.minibatches < LEAST_MINIBATCHES || self.seconds < 0.05
    }
}

/// The cores of this machine, and the threads that a source decodes with.
pub fn cores_and_threads(config: &SourceConfig) -> [u64; 2] {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = if config.runtime.threads == 0 { cores } else { config.runtime.threads };
    [cores, threads].map(|n| n as u64)
}

/// Reads for a while in the order of the source, from its start. `bytes` are those of all data.
pub(crate) fn measure(
    source: &mut Source,
    config: &SourceConfig,
    demand: Demand,
    bytes: Option<u64>,
    interrupted: &dyn Fn() -> bool,
) -> Result<Reading, Error> {
    let files: Vec<PathBuf> = source.files().take(64).map(Into::into).collect();
    let n = source.num_sequences()?.max(1);
    // The first minibatch waits for what any first one waits for.
    source.next(demand)?;
    let (before, started) = (source.stats(), Instant::now());
    while started.elapsed() < TIME && !interrupted() {
        if source.next(demand)?.is_none() {
            break;
        }
    }
    let (elapsed, stats) = (started.elapsed(), source.stats());
    let examples = stats.sequences - before.sequences;
    let [cores, threads] = cores_and_threads(config);
    let mut reading = Reading {
        seconds: elapsed.as_secs_f64(),
        minibatches: stats.minibatches - before.minibatches,
        examples,
        samples: stats.samples - before.samples,
        bytes_read: stats.bytes_read - before.bytes_read,
        bytes_used: bytes.map(|bytes| (bytes as f64 * examples as f64 / n as f64) as u64),
        requests: stats.blocks_loaded - before.blocks_loaded + stats.rows_loaded - before.rows_loaded,
        waited: Duration::from_micros(stats.stalled_us - before.stalled_us)
            .div_duration_f64(elapsed)
            .min(1.0),
        storage_rate: plain_rate(&files),
        threads,
        cores,
        verdict: String::new(),
    };
    reading.verdict = verdict(&reading);
    Ok(reading)
}

/// Bytes a second of reading the files one after the other and doing nothing with them.
pub fn plain_rate(files: &[PathBuf]) -> Option<f64> {
    let (stores, mut read, mut buffer) = (Stores::local(), 0, vec![0; 1 << 20]);
    let started = Instant::now();
    'files: for file in files {
        let Ok(mut stream) = stores.stream(file) else { continue };
        loop {
            match stream.read(&mut buffer) {
                Ok(0) | Err(_) => break,
                Ok(n) => read += n as u64,
            }
            if read >= PLAIN_BYTES || started.elapsed() > TIME {
                break 'files;
            }
        }
    }
    (read > 0).then(|| read as f64 / started.elapsed().as_secs_f64().max(1e-9))
}

/// The resource that a loop would wait for, and which option or file layout would change it.
pub fn verdict(reading: &Reading) -> String {
    if reading.seconds >= LEAST_SECONDS && reading.minibatches < LEAST_MINIBATCHES {
        return format!(
            "Only {} came in {:.1} s, too few for a figure that means something: the first ones fill the window. Measure longer \
             (`tesson bench --seconds N`), or shuffle within a smaller window (`--shuffle N`).",
            counted(reading.minibatches, "minibatch"),
            reading.seconds
        );
    }
    if reading.is_too_short() {
        return "The data are too few for a figure that means something; they are delivered at once."
            .to_owned();
    }
    let rate = reading.bytes_read as f64 / reading.seconds;
    let again =
        reading.bytes_used.filter(|&used| used > 0).map(|used| reading.bytes_read as f64 / used as f64);
    // Reading again what takes no time is no reason.
    let matters = reading.storage_rate.is_none_or(|storage| rate > 0.1 * storage);
    if let Some(again) = again.filter(|&again| again > READ_AGAIN && matters) {
        return format!(
            "Each byte used costs {again:.1} bytes read: the order jumps between more chunks than fit in memory. A larger \
             `--memory-limit`, a smaller window (`--shuffle N`), or smaller chunks would change it; `tesson plan --io` compares orders."
        );
    }
    let step = format!(
        "A training step of more than {} never waits",
        milliseconds(reading.seconds / reading.minibatches as f64)
    );
    match reading.storage_rate {
        Some(storage) if rate > 0.6 * storage => format!(
            "{step}; a shorter one would wait for storage: reading runs at {} of what a plain read of the files gets ({}/s). Faster disks or \
             fewer bytes would change it: `tesson convert` writes CNTK's binary format, Parquet and gzip are smaller than text.",
            percent((rate / storage).min(1.0)),
            size(storage as u64)
        ),
        _ if reading.waited > 0.3 && reading.threads < reading.cores => format!(
            "{step}; a shorter one would wait for the work of {} on {}: `--threads {}`, or leaving it out, would change it.",
            counted(reading.threads, "thread"),
            counted(reading.cores, "core"),
            reading.cores
        ),
        Some(storage) if reading.waited > 0.3 => format!(
            "{step}; a shorter one would wait for decoding: storage could give {}/s. More cores (here {}) or a format that \
             needs less decoding (`tesson convert`) would change it.",
            size(storage as u64),
            reading.cores
        ),
        _ if reading.waited > 0.3 => format!(
            "{step}; a shorter one would wait for decoding. More cores (here {}) would change it.",
            reading.cores
        ),
        _ => "Minibatches are ready before the loop asks for them: nothing to change.".to_owned(),
    }
}

/// A time in words.
fn milliseconds(seconds: f64) -> String {
    match 1000.0 * seconds {
        ms if ms < 0.1 => format!("{:.0} µs", 1000.0 * ms),
        ms => format!("{} ms", number(ms)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_names_what_is_waited_for() {
        let reading = Reading {
            seconds: 1.0,
            minibatches: 100,
            bytes_read: 100,
            bytes_used: Some(100),
            storage_rate: Some(1000.0),
            waited: 0.9,
            ..Reading::default()
        };
        assert!(verdict(&reading).contains("wait for decoding"));
        assert!(
            verdict(&Reading { bytes_read: 900, bytes_used: Some(900), ..reading.clone() })
                .contains("wait for storage")
        );
        assert!(
            verdict(&Reading { bytes_used: Some(10), bytes_read: 200, ..reading.clone() })
                .contains("20.0 bytes read")
        );
        assert!(verdict(&Reading { threads: 1, cores: 4, ..reading.clone() }).contains("`--threads 4`"));
        assert!(verdict(&Reading { waited: 0.0, ..reading.clone() }).contains("nothing to change"));
        let few = Reading { minibatches: 3, ..reading };
        assert!(verdict(&few).contains("Only 3 minibatches came in 1.0 s"));
        assert!(verdict(&Reading { seconds: 0.1, ..few }).contains("too few"));
    }
}
