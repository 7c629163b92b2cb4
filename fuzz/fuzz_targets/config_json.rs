//! Any bytes as a configuration.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tesson_conformance::entry::config_json(bytes));
