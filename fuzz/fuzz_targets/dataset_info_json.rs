//! Any text as a dataset_info.json.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tesson_conformance::entry::dataset_info_json(bytes));
