//! Every fault of the text format names its location: file, line, byte, stream and key.

#![forbid(unsafe_code)]

use std::path::Path;

use tesson::store::MemoryStore;
use tesson::{DataError, Error, Key, OpenOptions, Source};
use tesson_conformance::{binary, corpus};
use tesson_core::DataErrorKind as Kind;
use tesson_formats::ctf::CtfFault;

const FILE: &str = "train.ctf";

/// Reads minibatches and returns the result; a pass over the file must return the same.
fn read(options: &str, bytes: &[u8]) -> Result<(), Error> {
    let read = with(options, bytes, |source| {
        while source.next_minibatch(1)?.is_some() {}
        Ok(())
    });
    let passed = with(options, bytes, |source| source.pass(|_| (), |()| Ok(())));
    assert_eq!(format!("{read:?}"), format!("{passed:?}"), "{options} {}", bytes.escape_ascii());
    read
}

fn with(
    options: &str,
    bytes: &[u8],
    read: impl FnOnce(&mut Source) -> Result<(), Error>,
) -> Result<(), Error> {
    let text = format!(
        r#"{{"deserializers": [{{"type": "CNTKTextFormatDeserializer", "file": "{FILE}", {options} "input": {{
            "A": {{"alias": "a", "dim": 2, "format": "dense"}}, "S": {{"alias": "s", "dim": 5, "format": "sparse"}}}}}}],
            "randomize": false, "maxSweeps": 1}}"#
    );
    let config = tesson::config::from_json(&text).expect("the test's configuration is right");
    read(&mut OpenOptions::in_store(&MemoryStore::new().with(FILE, bytes.to_vec())).open(&config)?)
}

fn fault(options: &str, bytes: &[u8]) -> DataError {
    match read(options, bytes) {
        Err(Error::Data(e)) => e,
        other => panic!("{:?} instead of a fault of {}", other, bytes.escape_ascii()),
    }
}

/// Reads a file under the reference's rules and compares all that the error says.
fn check(
    bytes: &[u8],
    kind: impl Into<Kind>,
    line: u64,
    offset: u64,
    stream: Option<&str>,
    key: Option<u64>,
) {
    let e = fault(r#""rules": "cntk","#, bytes);
    // Without a budget the fault that ends reading is one more than 0.
    let found = match e.kind() {
        Kind::BudgetSpent { last, budget: 0, .. } => last,
        other => other,
    };
    let shown = bytes.escape_ascii();
    assert_eq!(found, &kind.into(), "{shown}");
    assert_eq!(&*e.at().file, Path::new(FILE), "{shown}");
    assert_eq!((e.at().line, e.at().offset), (Some(line), offset), "line and offset of {shown}");
    assert_eq!((e.stream(), e.key()), (stream, key.map(Key::Number).as_ref()), "stream and key of {shown}");
    let place = format!("{FILE}:{line} (byte {offset})");
    assert!(e.to_string().starts_with(&place), "{e}");
}

fn text(t: &str) -> String {
    t.to_string()
}

#[test]
fn a_faulty_sample_is_told_with_stream_and_key() {
    let good = b"7 |a 1 2 |s 0:1\n";
    let after = |row: &str| [&good[..], row.as_bytes()].concat();
    check(&after("8 |a 1 2 3 |s 0:1\n"), CtfFault::TooManyValues { dim: 2 }, 2, 25, Some("A"), Some(8));
    check(&after("8 |a 1 x |s 0:1\n"), CtfFault::BadNumber { found: text("x") }, 2, 23, Some("A"), Some(8));
    check(&after("8 |a 1 2 |s 0:\n"), CtfFault::BadPair { found: text("0:") }, 2, 28, Some("S"), Some(8));
    check(&after("8 |a 1 2 |s 01\n"), CtfFault::BadPair { found: text("01") }, 2, 28, Some("S"), Some(8));
    check(
        &after("8 |a 1 2 |s 5:1\n"),
        Kind::IndexOutOfRange { index: text("5"), dim: 5 },
        2,
        28,
        Some("S"),
        Some(8),
    );
}

#[test]
fn a_faulty_row_is_told_with_its_key() {
    check(
        b"7 |a 1 2 |s 0:1\n7 x |a 1 2 |s 0:1\n",
        CtfFault::StrayText { found: text("x") },
        2,
        18,
        None,
        Some(7),
    );
    check(b"7 |a 1 2 |s 0:1\n7 | |a 1 2 |s 0:1\n", CtfFault::UnnamedInput, 2, 18, None, Some(7));
    check(b"7 |a 1 2 |s 0:1\n\n", CtfFault::RowWithoutSample, 2, 16, None, Some(7));
}

#[test]
fn a_sequence_whose_inputs_do_not_fit_its_rows_is_told_with_its_key() {
    let more = CtfFault::MoreSamplesThanRows { samples: 2, rows: 1 };
    check(b"7 |a 1 2 |s 0:1\n8 |a 1 2 |a 3 4 |s 0:1\n", more, 2, 16, Some("A"), Some(8));
    let fewer = CtfFault::FewerSamplesThanRows { samples: 1, rows: 2 };
    check(b"7 |a 1 2 |s 0:1\n8 |a 1 2 \n8 |s 0:1\n", fewer, 2, 16, None, Some(8));
    check(b"7 |a 1 2 |s 0:1\n8 |a 1 2\n", CtfFault::EmptyInput, 2, 16, Some("S"), Some(8));
}

#[test]
fn a_file_that_cannot_be_text_is_told_with_its_place() {
    check(b"", Kind::EmptyFile, 1, 0, None, None);
    check(b" \n\t\n", Kind::EmptyFile, 1, 0, None, None);
    check(b"\xff\xfe1\0", CtfFault::Utf16, 1, 0, None, None);
    check(b"\n x |a 1 2\n", CtfFault::ExpectedSequenceId { found: b'x' }, 2, 2, None, None);
    let digits = "18446744073709551616";
    let bytes = format!("7 |a 1 2 |s 0:1\n{digits} |a 1 2 |s 0:1\n");
    check(bytes.as_bytes(), CtfFault::IdOverflow { found: text(digits) }, 2, 16, None, None);
}

#[test]
fn keys_and_lines_are_right_without_ids_and_beyond_the_first_chunk() {
    let row = "|a 1 2 |s 0:1\n";
    let bytes = format!("{}|a 1 2 |s 9:1\n", row.repeat(100));
    for options in [r#""chunkSizeInBytes": 50, "rules": "cntk","#, r#""rules": "cntk","#] {
        let e = fault(options, bytes.as_bytes());
        assert_eq!((e.at().line, e.at().offset), (Some(101), 1410), "{options}");
        assert_eq!((e.stream(), e.key()), (Some("S"), Some(&Key::Number(100))), "{options}");
    }
}

#[test]
fn the_fault_that_spends_the_budget_says_how_large_it_was() {
    let bytes = b"7 |a 1 2 3 |s 0:1\n7 |a 1 2 |s 0:1\n8 |a x |s 0:1\n8 |a 1 2 |s 0:1\n";
    let e = fault(r#""maxErrors": 1,"#, bytes);
    assert!(matches!(e.kind(), Kind::BudgetSpent { budget: 1, .. }), "{e}");
    assert_eq!((e.at().line, e.key()), (Some(3), Some(&Key::Number(8))));
    assert!(read(r#""maxErrors": 2,"#, bytes).is_ok());
}

#[test]
fn a_missing_file_is_told_with_its_name() {
    let text = r#"{"deserializers": [{"type": "CNTKTextFormatDeserializer", "file": "nowhere.ctf",
        "input": {"A": {"dim": 2, "format": "dense"}}}]}"#;
    let config = tesson::config::from_json(text).expect("the test's configuration is right");
    match OpenOptions::in_store(&MemoryStore::new()).open(&config) {
        Err(Error::Store(e)) => assert_eq!(&*e.file, Path::new("nowhere.ctf")),
        other => panic!("{:?}", other.err()),
    }
}

/// The faults that a check of binary files lists.
fn checked(files: &[&[u8]]) -> Vec<String> {
    let names: Vec<String> = (0..files.len()).map(|i| format!("{i}.cbf")).collect();
    let store =
        names.iter().zip(files).fold(MemoryStore::new(), |store, (name, bytes)| store.with(name, *bytes));
    let text = format!(
        r#"{{"deserializers": [{{"type": "CNTKBinaryFormatDeserializer", "file": {names:?}}}],
        "randomize": false, "maxSweeps": 1}}"#
    );
    let config = tesson::config::from_json(&text).expect("the test's configuration is right");
    let mut source = OpenOptions::in_store(&store).open(&config).expect("the headers are right");
    let mut found = Vec::new();
    let checked = source.check(&mut |error, _| found.push(error.to_string())).expect("they can be read");
    let sequences = 240 * files.len() as u64;
    assert_eq!((checked.sequences, checked.faults + checked.notes), (sequences, found.len() as u64));
    found
}

#[test]
fn a_check_lists_all_defects_of_a_binary_file_beyond_lengths_that_do_not_add_up() {
    let mut bytes = binary::of(&corpus::text(&corpus::lengths()), corpus::CHUNK_BYTES);
    assert_eq!(checked(&[&bytes]), Vec::<String>::new());
    let [first, second, third] = [1, 2, 3].map(|chunk| chunk_at(&bytes, chunk));
    // The first length of a chunk, the first record of another, and a length and a record of a third one.
    bytes[first] += 1;
    let n_sequences = n_sequences(&bytes, 2);
    bytes[second + 4 * n_sequences] = 0xff;
    bytes[third] += 2;
    let found = checked(&[&bytes]);
    let parts = [
        "the lengths in front of chunk 1 add up to",
        "the lengths in front of chunk 3 add up to",
        "the sequence counts as",
        "chunk 2 is damaged",
        "the sequence counts as",
    ];
    assert_eq!(found.len(), parts.len(), "{found:#?}");
    assert!(found.iter().zip(parts).all(|(found, part)| found.contains(part)), "{found:#?}");
}

#[test]
fn a_check_of_several_binary_files_lists_the_lengths_that_do_not_add_up_in_all_of_them() {
    let whole = binary::of(&corpus::text(&corpus::lengths()), corpus::CHUNK_BYTES);
    let broken = |chunk: usize| {
        let mut bytes = whole.clone();
        bytes[chunk_at(&whole, chunk)] += 1;
        bytes
    };
    let found = checked(&[&broken(1), &whole, &broken(3)]);
    let parts = [
        ("0.cbf", "the lengths in front of chunk 1 add up to"),
        ("2.cbf", "the lengths in front of chunk 3 add up to"),
        ("0.cbf", "the sequence counts as"),
        ("2.cbf", "the sequence counts as"),
    ];
    assert_eq!(found.len(), parts.len(), "{found:#?}");
    let matches =
        |(found, (file, what)): (&String, (&str, &str))| found.starts_with(file) && found.contains(what);
    assert!(found.iter().zip(parts).all(matches), "{found:#?}");
}

/// A number of the chunk table's entry: eight bytes from `at` on.
fn entry(bytes: &[u8], chunk: usize, at: usize) -> u64 {
    let eight = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
    let header = eight(bytes.len() - 8) as usize;
    // Two streams of eleven bytes each.
    eight(header + 16 + 22 + 16 * chunk + at)
}

fn chunk_at(bytes: &[u8], chunk: usize) -> usize {
    entry(bytes, chunk, 0) as usize
}

fn n_sequences(bytes: &[u8], chunk: usize) -> usize {
    entry(bytes, chunk, 8) as u32 as usize
}
