//! Any bytes as a `zip` archive of images.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = tesson_conformance::entry::zip_members(bytes).and_then(|input| input.read());
});
