//! Any bytes as a script file of features.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Some(input) = tesson_conformance::entry::htk_scp(bytes) {
        input.check_parts();
    }
});
