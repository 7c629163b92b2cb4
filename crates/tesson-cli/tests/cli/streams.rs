//! Streams as they are typed, compared with those in the data.

use std::fs;

use serde_json::json;

use crate::common::{answers, folder, refused, stderr, tesson, two};

#[test]
fn a_stream_that_never_occurs_is_refused_unless_it_may_be_empty() {
    let folder = folder("absent");
    let text: String = (0..2000).map(|i| format!("{i} |x {i} |labels {i} |z 0\n")).collect();
    fs::write(folder.join("a.ctf"), &text).unwrap();
    let given = "a.ctf --stream x:1 --stream lables:1";
    let expected = "a.ctf: stream `lables`: no row has `|lables`, there are `|x`, `|labels`, `|z` (did you mean \
                    `labels`?); give its name in the file by `--alias lables=labels`, or `--allow-empty` to read it \
                    without samples";
    for command in ["read", "info", "plan", "bench", "check"] {
        let e = refused(&folder, &format!("{command} {given}"), 2);
        assert!(e.contains(expected), "{command}: {e}");
    }
    let e = refused(&folder, "convert a.ctf b.cbf --stream x:1 --stream lables:1", 2);
    assert!(e.contains(expected), "{e}");
    assert!(!folder.join("b.cbf").exists());

    let first = "--randomize false --json --take 1";
    let read = answers(&folder, &format!("read {given} {first} --allow-empty"));
    assert_eq!(read[0]["streams"]["lables"]["numberOfSamples"], 0);
    answers(&folder, &format!("read {given} {first} --alias lables=labels"));
    // One late row is enough, and one of several files.
    fs::write(folder.join("a.ctf"), text.clone() + "2000 |x 1 |lables 7\n").unwrap();
    answers(&folder, &format!("read {given} {first}"));
    fs::write(folder.join("a.ctf"), &text).unwrap();
    fs::write(folder.join("b.ctf"), "0 |x 1 |lables 7\n").unwrap();
    answers(&folder, &format!("read [ab].ctf --stream x:1 --stream lables:1 {first}"));
}

#[test]
fn a_stream_of_a_configuration_that_never_occurs_is_refused_too() {
    let folder = folder("absent-configured");
    fs::write(folder.join("a.ctf"), "0 |x 1 |w 2\n").unwrap();
    let reader = json!({"deserializers": [{
        "type": "CNTKTextFormatDeserializer", "file": "a.ctf",
        "input": {"x": {"dim": 1, "format": "dense"}, "y": {"dim": 1, "format": "dense"}}}]});
    fs::write(folder.join("reader.json"), reader.to_string()).unwrap();
    let e = refused(&folder, "read reader.json", 2);
    assert!(e.contains("stream `y`: no row has `|y`, there are `|x`, `|w`"), "{e}");
    assert!(e.contains("give its name in the file by the stream's `alias = w`"), "{e}");
    let read = answers(&folder, "read reader.json --allow-empty --json --take 1");
    assert_eq!(read[0]["streams"]["y"]["numberOfSamples"], 0);
}

#[test]
fn a_size_that_no_sample_has_is_refused() {
    let folder = folder("wrong-dim");
    let text: String = (0..100).map(|i| format!("{i} |x 1 2 3 |y {}:1\n", i % 10)).collect();
    fs::write(folder.join("a.ctf"), text).unwrap();
    let read =
        |x: u32, y: u32| format!("read a.ctf --stream x:{x} --stream y:{y}:sparse --max-errors 1000 --json");
    let e = refused(&folder, &read(4, 10), 2);
    assert!(
        e.contains(
            "--stream x:4: the samples in the first rows have 3 values; give `--stream x:3`, or `--allow-empty`"
        ),
        "{e}"
    );
    assert!(refused(&folder, &read(2, 10), 2).contains("give `--stream x:3`"));
    // Some sparse samples fit.
    answers(&folder, &read(3, 5));
    answers(&folder, &format!("{} --allow-empty", read(4, 10)));
    fs::write(folder.join("b.ctf"), "0 |x 1 |y 10:1\n1 |x 2 |y 12:1\n").unwrap();
    let e = refused(&folder, "read b.ctf --stream x --stream y:10:sparse --max-errors 9", 2);
    let expected =
        "--stream y:10: the samples in the first rows have at least 13 values; give `--stream y:13:sparse`";
    assert!(e.contains(expected), "{e}");
}

#[test]
fn commands_that_look_at_text_find_its_streams_and_those_that_write_ask_for_them() {
    let folder = two("found");
    for command in ["read", "plan", "show --key 2", "check", "bench --seconds 0.1", "plan --certificate"] {
        let (name, options) = command.split_once(' ').unwrap_or((command, ""));
        let run = |input: &str| tesson(&folder, &format!("{name} {input} {options} --json"));
        let (found, declared) = (run("two.ctf"), run("two.ctf --stream a:2 --stream b:4:sparse"));
        assert_eq!(found.status.code(), Some(0), "{command}: {}", stderr(&found));
        assert_eq!(stderr(&found), "");
        // One is a measurement, the other repeats the command.
        if !["bench --seconds 0.1", "plan --certificate"].contains(&command) {
            assert_eq!(found.stdout, declared.stdout, "{command}");
        }
    }
    for command in ["index two.ctf", "convert two.ctf two.cbf"] {
        assert!(
            refused(&folder, command, 2)
                .contains("give them, by its 3 rows: --stream a:2 --stream b:4:sparse")
        );
    }
    // Some streams are declared: no others are found.
    let read = answers(&folder, "read two.ctf --stream a:2 --randomize false --json");
    assert_eq!(read[0]["streams"].as_object().expect("streams by name").len(), 1);
}
