//! `tesson bench`: how fast minibatches come, without looking at them.

use std::time::{Duration, Instant};

use tesson::{Demand, Source, SourceConfig};

use crate::args::BenchArgs;
use crate::extensions::Extensions;
use crate::failure::Failure;
use crate::output::{Output, counted, size};
use crate::progress::Progress;
use crate::{input, log};

pub(crate) fn run(args: &BenchArgs, extensions: &dyn Extensions, out: &mut Output) -> Result<(), Failure> {
    let mut config = input::config(&args.common, extensions)?;
    let order = &args.common.order;
    input::size_buckets(&mut config, order, args.minibatch_size);
    input::end_after_a_sweep(&mut config, order.take.is_some() || args.seconds.is_some());
    log::show(config.trace_level);
    let demand = args.common.worker.demand(input::first_size(args.minibatch_size, &config));
    for _ in 0..args.runs {
        measure(args, &config, demand)?.show(out)?;
        out.flush()?;
    }
    Ok(())
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
    /// Bytes read after opening.
    bytes: u64,
    /// Most bytes of decoded blocks at any time.
    blocks: u64,
    stalls: u64,
    stalled: Duration,
    /// JPEG files decoded without SIMD.
    plain_jpegs: u64,
}

fn measure(args: &BenchArgs, config: &SourceConfig, demand: Demand) -> Result<Figures, Failure> {
    let started = Instant::now();
    let mut source = input::open(config, &args.common.input)?;
    let opening = started.elapsed();
    let bytes_before = source.stats().bytes_read;
    let opened = Instant::now();
    source.next(demand)?;
    let first = opened.elapsed();
    let before = source.stats();
    let _progress = Progress::spinner("reading");
    let going = Instant::now();
    read_on(args, &mut source, demand, going)?;
    let rest = going.elapsed();
    let stats = source.stats();
    Ok(Figures {
        opening,
        first,
        rest,
        counts: [
            stats.minibatches - before.minibatches,
            stats.sequences - before.sequences,
            stats.samples - before.samples,
        ],
        bytes: stats.bytes_read - bytes_before,
        blocks: stats.peak_resident_bytes,
        stalls: stats.stalls - before.stalls,
        stalled: Duration::from_micros(stats.stalled_us - before.stalled_us),
        plain_jpegs: stats.plain_jpegs,
    })
}

/// Reads until the data end or the requested number is reached.
fn read_on(args: &BenchArgs, source: &mut Source, demand: Demand, since: Instant) -> Result<(), Failure> {
    let mut left = args.common.order.take.unwrap_or(u64::MAX).saturating_sub(1);
    while left > 0 && args.seconds.is_none_or(|seconds| since.elapsed().as_secs_f64() < seconds) {
        if source.next(demand)?.is_none() {
            break;
        }
        left -= 1;
    }
    Ok(())
}

impl Figures {
    fn per_second(&self, n: u64) -> f64 {
        n as f64 / self.rest.as_secs_f64().max(1e-9)
    }

    fn show(&self, out: &mut Output) -> std::io::Result<()> {
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
        out.answer(&json, &pairs)
    }
}
