//! Any bytes as an archive of matrices of Kaldi's, or a script file of one.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Some(input) = tesson_conformance::entry::kaldi_features(bytes) {
        input.check_parts();
    }
});
