//! Images: map files and files in Base64, from the bytes to minibatches.

use std::fmt::Write as _;
use std::io::ErrorKind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tesson::config::from_json;
use tesson::store::{MemoryStore, Store};
use tesson::{Demand, Error, Key, Minibatch, SampleValues, Samples, Source};
use tesson_engine::Severity;
use tesson_engine::store::{FakeStore, InjectedFault};

use crate::kit::{self, checked, dense, folder, ppm, read_all, refusal, store_of, stream_of, whole};
use crate::zip;

/// A store with images `0.ppm` to `9.ppm`, two pixels each, and these files.
fn store(files: &[(&str, &str)]) -> MemoryStore {
    let images = store_of((0..10).map(|i| (format!("{i}.ppm"), ppm(2, i))));
    files.iter().fold(images, |store, (name, text)| store.with(name, text.as_bytes().to_vec()))
}

/// The source of the map `map.txt`, with more options of the deserializer and of the reader.
fn open(store: &MemoryStore, options: &str, reader: &str) -> Result<Source, Error> {
    let text = format!(
        r#"{{"deserializers": [{{"type": "ImageDeserializer", "file": "map.txt", {options}
            "input": {{"pictures": {{"transforms": []}}, "classes": {{"labelDim": 10}}}}}}],
            "maxSweeps": 1, {reader}}}"#
    );
    kit::open(store, &text)
}

/// The first value of each image and its class.
fn pairs(minibatch: &Minibatch) -> Vec<(u8, i32)> {
    let n_values = stream_of(minibatch, "pictures").info().shape.len();
    let firsts = dense(minibatch, "pictures").into_iter().step_by(n_values).map(|value| value as u8);
    firsts.zip(kit::columns(minibatch, "classes")).collect()
}

/// All pairs of what is left.
fn rest(source: &mut Source, size: u64) -> Vec<Vec<(u8, i32)>> {
    read_all(source, size, pairs).expect("the pictures are right")
}

#[test]
fn lines_of_a_map_are_images_with_classes_and_keys() {
    let store = store(&[("map.txt", "0.ppm\t3\r\n90\t1.ppm\t4\tmore\n\n7\t2.ppm\t +5\n3.ppm\t6")]);
    let mut source = open(&store, "", r#""randomize": false"#).unwrap();
    let minibatch = source.next_minibatch(10).unwrap().expect("four pictures");
    assert_eq!(pairs(&minibatch), [(0, 3), (1, 4), (2, 5), (3, 6)]);
    assert_eq!(minibatch.stream("pictures").unwrap().info().shape.dims(), [1, 2, 3]);
    let keys: Vec<Key> = (0..4).map(|i| minibatch.keys().get(i)).collect();
    assert_eq!(keys, [0, 90, 7, 4].map(Key::Number), "the number of a line without a key, counted from 0");
}

#[test]
fn names_are_keys_as_soon_as_one_is_no_number() {
    let store = store(&[("map.txt", "cat\t0.ppm\t3\n12\t1.ppm\t4\n2.ppm\t5\n")]);
    let mut source = open(&store, "", r#""randomize": false"#).unwrap();
    let minibatch = source.next_minibatch(10).unwrap().expect("three pictures");
    let keys: Vec<Key> = (0..3).map(|i| minibatch.keys().get(i)).collect();
    assert_eq!(keys, ["cat", "12", "2"].map(|text| Key::Text(text.into())));
}

#[test]
fn images_without_classes_need_a_path_alone() {
    let store = store(&[("map.txt", "0.ppm\n7\t1.ppm\tcat\n")]);
    let text = r#"{"deserializers": [{"type": "ImageDeserializer", "file": "map.txt", "input": {
        "pictures": {"transforms": []}}}], "maxSweeps": 1, "randomize": false}"#;
    assert_eq!(whole(&mut kit::open(&store, text).unwrap()).unwrap().keys().len(), 2);
}

#[test]
fn a_check_lists_every_bad_line_and_reading_refuses_the_first() {
    let map = "0.ppm\t3\n0.ppm 3\n1.ppm\tcat\n1.ppm\t10\n\t1.ppm\t1\n7\tx.ppm\t\n9.ppm\t9\n";
    let store = store(&[("map.txt", map)]);
    let error = refusal(open(&store, "", r#""randomize": false"#));
    assert!(error.starts_with("map.txt:2 (byte 8): found one column"), "{error}");
    let labels = self::store(&[("map.txt", "7\t0.ppm\t3\n8\t1.ppm\t10\n")]);
    let error = refusal(open(&labels, "", r#""randomize": false"#));
    assert!(error.contains("stream `classes`, sequence 8: the label of `1.ppm` is 10"), "{error}");
    let text = r#"{"deserializers": [{"type": "ImageDeserializer", "file": "map.txt",
        "input": {"x": {"transforms": []}, "y": {"labelDim": 10}}}]}"#;
    let (found, _) = checked(&store, text, |error, severity| (error.at().line, error.code(), severity));
    let expected = [
        (2, "image-map.one-column"),
        (3, "image-map.bad-label"),
        (4, "image-map.label-out-of-range"),
        (5, "image-map.empty-key"),
        (6, "image-map.no-label"),
    ];
    assert_eq!(found, expected.map(|(line, code)| (Some(line), code, Severity::Fatal)));
}

#[test]
fn members_of_archives_are_images() {
    let mut archive = zip::Writer::default();
    archive.store("a/0.ppm", &ppm(2, 20));
    archive.deflate("a/1.ppm", &ppm(2, 21));
    let map = "...\\all.zip@/a/0.ppm\t1\n9.ppm\t2\n.../all.zip@\\a\\1.ppm\t3\n";
    let store = store(&[("map.txt", map)]).with("./all.zip", archive.finish());
    let map = map.replace('\\', "/");
    let store = store.with("map.txt", map.into_bytes());
    let mut source = open(&store, "", r#""randomize": false"#).unwrap();
    assert_eq!(rest(&mut source, 10), [[(20, 1), (9, 2), (21, 3)]]);
}

#[test]
fn a_file_may_be_called_like_a_member_of_an_archive() {
    let store =
        store(&[("map.txt", "photos@/a.ppm\t1\nphotos@/b.ppm\t2\n")]).with("photos@/a.ppm", ppm(2, 40));
    let mut source = open(&store, r#""onCorruptImage": "skip","#, r#""randomize": false"#).unwrap();
    assert_eq!(rest(&mut source, 9), [[(40, 1)]]);
    let error = refusal(open(&store, "", r#""randomize": false"#));
    assert!(error.starts_with("photos") && error.contains("line 2 of map.txt lists it"), "{error}");
}

#[test]
fn a_file_called_like_a_member_is_turned_as_files_are() {
    let jpeg = include_bytes!("../../../tesson-image/tests/jpeg/420-95.jpg");
    // To be turned by a quarter.
    let exif = b"\xff\xe1\x00\x22Exif\0\0II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0\0\0\0\0";
    let turned = [&jpeg[..2], exif, &jpeg[2..]].concat();
    let folder = folder("images-called-like-members");
    let map = folder.join("map.txt");
    let shape = |path: &str| {
        std::fs::write(&map, format!(".../{path}\t1\n")).expect("the folder can be written");
        let text = format!(
            r#"{{"deserializers": [{{"type": "ImageDeserializer", "file": {map:?},
                "input": {{"x": {{"transforms": []}}, "y": {{"labelDim": 3}}}}}}], "maxSweeps": 1}}"#
        );
        let mut source =
            tesson::open(&from_json(&text).expect("the text is right")).expect("the map is right");
        let minibatch = source.next_minibatch(1).expect("it can be read").expect("a picture");
        minibatch.stream("x").expect("the stream of pictures").info().shape.dims().to_vec()
    };
    // A directory with the name of the archive is none.
    for name in ["photos", "photos@"] {
        std::fs::create_dir_all(folder.join(name)).expect("the folder can be written");
    }
    std::fs::write(folder.join("photos@/turned.jpg"), &turned).expect("the folder can be written");
    std::fs::write(folder.join("plain.jpg"), &turned).expect("the folder can be written");
    let mut archive = zip::Writer::default();
    archive.store("turned.jpg", &turned);
    std::fs::write(folder.join("all.zip"), archive.finish()).expect("the folder can be written");
    let (plain, member) = (shape("plain.jpg"), shape("all.zip@/turned.jpg"));
    assert_eq!((plain[0], plain[1]), (member[1], member[0]));
    assert_ne!(plain, member);
    assert_eq!(shape("photos@/turned.jpg"), plain);
}

#[test]
fn a_check_decodes_all_images_and_lists_every_bad_one() {
    let mut archive = zip::Writer::default();
    archive.store("good.ppm", &ppm(2, 20));
    archive.deflate("cut.ppm", &ppm(2, 21)[..14]);
    let map = "0.ppm\t0\nnone.ppm\t1\ncut.ppm\t2\na.zip@/good.ppm\t3\na.zip@/none.ppm\t4\na.zip@/cut.ppm\t5\n1.ppm\t6\n";
    let store =
        store(&[("map.txt", map)]).with("cut.ppm", *b"P6 9 9 255\n12").with("a.zip", archive.finish());
    for threads in [1, 3] {
        let text = format!(
            r#"{{"deserializers": [{{"type": "ImageDeserializer", "file": "map.txt", "input": {{
                "x": {{"transforms": []}}, "y": {{"labelDim": 10}}}}}}], "threads": {threads}}}"#
        );
        let (found, checked) = checked(&store, &text, |error, _| error.to_string());
        let names = ["none.ppm", "cut.ppm", "a.zip@/none.ppm", "a.zip@/cut.ppm"];
        assert_eq!((found.len(), checked.faults, checked.sequences), (4, 4, 7), "{found:?}");
        for ((error, name), line) in found.iter().zip(names).zip([2, 3, 5, 6]) {
            assert!(error.starts_with(name) && error.contains(&format!("line {line} of map.txt")), "{error}");
        }
    }
}

#[test]
fn members_that_an_archive_lacks_are_found_when_the_source_is_opened() {
    let mut archive = zip::Writer::default();
    archive.store("0.ppm", &ppm(2, 20));
    let map = |names: &[&str]| names.iter().map(|name| format!("{name}\t1\n")).collect::<String>();
    let archive = archive.finish();
    let store = |map: String| store(&[("map.txt", &map)]).with("a.zip", archive.clone());
    let one = store(map(&["a.zip@/0.ppm", "none.ppm", "a.zip@/o.ppm"]));
    let found = refusal(open(&one, "", r#""threads": 1"#));
    assert_eq!(
        found,
        "map.txt:3 (byte 0): `a.zip@/o.ppm` is listed, and the archive has no member of this name"
    );
    let several = store(map(&["a.zip@/1.ppm", "a.zip@/0.ppm", "a.zip@/2.ppm"]));
    let found = refusal(open(&several, "", r#""threads": 1"#));
    assert!(found.starts_with("map.txt:1") && found.ends_with("(2 in all, `a.zip@/2.ppm` too)"), "{found}");
    let elsewhere = store(map(&["a.zip@/0.ppm", "b.zip@/1.ppm"]));
    let found = refusal(open(&elsewhere, "", r#""threads": 1"#));
    assert!(found.starts_with("b.zip: ") && found.ends_with("line 2 of map.txt lists it"), "{found}");
    let mut source = open(&several, r#""onCorruptImage": "skip","#, r#""randomize": false"#).unwrap();
    assert_eq!(rest(&mut source, 9), [[(20, 1)]]);
    // The reader's budget counts them as it counts files that are missing.
    let within = |errors: u32| open(&several, "", &format!(r#""randomize": false, "maxErrors": {errors}"#));
    assert_eq!(rest(&mut within(2).unwrap(), 9), [[(20, 1)]]);
    let error = within(1).unwrap().next_minibatch(9).unwrap_err().to_string();
    assert!(error.contains("a.zip@/2.ppm") && error.contains("one more than the 1 faults"), "{error}");
}

#[test]
fn an_image_that_is_not_found_says_where_names_start_and_what_is_beside_the_map() {
    let folder = folder("beside-the-map");
    std::fs::create_dir_all(folder.join("data/photos")).unwrap();
    std::fs::write(folder.join("data/photos/a.ppm"), ppm(2, 1)).unwrap();
    std::fs::write(
        folder.join("data/pointer.ppm"),
        "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n",
    )
    .unwrap();
    let data = folder.join("data");
    let error = |name: &str| {
        std::fs::write(data.join("map.txt"), format!("{name}\t1\n")).unwrap();
        let text = format!(
            r#"{{"deserializers": [{{"type": "ImageDeserializer", "file": "{}", "input": {{
                "x": {{"transforms": []}}, "y": {{"labelDim": 10}}}}}}]}}"#,
            data.join("map.txt").display()
        );
        let mut source = tesson::open(&from_json(&text).unwrap()).unwrap();
        source.next_minibatch(1).unwrap_err().to_string()
    };
    let beside = error("photos/a.ppm");
    assert!(
        beside.contains("relative names start from the working directory, and the file lies beside the list")
            && beside.contains(&format!("set `root` to `{}`", data.display())),
        "{beside}"
    );
    let nowhere = error("no-such-photos/a.ppm");
    assert!(nowhere.contains("there is no folder `no-such-photos` in `/"), "{nowhere}");
    let windows = error("C:\\photos\\a.ppm");
    assert!(windows.contains("`/` separates folders here, as in `C:/photos/a.ppm`"), "{windows}");
    let pointer = error(".../pointer.ppm");
    assert!(pointer.contains("is a pointer of Git LFS") && pointer.contains("`git lfs pull`"), "{pointer}");
}

#[test]
fn an_image_that_cannot_be_had_is_an_error_or_left_out() {
    let store = |map: &str| store(&[("map.txt", map)]).with("bad.ppm", *b"P6 9 9 255\n12");
    for bad in ["none.ppm", "bad.ppm"] {
        let store = store(&format!("0.ppm\t0\n{bad}\t1\n"));
        let mut source = open(&store, "", r#""randomize": false, "threads": 2"#).unwrap();
        assert_eq!(pairs(&source.next_minibatch(1).unwrap().expect("the first")), [(0, 0)]);
        let error = source.next_minibatch(1).unwrap_err().to_string();
        assert!(error.starts_with(bad) && error.ends_with("line 2 of map.txt lists it"), "{error}");
    }
    let store = store("0.ppm\t0\nnone.ppm\t1\nbad.ppm\t2\n3.ppm\t3\n");
    for threads in [1, 2, 8] {
        let reader = format!(r#""randomize": false, "threads": {threads}"#);
        let mut source = open(&store, r#""onCorruptImage": "skip","#, &reader).unwrap();
        assert_eq!(rest(&mut source, 4), [[(0, 0), (3, 3)]], "{threads} threads");
        assert_eq!(source.state().faults, 2);
    }
}

#[test]
fn images_of_different_shapes_do_not_make_a_minibatch() {
    let store = store(&[("map.txt", "0.ppm\t0\nwide.ppm\t1\n")]).with("wide.ppm", ppm(5, 9));
    let mut source = open(&store, "", r#""randomize": false"#).unwrap();
    let error = source.next_minibatch(2).unwrap_err().to_string();
    assert!(error.contains("wide.ppm") && error.contains("1x5x3") && error.contains("1x2x3"), "{error}");
}

#[test]
fn views_are_sequences_of_one_image() {
    let store = store(&[("map.txt", "0.ppm\t0\n1.ppm\t1\n")]);
    let mut source = open(&store, r#""multiViewCrop": true,"#, r#""randomize": false"#).unwrap();
    assert_eq!(source.num_sequences().unwrap(), 20);
    let all = rest(&mut source, 20).concat();
    assert_eq!(all, [vec![(0, 0); 10], vec![(1, 1); 10]].concat());
}

#[test]
fn a_crop_of_ten_views_makes_ten_sequences_unless_one_is_asked_for() {
    let store = store(&[("map.txt", "0.ppm\t0\n1.ppm\t1\n")]);
    let sequences = |options: &str| {
        let text = format!(
            r#"{{"deserializers": [{{"type": "ImageDeserializer", "file": "map.txt", {options} "input": {{
                "x": {{"transforms": [{{"type": "Crop", "cropType": "multiview10", "cropSize": 1}}]}}}}}}]}}"#
        );
        kit::open(&store, &text).unwrap().num_sequences().unwrap()
    };
    assert_eq!((sequences(""), sequences(r#""multiViewCrop": false,"#)), (20, 2));
}

/// A map of `n` images, those of [`store`] again and again.
fn long_map(n: usize) -> String {
    (0..n).fold(String::new(), |mut map, i| {
        writeln!(map, "{i}\t{}.ppm\t{}", i % 10, (i / 10) % 10).expect("strings take everything");
        map
    })
}

#[test]
fn images_have_their_classes_in_every_order() {
    let map = long_map(60);
    let store = store(&[("map.txt", &map)]);
    for order in ["false", "true", "\"global\""] {
        let reader = format!(r#""randomize": {order}, "randomizationWindow": 8, "prefetch": false"#);
        let reader = if order == "true" { reader } else { format!(r#""randomize": {order}"#) };
        let mut found = rest(&mut open(&store, "", &reader).unwrap(), 7).concat();
        found.sort_unstable();
        let mut expected: Vec<(u8, i32)> = (0..60).map(|i| (i % 10, i32::from(i / 10 % 10))).collect();
        expected.sort_unstable();
        assert_eq!(found, expected, "{order}");
    }
}

/// Base64 of bytes.
fn base64(bytes: &[u8]) -> String {
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let mut three = [0; 4];
        three[1..=group.len()].copy_from_slice(group);
        let bits = u32::from_be_bytes(three);
        for i in 0..4 {
            let value = (bits >> (18 - 6 * i) & 63) as usize;
            text.push(if i > group.len() { '=' } else { alphabet[value].into() });
        }
    }
    text
}

/// The source of the file `pictures.txt` in Base64.
fn open_base64(text: &str, options: &str) -> Result<Source, Error> {
    open_base64_in(text, options, "")
}

/// The source of [`open_base64`] with options of the reader.
fn open_base64_in(text: &str, options: &str, reader: &str) -> Result<Source, Error> {
    let config = format!(
        r#"{{"deserializers": [{{"type": "Base64ImageDeserializer", "file": "pictures.txt", {options}
            "input": {{"classes": {{"labelDim": 10}}, "pictures": {{"transforms": []}}}}}}],
            {reader} "maxSweeps": 1, "randomize": false}}"#
    );
    kit::open(&store_of([("pictures.txt", text)]), &config)
}

#[test]
fn images_in_base64_have_keys_where_the_first_line_has_three_columns() {
    let line = |label: u8| format!("{label}\t{}", base64(&ppm(2, label)));
    let text = format!("{}\r\n\n{}  \n{}", line(1), line(2), line(3));
    let mut source = open_base64(&text, "").unwrap();
    let minibatch = source.next_minibatch(10).unwrap().expect("three pictures");
    assert_eq!(pairs(&minibatch), [(1, 1), (2, 2), (3, 3)]);
    assert_eq!(minibatch.keys().get(2), Key::Number(3), "the number of the line, counted from 0");
    let text = format!("70\t{}\n5\t{}\n", line(1), line(2));
    let mut source = open_base64(&text, "").unwrap();
    let minibatch = source.next_minibatch(10).unwrap().expect("two pictures");
    assert_eq!((pairs(&minibatch), minibatch.keys().get(0)), (vec![(1, 1), (2, 2)], Key::Number(70)));
    let views = rest(&mut open_base64(&text, r#""multiViewCrop": true,"#).unwrap(), 20).concat();
    assert_eq!(views, [vec![(1, 1); 10], vec![(2, 2); 10]].concat());
}

#[test]
fn a_bad_image_in_base64_costs_one_of_the_budget() {
    let line = |label: u8| format!("{label}\t{}\n", base64(&ppm(2, label)));
    let text = format!("{}2\tQUJ\n3\tQUJD\n{}", line(1), line(4));
    let error = open_base64(&text, "").unwrap().next_minibatch(10).unwrap_err().to_string();
    assert!(error.starts_with("pictures.txt:2"), "{error}");
    let mut source = open_base64(&text, r#""maxErrors": 2,"#).unwrap();
    assert_eq!(rest(&mut source, 10), [[(1, 1), (4, 4)]]);
    let error = open_base64(&text, r#""maxErrors": 1,"#).unwrap().next_minibatch(10).unwrap_err().to_string();
    assert!(error.starts_with("pictures.txt:3"), "{error}");
}

#[test]
fn the_budget_of_the_reader_forgives_images_too() {
    let line = |label: u8| format!("{label}\t{}\n", base64(&ppm(2, label)));
    // Line 2 is no Base64, line 3 no image.
    let text = format!("{}2\tQUJ\n3\tQUJD\n{}", line(1), line(4));
    let left = |options, reader| rest(&mut open_base64_in(&text, options, reader).unwrap(), 10);
    assert_eq!(left("", r#""maxErrors": 2,"#), [[(1, 1), (4, 4)]]);
    // A budget of the deserializer's own holds in its place.
    assert_eq!(left(r#""maxErrors": 2,"#, r#""maxErrors": 1,"#), [[(1, 1), (4, 4)]]);
    for (options, reader, expected) in [
        ("", "", "pictures.txt:2"),
        ("", r#""maxErrors": 1,"#, "pictures.txt:3"),
        (r#""maxErrors": 1,"#, r#""maxErrors": 5,"#, "pictures.txt:3"),
    ] {
        let mut source = open_base64_in(&text, options, reader).unwrap();
        let error = source.next_minibatch(10).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    }
    let error = open_base64(&text, "").unwrap().next_minibatch(10).unwrap_err().to_string();
    assert!(
        error.ends_with("; `maxErrors` of the reader leaves such data out, `tesson check` lists all of it"),
        "{error}"
    );
    // Files that a map lists: one that is missing, and one that is no image.
    let map = "missing.ppm\t1\nbad.ppm\t2\n3.ppm\t3\n";
    let files = store(&[("map.txt", map), ("bad.ppm", "no picture")]);
    let in_order = |errors: u32| format!(r#""randomize": false, "maxErrors": {errors}"#);
    assert_eq!(rest(&mut open(&files, "", &in_order(2)).unwrap(), 10), [[(3, 3)]]);
    let error = open(&files, "", &in_order(1)).unwrap().next_minibatch(10).unwrap_err().to_string();
    assert!(error.contains("bad.ppm") && error.contains("one more than the 1 faults"), "{error}");
}

#[test]
fn lines_in_base64_that_cannot_be_told_apart_are_refused() {
    for (text, expected) in [
        ("7\t1\tQUJD\n7\t2\tQUJD\n", "pictures.txt:2 (byte 9): the key `7` is that of line 1"),
        ("1\tQUJD\n1 QUJD\n", "pictures.txt:2 (byte 7): expected a label, a tab and an image"),
        ("cat\tQUJD\n", "the label is `cat`"),
        ("10\tQUJD\n", "stream `classes`, sequence 0: the label is 10, expected one below `labelDim`, 10"),
        ("7\t1\tQUJD\n8\t10\tQUJD\n", "stream `classes`, sequence 8: the label is 10"),
        ("\n", "the file is empty"),
    ] {
        let error = refusal(open_base64(text, ""));
        assert!(error.contains(expected), "{error}");
    }
}

/// The shape, the type and the values of the first minibatch's images, of which each is a row of three pixels.
fn delivered(stream: &str) -> Result<(Vec<usize>, &'static str, Vec<u8>), Error> {
    let text = format!(
        r#"{{"deserializers": [{{"type": "ImageDeserializer", "file": "map.txt", "input": {{"x": {{{stream}}},
            "y": {{"labelDim": 3}}}}}}], "maxSweeps": 1, "precision": "double", "randomize": false}}"#
    );
    let row: Vec<u8> = (10..19).collect();
    let store = store(&[("map.txt", "row.ppm\t1\nrow.ppm\t2\n")])
        .with("row.ppm", [b"P6 3 1 255\n".as_slice(), &row].concat());
    let mut source = kit::open(&store, &text)?;
    let minibatch = whole(&mut source)?;
    let images = stream_of(&minibatch, "x");
    assert_eq!(source.streams()[0].element, images.info().element);
    let Samples::Dense { values } = images.samples() else { panic!("pictures are dense") };
    let is_bytes = matches!(values, SampleValues::U8(_));
    assert_eq!(is_bytes, values.bytes() == values.len());
    let found = kit::numbers(values).into_iter().map(|value| value as u8).collect();
    Ok((images.info().shape.dims().to_vec(), images.info().element.name(), found))
}

#[test]
fn images_stay_bytes_where_that_is_asked_for() {
    for (transforms, shape) in [
        (r#"[]"#, [1, 3, 3]),
        (r#"[{"type": "Crop", "cropSize": "2:1", "hflip": true}]"#, [1, 2, 3]),
        (r#"[{"type": "Scale", "width": 4, "height": 2, "channels": 3}]"#, [2, 4, 3]),
        (r#"[{"type": "Scale", "width": 4, "height": 2, "channels": 3}, {"type": "Transpose"}]"#, [3, 2, 4]),
    ] {
        let (found, element, bytes) =
            delivered(&format!(r#""dtype": "uint8", "transforms": {transforms}"#)).unwrap();
        assert_eq!((found, element), (shape.to_vec(), "uint8"), "{transforms}");
        let (found, element, doubles) = delivered(&format!(r#""transforms": {transforms}"#)).unwrap();
        assert_eq!((found, element), (shape.to_vec(), "float64"), "{transforms}");
        assert_eq!(bytes, doubles, "{transforms}");
    }
    let error = |stream: &str| delivered(stream).expect_err("refused").to_string();
    let found = error(r#""dtype": "uint8", "transforms": [{"type": "Color", "contrastRadius": 0.5}]"#);
    assert!(found.starts_with("deserializers[0].input.x.transforms: samples are float32 ?x?x3"), "{found}");
    let found = error(r#""transforms": [{"type": "Scale", "width": 2, "height": 2, "channels": 1}]"#);
    let expected = "deserializers[0].input.x.transforms: `Scale` is for 1 channels, the image has 3";
    assert!(found.starts_with(expected), "{found}");
    let found = error(
        r#""transforms": [{"type": "HorizontalFlip"}, {"type": "Normalize", "mean": [1, 2], "std": [1, 2]}]"#,
    );
    let expected =
        "deserializers[0].input.x.transforms: `HorizontalFlip, Normalize`: number 2: `Normalize` is";
    assert!(found.starts_with(expected), "{found}");
    let found = error(r#""transforms": [{"type": "Transpose"}, {"type": "HorizontalFlip"}]"#);
    let expected = "deserializers[0].input.x.transforms[1].type: `HorizontalFlip` follows `Transpose`";
    assert!(found.starts_with(expected), "{found}");
    let found = error(r#""dtype": "float32", "transforms": []"#);
    assert!(found.contains("deserializers[0].input.x.dtype") && found.contains("uint8"), "{found}");
}

/// A source of images of one, two and three pixels, with these options of their stream and of the reader.
fn open_widths(stream: &str, reader: &str) -> Result<Source, Error> {
    let names = [3, 1, 2, 1].map(|width| (format!("w{width}.ppm"), ppm(width, width as u8)));
    let map: String = names.iter().map(|(name, _)| format!("{name}\t1\n")).collect();
    let store =
        names.into_iter().fold(store(&[("map.txt", &map)]), |store, (name, file)| store.with(name, file));
    let text = format!(
        r#"{{"deserializers": [{{"type": "ImageDeserializer", "file": "map.txt", "onCorruptImage": "skip",
            "input": {{"x": {{{stream}}}, "y": {{"labelDim": 3}}}}}}], "randomize": false, "maxSweeps": 1 {reader}}}"#
    );
    kit::open(&store, &text)
}

#[test]
fn images_keep_their_shapes_where_that_is_asked_for() {
    for (transforms, shapes) in [
        ("[]", vec![[1, 3, 3], [1, 1, 3], [1, 2, 3], [1, 1, 3]]),
        (r#"[{"type": "Transpose"}]"#, vec![[3, 1, 3], [3, 1, 1], [3, 1, 2], [3, 1, 1]]),
        (r#"[{"type": "Scale", "width": 2, "height": 1, "channels": 3}]"#, vec![[1, 2, 3]; 4]),
    ] {
        for (more, is_bytes) in [("", false), (r#""dtype": "uint8", "#, true)] {
            let stream = format!(r#"{more} "ragged": true, "transforms": {transforms}"#);
            let mut source = open_widths(&stream, "").unwrap();
            assert!(source.streams()[0].ragged);
            let minibatch = source.next_minibatch(9).unwrap().expect("four pictures");
            let images = minibatch.stream("x").expect("the stream of pictures");
            let Samples::Ragged { values, shapes: found } = images.samples() else { panic!("ragged") };
            assert_eq!(*found, shapes.concat(), "{transforms}");
            assert_eq!(matches!(values, SampleValues::U8(_)), is_bytes);
            let mut end = 0;
            for (i, shape) in shapes.iter().enumerate() {
                let (of_sample, range) = images.ragged_sample(i).expect("one of four");
                assert_eq!((of_sample, range.start), (&shape[..], end));
                end = range.end;
                // Each image is of one value, which is its width.
                let width = [3.0, 1.0, 2.0, 1.0][i];
                assert!(range.clone().all(|at| values.get(at) == width), "{transforms}");
            }
            assert_eq!((end, images.ragged_sample(4)), (values.len(), None));
        }
    }
}

#[test]
fn shapes_of_their_own_are_refused_where_they_make_no_sense() {
    let error = |stream: &str, reader: &str| refusal(open_widths(stream, reader));
    let found = error(r#""ragged": true, "transforms": []"#, r#", "truncationLength": 2, "truncated": true"#);
    assert!(found.contains("truncated") && found.contains("stream `x` are ragged"), "{found}");
    let of_classes = r#"{"deserializers": [{"type": "ImageDeserializer", "file": "map.txt", "input": {
        "x": {"transforms": []}, "y": {"labelDim": 3, "ragged": true}}}]}"#;
    let found = refusal(kit::open(&store(&[("map.txt", "0.ppm\t1\n")]), of_classes));
    assert!(found.starts_with("deserializers[0].input.y.ragged: stream `y` has no images"), "{found}");
    let error = open_widths(r#""transforms": []"#, "").unwrap().next_minibatch(9).unwrap_err().to_string();
    assert!(
        error.contains("shape 1x1x3") && error.contains("1x3x3") && error.contains("`ragged`"),
        "{error}"
    );
}

/// Ten images of a ramp.
fn ramps() -> MemoryStore {
    let ramp = (0..10u8).flat_map(|x| [x; 3]).collect::<Vec<_>>();
    store(&[("map.txt", &"ramp.ppm\t1\n".repeat(10))])
        .with("ramp.ppm", [b"P6 10 1 255\n".as_slice(), &ramp].concat())
}

/// A source of [`ramps`] in this store, cut at random with these options of the reader.
fn open_random_in(store: &dyn Store, reader: &str) -> Result<Source, Error> {
    let text = format!(
        r#"{{"deserializers": [{{"type": "ImageDeserializer", "file": "map.txt", "input": {{
            "pictures": {{"transforms": [{{"type": "Crop", "cropType": "RandomSide", "cropSize": 1}}]}},
            "classes": {{"labelDim": 10}}}}}}], "randomize": false, {reader}}}"#
    );
    kit::open(store, &text)
}

/// A source of [`ramps`] in a store that never fails, cut at random.
fn open_random(reader: &str) -> Result<Source, Error> {
    open_random_in(&ramps(), reader)
}

/// The columns at which images were cut, minibatch by minibatch.
fn columns(source: &mut Source, sizes: &[u64]) -> Vec<Vec<u8>> {
    let mut next =
        |&size: &u64| source.next_minibatch(size).expect("the pictures are right").expect("endless data");
    sizes.iter().map(|size| pairs(&next(size)).into_iter().map(|(column, _)| column).collect()).collect()
}

#[test]
fn images_and_their_masks_are_cut_alike_whatever_else_is_done_to_them() {
    let ramp = |values: &[u8]| [format!("P5 {} 1 255\n", values.len()).as_bytes(), values].concat();
    let columns: Vec<u8> = (0..40).collect();
    let twice: Vec<u8> = columns.iter().flat_map(|x| [*x; 2]).collect();
    let map = |name: &str| (0..20).map(|key| format!("{key}\t{name}.pgm\t1\n")).collect::<String>();
    let store = MemoryStore::new()
        .with("pictures.txt", map("picture").into_bytes())
        .with("masks.txt", map("mask").into_bytes())
        .with("picture.pgm", ramp(&twice))
        .with("mask.pgm", ramp(&columns));
    let cuts = |images: &str, masks: &str| {
        let crop = r#"{"type": "Crop", "cropType": "RandomSide", "cropSize": "5:1""#;
        let deserializer = |name: &str, transforms: String| {
            format!(
                r#"{{"type": "ImageDeserializer", "file": "{name}.txt", "grayscale": true,
                    "input": {{"{name}": {{"transforms": [{transforms}]}}}}}}"#
            )
        };
        let text = format!(
            r#"{{"deserializers": [{}, {}], "randomize": false, "maxSweeps": 2}}"#,
            deserializer("pictures", format!("{images}, {crop}}}")),
            deserializer("masks", format!("{crop}{masks}}}")),
        );
        let mut source = kit::open(&store, &text).expect("it opens");
        let minibatches = [20, 20].map(|n| source.next_minibatch(n).expect("right").expect("two sweeps"));
        let of = |name: &str| minibatches.each_ref().map(|minibatch| dense(minibatch, name));
        (of("pictures"), of("masks"))
    };
    let scale = |how: &str| {
        format!(r#"{{"type": "Scale", "width": 40, "height": 1, "channels": 1, "interpolations": "{how}"}}"#)
    };
    for how in ["nearest", "nearest:linear"] {
        let (images, masks) = cuts(&scale(how), "");
        if how == "nearest" {
            assert_eq!(images, masks);
        }
        assert_ne!(masks[0], masks[1], "each sweep has its own cuts");
        assert_eq!(masks, cuts(&scale("nearest"), "").1, "{how}");
    }
    let (images, masks) = cuts(&scale("nearest"), r#", "seed": 3"#);
    assert_ne!(images, masks, "a seed of its own");
}

#[test]
fn draws_of_cntk_belong_to_an_index_and_run_on() {
    let sizes = [3, 3, 7, 2, 3, 3, 25, 4];
    let reader = |threads, prefetch| {
        format!(r#""augmentation": "cntk", "threads": {threads}, "prefetch": {prefetch}"#)
    };
    let expected = columns(&mut open_random(&reader(1, false)).unwrap(), &sizes);
    for threads in [1, 2, 8] {
        let mut source = open_random(&reader(threads, true)).unwrap();
        assert_eq!(columns(&mut source, &sizes), expected, "{threads} threads");
    }
    // A generator for each index: a smaller size leaves those of higher indices where they are.
    let of_index = |index: usize, sizes: &[u64]| -> Vec<u8> {
        let mut source = open_random(&reader(2, true)).unwrap();
        columns(&mut source, sizes).iter().filter_map(|batch| batch.get(index).copied()).collect()
    };
    assert_eq!(of_index(2, &[3, 1, 3, 2, 3]), of_index(2, &[3, 3, 3]));
    assert_eq!(of_index(0, &[1, 2, 3]), of_index(0, &[5, 5, 5]));
}

#[test]
fn an_interrupted_call_draws_nothing() {
    let sizes = [3, 4, 5, 3, 12, 2];
    for prefetch in [false, true] {
        let reader = format!(r#""augmentation": "cntk", "threads": 2, "prefetch": {prefetch}"#);
        let expected = columns(&mut open_random(&reader).unwrap(), &sizes);
        // Reads fail for a passing reason until a call has been interrupted.
        let held = Arc::new(AtomicBool::new(false));
        let gate = held.clone();
        let store = FakeStore::new(Arc::new(ramps()), move |_| {
            if gate.load(Ordering::SeqCst) {
                InjectedFault::Error(ErrorKind::WouldBlock)
            } else {
                InjectedFault::None
            }
        });
        let mut source = open_random_in(&store, &reader).unwrap();
        let found: Vec<_> = sizes
            .iter()
            .flat_map(|&samples| {
                held.store(true, Ordering::SeqCst);
                // What has been made in advance is delivered all the same.
                let demand = Demand { samples, workers: 1, rank: 0 };
                let early = match source.next_interruptible(demand, &mut || true) {
                    Ok(minibatch) => minibatch,
                    Err(error) => {
                        assert!(matches!(error, Error::Cancelled), "{error}");
                        None
                    }
                };
                held.store(false, Ordering::SeqCst);
                match early {
                    Some(minibatch) => vec![pairs(&minibatch).into_iter().map(|(x, _)| x).collect()],
                    None => columns(&mut source, &[samples]),
                }
            })
            .collect();
        assert_eq!(found, expected, "prefetch {prefetch}");
    }
}

#[test]
fn an_interrupted_minibatch_with_draws_of_cntk_comes_before_any_other() {
    let held = Arc::new(AtomicBool::new(false));
    let gate = held.clone();
    let store = FakeStore::new(Arc::new(ramps()), move |_| {
        if gate.load(Ordering::SeqCst) {
            InjectedFault::Error(ErrorKind::WouldBlock)
        } else {
            InjectedFault::None
        }
    });
    let reader = r#""augmentation": "cntk", "threads": 2"#;
    let expected = columns(&mut open_random(reader).unwrap(), &[3, 4]);
    let mut source = open_random_in(&store, reader).unwrap();
    held.store(true, Ordering::SeqCst);
    let demand = Demand { samples: 3, workers: 1, rank: 0 };
    assert!(matches!(source.next_interruptible(demand, &mut || true), Err(Error::Cancelled)));
    held.store(false, Ordering::SeqCst);
    // Whether it has drawn by now depends on threads.
    let refusal = source.next_minibatch(4).expect_err("refused").to_string();
    assert!(refusal.contains("has to be repeated") && refusal.contains("augmentation"), "{refusal}");
    assert_eq!(columns(&mut source, &[3, 4]), expected);
}

#[test]
fn draws_of_cntk_are_in_no_state() {
    let mut source = open_random(r#""augmentation": "cntk""#).unwrap();
    columns(&mut source, &[3]);
    let state = source.state().clone();
    let refusals = [
        source.restore(&state).unwrap_err(),
        source.check_resumable().unwrap_err(),
        source.show("3", 0, 1).unwrap_err(),
        open_random(r#""augmentation": "cntk", "truncationLength": 5"#).err().expect("refused"),
    ];
    for error in refusals {
        assert!(error.to_string().contains("augmentation"), "{error}");
    }
    let mut plain = open_random(r#""augmentation": "sequence""#).unwrap();
    assert!(plain.check_resumable().is_ok() && plain.restore(&state).is_err(), "a state of other draws");
}
