//! Options and the inputs that use them.

use std::fs;

use serde_json::json;

use crate::common::{answers, binary, folder, many, prepared, refused, tfrecord, two};

#[test]
fn options_of_minibatches_are_refused_by_name_for_a_prepared_dataset() {
    let folder = prepared("options-dataset");
    for option in [
        "--samples 1",
        "--randomize false",
        "--seed 1",
        "--window 3",
        "--bucketing",
        "--stream a:1",
        "--alias a=b",
        "--section Train",
        "--set randomize=false",
        "--rules cntk",
        "--max-errors 3",
        "--quarantine q",
        "--exclude-keys k",
        "--base-dir .",
        "--sharing chunk",
        "--equal-steps drop",
        "--minibatch-size-in-sequences 4",
        "--extended-variables",
        "--layout --json",
    ] {
        let name = option.split(' ').next().unwrap_or_default();
        let e = refused(&folder, &format!("read . {option}"), 2);
        assert!(e.starts_with(&format!("error: {name}: . is a prepared dataset, ")), "{option}: {e}");
    }
    let e = refused(&folder, "read . --randomize false", 2);
    assert!(
        e.contains("the option is for configurations and data files; shuffle with `--shuffle-files`"),
        "{e}"
    );
    let e = refused(&folder, "plan . --workers 2", 2);
    assert!(e.contains("--workers: . is a prepared dataset"), "{e}");
    let e = refused(&folder, "info . --split train", 2);
    assert!(e.contains("--split: . is a prepared dataset, `tesson info` does not use it"), "{e}");
    let e = refused(&folder, "check . --threads 2", 2);
    assert!(e.contains("--threads"), "{e}");
    for command in ["show . --key 1", "bench .", "convert . out.ctf"] {
        let e = refused(&folder, command, 2);
        assert!(e.contains(". is a prepared dataset") && e.contains("`TFDSDeserializer`"), "{e}");
    }
}

#[test]
fn every_command_takes_both_names_of_the_size_of_minibatches() {
    let folder = many("options-minibatch");
    for command in ["read many.json --json", "plan many.json --json --sweeps 1", "info many.json --json"] {
        let short = answers(&folder, &format!("{command} --minibatch 2"));
        assert_eq!(short, answers(&folder, &format!("{command} --minibatch-size 2")), "{command}");
        assert_ne!(short, answers(&folder, &format!("{command} --minibatch 3")), "{command}");
    }
    for name in ["--minibatch", "--minibatch-size"] {
        let e = refused(&folder, &format!("bench many.json {name} 0"), 2);
        assert!(e.contains("'0' for '--minibatch-size <N>'"), "{e}");
    }
}

#[test]
fn sweeps_of_a_prepared_dataset_are_its_traversals() {
    let folder = prepared("options-sweeps");
    for command in ["read", "plan"] {
        let order = "--op shuffle={\"buffer_size\":3,\"seed\":3} --json";
        let twice = answers(&folder, &format!("{command} . {order} --sweeps 2"));
        assert_eq!(twice.len(), 2, "{command}");
        assert_eq!(twice, answers(&folder, &format!("{command} . {order} --epochs 2")), "{command}");
    }
    let e = refused(&folder, "plan . --sweeps 2 --epochs 2", 2);
    assert!(e.contains("cannot be used with"), "{e}");
}

#[test]
fn options_of_prepared_datasets_are_refused_by_name_for_everything_else() {
    let folder = many("options-corpus");
    for input in ["many.json", "many.ctf --stream x:1"] {
        for option in [
            "--split train",
            "--shuffle-files",
            "--op take=1",
            "--read-config shuffle_seed=1",
            "--global-seed 1",
            "--on-damage skip",
            "--on-damage fail",
            "--at 1",
            "--start-at 1",
        ] {
            let name = option.split(' ').next().unwrap_or_default();
            let e = refused(&folder, &format!("read {input} {option}"), 2);
            assert!(e.starts_with(&format!("error: {name}: many.")), "{option}: {e}");
            assert!(e.contains("the option is for prepared datasets; "), "{option}: {e}");
        }
    }
    let e = refused(&folder, "read many.json --split train", 2);
    assert!(
        e.contains("many.json is a configuration in JSON or TOML") && e.contains("`TFDSDeserializer`"),
        "{e}"
    );
    let e = refused(&folder, "read many.json --stream x:1", 2);
    assert!(e.contains("change them with `--set`"), "{e}");
    let e = refused(&folder, "read many.json Dir=x", 2);
    assert!(e.contains("argument `Dir=x`") && e.contains("--set PATH=VALUE"), "{e}");
    let e = refused(&folder, "read many.ctf --stream x:1 --base-dir x", 2);
    assert!(e.contains("--base-dir: many.ctf is a file in CNTK's text format"), "{e}");
    let e = refused(&folder, "info many.json --sweeps 3", 2);
    assert!(e.contains("--sweeps: many.json is") && e.contains("`tesson info` does not use it"), "{e}");
    let e = refused(&folder, "plan many.json --epochs 3", 2);
    assert!(e.contains("end with `--sweeps N`"), "{e}");
    let e = refused(&folder, "index many.json --cache-dir caches", 2);
    assert!(e.contains("--cache-dir"), "{e}");
    let e = refused(&folder, "check many.json --quarantine q", 2);
    assert!(e.contains("--quarantine"), "{e}");
}

#[test]
fn options_of_other_data_files_are_refused_by_name() {
    let folder = binary("options-binary");
    let e = refused(&folder, "read two.cbf --stream a:2", 2);
    assert!(e.contains("a binary file declares its streams"), "{e}");
    for option in ["--rules cntk", "--max-errors 1"] {
        let e = refused(&folder, &format!("read two.cbf {option}"), 2);
        assert!(e.contains("two.cbf is a file in CNTK's binary format"), "{e}");
    }
    tfrecord(&folder, "a.tfrecord", &["one"]);
    for option in ["--stream x:1", "--threads 3", "--set a=b", "--list 3 --rules cntk"] {
        let e = refused(&folder, &format!("check a.tfrecord {option}"), 2);
        assert!(e.contains("a.tfrecord is a file of records"), "{e}");
    }
}

#[test]
fn options_of_a_conversion_fit_its_input_and_its_output() {
    let folder = two("options-convert");
    fs::write(folder.join("t.csv"), "1,2\n").unwrap();
    fs::write(folder.join("t.svm"), "1 1:1\n").unwrap();
    fs::write(folder.join("t.jsonl"), "{\"x\": 1}\n").unwrap();
    tfrecord(&folder, "a.tfrecord", &["one"]);
    for (args, expected) in [
        ("two.ctf out.cbf --stream a:2 --header", "--header: two.ctf is"),
        ("t.csv out.ctf --dim 3", "--dim: t.csv is a CSV file, the option is for libsvm and JSON lines"),
        ("t.csv out.ctf --zero-based", "--zero-based: t.csv is a CSV file, the option is for libsvm"),
        ("t.csv out.ctf --stream x:2", "--streams NAME=COLUMNS"),
        ("t.csv out.ctf --threads 2", "--threads: t.csv is a CSV file"),
        ("t.svm out.ctf --label-column 0", "--label-column: t.svm is a libsvm file"),
        ("t.jsonl out.ctf --delimiter ;", "--delimiter: t.jsonl is a file of JSON lines"),
        ("t.jsonl out.ctf --sparse", "--sparse: t.jsonl is a file of JSON lines"),
        ("t.csv out.ctf --chunk-size 1MiB", "--chunk-size 1MiB: out.ctf is a file in CNTK's text format"),
        ("t.csv out.cbf --group-size 2", "--group-size: t.csv is a CSV file"),
        ("a.tfrecord b.tfrecord --group-size 2", "--group-size: b.tfrecord is a TFRecord file"),
        ("a.tfrecord b.tfrecord --uncompressed", "--uncompressed: b.tfrecord is a TFRecord file"),
        ("a.tfrecord c.tfrecord b.array_record", "argument `c.tfrecord`: a.tfrecord is a file of records"),
    ] {
        let e = refused(&folder, &format!("convert {args}"), 2);
        assert!(e.contains(expected), "{args}: {e}");
    }
    let mut left: Vec<_> = fs::read_dir(&folder).unwrap().map(|f| f.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(
        json!(left.iter().map(|f| f.to_string_lossy()).collect::<Vec<_>>()),
        json!(["a.tfrecord", "t.csv", "t.jsonl", "t.svm", "two.ctf"])
    );
}

#[test]
fn an_input_that_a_command_does_not_read_is_told_with_the_way_to_it() {
    let folder = folder("options-foreign");
    fs::write(folder.join("t.csv"), "1,2\n").unwrap();
    fs::write(folder.join("t.svm"), "1 1:2\n").unwrap();
    fs::write(folder.join("t.npz"), b"PK\x03\x04rest").unwrap();
    fs::write(folder.join("t.npy"), b"\x93NUMPY\x01\0").unwrap();
    fs::write(folder.join("t.h5"), b"\x89HDF\r\n\x1a\n").unwrap();
    tfrecord(&folder, "a.tfrecord", &["one"]);
    fs::write(folder.join("a.array_record"), "").unwrap();
    for (name, expected) in [
        ("t.svm", "--stream: t.svm is a list of data, the option is for text files; leave it out"),
        ("t.csv", "--stream: t.csv is a list of data, the option is for text files; leave it out"),
        ("t.npz", "t.npz: found a zip archive, such as NumPy's .npz"),
        ("t.h5", "found an HDF5 file"),
        ("a.tfrecord", "--stream: a.tfrecord is a list of data, the option is for text files; leave it out"),
        (
            "a.array_record",
            "--stream: a.array_record is a list of data, the option is for text files; leave it out",
        ),
    ] {
        let e = refused(&folder, &format!("read {name} --stream x:1"), 2);
        assert!(e.contains(expected), "{name}: {e}");
    }
    // Text with inputs in it is recognized under any name.
    fs::write(folder.join("odd.csv"), "0 |x 1\n").unwrap();
    assert_eq!(answers(&folder, "read odd.csv --stream x:1 --json").len(), 2);
}
