//! The command as it is typed: files in, lines and exit codes out.

// Helpers of tests are no `#[test]` functions, which clippy excuses.
#![allow(clippy::unwrap_used)]

mod common;
mod huge_images;
mod images;
mod labels;
mod mistakes;
mod named_options;
mod options;
mod outputs;
mod preview;
mod reports;
mod states;
mod streams;
mod tables;

use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};

use common::{
    STREAMS, TWO, answers, binary, command, folder, lines, many, prepared, refused, stderr, tesson, tfrecord,
    two,
};

#[test]
fn minibatches_are_lines_in_the_form_of_the_conformance_cases() {
    let folder = two("lines");
    let found = answers(&folder, &format!("read two.ctf {STREAMS} --json --minibatch-size 2"));
    assert_eq!(
        found,
        [
            json!({"sweepEnd": false, "keys": [1], "streams": {
                "a": {"numberOfSequences": 1, "numberOfSamples": 2, "sequences": [[[1, 2], [3, 4]]]},
                "b": {"numberOfSequences": 1, "numberOfSamples": 2,
                      "sequences": [[[[1, -1], [3, 0.5]], [[0, 2]]]]}}}),
            json!({"sweepEnd": true, "keys": [2], "streams": {
                "a": {"numberOfSequences": 1, "numberOfSamples": 1, "sequences": [[[5, 6.25]]]},
                "b": {"numberOfSequences": 1, "numberOfSamples": 1, "sequences": [[[]]]}}}),
            json!({"end": true}),
        ]
    );
}

#[test]
fn the_layout_is_added_when_it_is_asked_for() {
    let folder = two("layout");
    let found = answers(&folder, &format!("read two.ctf {STREAMS} --json --layout"));
    assert_eq!(
        found[0]["streams"]["a"]["layout"],
        json!({"steps": 2, "rows": 2, "places": [[0, 0, 0, 2], [1, 1, 0, 1]]})
    );
}

#[test]
fn a_stream_may_have_another_name_in_the_file() {
    let folder = two("alias");
    let args = "read two.ctf --stream features:2 --alias features=a --randomize false --json";
    assert_eq!(answers(&folder, args)[0]["streams"]["features"]["numberOfSamples"], json!(3));
}

#[test]
fn a_pattern_is_several_files() {
    let folder = folder("pattern");
    fs::write(folder.join("part-a.ctf"), "1 |x 1\n").unwrap();
    fs::write(folder.join("part-b.ctf"), "1 |x 2\n").unwrap();
    let found = answers(&folder, "read part-*.ctf --stream x:1 --randomize false --json");
    assert_eq!(found[0]["streams"]["x"]["sequences"], json!([[[1]], [[2]]]));
    let converted = folder.join("all.cbf");
    let to = format!("convert part-*.ctf {} --stream x:1", converted.display());
    assert!(tesson(&folder, &to).status.success());
    let again = answers(&folder, "read all.cbf --randomize false --json");
    assert_eq!(again[0]["streams"]["x"]["sequences"], json!([[[1]], [[2]]]));
    let error = refused(&folder, "read missing-*.ctf --stream x:1", 2);
    assert!(error.contains("missing-*.ctf") && error.contains("no file matches"), "{error}");
}

#[test]
fn a_configuration_reads_as_the_same_options_do() {
    let folder = many("configuration");
    let by_file = answers(&folder, "read many.json --json --minibatch-size 5 --seed 3");
    let set = "--set deserializers[0].chunkSizeInBytes=60";
    let by_streams =
        answers(&folder, &format!("read many.ctf --stream x:1 {set} --json --minibatch-size 5 --seed 3"));
    assert_eq!(by_file, by_streams);
    assert!(by_file.len() > 10);
    let other = answers(&folder, "read many.json --json --minibatch-size 5 --seed 4");
    assert_ne!(by_file, other);
    // The request of a conformance case holds the reader under `source`.
    let reader: Value = serde_json::from_str(&fs::read_to_string(folder.join("many.json")).unwrap()).unwrap();
    fs::write(folder.join("case.json"), json!({"name": "x", "source": reader}).to_string()).unwrap();
    assert_eq!(answers(&folder, "read case.json --json --minibatch-size 5 --seed 3"), by_file);
    // From elsewhere, with the folder given.
    let elsewhere = folder.join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    for command in ["read", "info", "plan", "check", "index"] {
        let e = refused(&elsewhere, &format!("{command} ../many.json"), 1);
        assert!(e.contains("many.ctf: No such file"), "{e}");
        assert!(e.contains("it lies beside the configuration, add `--base-dir ..`"), "{e}");
    }
    let args = "read ../many.json --base-dir .. --json --minibatch-size 5 --seed 3";
    assert_eq!(answers(&elsewhere, args), by_file);
}

#[test]
fn a_schedule_changes_the_size_with_the_epoch() {
    let folder = many("schedule");
    let found = answers(
        &folder,
        "read many.ctf --stream x:1 --randomize false --json --minibatch-size 30*2:60 --epochs 3",
    );
    let sizes: Vec<u64> =
        found.iter().filter_map(|line| line["streams"]["x"]["numberOfSamples"].as_u64()).collect();
    assert_eq!(sizes, [30, 30, 30, 30, 60]);
    assert_eq!(found.last(), Some(&json!({"end": true})));
}

#[test]
fn a_saved_state_goes_on_where_the_run_stopped() {
    let folder = many("state");
    let base = "read many.json --json --minibatch-size 7 --sweeps 2 --seed 5";
    let whole = answers(&folder, base);
    let first = answers(&folder, &format!("{base} --take 4 --save-state s.json"));
    let rest = answers(&folder, &format!("{base} --state s.json"));
    assert_eq!(first.len(), 4);
    assert_eq!([first, rest].concat(), whole);
    let e = refused(&folder, "read many.json --state s.json --seed 6 --minibatch-size 7", 2);
    assert!(
        e.starts_with(
            "error: --state s.json: the state does not belong to this source: the randomization seed is 5"
        ),
        "{e}"
    );
    let refused_in_json = tesson(&folder, "read many.json --state s.json --seed 6 --minibatch-size 7 --json");
    let line: Value = serde_json::from_slice(&refused_in_json.stdout).unwrap();
    assert_eq!(line["code"], "resume.other-source");
    fs::write(folder.join("bad.json"), "{}").unwrap();
    let e = refused(&folder, "read many.json --state bad.json", 2);
    assert!(e.contains("bad.json: no saved state"), "{e}");
    let e = refused(&folder, "read many.json --state none.json", 1);
    assert!(e.contains("none.json"), "{e}");
}

#[test]
fn workers_are_those_of_the_launcher_that_is_asked_for() {
    let folder = many("workers-launched");
    let run = |args: &str, variables: &[(&str, &str)]| {
        let mut command = command(&folder, &format!("read many.json --sharing position --json {args}"));
        command.env_clear().envs(variables.iter().copied()).output().unwrap()
    };
    let torchrun = [("RANK", "1"), ("WORLD_SIZE", "3")];
    let shares = |args: &str, variables: &[(&str, &str)]| {
        let output = run(args, variables);
        assert_eq!(output.status.code(), Some(0), "{args}: {}", stderr(&output));
        lines(&output)
    };
    let expected = shares("--workers 3 --rank 1", &[]);
    assert_eq!(shares("--workers auto", &torchrun), expected);
    assert_eq!(shares("--workers torchrun", &torchrun), expected);
    // Nothing is taken from a launcher by itself, and without one there is one worker.
    assert_eq!(shares("", &torchrun), shares("--workers auto", &[]));
    for (args, variables, code, expected) in [
        ("--workers auto --rank 2", &torchrun[..], 2, "--rank: found 2, but the launcher says 1"),
        (
            "--workers auto",
            &torchrun[..1],
            2,
            "WORLD_SIZE is not set, but RANK is; set both, or give rank and number of ranks",
        ),
        (
            "--workers flux",
            &torchrun,
            2,
            "found `flux`, which has not started this process, by FLUX_TASK_RANK; use `auto`",
        ),
        ("--workers some", &torchrun, 2, "found `some`, expected one of `auto`, `torchrun`, `openmpi`"),
        ("--workers 0", &torchrun, 2, "found `0`, expected a whole number from 1"),
    ] {
        let output = run(args, variables);
        assert_eq!(output.status.code(), Some(code), "{args}: {}", stderr(&output));
        assert!(stderr(&output).contains(expected), "{args}: {}", stderr(&output));
    }
}

#[test]
fn workers_share_every_minibatch() {
    let folder = many("workers");
    let sequences = |args: &str| -> Vec<Value> {
        answers(&folder, args)
            .iter()
            .filter_map(|line| line["streams"]["x"]["sequences"].as_array().cloned())
            .flatten()
            .collect()
    };
    for sharing in ["chunk", "position"] {
        let base = format!("read many.json --json --minibatch-size 8 --sharing {sharing}");
        let mut shares: Vec<Value> =
            (0..3).flat_map(|rank| sequences(&format!("{base} --workers 3 --rank {rank}"))).collect();
        let mut all = sequences(&base);
        let order = |v: &Value| v[0][0].as_u64();
        shares.sort_by_key(order);
        all.sort_by_key(order);
        assert_eq!(shares, all, "{sharing}");
    }
    let e = refused(&folder, "read many.json --workers 2 --rank 2", 2);
    assert!(e.contains("rank"), "{e}");
}

#[test]
fn people_get_a_table_and_a_summary() {
    let folder = many("table");
    let output = tesson(&folder, "read many.ctf --stream x:1 --randomize false --minibatch-size 30");
    let text = String::from_utf8(output.stdout).unwrap();
    let table: Vec<&str> = text.lines().collect();
    assert_eq!(table[0], "minibatch sequences        x  keys");
    assert_eq!(table[1], "        0        20       30  0, 1, … 19");
    assert_eq!(table[2], "        1        20       30  20, 21, … 39  (sweep end)");
    assert!(table[4].starts_with("2 minibatches, 40 sequences, 60 samples in "), "{text}");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "", "no progress bar without a terminal");
}

#[test]
fn a_size_in_sequences_is_a_limit_beside_samples_or_the_size_itself() {
    let folder = many("sequences");
    let read = |more: &str| {
        let all = answers(&folder, &format!("read many.json --json --randomize false {more}"));
        let sizes = all.iter().filter_map(|line| line["streams"]["x"]["numberOfSequences"].as_u64());
        sizes.collect::<Vec<_>>()
    };
    assert_eq!(read("--minibatch-size-in-sequences 16"), [16, 16, 8]);
    assert_eq!(read("--minibatch-size-in-sequences 16 --minibatch-size 21"), [14, 14, 12]);
    assert_eq!(read("--set minibatchSizeInSequences=16 --minibatch-size 1000 --take 1"), [16]);
    let planned = answers(&folder, "plan many.json --json --minibatch-size-in-sequences 16");
    assert_eq!(planned[0]["numberOfSequences"], 16);
    let e = refused(&folder, "read many.json --minibatch-size-in-sequences 0", 2);
    assert!(
        e.contains("'--minibatch-size-in-sequences <N>': found `0`, expected a whole number from 1"),
        "{e}"
    );
    let e = refused(&folder, "read many.json --set minibatchSizeInSequences=0", 2);
    assert!(e.contains("--set minibatchSizeInSequences=0: found 0, expected at least 1 sequence"), "{e}");
}

#[test]
fn info_describes_streams_and_lengths() {
    let folder = many("info");
    let found = answers(&folder, "info many.json --json --minibatch-size 30 --randomize false");
    let info = &found[0];
    assert_eq!(info["streams"], json!([{"name": "x", "shape": [1], "dtype": "float32", "sparse": false}]));
    assert_eq!((&info["sequences"], &info["samples"]), (&json!(40), &json!(60)));
    assert_eq!(info["lengths"], json!({"min": 1, "mean": 1.5, "max": 2}));
    let shares = json!({"padded": 0.25, "packed": 0.0});
    assert_eq!(
        info["padding"],
        json!({"minibatchSize": 30, "padded": 0.25, "packed": 0.0, "withoutBucketing": shares})
    );
    assert!(info["chunks"].as_u64() > Some(5));
    let output = tesson(&folder, "info many.json");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("x dense 1 float32") && text.contains("1 to 2 samples, 1.5 on average"), "{text}");
}

#[test]
fn info_tells_what_bucketing_saves() {
    let folder = many("buckets");
    let padding = |more: &str| {
        answers(&folder, &format!("info many.json --json --minibatch-size 10 {more}"))[0]["padding"].clone()
    };
    let (off, on) = (padding(""), padding("--bucketing"));
    assert_eq!(off["withBucketing"], on["withBucketing"]);
    assert_eq!(off["withoutBucketing"], on["withoutBucketing"]);
    assert_eq!(
        (&off["padded"], &on["padded"]),
        (&off["withoutBucketing"]["padded"], &off["withBucketing"]["padded"])
    );
    assert!(off["padded"].as_f64() > Some(0.1) && on["padded"] == json!(0.0), "{off} {on}");
    assert_eq!(on["withBucketing"]["bucketing"], 10);
    let output = tesson(&folder, "info many.json --minibatch-size-in-sequences 5");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.contains("% of minibatches of 5 sequences") && text.contains("`bucketing` would save"),
        "{text}"
    );
    let e = refused(&folder, "read many.json --bucketing some", 2);
    assert!(e.contains("bucketing: found `some`, expected `true`, `false` or a number of samples"), "{e}");
}

#[test]
fn a_sequence_is_shown_by_its_key() {
    let folder = many("show");
    let shown = &answers(&folder, "show many.json --key 7 --json --sweep 1")[0];
    let all = answers(&folder, "read many.json --json --sweeps 2 --minibatch-size 1");
    let number = shown["number"].as_u64().unwrap() as usize;
    assert_eq!(shown["streams"], all[40 + number]["streams"]);
    assert_eq!(
        (&shown["sweep"], &shown["file"], &shown["faults"]),
        (&json!(1), &json!("many.ctf"), &json!([]))
    );
    let text = String::from_utf8(tesson(&folder, "show many.json --key 7").stdout).unwrap();
    assert!(text.contains("sequence") && text.contains("of sweep 0") && text.contains("dense 1"), "{text}");
    let in_order = &answers(&folder, "show many.json --key 7 --json --randomize false")[0];
    assert_eq!(in_order["number"], 7);
    let e = refused(&folder, "show many.json --key 4711 --randomize false", 2);
    assert!(e.contains("--key 4711: there is no sequence with this key among 40; one is `0`"), "{e}");
}

#[test]
fn all_sequences_of_a_key_are_shown_or_counted() {
    let folder = folder("show-again");
    let rows: String = (0..24).map(|i| format!("{} |x {i}\n", i % 2 * 7)).collect();
    fs::write(folder.join("again.ctf"), rows).unwrap();
    let args = "show again.ctf --stream x:1 --randomize false --key 7";
    let shown = answers(&folder, &format!("{args} --json"));
    assert_eq!(shown.len(), 10);
    for (i, one) in shown.iter().enumerate() {
        assert_eq!((&one["occurrences"], &one["number"]), (&json!(12), &json!(2 * i + 1)));
        assert_eq!(one["streams"]["x"]["sequences"], json!([[[2 * i + 1]]]));
    }
    let text = String::from_utf8(tesson(&folder, args).stdout).unwrap();
    assert!(text.contains("7 (1 of 12 sequences with this key)"), "{text}");
    assert!(text.ends_with("… and 2 more with this key\n"), "{text}");
}

#[test]
fn bench_counts_what_was_read() {
    let folder = many("bench");
    let runs = answers(&folder, "bench many.json --json --minibatch-size 10 --runs 2 --sweeps 1");
    assert_eq!(runs.len(), 2);
    let first = answers(&folder, "read many.json --json --minibatch-size 10 --take 1");
    let in_first = first[0]["streams"]["x"]["numberOfSamples"].as_u64().unwrap();
    for run in &runs {
        assert_eq!(run["samples"].as_u64(), Some(60 - in_first), "{run}");
        assert!(run["samplesPerSecond"].as_f64() > Some(0.0) && run["bytesRead"].is_u64(), "{run}");
    }
    let text = String::from_utf8(tesson(&folder, "bench many.json --take 3").stdout).unwrap();
    assert!(text.contains("minibatches/s"), "{text}");
    assert!(text.contains("which takes") && text.contains("too few"), "{text}");
    // Small data are read again and again, sweep by sweep.
    let run = &answers(&folder, "bench many.json --json --minibatch-size 10")[0];
    let (sweeps, samples) = (run["sweeps"].as_u64().unwrap(), run["samples"].as_u64().unwrap());
    assert!(
        sweeps > 1 && samples + in_first >= 60 * sweeps && samples + in_first < 60 * (sweeps + 1),
        "{run}"
    );
    assert!(
        run["verdict"].as_str().is_some_and(|verdict| verdict.contains("training step"))
            && run["bytesPerSecondAlone"].as_f64() > Some(0.0),
        "{run}"
    );
}

#[test]
fn a_plan_of_truncated_minibatches_shows_the_pieces_that_are_then_read() {
    let folder = many("pieces");
    let options =
        "many.json --json --set truncationLength=1 --minibatch-size 3 --sweeps 1 --workers 2 --rank 1";
    let planned = answers(&folder, &format!("plan {options} --sharing position"));
    let read = answers(&folder, &format!("read {options} --sharing position --layout"));
    assert_eq!(planned.len(), read.len());
    for (plan, minibatch) in planned.iter().zip(&read).take(read.len() - 1) {
        let places = minibatch["streams"]["x"]["layout"]["places"].as_array().unwrap();
        let pieces = plan["pieces"].as_array().unwrap();
        let place = |p: &Value| json!([p["row"], p["begin"], p["end"]]);
        let found: Vec<Value> = pieces.iter().map(place).collect();
        let expected: Vec<Value> = places.iter().map(|p| json!([p[1], p[2], p[3]])).collect();
        assert_eq!(found, expected, "{plan}");
        assert_eq!(plan["numberOfSamples"], minibatch["streams"]["x"]["numberOfSamples"]);
    }
    let text = String::from_utf8(
        tesson(
            &folder,
            "plan many.json --set truncationLength=1 --minibatch-size 2 --take 1 --randomize false",
        )
        .stdout,
    );
    assert!(text.unwrap().contains("2 samples  0.0[0..1] | 0.2[0..1]"));
}

#[test]
fn an_unused_variable_is_warned_of_with_the_one_that_may_be_meant() {
    let folder = many("variable");
    fs::write(
        folder.join("many.cntk"),
        "DataDir = .\nTrain = [ reader = [ file = \"$DataDir$/many.ctf\" ; input = [ x = [ dim = 1 ; format = dense ] ] ] ]\n",
    )
    .unwrap();
    let warned = |arguments: &str| {
        let output = tesson(&folder, &format!("config many.cntk {arguments}"));
        assert!(output.status.success());
        String::from_utf8(output.stderr).unwrap()
    };
    let text = warned("DatDir=elsewhere");
    assert!(text.contains("unused `DatDir` of an argument, did you mean `DataDir`?"), "{text}");
    assert_eq!(warned("DataDir=elsewhere"), "");
    assert_eq!(warned("command=Train"), "");
}

#[test]
fn a_plan_names_the_sequences_that_are_then_read() {
    let folder = many("plan");
    let plan = answers(&folder, "plan many.json --minibatch 6 --json --seed 2");
    let read = answers(&folder, "read many.json --minibatch-size 6 --json --seed 2");
    assert_eq!(plan.len(), read.len());
    let stored = answers(&folder, "plan many.json --minibatch 1 --json --randomize false");
    // Minibatches of one sample in stored order number the sequences: place → key.
    let key = |place: &Value| stored.iter().position(|line| line["sequences"][0] == *place).unwrap();
    for (planned, delivered) in plan.iter().zip(&read) {
        let planned: Vec<usize> =
            planned["sequences"].as_array().map(|s| s.iter().map(key).collect()).unwrap_or_default();
        let delivered: Vec<usize> = delivered["streams"]["x"]["sequences"]
            .as_array()
            .map(|s| s.iter().map(|q| q[0][0].as_f64().unwrap() as usize / 100).collect())
            .unwrap_or_default();
        assert_eq!(planned, delivered);
    }
    let output = tesson(&folder, "plan many.ctf --stream x:1 --randomize false --minibatch 30 --take 1");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "        0        30 samples  0.0-19\n");
}

#[test]
fn plan_shows_a_step_of_all_ranks_and_where_a_key_comes() {
    let folder = many("steps");
    let base = "many.json --seed 2 --sharing position --workers 2 --sweeps 2";
    let plan = format!("plan {base} --minibatch 6 --json");
    let keys_of = |rank: u64| -> Vec<Vec<u64>> {
        let read = answers(&folder, &format!("read {base} --minibatch-size 6 --json --rank {rank}"));
        let of = |line: &Value| -> Option<Vec<u64>> {
            let all = line["streams"]["x"]["sequences"].as_array()?;
            Some(all.iter().map(|q| q[0][0].as_f64().unwrap() as u64 / 100).collect())
        };
        read.iter().filter_map(of).collect()
    };
    let delivered = [keys_of(0), keys_of(1)];
    for (step, first) in delivered[0].iter().enumerate() {
        let [line] = &answers(&folder, &format!("{plan} --step {step}"))[..] else { panic!("one line") };
        let told: Vec<(u64, u64)> = line["sequences"]
            .as_array()
            .unwrap()
            .iter()
            .map(|s| (s["rank"].as_u64().unwrap(), s["key"].as_str().unwrap().parse().unwrap()))
            .collect();
        let of_rank = |rank: u64| {
            let keys = delivered[rank as usize].get(step).into_iter().flatten();
            keys.map(move |&key| (rank, key)).collect::<Vec<_>>()
        };
        assert_eq!(told, [of_rank(0), of_rank(1)].concat(), "step {step}");
        let found: Vec<_> = (0..2)
            .flat_map(|sweep| answers(&folder, &format!("{plan} --key {} --sweep {sweep}", first[0])))
            .map(|found| (found["step"].clone(), found["rank"].clone()))
            .collect();
        assert!(found.contains(&(json!(step), json!(0))) && found.len() == 2, "{found:?}");
    }
    let e = refused(&folder, "plan many.ctf --stream x:1 --sweeps 1 --step 700", 2);
    assert!(e.contains("step 700 is asked for, the data end after"), "{e}");
    let e = refused(&folder, "plan many.json --key 4711", 2);
    assert!(e.contains("no sequence with the key `4711` among 40; one is `"), "{e}");
    let e = refused(&folder, "plan many.json --sweep 1", 2);
    assert!(e.contains("--sweep: it says in which sweep `--key K` is looked for"), "{e}");
    let text = tesson(&folder, "plan many.ctf --stream x:1 --randomize false --minibatch 2 --step 1");
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    assert!(text.starts_with("step 1: 1 sequence\nrank 0    sweep 0      0.1[0..2]"), "{text}");
    assert!(text.contains("many.ctf (bytes "), "{text}");
}

#[test]
fn check_lists_every_fault_with_its_place_and_does_not_stop() {
    let folder = folder("check");
    fs::write(folder.join("bad.ctf"), "0 |x 1 |y 7:1\n1 |x 1 2 |y 0:1\n1 oops |x 3 |y 1:1\n2 |x 4 |y 1:1\n")
        .unwrap();
    let args = "check bad.ctf --stream x:1 --stream y:5:sparse";
    let output = tesson(&folder, &format!("{args} --json"));
    assert_eq!(output.status.code(), Some(1));
    let found = lines(&output);
    let places: Vec<_> = found
        .iter()
        .filter(|f| f.get("fault").is_some())
        .map(|f| (f["line"].as_u64().unwrap(), f["offset"].as_u64().unwrap(), f["key"].as_u64().unwrap()))
        .collect();
    assert_eq!(places, [(1, 10, 0), (2, 21, 1), (3, 32, 1)], "{found:?}");
    assert_eq!(found.last().unwrap()["faults"], json!(3));
    let text = String::from_utf8(tesson(&folder, args).stdout).unwrap();
    assert!(
        text.contains("bad.ctf:1 (byte 10): stream `y`, sequence 0: index 7 is not below dim 5"),
        "{text}"
    );
    assert!(
        text.contains("3 sequences, 3 faults; `--max-errors 3` reads past them and leaves 1 sequence out"),
        "{text}"
    );
    // Tables have the same remedy, and `read` takes it.
    fs::write(folder.join("bad.jsonl"), "{\"a\": 1}\n{\"a\": 2}\n{\"a\": [}\n").unwrap();
    let text = String::from_utf8(tesson(&folder, "check bad.jsonl").stdout).unwrap();
    assert!(text.contains("3 sequences, 1 fault; `--max-errors 1` reads past it"), "{text}");
    assert!(tesson(&folder, "read bad.jsonl --max-errors 1 --sweeps 1").status.success());
    fs::write(folder.join("good.ctf"), "0 |x 1 |y 1:1\n").unwrap();
    let output = tesson(&folder, "check good.ctf --stream x:1 --stream y:5:sparse");
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "1 sequence, no faults\n");
}

#[test]
fn check_notes_what_the_documents_of_the_format_call_invalid() {
    let folder = folder("check-notes");
    // An id that returns, an input twice in a row of a longer sequence, a row without input, an input twice that is a fault.
    let text = "100 |x 1 |x 2 |y 3\n100 |y 4\n100\n200 |x 5 |y 6\n100 |x 7 |y 8\n300 |x 9 |x 9 |y 9\n";
    fs::write(folder.join("odd.ctf"), text).unwrap();
    let args = "check odd.ctf --stream x:1 --stream y:1";
    let output = tesson(&folder, &format!("{args} --json"));
    assert_eq!(output.status.code(), Some(1));
    let found = lines(&output);
    let (summary, found) = found.split_last().unwrap();
    let facts: Vec<_> =
        found.iter().map(|f| (&f["offset"], &f["key"], &f["note"], f["fault"].as_str().unwrap())).collect();
    let twice = "the input occurs again in the same row, expected one sample a row";
    let bare = "the row holds no valid sample of a known input";
    let more = "found 2 samples in a sequence of 1 row, expected at most one a row";
    let again = "the key occurs again, the first sequence with it begins at byte 0; all rows of a sequence are expected to \
                 follow each other";
    assert_eq!(
        facts,
        [
            (&json!(60), &json!(300), &json!(false), more),
            (&json!(9), &json!(100), &json!(true), twice),
            (&json!(28), &json!(100), &json!(true), bare),
            (&json!(46), &json!(100), &json!(true), again),
        ]
    );
    assert_eq!((&summary["faults"], &summary["notes"]), (&json!(1), &json!(3)));
}

#[test]
fn check_counts_samples_that_are_shorter_than_their_dim() {
    let folder = folder("check-short");
    let text: String = (0..1000).map(|i| format!("{i} |x 1 2 3 |y {i}\n")).collect();
    fs::write(folder.join("short.ctf"), text).unwrap();
    let output = tesson(&folder, "check short.ctf --stream x:5 --stream y:1");
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "short.ctf:1 (byte 2): stream `x`, sequence 0: 1000 samples, this is the first, have at most 3 of 5 values, the \
         others are zeros; is `dim` too large? (a note: it is read all the same)\n1,000 sequences, 1,000 notes; all of it is read, and notes make the exit code 1, too\n"
    );
}

#[test]
fn check_takes_the_same_id_in_two_files_for_two_sequences() {
    let folder = folder("check-files");
    for name in ["a.ctf", "b.ctf"] {
        fs::write(folder.join(name), "1 |x 1\n2 |x 2\n1 |x 3\n").unwrap();
    }
    let output = tesson(&folder, "check *.ctf --stream x:1 --json");
    let found = lines(&output);
    let files: Vec<_> = found.iter().filter_map(|f| f["file"].as_str()).collect();
    assert_eq!(files, ["a.ctf", "b.ctf"], "{found:?}");
}

#[test]
fn an_index_cache_is_written_beside_the_file() {
    let folder = two("index");
    let found = answers(&folder, "index two.ctf --stream a:2 --stream b:4:sparse --json");
    let cache = folder.join(found[0]["cache"].as_str().unwrap());
    assert_eq!(fs::metadata(cache).unwrap().len(), found[0]["bytes"].as_u64().unwrap());
    assert_eq!((&found[0]["sequences"], &found[0]["samples"]), (&json!(2), &json!(3)));
}

#[test]
fn bad_data_end_the_answer_with_an_error_line_and_exit_code_1() {
    let folder = folder("bad-data");
    fs::write(folder.join("bad.ctf"), "0 |x 1\n1 |x 2 3\n").unwrap();
    let output = tesson(&folder, "read bad.ctf --stream x:1 --randomize false --json --minibatch-size 1");
    assert_eq!(output.status.code(), Some(1));
    let found = lines(&output);
    assert_eq!(found.len(), 2, "{found:?}");
    let error = found[1]["error"].as_str().unwrap();
    assert!(error.starts_with("bad.ctf:2 (byte 14): stream `x`, sequence 1:"), "{error}");
    assert!(stderr(&output).contains(error));
    let forgiven =
        answers(&folder, "read bad.ctf --stream x:1 --randomize false --json --max-errors 1 --sweeps 1");
    assert_eq!(forgiven.last(), Some(&json!({"end": true})));
}

#[test]
fn named_keys_are_left_out_and_others_keep_their_places() {
    let folder = folder("exclude-keys");
    fs::write(folder.join("keys.ctf"), "1 |x 1\n2 |x 2\n3 |x 3\n4 |x 4\n").unwrap();
    fs::write(folder.join("bad.txt"), "2\n").unwrap();
    let read = "read keys.ctf --stream x:1 --randomize false --sweeps 1 --json --minibatch-size 2";
    let values = |command: &str| -> Vec<Value> {
        let line = |line: &Value| line["streams"]["x"].get("sequences").cloned();
        answers(&folder, command).iter().filter_map(line).collect()
    };
    let all = [json!([[[1]], [[2]]]), json!([[[3]], [[4]]])];
    assert_eq!(values(read), all);
    assert_eq!(values(&format!("{read} --exclude-keys bad.txt")), [json!([[[1]]]), all[1].clone()]);
    let e = refused(&folder, &format!("{read} --exclude-keys none.txt"), 1);
    assert!(e.contains("none.txt: No such file"), "{e}");
}

#[test]
fn errors_suggest_the_repair() {
    let folder = two("repair");
    let e = refused(&folder, "index two.ctf", 2);
    assert!(
        e.contains(
            "give them, by its 3 rows: --stream a:2 --stream b:4:sparse; the size of a sparse stream is"
        ),
        "{e}"
    );
    let e = refused(&folder, "read none.ctf --stream a:2", 1);
    assert!(e.contains("none.ctf: No such file"), "{e}");
    let e = refused(&folder, "read two.ctf --stream a:2 --set maxSweps=1", 2);
    assert!(e.contains("did you mean `maxSweeps`?"), "{e}");
    let e = refused(&folder, "read two.ctf --stream a:2:spars", 2);
    assert!(e.contains("expected NAME:DIM or NAME:DIM:sparse"), "{e}");
    let e = refused(&folder, "read two.ctf --stream a:2 --minibatch-size 0", 2);
    assert!(e.contains("expected at least 1"), "{e}");
    let e = refused(&folder, "raed two.ctf", 2);
    assert!(e.contains("read"), "{e}");
    fs::write(folder.join("bad.json"), "{\"deserializers\": [}").unwrap();
    let e = refused(&folder, "info bad.json", 2);
    assert!(e.contains("bad.json: line 1, column 20"), "{e}");
    let e = refused(&folder, "read reader.cntk", 1);
    assert!(e.contains("reader.cntk: No such file"), "{e}");
    let e = refused(&folder, "read two.ctf Dir=x --stream a:2", 2);
    assert!(e.contains("only a BrainScript configuration has arguments"), "{e}");
    let e = refused(&folder, "read two.ctf --stream a:2 --minibatch-size -5", 2);
    assert!(e.contains("found `-5`"), "{e}");
    fs::write(folder.join("odd.json"), r#"{"randomise": true}"#).unwrap();
    let e = refused(&folder, "read odd.json", 2);
    assert!(e.contains("odd.json:1:2: unknown option `randomise`, did you mean `randomize`?"), "{e}");
    let text = "[[deserializers]]\ntype = 'CNTKTextFormatDeserializer'\nfile = 'f'\ninput.x = {dim = 1, fromat = 'dense'}\n";
    fs::write(folder.join("odd.toml"), text).unwrap();
    let e = refused(&folder, "read odd.toml", 2);
    let expected = "odd.toml:4:21: deserializers[0].input.x: unknown option `fromat`, did you mean `format`?";
    assert!(e.contains(expected), "{e}");
}

#[test]
fn a_wrong_path_suggests_what_may_be_meant() {
    let folder = two("paths");
    fs::create_dir(folder.join("empty")).unwrap();
    for (args, expected) in [
        (
            "read tow.ctf --stream a:2",
            "tow.ctf: No such file or directory (os error 2); did you mean `two.ctf`?",
        ),
        ("check ~/two.ctf --stream a:2", "only a shell knows `~`, write `/"),
        ("info data/two.ctf --stream a:2", "there is no folder `data`"),
        ("plan elsewhere.cntk", "relative names start from `"),
        ("bench . --stream a:2", "`.` holds `empty`, `two.ctf`"),
        ("read .", "the folder of a prepared dataset is expected, `.` holds `empty`, `two.ctf`"),
        ("read empty", "the folder of a prepared dataset is expected, `empty` is empty"),
        ("read two.ctf --stream a:2 --state sate.json", "relative names start from `"),
        (
            "read two.ctf --stream a:2 --save-state there/s.json --take 1 --sweeps 1",
            "there is no folder `there`",
        ),
        ("convert two.ctf --stream a:2 there/two.cbf", "there is no folder `there`"),
        ("convert tow.csv out.ctf", "relative names start from `"),
    ] {
        let e = refused(&folder, args, 1);
        assert!(e.contains(expected), "{args}: {e}");
    }
}

#[test]
fn a_stream_that_the_file_does_not_have_is_told_beside_those_that_it_has() {
    let folder = two("names");
    let output = tesson(&folder, "read two.ctf --stream aa:2 --sweeps 1");
    let e = stderr(&output);
    assert!(
        e.contains("two.ctf: no `|aa` in the first rows, which also have `|a`, `|b`, did you mean `a`?"),
        "{e}"
    );
}

const TRAIN: &str =
    "Dir = nowhere\nTrain = [\n SGD = [ minibatchSize = 1*1:2 ; epochSize = 2 ; maxEpochs = 3 ]
 reader = [ file = \"$Dir$/two.ctf\" ; randomize = true ; shufle = 1
  input = [ a = [ dim = 2 ; format = dense ] ] ] ]
Test = [ reader = [ file = two.ctf ; randomize = none ; input = [ a = [ dim = 2 ; format = dense ] ] ] ]\n";

fn samples(lines: &[Value]) -> Vec<u64> {
    lines.iter().filter_map(|line| line["streams"]["a"]["numberOfSamples"].as_u64()).collect()
}

#[test]
fn a_brainscript_file_is_read_with_its_arguments() {
    let folder = two("brainscript");
    fs::write(folder.join("train.cntk"), TRAIN).unwrap();
    // Sequences of 2 and of 1 samples: epochs of 2 samples, sweeps of 3; the first epoch has minibatches of 1.
    let as_stored = "read train.cntk Dir=. Train=[reader=[randomize=false]] --json";
    assert_eq!(samples(&answers(&folder, as_stored)), [2, 1, 2, 1]);
    assert_eq!(samples(&answers(&folder, &format!("{as_stored} --epochs 1"))), [2]);
    assert_eq!(samples(&answers(&folder, &format!("{as_stored} --sweeps 1 --minibatch-size 9"))), [2, 1]);
    assert_eq!(samples(&answers(&folder, "read train.cntk --section Test --json")), [3]);
    let set = "read train.cntk --set Dir=. --set Train.reader.randomize=false --epochs 1 --json";
    assert_eq!(samples(&answers(&folder, set)), [2]);
    let output = tesson(&folder, "read train.cntk --json");
    assert_eq!(output.status.code(), Some(1));
    let e = stderr(&output);
    assert!(e.contains("unused option `shufle`") && e.contains("nowhere/two.ctf: No such file"), "{e}");
    let e = refused(&folder, "read train.cntk --section Trian", 2);
    assert!(e.contains("found no such reader") && e.contains("Train/reader, Test/reader"), "{e}");
    assert!(e.contains("did you mean `Train`?"), "{e}");
    let e = refused(&folder, "read train.cntk Train=[reader=[maxErrors=few]]", 2);
    assert!(e.contains("argument 1:1:16: Train.reader.maxErrors: found `few`"), "{e}");
}

#[test]
fn a_configuration_is_resolved_and_converted() {
    let folder = two("config");
    fs::write(folder.join("train.cntk"), TRAIN).unwrap();
    let resolved = &answers(&folder, "config train.cntk Dir=. --json")[0];
    assert_eq!(resolved["tree"]["Train"]["reader"]["file"], "./two.ctf");
    assert_eq!(resolved["readers"]["Train/reader"]["ignored"], json!(["shufle"]));
    let one = &answers(&folder, "config train.cntk --section Test --json")[0];
    assert_eq!(one["readers"].as_object().unwrap().len(), 1);
    for form in ["json", "toml"] {
        let args =
            format!("config train.cntk Dir=. Train=[reader=[randomize=false]] --section Train --to {form}");
        let output = tesson(&folder, &args);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        fs::write(folder.join(format!("train.{form}")), &output.stdout).unwrap();
        assert_eq!(samples(&answers(&folder, &format!("read train.{form} --json"))), [2, 1, 2, 1]);
    }
}

#[test]
fn help_is_an_answer() {
    let folder = folder("help");
    for command in ["read", "info", "plan", "check", "index", "config"] {
        let output = tesson(&folder, &format!("{command} --help"));
        assert_eq!(output.status.code(), Some(0));
        assert!(String::from_utf8_lossy(&output.stdout).contains("Examples:"), "{command}");
    }
    assert_eq!(tesson(&folder, "--version").status.code(), Some(0));
    assert_eq!(tesson(&folder, "").status.code(), Some(2));
}

#[test]
fn a_closed_pipe_ends_the_command_quietly() {
    let folder = many("pipe");
    // Far more than a pipe holds, so that the command is still writing when its reader is gone.
    let mut child = command(&folder, "read many.json --json --minibatch-size 1 --sweeps 2000")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut some = [0; 100];
    child.stdout.take().unwrap().read_exact(&mut some).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(stderr(&output), "");
}

#[test]
fn a_binary_file_needs_no_further_words() {
    let folder = binary("binary");
    let stream =
        |sequences: Value| json!({"numberOfSequences": 2, "numberOfSamples": 3, "sequences": sequences});
    let sequences = json!([[[1, 2]], [[3, 4], [5, 6]]]);
    let expected = [
        json!({"sweepEnd": true, "keys": [0, 1], "streams": {"a": stream(sequences.clone())}}),
        json!({"end": true}),
    ];
    assert_eq!(answers(&folder, "read two.cbf --randomize false --json"), expected);
    let renamed = answers(&folder, "read two.cbf --alias x=a --randomize false --json");
    assert_eq!(renamed[0]["streams"]["x"], stream(sequences));
    assert_eq!(answers(&folder, "info two.cbf --json")[0]["samples"], 3);
    assert_eq!(answers(&folder, "plan two.cbf --json").len(), 2);
    assert_eq!(answers(&folder, "check two.cbf --json")[0]["faults"], 0);
    assert_eq!(answers(&folder, "index two.cbf --json")[0]["cache"], Value::Null);
    assert!(!folder.join("two.cbf.tesson-index").exists());
    fs::rename(folder.join("two.cbf"), folder.join("two")).unwrap();
    assert_eq!(answers(&folder, "read two --randomize false --json"), expected, "by its first bytes");
    let e = refused(&folder, "read two --stream a:2", 2);
    assert!(e.contains("a binary file declares its streams"), "{e}");
}

#[test]
fn check_goes_on_behind_a_damaged_chunk_and_notes_other_lengths() {
    let folder = binary("damaged");
    let mut bytes = fs::read(folder.join("two.cbf")).unwrap();
    (bytes[12], bytes[16]) = (2, 1);
    fs::write(folder.join("two.cbf"), &bytes).unwrap();
    let found = tesson(&folder, "check two.cbf --json");
    assert_eq!(found.status.code(), Some(1));
    let found = lines(&found);
    assert_eq!(
        (&found[0]["note"], &found[0]["offset"], &found[0]["line"]),
        (&json!(true), &json!(12), &Value::Null)
    );
    assert_eq!((&found[2]["notes"], &found[2]["faults"]), (&json!(2), &json!(0)));
    bytes[20] = 100;
    fs::write(folder.join("two.cbf"), &bytes).unwrap();
    let found = lines(&tesson(&folder, "check two.cbf --json"));
    assert!(
        found[0]["fault"].as_str().unwrap().contains("chunk 0 is damaged: sequence 0 of 2 needs 804 bytes"),
        "{found:?}"
    );
    assert_eq!((&found[1]["sequences"], &found[1]["fatal"]), (&json!(2), &json!(1)));
    let e = refused(&folder, "read two.cbf --randomize false", 1);
    assert!(e.contains("two.cbf (byte 20): stream `a`, sequence 0: chunk 0 is damaged"), "{e}");
}

/// Converts, and returns the answers of `read --json` on the output, in order and with further arguments.
fn converted(folder: &Path, args: &str, output: &str, read: &str) -> Vec<Value> {
    let answer = answers(folder, &format!("convert {args} --verify --json"));
    assert_eq!(answer[0]["verified"], true, "{args}");
    let leftover = fs::read_dir(folder)
        .unwrap()
        .find(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().ends_with(".tmp"));
    assert!(leftover.is_none(), "{leftover:?}");
    without_keys(answers(folder, &format!("read {output} {read} --randomize false --json")))
}

/// Minibatches without the keys of their sequences, which the binary format does not hold.
fn without_keys(mut minibatches: Vec<Value>) -> Vec<Value> {
    for object in minibatches.iter_mut().filter_map(Value::as_object_mut) {
        object.remove("keys");
    }
    minibatches
}

#[test]
fn text_becomes_binary_and_text_again() {
    let folder = two("convert");
    let expected = without_keys(answers(&folder, &format!("read two.ctf {STREAMS} --json")));
    assert_eq!(
        converted(&folder, "two.ctf two.cbf --stream a:2 --stream b:4:sparse", "two.cbf", ""),
        expected
    );
    assert_eq!(
        converted(&folder, "two.cbf back.ctf", "back.ctf", "--stream a:2 --stream b:4:sparse"),
        expected
    );
    let back = fs::read_to_string(folder.join("back.ctf")).unwrap();
    assert_eq!(back, "0 |a 1 2 |b 1:-1 3:0.5\n0 |a 3 4 |b 0:2\n1 |a 5 6.25 |b\n");
    let binary = fs::read(folder.join("two.cbf")).unwrap();
    for threads in [1, 3] {
        answers(
            &folder,
            &format!(
                "convert back.ctf again.cbf --stream a:2 --stream b:4:sparse --threads {threads} --force --json"
            ),
        );
        assert_eq!(fs::read(folder.join("again.cbf")).unwrap(), binary);
    }
    answers(&folder, "convert two.cbf double.cbf --precision double --chunk-size 1 --json");
    assert_eq!(answers(&folder, "info double.cbf --json")[0]["chunks"], 2);
    // Without `--precision`, double values stay unchanged.
    answers(&folder, "convert double.cbf copy.cbf --chunk-size 1 --json");
    assert_eq!(fs::read(folder.join("double.cbf")).unwrap(), fs::read(folder.join("copy.cbf")).unwrap());
}

#[test]
fn tables_become_streams() {
    let folder = folder("tables");
    fs::write(folder.join("t.csv"), "id,a,b,class\n7,0,1.5,2\n7,2,0,0\n9,-1,\"3\",1\n").unwrap();
    let text = |args: &str| {
        answers(&folder, &format!("convert {args} out.ctf --verify --force --json"));
        fs::read_to_string(folder.join("out.ctf")).unwrap()
    };
    let options = "--header --label-column class --one-hot 3 --key-column id";
    let expected =
        "7 |labels 2:1 |features 0 1.5\n7 |labels 0:1 |features 2 0\n9 |labels 1:1 |features -1 3\n";
    assert_eq!(text(&format!("t.csv {options}")), expected);
    let expected =
        "7 |labels 2:1 |features 1:1.5\n7 |labels 0:1 |features 0:2\n9 |labels 1:1 |features 0:-1 1:3\n";
    assert_eq!(text(&format!("t.csv {options} --sparse")), expected);
    let expected = "0 |x 0 7 |y 2\n1 |x 2 7 |y 0\n2 |x -1 9 |y 1\n";
    assert_eq!(text("t.csv --header --streams x=a,0 --streams y=class"), expected);
    fs::write(folder.join("t.tsv"), "1\t2\t3\n").unwrap();
    assert_eq!(text("t.tsv --label-column 2 --streams x=0-1"), "0 |labels 3 |x 1 2\n");
    fs::write(folder.join("t.svm"), "# head\n1 1:0.5 4:1 # x\n0 qid:3 2:2 2:1\n").unwrap();
    assert_eq!(text("t.svm"), "0 |labels 1 |features 0:0.5 3:1\n1 |labels 0 |features 1:3\n");
    let lines = r#"{"id": "p", "x": [[1, 2], [3, 4]], "y": {"4": 0.5}, "c": 1}
{"id": "q", "x": [[5, 6]], "y": [{"1": 2, "0": 1}], "c": 0}
"#;
    fs::write(folder.join("t.jsonl"), lines).unwrap();
    let expected = "p |x 1 2 |y 4:0.5 |c 1:1\np |x 3 4\nq |x 5 6 |y 0:1 1:2 |c 0:1\n";
    assert_eq!(text("t.jsonl --key-column id --label-column c --one-hot 2"), expected);
    let lines = "{\"id\": 5, \"x\": [1]}\n{\"id\": 5, \"x\": [[2], [3]]}\n{\"id\": 6, \"x\": 4}\n";
    fs::write(folder.join("k.jsonl"), lines).unwrap();
    assert_eq!(text("k.jsonl --key-column id"), "5 |x 1\n5 |x 2\n5 |x 3\n6 |x 4\n");
    // The largest column is known at the end.
    let binary = answers(&folder, "convert t.svm t.cbf --one-hot 2 --verify --json");
    assert_eq!(binary[0]["streams"][1]["dim"], 4);
    assert_eq!(answers(&folder, "info t.cbf --json")[0]["streams"][1]["shape"], json!([4]));
}

#[test]
fn what_cannot_be_converted_is_told_with_its_line_and_leaves_no_file() {
    let folder = folder("tables-bad");
    let check = |name: &str, text: &str, args: &str, code: i32, expected: &str| {
        fs::write(folder.join(name), text).unwrap();
        let e = refused(&folder, &format!("convert {name} out.cbf {args}"), code);
        assert!(e.contains(expected), "{name} {args}: {e}");
        let left: Vec<_> = fs::read_dir(&folder).unwrap().map(|f| f.unwrap().file_name()).collect();
        assert!(!left.iter().any(|f| f.to_string_lossy().starts_with("out")), "{left:?}");
    };
    check("a.csv", "1,2\n3,x\n", "", 1, "a.csv:2: field 1 is `x`, expected a number");
    let nowhere = refused(&folder, "convert a.csv nowhere/out.cbf", 1);
    assert!(nowhere.contains("nowhere/out.cbf: "), "{nowhere}");
    check("a.csv", "1,2\n3\n", "", 1, "a.csv:2: found 1 field, expected 2");
    check("a.csv", "1,2\n", "--label-column 2", 2, "column `2`: the table has 2 columns, counted from 0");
    check(
        "a.csv",
        "a,bc\n1,2\n",
        "--header --label-column bd",
        2,
        "there is no column `bd`, did you mean `bc`?",
    );
    check(
        "a.csv",
        "1,3\n",
        "--label-column 1 --one-hot 3",
        1,
        "a.csv:1: the label is `3`, expected a class from 0 to 2",
    );
    check("a.csv", "", "", 1, "a.csv:1: there is no row");
    check("a.svm", "1 0:1\n", "", 1, "a.svm:1: found index 0, expected one from 1 to");
    check("a.svm", "1 1:1\n1 3\n", "", 1, "a.svm:2: found `3`, expected a pair `index:value`");
    check(
        "a.jsonl",
        "{\"x\": [1]}\n\n{\"x\": [1, 2]}\n",
        "",
        1,
        "a.jsonl:3: field `x`: found 2 values, the first line has 1",
    );
    check("a.jsonl", "{\"x\": [1]}\n[1]\n", "", 1, "a.jsonl:2: found no object");
    check("a.jsonl", "{\"x\": 1", "", 1, "a.jsonl:1: no valid JSON");
    check("a.ctf", "|x 1\n|x 1 y\n", "--stream x:1", 1, "a.ctf:2 (byte 10)");
    check(
        "a.ctf",
        "|x 1\n",
        "--stream x:1 --header",
        2,
        "--header: a.ctf is a file in CNTK's text format, the option is for CSV",
    );
    check("a.ctf", "|x 1\n", "--stream x:1 --to xyz", 2, "found the format `xyz`, expected `ctf` or `cbf`");
}

#[test]
fn files_of_records_are_converted_to_each_other_and_back() {
    let folder = folder("records-convert");
    tfrecord(&folder, "a.tfrecord", &["one", "", "three"]);
    let found = answers(&folder, "convert a.tfrecord b.array_record-00000-of-00001 --verify --json");
    assert_eq!((&found[0]["records"], &found[0]["bytes"]), (&json!(3), &json!(131_072)));
    answers(&folder, "convert b.array_record-00000-of-00001 c.tfrecord --json");
    assert_eq!(fs::read(folder.join("a.tfrecord")).unwrap(), fs::read(folder.join("c.tfrecord")).unwrap());
    answers(&folder, "convert a.tfrecord d --to array_record --group-size 2 --uncompressed --verify --json");
    // Only its first bytes show the format.
    assert_eq!(answers(&folder, "info d --json")[0]["format"], "array_record");
    let e = refused(&folder, "convert a.tfrecord a.tfrecord", 2);
    assert!(e.contains("a.tfrecord: this is the input, which is never replaced"), "{e}");
    let e = refused(&folder, "convert a.tfrecord a.cbf", 2);
    assert!(e.contains("--to"), "{e}");
}

#[test]
fn damaged_records_are_listed_and_not_converted() {
    let folder = folder("records-check");
    tfrecord(&folder, "good.tfrecord", &["one", "two", "three"]);
    let found = answers(&folder, "check good.tfrecord good.tfrecord --json");
    assert_eq!(found, [json!({"files": 2, "records": 6, "bytes": 22, "faults": 0})]);
    let mut bytes = fs::read(folder.join("good.tfrecord")).unwrap();
    bytes[19 + 12] ^= 1;
    bytes.extend([0; 3]);
    fs::write(folder.join("bad.tfrecord"), bytes).unwrap();
    let output = tesson(&folder, "check bad.tfrecord --json");
    assert_eq!(output.status.code(), Some(1));
    let found = lines(&output);
    assert_eq!((&found[0]["offset"], &found[1]["offset"]), (&json!(31), &json!(59)));
    assert!(found[0]["fault"].as_str().unwrap().starts_with("record 1: corrupted record"), "{found:?}");
    assert!(found[1]["fault"].as_str().unwrap().starts_with("record 3: truncated record"), "{found:?}");
    assert_eq!(found[2]["faults"], 2);
    let e = refused(&folder, "convert bad.tfrecord x.array_record", 1);
    assert!(e.contains("bad.tfrecord (byte 31): record 1"), "{e}");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 2, "nothing half done lies about");
    let e = refused(&folder, "check good.tfrecord other.ctf", 2);
    assert!(e.contains("other.ctf: expected one more file of records"), "{e}");
}

#[test]
fn an_index_of_records_is_used_as_long_as_it_fits() {
    let folder = folder("records-index");
    tfrecord(&folder, "a.tfrecord", &["one", "two", "three"]);
    let found = answers(&folder, "index a.tfrecord --json");
    assert_eq!(found[0]["records"], 3);
    let cache = folder.join(found[0]["cache"].as_str().unwrap());
    assert_eq!(cache, folder.join("a.tfrecord.tesson-index"));
    let found = answers(&folder, "index a.tfrecord --cache-dir caches --json");
    assert!(folder.join(found[0]["cache"].as_str().unwrap()).starts_with(folder.join("caches")));
    let saved = fs::read(&cache).unwrap();
    for changed in [&saved[..10], &[], &[7; 90], &saved[..saved.len() - 1]] {
        fs::write(&cache, changed).unwrap();
        assert_eq!(answers(&folder, "info a.tfrecord --json")[0]["records"], 3);
    }
    fs::write(&cache, &saved).unwrap();
    tfrecord(&folder, "a.tfrecord", &["one", "two", "three", "four"]);
    assert_eq!(answers(&folder, "info a.tfrecord --json")[0]["records"], 4);
    answers(&folder, "convert a.tfrecord b.array_record --json");
    assert_eq!(answers(&folder, "index b.array_record --json")[0]["cache"], Value::Null);
    fs::write(folder.join("two.ctf"), TWO).unwrap();
    let e = refused(&folder, "index two.ctf --stream a:2 --cache-dir caches", 2);
    assert!(e.contains("--cache-dir"), "{e}");
}

#[test]
fn a_prepared_dataset_is_described_planned_and_read() {
    let folder = prepared("prepared");
    let info = answers(&folder, "info . --json").remove(0);
    assert_eq!(info["splits"]["train"]["num_examples"], 4);
    let plan = answers(&folder, "plan . --read-config interleave_block_length=1 --json").remove(0);
    let id = |shard: u32, record: u32| format!("d-train.tfrecord-0000{shard}-of-00002__{record}");
    assert_eq!(plan["tfds_ids"], serde_json::json!([id(0, 0), id(1, 0), id(0, 1), id(0, 2)]));
    let cut = answers(&folder, "plan . --split train[1:] --op take=2 --numbers --epochs 2 --json");
    assert_eq!(cut, [serde_json::json!({"ids": [1, 2]}), serde_json::json!({"ids": [1, 2]})]);
    let read = answers(&folder, "read . --take 3 --save-state s --json").remove(0);
    assert_eq!(read["examples"].as_array().map(Vec::len), Some(3));
    let rest = answers(&folder, "read . --state s --json").remove(0);
    assert_eq!(rest["examples"].as_array().map(Vec::len), Some(1));
    assert!(refused(&folder, "read . --split tran", 2).contains("did you mean `train`?"));
    assert!(refused(&folder, "read . --split train[1:] --state s", 2).contains("its files"));
}

#[test]
fn check_looks_at_every_file_of_a_prepared_dataset() {
    let folder = prepared("prepared-checked");
    let whole = answers(&folder, "check . --json").remove(0);
    assert_eq!((&whole["files"], &whole["records"], &whole["faults"]), (&2.into(), &4.into(), &0.into()));
    tfrecord(&folder, "d-train.tfrecord-00001-of-00002", &["", ""]);
    fs::remove_file(folder.join("d-train.tfrecord-00000-of-00002")).expect("it is there");
    let output = tesson(&folder, "check . --json");
    assert_eq!(output.status.code(), Some(1));
    let found: Vec<String> = lines(&output).iter().map(Value::to_string).collect();
    assert!(found[0].contains("the shard is missing"), "{found:?}");
    assert!(found[1].contains("found 2 records, expected 1 as dataset_info.json says"), "{found:?}");
}

#[test]
fn missing_shards_are_all_named_whatever_reads_them() {
    let folder = prepared("prepared-missing");
    let source = r#"{"deserializers": [{"type": "TFDSDeserializer", "directory": "."}]}"#;
    fs::write(folder.join("source.json"), source).expect("the test's folder can be written");
    let features = r#"{"pythonClassName": "FeaturesDict", "featuresDict": {"features": {
        "a": {"pythonClassName": "Tensor", "tensor": {"shape": {"dimensions": ["2"]}, "dtype": "float32"}}}}}"#;
    fs::write(folder.join("features.json"), features).expect("the test's folder can be written");
    let shards = [0, 1].map(|i| format!("d-train.tfrecord-0000{i}-of-00002"));
    fs::remove_file(folder.join(&shards[0])).expect("it is there");
    for arguments in ["read .", "read source.json", "index ."] {
        let message = refused(&folder, arguments, 1);
        assert!(message.contains(&shards[0]) && !message.contains(&shards[1]), "{arguments}: {message}");
    }
    fs::remove_file(folder.join(&shards[1])).expect("it is there");
    for arguments in ["read .", "read source.json", "index ."] {
        let message = refused(&folder, arguments, 1);
        assert!(shards.iter().all(|shard| message.contains(shard)), "{arguments}: {message}");
    }
}

#[test]
fn check_decodes_every_feature_of_a_prepared_dataset() {
    let folder = prepared("prepared-decoded");
    let features = r#"{"pythonClassName": "FeaturesDict", "featuresDict": {"features": {
        "a": {"pythonClassName": "Tensor", "tensor": {"shape": {"dimensions": ["2"]}, "dtype": "int64"}},
        "b": {"pythonClassName": "Text", "text": {}}}}}"#;
    fs::write(folder.join("features.json"), features).expect("a file");
    let example = |features: &[(&str, tesson_formats::example::Value<'_>)]| {
        let mut bytes = Vec::new();
        tesson_formats::example::write(features, &mut bytes);
        String::from_utf8(bytes).expect("small numbers and letters")
    };
    use tesson_formats::example::Value::{Bytes, Ints};
    let good = example(&[("a", Ints(&[1, 2])), ("b", Bytes(&[b"x"]))]);
    let short = example(&[("a", Ints(&[1])), ("b", Bytes(&[b"x"]))]);
    let neither = example(&[("b", Ints(&[1]))]);
    tfrecord(&folder, "d-train.tfrecord-00000-of-00002", &[&good, &short, &good]);
    tfrecord(&folder, "d-train.tfrecord-00001-of-00002", &[&neither]);
    let output = tesson(&folder, "check . --json");
    assert_eq!(output.status.code(), Some(1));
    let found: Vec<Value> = lines(&output);
    let facts =
        |i: usize| (found[i]["stream"].as_str().unwrap_or(""), found[i]["key"].as_str().unwrap_or(""));
    assert_eq!(facts(0), ("a", "d-train.tfrecord-00000-of-00002__1"), "{found:?}");
    assert_eq!(facts(1), ("a", "d-train.tfrecord-00001-of-00002__0"), "{found:?}");
    assert_eq!(facts(2), ("b", "d-train.tfrecord-00001-of-00002__0"), "{found:?}");
    assert_eq!(found[3]["faults"], 3);
    let output = tesson(&folder, "check . --list 1");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.lines().count() == 3 && text.contains("… and 2 more"), "{text}");
}

#[test]
fn workers_share_the_examples_of_a_prepared_dataset_and_may_change_in_number() {
    let folder = folder("prepared-shared");
    let info =
        r#"{"name": "d", "version": "1.0.0", "splits": [{"name": "train", "shardLengths": [30, 20]}]}"#;
    fs::write(folder.join("dataset_info.json"), info).expect("a file");
    let features = r#"{"pythonClassName": "FeaturesDict", "featuresDict": {"features": {
        "i": {"pythonClassName": "Scalar", "tensor": {"shape": {}, "dtype": "int64"}}}}}"#;
    fs::write(folder.join("features.json"), features).expect("a file");
    let example = |i: i64| {
        let mut bytes = Vec::new();
        tesson_formats::example::write(&[("i", tesson_formats::example::Value::Ints(&[i]))], &mut bytes);
        String::from_utf8(bytes).expect("small numbers")
    };
    let examples: Vec<String> = (0..50).map(example).collect();
    let records: Vec<&str> = examples.iter().map(String::as_str).collect();
    tfrecord(&folder, "d-train.tfrecord-00000-of-00002", &records[..30]);
    tfrecord(&folder, "d-train.tfrecord-00001-of-00002", &records[30..]);
    let order = "--op shuffle={\"buffer_size\":9,\"seed\":3} --minibatch-size 8 --json";
    let read = |more: &str| -> Vec<i64> {
        let answer = answers(&folder, &format!("read . {order} {more}")).remove(0);
        let examples = answer["examples"].as_array().expect("a list").clone();
        examples.iter().map(|e| e["i"]["data"][0].as_i64().expect("a number")).collect()
    };
    let whole = read("");
    // Sixteen examples by one worker, sixteen by three, the rest by two.
    assert_eq!(read("--take 16 --save-state one"), whole[..16]);
    let mut next = whole[16..].chunks(8);
    let mut shares = |workers: usize, minibatches: usize, more: &str| {
        let parts: Vec<Vec<i64>> =
            (0..workers).map(|rank| read(&format!("--workers {workers} --rank {rank} {more}"))).collect();
        let mut expected = vec![Vec::new(); workers];
        for minibatch in next.by_ref().take(minibatches) {
            minibatch.iter().enumerate().for_each(|(i, n)| expected[i % workers].push(*n));
        }
        assert_eq!(parts, expected, "{workers} workers");
    };
    shares(3, 2, "--state one --take 16 --save-state three");
    shares(2, 3, "--state three");
    assert!(refused(&folder, "read . --workers 2 --rank 2", 2).contains("--rank: found 2"));
    // With the contents of the shuffle's buffer, and with files that have moved.
    read("--take 16 --save-state rings --include-buffers");
    assert_eq!(read("--state rings"), whole[16..]);
    let state = fs::read_to_string(folder.join("rings")).expect("a state");
    let at = state.find("2 files, ").expect("the files") + "2 files, ".len();
    fs::write(folder.join("moved"), [&state[..at], "0000000000000000", &state[at + 16..]].concat())
        .expect("a file");
    assert!(refused(&folder, &format!("read . {order} --state moved"), 2).contains("its files"));
    assert_eq!(read("--state moved --force"), whole[16..]);
    // Any place of any epoch.
    assert_eq!(read("--start-at 16"), whole[16..]);
    assert_eq!(read("--start-at 1:16"), read("--op repeat=2")[66..]);
    assert!(refused(&folder, "read . --start-at 51", 2).contains("place 51"));
    fs::write(folder.join("two.ctf"), TWO).expect("a file");
    assert!(refused(&folder, "read two.ctf --start-at 1", 2).contains("--start-at"));
    // The name of each example, as TFDS adds it.
    let named = answers(&folder, "read . --read-config add_tfds_id=true --at 31 --json").remove(0);
    let id = json!({"dtype": "string", "shape": [], "data": ["d-train.tfrecord-00001-of-00002__1"]});
    assert_eq!(named["examples"][0]["tfds_id"], id);
}

/// Dense values, pairs, a window that keeps packed sequences in memory, and checksums of records.
#[test]
fn results_are_the_same_whatever_kernels_are_used() {
    let folder = folder("kernels");
    let mut text = String::new();
    for row in 0..600 {
        text.push_str(&format!("|x {} {}.{} -{row} |s", row % 16, row % 7, row * 37 % 1000));
        (0..row % 23).for_each(|i| text.push_str(&format!(" {}:{}", i * (1 + row % 5), i * row)));
        text.push('\n');
    }
    fs::write(folder.join("rows.ctf"), text).unwrap();
    let numbers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/tfds/numbers/1.0.0");
    let all = |level: Option<&str>| {
        let corpus = "read rows.ctf --stream x:3 --stream s:200:sparse --minibatch-size 64 --sweeps 2 --json"
            .to_string();
        let dataset = format!("read {} --json", numbers.display());
        [corpus, dataset].map(|args| {
            let mut command = command(&folder, &args);
            level.map(|level| command.env("TESSON_KERNELS", level));
            let output = command.output().unwrap();
            assert_eq!(output.status.code(), Some(0), "{level:?}: {}", stderr(&output));
            lines(&output)
        })
    };
    let expected = all(None);
    assert!(expected[0].len() > 18 && expected[1][0]["examples"].as_array().unwrap().len() == 20);
    for level in tesson_core::Kernels::available() {
        let found = all(Some(&level.to_string()));
        assert!(found == expected, "results differ under `{level}`");
    }
}

#[test]
fn a_kernel_that_is_not_known_is_refused_with_those_that_are() {
    let folder = two("kernel-names");
    let output = command(&folder, "info two.ctf --stream a:2").env("TESSON_KERNELS", "AVX").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let found = stderr(&output);
    assert!(found.contains("TESSON_KERNELS: found `AVX`, expected one of `plain`, `portable`"), "{found}");
}

#[test]
fn examples_are_written_as_they_are_read() {
    let folder = prepared("read-streams");
    let args = "read . --split train --op repeat=null --take 1000000000000 --json";
    let mut child = common::command(&folder, args).stdout(Stdio::piped()).spawn().unwrap();
    let mut first = [0; 21];
    child.stdout.take().unwrap().read_exact(&mut first).unwrap();
    assert_eq!(&first, b"{\"examples\":[{},{},{}");
    // The pipe is closed now, which ends the command.
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn batches_are_those_of_a_loader() {
    let folder = folder("batches");
    let rows: String = (0..7).map(|i| format!("{i} |x {i}\n")).collect();
    fs::write(folder.join("t.ctf"), rows).unwrap();
    let keys = |args: &str| -> Vec<Vec<u64>> {
        let minibatches = answers(&folder, &format!("read t.ctf --stream x:1 {args} --json"));
        let keys = |minibatch: &Value| serde_json::from_value(minibatch["keys"].clone()).ok();
        minibatches.iter().filter_map(keys).collect()
    };
    assert_eq!(keys("--batch-size 3"), [vec![0, 1, 2], vec![3, 4, 5], vec![6]]);
    assert_eq!(keys("--batch-size 3 --drop-last"), [vec![0, 1, 2], vec![3, 4, 5]]);
    assert_eq!(keys("--batch-size 3 --sweeps 2").len(), 6, "batches end with their sweep");
    let shuffled = keys("--batch-size 3 --shuffle --seed 1");
    assert_eq!(shuffled, keys("--batch-size 3 --shuffle --randomization-seed 1"));
    assert_ne!(shuffled, keys("--batch-size 3 --shuffle --seed 2"));
    let ranks = [0, 1].map(|rank| keys(&format!("--batch-size 3 --workers 2 --rank {rank}")));
    assert_eq!(ranks, [[vec![0, 2], vec![3, 5], vec![6]], [vec![1], vec![4], vec![6]]]);
    let window = keys("--batch-size 3 --shuffle 4samples");
    assert_eq!(window.iter().map(Vec::len).sum::<usize>(), 7);
    let e = refused(&folder, "read t.ctf --stream x:1 --shuffle four", 2);
    assert!(e.contains("--shuffle four: found `four`, expected a number of chunks"), "{e}");
}

#[test]
fn what_is_known_by_its_content_is_described_and_read() {
    let folder = folder("listed");
    let npy = |shape: &str, bytes: &[u8]| {
        let header = format!("{{'descr': '<i8', 'fortran_order': False, 'shape': {shape}, }}");
        let header = format!("{header:<117}\n");
        [b"\x93NUMPY\x01\0\x76\0", header.as_bytes(), bytes].concat()
    };
    let values: Vec<u8> = [1i64, 1 << 60, -3].iter().flat_map(|x| x.to_le_bytes()).collect();
    fs::write(folder.join("a.npy"), npy("(3,)", &values)).unwrap();
    let info = &answers(&folder, "info a.npy --json")[0];
    assert_eq!(
        (&info["python"], &info["command"], &info["sequences"]),
        (&json!("tesson.read_numpy(\"a.npy\")"), &json!("tesson read a.npy --batch-size 32"), &json!(3))
    );
    let command = info["command"].as_str().unwrap().strip_prefix("tesson ").unwrap();
    let read = answers(&folder, &format!("{command} --json"));
    assert_eq!(read[0]["streams"]["data"]["sequences"], json!([[[1]], [[1u64 << 60]], [[-3]]]));
    assert_eq!(answers(&folder, "check a.npy --json")[0]["faults"], 0);
    fs::write(folder.join("t.ctf"), "|x 1 2 |y-1 3:1\n").unwrap();
    let info = &answers(&folder, "info t.ctf --json")[0];
    assert_eq!(info["python"], "tesson.read_ctf(\"t.ctf\", x=2, **{\"y-1\": tesson.sparse(4)})");
    assert_eq!(info["command"], "tesson read t.ctf --stream x:2 --stream y-1:4:sparse --batch-size 32");
}
