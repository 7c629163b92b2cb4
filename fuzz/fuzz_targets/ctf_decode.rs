//! Any bytes as a text file, decoded in three ways.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tesson_conformance::entry::ctf_decode(bytes));
