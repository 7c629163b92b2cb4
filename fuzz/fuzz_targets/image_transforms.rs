//! Any transforms of images, as JSON.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    // The results of transforms are visible only in minibatches.
    let _ = tesson_conformance::entry::image_transforms(bytes).and_then(|input| input.read());
});
