//! Any bytes as CSV, JSON lines, a shard of MDS, lines of libsvm or records of examples.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = tesson_conformance::entry::text_tables(bytes).and_then(|input| input.read());
});
