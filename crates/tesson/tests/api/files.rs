//! Several files as one corpus.

use std::fs;
use std::path::PathBuf;

use tesson::store::MemoryStore;
use tesson::store::Stores;
use tesson::{BatchKeys, Error, OpenOptions, Source, SourceConfig};
use tesson_engine::index_cache;

use crate::kit::{folder, rest, rows};

/// Files of these texts in a folder of their own, and a configuration whose `file` is `names` there.
fn several(test: &str, texts: &[&str], names: &str, more: &str) -> (PathBuf, SourceConfig) {
    let folder = folder(test);
    for (i, text) in texts.iter().enumerate() {
        fs::write(folder.join(format!("part-{i}.ctf")), text).expect("the folder can be written");
    }
    let json = format!(
        r#"{{"deserializers": [{{"type": "CNTKTextFormatDeserializer", "file": {names}, "input": {{
            "x": {{"dim": 1, "format": "dense"}}, "y": {{"dim": 7, "format": "sparse"}}}} {more}}}],
            "maxSweeps": 1, "randomize": false}}"#
    );
    let mut config = tesson::config::from_json(&json).expect("the test's configuration is right");
    config.resolve_paths(&folder, &tesson::registry()).expect("the folder's name is a text");
    (folder, config)
}

fn open(config: &SourceConfig) -> Source {
    tesson::open(config).expect("the files are right")
}

#[test]
fn a_pattern_is_its_files_by_name_and_a_list_is_as_it_stands() {
    let texts = ["1 |x 1 |y 0:1\n", "2 |x 2 |y 0:1\n2 |x 3 |y 0:1\n", "3 |x 4 |y 0:1\n"];
    for (names, expected) in [
        (r#""part-*.ctf""#, vec![1., 2., 3., 4.]),
        (r#""part-[02].ctf""#, vec![1., 4.]),
        (r#""part-{0..2}.ctf""#, vec![1., 2., 3., 4.]),
        (r#""part-{2,0}.ctf""#, vec![4., 1.]),
        (r#""pa{rt-[12],rt-0*}.ctf""#, vec![2., 3., 4., 1.]),
        (r#"["part-2.ctf", "part-0.ctf"]"#, vec![4., 1.]),
        (r#"["part-1.ctf", "part-[0-1].ctf"]"#, vec![2., 3., 1., 2., 3.]),
    ] {
        let (_, config) = several("files-pattern", &texts, names, "");
        assert_eq!(rest(&mut open(&config), 100), [expected], "{names}");
    }
}

#[test]
fn an_id_in_two_files_is_two_sequences() {
    let texts = ["7 |x 1 |y 0:1\n7 |x 2 |y 0:1\n", "7 |x 3 |y 0:1\n"];
    let (_, config) = several("files-ids", &texts, r#""part-*""#, "");
    let mut source = open(&config);
    assert_eq!(source.num_sequences().expect("the files are right"), 2);
    let minibatch = source.next_minibatch(100).expect("the files are right").expect("two sequences");
    assert_eq!(minibatch.keys(), &BatchKeys::Numbers(vec![7, 7]));
    assert_eq!(minibatch.stream("x").expect("stream x").lengths(), [2, 1]);
}

#[test]
fn a_fault_is_told_with_its_file_and_the_line_there() {
    let good = rows(40);
    let bad = format!("{}900 |x oops |y 0:1\n", rows(3));
    let line = bad.lines().count() as u64;
    // In order the index grows; counting the sequences makes it first.
    for index_first in [false, true] {
        let (folder, config) =
            several("files-fault", &[&good, &good, &bad], r#""part-*.ctf""#, r#", "chunkSizeInBytes": 100"#);
        let mut source = open(&config);
        if index_first {
            source.num_sequences().expect("there are sequences");
        }
        let error = loop {
            match source.next_minibatch(5) {
                Ok(Some(_)) => {}
                Ok(None) => panic!("the fault is not found"),
                Err(e) => break e,
            }
        };
        let Error::Data(e) = error else { panic!("{error}") };
        let at = e.at();
        assert_eq!((&*at.file, at.line), (&*folder.join("part-2.ctf"), Some(line)), "{index_first}");
    }
}

#[test]
fn an_index_cache_holds_all_files() {
    let texts = [rows(50), rows(20), rows(30)];
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let more = r#", "cacheIndex": true, "chunkSizeInBytes": 200"#;
    let (folder, config) = several("files-cache", &texts, r#""part-*.ctf""#, more);
    let read = || {
        let mut source = open(&config);
        source.num_sequences().expect("the files are right");
        (source.stats().bytes_indexed, rest(&mut source, 10))
    };
    let (indexed, data) = read();
    assert_eq!(indexed, texts.iter().map(|t| t.len() as u64).sum::<u64>());
    assert!(index_cache::path(&folder.join("part-0.ctf")).exists());
    assert_eq!(read(), (0, data.clone()));
    fs::write(folder.join("part-2.ctf"), texts[1]).expect("the folder can be written");
    let (indexed, other) = read();
    assert!(indexed > 0 && other != data);
}

#[test]
fn files_of_different_streams_are_refused() {
    let (folder, _) = several("files-streams", &["1 |x 1 2\n", "1 |x 1\n"], r#""part-*.ctf""#, "");
    let json = format!(
        r#"{{"deserializers": [{{"type": "CNTKTextFormatDeserializer", "file": {:?},
            "input": {{"x": {{"dim": "auto", "format": "dense"}}}}}}]}}"#,
        folder.join("part-*.ctf")
    );
    let config = tesson::config::from_json(&json).expect("the test's configuration is right");
    let error = tesson::open(&config).map(|_| ()).expect_err("the streams differ").to_string();
    assert!(error.contains("part-1.ctf") && error.contains("part-0.ctf"), "{error}");
}

#[test]
fn a_pattern_without_files_is_told_with_its_place() {
    let (_, config) = several("files-none", &[], r#""part-*.ctf""#, "");
    let error = tesson::open(&config).map(|_| ()).expect_err("there is no file").to_string();
    assert!(error.contains("part-*.ctf") && error.contains("deserializers[0].file"), "{error}");
    let (_, config) = several("files-empty", &[], "[]", "");
    assert!(tesson::open(&config).is_err());
    assert!(tesson_engine::file_patterns::matching(&Stores::local(), "[", "file").is_err());
    // Braces name files one by one: the one that is missing is named.
    let (folder, config) = several("files-missing", &["1 |x 1 |y 0:1\n"], r#""part-{0..1}.ctf""#, "");
    let error = tesson::open(&config).map(|_| ()).expect_err("the second file is missing").to_string();
    assert!(error.contains(&folder.join("part-1.ctf").display().to_string()), "{error}");
    let (_, config) = several("files-many", &[], r#""part-{0..1000000}.ctf""#, "");
    let error = tesson::open(&config).map(|_| ()).expect_err("too many names").to_string();
    assert!(error.contains("stands for more than 100000 names"), "{error}");
}

#[test]
fn a_file_whose_name_has_braces_is_itself() {
    let (folder, config) = several("files-braces", &[], r#""{a,b}.ctf""#, "");
    fs::write(folder.join("{a,b}.ctf"), "1 |x 5 |y 0:1\n").expect("the folder can be written");
    assert_eq!(rest(&mut open(&config), 100), [[5.]]);
}

#[test]
fn another_store_is_asked_for_names_as_they_are() {
    let (_, config) = several("files-store", &[], r#"["part-*.ctf", "b"]"#, "");
    let name = |i: usize| match config.deserializers[0].options.get("file") {
        Some(tesson_core::Value::List(files)) => match &files[i] {
            tesson_core::Value::Text(name) => name.clone(),
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    };
    let store = MemoryStore::new()
        .with(name(0), b"1 |x 1 |y 0:1\n".to_vec())
        .with(name(1), b"1 |x 2 |y 0:1\n".to_vec());
    let mut source = OpenOptions::in_store(&store).open(&config).expect("the store has both");
    assert_eq!(rest(&mut source, 100), [[1.0, 2.0]]);
}
