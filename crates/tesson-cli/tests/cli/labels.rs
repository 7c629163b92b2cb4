//! Labels of speech from one form to another.

use std::fs;
use std::path::Path;

use serde_json::json;

use crate::common::{answers, folder, refused, tesson};

const LABELS: &str =
    "#!MLF!#\n\"*/a.lab\"\n0 200000 sil\n200000 400000 aa\n400000 600000 aa\n.\n\"b.lab\"\n0 3 bb\n.\n";

/// A folder with these labels and a configuration that joins them to a text file.
fn speech(test: &str, labels: &str) -> std::path::PathBuf {
    let folder = folder(test);
    fs::write(folder.join("l.mlf"), labels).expect("the folder can be written");
    fs::write(folder.join("states"), "sil\naa\nbb\n").expect("the folder can be written");
    fs::write(folder.join("x.ctf"), "a |x 1\n").expect("the folder can be written");
    let reader = json!({"deserializers": [
        {"type": "CNTKTextFormatDeserializer", "file": "x.ctf", "input": {"x": {"dim": 1, "format": "dense"}}},
        {"type": "HTKMLFDeserializer", "input": {"y": {"mlfFile": "l.mlf", "labelMappingFile": "states", "dim": 3}}},
    ], "frameMode": true});
    fs::write(folder.join("text.json"), reader.to_string()).expect("the folder can be written");
    let reader = json!({"deserializers": [
        {"type": "HTKMLFBinaryDeserializer", "input": {"y": {"mlfFile": "l.bmlf", "dim": 3}}}]});
    fs::write(folder.join("binary.json"), reader.to_string()).expect("the folder can be written");
    folder
}

fn text(folder: &Path, name: &str) -> String {
    fs::read_to_string(folder.join(name)).expect("it was written")
}

#[test]
fn labels_become_binary_and_text_again() {
    let folder = speech("labels-forms", LABELS);
    let [answer] = &answers(&folder, "convert text.json l.bmlf --verify --json")[..] else { panic!("one") };
    assert_eq!(
        (&answer["sequences"], &answer["samples"], &answer["verified"]),
        (&json!(2), &json!(9), &json!(true))
    );
    // Two phones of one class stay two.
    let expected = b"MLF\x02\0\x01\0a\x06\0\0\0\x03\0\0\0\x02\0\x01\0\x02\0\x01\0\x02\0\x01\0b\x03\0\0\0\x01\0\x02\0\x03\0";
    assert_eq!(fs::read(folder.join("l.bmlf")).expect("it was written"), expected);
    answers(&folder, "convert text.json again.mlf --verify --json");
    let lines = "#!MLF!#\n\"a.lab\"\n0 200000 sil 0\n200000 400000 aa 1\n400000 600000 aa 1\n.\n\"b.lab\"\n0 300000 bb 2\n.\n";
    assert_eq!(text(&folder, "again.mlf"), lines);
    // The binary form has no names.
    answers(&folder, "convert binary.json back.mlf --verify --json");
    let numbers = lines.replace("sil", "0").replace("aa", "1").replace("bb", "2");
    assert_eq!(text(&folder, "back.mlf"), numbers);
    answers(&folder, "convert binary.json --to bmlf again --json");
    assert_eq!(fs::read(folder.join("again")).expect("it was written"), expected);
}

#[test]
fn labels_that_cannot_be_written_are_refused() {
    let folder = speech("labels-refused", "#!MLF!#\n\"a.lab\"\n0 70000 bb\n.\n");
    let e = refused(&folder, "convert text.json l.bmlf", 1);
    assert!(e.contains("utterance `a`: it has a run with a length of 70000, at most 65535 fit"), "{e}");
    assert!(!folder.join("l.bmlf").exists());
    answers(&folder, "convert text.json long.mlf --verify --json");
    let e = refused(&folder, "convert text.json l.mlf --force", 2);
    assert!(e.contains("l.mlf: this is the input"), "{e}");
    let e = refused(&folder, "convert text.json l.bmlf --chunk-size 1MiB", 2);
    assert!(e.contains("is a file of labels"), "{e}");
    fs::write(folder.join("l.mlf"), "#!MLF!#\n\"a.lab\"\n0 2 zz\n.\n").expect("the folder can be written");
    let e = refused(&folder, "convert text.json l.bmlf", 1);
    assert!(e.contains("l.mlf:3 (byte 16)") && e.contains("`zz`"), "{e}");
    let e = refused(&folder, "convert x.ctf --stream x:1 y.mlf", 2);
    assert!(e.contains("found 0 deserializers of labels of speech, expected one"), "{e}");
    // By themselves they are no input.
    for (name, format) in [("l.mlf", "HTKMLFDeserializer"), ("states.scp", "HTKFeatureDeserializer")] {
        fs::copy(folder.join("states"), folder.join("states.scp")).expect("the folder can be written");
        let e = refused(&folder, &format!("read {name}"), 2);
        assert!(e.contains("in a configuration") && e.contains(format), "{e}");
    }
}

#[test]
fn hours_and_labels_are_counted() {
    let folder = speech("labels-counted", LABELS);
    // Three frames of 12.5 ms, big-endian, of one value.
    let head = [3u32.to_be_bytes(), 125_000u32.to_be_bytes()].concat();
    let kind = [4u16.to_be_bytes(), 9u16.to_be_bytes()].concat();
    fs::write(folder.join("a.mfc"), [head, kind, vec![0; 12]].concat()).expect("the folder can be written");
    fs::write(folder.join("l.scp"), "b=a.mfc[0,2]\n").expect("the folder can be written");
    let reader = json!({"deserializers": [
        {"type": "HTKFeatureDeserializer", "input": {"x": {"scpFile": "l.scp", "dim": 1}}},
        {"type": "HTKMLFDeserializer", "input": {"y": {"mlfFile": "l.mlf", "labelMappingFile": "states", "dim": 4}}}]});
    fs::write(folder.join("speech.json"), reader.to_string()).expect("the folder can be written");
    let [info] = &answers(&folder, "info speech.json --json")[..] else { panic!("one answer") };
    assert_eq!(info["labels"], json!({"y": [2, 4, 3, 0]}));
    let hours = info["hours"].as_f64().expect("the header has the period");
    assert!((hours - 3.0 * 0.0125 / 3600.0).abs() < 1e-12, "{hours}");
    let shown = String::from_utf8(tesson(&folder, "info speech.json").stdout).expect("it is text");
    assert!(
        shown
            .contains("labels      of y: 3 of 4 classes occur, aa 4 (44.4 %), bb 3 (33.3 %), sil 2 (22.2 %)"),
        "{shown}"
    );
    assert!(shown.contains("3 frames of 12.5 ms in 1 utterance"), "{shown}");
}

#[test]
fn what_is_left_out_and_differs_in_length_is_listed() {
    let folder = speech("labels-left-out", LABELS);
    let head = [9u32.to_be_bytes(), 100_000u32.to_be_bytes()].concat();
    let kind = [4u16.to_be_bytes(), 9u16.to_be_bytes()].concat();
    fs::write(folder.join("f.mfc"), [head, kind, vec![0; 36]].concat()).expect("the folder can be written");
    let list =
        "a=f.mfc[0,5]\nb=f.mfc[0,1]\nlong=f.mfc[0,8]\ntwice.a=f.mfc[0,0]\ntwice.b=f.mfc[1,2]\nc=f.mfc[0,0]\n";
    fs::write(folder.join("l.scp"), list).expect("the folder can be written");
    let reader = json!({"deserializers": [
        {"type": "HTKFeatureDeserializer", "input": {"x": {"scpFile": "l.scp", "dim": 1, "maxSequenceSize": 6}}},
        {"type": "HTKMLFDeserializer", "input": {"y": {"mlfFile": "l.mlf", "labelMappingFile": "states", "dim": 4}}}]});
    fs::write(folder.join("speech.json"), reader.to_string()).expect("the folder can be written");
    let [info] = &answers(&folder, "info speech.json --json")[..] else { panic!("one answer") };
    let left_out = json!([[
        {"reason": "longer than `maxSequenceSize`", "sequences": 1, "first": ["long"]},
        {"reason": "of a key that occurs again", "sequences": 2, "first": ["twice", "twice"]},
    ], []]);
    assert_eq!((&info["leftOut"], &info["join"]["parts"][0]["unequal"]), (&left_out, &json!(1)));
    let shown = String::from_utf8(tesson(&folder, "info speech.json").stdout).expect("it is text");
    for line in [
        "left out    1 sequence longer than `maxSequenceSize` in deserializer 0, first `long`",
        "            2 sequences of a key that occurs again in deserializer 0, first `twice`, `twice`",
        "missing     1 key in deserializer 1, first `c`",
        "            1 utterance of another length in deserializer 1, first `b` with 3 for 2",
    ] {
        assert!(shown.contains(line), "{line}: {shown}");
    }
}
