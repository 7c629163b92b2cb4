//! Any bytes as a binary file, decoded in three ways.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tesson_conformance::entry::cbf_decode(bytes));
