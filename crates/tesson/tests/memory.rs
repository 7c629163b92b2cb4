//! Memory stays inside `memoryLimit`, whatever the file's size and the order.
//!
//! Alone in its binary: the allocator counts everything that is allocated in the process.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use tesson::{Source, config};

struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call goes to the system's allocator unchanged; only numbers are kept beside it.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        PEAK.fetch_max(NOW.fetch_add(layout.size(), Ordering::Relaxed) + layout.size(), Ordering::Relaxed);
        // SAFETY: the caller keeps to the contract of `alloc`, which is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: `at` came from `alloc` above with the same layout.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Reads a file ten times as large as the limit and returns the most that was allocated at a time, in bytes.
fn peak(test: &str, order: &str, limit: usize) -> usize {
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
    let before = NOW.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    let mut source = Source::open(&config).expect("the limit is enough");
    let mut seen = 0;
    while let Some(minibatch) = source.next_minibatch(64).expect("the data are right") {
        seen += minibatch.n_sequences();
    }
    assert_eq!(seen, n_sequences);
    PEAK.load(Ordering::Relaxed) - before
}

#[test]
fn a_file_ten_times_the_limit_is_read_within_the_limit() {
    let limit = 4 << 20;
    for (test, order) in [
        ("memory-in-order", r#""randomize": false"#),
        ("memory-window", r#""randomize": true, "randomizationWindow": 32"#),
        ("memory-everything", r#""randomize": true"#),
        ("memory-global", r#""randomize": "global""#),
    ] {
        let peak = peak(test, order, limit);
        assert!(peak <= limit, "{test}: {peak} bytes at a time, the limit is {limit}");
    }
}
