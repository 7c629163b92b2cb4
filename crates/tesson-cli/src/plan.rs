//! `tesson plan`: which sequences come when.

use std::fmt::Write;

use serde_json::Value;
use tesson_core::{Index, SequenceId};
use tesson_engine::TruncatedPlan;
use tesson_plan::BatchPlan;

use crate::args::PlanArgs;
use crate::extensions::Extensions;
use crate::failure::Failure;
use crate::output::{Output, inflected};
use crate::{input, minibatch_json, plan_io, steps};

pub(crate) fn run(args: &PlanArgs, extensions: &dyn Extensions, out: &mut Output) -> Result<(), Failure> {
    if args.io {
        return plan_io::run(args, extensions, out);
    }
    match (args.step, &args.key) {
        (Some(step), _) => return steps::step(args, step, extensions, out),
        (None, Some(key)) => return steps::key(args, key, extensions, out),
        (None, None) if args.sweep.is_some() => {
            let what = "--sweep: it says in which sweep `--key K` is looked for, which is missing";
            return Err(Failure::Usage(what.into()));
        }
        (None, None) => {}
    }
    let order = &args.common.order;
    let (config, mut source) = input::open_adjusted(&args.common, extensions, |config| {
        input::size_buckets(config, order, args.minibatch);
        input::end_after_a_sweep(config, order.take.is_some());
    })?;
    let index = source.indexed()?.index.clone();
    let demand = args.common.worker.demand(input::first_size(args.minibatch, &config));
    let mut shown = 0;
    let mut written = Ok(());
    let mut show = |json: &dyn Fn() -> Value, text: &dyn Fn(u64) -> String| {
        if order.take.is_some_and(|n| shown >= n) {
            return false;
        }
        written = if out.is_json() { out.json(&json()) } else { out.line(&text(shown)) };
        shown += 1;
        written.is_ok()
    };
    if config.truncation.is_on {
        source.plan_truncated(demand, |plan| show(&|| truncated_json(plan), &|n| truncated_row(n, plan)))?;
    } else {
        source.plan(demand, |plan| show(&|| json(plan, &index), &|n| row(n, plan, &index)))?;
    }
    written?;
    if out.is_json() && order.take.is_none_or(|n| shown < n) {
        out.json(&minibatch_json::end())?;
    }
    Ok(())
}

fn samples(plan: &BatchPlan, index: &Index) -> u64 {
    plan.own.iter().map(|p| u64::from(index.length(*p))).sum()
}

fn json(plan: &BatchPlan, index: &Index) -> Value {
    let sequences: Vec<[u32; 2]> = plan.own.iter().map(|p| [p.chunk.0, p.sequence]).collect();
    serde_json::json!({
        "sweepEnd": plan.sweep_end,
        "numberOfSequences": sequences.len(),
        "numberOfSamples": samples(plan, index),
        "sequences": sequences,
        "position": plan.after.position,
    })
}

fn row(number: u64, plan: &BatchPlan, index: &Index) -> String {
    let mut text = heading(number, samples(plan, index));
    put_places(&mut text, &plan.own);
    if plan.sweep_end {
        text.push_str("  (sweep end)");
    }
    text
}

/// The columns with a minibatch's number and size.
fn heading(number: u64, samples: u64) -> String {
    format!("{number:>9} {samples:>9} {:<8}", inflected(samples, "sample"))
}

fn n_samples(plan: &TruncatedPlan) -> u64 {
    plan.segments.iter().map(|piece| u64::from(piece.samples.1 - piece.samples.0)).sum()
}

fn truncated_json(plan: &TruncatedPlan) -> Value {
    let pieces = plan.segments.iter().map(|piece| {
        serde_json::json!({
            "sequence": [piece.sequence.planned.chunk.0, piece.sequence.planned.sequence],
            "samples": [piece.samples.0, piece.samples.1],
            "row": piece.slot,
            "begin": piece.begin,
            "end": piece.end,
        })
    });
    serde_json::json!({
        "sweepEnd": plan.sweep_end,
        "numberOfSequences": plan.segments.len(),
        "numberOfSamples": n_samples(plan),
        "pieces": pieces.collect::<Vec<_>>(),
        "lengths": "counted",
    })
}

/// Rows one after the other, in each its pieces as `chunk.sequence[from..to]`.
fn truncated_row(number: u64, plan: &TruncatedPlan) -> String {
    let mut text = heading(number, n_samples(plan));
    for (i, row) in plan.segments.chunk_by(|a, b| a.slot == b.slot).enumerate() {
        text.push_str(if i == 0 { "" } else { " |" });
        for piece in row {
            let (SequenceId { chunk, sequence }, (from, to)) = (piece.sequence.planned, piece.samples);
            write!(text, " {chunk}.{sequence}[{from}..{to}]").expect("a string takes any text");
        }
    }
    if plan.sweep_end {
        text.push_str("  (sweep end)");
    }
    text
}

/// Sequences as `chunk.sequence`, neighbours within a chunk as `chunk.first-last`.
fn put_places(text: &mut String, places: &[SequenceId]) {
    let follows =
        |a: &SequenceId, b: &SequenceId| a.chunk == b.chunk && a.sequence.checked_add(1) == Some(b.sequence);
    for run in places.chunk_by(follows) {
        let SequenceId { chunk, sequence: first } = run[0];
        let last = run[run.len() - 1].sequence;
        let written = match run.len() {
            1 => write!(text, " {chunk}.{first}"),
            _ => write!(text, " {chunk}.{first}-{last}"),
        };
        written.expect("a string takes any text");
    }
}

#[cfg(test)]
mod tests {
    use tesson_core::ChunkId;

    use super::*;

    #[test]
    fn neighbours_are_shown_as_runs() {
        let mut text = String::new();
        let places = [(0, 3), (0, 4), (0, 5), (1, 0), (1, 2), (1, 1), (2, 2)];
        put_places(
            &mut text,
            &places.map(|(chunk, sequence)| SequenceId { chunk: ChunkId(chunk), sequence }),
        );
        assert_eq!(text, " 0.3-5 1.0 1.2 1.1 2.2");
    }
}
