//! Any bytes as a saved state.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tesson_conformance::entry::resume_state(bytes));
