//! Any bytes as a BrainScript configuration.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tesson_conformance::entry::brainscript(bytes));
