//! Any bytes as records of examples, decoded together and one by one.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tesson_conformance::entry::example_decode(bytes));
