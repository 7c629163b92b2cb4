//! Any bytes as a recording.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    // Samples are decoded when a minibatch is made.
    let _ = tesson_conformance::entry::recordings(bytes).and_then(|input| input.read());
});
