//! Any bytes as a map of images.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Some(input) = tesson_conformance::entry::image_map(bytes) {
        input.check_parts();
    }
});
