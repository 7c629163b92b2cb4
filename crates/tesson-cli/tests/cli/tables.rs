//! `tesson convert` of tables: no number and no key becomes another one without a word.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::json;

use crate::common::{answers, folder, refused, stderr, tesson};

/// Converts a table to text, with every number compared.
fn text(folder: &Path, name: &str, contents: &str, args: &str) -> String {
    fs::write(folder.join(name), contents).unwrap();
    answers(folder, &format!("convert {name} out.ctf --force --verify --json {args}"));
    fs::read_to_string(folder.join("out.ctf")).unwrap()
}

/// Why a table cannot be converted to a file of this name.
fn refusal(folder: &Path, (name, contents): (&str, &[u8]), args: &str, code: i32) -> String {
    fs::write(folder.join(name), contents).unwrap();
    let e = refused(folder, &format!("convert {name} no.ctf {args}"), code);
    assert_eq!(
        fs::read_dir(folder).unwrap().filter(|f| f.as_ref().unwrap().path().ends_with("no.ctf")).count(),
        0
    );
    e
}

#[test]
fn a_number_that_the_type_cannot_hold_is_refused_with_its_place_and_the_remedy() {
    let folder = folder("tables-numbers");
    let double =
        "the nearest is 16777216; `--precision double` holds it, `--precision float` writes the nearest";
    for (name, contents, place) in [
        ("t.csv", "1,2\n16777217,3\n", "t.csv:2: field 0 is `16777217`, "),
        ("t.svm", "1 1:0.5\n1 2:16777217\n", "t.svm:2: found `2:16777217`, "),
        ("t.jsonl", "{\"x\": [1]}\n{\"x\": [16777217]}\n", "t.jsonl:2: field `x`: found 16777217, "),
        (
            "t.jsonl",
            "{\"x\": {\"0\": 1}}\n{\"x\": {\"0\": 16777217}}\n",
            "t.jsonl:2: field `x`: found 16777217, ",
        ),
        ("t.svm", "16777217 1:0.5\n", "t.svm:1: the label is `16777217`, "),
    ] {
        let e = refusal(&folder, (name, contents.as_bytes()), "", 1);
        assert!(e.contains(&format!("{place}which float32 cannot hold, {double}")), "{e}");
        assert!(text(&folder, name, contents, "--precision double").contains("16777217"), "{name}");
        assert!(text(&folder, name, contents, "--precision float").contains("16777216"), "{name}");
    }
}

#[test]
fn a_number_is_held_if_it_brings_back_the_digits_that_were_written() {
    let folder = folder("tables-digits");
    // 0.1 of 32 and of 64 bits in full, the least and the largest number, zeros at either end.
    let held = "0.1 0.10000000149011612 1.000000014901161194e-01 16777216 1.4e-45 3.4028235e38 -0.0 +.5 5. 100000000000000000000 \
                0.0000000000000000000000000000000000000000000000000000000 1.50000000000000000000000 inf NaN";
    for number in held.split_whitespace() {
        fs::write(folder.join("t.csv"), format!("{number}\n")).unwrap();
        answers(&folder, "convert t.csv out.cbf --force --verify --json");
    }
    let not_held = "18446744073709551617 0.1000000000000000055511151231257827 16777217 1e-46 1e-400 0.30000001192092899 123456789.5 1.0000000000000001 \
                    1e-99999999999999999999";
    for number in not_held.split_whitespace() {
        let e = refusal(&folder, ("t.csv", format!("{number}\n").as_bytes()), "", 1);
        assert!(e.contains(&format!("field 0 is `{number}`, which ")), "{e}");
        // A parser that makes 64-bit numbers of what is written would hide that.
        let line = format!("{{\"x\": [{number}]}}\n");
        let e = refusal(&folder, ("t.jsonl", line.as_bytes()), "", 1);
        assert!(e.contains(&format!("field `x`: found {number}, which ")), "{e}");
    }
}

#[test]
fn a_number_beyond_the_type_is_refused_also_where_numbers_are_rounded() {
    let folder = folder("tables-beyond");
    let beyond =
        |number: &str, args: &str| refusal(&folder, ("t.csv", format!("{number}\n").as_bytes()), args, 1);
    let e = beyond("1e39", "--precision float");
    assert!(e.contains("field 0 is `1e39`, which is beyond float32, whose largest is 3.4028234663852886e38; `--precision double`"), "{e}");
    let e = beyond("-1e309", "--precision double");
    assert!(
        e.contains("which is beyond float64, whose largest is 1.7976931348623157e308; replace it"),
        "{e}"
    );
}

#[test]
fn two_streams_of_one_name_are_refused_before_anything_is_written() {
    let folder = folder("tables-names");
    for (table, args, expected) in [
        (
            "1,2\n",
            "--streams x=0 --streams x=1",
            "t.csv: found two streams `x`, expected each once; rename one",
        ),
        (
            "1,2\n",
            "--label-column 0 --streams labels=1",
            "found two streams `labels` (`--label-column` makes `labels`), expected each once; rename one",
        ),
        ("x,x\n1,2\n", "--header --streams y=x", "columns 0 and 1 are both `x`, give the number of one"),
    ] {
        let e = refusal(&folder, ("t.csv", table.as_bytes()), args, 2);
        assert!(e.contains(expected), "{e}");
    }
    let e = refusal(&folder, ("t.jsonl", br#"{"x": {"1": 2, "1": 3}}"#), "", 1);
    assert!(e.contains("t.jsonl:1: no valid JSON: two values of `1` in one object, expected one"), "{e}");
}

#[test]
fn keys_that_the_binary_format_does_not_keep_are_reported() {
    let folder = folder("tables-keys-lost");
    for (name, contents, args, lost) in [
        ("t.csv", "a,1\nb,2\n", "--key-column 0", Some("a")),
        ("t.csv", "0,1\n1,2\n7,3\n", "--key-column 0", Some("7")),
        ("t.csv", "0,1\n1,2\n", "--key-column 0", None),
        ("t.csv", "1\n2\n", "", None),
        // Ids cannot be distinguished from row numbers, and readers of the format number its sequences.
        ("t.ctf", "4 |x 1\n5 |x 2\n", "--stream x:1", None),
        ("t.ctf", "0 |x 1\n1 |x 2\n", "--stream x:1", None),
        ("t.ctf", "|x 1\n\n|x 2\n", "--stream x:1", None),
        ("t.ctf", "a |x 1\n", "--stream x:1 --set useNumericSequenceKeys=false", Some("a")),
    ] {
        fs::write(folder.join(name), contents).unwrap();
        let output = tesson(&folder, &format!("convert {name} out.cbf --force --json {args}"));
        let said = stderr(&output);
        let kept = String::from_utf8(output.stdout).unwrap().contains("\"keysKept\":true");
        assert_eq!(kept, lost.is_none(), "{contents}: {said}");
        let warning = lost.map(|key| {
            format!("as the one with the key `{key}`; to join them with others by key, write text")
        });
        assert!(warning.map_or(said.is_empty(), |warning| said.contains(&warning)), "{contents}: {said}");
    }
    fs::write(folder.join("t.csv"), "a,1\n").unwrap();
    let output = tesson(&folder, "convert t.csv out.ctf --key-column 0");
    assert_eq!(stderr(&output), "");
    // What was written is read by the options that the answer names.
    let answer = String::from_utf8(output.stdout).unwrap();
    let options = answer.lines().find_map(|line| line.strip_prefix("streams     ")).unwrap();
    assert_eq!(options, "--stream features:1 --set useNumericSequenceKeys=false");
    assert!(tesson(&folder, &format!("read out.ctf {options}")).status.success());
}

#[test]
fn a_key_stays_what_it_is_or_is_refused() {
    let folder = folder("tables-keys");
    assert_eq!(text(&folder, "t.csv", "007,1\n7,2\n", "--key-column 0"), "007 |features 1\n7 |features 2\n");
    assert_eq!(text(&folder, "t.csv", "\u{e9}\u{df},1\n", "--key-column 0"), "\u{e9}\u{df} |features 1\n");
    let e = refusal(&folder, ("t.csv", b"7,1\n007,2\n"), "--key-column 0", 1);
    assert!(
        e.contains(
            "t.csv:2: the key is `007`, expected a whole number without leading zeros, as in the rows before"
        ),
        "{e}"
    );
    let e =
        refusal(&folder, ("t.csv", b"1\n\xa7,1\n\xdd\xd3,2\n"), "--header --key-column 0 --streams x=0", 1);
    assert!(
        e.contains(r"t.csv:2: found 2 fields, expected 1") || e.contains(r"the key `\xa7` is no UTF-8"),
        "{e}"
    );
    let e = refusal(&folder, ("t.csv", b"a,1\n\xa7,1\n"), "--key-column 0", 1);
    assert!(e.contains(r"t.csv:2: the key `\xa7` is no UTF-8; write the file in UTF-8"), "{e}");
    let large = [617, 618].map(|end| format!("{{\"id\": 18446744073709551{end}, \"x\": 1}}\n")).concat();
    assert_eq!(
        text(&folder, "t.jsonl", &large, "--key-column id"),
        "18446744073709551617 |x 1\n18446744073709551618 |x 1\n"
    );
    let e = refusal(&folder, ("t.jsonl", br#"{"id": null, "x": 1}"#), "--key-column id", 1);
    assert!(e.contains("t.jsonl:1: the key is null, expected a text or a number"), "{e}");
    // Text of other encodings keeps its keys within a run; written, two of them might become one.
    fs::write(folder.join("t.txt"), b"\xa7 |x 1\n\xa8 |x 2\n").unwrap();
    let e = refused(&folder, "convert t.txt no.ctf --stream x:1 --set useNumericSequenceKeys=false", 1);
    assert!(e.contains("holds bytes that are no UTF-8, and would be another one"), "{e}");
}

#[test]
fn rows_of_text_are_those_of_the_readers_of_tables() {
    let folder = folder("tables-rows");
    for (name, contents, args, expected) in [
        ("t.svm", "1 1:2\n1:2\n", "", "t.svm:2: the row has no label, expected one before the pairs"),
        ("t.svm", "1 1:2 qid:3\n", "", "t.svm:1: found `qid:3`, expected a pair `index:value`"),
        (
            "t.svm",
            "1 0:2\n",
            "",
            "found index 0, expected one from 1 to 2147483647; say so if indices count from 0",
        ),
        ("t.svm", "1 qid:3 1:2\n1 2:1\n", "--key-column qid", "t.svm:2: the row has no `qid:` with a number"),
        ("t.csv", "1,2\n\n\r\n3\n", "", "t.csv:4: found 1 field, expected 2"),
    ] {
        let e = refusal(&folder, (name, contents.as_bytes()), args, 1);
        assert!(e.contains(expected), "{e}");
    }
    let rows = "\n 1 qid:7 2:1 1:3 2:4 # a comment\n# another\n\n0 qid:7 1:1\n";
    assert_eq!(
        text(&folder, "t.svm", rows, "--key-column qid --dim 3"),
        "7 |labels 1 |features 0:3 1:5\n7 |labels 0 |features 0:1\n"
    );
    assert_eq!(
        text(&folder, "t.csv", "\u{feff}a,b\n\n\"1\",2\r\n3,\"4\"", "--header"),
        "0 |features 1 2\n1 |features 3 4\n"
    );
}

/// A tar archive of these members, packed by gzip if its name says so.
fn archive(folder: &Path, name: &str, members: &[(&str, &[u8])]) {
    let mut archive = tar::Builder::new(Vec::new());
    for (name, bytes) in members {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        archive.append_data(&mut header, name, *bytes).unwrap();
    }
    let bytes = archive.into_inner().unwrap();
    let bytes = if name.ends_with("gz") {
        let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
        packed.write_all(&bytes).unwrap();
        packed.finish().unwrap()
    } else {
        bytes
    };
    fs::write(folder.join(name), bytes).unwrap();
}

/// A NumPy array of float32 with so many rows of two.
fn rows_of_two(n: usize) -> Vec<u8> {
    let header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({n}, 2), }}");
    let padded = format!("{header:<117}\n");
    [&b"\x93NUMPY\x01\x00\x76\x00"[..], padded.as_bytes(), &vec![0; 8 * n]].concat()
}

#[test]
fn archives_are_known_by_their_members_packed_or_not() {
    let folder = folder("tables-archives");
    let image = b"P5 1 1 255\n\x07";
    let long = format!("{}/1", "a".repeat(120));
    let (one, three) = (rows_of_two(1), rows_of_two(3));
    for end in ["tar", "tar.gz", "tgz"] {
        archive(
            &folder,
            &format!("texts.{end}"),
            &[("1.txt", b"one"), ("1.npy", &one), ("2.txt", b"two"), ("2.npy", &three)],
        );
        let [info] = &answers(&folder, &format!("info texts.{end} --json"))[..] else { panic!("one answer") };
        assert_eq!(info["sequences"], 2);
        assert_eq!(info["python"], format!("tesson.read_webdataset(\"texts.{end}\")"));
        let streams = json!([
            {"name": "txt", "shape": [], "dtype": "str", "sparse": false},
            {"name": "npy", "shape": [2], "dtype": "float32", "sparse": false, "ragged": true},
        ]);
        assert_eq!(info["streams"], streams);
        let text = String::from_utf8(tesson(&folder, &format!("info texts.{end}")).stdout).unwrap();
        assert!(text.contains("npy ragged 2 float32"), "{text}");
        let members = [(format!("{long}.pgm"), &image[..]), (format!("{long}.cls"), &b"1"[..])];
        let members: Vec<(&str, &[u8])> = members.iter().map(|(name, bytes)| (&**name, *bytes)).collect();
        archive(&folder, &format!("images.{end}"), &members);
        let [info] = &answers(&folder, &format!("info images.{end} --json"))[..] else {
            panic!("one answer")
        };
        let names: Vec<_> = info["streams"].as_array().unwrap().iter().map(|s| s["name"].clone()).collect();
        assert_eq!(names, ["image", "label"]);
        assert!(info["python"].as_str().unwrap().starts_with("tesson.read_images("), "{info}");
    }
}
