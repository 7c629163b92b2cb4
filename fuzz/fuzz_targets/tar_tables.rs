//! Any bytes as a tar archive of members of any kind.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = tesson_conformance::entry::tar_tables(bytes).and_then(|input| input.read());
});
