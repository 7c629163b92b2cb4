//! Any bytes as an array of NumPy's.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = tesson_conformance::entry::numpy_arrays(bytes).and_then(|input| input.read());
});
