//! Any bytes as a TFRecord file, read in every way.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tesson_conformance::entry::tfrecord_read(bytes));
