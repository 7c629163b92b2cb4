//! Any bytes as an archive of matrices of Kaldi's, or a script file of one.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| drop(tesson_conformance::entry::recordings(bytes)));
