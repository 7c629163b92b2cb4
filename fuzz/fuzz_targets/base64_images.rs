//! Any bytes as images in Base64.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Some(input) = tesson_conformance::entry::base64_images(bytes) {
        input.check_parts();
    }
});
