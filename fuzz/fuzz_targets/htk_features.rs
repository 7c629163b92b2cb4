//! Any bytes as a file of features.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Some(input) = tesson_conformance::entry::htk_features(bytes) {
        input.check_parts();
    }
});
