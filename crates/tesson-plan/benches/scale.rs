//! Plans of a corpus that no machine here could hold, by simulation: `cargo bench -p tesson-plan --bench scale`.
//!
//! 10^12 sequences in 10^6 files, shared by 4,096 ranks. Prints a line of JSON for each order: seconds to open it, bytes of
//! the index, and milliseconds of a step (64 sequences a rank) and of a seek to any position, each the slowest of many. Windows
//! are left out: they are refused from 2^32 sequences on.

#![allow(clippy::print_stdout, reason = "the figures are the output")]

use std::time::Instant;

use tesson_core::{CompactLengths, Index};
use tesson_plan::{BatchPlan, Cursor, Demand, Ending, Global, Limit, OrderSpec, PlanSpec, Planner, Sharing};

const FILES: usize = 1_000_000;
const SEQUENCES_OF_FILE: usize = 1_000_000;
const RANKS: u64 = 4096;
const OF_RANK: u64 = 64;
const STEPS: u64 = 20;

fn index() -> Index {
    let mut index = Index::new();
    // Files differ in size, or the index would hold one for all.
    let sizes = (0..FILES).map(|i| (SEQUENCES_OF_FILE + 10 - i % 21) as u32);
    sizes.for_each(|n| index.push(CompactLengths::constant(1, n), 1 << 30));
    index.seal();
    index
}

fn spec(order: OrderSpec) -> PlanSpec {
    PlanSpec {
        order,
        sharing: Sharing::Position,
        limit: Limit::Sweeps(1),
        ending: Ending::default(),
        cross_sweep_ends: false,
        epoch_size: None,
        local_timeline: false,
        most_sequences: None,
        bucketing: None,
        equal_steps: None,
        excluded: None,
    }
}

/// Milliseconds since a moment.
fn ms(start: Instant) -> f64 {
    start.elapsed().as_secs_f64() * 1e3
}

fn report(name: &str, order: OrderSpec) {
    let demand = Demand { samples: RANKS * OF_RANK, workers: RANKS, rank: RANKS / 2 };
    let start = Instant::now();
    let index = index();
    let mut planner = Planner::new(spec(order));
    let mut plan = BatchPlan::default();
    planner.start(&index, demand).expect("the demand makes sense");
    let opened = ms(start);
    planner.next_batch(&index, demand, &mut plan).expect("the demand makes sense");
    assert_eq!(plan.own.len() as u64, OF_RANK);
    let first = ms(start) - opened;
    let mut step = 0f64;
    for _ in 0..STEPS {
        let start = Instant::now();
        planner.next_batch(&index, demand, &mut plan).expect("the demand makes sense");
        step = step.max(ms(start));
    }
    let n = index.n_sequences();
    let mut seek = 0f64;
    for i in 1..=STEPS {
        let sequence = (i * 48_271_000_003) % n;
        let start = Instant::now();
        let cursor = Cursor { position: sequence, sequence, ..Cursor::default() };
        planner.resume(&index, cursor, Some(demand)).expect("the cursor is of this corpus");
        seek = seek.max(ms(start));
        planner.next_batch(&index, demand, &mut plan).expect("the demand makes sense");
        assert_eq!(plan.own.len() as u64, OF_RANK);
    }
    println!(
        "{{\"bench\": \"{name}\", \"sequences\": {n}, \"ranks\": {RANKS}, \"open_ms\": {opened:.1}, \"index_bytes\": {}, \
         \"first_step_ms\": {first:.2}, \"step_ms\": {step:.2}, \"seek_ms\": {seek:.3}}}",
        index.bytes(),
    );
}

fn main() {
    report("as stored", OrderSpec::AsStored);
    report("global", OrderSpec::Global(Global { seed: 0 }));
}
