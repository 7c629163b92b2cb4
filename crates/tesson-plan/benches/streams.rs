//! The speed at which the order of a prepared dataset is planned, on one thread: `cargo bench -p tesson-plan --bench
//! streams`.
//!
//! 1,281,167 examples in 1024 files, read sixteen files and examples at a time. A line of JSON for each workload: the best
//! of a few runs.

#![allow(clippy::print_stdout, reason = "the figures are the output")]

use std::num::NonZeroU64;
use std::time::Instant;

use tesson_plan::{SeedPair, Seeding, Span, Stream, StreamOp, StreamSpec};

const RUNS: usize = 7;
const EXAMPLES: u64 = 1_281_167;

fn stream(buffer: Option<u64>) -> Stream {
    let end = |i: u64| (EXAMPLES as f64 * i as f64 / 1024.0).round_ties_even() as u64;
    let seeding = |seed| Seeding { pair: SeedPair::new(seed, None), reshuffle: true };
    let shuffle = |n| StreamOp::Shuffle { buffer: NonZeroU64::new(n).expect("not 0"), seeding: seeding(3) };
    let sixteen = NonZeroU64::new(16).expect("not 0");
    let spec = StreamSpec {
        files: (0..1024).map(|i| Span { first: end(i), len: end(i + 1) - end(i) }).collect(),
        shuffle_files: Some(seeding(32)),
        repeat_files: false,
        cycle: sixteen,
        block: sixteen,
        expected: Some(EXAMPLES),
        ops: buffer.map(shuffle).into_iter().collect(),
    };
    Stream::new(spec).expect("there are files")
}

/// The best of some runs, in milliseconds.
fn best(mut run: impl FnMut() -> u64) -> f64 {
    let mut time = || {
        let start = Instant::now();
        std::hint::black_box(run());
        start.elapsed().as_secs_f64() * 1e3
    };
    (0..RUNS).map(|_| time()).fold(f64::INFINITY, f64::min)
}

fn epoch(buffer: Option<u64>) -> f64 {
    let mut stream = stream(buffer);
    let mut records = Vec::with_capacity(EXAMPLES as usize);
    best(|| {
        stream.begin();
        records.clear();
        stream.fill(usize::MAX, &mut records).expect("the count is right");
        assert_eq!(records.len() as u64, EXAMPLES);
        records.iter().fold(0, |sum, record| sum ^ record)
    })
}

fn seek(buffer: Option<u64>) -> f64 {
    let mut stream = stream(buffer);
    best(|| {
        stream.begin();
        stream.skip(1_200_000).expect("the count is right");
        stream.next().expect("the count is right").expect("there are more")
    })
}

fn main() {
    for (name, buffer) in [("interleave", None), ("shuffle_10000", Some(10_000))] {
        println!(
            "{{\"bench\": \"{name}\", \"examples\": {EXAMPLES}, \"epoch_ms\": {:.1}, \"seek_1200000_ms\": {:.3}}}",
            epoch(buffer),
            seek(buffer)
        );
    }
}
