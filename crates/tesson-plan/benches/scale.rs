//! Plans of a corpus that no machine here could hold, by simulation: `cargo bench -p tesson-plan --bench scale`.
//!
//! 10^12 sequences in 10^6 files, shared by 4,096 ranks. Prints a line of JSON for each order: milliseconds to open it, bytes of
//! the index and the planner, and milliseconds of the first step (64 sequences a rank), of a later one, and of a seek to any
//! position, each of the last two the slowest of many. A rank counts the sequences of others, as in runs that forgive no faults;
//! a line says what a step takes that lists them. Windows are left out: they are refused from 2^32 sequences on.

#![allow(clippy::print_stdout, reason = "the figures are the output")]

use std::time::Instant;

use tesson_core::{CompactLengths, Index};
use tesson_plan::{BatchPlan, Cursor, Demand, Ending, Global, Limit, OrderSpec, PlanSpec, Planner, Sharing};

const FILES: usize = 1_000_000;
const SEQUENCES_OF_FILE: usize = 1_000_000;
const RANKS: u64 = 4096;
const OF_RANK: u64 = 64;
const STEPS: u64 = 20;

/// An index of files whose sequences have a length that `length` says for the number of the file.
fn index(length: fn(usize) -> u32) -> Index {
    let mut index = Index::new();
    // Files differ in size, or the index would hold one for all.
    let sizes = (0..FILES).map(|i| (i, (SEQUENCES_OF_FILE + 10 - i % 21) as u32));
    sizes.for_each(|(i, n)| index.push(CompactLengths::constant(length(i), n), 1 << 30));
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

fn report(name: &str, order: OrderSpec, length: fn(usize) -> u32, counts_foreign: bool) {
    let most_sequences = Some(RANKS * OF_RANK);
    let demand = Demand { samples: Demand::ANY_SAMPLES, workers: RANKS, rank: RANKS / 2 };
    let start = Instant::now();
    let index = index(length);
    let mut planner = Planner::new(PlanSpec { most_sequences, ..spec(order) });
    if counts_foreign {
        planner = planner.counting_foreign();
    }
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
        let cursor = Cursor { position: sequence, sequence, ..Cursor::default() };
        let start = Instant::now();
        planner.resume(&index, cursor, Some(demand)).expect("the cursor is of this corpus");
        seek = seek.max(ms(start));
        planner.next_batch(&index, demand, &mut plan).expect("the demand makes sense");
        assert_eq!(plan.own.len() as u64, OF_RANK);
    }
    println!(
        "{{\"bench\": \"{name}\", \"sequences\": {n}, \"ranks\": {RANKS}, \"open_ms\": {opened:.1}, \"bytes\": {}, \
         \"first_step_ms\": {first:.3}, \"step_ms\": {step:.3}, \"seek_ms\": {seek:.4}}}",
        index.bytes() + planner.bytes(),
    );
}

fn main() {
    let (one, by_file) = (|_| 1, |file| 1 + file as u32 % 7);
    let global = OrderSpec::Global(Global { seed: 0 });
    report("as stored", OrderSpec::AsStored, one, true);
    report("as stored, lengths differ by file", OrderSpec::AsStored, by_file, true);
    report("as stored, others listed", OrderSpec::AsStored, one, false);
    report("global", global, one, true);
    report("global, lengths differ by file", global, by_file, true);
    report("global, others listed", global, one, false);
}
