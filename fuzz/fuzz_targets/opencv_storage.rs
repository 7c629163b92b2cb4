//! Any bytes as a mean image and as axes of colours, as OpenCV stores them.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tesson_conformance::entry::opencv_storage(bytes));
