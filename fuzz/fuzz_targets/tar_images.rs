//! Any bytes as a tar archive of images.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Some(input) = tesson_conformance::entry::tar_images(bytes) {
        input.check_parts();
    }
});
