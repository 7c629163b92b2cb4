//! Any bytes as a tar archive of pictures.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| drop(tesson_conformance::entry::tar_images(bytes)));
