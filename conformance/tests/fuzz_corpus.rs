//! Replays the corpora of fuzzing: every file of `fuzz/corpus/<target>/` through the function of its target.

#![forbid(unsafe_code)]

use std::fs;
use std::panic::RefUnwindSafe;
use std::path::Path;

use tesson_conformance::entry::{self, Input};

fn replay(target: &str, entry: impl Fn(&[u8]) + RefUnwindSafe) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus").join(target);
    let entries = fs::read_dir(&folder).expect("the corpus is there");
    let mut files: Vec<_> = entries.map(|e| e.expect("the corpus can be listed").path()).collect();
    files.sort();
    assert!(files.len() > 5, "{} files in {}", files.len(), folder.display());
    for file in files {
        let bytes = fs::read(&file).expect("the corpus can be read");
        let done = std::panic::catch_unwind(|| entry(&bytes));
        assert!(done.is_ok(), "{} panics", file.display());
    }
}

/// Replays a corpus of inputs that are checked part by part, and then read as a source.
fn replay_input(target: &str, input: fn(&[u8]) -> Option<Input>) {
    replay(target, |bytes| {
        if let Some(input) = input(bytes) {
            input.check_parts();
            input.read();
        }
    });
}

#[test]
fn configurations_are_understood_or_refused() {
    replay("config_json", entry::config_json);
}

#[test]
fn brainscript_is_understood_or_refused() {
    replay("brainscript", entry::brainscript);
}

#[test]
fn text_is_decoded_the_same_in_all_ways() {
    replay("ctf_decode", entry::ctf_decode);
}

#[test]
fn text_is_indexed_the_same_in_all_ways() {
    replay("ctf_index", entry::ctf_index);
}

#[test]
fn binary_files_are_decoded_the_same_in_all_ways() {
    replay("cbf_decode", entry::cbf_decode);
}

#[test]
fn states_are_taken_or_refused() {
    replay("resume_state", entry::resume_state);
}

#[test]
fn files_of_records_are_read_the_same_in_all_ways() {
    replay("tfrecord_read", entry::tfrecord_read);
    replay("array_record_read", entry::array_record_read);
}

#[test]
fn tables_are_converted_to_the_same_or_refused() {
    replay("table_convert", entry::table_convert);
}

#[test]
fn examples_are_decoded_the_same_alone_and_together() {
    replay("example_decode", entry::example_decode);
}

#[test]
fn features_are_understood_or_refused() {
    replay("features_json", entry::features_json);
}

#[test]
fn descriptions_and_splits_are_consistent_or_refused() {
    replay("dataset_info_json", entry::dataset_info_json);
    replay("split_grammar", entry::split_grammar);
}

#[test]
fn images_are_decoded_or_refused() {
    replay("image_decode", entry::image_decode);
    replay("imdecode", entry::imdecode);
    replay("opencv_storage", entry::opencv_storage);
}

#[test]
fn maps_and_transforms_of_images_are_read_the_same_or_refused() {
    replay_input("image_map", entry::image_map);
    replay_input("base64_images", entry::base64_images);
    replay_input("tar_images", entry::tar_images);
    replay_input("image_transforms", entry::image_transforms);
    replay_input("zip_members", entry::zip_members);
}

#[test]
fn features_and_labels_of_speech_are_read_the_same_or_refused() {
    replay_input("htk_scp", entry::htk_scp);
    replay_input("htk_features", entry::htk_features);
    replay_input("speech_labels", entry::speech_labels);
    replay_input("kaldi_features", entry::kaldi_features);
    replay_input("recordings", entry::recordings);
}

#[test]
fn arrays_and_tokens_are_read_the_same_or_refused() {
    replay_input("numpy_arrays", entry::numpy_arrays);
    replay_input("text_tables", entry::text_tables);
    replay_input("token_files", entry::token_files);
    replay_input("tar_tables", entry::tar_tables);
}

/// Without these all files could be refused for a reason of no interest.
#[test]
fn files_that_are_right_are_read() {
    let n_read = |target: &str, name: &str, entry: fn(&[u8]) -> Option<Input>| {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus").join(target).join(name);
        entry(&fs::read(file).expect("the corpus can be read"))?.read()
    };
    assert_eq!(n_read("image_map", "plain", entry::image_map), Some(3));
    assert_eq!(n_read("image_map", "skips-what-cannot-be-decoded", entry::image_map), Some(2));
    assert_eq!(n_read("image_map", "stops-at-what-cannot-be-decoded", entry::image_map), None);
    assert_eq!(n_read("base64_images", "plain", entry::base64_images), Some(2));
    assert_eq!(n_read("tar_images", "plain", entry::tar_images), Some(2));
    for name in ["long-names", "attributes", "compressed"] {
        assert_eq!(n_read("tar_images", name, entry::tar_images), Some(2), "{name}");
    }
    // A member that cannot be read is left out.
    for (name, n) in
        [("stored", 3), ("deflated", 3), ("checksum", 1), ("twice", 1), ("absurd-size", 1), ("zip64", 0)]
    {
        assert_eq!(n_read("zip_members", name, entry::zip_members), Some(n), "{name}");
    }
    for name in ["all", "resized-crop", "turned-and-erased"] {
        assert_eq!(n_read("image_transforms", name, entry::image_transforms), Some(3), "{name}");
    }
    assert_eq!(n_read("htk_scp", "ranges", entry::htk_scp), Some(4));
    assert_eq!(n_read("htk_scp", "windows-of-frames", entry::htk_scp), Some(8));
    assert_eq!(n_read("htk_features", "big-endian", entry::htk_features), Some(2));
    assert_eq!(n_read("htk_features", "compressed", entry::htk_features), Some(2));
    assert_eq!(n_read("speech_labels", "text", entry::speech_labels), Some(4));
    assert_eq!(n_read("speech_labels", "names", entry::speech_labels), Some(4));
    assert_eq!(n_read("speech_labels", "text-frame-by-frame", entry::speech_labels), Some(10));
    assert_eq!(n_read("speech_labels", "binary", entry::speech_labels), Some(3));
    assert_eq!(n_read("kaldi_features", "every-form", entry::kaldi_features), Some(7));
    assert_eq!(n_read("kaldi_features", "listed", entry::kaldi_features), Some(2));
    for name in ["plain", "stereo", "24-bits-in-32", "a-law", "odd-chunk", "open-size", "flac-after-a-tag"] {
        assert_eq!(n_read("recordings", name, entry::recordings), Some(2), "{name}");
    }
    for (name, n) in [("floats", 3), ("records", 2), ("big-endian", 4), ("one-example", 1), ("sequence", 1)] {
        assert_eq!(n_read("numpy_arrays", name, entry::numpy_arrays), Some(n), "{name}");
    }
    for (name, n) in [("quoted", 2), ("lines", 3), ("shard", 2), ("arff", 2), ("vw", 2)] {
        assert_eq!(n_read("text_tables", name, entry::text_tables), Some(n), "{name}");
    }
    for (name, n) in [
        ("members", 3),
        ("arrays-of-one-shape", 2),
        ("declared-ragged", 1),
        ("lacks-members", 1),
        ("wrong-array", 1),
    ] {
        assert_eq!(n_read("tar_tables", name, entry::tar_tables), Some(n), "{name}");
    }
    assert_eq!(n_read("tar_tables", "other-inner-shapes", entry::tar_tables), None);
    for (name, n) in [("windows", 4), ("overlapping", 7), ("documents", 3), ("megatron", 3), ("array", 2)] {
        assert_eq!(n_read("token_files", name, entry::token_files), Some(n), "{name}");
    }
    assert_eq!(n_read("recordings", "adpcm", entry::recordings), None);
    assert_eq!(n_read("speech_labels", "kaldi", entry::speech_labels), Some(3));
    assert_eq!(n_read("speech_labels", "kaldi-text", entry::speech_labels), Some(3));
}

#[test]
fn every_target_is_replayed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus");
    let mut targets: Vec<_> = fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name()).collect();
    targets.sort();
    assert_eq!(
        targets,
        [
            "array_record_read",
            "base64_images",
            "brainscript",
            "cbf_decode",
            "config_json",
            "ctf_decode",
            "ctf_index",
            "dataset_info_json",
            "example_decode",
            "features_json",
            "htk_features",
            "htk_scp",
            "image_decode",
            "image_map",
            "image_transforms",
            "imdecode",
            "kaldi_features",
            "numpy_arrays",
            "opencv_storage",
            "recordings",
            "resume_state",
            "speech_labels",
            "split_grammar",
            "table_convert",
            "tar_images",
            "tar_tables",
            "text_tables",
            "tfrecord_read",
            "token_files",
            "zip_members"
        ]
    );
}
