//! How fast sequences are ordered and minibatches cut, on one thread: `cargo bench -p tesson-plan`.
//!
//! Prints a line of JSON for each workload: the best of a few runs over whole sweeps, minibatches of 256 samples.

#![allow(clippy::print_stdout, reason = "the figures are the output")]

use std::time::Instant;

use tesson_core::{CompactLengths, Index};
use tesson_plan::{
    BatchPlan, ChunkWindow, Cursor, Demand, Ending, Global, Limit, OrderSpec, PlanSpec, Planner, Sharing,
    Window,
};

const ALONE: Demand = Demand { samples: 256, workers: 1, rank: 0 };
const RUNS: usize = 5;

fn index_of(n_chunks: usize, lengths: &CompactLengths) -> Index {
    let mut index = Index::new();
    (0..n_chunks).for_each(|_| index.push(lengths.clone(), 1 << 20));
    index.seal();
    index
}

fn planner(order: OrderSpec) -> Planner {
    let (sharing, limit) = (Sharing::Chunk, Limit::Sweeps(1));
    Planner::new(PlanSpec {
        order,
        sharing,
        limit,
        ending: Ending::default(),
        cross_sweep_ends: true,
        epoch_size: None,
        local_timeline: true,
        most_sequences: None,
        bucketing: None,
        equal_steps: None,
        excluded: None,
    })
}

/// Orders a sweep; returns seconds to the first minibatch and to the end.
fn sweep(order: &OrderSpec, index: &Index) -> (f64, f64) {
    let mut planner = planner(*order);
    let mut plan = BatchPlan::default();
    let start = Instant::now();
    let (mut first, mut sequences) = (0.0, 0);
    while !plan.data_end {
        planner.next_batch(index, ALONE, &mut plan).expect("the demand makes sense");
        if sequences == 0 {
            first = start.elapsed().as_secs_f64();
        }
        sequences += plan.own.len() as u64;
    }
    assert_eq!(sequences, index.n_sequences());
    (first, start.elapsed().as_secs_f64())
}

fn report(name: &str, order: OrderSpec, index: &Index) {
    let runs: Vec<(f64, f64)> = (0..RUNS).map(|_| sweep(&order, index)).collect();
    let best = |of: fn(&(f64, f64)) -> f64| runs.iter().map(of).fold(f64::INFINITY, f64::min);
    let (first, all) = (best(|r| r.0), best(|r| r.1));
    let rate = index.n_sequences() as f64 / all;
    println!(
        "{{\"bench\": \"{name}\", \"sequences\": {}, \"first_minibatch_ms\": {:.3}, \"sweep_ms\": {:.1}, \"sequences_per_s\": {rate:.0}}}",
        index.n_sequences(),
        first * 1e3,
        all * 1e3,
    );
}

/// Nanoseconds to go to a sequence and plan the minibatch there.
fn report_seek(index: &Index) {
    let mut planner = planner(OrderSpec::Global(Global { seed: 0 }));
    let demand = Demand { samples: 1, ..ALONE };
    let mut plan = BatchPlan::default();
    planner.start(index, demand).expect("the demand makes sense");
    planner.next_batch(index, demand, &mut plan).expect("the demand makes sense");
    let n = index.n_sequences();
    let seeks = 1_000_000;
    let start = Instant::now();
    for i in 0..seeks {
        let sequence = i * 7_919_993 % n;
        let cursor = Cursor { position: sequence, sequence, ..Cursor::default() };
        planner.resume(index, cursor, Some(demand)).expect("the cursor is of this corpus");
        planner.next_batch(index, demand, &mut plan).expect("the demand makes sense");
    }
    let ns = start.elapsed().as_secs_f64() * 1e9 / seeks as f64;
    println!("{{\"bench\": \"global, seek and one sequence\", \"sequences\": {n}, \"ns\": {ns:.0}}}");
}

fn main() {
    let window = |chunks| OrderSpec::ChunkWindow(ChunkWindow { window: Window::Chunks(chunks), seed: 0 });
    let ones = index_of(1000, &CompactLengths::constant(1, 8000));
    let mixed: Vec<u32> = (0..8000).map(|i| 1 + i * i % 29).collect();
    let mixed = index_of(1000, &CompactLengths::new(&mixed));
    report("as stored", OrderSpec::AsStored, &ones);
    report("window of everything", window(1000), &ones);
    report("window of 128 of 1000 chunks", window(128), &ones);
    report("window of everything, lengths 1 to 29", window(1000), &mixed);
    report("window of 128 of 1000 chunks, lengths 1 to 29", window(128), &mixed);
    report("global", OrderSpec::Global(Global { seed: 0 }), &ones);
    report_seek(&index_of(1000, &CompactLengths::constant(1, 1_000_000)));
}
