//! `tesson plan --step` and `--key`: the sequences of a minibatch, and the minibatches that deliver a key.

use tesson::{Source, SourceConfig};
use tesson_core::SequenceId;
use tesson_engine::RunCalls;
use tesson_engine::{KeyDelivery, StepSequence};
use tesson_plan::StepSizes;

use crate::args::PlanArgs;
use crate::extensions::Extensions;
use crate::failure::Failure;
use crate::input;
use crate::output::{Output, count, counted};
use crate::progress::Progress;

/// Shows the sequences of a step.
pub(crate) fn step(
    args: &PlanArgs,
    step: u64,
    extensions: &dyn Extensions,
    out: &mut Output,
) -> Result<(), Failure> {
    let planned = asked(args, extensions, |source, calls| source.which(step, calls))?;
    if out.is_json() {
        let sequences: Vec<_> = planned.sequences.iter().map(sequence_json).collect();
        out.json(&serde_json::json!({
            "step": step,
            "sweepEnd": planned.sweep_end,
            "numberOfSequences": sequences.len(),
            "sequences": sequences,
        }))?;
        return Ok(());
    }
    let n = planned.sequences.len() as u64;
    let end = if planned.sweep_end { ", a sweep ends" } else { "" };
    out.line(&format!("step {}: {}{end}", count(step), counted(n, "sequence")))?;
    for sequence in &planned.sequences {
        out.line(&sequence_row(sequence))?;
    }
    Ok(())
}

/// Shows the minibatches that deliver the sequences of a key.
pub(crate) fn key(
    args: &PlanArgs,
    key: &str,
    extensions: &dyn Extensions,
    out: &mut Output,
) -> Result<(), Failure> {
    let sweep = args.sweep.unwrap_or(0);
    let found = asked(args, extensions, |source, calls| source.where_is(key, sweep, calls))?;
    for &KeyDelivery { step, rank, sweep, planned } in &found {
        let SequenceId { chunk, sequence } = planned;
        if out.is_json() {
            out.json(&serde_json::json!({
                "key": key, "step": step, "rank": rank, "sweep": sweep, "chunk": chunk.0, "sequence": sequence,
            }))?
        } else {
            out.line(&format!("step {step:<9} rank {rank:<4} sweep {sweep:<6} {chunk}.{sequence}  {key}"))?
        }
    }
    if found.is_empty() && !out.is_json() {
        let what = "is not delivered: the data end before, or `excludeKeys` names it";
        out.line(&format!("key {key} in sweep {sweep}: {what}"))?;
    }
    Ok(())
}

/// Asks a source about the minibatches of a run by the ranks on the command line, with sizes from the command line or
/// else from the configuration.
fn asked<T>(
    args: &PlanArgs,
    extensions: &dyn Extensions,
    ask: impl FnOnce(&mut Source, RunCalls<'_>) -> Result<T, tesson::Error>,
) -> Result<T, Failure> {
    let (config, mut source) = input::open_adjusted(&args.common, extensions, |config| {
        input::size_buckets(config, &args.common.order, args.minibatch);
    })?;
    let (size, worker) = (size_of(args, &config, &mut source)?, args.common.worker);
    let sizes = match &size {
        Size::Constant(samples) => StepSizes::Constant(*samples),
        Size::At(at) => StepSizes::At(at),
    };
    let calls = RunCalls { sizes, workers: worker.workers.n, rank: worker.rank_if_given() };
    Ok(Progress::during("planning", || ask(&mut source, calls))?)
}

/// Samples of the minibatches of a run.
enum Size {
    Constant(u64),
    At(Box<dyn Fn(u64) -> u64>),
}

fn size_of(args: &PlanArgs, config: &SourceConfig, source: &mut Source) -> Result<Size, Failure> {
    let schedule = config.minibatches.default_sizes();
    match (args.minibatch, schedule.runs()) {
        (Some(samples), _) | (None, &[(samples, _)]) => Ok(Size::Constant(samples)),
        _ => {
            let epoch = match config.minibatches.epoch_size {
                Some(samples) => samples,
                None => source.num_samples_per_sweep()?,
            };
            Ok(Size::At(Box::new(move |position| schedule.at(position / epoch.max(1)))))
        }
    }
}

fn sequence_json(sequence: &StepSequence) -> serde_json::Value {
    let StepSequence { rank, key, sweep, planned, samples, location } = sequence;
    serde_json::json!({
        "rank": rank,
        "key": key.to_string(),
        "sweep": sweep,
        "chunk": planned.chunk.0,
        "sequence": planned.sequence,
        "samples": [samples.start, samples.end],
        "file": location.as_ref().map(|(file, _)| file.display().to_string()),
        "bytes": location.as_ref().map(|(_, bytes)| [bytes.start, bytes.end]),
    })
}

/// Rank, sweep, place, samples, key and location.
fn sequence_row(sequence: &StepSequence) -> String {
    let StepSequence { rank, key, sweep, planned, samples, location } = sequence;
    let place = format!("{}.{}[{}..{}]", planned.chunk, planned.sequence, samples.start, samples.end);
    let location = location
        .as_ref()
        .map(|(file, bytes)| format!("  {} (bytes {} to {})", file.display(), bytes.start, bytes.end));
    format!("rank {rank:<4} sweep {sweep:<6} {place:<20} {key}{}", location.unwrap_or_default())
}
