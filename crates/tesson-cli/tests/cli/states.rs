//! `tesson state`, `completions` and `man`.

use std::fs;

use serde_json::{Value, json};

use crate::common::{STREAMS, answers, folder, many, prepared, refused, stderr, tesson, two};

#[test]
fn states_are_told_in_words_and_compared() {
    let folder = two("states-words");
    for (samples, file) in [(2, "one.json"), (3, "two.json")] {
        tesson(
            &folder,
            &format!("read two.ctf {STREAMS} --minibatch-size 2 --samples {samples} --save-state {file}"),
        );
    }
    let text = String::from_utf8(tesson(&folder, "state one.json").stdout).unwrap();
    assert!(text.starts_with("one.json\n  state of    a source of minibatches"), "{text}");
    assert!(text.contains("  position    2 samples of all ranks before the next minibatch\n"), "{text}");
    assert!(text.contains("  resumes     on any number of ranks\n") && !text.contains("differ"), "{text}");

    let text = String::from_utf8(tesson(&folder, "state one.json two.json").stdout).unwrap();
    let (_, differences) = text.split_once("differences\n").expect("they differ");
    assert!(differences.starts_with("  position\n    one.json: 2 samples"), "{text}");
    assert!(!differences.contains("order"), "{text}");
    let text = String::from_utf8(tesson(&folder, "state one.json one.json").stdout).unwrap();
    assert!(text.ends_with("no difference\n"), "{text}");

    let found = answers(&folder, "state one.json two.json --json");
    assert_eq!((found.len(), &found[0]["file"]), (3, &json!("one.json")));
    assert_eq!(found[2]["differs"][0], "position");
}

#[test]
fn states_of_ranks_become_one_from_which_any_number_of_ranks_resumes() {
    let folder = many("states-merged");
    let read = "many.json --sharing chunk --minibatch-size 8";
    for rank in 0..2 {
        answers(
            &folder,
            &format!("read {read} --workers 2 --rank {rank} --samples 16 --json --save-state {rank}.json"),
        );
    }
    let text = String::from_utf8(tesson(&folder, "state 0.json").stdout).unwrap();
    assert!(text.contains("on rank 0 of 2 alone, or merged with the others"), "{text}");
    let found = answers(&folder, "state 0.json 1.json --merge all.json --json");
    assert_eq!(found.last().unwrap()["state"]["resumes"], "on any number of ranks");
    let keys = |found: &[Value]| -> Vec<String> {
        found
            .iter()
            .flat_map(|batch| batch["keys"].as_array().cloned().unwrap_or_default())
            .map(|key| key.to_string())
            .collect()
    };
    let mut all = Vec::new();
    for rank in 0..2 {
        all.extend(keys(&answers(
            &folder,
            &format!("read {read} --workers 2 --rank {rank} --samples 16 --json"),
        )));
    }
    all.extend(keys(&answers(&folder, &format!("read {read} --sweeps 1 --state all.json --json"))));
    let whole = keys(&answers(&folder, &format!("read {read} --sweeps 1 --json")));
    assert!(!whole.is_empty());
    all.sort();
    let mut whole = whole;
    whole.sort();
    assert_eq!(all, whole, "each sequence once");

    let e = refused(&folder, "state 0.json --merge all.json", 2);
    assert!(e.contains("--merge: ") && e.contains("rank"), "{e}");
}

#[test]
fn states_of_prepared_datasets_are_told_and_not_merged() {
    let folder = prepared("states-prepared");
    answers(&folder, "read . --take 2 --json --save-state s.json");
    let text = String::from_utf8(tesson(&folder, "state s.json").stdout).unwrap();
    assert!(
        text.contains("a prepared dataset") && text.contains("  position    2 examples into the pass"),
        "{text}"
    );
    let e = refused(&folder, "state s.json s.json --merge all.json", 2);
    assert!(e.contains("--merge: s.json is the state of a prepared dataset"), "{e}");
}

#[test]
fn other_files_are_no_states() {
    let folder = two("states-others");
    let e = refused(&folder, "state two.ctf", 2);
    assert!(
        e.contains("two.ctf: no saved state, it is no JSON")
            && e.contains("expected a file that `--save-state` wrote"),
        "{e}"
    );
    fs::write(folder.join("a.json"), "{\"a\": 1}").unwrap();
    let e = refused(&folder, "state a.json", 2);
    assert!(e.contains("`minibatchSourcePosition` is missing"), "{e}");
    refused(&folder, "state nowhere.json", 1);
    let e = refused(&folder, "state a.json --merge no/folder.json", 1);
    assert!(e.contains("no"), "{e}");
}

#[test]
fn shells_complete_every_command() {
    let folder = folder("states-shells");
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = String::from_utf8(tesson(&folder, &format!("completions {shell}")).stdout).unwrap();
        assert!(script.contains("completions") && script.contains("minibatch-size"), "{shell}: {script}");
    }
    assert!(refused(&folder, "completions bsh", 2).contains("bash"));
}

#[test]
fn pages_are_written_for_each_command() {
    let folder = folder("states-pages");
    let page = String::from_utf8(tesson(&folder, "man").stdout).unwrap();
    assert!(page.contains(".TH tesson 1") && page.contains("tesson\\-read"), "{page}");
    fs::create_dir(folder.join("pages")).unwrap();
    let written = tesson(&folder, "man pages");
    assert!(lines_of(&written.stdout) > 10, "{}", stderr(&written));
    let read = fs::read_to_string(folder.join("pages/tesson-read.1")).unwrap();
    assert!(read.contains("save\\-state"), "{read}");
    refused(&folder, "man nowhere", 1);
}

fn lines_of(text: &[u8]) -> usize {
    String::from_utf8_lossy(text).lines().count()
}
