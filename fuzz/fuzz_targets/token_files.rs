//! Any bytes as tokens, or as an index of them.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = tesson_conformance::entry::token_files(bytes).and_then(|input| input.read());
});
