//! Any bytes as a map of pictures.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| drop(tesson_conformance::entry::image_map(bytes)));
