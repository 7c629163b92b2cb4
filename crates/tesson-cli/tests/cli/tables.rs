//! `tesson convert` of tables: no number and no key becomes another one without a word.

use std::fs;
use std::path::Path;

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
