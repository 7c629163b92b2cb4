//! Bad input: random bytes, truncated and mutated files, hostile sizes. An error is a good answer; a panic, a hang, or
//! more memory than the limit is not.
//!
//! Alone in its binary: the allocator counts everything that is allocated in the process, and one test runs at a time.

mod counting;

use counting::{alone, peak};
use proptest::prelude::*;
use tesson::store::MemoryStore;
use tesson::{Error, OpenOptions};
use tesson_conformance::{binary, corpus, entry, prepared, speech};

/// The memory limit of sources in these tests.
const LIMIT: usize = 2 << 20;

/// The memory that a source may take in addition to its limit: for threads, open files, options and messages.
const BESIDE: usize = 256 << 10;

/// Reads a file to its end or to the first error, within [`LIMIT`]; returns the number of sequences.
fn read(store: &MemoryStore, rules: &str, randomize: bool, streams: &str) -> Result<usize, Error> {
    let text = format!(
        r#"{{"deserializers": [{{"type": "CNTKTextFormatDeserializer", "file": "{}", "rules": "{rules}",
            "maxErrors": 3, "chunkSizeInBytes": 4096, "input": {{{streams}}}}}],
            "maxSweeps": 2, "threads": 2, "memoryLimit": {LIMIT}, "randomize": {randomize}}}"#,
        corpus::FILE
    );
    let config = tesson::config::from_json(&text)?;
    let mut source = OpenOptions::in_store(store).open(&config)?;
    let mut n = 0;
    while let Some(minibatch) = source.next_minibatch(16)? {
        n += minibatch.n_sequences();
    }
    Ok(n)
}

const STREAMS: &str = r#""x": {"dim": 2, "format": "dense"}, "y": {"dim": 10, "format": "sparse"}"#;

/// Reads a file under both rules and in two orders; all the while the limit holds.
fn check(bytes: &[u8], streams: &str) -> Vec<Result<usize, String>> {
    check_within(LIMIT + BESIDE, bytes, streams)
}

/// Reads a file like `check`, within `bound` instead of the limit.
fn check_within(bound: usize, bytes: &[u8], streams: &str) -> Vec<Result<usize, String>> {
    let store = MemoryStore::new().with(corpus::FILE, bytes.to_vec());
    let mut answers = Vec::new();
    for rules in ["cntk", "lenient"] {
        for randomize in [false, true] {
            let (answer, most) = peak(|| read(&store, rules, randomize, streams));
            assert!(most <= bound, "{most} bytes of {bound}, {rules}, randomize {randomize}");
            answers.push(answer.map_err(|e| e.to_string()));
        }
    }
    answers
}

/// A good file.
fn good() -> Vec<u8> {
    corpus::text(&corpus::lengths()).into_bytes()
}

#[test]
fn the_allocator_counts() {
    let _alone = alone();
    let (_, most) = peak(|| drop(vec![0u8; 1 << 20]));
    assert!((1 << 20..2 << 20).contains(&most), "{most}");
}

#[test]
fn a_good_file_is_read_under_the_limit() {
    let _alone = alone();
    let n = 2 * corpus::lengths().len();
    for Format { name, good, check } in FORMATS {
        let answers = check(&good());
        // Sequences with fewer samples of one stream are right under both rules.
        assert!(answers.iter().all(|a| *a == Ok(n)), "{name}: {answers:?}");
    }
}

#[test]
fn a_file_cut_short_anywhere_is_an_answer() {
    let _alone = alone();
    for Format { good, check, .. } in FORMATS {
        let good = good();
        for end in (0..good.len()).step_by(good.len() / 150) {
            check(&good[..end]);
        }
    }
}

#[test]
fn labels_of_any_number_of_frames_take_no_memory_of_that_size() {
    let _alone = alone();
    for frames in ["400000000000", "99999", "400000000000000", "1e300"] {
        let good = String::from_utf8(speech::labels(&corpus::lengths(), 1)).expect("labels are text");
        let line = format!("\"*/7.lab\"\n0 {frames} s 1\n");
        let bytes = good.replace("\"*/7.lab\"\n", &format!("{line}.\n\"lost\"\n"));
        for answer in check_labels("HTKMLFDeserializer", bytes.as_bytes()) {
            assert!(frames == "99999" || answer.is_err_and(|e| e.contains("labels:")), "{frames}");
        }
    }
}

#[test]
fn a_row_larger_than_memory_is_refused() {
    let _alone = alone();
    let one_row =
        |what: &str| format!("1 {}\n2 |x 1 2 |y 0:1\n", what.repeat((4 << 20) / what.len())).into_bytes();
    for what in ["|x 1 2 ", "|y 0:1 ", "|z 1 ", "1", " ", "|", "|#", "|x 1 2 3 ", "x"] {
        for answer in check(&one_row(what), STREAMS) {
            assert!(answer.is_err_and(|e| e.contains("bytes, at most")), "{what}");
        }
    }
}

#[test]
fn a_file_of_nothing_but_one_byte_is_an_answer() {
    let _alone = alone();
    for byte in [0, b'\n', b' ', b'|', b'0', b'9', b'#', b'\r', 0x7f, 0x80, 0xff] {
        check(&vec![byte; 1 << 20], STREAMS);
    }
}

// A known excess, here only bounded: a row of two bytes may have three faults of a hundred bytes each, and how much
// text is decoded at once is chosen by what good text becomes.
#[test]
fn small_rows_with_many_faults_are_an_answer() {
    let _alone = alone();
    for row in ["|\n", "|x\n", "||||||||\n", "1\n", "x\n", "|y 99:1\n", "1 |x 1 2\n2 |y 1:1\n"] {
        check_within(16 * LIMIT, &row.repeat((1 << 20) / row.len()).into_bytes(), STREAMS);
    }
}

#[test]
fn a_dimension_beyond_memory_is_refused_with_its_place() {
    let _alone = alone();
    let huge = r#""x": {"dim": 4000000000000000000, "format": "dense"}, "y": {"dim": 2147483647, "format": "sparse"}"#;
    for answer in check(b"1 |x 1 |y 2147483646:1\n", huge) {
        let what = answer.unwrap_err();
        assert!(!what.is_empty());
    }
}

#[test]
fn numbers_with_many_digits_are_an_answer() {
    let _alone = alone();
    for number in ["9", "0.", "1e", "0.0", "-", "+", "1e-"] {
        let long = format!("{number}{}", "9".repeat(300_000));
        check(
            format!("1 |x {long} 1 |y 3:{long}\n2 |x 1 2 |y {long}:1\n{long} |x 1 2 |y 1:1\n").as_bytes(),
            STREAMS,
        );
    }
}

#[test]
fn hostile_sizes_of_states_allocate_nothing() {
    let _alone = alone();
    let state = corpus_state();
    // The flag of consumed layers, then wild counts of layers and ranks.
    let mut bytes = state.clone();
    bytes[6] |= 16;
    let end = bytes.len() - 8;
    for wild in [u64::MAX, 1 << 40, 1 << 20] {
        let mut wild_state = bytes[..end].to_vec();
        wild_state.extend(wild.to_le_bytes());
        wild_state.extend(wild.to_le_bytes());
        wild_state.extend(&bytes[end..]);
        let (_, most) = peak(|| entry::resume_state(&wild_state));
        assert!(most < BESIDE, "{most}");
    }
}

/// The binary state after a minibatch.
fn corpus_state() -> Vec<u8> {
    let store = corpus::store(&corpus::text(&[1, 2, 3]));
    let mut source = OpenOptions::in_store(&*store)
        .open(&corpus::config(r#""randomize": true"#))
        .expect("the data are right");
    source.next_minibatch(2).expect("the data are right");
    source.state().to_bytes()
}

/// Reads a binary file in two orders, within the limit.
fn check_binary(bytes: &[u8]) -> Vec<Result<usize, String>> {
    let store = MemoryStore::new().with("f.cbf", bytes.to_vec());
    check_orders(&store, r#"{"type": "CNTKBinaryFormatDeserializer", "file": "f.cbf"}"#)
}

/// Reads a list of features and the archive that it lists in two orders, as utterances.
fn check_features(list: &[u8], archive: &[u8]) -> Vec<Result<usize, String>> {
    let store = MemoryStore::new().with("all.scp", list.to_vec()).with("all.htk", archive.to_vec());
    let deserializer = r#"{"type": "HTKFeatureDeserializer",
        "input": {"x": {"scpFile": "all.scp", "dim": 2, "contextWindow": "2:1", "chunkSizeInFrames": 100}}}"#;
    check_orders(&store, deserializer)
}

/// Reads labels beside good features in two orders, within the limit.
fn check_labels(kind: &str, bytes: &[u8]) -> Vec<Result<usize, String>> {
    let (archive, list) = good_features();
    let store =
        MemoryStore::new().with("all.scp", list).with("all.htk", archive).with("labels", bytes.to_vec());
    let features = r#"{"type": "HTKFeatureDeserializer",
        "input": {"x": {"scpFile": "all.scp", "dim": 2, "chunkSizeInFrames": 100}}}"#;
    let labels = format!(
        r#"{{"type": "{kind}", "chunkSizeInBytes": 700, "input": {{"y": {{"mlfFile": "labels", "dim": 10}}}}}}"#
    );
    check_orders(&store, &format!("{features}, {labels}"))
}

/// Reads alignments beside good features in two orders, within the limit.
fn check_alignments(bytes: &[u8]) -> Vec<Result<usize, String>> {
    let (archive, list) = good_features();
    let store = MemoryStore::new().with("all.scp", list).with("all.htk", archive).with("ark", bytes.to_vec());
    let both = r#"{"type": "HTKFeatureDeserializer",
            "input": {"x": {"scpFile": "all.scp", "dim": 2, "chunkSizeInFrames": 100}}},
        {"type": "KaldiAlignmentDeserializer", "chunkSizeInBytes": 700, "input": {"y": {"arkFile": "ark", "dim": 10}}}"#;
    check_orders(&store, both)
}

/// A good archive of alignments, in binary or as text.
fn good_alignments(is_binary: bool) -> Vec<u8> {
    let mut archive = Vec::new();
    for (i, &length) in corpus::lengths().iter().enumerate() {
        archive.extend(format!("{i} ").into_bytes());
        let class = i as i32 % 10;
        if is_binary {
            archive.extend(b"\0B\x04");
            archive.extend(length.to_le_bytes());
            (0..length).for_each(|_| archive.extend([&[4][..], &class.to_le_bytes()].concat()));
        } else {
            (0..length).for_each(|_| archive.extend(format!("{class} ").into_bytes()));
            archive.push(b'\n');
        }
    }
    archive
}

/// Reads an archive of matrices in two orders, within the limit.
fn check_matrices(bytes: &[u8]) -> Vec<Result<usize, String>> {
    let store = MemoryStore::new().with("ark", bytes.to_vec());
    let features = r#"{"type": "KaldiFeatureDeserializer",
        "input": {"x": {"arkFile": "ark", "dim": 2, "chunkSizeInFrames": 100}}}"#;
    check_orders(&store, features)
}

/// A good archive of matrices.
fn good_matrices() -> Vec<u8> {
    let [(_, first), (_, second), _] = speech::matrices(&corpus::lengths());
    [first, second].concat()
}

/// The good archive of features and its list.
fn good_features() -> (Vec<u8>, Vec<u8>) {
    speech::one_archive(&corpus::lengths())
}

/// Reads all sequences of a deserializer in two orders, within the limit.
fn check_orders(store: &MemoryStore, deserializer: &str) -> Vec<Result<usize, String>> {
    let read = |randomize: bool| {
        let text = format!(
            r#"{{"deserializers": [{deserializer}],
                "maxSweeps": 2, "threads": 2, "memoryLimit": {LIMIT}, "randomize": {randomize}}}"#
        );
        let mut source = OpenOptions::in_store(store).open(&tesson::config::from_json(&text)?)?;
        let mut n = 0;
        while let Some(minibatch) = source.next_minibatch(16)? {
            n += minibatch.n_sequences();
        }
        Ok::<_, Error>(n)
    };
    let checked = |randomize| {
        let (answer, most) = peak(|| read(randomize));
        assert!(most <= LIMIT + BESIDE, "{most} bytes, randomize {randomize}");
        answer.map_err(|e| e.to_string())
    };
    [false, true].map(checked).into()
}

/// The good file in CNTK's binary format, in chunks of about a kilobyte.
fn good_binary() -> Vec<u8> {
    binary::of(&corpus::text(&corpus::lengths()), corpus::CHUNK_BYTES)
}

/// Reads the only shard of a split of a prepared dataset in two orders, within the limit.
fn check_prepared(folder: &str, bytes: &[u8]) -> Vec<Result<usize, String>> {
    let described = prepared::descriptions().into_iter();
    let described = described.fold(MemoryStore::new(), |store, (name, bytes)| store.with(&name, bytes));
    let store = described.with(prepared::whole(folder), bytes.to_vec());
    let deserializer = format!(
        r#"{{"type": "TFDSDeserializer", "directory": "{folder}", "split": "whole",
            "input": {{"x": {{}}, "y": {{"format": "sparse"}}}}}}"#
    );
    check_orders(&store, &deserializer)
}

/// A format: a good file of [`corpus::lengths`], and a function that reads such files within the limit, in several
/// ways.
struct Format {
    name: &'static str,
    good: fn() -> Vec<u8>,
    check: fn(&[u8]) -> Vec<Result<usize, String>>,
}

const FORMATS: &[Format] = &[
    Format { name: "text", good, check: |bytes| check(bytes, STREAMS) },
    Format { name: "binary", good: good_binary, check: check_binary },
    Format {
        name: "prepared",
        good: || prepared::tfrecord(&prepared::examples(&corpus::text(&corpus::lengths()))),
        check: |bytes| check_prepared(prepared::FOLDER, bytes),
    },
    Format {
        name: "prepared-array-record",
        good: || prepared::array_record(&prepared::examples(&corpus::text(&corpus::lengths()))),
        check: |bytes| check_prepared(prepared::ARRAY_RECORD_FOLDER, bytes),
    },
    Format {
        name: "htk-list",
        good: || good_features().1,
        check: |bytes| check_features(bytes, &good_features().0),
    },
    Format {
        name: "htk-archive",
        good: || good_features().0,
        check: |bytes| check_features(&good_features().1, bytes),
    },
    Format {
        name: "mlf",
        good: || speech::labels(&corpus::lengths(), 1),
        check: |bytes| check_labels("HTKMLFDeserializer", bytes),
    },
    Format {
        name: "mlf-binary",
        good: || speech::binary_labels(&corpus::lengths(), 1),
        check: |bytes| check_labels("HTKMLFBinaryDeserializer", bytes),
    },
    Format { name: "kaldi-features", good: good_matrices, check: check_matrices },
    Format { name: "kaldi-alignments", good: || good_alignments(true), check: check_alignments },
    Format { name: "kaldi-alignments-text", good: || good_alignments(false), check: check_alignments },
    Format { name: "image-map", good: good_map, check: |bytes| check_images("ImageDeserializer", bytes) },
    Format {
        name: "base64-image",
        good: good_base64,
        check: |bytes| check_images("Base64ImageDeserializer", bytes),
    },
];

/// An image of two pixels, as a file.
fn pixels(value: u8) -> Vec<u8> {
    [b"P6 2 1 255\n", &[value; 6][..]].concat()
}

/// Reads the images that a deserializer's file lists, in two orders, within the limit.
fn check_images(kind: &str, bytes: &[u8]) -> Vec<Result<usize, String>> {
    let store =
        MemoryStore::new().with("list", bytes.to_vec()).with("0.ppm", pixels(0)).with("1.ppm", pixels(1));
    let deserializer = format!(
        r#"{{"type": "{kind}", "file": "list", "input": {{"x": {{"transforms": []}}, "y": {{"labelDim": 10}}}}}}"#
    );
    check_orders(&store, &deserializer)
}

/// A map of as many images as the good file has sequences.
fn good_map() -> Vec<u8> {
    let lines = (0..corpus::lengths().len()).map(|i| format!("{i}\t{}.ppm\t{}\n", i % 2, i % 10));
    lines.collect::<String>().into_bytes()
}

/// A list of the images in Base64.
fn good_base64() -> Vec<u8> {
    let texts = ["UDYgMiAxIDI1NQoAAAAAAAA=", "UDYgMiAxIDI1NQoBAQEBAQE="];
    let lines = (0..corpus::lengths().len()).map(|i| format!("{i}\t{}\t{}\n", i % 10, texts[i % 2]));
    lines.collect::<String>().into_bytes()
}

/// Reads one image that a map lists, within the limit.
fn check_image(bytes: &[u8], options: &str) -> Result<(), String> {
    let store = MemoryStore::new().with("list", *b"x.bin\t0\n").with("x.bin", bytes.to_vec());
    read_image(&store, options)
}

fn read_image(store: &MemoryStore, options: &str) -> Result<(), String> {
    let text = format!(
        r#"{{"deserializers": [{{"type": "ImageDeserializer", "file": "list", "maxPixels": 65536 {options},
            "input": {{"x": {{"transforms": [{{"type": "Scale", "width": 2, "height": 2, "channels": 3}}]}},
                "y": {{"labelDim": 1}}}}}}], "maxSweeps": 1, "memoryLimit": {LIMIT}, "threads": 1}}"#
    );
    let read =
        || OpenOptions::in_store(store).open(&tesson::config::from_json(&text)?)?.next_minibatch(1).map(drop);
    let (answer, most) = peak(read);
    assert!(most <= LIMIT + BESIDE, "{most} bytes");
    answer.map_err(|e| e.to_string())
}

/// The files of a fuzz target's corpus for images, without the byte of options.
fn image_files() -> Vec<(String, Vec<u8>)> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus/imdecode");
    let entries = std::fs::read_dir(folder).expect("the corpus is there").map(|entry| entry.expect("a file"));
    let file = |entry: std::fs::DirEntry| {
        let bytes = std::fs::read(entry.path()).expect("the corpus can be read");
        (entry.file_name().to_string_lossy().into_owned(), bytes[1..].to_vec())
    };
    let mut files: Vec<_> = entries.map(file).collect();
    files.sort();
    files
}

#[test]
fn images_whose_headers_lie_are_refused_with_file_and_line_before_they_take_memory() {
    let _alone = alone();
    let mut refused = 0;
    for (name, bytes) in image_files() {
        let lies = ["-huge", "-lie", "-bomb", "-negative", "-header", "-digits", "nothing"];
        if let Err(error) = check_image(&bytes, "") {
            refused += 1;
            assert!(error.starts_with("x.bin") && error.contains("line 1 of list"), "{name}: {error}");
        } else {
            assert!(!lies.iter().any(|end| name.ends_with(end)), "{name} is read");
        }
        assert_eq!(check_image(&bytes, r#", "onCorruptImage": "skip""#), Ok(()), "{name} is left out");
        let _any = check_image(&bytes, r#", "onCorruptImage": "accept""#);
    }
    assert!(refused >= 12, "{refused}");
}

#[test]
fn images_cut_short_or_changed_anywhere_are_an_answer() {
    let _alone = alone();
    for (_, mut bytes) in image_files() {
        for end in (0..bytes.len()).step_by(bytes.len() / 40 + 1) {
            let _any = check_image(&bytes[..end], "");
        }
        for at in (0..bytes.len()).step_by(bytes.len() / 40 + 1) {
            let before = std::mem::replace(&mut bytes[at], 0xff);
            let _any = check_image(&bytes, "");
            bytes[at] = before;
        }
    }
}

#[test]
fn a_member_of_an_archive_that_becomes_larger_than_it_says_is_refused() {
    let _alone = alone();
    // A stored member of 2^32 - 1 bytes in an archive of a hundred.
    let name = b"a.ppm";
    let sizes = [u32::MAX.to_le_bytes(), u32::MAX.to_le_bytes()].concat();
    let local = [&b"PK\x03\x04\x14\0\0\0\0\0\0\0\0\0\0\0\0\0"[..], &sizes, &[5, 0, 0, 0], name].concat();
    let central = [
        &b"PK\x01\x02\x14\0\x14\0\0\0\0\0\0\0\0\0\0\0\0\0"[..],
        &sizes,
        &[5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        &0_u32.to_le_bytes(),
        name,
    ]
    .concat();
    let end = [
        &b"PK\x05\x06\0\0\0\0\x01\0\x01\0"[..],
        &(central.len() as u32).to_le_bytes(),
        &(local.len() as u32).to_le_bytes(),
        &[0, 0],
    ]
    .concat();
    let archive = [local, central, end].concat();
    let store = MemoryStore::new().with("list", *b"z.zip@/a.ppm\t0\n").with("z.zip", archive);
    let error = read_image(&store, "").expect_err("nothing of it is there");
    assert!(error.starts_with("z.zip") && error.contains("line 1 of list"), "{error}");
}

#[test]
fn of_a_binary_file_cut_short_nothing_is_read() {
    let _alone = alone();
    let good = good_binary();
    for end in (0..good.len()).step_by(good.len() / 50) {
        assert!(check_binary(&good[..end]).iter().all(Result::is_err), "{end}");
    }
}

#[test]
fn wild_numbers_in_a_binary_file_are_an_answer() {
    let _alone = alone();
    let good = good_binary();
    for at in (8..good.len() - 4).step_by(101) {
        for wild in [u32::MAX, 1 << 31, 1 << 24, 0] {
            let mut bytes = good.clone();
            bytes[at..at + 4].copy_from_slice(&wild.to_le_bytes());
            check_binary(&bytes);
        }
    }
}

/// Bytes that mean something in text, with others between them.
fn tokens() -> impl Strategy<Value = Vec<u8>> {
    let token = prop_oneof![
        4 => prop::sample::select(vec!["|a ", "|s ", "|b ", "|", "|#", " ", "\n", "\t", "\r\n", "1", "2 ", "3:1 ", "4:-2.5 "]),
        2 => prop::sample::select(vec!["-", "+", ".", "1e5", "1e400", "9:1", "0 1", "18446744073709551616", "7\n7 |a 1"]),
        1 => prop::sample::select(vec!["\0", "\u{7f}", "\u{ff}", "\u{feff}", "é", "\u{b}", "#", ":"]),
    ];
    prop::collection::vec(token, 0..60).prop_map(|tokens| tokens.concat().into_bytes())
}

/// The tokens of BrainScript.
const BRAINSCRIPT: &[&str] = &[
    "[",
    "]",
    "{",
    "}",
    "(",
    ")",
    "=",
    ":",
    ";",
    ",",
    "\n",
    " ",
    "\"",
    "$",
    "#",
    "//",
    "*3",
    "*0",
    "a",
    "B",
    "1",
    "true",
    "$a$",
    "$B$",
    "reader = [",
    "file = f",
    "readerType = ImageReader",
    "readerType = HTKMLFReader",
    "width = 3",
    "labelDim = 2",
    "scpFile = s",
    "input = [ x = [",
    "dim = 3",
    "format = dense",
    "deserializers = (",
    "transforms = (",
    "type = CNTKTextFormatDeserializer",
    "type = HTKFeatureDeserializer",
    "type = Crop",
    "sideRatio = 0.5:1",
    "minibatchSize = 1*2:3",
    "randomizationWindow = 3",
    "x NetworkBuilder = ",
    "include=",
    "default",
    "SGD = [",
];

/// The tokens of splits.
const SPLITS: &[&str] = &[
    "train",
    "test",
    "none",
    "hundreds",
    "all",
    "[",
    "]",
    ":",
    "%",
    "shard",
    "+",
    " ",
    "-",
    "_",
    ".",
    "0",
    "1",
    "7",
    "50",
    "99",
    "100",
    "9223372036854775807",
    "é",
    "[:",
    "%:",
    "shard:",
];

/// Descriptions of datasets that have something of everything.
const DESCRIPTION: &str = r#"{"name": "d", "version": "1.0.0", "fileFormat": "tfrecord", "splits": [
    {"name": "train", "shardLengths": ["3", 0, "12"], "filepathTemplate": "{SPLIT}/{DATASET}.{FILEFORMAT}-{SHARD_X_OF_Y}"},
    {"name": "test", "shard_lengths": [9223372036854775], "numBytes": "77"}],
    "supervisedKeys": {"tuple": {"items": [{"featureKey": "a"}, {"dict": {"dict": {"k": {"featureKey": "b"}}}}]}}}"#;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn random_bytes_are_an_answer(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        let _alone = alone();
        check(&bytes, STREAMS);
    }

    #[test]
    fn good_files_with_some_bytes_changed_are_an_answer(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20)
    ) {
        let _alone = alone();
        for Format { good, check, .. } in FORMATS {
            let mut bytes = good();
            for (at, byte) in &changes {
                let at = at.index(bytes.len());
                bytes[at] = *byte;
            }
            check(&bytes);
        }
    }

    #[test]
    fn images_with_some_bytes_changed_are_an_answer(
        choice: u8,
        file in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let _alone = alone();
        let files = image_files();
        let mut bytes = file.get(&files).1.clone();
        for (at, byte) in changes {
            if !bytes.is_empty() {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
        }
        entry::imdecode(&[&[choice], &bytes[..]].concat());
    }

    #[test]
    fn binary_files_with_some_bytes_changed_are_decoded_the_same_in_all_ways(
        choice: u8,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
    ) {
        let _alone = alone();
        let mut bytes = good_binary();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        entry::cbf_decode(&[&[choice], &bytes[..]].concat());
    }

    #[test]
    fn any_text_is_decoded_the_same_in_pieces_in_chunks_and_by_itself(choice: u8, text in tokens()) {
        let _alone = alone();
        entry::ctf_decode(&[&[choice], &text[..]].concat());
    }

    #[test]
    fn any_text_is_indexed_the_same_on_any_number_of_cores(choice: u8, text in tokens()) {
        let _alone = alone();
        entry::ctf_index(&[&[choice], &text[..]].concat());
    }

    #[test]
    fn any_bytes_are_a_configuration_or_none(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _alone = alone();
        entry::config_json(&bytes);
    }

    #[test]
    fn any_brainscript_is_a_configuration_or_none(
        words in prop::collection::vec(prop::sample::select(BRAINSCRIPT), 0..60),
    ) {
        let _alone = alone();
        entry::brainscript(words.concat().as_bytes());
    }

    #[test]
    fn any_split_is_a_plan_or_none(words in prop::collection::vec(prop::sample::select(SPLITS), 0..12)) {
        let _alone = alone();
        let text = words.concat();
        let (_, most) = peak(|| entry::split_grammar(text.as_bytes()));
        assert!(most < BESIDE, "{most} bytes for {text}");
    }

    #[test]
    fn descriptions_with_some_bytes_changed_are_taken_or_refused(
        changes in prop::collection::vec((any::<prop::sample::Index>(), prop::sample::select(&b"019-.,:{}[]\"xE"[..])), 1..4),
    ) {
        let _alone = alone();
        let mut bytes = DESCRIPTION.as_bytes().to_vec();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let (_, most) = peak(|| entry::dataset_info_json(&bytes));
        assert!(most < BESIDE, "{most} bytes for {}", String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn a_state_with_some_bytes_changed_is_taken_or_refused(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        keep in any::<prop::sample::Index>(),
    ) {
        let _alone = alone();
        let mut bytes = corpus_state();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        bytes.truncate(bytes.len() - keep.index(bytes.len()) / 4);
        entry::resume_state(&bytes);
    }
}
