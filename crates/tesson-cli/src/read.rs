//! `tesson read`: minibatches as lines.

use std::time::Instant;

use tesson::config::Randomize;
use tesson::{Minibatch, ResumeState, Source, SourceConfig};
use tesson_plan::Limit;

use crate::args::ReadArgs;
use crate::extensions::Extensions;
use crate::failure::Failure;
use crate::minibatch_json::Line;
use crate::output::{Output, counted, size};
use crate::progress::Progress;
use crate::terminal::Terminal;
use crate::{input, minibatch_json, preview, restoring, state_file};

pub(crate) fn run(args: &ReadArgs, extensions: &dyn Extensions, out: &mut Output) -> Result<(), Failure> {
    args.save_state.as_deref().map_or(Ok(()), |path| state_file::check(path, "--save-state"))?;
    let (config, mut source) =
        input::open_adjusted(&args.common, extensions, |config| configure(args, config))?;
    if args.save_state.is_some() {
        source.check_resumable()?;
    }
    if let Some(path) = &args.state {
        let read = |json| ResumeState::from_json(&json).map_err(|e| format!("{} is {}", e.what, e.state));
        let state = state_file::load(path, "--state ", read)?;
        restoring::indexing(&mut source, |source| source.restore(&state))
            .map_err(|e| Failure::of_state(path, e))?;
    }
    let before = Before { started: Instant::now(), bytes: source.stats().bytes_read };
    let read = read(args, &config, &mut source, out);
    // After an error too: the state is that after the last minibatch that was printed.
    let printed = !matches!(read, Err(Failure::Closed));
    if let Some(path) = args.save_state.as_ref().filter(|_| printed) {
        state_file::save(path, &source.state().to_json())?;
    }
    let read = read?;
    if !out.is_json() {
        summary(&read, &source, &before, out)?;
    }
    Ok(())
}

fn configure(args: &ReadArgs, config: &mut SourceConfig) {
    let order = &args.common.order;
    input::size_buckets(config, order, args.minibatch_size.as_ref().map(|sizes| sizes.at(0)));
    let Some(epochs) = args.epochs else { return input::end_after_a_sweep(config, order.take.is_some()) };
    config.minibatches.limit = match config.minibatches.epoch_size {
        Some(samples) if epochs > 0 => Limit::Samples(samples.saturating_mul(epochs)),
        _ => Limit::Sweeps(epochs),
    };
    // The size of the next epoch starts with the epoch.
    config.minibatches.cross_sweep_ends = false;
}

/// Minibatches whose first images are drawn on a terminal.
const DRAWN: u64 = 3;

/// The counts of what has been read.
#[derive(Default)]
struct Read {
    minibatches: u64,
    sequences: u64,
    samples: u64,
}

fn read(
    args: &ReadArgs,
    config: &SourceConfig,
    source: &mut Source,
    out: &mut Output,
) -> Result<Read, Failure> {
    let mut read = Read::default();
    let schedule = args.minibatch_size.clone().unwrap_or_else(|| config.minibatches.default_sizes());
    let epoch_samples = match config.minibatches.epoch_size {
        // Pieces of sequences pass a sweep end one after the other: the source counts what it has fetched.
        None if config.truncation.is_on && schedule.runs().len() > 1 => {
            Some(source.num_samples_per_sweep()?.max(1))
        }
        samples => samples,
    };
    let mut epoch = epoch_samples.map_or(0, |samples| source.state().cursor.position / samples);
    if !out.is_json() {
        out.line(&header(source))?;
    }
    let terminal = Terminal::of(args.pictures, out);
    let progress = Progress::samples("reading", total(config, source)?);
    while args.common.order.take.is_none_or(|n| read.minibatches < n) {
        let Some(minibatch) = source.next(args.common.worker.demand(schedule.at(epoch)))? else {
            if out.is_json() {
                out.json(&minibatch_json::end())?;
            }
            break;
        };
        if out.is_json() {
            out.json(&Line { minibatch: &minibatch, layout: args.layout })?;
        } else {
            out.line(&row(read.minibatches, &minibatch))?;
            if let Some(terminal) = terminal.filter(|_| read.minibatches < DRAWN) {
                let lines = terminal.images(&minibatch, config);
                lines.iter().try_for_each(|line| out.line(&format!("          {line}")))?;
            }
        }
        if let Some(path) =
            args.preview.as_ref().filter(|_| read.sequences == 0 && minibatch.n_sequences() > 0)
        {
            preview::write(path, &minibatch, config)?;
        }
        let samples = longest(&minibatch);
        progress.advance(samples);
        read.minibatches += 1;
        read.sequences += minibatch.n_sequences() as u64;
        read.samples += samples;
        epoch = match epoch_samples {
            // Also where a source resumes from a state.
            Some(samples) => source.state().cursor.position / samples,
            None => epoch + u64::from(minibatch.sweep_end()),
        };
    }
    Ok(read)
}

/// Samples until the end, if that is known without reading ahead.
fn total(config: &SourceConfig, source: &mut Source) -> Result<Option<u64>, Failure> {
    Ok(match config.minibatches.limit {
        Limit::Samples(n) => Some(n),
        // In stored order the index is not needed, and making it would cost another pass.
        Limit::Sweeps(n) if config.order.randomize != Randomize::Off => {
            let of_sweep = input::while_working(source, "indexing", tesson::Source::num_samples_per_sweep)?;
            Some(of_sweep.saturating_mul(n))
        }
        Limit::Sweeps(_) | Limit::Endless => None,
    })
}

/// Samples of the stream that has most.
fn longest(minibatch: &Minibatch) -> u64 {
    minibatch.streams().iter().map(|s| s.n_samples() as u64).max().unwrap_or(0)
}

/// Width of a stream's column.
fn width(name: &str) -> usize {
    name.chars().count().max(8)
}

fn header(source: &Source) -> String {
    let streams = source.streams().iter().map(|stream| (&stream.name, width(&stream.name)));
    let columns: String = streams.map(|(name, width)| format!(" {name:>width$}")).collect();
    format!("minibatch sequences{columns}  keys")
}

fn row(number: u64, minibatch: &Minibatch) -> String {
    let mut text = format!("{number:>9} {:>9}", minibatch.n_sequences());
    for stream in minibatch.streams() {
        let width = width(&stream.info().name);
        text.push_str(&format!(" {:>width$}", stream.n_samples()));
    }
    let keys = minibatch.keys();
    match keys.len() {
        0 => {}
        1 => text.push_str(&format!("  {}", keys.get(0))),
        2 => text.push_str(&format!("  {}, {}", keys.get(0), keys.get(1))),
        n => text.push_str(&format!("  {}, {}, … {}", keys.get(0), keys.get(1), keys.get(n - 1))),
    }
    if minibatch.sweep_end() {
        text.push_str("  (sweep end)");
    }
    text
}

/// The state when reading began.
struct Before {
    started: Instant,
    /// Bytes that opening had read.
    bytes: u64,
}

fn summary(read: &Read, source: &Source, before: &Before, out: &mut Output) -> Result<(), Failure> {
    let seconds = before.started.elapsed().as_secs_f64();
    let stats = source.stats();
    let per_second = |n: u64| n as f64 / seconds.max(1e-9);
    out.line("")?;
    out.line(&format!(
        "{}, {}, {} in {seconds:.3} s: {}/s, {}/s read",
        counted(read.minibatches, "minibatch"),
        counted(read.sequences, "sequence"),
        counted(read.samples, "sample"),
        counted(per_second(read.samples) as u64, "sample"),
        size(per_second(stats.bytes_read - before.bytes) as u64),
    ))?;
    if stats.faults > 0 {
        out.line(&format!("{} of data forgiven", counted(stats.faults, "fault")))?;
    }
    Ok(())
}
