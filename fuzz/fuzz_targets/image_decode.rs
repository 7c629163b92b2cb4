//! Any bytes as a file of an image, with any number of channels.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tesson_conformance::entry::image_decode(bytes));
