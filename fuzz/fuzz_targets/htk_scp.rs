//! Any bytes as a script file of features.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| drop(tesson_conformance::entry::htk_scp(bytes)));
