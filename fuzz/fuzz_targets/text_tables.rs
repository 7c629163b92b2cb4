//! Any bytes as CSV, JSON lines, a shard of MDS, lines of libsvm, records of examples, ARFF or lines of Vowpal Wabbit.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = tesson_conformance::entry::text_tables(bytes).and_then(|input| input.read());
});
