//! `tesson bench`: how fast minibatches come, without looking at them, and what bounds the rate.

mod verdict;

use std::time::{Duration, Instant};

use tesson::{Demand, Source, SourceConfig};
use tesson_plan::Limit;

use crate::args::BenchArgs;
use crate::extensions::Extensions;
use crate::failure::Failure;
use crate::output::{Output, counted, size};
use crate::progress::Progress;
use crate::{data, input, log};

use verdict::{BareReading, Verdict};

/// Sweeps over small data go on for so long, where nothing says when to end: less time would measure the clock.
const LEAST: Duration = Duration::from_secs(1);

/// Files whose sizes are looked up, at most.
const MOST_FILES: usize = 10_000;

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
        let (figures, alone) = measure(args, &config, demand, &end)?;
        let verdict = Verdict::new(&figures, &config, alone.as_ref());
        figures.show(&verdict, out)?;
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
    /// The time from there to the last one.
    rest: Duration,
    /// Minibatches, sequences and samples after the first minibatch.
    counts: [u64; 3],
    /// Sweeps that ended.
    sweeps: u64,
    /// Bytes read after opening.
    bytes: u64,
    /// Bytes of all files; `None` of very many, and of those that are no files.
    stored: Option<u64>,
    /// Most bytes of decoded blocks at any time.
    blocks: u64,
    stalls: u64,
    stalled: Duration,
    /// JPEG files decoded without SIMD.
    plain_jpegs: u64,
}

fn measure(
    args: &BenchArgs,
    config: &SourceConfig,
    demand: Demand,
    end: &End,
) -> Result<(Figures, Option<BareReading>), Failure> {
    let started = Instant::now();
    let mut source = input::open(config, &args.common.input)?;
    let opening = started.elapsed();
    let bytes_before = source.stats().bytes_read;
    let opened = Instant::now();
    let ends_at_once = source.next(demand)?.is_some_and(|minibatch| minibatch.sweep_end());
    let first = opened.elapsed();
    let before = source.stats();
    let _progress = Progress::spinner("reading");
    let going = Instant::now();
    let sweeps = u64::from(ends_at_once) + read_on(end, &mut source, demand, going)?;
    let rest = going.elapsed();
    let stats = source.stats();
    let sizes: Option<Vec<u64>> =
        source.files().take(MOST_FILES + 1).map(|file| data::size(file).ok()).collect();
    let figures = Figures {
        opening,
        first,
        rest,
        counts: [
            stats.minibatches - before.minibatches,
            stats.sequences - before.sequences,
            stats.samples - before.samples,
        ],
        sweeps,
        bytes: stats.bytes_read - bytes_before,
        stored: sizes.filter(|sizes| sizes.len() <= MOST_FILES).map(|sizes| sizes.iter().sum()),
        blocks: stats.peak_resident_bytes,
        stalls: stats.stalls - before.stalls,
        stalled: Duration::from_micros(stats.stalled_us - before.stalled_us),
        plain_jpegs: stats.plain_jpegs,
    };
    Ok((figures, BareReading::measure(source.files())))
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
    fn per_second(&self, n: u64) -> f64 {
        n as f64 / self.rest.as_secs_f64().max(1e-9)
    }

    /// How often the data were read, on average, in each sweep.
    fn times_read(&self) -> f64 {
        let once = self.stored.unwrap_or(u64::MAX).saturating_mul(self.sweeps.max(1));
        self.bytes as f64 / once.max(1) as f64
    }

    fn show(&self, verdict: &Verdict, out: &mut Output) -> std::io::Result<()> {
        let [minibatches, sequences, samples] = self.counts;
        let [minibatch_rate, sample_rate] = [minibatches, samples].map(|n| self.per_second(n));
        let ms = |d: Duration| format!("{:.1} ms", d.as_secs_f64() * 1000.0);
        let seconds = self.rest.as_secs_f64();
        let json = serde_json::json!({
            "openingSeconds": self.opening.as_secs_f64(),
            "firstSeconds": self.first.as_secs_f64(),
            "seconds": seconds,
            "minibatches": minibatches,
            "sequences": sequences,
            "samples": samples,
            "minibatchesPerSecond": minibatch_rate,
            "samplesPerSecond": sample_rate,
            "bytesRead": self.bytes,
            "peakBlockBytes": self.blocks,
            "stalls": self.stalls,
            "stalledSeconds": self.stalled.as_secs_f64(),
            "plainJpegs": self.plain_jpegs,
            "sweeps": self.sweeps,
            "verdict": verdict.json(),
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
            ("read", format!("{}, {} of blocks in memory at most", size(self.bytes), size(self.blocks))),
            ("waited", format!("{}, {} in all", counted(self.stalls, "time"), ms(self.stalled))),
        ];
        if self.plain_jpegs > 0 {
            pairs.push(("slow", tesson_image::jpeg_decoding().to_string()));
        }
        pairs.extend(verdict.lines());
        out.answer(&json, &pairs)
    }
}
