//! Any bytes as an image with OpenCV's values, under any options.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tesson_conformance::entry::imdecode(bytes));
