//! Maps of images beside CNTK's: CSV, JSON lines, and folders of classes.

use tesson::store::{MemoryStore, Store};
use tesson::{Error, Key, Source};
use tesson_engine::store::FileStore;

use crate::kit::{self, checked, columns, dense, refusal, store_of, whole};
use crate::zip;

/// An image of one pixel, as a file.
fn pgm(value: u8) -> Vec<u8> {
    [b"P5 1 1 255\n", &[value][..]].concat()
}

/// A store with these images, whose values count from 0, and these texts.
fn store(images: &[&str], texts: &[(&str, &str)]) -> MemoryStore {
    let texts = texts.iter().map(|(name, text)| (name, text.as_bytes().to_vec()));
    store_of(texts.chain((0..).zip(images).map(|(value, name)| (name, pgm(value)))))
}

fn open(store: &dyn Store, file: &str, options: &str, labels: &str) -> Result<Source, Error> {
    let labels =
        if labels.is_empty() { String::new() } else { format!(r#", "y": {{"labelDim": {labels}}}"#) };
    let text = format!(
        r#"{{"deserializers": [{{"type": "ImageDeserializer", "file": "{file}", {options} "grayscale": true,
            "input": {{"x": {{"transforms": []}} {labels}}}}}], "maxSweeps": 1, "randomize": false}}"#
    );
    kit::open(store, &text)
}

/// Value, class and key of each image.
fn images(source: &mut Source) -> Vec<(u8, i32, String)> {
    let minibatch = whole(source).expect("the pictures are right");
    let keys = kit::keys(&minibatch);
    let classes = minibatch.stream("y").map_or(vec![-1; keys.len()], |_| columns(&minibatch, "y"));
    let values = dense(&minibatch, "x").into_iter().map(|value| value as u8);
    values.zip(classes).zip(keys).map(|((value, class), key)| (value, class, key)).collect()
}

fn expected(images: &[(u8, i32, &str)]) -> Vec<(u8, i32, String)> {
    images.iter().map(|&(value, class, key)| (value, class, key.to_owned())).collect()
}

/// Number of columns and names of the stream of labels.
fn classes(source: &Source) -> (usize, Vec<String>) {
    let labels = source.streams().iter().find(|stream| stream.name == "y").expect("the stream of labels");
    (labels.shape.len(), labels.classes.to_vec())
}

#[test]
fn a_folder_for_each_class_needs_no_map() {
    let store = store(
        &["t/dog/b.pgm", "t/dog/a.PGM", "t/cat/in/c.pgm", "t/cat-2/.../@/d.pgm", "u/x.pgm"],
        &[("t/README.md", "no picture"), ("t/empty/notes.txt", "none")],
    );
    let mut source = open(&store, "t", "", r#""auto""#).unwrap();
    let names = ["cat", "cat-2", "dog", "empty"].map(str::to_owned).to_vec();
    assert_eq!(classes(&source), (4, names), "a class without pictures has its number");
    let found =
        [(2, 0, "cat/in/c.pgm"), (3, 1, "cat-2/.../@/d.pgm"), (1, 2, "dog/a.PGM"), (0, 2, "dog/b.pgm")];
    assert_eq!(images(&mut source), expected(&found));
    let without = open(&store, "u", "", "").map(|mut source| images(&mut source)).unwrap();
    assert_eq!(without, expected(&[(4, -1, "x.pgm")]));
    let error = refusal(open(&store, "t", "", "3"));
    assert!(
        error.starts_with("t (byte 0): stream `y`: found 4 classes by name, expected `labelDim`, 3"),
        "{error}"
    );
    let error = refusal(open(&store, "u", "", "3"));
    assert!(error.starts_with("u (byte 0): stream `y`: `x.pgm` lies beside the folders"), "{error}");
    let error = refusal(open(&store, "t/empty", "", "3"));
    assert!(error.starts_with("t/empty (byte 0): the folder has no images"), "{error}");
}

#[test]
fn a_list_of_classes_numbers_those_of_several_folders_and_maps_alike() {
    let store = store(
        &["train/cat/b.pgm", "train/dog/a.pgm", "held/dog/c.pgm", "bad/eel/c.pgm"],
        &[
            ("classes.txt", "dog\n\ncat\r\nemu"),
            ("twice.txt", "dog\ncat\ndog\n"),
            ("m.csv", "path,label\ntrain/cat/b.pgm,cat\n"),
        ],
    );
    let listed =
        |file: &str, list: &str, dim: &str| open(&store, file, &format!(r#""classes": "{list}","#), dim);
    let names = ["dog", "cat", "emu"].map(str::to_owned).to_vec();
    for (file, expected) in [("train", vec![1, 0]), ("held", vec![0]), ("m.csv", vec![1])] {
        let mut source = listed(file, "classes.txt", r#""auto""#).unwrap();
        assert_eq!(classes(&source), (3, names.clone()), "{file}");
        let labels: Vec<i32> = images(&mut source).into_iter().map(|(_, label, _)| label).collect();
        assert_eq!(labels, expected, "{file}");
    }
    let error = refusal(listed("bad", "classes.txt", r#""auto""#));
    assert!(
        error.starts_with("bad (byte 0): stream `y`, sequence eel/c.pgm: the label of `eel/c.pgm` is `eel`"),
        "{error}"
    );
    let error = refusal(listed("train", "classes.txt", "2"));
    assert!(error.contains("found 3 classes by name, expected `labelDim`, 2"), "{error}");
    let error = refusal(listed("train", "twice.txt", "9"));
    assert!(error.starts_with("twice.txt:3 (byte 8): the class `dog` is that of line 1, too"), "{error}");
}

#[test]
fn a_bad_image_of_a_folder_is_named() {
    let store = store(&["t/a/1.pgm"], &[("t/b/2.png", "no picture")]);
    let error = open(&store, "t", "", "2").unwrap().next_minibatch(5).unwrap_err().to_string();
    assert!(error.starts_with("t/b/2.png") && error.ends_with("it was found in the folder t"), "{error}");
}

#[test]
fn folders_on_disk_are_read_and_a_new_image_is_another_corpus() {
    let root = std::env::temp_dir().join(format!("tesson-folder-of-classes-{}", std::process::id()));
    for (name, value) in [("b/1.pgm", 1), ("a/2.pgm", 2)] {
        std::fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
        std::fs::write(root.join(name), pgm(value)).unwrap();
    }
    let file = root.to_str().unwrap().replace('\\', "/");
    let mut source = open(&FileStore, &file, "", "2").unwrap();
    assert_eq!(images(&mut source), expected(&[(2, 0, "a/2.pgm"), (1, 1, "b/1.pgm")]));
    let state = source.state().clone();
    open(&FileStore, &file, "", "2").unwrap().restore(&state).unwrap();
    std::fs::write(root.join("a/3.pgm"), pgm(3)).unwrap();
    assert!(open(&FileStore, &file, "", "2").unwrap().restore(&state).is_err());
    std::fs::remove_dir_all(&root).unwrap();
}

#[test]
fn maps_in_csv_name_their_columns() {
    let mut archive = zip::Writer::default();
    archive.deflate("in/c.pgm", &pgm(7));
    let csv = "\u{feff}label,path,key\r\ndog,a.pgm,k1\r\ncat,\".../b.pgm\",\"k\"\"2\"\r\n\r\ndog,d/all.zip@/in/c.pgm,k3\r\n";
    let store = store(&["d/a.pgm", "d/m/b.pgm"], &[("d/m/map.csv", csv)]).with("d/all.zip", archive.finish());
    let csv = csv.replace("d/all", "all");
    let store = store.with("d/m/map.csv", csv.into_bytes());
    let mut source = open(&store, "d/m/map.csv", r#""root": "d","#, r#""auto""#).unwrap();
    assert_eq!(classes(&source), (2, vec!["cat".into(), "dog".into()]));
    assert_eq!(images(&mut source), expected(&[(0, 1, "k1"), (1, 0, "k\"2"), (7, 1, "k3")]));
}

#[test]
fn maps_in_json_lines_have_fields_of_any_name() {
    let lines = "{\"file\": \"a.pgm\", \"y\": 3}\n\n{\"y\": \"1\", \"file\": \"b.pgm\", \"more\": [1]}\n";
    let store = store(&["a.pgm", "b.pgm"], &[("map.txt", lines)]);
    let options = r#""mapFormat": "jsonl", "pathColumn": "file", "labelColumn": "y","#;
    let mut source = open(&store, "map.txt", options, r#""auto""#).unwrap();
    assert_eq!(classes(&source), (4, vec![]), "numbers stay numbers");
    assert_eq!(images(&mut source), expected(&[(0, 3, "0"), (1, 1, "2")]));
    let minibatch = open(&store, "map.txt", options, "5").unwrap().next_minibatch(2).unwrap().unwrap();
    assert_eq!(minibatch.keys().get(1), Key::Number(2), "the number of the line, from 0, as in CNTK's maps");
    let error = refusal(open(&store, "map.txt", options, "3"));
    assert!(
        error.starts_with("map.txt:1 (byte 0): stream `y`, sequence 0: the label of `a.pgm` is 3"),
        "{error}"
    );
}

#[test]
fn what_is_wrong_with_a_map_is_said_with_its_line() {
    for (name, text, start) in [
        (
            "m.csv",
            "file,label\na.pgm,1\n",
            "m.csv:1 (byte 0): the header has no column `path`: found `file`, `label`",
        ),
        (
            "m.csv",
            "path,label\na.pgm,1\na.pgm,cat\n",
            "m.csv:3 (byte 19): stream `y`, sequence 1: the label is `cat`, and that of line 2",
        ),
        ("m.csv", "path,label\na.pgm\n", "m.csv:2 (byte 11): found 1 field, expected 2"),
        (
            "m.csv",
            "path,label\na.pgm,\n",
            "m.csv:2 (byte 11): stream `y`, sequence 0: the label of `a.pgm` is empty",
        ),
        ("m.csv", "path,label\n", "m.csv:1 (byte 0): the file is empty"),
        ("m.ndjson", "{\"path\": \"a.pgm\"}\n", "m.ndjson:1 (byte 0): the object has no `label`"),
        ("m.JSONL", "{\"path\": \"a.pgm\",\n", "m.JSONL:1 (byte 0): the line is no JSON object"),
        ("m.json", "{\"path\": \"a.pgm\"}\n", "m.json:1 (byte 0): found one column"),
    ] {
        let error = refusal(open(&store(&["a.pgm"], &[(name, text)]), name, "", "9"));
        assert!(error.starts_with(start), "{error}\n{start}");
    }
}

#[test]
fn a_map_whose_lines_are_all_wrong_is_not_called_empty() {
    for (name, kind, text) in [
        ("map.txt", "ImageDeserializer", "# a.pgm\na.pgm\tx\n"),
        ("b.txt", "Base64ImageDeserializer", "x\tAAAA\n"),
    ] {
        let config = format!(
            r#"{{"randomize": false, "deserializers": [{{"type": "{kind}", "file": "{name}",
                "input": {{"x": {{"transforms": []}}, "y": {{"labelDim": 3}}}}}}]}}"#
        );
        let store = store(&["a.pgm"], &[(name, text)]);
        let (found, _) = checked(&store, &config, |error, _| error.code());
        let expected: &[&str] = match name {
            "map.txt" => &["image-map.comment", "image-map.bad-label"],
            _ => &["base64-image.bad-label"],
        };
        assert_eq!(found, expected, "{name}");
    }
}

#[test]
fn the_form_of_a_map_is_part_of_a_state() {
    // The same bytes as a map of CNTK's, and as CSV with one column.
    let store = store(&["path", "a.pgm"], &[("m.csv", "path\na.pgm\n")]);
    let state = |options: &str| open(&store, "m.csv", options, "").unwrap().state().clone();
    assert!(open(&store, "m.csv", "", "").unwrap().restore(&state(r#""mapFormat": "csv","#)).is_ok());
    assert!(open(&store, "m.csv", "", "").unwrap().restore(&state(r#""mapFormat": "cntk","#)).is_err());
}

#[test]
fn an_image_that_memory_cannot_hold_is_left_out_where_that_is_asked_for() {
    let store = store(&["a.pgm", "b.pgm"], &[("map.txt", "a.pgm\t0\nlarge.pgm\t1\nb.pgm\t2\n")]);
    let store = store.with("large.pgm", vec![b'P'; 4 << 20]);
    let options = r#""memoryLimit": 3000000, "#;
    let opened = |policy: &str| {
        let text = format!(
            r#"{{"deserializers": [{{"type": "ImageDeserializer", "file": "map.txt", {policy} "grayscale": true,
                "input": {{"x": {{"transforms": []}}, "y": {{"labelDim": 3}}}}}}], {options} "maxSweeps": 1, "randomize": false}}"#
        );
        kit::open(&store, &text).expect("the map can be read")
    };
    let found = images(&mut opened(r#""onCorruptImage": "skip","#));
    assert_eq!(found, expected(&[(0, 0, "0"), (1, 2, "2")]));
    let error = opened("").next_minibatch(1000).expect_err("it is too large");
    assert_eq!(error.code(), "data.sequence-beyond-memory", "{error}");
    assert!(error.to_string().starts_with("large.pgm (byte 0): sequence 1"), "{error}");
}

#[test]
fn a_line_without_an_end_and_quotes_without_one_are_refused_where_they_begin() {
    let refused = |file: &str, begin: &str, rest: &str| {
        let text = begin.to_owned() + &rest.repeat((600 << 10) / rest.len());
        let store = store(&[], &[(file, &text)]);
        let open = |memory: &str| {
            let text = format!(
                r#"{{"deserializers": [{{"type": "ImageDeserializer", "file": "{file}",
                    "input": {{"x": {{"transforms": []}}, "y": {{"labelDim": 3}}}}}}], "memoryLimit": "{memory}"}}"#
            );
            refusal(kit::open(&store, &text))
        };
        (open("1 MiB"), open("1 GiB"))
    };
    let (error, _) = refused("map.txt", "a.jpg\t0\n", "x");
    let words = "the line, with those that its quotes take in, has more than 327680 bytes";
    assert!(error.starts_with(&format!("map.txt:2 (byte 8): {words}")), "{error}");
    let (error, with_room) = refused("map.csv", "path,label\na,1\nb,\"", "2\n");
    assert!(error.starts_with(&format!("map.csv:3 (byte 15): {words}")), "{error}");
    assert!(
        with_room.starts_with("map.csv:3 (byte 15): the quotes around a field do not end"),
        "{with_room}"
    );
}
