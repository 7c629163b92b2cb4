//! Any bytes as a table (CSV, libsvm, JSON lines), converted and read back.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tesson_conformance::entry::table_convert(bytes));
