//! A process stays near `memoryLimit`, too: freed memory does not stay with the C library's allocator.
//!
//! The test is alone in its binary, since it measures the process.
#![cfg(all(target_os = "linux", target_env = "gnu"))]

use tesson::OpenOptions;
use tesson::store::MemoryStore;

/// A size of the process, in bytes: `VmRSS` now, `VmHWM` the most so far.
fn size_of_process(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("the system tells");
    let line = status.lines().find_map(|line| line.strip_prefix(name)).expect("it is listed");
    let kilobytes = line.trim_start_matches(':').trim_end_matches("kB").trim();
    kilobytes.parse::<u64>().expect("it is a number") << 10
}

#[test]
fn sequences_of_several_wide_samples_leave_the_process_near_the_limit() {
    let limit = 64 << 20;
    // A sample takes 400 kB, and a sequence up to 2.4 MB.
    let row = |i: usize| format!("{i} |x 1 |s 5\n").repeat(1 + i * 7 % 6);
    let rows: String = (0..600).map(row).collect();
    let store = MemoryStore::new().with("wide.ctf", rows.into_bytes());
    let before = size_of_process("VmRSS");
    for order in ["", r#""truncated": true, "truncationLength": 4, "#] {
        let json = format!(
            r#"{{"deserializers": [{{"type": "CNTKTextFormatDeserializer", "file": "wide.ctf",
                "input": {{"x": {{"dim": 1, "format": "dense"}}, "s": {{"dim": 100000, "format": "dense"}}}}}}],
                {order}"randomize": false, "maxSweeps": 1, "threads": 2, "memoryLimit": {limit}}}"#
        );
        let config = tesson::config::from_json(&json).expect("the configuration is right");
        let mut source = OpenOptions::in_store(&store).open(&config).expect("the limit is enough");
        let mut seen = 0;
        while let Some(minibatch) = source.next_minibatch(4).expect("the data are right") {
            seen += minibatch.streams()[0].n_samples();
        }
        assert_eq!(seen, 2100);
        let grown = size_of_process("VmHWM") - before;
        assert!(grown <= limit + limit / 5, "{order} {grown} bytes, the limit is {limit}");
    }
}
