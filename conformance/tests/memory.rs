//! Memory stays inside `memoryLimit`, whatever the file's size and the order.
//!
//! Alone in its binary: the allocator counts everything that is allocated in the process.

mod counting;

use counting::{alone, peak};
use tesson::{Source, config};

/// Reads a file ten times as large as the limit and returns the most that was allocated at a time, in bytes.
fn peak_of(test: &str, order: &str, limit: usize) -> usize {
    let row = |i: usize| {
        format!("|x {i} |y 0:0.125 1:-17.5 2:{i} 3:1e-3 4:7.75 5:0.0625 6:{}.5 |# row {i}\n", i % 10)
    };
    let text: String = (0..)
        .map(row)
        .scan(0, |n, row| {
            *n += row.len();
            (*n < 10 * limit).then_some(row)
        })
        .collect();
    let n_sequences = text.lines().count();
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    std::fs::create_dir_all(&folder).expect("the folder for temporary files can be written");
    let file = folder.join("train.ctf");
    std::fs::write(&file, &text).expect("the folder for temporary files can be written");
    let json = format!(
        r#"{{"deserializers": [{{"type": "CNTKTextFormatDeserializer", "file": {file:?}, "chunkSizeInBytes": 65536,
            "input": {{"x": {{"dim": 1, "format": "dense"}}, "y": {{"dim": 7, "format": "sparse"}}}}}}],
            {order}, "maxSweeps": 1, "threads": 2, "memoryLimit": {limit}}}"#
    );
    let config = config::from_json(&json).expect("the configuration is right");
    drop(text);
    let (seen, peak) = peak(|| {
        let mut source = Source::open(&config).expect("the limit is enough");
        let mut seen = 0;
        while let Some(minibatch) = source.next_minibatch(64).expect("the data are right") {
            seen += minibatch.n_sequences();
        }
        seen
    });
    assert_eq!(seen, n_sequences);
    peak
}

#[test]
fn a_file_ten_times_the_limit_is_read_within_the_limit() {
    let _alone = alone();
    let limit = 4 << 20;
    for (test, order) in [
        ("memory-in-order", r#""randomize": false"#),
        ("memory-window", r#""randomize": true, "randomizationWindow": 32"#),
        ("memory-everything", r#""randomize": true"#),
        ("memory-global", r#""randomize": "global""#),
    ] {
        let peak = peak_of(test, order, limit);
        assert!(peak <= limit, "{test}: {peak} bytes at a time, the limit is {limit}");
    }
}
