//! Any bytes as labels of speech, in each of their forms.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| drop(tesson_conformance::entry::speech_labels(bytes)));
