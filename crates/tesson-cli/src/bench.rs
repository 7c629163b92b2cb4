//! `tesson bench`: how fast minibatches come, without looking at them.

use std::time::{Duration, Instant};

use tesson::plan::Limit;
use tesson::{Demand, Source, SourceConfig};

use crate::args::BenchArgs;
use crate::extensions::Extensions;
use crate::failure::Failure;
use crate::output::{Output, counted, size};
use crate::progress::Progress;
use crate::{input, log};

pub(crate) fn run(args: &BenchArgs, extensions: &dyn Extensions, out: &mut Output) -> Result<(), Failure> {
    let mut config = input::config(&args.input, Some(&args.order), extensions)?;
    input::size_buckets(&mut config, &args.order, args.minibatch_size);
    if config.limit == Limit::Endless && args.take.is_none() && args.seconds.is_none() {
        config.limit = Limit::Sweeps(1);
    }
    log::show(config.trace_level);
    let demand = Demand {
        samples: input::first_size(args.minibatch_size, &config),
        workers: args.worker.workers,
        rank: args.worker.rank,
    };
    for _ in 0..args.runs {
        let figures = measure(args, &config, demand)?;
        if out.is_json() {
            out.json(&figures.json())?
        } else {
            figures.text(out)?
        }
        out.flush()?;
    }
    Ok(())
}

/// What was measured in one run.
struct Figures {
    /// From nothing to a source.
    opening: Duration,
    /// From there to the first minibatch.
    first: Duration,
    /// From there to the last one.
    rest: Duration,
    /// Minibatches, sequences and samples behind the first minibatch.
    counts: [u64; 3],
    /// Bytes read behind opening.
    bytes: u64,
    /// Most bytes of decoded blocks at any time.
    blocks: u64,
    stalls: u64,
    stalled: Duration,
}

fn measure(args: &BenchArgs, config: &SourceConfig, demand: Demand) -> Result<Figures, Failure> {
    let started = Instant::now();
    let mut source = input::open(config, &args.input)?;
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
    })
}

/// Reads until the data end, or as far as was asked for.
fn read_on(args: &BenchArgs, source: &mut Source, demand: Demand, since: Instant) -> Result<(), Failure> {
    let mut left = args.take.unwrap_or(u64::MAX).saturating_sub(1);
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

    fn text(&self, out: &mut Output) -> Result<(), Failure> {
        let [minibatches, sequences, samples] = self.counts;
        let ms = |d: Duration| format!("{:.1} ms", d.as_secs_f64() * 1000.0);
        out.pair("opening", &ms(self.opening))?;
        out.pair("first", &format!("minibatch after {}", ms(self.first)))?;
        out.pair(
            "then",
            &format!(
                "{}, {}, {} in {:.3} s",
                counted(minibatches, "minibatch"),
                counted(sequences, "sequence"),
                counted(samples, "sample"),
                self.rest.as_secs_f64()
            ),
        )?;
        out.pair(
            "rate",
            &format!(
                "{}/s, {}/s",
                counted(self.per_second(minibatches) as u64, "minibatch"),
                counted(self.per_second(samples) as u64, "sample")
            ),
        )?;
        out.pair(
            "read",
            &format!("{}, {} of blocks in memory at most", size(self.bytes), size(self.blocks)),
        )?;
        out.pair("waited", &format!("{}, {} in all", counted(self.stalls, "time"), ms(self.stalled)))?;
        Ok(())
    }

    fn json(&self) -> serde_json::Value {
        let [minibatches, sequences, samples] = self.counts;
        serde_json::json!({
            "openingSeconds": self.opening.as_secs_f64(),
            "firstSeconds": self.first.as_secs_f64(),
            "seconds": self.rest.as_secs_f64(),
            "minibatches": minibatches,
            "sequences": sequences,
            "samples": samples,
            "minibatchesPerSecond": self.per_second(minibatches),
            "samplesPerSecond": self.per_second(samples),
            "bytesRead": self.bytes,
            "peakBlockBytes": self.blocks,
            "stalls": self.stalls,
            "stalledSeconds": self.stalled.as_secs_f64(),
        })
    }
}
