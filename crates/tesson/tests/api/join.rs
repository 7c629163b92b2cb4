//! Several deserializers, joined by key.

use tesson::{BatchKeys, Demand, Error, Key, Source};

use crate::kit::{self, store_of};

/// A source over files in memory; each has one dense stream of its own name, of one value a sample.
fn open(files: &[(&str, &str)], options: &str) -> Result<Source, Error> {
    open_with(files, options, "")
}

/// A source over files in memory, with options of every deserializer.
fn open_with(files: &[(&str, &str)], options: &str, ctf: &str) -> Result<Source, Error> {
    let section = |(name, _): &(&str, &str)| {
        format!(
            r#"{{"type": "CNTKTextFormatDeserializer", "file": "{name}", "chunkSizeInBytes": 40 {ctf},
                "input": {{"{name}": {{"dim": 1, "format": "dense"}}}}}}"#
        )
    };
    let sections: Vec<String> = files.iter().map(section).collect();
    let json = format!(
        r#"{{"deserializers": [{}], "randomize": false, "maxSweeps": 1 {options}}}"#,
        sections.join(", ")
    );
    kit::open(&store_of(files.iter().copied()), &json)
}

/// Keys, and of each stream the number of samples of each sequence, of one minibatch with everything.
fn read(source: &mut Source) -> (BatchKeys, Vec<Vec<u32>>) {
    let minibatch = source.next_minibatch(1000).expect("the data are right").expect("there are sequences");
    let lengths = minibatch.streams().iter().map(|s| s.lengths().to_vec()).collect();
    (minibatch.keys().clone(), lengths)
}

const A: &str = "1|a 1\n1|a 2\n2|a 3\n3|a 4\n4|a 5\n";
const B: &str = "4|b 1\n3|b 2\n3|b 3\n3|b 4\n9|b 1\n1|b 5\n";

#[test]
fn sequences_that_one_deserializer_lacks_are_left_out_and_reported() {
    let mut source = open(&[("a", A), ("b", B)], "").unwrap();
    let found = read(&mut source);
    assert_eq!(found, (BatchKeys::Numbers(vec![1, 3, 4]), vec![vec![2, 1, 1], vec![1, 3, 1]]));
    assert_eq!(source.num_samples_per_sweep().unwrap(), 2 + 3 + 1);
    let report = source.join_report().unwrap().expect("there are two deserializers");
    assert_eq!((report.sequences, report.joined), (4, 3));
    assert_eq!(
        (report.parts[0].missing, report.parts[0].first_missing.as_slice()),
        (1, &[Key::Number(2)][..])
    );
}

#[test]
fn an_outer_join_keeps_them_without_samples() {
    let mut source = open(&[("a", A), ("b", B)], r#", "outerJoin": true"#).unwrap();
    let found = read(&mut source);
    assert_eq!(found, (BatchKeys::Numbers(vec![1, 2, 3, 4]), vec![vec![2, 1, 1, 1], vec![1, 0, 3, 1]]));
    assert_eq!(source.num_samples_per_sweep().unwrap(), 2 + 1 + 3 + 1);
}

#[test]
fn strict_keys_are_refused_with_the_first_that_are_missing() {
    let refused = open(&[("a", A), ("b", B)], r#", "strictKeys": true"#).err().unwrap().to_string();
    assert_eq!(
        refused,
        "strictKeys: 1 of 4 sequences of `deserializers[0]` are not in `deserializers[1]`: `2`"
    );
    assert!(open(&[("a", A), ("b", &A.replace("|a", "|b"))], r#", "strictKeys": true"#).is_ok());
}

#[test]
fn keys_that_occur_again_are_refused_with_both_places_where_that_is_asked_for() {
    let again = "4|b 1\n3|b 2\n4|b 4\n";
    let refused = open(&[("a", A), ("b", again)], r#", "uniqueKeys": true"#).err().unwrap().to_string();
    let expected = "uniqueKeys: expected each key once in `deserializers[1]`, found 1 again: `4` at b (byte 0) and at b (byte 12)";
    assert_eq!(refused, expected);
    // The first deserializer may repeat a key, each time with the same partner.
    assert!(open(&[("a", again), ("b", "4|b 1\n3|b 2\n")], r#", "uniqueKeys": true"#).is_ok());
    let mut allowed = open(&[("a", A), ("b", again)], "").unwrap();
    assert_eq!(read(&mut allowed).0, BatchKeys::Numbers(vec![3, 4]));
}

#[test]
fn keys_that_occur_again_in_the_only_deserializer_are_refused_where_that_is_asked_for() {
    let again = "4|b 1\n3|b 2\n4|b 4\n";
    for order in ["", r#", "randomize": "global""#] {
        let unique = format!(r#", "uniqueKeys": true{order}"#);
        let refused = open(&[("b", again)], &unique).err().map(|e| e.to_string());
        let expected = "uniqueKeys: expected each key once in `deserializers[0]`, found 1 again: `4` at b (byte 0) and at b (byte 12)";
        assert_eq!(refused.as_deref(), Some(expected), "{order}");
        assert!(open(&[("b", again)], order).is_ok());
        assert!(open(&[("b", "4|b 1\n3|b 2\n")], &unique).is_ok());
        assert!(open(&[("b", "|b 1\n|b 2\n")], &unique).is_ok());
    }
}

#[test]
fn without_a_key_in_common_nothing_is_read() {
    let refused = open(&[("a", A), ("b", "7|b 1\n")], "").err().unwrap().to_string();
    let expected =
        "deserializers: the deserializers have no key in common: key `1` is not in `deserializers[1]`";
    assert_eq!(refused, expected);
}

#[test]
fn streams_of_one_name_are_refused() {
    let refused = open(&[("a", A), ("a", A)], "").err().unwrap().to_string();
    let expected = "deserializers[1]: `deserializers[0]` has the same streams; files that follow each other are listed in one deserializer, `file = [";
    assert!(refused.starts_with(expected), "{refused}");
}

/// Texts as keys, the second file in another order.
const TEXTS: [(&str, &str); 2] =
    [("a", "one|a 1\ntwo|a 2\ntwo|a 3\nthree|a 4\n"), ("b", "three|b 1\none|b 2\none|b 3\n")];

#[test]
fn text_keys_are_joined_as_texts_or_as_hashes() {
    let texts = r#", "useNumericSequenceKeys": false"#;
    let found = read(&mut open(&TEXTS, texts).unwrap());
    let lengths = vec![vec![1, 1], vec![2, 1]];
    assert_eq!(found, (BatchKeys::Texts(["one", "three"].iter().collect()), lengths.clone()));
    let hashed = read(&mut open(&TEXTS, &format!(r#"{texts}, "hashSequenceKeys": true"#)).unwrap());
    let djb2 = |text: &str| text.bytes().fold(5381, |h: u64, b| h.wrapping_mul(33) ^ u64::from(b));
    assert_eq!(hashed, (BatchKeys::Numbers(vec![djb2("one"), djb2("three")]), lengths));
}

#[test]
fn a_fault_in_any_file_is_told_with_its_place() {
    let faulty = "9|b 1\n4|b 1\n3|b x\n";
    let mut source = open_with(&[("a", A), ("b", faulty)], "", r#", "rules": "cntk""#).unwrap();
    let Err(Error::Data(e)) = source.next_minibatch(1000) else { panic!("the data are faulty") };
    assert_eq!((&*e.at().file, e.at().line, e.at().offset), (std::path::Path::new("b"), Some(3), 16));
    assert_eq!((e.stream(), e.key()), (Some("b"), Some(&Key::Number(3))));
    assert_eq!(e.code(), "ctf.bad-number", "{e}");
}

#[test]
fn a_sequence_that_is_no_frame_in_any_file_is_refused_in_frame_mode() {
    let frames = [("a", "1|a 1\n2|a 2\n3|a 3\n"), ("b", "1|b 1\n2|b 2\n2|b 3\n3|b 4\n")];
    let mut source = open(&frames, r#", "frameMode": true"#).unwrap();
    let one = Demand { samples: 1, workers: 1, rank: 0 };
    let keys: Vec<_> = (0..3).map(|_| source.next(one).map(|m| m.map(|m| m.keys().clone()))).collect();
    let first = BatchKeys::Numbers(vec![1]);
    assert!(matches!(&keys[0], Ok(Some(keys)) if *keys == first), "{keys:?}");
    assert!(keys[1].is_err() && keys[2].is_ok(), "{keys:?}");
}
