//! Labels of speech beside sequences of text with the same keys.

use tesson::{BatchKeys, Demand, Error, Minibatch, SampleValues, Samples, Source};

use crate::kit::{self, checked, per_sequence, refusal, store_of, stream_of, whole};

const STATES: &str = "sil\naa\nbb\ncc\n";

/// Sequences `x`, `y` and `z` of 4, 3 and 1 samples.
const FEATURES: &str = "x|f 1\nx|f 2\nx|f 3\nx|f 4\ny|f 5\ny|f 6\ny|f 7\nz|f 8\n";

const LABELS: &str = "#!MLF!#\n\"*/x.lab\"\n0 200000 sil\n200000 400000 aa\n.\n\"y.lab\"\n0 100000 bb\n100000 300000 sil\n.\n\
    \"z\"\n0 100000 cc\n.\n\"unused\"\n0 1 zz\n.\n";

/// A source of features, and of labels with these options of their stream.
fn open(labels: &str, stream: &str, options: &str) -> Result<Source, Error> {
    let files =
        [("f", FEATURES), ("l", labels), ("states", STATES), ("list", "l\r\n\nmore\n"), ("more", MORE)];
    let json = format!(
        r#"{{"deserializers": [
            {{"type": "CNTKTextFormatDeserializer", "file": "f", "input": {{"f": {{"dim": 1, "format": "dense"}}}}}},
            {{"type": "HTKMLFDeserializer", "input": {{"l": {{"dim": 4, "labelMappingFile": "states", {stream}}}}}}}],
            "randomize": false, "maxSweeps": 1{options}}}"#
    );
    kit::open(&store_of(files), &json)
}

const MORE: &str = "#!MLF!#\n\"z.lab\"\n0 100000 aa\n.\n\"w.lab\"\n0 100000 aa\n.\n";

const FILE: &str = r#""mlfFile": "l""#;

/// Keys, and the classes with their values of each sequence.
type Labels = (Vec<String>, Vec<Vec<(i32, f32)>>);

fn labels(minibatch: &Minibatch) -> Labels {
    assert!(matches!(minibatch.keys(), BatchKeys::Texts(_)), "keys of speech are texts");
    let stream = stream_of(minibatch, "l");
    let Samples::Sparse { indices, values: SampleValues::F32(values), .. } = stream.samples() else {
        panic!("labels are sparse floats")
    };
    let entries: Vec<_> = indices.iter().copied().zip(values.iter().copied()).collect();
    (kit::keys(minibatch), per_sequence(&entries, stream, 1))
}

fn all(labels_text: &str, stream: &str, options: &str) -> Result<Labels, Error> {
    Ok(labels(&whole(&mut open(labels_text, stream, options)?)?))
}

#[test]
fn labels_join_sequences_of_their_name() {
    let (keys, found) = all(LABELS, FILE, "").unwrap();
    assert_eq!(keys, ["x", "y", "z"]);
    let ones = |classes: &[i32]| classes.iter().map(|&class| (class, 1.0)).collect::<Vec<_>>();
    assert_eq!(found, [ones(&[0, 0, 1, 1]), ones(&[2, 0, 0]), ones(&[3])]);
}

#[test]
fn labels_do_not_define_the_size_of_minibatches() {
    // Both utterances have one label, so that both would be in a minibatch if labels counted.
    let one_each = "#!MLF!#\n\"x\"\n0 100000 aa\n.\n\"y\"\n0 100000 bb\n.\n";
    let keys = |stream: &str| {
        let mut source = open(one_each, stream, "").unwrap();
        labels(&source.next_minibatch(4).unwrap().expect("there are sequences")).0
    };
    let defining = format!("{FILE}, \"definesMBSize\": true");
    assert_eq!(keys(&defining), ["x"], "the four samples of `x` fill the minibatch");
    assert_eq!(keys(&defining), keys(FILE));
}

#[test]
fn several_files_are_read_in_their_order_and_the_first_entry_of_a_key_counts() {
    let expected = all(LABELS, FILE, "").unwrap();
    for list in [r#""mlfFileList": ["l", "more"]"#, r#""mlfFileList": "list""#, r#""mlfFileList": "l:more""#]
    {
        assert_eq!(all(LABELS, list, "").unwrap(), expected, "{list}");
    }
    let one = all(LABELS, r#""mlfFileList": ["more"]"#, "").unwrap();
    assert_eq!(one, (vec!["z".into()], vec![vec![(1, 1.0)]]));
}

#[test]
fn classes_have_the_names_of_states() {
    let source = open(LABELS, FILE, "").unwrap();
    assert_eq!(*source.streams()[1].classes, ["sil", "aa", "bb", "cc"].map(String::from));
}

#[test]
fn an_invalid_utterance_is_an_error_or_left_out_and_unused_ones_do_not_matter() {
    let gap = LABELS.replace("200000 400000 aa", "300000 400000 aa");
    let Error::Data(e) = all(&gap, FILE, "").unwrap_err() else { panic!("the labels have a gap") };
    assert_eq!((e.code(), e.at().line, e.at().offset), ("mlf.gap", Some(4), 31));
    assert_eq!((e.stream(), e.key().map(ToString::to_string).as_deref()), (Some("l"), Some("x")));
    let (keys, found) = all(&gap, FILE, r#", "maxErrors": 1"#).unwrap();
    assert_eq!((keys, found.len()), (vec!["y".to_owned(), "z".to_owned()], 2));
    let text = LABELS.replace("100000 300000 sil", "100000 300000 zz");
    let Error::Data(e) = all(&text, FILE, "").unwrap_err() else { panic!("the label is unknown") };
    assert_eq!((e.code(), e.at().line), ("mlf.unknown-label", Some(8)));
}

#[test]
fn a_class_beyond_the_dimension_is_never_forgiven() {
    let text = LABELS.replace("0 100000 cc", "0 100000 zz");
    let states = r#""mlfFile": "l", "labelDim": 3"#;
    let Error::Data(e) = all(LABELS, states, r#", "maxErrors": 5"#).unwrap_err() else { panic!("dim is 3") };
    assert_eq!((e.code(), e.at().line), ("mlf.class-out-of-range", Some(11)));
    assert!(all(&text, FILE, r#", "maxErrors": 5"#).is_ok());
}

#[test]
fn times_may_have_another_unit() {
    let text = "#!MLF!#\n\"x\"\n0 50000 sil\n50000 200000 aa\n.\n";
    let (_, found) = all(text, r#""mlfFile": "l", "framePeriod": 50000"#, "").unwrap();
    assert_eq!(found[0].iter().map(|(class, _)| *class).collect::<Vec<_>>(), [0, 1, 1, 1]);
    let text = "#!MLF!#\n\"x\"\n0 50000 sil\n50000 450000 aa\n.\n";
    let (_, found) = all(text, r#""mlfFile": "l", "timeUnit": "100ns""#, "").unwrap();
    assert_eq!(found[0].iter().map(|(class, _)| *class).collect::<Vec<_>>(), [0, 1, 1, 1, 1]);
    let e = refusal(open(text, r#""mlfFile": "l", "framePeriod": 0"#, ""));
    assert!(e.contains("deserializers[1].input.l.framePeriod: found `0`"), "{e}");
}

#[test]
fn labels_config_are_refused_but_can_be_checked() {
    let labels = r#"{"deserializers": {"type": "HTKMLFDeserializer", "input": {"l": {"dim": 3, "mlfFile": "l",
        "labelMappingFile": "states"}}}, "randomize": false, "maxSweeps": 1}"#;
    let store = store_of([("l", &*LABELS.replace("\"z\"", "z")), ("states", STATES)]);
    let e = refusal(kit::open(&store, labels));
    assert!(e.contains("`HTKMLFDeserializer` only adds to the sequences of another deserializer"), "{e}");
    let (found, checked) = checked(&store, labels, |e, _| (e.code(), e.at().line));
    assert_eq!((checked.sequences, checked.left_out), (3, 1));
    assert_eq!(found, [("mlf.bad-name", Some(10)), ("mlf.unknown-label", Some(14))]);
}

#[test]
fn a_list_that_names_a_state_twice_is_refused() {
    let json = r#"{"deserializers": [
        {"type": "CNTKTextFormatDeserializer", "file": "f", "input": {"f": {"dim": 1, "format": "dense"}}},
        {"type": "HTKMLFDeserializer", "input": {"l": {"dim": 4, "labelMappingFile": "states", "mlfFile": "l"}}}]}"#;
    let store = store_of([("f", FEATURES), ("l", LABELS), ("states", "a\nb\na\n")]);
    assert_eq!(refusal(kit::open(&store, json)), "states:3 (byte 4): the state `a` is in line 1, too");
}

#[test]
fn lattices_are_refused_by_name() {
    let json = r#"{"deserializers": [{"type": "LatticeDeserializer", "latticeIndexFile": "l", "input": {"x": {}}}]}"#;
    let e = tesson::config::from_json(json).map(|_| ()).unwrap_err().to_string();
    assert_eq!(e, "deserializers[0].type: lattices are not supported, train without them");
}

#[test]
fn a_state_is_resumed_from() {
    let one = Demand { samples: 1, workers: 1, rank: 0 };
    let mut source = open(LABELS, FILE, "").unwrap();
    source.next(one).unwrap();
    let state = source.state().clone();
    let expected = source.next(one).unwrap().map(|minibatch| labels(&minibatch));
    let mut resumed = open(LABELS, FILE, "").unwrap();
    resumed.restore(&state).unwrap();
    assert_eq!(resumed.next(one).unwrap().map(|minibatch| labels(&minibatch)), expected);
    let other = open(LABELS, r#""mlfFile": "l", "timeUnit": "100ns""#, "").unwrap().restore(&state);
    assert!(other.is_err(), "other options are another corpus");
}

#[test]
fn frames_have_the_labels_of_their_utterance_in_turn() {
    let store = store_of([("f", "x|f 1\ny|f 5\nz|f 8\n"), ("l", LABELS), ("states", STATES)]);
    let json = r#"{"deserializers": [
        {"type": "CNTKTextFormatDeserializer", "file": "f", "input": {"f": {"dim": 1, "format": "dense"}}},
        {"type": "HTKMLFDeserializer", "input": {"l": {"dim": 4, "labelMappingFile": "states", "mlfFile": "l"}}}],
        "randomize": false, "maxSweeps": 1, "frameMode": true}"#;
    let (keys, found) = labels(&whole(&mut kit::open(&store, json).unwrap()).unwrap());
    assert_eq!(keys, ["x", "y", "z"]);
    assert_eq!(found, [[(0, 1.0)], [(2, 1.0)], [(3, 1.0)]]);
}

#[test]
fn labels_of_a_few_frames_more_or_less_fit() {
    let text = LABELS
        .replace("200000 400000 aa", "200000 500000 aa")
        .replace("0 100000 bb\n", "0 200000 bb\n")
        .replace("100000 300000 sil\n", "");
    let lengths = |stream: &str, options: &str| {
        let (keys, found) = all(&text, &format!(r#""mlfFile": "l"{stream}"#), options)?;
        Ok::<_, Error>(keys.into_iter().zip(found.iter().map(Vec::len)).collect::<Vec<_>>())
    };
    let expected =
        |lengths: [usize; 3]| ["x", "y", "z"].map(String::from).into_iter().zip(lengths).collect::<Vec<_>>();
    assert_eq!(lengths("", "").unwrap(), expected([5, 2, 1]));
    assert_eq!(lengths(r#", "lengthTolerance": 1"#, "").unwrap(), expected([4, 3, 1]));
    let Error::Data(e) = lengths(r#", "lengthTolerance": 0"#, "").unwrap_err() else {
        panic!("lengths differ")
    };
    assert_eq!((e.code(), e.at().offset, e.stream()), ("data.lengths-differ", 8, Some("l")));
    let two = lengths(r#", "lengthTolerance": 0"#, r#", "maxErrors": 2"#).unwrap();
    assert_eq!(two, [("z".to_owned(), 1)]);
    let (_, found) = all(&text, r#""mlfFile": "l", "lengthTolerance": 1"#, "").unwrap();
    assert_eq!(found[1], [(2, 1.0); 3]);
}

/// An archive of alignments: as text, or in the binary form.
fn alignments(utterances: &[(&str, &[i32])], is_binary: bool) -> Vec<u8> {
    let mut archive = Vec::new();
    for (key, classes) in utterances {
        archive.extend(format!("{key} ").into_bytes());
        if is_binary {
            archive.extend(b"\0B\x04");
            archive.extend((classes.len() as i32).to_le_bytes());
            classes.iter().for_each(|class| archive.extend([&[4][..], &class.to_le_bytes()].concat()));
        } else {
            classes.iter().for_each(|class| archive.extend(format!("{class} ").into_bytes()));
            archive.push(b'\n');
        }
    }
    archive
}

/// The labels read of archives beside features, whose names are `a` and `b`.
fn aligned(archives: [Vec<u8>; 2], stream: &str, options: &str) -> Result<Labels, Error> {
    let [a, b] = archives;
    let store = store_of([("f", FEATURES.as_bytes().to_vec()), ("a", a), ("b", b)]);
    let json = format!(
        r#"{{"deserializers": [
            {{"type": "CNTKTextFormatDeserializer", "file": "f", "input": {{"f": {{"dim": 1, "format": "dense"}}}}}},
            {{"type": "KaldiAlignmentDeserializer", "input": {{"l": {{"dim": 4, {stream}}}}}}}],
            "randomize": false, "maxSweeps": 1{options}}}"#
    );
    Ok(labels(&whole(&mut kit::open(&store, &json)?)?))
}

#[test]
fn alignments_of_kaldi_are_labels() {
    let first: &[(&str, &[i32])] = &[("unused", &[9]), ("z", &[3]), ("x", &[0, 0, 1, 1])];
    let more: &[(&str, &[i32])] = &[("y", &[2, 0, 0])];
    let expected = all(LABELS, FILE, "").unwrap();
    for [a, b] in [[false, false], [true, false], [true, true]] {
        let archives = [alignments(first, a), alignments(more, b)];
        assert_eq!(aligned(archives, r#""arkFile": ["a", "b"]"#, "").unwrap(), expected);
    }
}

#[test]
fn wrong_alignments_are_told_with_their_byte() {
    let good: &[(&str, &[i32])] = &[("x", &[0, 0, 1, 1]), ("y", &[2, 0, 0])];
    let one = |archive: Vec<u8>, options: &str| aligned([archive, Vec::new()], r#""arkFile": "a""#, options);
    let beyond = one(alignments(&[("x", &[0, 4]), ("y", &[0])], true), r#", "maxErrors": 9"#).unwrap_err();
    assert_eq!(
        (beyond.code(), beyond.to_string().starts_with("a (byte 2):")),
        ("kaldi.class-out-of-range", true)
    );
    let text = alignments(good, false);
    let odd = [b"x 0 q\n".to_vec(), text[text.len() - 9..].to_vec()].concat();
    assert_eq!(one(odd.clone(), "").unwrap_err().code(), "kaldi.not-a-number");
    assert_eq!(one(odd, r#", "maxErrors": 1"#).unwrap().0, ["y"]);
    let mut cut = alignments(good, true);
    cut.truncate(cut.len() - 1);
    assert_eq!(one(cut, "").unwrap_err().code(), "kaldi.cut-off");
    assert_eq!(one(b"\0B\x04".to_vec(), "").unwrap_err().code(), "kaldi.no-key");
    assert_eq!(one(b"x \0BFM ".to_vec(), "").unwrap_err().code(), "kaldi.not-an-alignment");
    let pipe =
        aligned([Vec::new(), Vec::new()], r#""arkFile": "gunzip -c a.gz |""#, "").unwrap_err().to_string();
    assert!(pipe.contains("found the command `gunzip -c a.gz |`") && pipe.contains("not run"), "{pipe}");
}
