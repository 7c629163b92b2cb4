//! Kaldi's matrices as features: every form of them, script files, parts, windows, frames, and what is wrong with them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tesson::store::Store;
use tesson::{Error, Minibatch};
use tesson_engine::store::{FakeStore, InjectedFault};

use crate::kit::{self, keys, read_all, sequences, store_of};

/// An utterance of so many frames of two values.
fn rows(first: f32, n: usize) -> Vec<[f32; 2]> {
    (0..n).map(|i| [first + i as f32, -(i as f32) / 2.0]).collect()
}

/// The sizes of a matrix that is not compressed.
fn sizes(rows: usize) -> Vec<u8> {
    [&b"\x04"[..], &(rows as i32).to_le_bytes(), b"\x04", &2i32.to_le_bytes()].concat()
}

fn fm(rows: &[[f32; 2]]) -> Vec<u8> {
    let values = rows.iter().flatten().flat_map(|x| x.to_le_bytes()).collect();
    [b"\0BFM ".to_vec(), sizes(rows.len()), values].concat()
}

fn dm(rows: &[[f32; 2]]) -> Vec<u8> {
    let values = rows.iter().flatten().flat_map(|&x| f64::from(x).to_le_bytes()).collect();
    [b"\0BDM ".to_vec(), sizes(rows.len()), values].concat()
}

fn text(rows: &[[f32; 2]]) -> Vec<u8> {
    let lines: Vec<String> = rows.iter().map(|[a, b]| format!("  {a} {b}")).collect();
    format!("[\n{} ]\n", lines.join("\n")).into_bytes()
}

/// A compressed matrix from -1 to 2 of so many rows of two values.
fn compressed(name: &str, n_rows: i32, values: &[u8]) -> Vec<u8> {
    let head = [(-1f32).to_le_bytes(), 3f32.to_le_bytes(), n_rows.to_le_bytes(), 2i32.to_le_bytes()].concat();
    [format!("\0B{name} ").as_bytes(), &head, values].concat()
}

/// An archive, and where each matrix begins.
fn archive(entries: &[(&str, Vec<u8>)]) -> (Vec<u8>, Vec<usize>) {
    let (mut bytes, mut offsets) = (Vec::new(), Vec::new());
    for (key, matrix) in entries {
        bytes.extend_from_slice(key.as_bytes());
        bytes.push(b' ');
        offsets.push(bytes.len());
        bytes.extend_from_slice(matrix);
    }
    (bytes, offsets)
}

#[test]
fn patterns_within_streams_are_their_files() {
    let folder = crate::kit::folder("kaldi-pattern");
    for (i, name) in ["part-0.ark", "part-1.ark"].iter().enumerate() {
        let (bytes, _) = archive(&[(&format!("u{i}"), fm(&rows(i as f32, 2)))]);
        std::fs::write(folder.join(name), bytes).expect("the folder can be written");
    }
    for pattern in ["part-*.ark", "part-{0..1}.ark"] {
        let file = folder.join(pattern);
        let json = format!(
            r#"{{"deserializers": [{{"type": "KaldiFeatureDeserializer", "input": {{"x": {{"arkFile": {file:?},
                "dim": 2}}}}}}], "randomize": false, "maxSweeps": 1}}"#
        );
        let config = tesson::config::from_json(&json).expect("the test's configuration is right");
        let mut source = tesson::open(&config).expect("the files are right");
        assert_eq!(source.num_sequences().expect("the files are right"), 2, "{pattern}");
    }
}

/// Of each sequence its key and its values.
type Found = Vec<(String, Vec<f64>)>;

fn found(minibatch: &Minibatch) -> Found {
    keys(minibatch).into_iter().zip(sequences(minibatch, "x")).collect()
}

fn read(files: &[(&str, Vec<u8>)], stream: &str, reader: &str) -> Result<Found, Error> {
    let json = format!(
        r#"{{"deserializers": [{{"type": "KaldiFeatureDeserializer", "input": {{"x": {{"dim": 2, {stream}}}}}}}],
            "randomize": false, "maxSweeps": 1{reader}}}"#
    );
    let store = store_of(files.iter().map(|(name, bytes)| (name, bytes)));
    Ok(read_all(&mut kit::open(&store, &json)?, 3, found)?.concat())
}

fn flat(rows: &[[f32; 2]]) -> Vec<f64> {
    rows.iter().flatten().copied().map(f64::from).collect()
}

#[test]
fn matrices_of_every_plain_form_are_features() {
    let (a, b) = (rows(1.0, 3), rows(10.0, 2));
    let expected: Found = vec![("a".into(), flat(&a)), ("b".into(), flat(&b))];
    for [first, second] in [[fm(&a), dm(&b)], [text(&a), fm(&b)], [dm(&a), text(&b)]] {
        let (bytes, offsets) = archive(&[("a", first), ("b", second)]);
        let list = format!("a x.ark:{}\n\nb x.ark:{}\n", offsets[0], offsets[1]).into_bytes();
        let files = [("x.ark", bytes), ("x.scp", list)];
        assert_eq!(read(&files, r#""arkFile": "x.ark""#, "").unwrap(), expected);
        assert_eq!(read(&files, r#""scpFile": "x.scp""#, "").unwrap(), expected);
    }
}

#[test]
fn vectors_are_matrices_of_one_row_and_archives_may_be_several() {
    let vector = [&b"\0BFV \x04"[..], &2i32.to_le_bytes(), &7f32.to_le_bytes(), &8f32.to_le_bytes()].concat();
    let (first, _) = archive(&[("v", vector)]);
    let (second, _) = archive(&[("w", b"[ 1 2 ]\n".to_vec())]);
    let files = [("1.ark", first), ("2.ark", second)];
    let expected: Found = vec![("v".into(), vec![7.0, 8.0]), ("w".into(), vec![1.0, 2.0])];
    assert_eq!(read(&files, r#""arkFile": ["1.ark", "2.ark"]"#, "").unwrap(), expected);
}

#[test]
fn compressed_matrices_are_spread_over_their_range() {
    let halves: Vec<u8> = [0u16, 65535, 21845, 43690].iter().flat_map(|x| x.to_le_bytes()).collect();
    let columns: Vec<u8> =
        [0u16, 21845, 43690, 65535, 0, 0, 65535, 65535].iter().flat_map(|x| x.to_le_bytes()).collect();
    let by_column = [columns, vec![0, 64, 192, 255, 0, 128]].concat();
    let (bytes, _) = archive(&[
        ("two", compressed("CM2", 2, &halves)),
        ("one", compressed("CM3", 2, &[0, 255, 85, 170])),
        ("columns", compressed("CM", 3, &by_column)),
    ]);
    let all = read(&[("x.ark", bytes)], r#""arkFile": "x.ark""#, "").unwrap();
    let close = |found: &[f64], expected: &[f64]| {
        assert_eq!(found.len(), expected.len());
        assert!(
            found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6),
            "{found:?}, expected {expected:?}"
        );
    };
    close(&all[0].1, &[-1.0, 2.0, 0.0, 1.0]);
    close(&all[1].1, &[-1.0, 2.0, 0.0, 1.0]);
    // The first column's quarters lie at 0 and 1, the second one's at its ends.
    close(&all[2].1, &[-1.0, 2.0, 0.0, -1.0, 1.0, 0.5]);
}

#[test]
fn parts_of_matrices_and_windows_end_where_the_part_ends() {
    let (bytes, offsets) = archive(&[("a", fm(&rows(0.0, 6)))]);
    let list = format!("a x.ark:{}[1:3]\nb x.ark:{0}[4:7]\n", offsets[0]).into_bytes();
    let files = [("x.ark", bytes), ("x.scp", list)];
    let all = read(&files, r#""scpFile": "x.scp", "contextWindow": "1:0""#, "").unwrap();
    let a = [1.0, -0.5, 1.0, -0.5, 1.0, -0.5, 2.0, -1.0, 2.0, -1.0, 3.0, -1.5];
    // A row may lie up to three beyond the last one, which is then the end.
    let b = [4.0, -2.0, 4.0, -2.0, 4.0, -2.0, 5.0, -2.5];
    assert_eq!(all, [("a".into(), a.to_vec()), ("b".into(), b.to_vec())]);
    let by_frame =
        read(&files, r#""scpFile": "x.scp", "contextWindow": "1:0""#, r#", "frameMode": true"#).unwrap();
    let flat = |found: &Found| found.iter().flat_map(|(_, values)| values.clone()).collect::<Vec<f64>>();
    assert_eq!(flat(&by_frame), flat(&all));
    let keys: Vec<&str> = by_frame.iter().map(|(key, _)| key.as_str()).collect();
    assert_eq!(keys, ["a", "a", "a", "b", "b"]);
}

#[test]
fn columns_may_be_a_part_too() {
    let wide = b"[\n 1 2 3 4\n 5 6 7 8 ]\n".to_vec();
    let (bytes, offsets) = archive(&[("a", wide)]);
    let list = format!("a x.ark:{}[:,1:2]\n", offsets[0]).into_bytes();
    let files = [("x.ark", bytes), ("x.scp", list)];
    assert_eq!(read(&files, r#""scpFile": "x.scp""#, "").unwrap(), [("a".into(), vec![2.0, 3.0, 6.0, 7.0])]);
}

#[test]
fn what_is_wrong_is_told_with_its_line_or_byte() {
    let (bytes, offsets) = archive(&[("a", fm(&rows(0.0, 3)))]);
    let told = |list: &str| {
        let files = [("x.ark", bytes.clone()), ("x.scp", list.as_bytes().to_vec())];
        let error = read(&files, r#""scpFile": "x.scp""#, "").unwrap_err();
        (error.code().to_owned(), error.to_string())
    };
    let at = offsets[0];
    for (list, code, place) in [
        (format!("\na x.ark:{at}[7:9]\n"), "kaldi.range-beyond-matrix", "x.scp:2 (byte 1):"),
        (format!("a x.ark:{at}[:,0:0]\n"), "kaldi.other-dim", "x.scp:1 (byte 0):"),
        (format!("a x.ark:{at}\na x.ark:{at}\n"), "kaldi.duplicate-key", "x.scp:2 (byte 10):"),
        ("a none.ark:2\n".into(), "kaldi.unreadable", "x.scp:1 (byte 0):"),
        ("a gunzip -c x |\n".into(), "kaldi.command", "x.scp:1"),
        (format!("a x.ark:{}\n", at + 1), "kaldi.not-a-matrix", "x.ark (byte 3)"),
        ("a x.ark:9999\n".into(), "kaldi.cut-off", "x.ark"),
        ("\n".into(), "kaldi.nothing-to-read", "x.scp"),
    ] {
        let (found, text) = told(&list);
        assert!(found == code && text.contains(place), "{list}: {found}: {text}");
    }
    let wrong = |bytes: Vec<u8>| read(&[("x.ark", bytes)], r#""arkFile": "x.ark""#, "").unwrap_err();
    assert_eq!(wrong(bytes[..bytes.len() - 1].to_vec()).code(), "kaldi.cut-off");
    assert_eq!(wrong(b"a [\n1 2\n3\n]\n".to_vec()).code(), "kaldi.ragged-row");
    assert_eq!(wrong(b"a [\n1 2\n".to_vec()).code(), "kaldi.cut-off");
    assert_eq!(wrong(b"a \0BFM \x04\xff\xff\xff\xff\x04\x02\0\0\0".to_vec()).code(), "kaldi.bad-size");
    let huge = [&b"a \0BDM \x04"[..], &i32::MAX.to_le_bytes(), b"\x04", &i32::MAX.to_le_bytes()].concat();
    assert_eq!(wrong(huge).code(), "kaldi.cut-off");
    let text = wrong(b"a [\n1 q ]\n".to_vec());
    assert!(text.to_string().contains('q'), "{text}");
}

#[test]
fn matrices_that_lie_beside_each_other_are_one_read() {
    let keys: Vec<String> = (0..1000).map(|i| format!("u{i:03}")).collect();
    let (bytes, offsets) =
        archive(&keys.iter().map(|key| (key.as_str(), fm(&rows(1.0, 4)))).collect::<Vec<_>>());
    let listed = keys.iter().zip(&offsets).map(|(key, offset)| format!("{key} x.ark:{offset}\n"));
    let list = listed.collect::<String>().into_bytes();
    let store = store_of([("x.ark", bytes), ("x.scp", list)]);
    let reads = Arc::new(AtomicU64::new(0));
    let counted = reads.clone();
    let store = FakeStore::new(store.shared(), move |_| {
        counted.fetch_add(1, Ordering::Relaxed);
        InjectedFault::None
    });
    let json = r#"{"deserializers": [{"type": "KaldiFeatureDeserializer", "input": {"x": {"dim": 2, "scpFile": "x.scp"}}}],
        "randomize": false, "maxSweeps": 1}"#;
    let mut source = kit::open(&store, json).unwrap();
    source.indexed().unwrap();
    let before = reads.load(Ordering::Relaxed);
    let minibatch = source.next_minibatch(10_000).unwrap().expect("there are samples");
    assert_eq!(minibatch.n_sequences(), 1000);
    let n = reads.load(Ordering::Relaxed) - before;
    assert!(n < 10, "{n} reads of 1,000 utterances");
}

#[test]
fn a_matrix_without_rows_is_told_as_such() {
    let (bytes, _) = archive(&[("u1", fm(&rows(1.0, 2))), ("u2", fm(&[]))]);
    let refused = read(&[("a.ark", bytes)], r#""arkFile": "a.ark""#, "").unwrap_err().to_string();
    assert!(
        refused.contains("sequence u2: the matrix has no rows, expected one for each frame"),
        "{refused}"
    );
}
