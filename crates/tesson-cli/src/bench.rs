//! `tesson bench`: how fast minibatches come, without looking at them, and what bounds the rate.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use tesson::{Demand, Source, SourceConfig};
use tesson_plan::Limit;
use tesson_report::{Reading, cores_and_threads, plain_rate, verdict};

use crate::args::BenchArgs;
use crate::extensions::Extensions;
use crate::failure::Failure;
use crate::output::{Output, counted, size};
use crate::progress::Progress;
use crate::{input, log};

/// Sweeps over small data go on for so long, where nothing says when to end: less time would measure the clock.
const LEAST: Duration = Duration::from_secs(1);

/// Files that are read to find what the storage gives, at most.
const PLAIN_FILES: usize = 10_000;

pub(crate) fn run(args: &BenchArgs, extensions: &dyn Extensions, out: &mut Output) -> Result<(), Failure> {
    let mut config = input::config(&args.common, extensions)?;
    let order = &args.common.order;
    input::size_buckets(&mut config, order, args.minibatch_size);
    let has_end =
        order.take.is_some() || args.seconds.is_some() || config.minibatches.limit != Limit::Endless;
    log::show(config.trace_level);
    let demand = args.common.worker.demand(input::first_size(args.minibatch_size, &config));
    let end = End {
        minibatches: order.take.unwrap_or(u64::MAX),
        time: args.seconds.map(Duration::from_secs_f64),
        of_sweeps: (!has_end).then_some(LEAST),
    };
    for _ in 0..args.runs {
        measure(args, &config, demand, &end)?.show(out)?;
        out.flush()?;
    }
    Ok(())
}

/// Where a run ends, beside the end of the data.
struct End {
    /// Minibatches, the first one included.
    minibatches: u64,
    /// Time after the first minibatch.
    time: Option<Duration>,
    /// Time after which it ends with its sweep.
    of_sweeps: Option<Duration>,
}

/// The measurements of one run.
struct Figures {
    /// The time to open the source.
    opening: Duration,
    /// The time from there to the first minibatch.
    first: Duration,
    /// The measurements from there to the last one.
    reading: Reading,
    /// Sweeps that ended.
    sweeps: u64,
    /// Most bytes of decoded blocks at any time.
    blocks: u64,
    stalls: u64,
    stalled: Duration,
    /// JPEG files decoded without SIMD.
    plain_jpegs: u64,
}

fn measure(args: &BenchArgs, config: &SourceConfig, demand: Demand, end: &End) -> Result<Figures, Failure> {
    let started = Instant::now();
    let mut source = input::open(config, &args.common.input)?;
    let opening = started.elapsed();
    let bytes_before = source.stats().bytes_read;
    let opened = Instant::now();
    let ends_at_once = source.next(demand)?.is_some_and(|minibatch| minibatch.sweep_end());
    let first = opened.elapsed();
    let before = source.stats();
    let counted = source.stats_reader();
    let done = move || counted.read().sequences - before.sequences;
    let going = Instant::now();
    let rest = Progress::rating("reading", end.time, done, || read_on(end, &mut source, demand, going))?;
    let sweeps = u64::from(ends_at_once) + rest;
    let rest = going.elapsed();
    let stats = source.stats();
    let files: Vec<PathBuf> = source.files().take(PLAIN_FILES).map(Into::into).collect();
    let stored = input::stored_bytes(&source);
    let stalled = Duration::from_micros(stats.stalled_us - before.stalled_us);
    let [cores, threads] = cores_and_threads(config);
    let mut reading = Reading {
        seconds: rest.as_secs_f64(),
        minibatches: stats.minibatches - before.minibatches,
        examples: stats.sequences - before.sequences,
        samples: stats.samples - before.samples,
        bytes_read: stats.bytes_read - bytes_before,
        bytes_used: stored.map(|bytes| bytes.saturating_mul(sweeps.max(1))),
        requests: stats.blocks_loaded - before.blocks_loaded + stats.rows_loaded - before.rows_loaded,
        waited: stalled.div_duration_f64(rest).min(1.0),
        storage_rate: plain_rate(&files),
        threads,
        cores,
        verdict: String::new(),
    };
    reading.verdict = verdict(&reading);
    Ok(Figures {
        opening,
        first,
        reading,
        sweeps,
        blocks: stats.peak_resident_bytes,
        stalls: stats.stalls - before.stalls,
        stalled,
        plain_jpegs: stats.plain_jpegs,
    })
}

/// Reads until the data end or the requested end is reached. Returns how many sweeps ended.
fn read_on(end: &End, source: &mut Source, demand: Demand, since: Instant) -> Result<u64, Failure> {
    let (mut left, mut sweeps) = (end.minibatches.saturating_sub(1), 0);
    while left > 0 && end.time.is_none_or(|time| since.elapsed() < time) {
        let Some(minibatch) = source.next(demand)? else { break };
        if minibatch.sweep_end() {
            sweeps += 1;
            if end.of_sweeps.is_some_and(|time| since.elapsed() >= time) {
                break;
            }
        }
        left -= 1;
    }
    Ok(sweeps)
}

impl Figures {
    fn show(&self, out: &mut Output) -> std::io::Result<()> {
        let Reading { seconds, minibatches, examples: sequences, samples, bytes_read, .. } = self.reading;
        let per_second = |n: u64| n as f64 / seconds.max(1e-9);
        let [minibatch_rate, sample_rate] = [minibatches, samples].map(per_second);
        let ms = |d: Duration| format!("{:.1} ms", d.as_secs_f64() * 1000.0);
        let json = serde_json::json!({
            "openingSeconds": self.opening.as_secs_f64(),
            "firstSeconds": self.first.as_secs_f64(),
            "seconds": seconds,
            "minibatches": minibatches,
            "sequences": sequences,
            "samples": samples,
            "minibatchesPerSecond": minibatch_rate,
            "samplesPerSecond": sample_rate,
            "bytesRead": bytes_read,
            "peakBlockBytes": self.blocks,
            "stalls": self.stalls,
            "stalledSeconds": self.stalled.as_secs_f64(),
            "plainJpegs": self.plain_jpegs,
            "sweeps": self.sweeps,
            "bytesPerSecondAlone": self.reading.storage_rate,
            "verdict": self.reading.verdict,
        });
        let counts = [(minibatches, "minibatch"), (sequences, "sequence"), (samples, "sample")];
        let [minibatches, sequences, samples] = counts.map(|(n, noun)| counted(n, noun));
        let rates = [(minibatch_rate, "minibatch"), (sample_rate, "sample")];
        let [minibatch_rate, sample_rate] = rates.map(|(n, noun)| counted(n as u64, noun));
        let mut pairs = vec![
            ("opening", ms(self.opening)),
            ("first", format!("minibatch after {}", ms(self.first))),
            ("then", format!("{minibatches}, {sequences}, {samples} in {seconds:.3} s")),
            ("rate", format!("{minibatch_rate}/s, {sample_rate}/s")),
            ("read", format!("{}, {} of blocks in memory at most", size(bytes_read), size(self.blocks))),
            ("waited", format!("{}, {} in all", counted(self.stalls, "time"), ms(self.stalled))),
        ];
        if self.plain_jpegs > 0 {
            pairs.push(("slow", tesson_image::jpeg_decoding().to_string()));
        }
        if let Some(rate) = self.reading.storage_rate {
            let share = 100.0 * (bytes_read as f64 / seconds.max(1e-9) / rate).min(1.0);
            let share = if share < 1.0 { "less than 1 %".to_owned() } else { format!("{share:.0} %") };
            pairs.push((
                "limit",
                format!(
                    "the files alone are read at {}/s, which takes {share} of the time",
                    size(rate as u64)
                ),
            ));
        }
        pairs.push(("verdict", self.reading.verdict.clone()));
        out.answer(&json, &pairs)
    }
}
