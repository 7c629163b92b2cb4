//! Any bytes as an ArrayRecord file, read in every way.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tesson_conformance::entry::array_record_read(bytes));
