//! Pictures in tar archives: samples, keys, classes, several archives, and what is wrong with them.

use tesson::store::MemoryStore;
use tesson::{BatchKeys, Error, SampleValues, Samples, Source, config};

/// A picture of one pixel.
fn picture(value: u8) -> Vec<u8> {
    [&b"P6 1 1 255\n"[..], &[value; 3]].concat()
}

/// An archive of members, by name; a name that is too long for its header stands in front of it, as GNU's programs write it.
fn tar(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = Vec::new();
    let mut push = |name: &str, kind: u8, data: &[u8]| {
        let mut header = [0; 512];
        header[..name.len().min(100)].copy_from_slice(&name.as_bytes()[..name.len().min(100)]);
        header[124..135].copy_from_slice(format!("{:011o}", data.len()).as_bytes());
        header[148..156].fill(b' ');
        header[156] = kind;
        let sum: u32 = header.iter().map(|&byte| u32::from(byte)).sum();
        header[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
        archive.extend_from_slice(&header);
        archive.extend_from_slice(data);
        archive.resize(archive.len().next_multiple_of(512), 0);
    };
    for (name, data) in members {
        if name.len() > 100 {
            push("././@LongLink", b'L', format!("{name}\0").as_bytes());
        }
        push(name, if name.ends_with('/') { b'5' } else { b'0' }, data);
    }
    archive.extend_from_slice(&[0; 1024]);
    archive
}

fn open(archives: &[(&str, Vec<u8>)], options: &str) -> Result<Source, Error> {
    let store =
        archives.iter().fold(MemoryStore::new(), |store, (name, bytes)| store.with(name, bytes.clone()));
    let names: Vec<String> = archives.iter().map(|(name, _)| format!("\"{name}\"")).collect();
    let json = format!(
        r#"{{"deserializers": [{{"type": "TarImageDeserializer", "file": [{}], {options} "input": {{
            "x": {{"transforms": [], "dtype": "uint8"}}, "y": {{"labelDim": 5}}}}}}], "randomize": false, "maxSweeps": 1}}"#,
        names.join(", ")
    );
    Source::open_in(&config::from_json(&json)?, &store)
}

/// Of each sequence its key, its first value and its class.
fn all(archives: &[(&str, Vec<u8>)], options: &str) -> Result<Vec<(String, u8, i32)>, Error> {
    let (mut source, mut found) = (open(archives, options)?, Vec::new());
    while let Some(minibatch) = source.next_minibatch(2)? {
        let BatchKeys::Texts(keys) = minibatch.keys() else { panic!("keys are texts") };
        let samples = |name| minibatch.stream(name).expect("the stream is read").samples();
        let Samples::Dense { values: SampleValues::U8(values) } = samples("x") else { panic!("8 bits") };
        let Samples::Sparse { indices, .. } = samples("y") else { panic!("classes are sparse") };
        found.extend((0..indices.len()).map(|i| (keys.get(i).to_owned(), values[3 * i], indices[i])));
    }
    Ok(found)
}

#[test]
fn members_of_one_name_are_a_sample() {
    let long = format!("{}/{}", "d".repeat(90), "e".repeat(60));
    let (long_picture, long_class) = (format!("{long}.PNM"), format!("{long}.cls"));
    let [first, second, third] = [1, 2, 3].map(picture);
    let archives = [
        (
            "0.tar",
            tar(&[
                ("cat/", b""),
                ("cat/7.json", b"{}"),
                ("cat/7.ppm", &first),
                ("cat/7.cls", b" 4\n"),
                ("notes", b"no picture"),
                ("8.cls", b"1"),
            ]),
        ),
        (
            "1.tar",
            tar(&[("cat/7.cls", b"0"), ("cat/7.ppm", &second), (&long_picture, &third), (&long_class, b"2")]),
        ),
    ];
    let found = all(&archives, "").unwrap();
    assert_eq!(found, [("cat/7".into(), 1, 4), ("cat/7".into(), 2, 0), (long, 3, 2)]);
}

#[test]
fn extensions_say_what_is_a_picture_and_what_a_class() {
    let [left, right] = [1, 2].map(picture);
    let archive = tar(&[("a.left.ppm", &left), ("a.right.ppm", &right), ("a.txt", b"3")]);
    let options = r#""imageExtension": "right.PPM", "labelExtension": "txt","#;
    assert_eq!(all(&[("a.tar", archive)], options).unwrap(), [("a".into(), 2, 3)]);
}

#[test]
fn what_is_wrong_is_told_with_its_byte_and_key() {
    let picture = picture(1);
    let cut = tar(&[("a.ppm", &picture), ("a.cls", b"1"), ("b.ppm", &[7; 600])])[..2600].to_vec();
    let mut damaged = tar(&[("a.ppm", &picture), ("a.cls", b"1"), ("b.ppm", &picture)]);
    damaged[2048] = b'x';
    for (archive, code, place) in [
        (tar(&[("a.ppm", &picture)]), "tar-image.no-label", "a.tar (byte 0): stream `y`, sequence a: "),
        (tar(&[("a.ppm", &picture), ("a.cls", b"cat")]), "tar-image.bad-label", "a.tar (byte 0): stream `y`"),
        (
            tar(&[("a.ppm", &picture), ("a.cls", b"5")]),
            "tar-image.label-out-of-range",
            "a.tar (byte 1024): stream `y`",
        ),
        (
            tar(&[("a.ppm", &picture), ("a.png", b"")]),
            "tar-image.several-pictures",
            "a.tar (byte 1024): sequence a: ",
        ),
        (tar(&[("a.txt", b"")]), "tar-image.no-pictures", "a.tar (byte 0): no member"),
        (cut, "tar-image.truncated", "a.tar (byte 2048): "),
        (damaged, "tar-image.bad-header", "a.tar (byte 2048): "),
        (b"\x1f\x8b".iter().copied().chain([0; 600]).collect(), "tar-image.compressed", "a.tar (byte 0): "),
        (vec![7; 300], "tar-image.bad-header", "a.tar (byte 0): "),
    ] {
        let error = all(&[("a.tar", archive)], "").expect_err(code);
        assert_eq!(error.code(), code, "{error}");
        assert!(error.to_string().starts_with(place), "{error}");
    }
}
