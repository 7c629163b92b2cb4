//! Any bytes as labels of speech, in each of their forms.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Some(input) = tesson_conformance::entry::speech_labels(bytes) {
        input.check_parts();
    }
});
