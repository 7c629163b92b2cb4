//! Any transforms of pictures, as JSON.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| drop(tesson_conformance::entry::image_transforms(bytes)));
