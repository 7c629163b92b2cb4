//! Features and labels of speech together.

use tesson::store::MemoryStore;
use tesson::{Error, Minibatch, Samples, Source};

use crate::kit::{self, columns, dense, keys, per_sequence, read_all, refusal, stream_of};

/// A file of `n` frames of one value, which lie `period` units of 100 ns apart.
fn features(n: u32, period: u32) -> Vec<u8> {
    let mut bytes = [n.to_be_bytes(), period.to_be_bytes()].concat();
    bytes.extend([4u16.to_be_bytes(), 9u16.to_be_bytes()].concat());
    bytes.extend((0..n).flat_map(|t| (t as f32).to_be_bytes()));
    bytes
}

/// The utterances `a` of four frames and `b` of three, with labels as they are given.
fn store(labels: &str, period: u32) -> MemoryStore {
    MemoryStore::new()
        .with("l.scp", *b"a.mfc=a[0,3]\nb.mfc=b[0,2]\n")
        .with("a", features(4, period))
        .with("b", features(3, period))
        .with("l.mlf", format!("#!MLF!#\n{labels}").into_bytes())
        .with("states", *b"sil\naa\nbb\n")
}

/// `stream` and `reader` are more options of the labels and of the reader.
fn open(store: &MemoryStore, stream: &str, reader: &str) -> Result<Source, Error> {
    let text = format!(
        r#"{{"deserializers": [
            {{"type": "HTKFeatureDeserializer", "input": {{"x": {{"scpFile": "l.scp", "dim": 1}}}}}},
            {{"type": "HTKMLFDeserializer", "input": {{"y": {{
                "mlfFile": "l.mlf", "labelMappingFile": "states", "dim": 3 {stream}}}}}}}],
            "randomize": false, "maxSweeps": 1 {reader}}}"#
    );
    kit::open(store, &text)
}

/// The classes of each sequence.
fn classes(minibatch: &Minibatch) -> Vec<Vec<i32>> {
    per_sequence(&columns(minibatch, "y"), stream_of(minibatch, "y"), 1)
}

fn all(store: &MemoryStore, stream: &str, reader: &str) -> Result<Vec<Vec<i32>>, Error> {
    Ok(read_all(&mut open(store, stream, reader)?, 2, classes)?.concat())
}

#[test]
fn frames_are_as_long_as_features_say_where_that_is_asked_for() {
    let labels = "\"a.lab\"\n0 100000 aa\n100000 200000 bb\n.\n\"b.lab\"\n0 50000 sil\n50000 150000 aa\n.\n";
    let expected = [vec![1, 1, 2, 2], vec![0, 1, 1]];
    let auto = r#", "framePeriod": "auto""#;
    assert_eq!(all(&store(labels, 50_000), auto, "").unwrap(), expected);
    // A state that was saved with the number goes on.
    let mut source = open(&store(labels, 50_000), r#", "framePeriod": 50000"#, "").unwrap();
    source.next_minibatch(1).unwrap();
    let mut goes_on = open(&store(labels, 50_000), auto, "").unwrap();
    goes_on.restore(source.state()).unwrap();
    assert_eq!(classes(&goes_on.next_minibatch(1).unwrap().expect("the second")), expected[1..]);
    let error = refusal(open(&store(labels, 0), auto, ""));
    assert!(
        error.contains("deserializers[1]: `framePeriod` is `auto`, and no deserializer's data"),
        "{error}"
    );
}

/// The labels of `a` for all four frames, and of `b` for two of its three.
const SHORT: &str = "\"a.lab\"\n0 4 aa\n.\n\"b.lab\"\n0 2 bb\n.\n";

#[test]
fn utterances_with_too_few_labels_are_an_error_or_left_out() {
    let store = store(SHORT, 100_000);
    let frames = r#", "frameMode": true"#;
    // One frame of `b` has no label.
    let error = refusal(open(&store, "", frames));
    let expected = "deserializers[1]: utterance `b` has 2 frames here, and 3 in `deserializers[0]`; such utterances: 1, \
                    `maxErrors` is 0";
    assert!(error.starts_with(expected), "{error}");
    // None of its frames is read: their labels may be those of others.
    let reader = r#", "frameMode": true, "maxErrors": 1"#;
    assert_eq!(all(&store, "", reader).unwrap(), vec![vec![1]; 4]);
    let mut source = open(&store, "", reader).unwrap();
    let report = source.join_report().unwrap().expect("there are two deserializers");
    assert_eq!((report.joined, report.parts[0].short, report.parts[0].missing), (4, 1, 0));
    // One frame may be missing.
    let tolerant = all(&store, r#", "lengthTolerance": 1"#, frames).unwrap();
    assert_eq!(tolerant, [[1], [1], [1], [1], [2], [2], [2]]);
}

#[test]
fn a_share_of_utterances_may_be_without_labels() {
    let store = store("\"a.lab\"\n0 4 aa\n.\n", 100_000);
    assert_eq!(all(&store, "", r#", "maxMissing": 0.5"#).unwrap(), [[1; 4]]);
    let error = refusal(open(&store, "", r#", "maxMissing": 0.49"#));
    let expected = "maxMissing: 1 of 2 sequences of `deserializers[0]` are not in `deserializers[1]`, at most a share of 0.49";
    assert!(error.starts_with(expected) && error.contains("`b`"), "{error}");
    let error = refusal(open(&store, "", r#", "maxMissing": 1.5"#));
    assert!(error.contains("maxMissing: found 1.5, expected a share from 0 to 1"), "{error}");
}

/// Frames of `x`, and the streams `p` (dense) and `q` (sparse) of a text file; `ctf` and `reader` are more options.
fn open_with_text(text: &str, ctf: &str, reader: &str) -> Result<Source, Error> {
    let store = store("", 100_000).with("t.ctf", text.as_bytes().to_vec());
    let options = format!(
        r#"{{"deserializers": [
            {{"type": "HTKFeatureDeserializer", "input": {{"x": {{"scpFile": "l.scp", "dim": 1}}}}}},
            {{"type": "CNTKTextFormatDeserializer", "file": "t.ctf" {ctf}, "input": {{
                "p": {{"dim": 1, "format": "dense"}}, "q": {{"dim": 3, "format": "sparse"}}}}}}],
            "useNumericSequenceKeys": false, "frameMode": true, "randomize": false, "maxSweeps": 1 {reader}}}"#
    );
    kit::open(&store, &options)
}

/// Each frame: its key, `x`, `p`, and the columns of `q` as text.
fn beside(source: &mut Source) -> Result<Vec<String>, Error> {
    let frames = |minibatch: &Minibatch| {
        let (keys, x, p) = (keys(minibatch), dense(minibatch, "x"), dense(minibatch, "p"));
        let Samples::Sparse { indptr, indices, .. } = stream_of(minibatch, "q").samples() else {
            panic!("`q` is sparse")
        };
        let frame = |i: usize| {
            let columns = &indices[indptr[i] as usize..indptr[i + 1] as usize];
            format!("{} {} {} {columns:?}", keys[i], x[i], p[i])
        };
        (0..x.len()).map(frame).collect::<Vec<_>>()
    };
    Ok(read_all(source, 3, frames)?.concat())
}

/// One row of text for the three frames of `b`.
const B: [&str; 3] = ["b 0 9 [2]", "b 1 9 [2]", "b 2 9 [2]"];

#[test]
fn rows_of_text_join_the_frames_of_their_utterance() {
    // `b` comes first in the text.
    let text = "b|p 9|q 2:1\na|p 4|q 0:1 1:1\na|p 3|q\na|p 2|q 2:1\na|p 1|q 1:1\n";
    let found = beside(&mut open_with_text(text, "", "").unwrap()).unwrap();
    assert_eq!(found[..4], ["a 0 4 [0, 1]", "a 1 3 []", "a 2 2 [2]", "a 3 1 [1]"]);
    assert_eq!(found[4..], B);
    // One stream may have a sample for each frame, and another one for all of them.
    let mixed = "a|p 4|q 2:1\na|p 3\na|p 2\na|p 1\nb|p 9|q 2:1\n";
    let found = beside(&mut open_with_text(mixed, "", "").unwrap()).unwrap();
    assert_eq!(found[..4], ["a 0 4 [2]", "a 1 3 [2]", "a 2 2 [2]", "a 3 1 [2]"]);
    assert_eq!(found[4..], B);
}

#[test]
fn utterances_with_too_few_rows_of_text_are_an_error_or_left_out() {
    let text = "a|p 4|q 0:1\na|p 3|q 0:1\na|p 2|q 0:1\nb|p 9|q 2:1\n";
    // One frame of `a` has no row.
    let error = refusal(open_with_text(text, "", ""));
    let expected = "deserializers[1]: utterance `a` has 3 frames here, and 4 in `deserializers[0]`";
    assert!(error.contains(expected), "{error}");
    let mut source = open_with_text(text, r#", "maxErrors": 1"#, "").unwrap();
    assert_eq!(beside(&mut source).unwrap(), B);
}

#[test]
fn a_stream_without_a_sample_for_each_frame_is_a_fault_of_the_utterance() {
    // The second row of `a` lacks `p`: the three samples may be those of any three frames.
    let lacking = "a|p 4|q 0:1\na|q 0:1\na|p 2|q 0:1\na|p 1|q 0:1\nb|p 9|q 2:1\n";
    let broken = "a|p 4|q 0:1\na|p x|q 0:1\na|p 2|q 0:1\na|p 1|q 0:1\nb|p 9|q 2:1\n";
    for (text, code) in [(lacking, "data.samples-and-frames"), (broken, "ctf.bad-number")] {
        let Err(Error::Data(error)) = beside(&mut open_with_text(text, "", "").unwrap()) else {
            panic!("{code}: the data are faulty")
        };
        assert_eq!((error.code(), error.stream()), (code, Some("p")), "{error}");
        // It counts once, not once for each frame.
        let mut source = open_with_text(text, r#", "maxErrors": 1"#, r#", "maxErrors": 1"#).unwrap();
        assert_eq!(beside(&mut source).unwrap(), B, "{code}");
    }
}
