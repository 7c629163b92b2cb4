//! Any bytes as a text file, indexed in several ways.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tesson_conformance::entry::ctf_index(bytes));
