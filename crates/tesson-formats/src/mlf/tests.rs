//! Whole files: entries that are found however a file is divided, and what is delivered of them.

use std::path::PathBuf;

use proptest::prelude::*;
use tesson_core::{
    Chunk, Data, Defects, Deserializer, Element, Error, InMemory, Index, Key, OneCore, OptionSet, Options,
    Parallelism, ReaderDefaults, ResourceId, Scratch, Section, SequenceSelection, Value, Values,
};

use super::index::{self, Cut, Subject};
use super::label::{TimeUnit, Times};
use super::options::{BinaryLabels, Encoding, LabelOptions, TextLabels};
use super::table::{LabelChunk, TableRules};
use super::{BINARY_FORMAT, FORMAT, Labels};

const DEFAULTS: ReaderDefaults = ReaderDefaults {
    element: Element::F32,
    frame_mode: false,
    numeric_keys: false,
    cache_index: false,
    forgives: false,
};

/// Several jobs in the order of a machine with as many cores, one after the other.
struct Cores(usize);

impl Parallelism for Cores {
    fn width(&self) -> usize {
        self.0
    }

    fn memory(&self) -> u64 {
        1 << 30
    }

    fn run(&self, n: usize, job: &(dyn Fn(usize) + Sync)) {
        (0..n).rev().for_each(job);
    }
}

type Found = (Index, Vec<LabelChunk>, Vec<String>);

fn index(text: &[u8], cut: Cut, cores: usize) -> Result<Found, Error> {
    let files = [(PathBuf::from("f.mlf"), ResourceId(0))];
    let subject = Subject {
        files: &files,
        encoding: Encoding::Text,
        times: Times { unit: TimeUnit::Auto, period: 100_000.0 },
        rules: TableRules { chunk_bytes: 100, numeric_keys: false, frame_mode: false },
        cut,
    };
    let mut found = Vec::new();
    let fetch = InMemory::new(text.to_vec());
    let (index, chunks, _) =
        index::index(&subject, &fetch, &Cores(cores), &mut Defects::Collect(&mut found))?;
    Ok((index, chunks, found.iter().map(ToString::to_string).collect()))
}

fn one_pass(text: &[u8]) -> Result<Found, Error> {
    index(text, Cut { range: u64::MAX, read: 1 << 20 }, 1)
}

#[test]
fn identities_have_the_texts_of_earlier_releases() {
    let identity = |format, numeric_keys, more: &[(&str, Value)]| {
        let defaults = ReaderDefaults { numeric_keys, ..DEFAULTS };
        label_options(format, more, defaults).expect("the options are valid").identity()
    };
    assert_eq!(identity(&FORMAT, true, &[]), "mlf 1; states=false boundaries=false numeric=true");
    let all = [
        ("labelMappingFile", Value::Text("states.list".into())),
        ("phoneBoundaries", Value::Bool(true)),
        ("timeUnit", Value::Text("frames".into())),
        ("framePeriod", Value::Whole(50_000)),
        ("lengthTolerance", Value::Whole(3)),
    ];
    let text = "mlf 1; states=true boundaries=true numeric=false unit=frames period=50000 tolerance=3";
    assert_eq!(identity(&FORMAT, false, &all), text);
    let large = [("lengthTolerance", Value::Whole(1 << 40))];
    let text = "mlf-binary 1; states=false boundaries=false numeric=true tolerance=4294967295";
    assert_eq!(identity(&BINARY_FORMAT, true, &large), text);
}

proptest! {
    #[test]
    fn entries_do_not_depend_on_how_a_file_is_divided(
        lines in prop::collection::vec(0usize..8, 0..60),
        range in 1u64..80,
        read in 1u64..20,
        cores in 1usize..4,
    ) {
        const LINES: [&str; 8] =
            [".\n", ".\n", "\"*/x.lab\"\n", "\"y\"\r\n", "0 300000 a 1\n", "#!MLF!#\n", "\n", "junk\n"];
        let mut text = b"#!MLF!#\n".to_vec();
        lines.iter().for_each(|&line| text.extend_from_slice(LINES[line].as_bytes()));
        let (expected, chunks, defects) = one_pass(&text).unwrap();
        let found = index(&text, Cut { range, read }, cores).unwrap();
        prop_assert_eq!(format!("{:?}", (found.0, found.1)), format!("{:?}", (expected, chunks)));
        prop_assert_eq!(found.2, defects);
    }

    #[test]
    fn no_bytes_make_an_index_or_a_load_panic(
        bytes in prop::collection::vec(prop_oneof![Just(b'\n'), Just(b'.'), Just(b'"'), Just(b' '), Just(b'9'), any::<u8>()], 0..200),
        is_text in any::<bool>(),
        frame_mode in any::<bool>(),
    ) {
        let mut file = if is_text { b"#!MLF!#\n\"x\"\n".to_vec() } else { b"MLF\x02\0".to_vec() };
        file.extend_from_slice(&bytes);
        let format = if is_text { &FORMAT } else { &BINARY_FORMAT };
        let _ = read(format, &file, &[], ReaderDefaults { frame_mode, ..DEFAULTS });
    }
}

/// A sequence: its key, its classes with their values, and what is wrong with it.
type Sequence = (String, Vec<(u32, f32)>, Vec<String>);

/// The options of a stream of labels that has these, too.
fn label_options(
    format: &'static tesson_core::Format,
    more: &[(&str, Value)],
    defaults: ReaderDefaults,
) -> Result<LabelOptions, Error> {
    let mut stream = Section::from_iter([("mlfFile", Value::Text("f".into())), ("dim", Value::Whole(9))]);
    more.iter().for_each(|(name, value)| stream.push(*name, value.clone()));
    let input = Section::from_iter([("labels", Value::Section(stream))]);
    let section = Section::from_iter([("input", Value::Section(input))]);
    let options = Options::new(format.options, &section, "")?;
    Ok(if format.name == FORMAT.name {
        TextLabels::read(&options, &defaults)?.resolved(&defaults)
    } else {
        BinaryLabels::read(&options, &defaults)?.resolved(&defaults)
    })
}

/// All sequences of a file that stands for all resources.
fn read(
    format: &'static tesson_core::Format,
    file: &[u8],
    more: &[(&str, Value)],
    defaults: ReaderDefaults,
) -> Result<Vec<Sequence>, Error> {
    let options = label_options(format, more, defaults)?;
    let mut labels = Labels::new(format, options).with_cut(Cut { range: 50, read: 7 });
    let fetch = InMemory::new(file.to_vec());
    labels.prepare(&fetch)?;
    let indexed = labels.index(&fetch, &OneCore { memory: 1 << 20 }, &mut Defects::Refuse)?;
    let mut sequences = Vec::new();
    let mut out = Chunk::empty();
    for number in indexed.index.chunk_ids() {
        let lengths = indexed.index.lengths(number);
        // Hostile files declare any number of frames.
        let n = lengths.len().min(1000) as u32;
        let selection = SequenceSelection::Range(0..n);
        indexed.corpus.load(number, selection, &fetch, &mut Scratch::default(), &mut out)?;
        let keys = indexed.corpus.keys(number, n, &fetch, &mut Scratch::default())?.unwrap();
        for i in 0..n {
            let column = &out.streams[0];
            let Data::Sparse { columns, values, .. } = &column.data else { panic!("labels are sparse") };
            let value = |at: usize| match values {
                Values::Bytes(values) => f32::from(values[at]),
                _ => 1.0,
            };
            let samples = column.samples.range(i as usize).map(|at| (columns[at], value(at))).collect();
            let faults = out.faults_of(i).iter().map(|fault| fault.kind.to_string()).collect();
            assert_eq!(out.key(i as usize), keys.get(i as usize));
            assert_eq!(out.lengths[i as usize], lengths.get(i as usize));
            let (Key::Text(key), _) = (out.key(i as usize), ()) else { panic!("keys are texts") };
            sequences.push((key, samples, faults));
        }
    }
    Ok(sequences)
}

const TWO: &str = "#!MLF!#\n\"*/a.lab\"\n0 2 s 3\n2 3 s 3\n.\n\n#!MLF!#\n\"b\"\r\n0 1 s 8\r\n.";

#[test]
fn a_class_for_each_frame_is_delivered() {
    let found = read(&FORMAT, TWO.as_bytes(), &[], DEFAULTS).unwrap();
    let expected = [("a".to_owned(), vec![(3, 1.0); 3], vec![]), ("b".to_owned(), vec![(8, 1.0)], vec![])];
    assert_eq!(found, expected);
}

#[test]
fn the_first_frame_of_each_line_is_marked_if_boundaries_are_asked_for() {
    let text = "#!MLF!#\n\"a\"\n0 2 s 3\n2 2 s 4\n2 4 s 3\n4 4 s 1\n.\n\"b\"\n0 1 s 8\n.\n";
    let found = read(&FORMAT, text.as_bytes(), &[("phoneBoundaries", Value::Bool(true))], DEFAULTS).unwrap();
    assert_eq!(found[0].1, [(3, 2.0), (3, 1.0), (3, 2.0), (3, 1.0)]);
    assert_eq!(found[1].1, [(8, 2.0)]);
}

#[test]
fn a_frame_is_a_sequence_in_frame_mode() {
    let found = read(&FORMAT, TWO.as_bytes(), &[], ReaderDefaults { frame_mode: true, ..DEFAULTS }).unwrap();
    let frame = |key: &str, class| (key.to_owned(), vec![(class, 1.0)], vec![]);
    assert_eq!(found, [frame("a", 3), frame("a", 3), frame("a", 3), frame("b", 8)]);
}

#[test]
fn an_utterance_with_wrong_labels_has_a_fault_and_the_others_are_read() {
    let text = "\u{feff}#!MLF!#\n\"a\"\n0 2 s 3\n3 4 s 3\n.\n\"b\"\n0 1 s 8\n.\n\"c\"\n0 1 s 9\n.\n\"d\"\n0 x\n.\n\"e\"\n0 9e9 s 1\n.\n";
    let found = read(&FORMAT, text.as_bytes(), &[], DEFAULTS).unwrap();
    let faults: Vec<&str> =
        found.iter().map(|(_, _, faults)| faults.first().map_or("", |fault| fault)).collect();
    assert!(faults[0].contains("begins at frame 3, expected 2"), "{}", faults[0]);
    assert_eq!((faults[1], found[1].1.len()), ("", 1));
    assert!(faults[2].contains("the class is 9"), "{}", faults[2]);
    assert!(faults[3].contains("found `x`"), "{}", faults[3]);
    assert_eq!(found[3].1, []);
}

#[test]
fn entries_without_labels_are_left_out() {
    let text =
        "#!MLF!#\n\"x.lab\"\n.\nz.lab\n0 100000 cc\n.\n\"y.lab\"\n0 1 s 2\n.\n\"w.lab\"\n0 500000 aa\n";
    let found = read(&FORMAT, text.as_bytes(), &[], DEFAULTS).unwrap();
    assert_eq!(found.iter().map(|sequence| sequence.0.as_str()).collect::<Vec<_>>(), ["y"]);
    let (.., defects) = one_pass(text.as_bytes()).unwrap();
    let places =
        ["f.mlf:2 (byte 8): the entry has no labels", "f.mlf:4 (byte 18): found `z.lab`", "f.mlf:10 (byte "];
    for (defect, place) in defects.iter().zip(places) {
        assert!(defect.starts_with(place), "{defect}");
    }
    assert_eq!(defects.len(), 3);
}

#[test]
fn a_file_without_a_header_is_refused() {
    let e = |text: &str| read(&FORMAT, text.as_bytes(), &[], DEFAULTS).unwrap_err().to_string();
    assert!(
        e("\n#!MLF!# \n").starts_with("f:2 (byte 1): the file begins with `#!MLF!# `"),
        "{}",
        e("\n#!MLF!# \n")
    );
    assert!(e("\"x\"\n0 1 a 1\n.\n").contains("expected the header"));
    assert!(e("").contains("the file is empty"));
    assert!(e("#!MLF!#\n").contains("no sequence"));
}

/// A binary file of utterances, each a key and runs of a class and frames.
fn binary(version: i16, utterances: &[(&str, &[(u16, u16)])]) -> Vec<u8> {
    let mut file = b"MLF".to_vec();
    file.extend(version.to_le_bytes());
    for (key, runs) in utterances {
        if version == 1 {
            file.extend(key.parse::<u32>().unwrap().to_le_bytes());
        } else {
            file.extend((key.len() as u16).to_le_bytes());
            file.extend(key.as_bytes());
        }
        file.extend(runs.iter().map(|run| u32::from(run.1)).sum::<u32>().to_le_bytes());
        file.extend((runs.len() as u16).to_le_bytes());
        runs.iter()
            .for_each(|(class, frames)| file.extend([class.to_le_bytes(), frames.to_le_bytes()].concat()));
    }
    file
}

#[test]
fn a_binary_file_has_the_same_labels() {
    let file = binary(2, &[("a.x", &[(3, 2), (3, 1)]), ("b", &[(8, 1)])]);
    let found = read(&BINARY_FORMAT, &file, &[("phoneBoundaries", Value::Bool(true))], DEFAULTS).unwrap();
    let expected = [
        ("a.x".to_owned(), vec![(3, 2.0), (3, 1.0), (3, 2.0)], vec![]),
        ("b".to_owned(), vec![(8, 2.0)], vec![]),
    ];
    assert_eq!(found, expected);
    let numbered = binary(1, &[("7", &[(1, 1)])]);
    assert_eq!(read(&BINARY_FORMAT, &numbered, &[], DEFAULTS).unwrap()[0].0, "7");
}

#[test]
fn a_damaged_binary_file_is_an_error_where_it_is_damaged() {
    let whole = binary(2, &[("a", &[(3, 2)]), ("b", &[(8, 1)])]);
    let e = |file: &[u8]| read(&BINARY_FORMAT, file, &[], DEFAULTS).unwrap_err().to_string();
    assert!(
        e(&whole[..whole.len() - 1]).starts_with("f (byte 18): the file ends within an entry"),
        "{}",
        e(&whole[..whole.len() - 1])
    );
    assert!(e(b"MLF\x03\0").contains("version 3, expected 1 or 2"));
    assert!(e(b"MLF\x02").contains("ends within"));
    assert!(e(b"#!MLF!#\n").contains("begins with `#!MLF`"), "{}", e(b"#!MLF!#\n"));
    let mut wrong = whole;
    wrong[8] = 3;
    let found = read(&BINARY_FORMAT, &wrong, &[], DEFAULTS).unwrap();
    assert!(found[0].2[0].contains("labels for 2 frames, 3 are declared"), "{:?}", found[0]);
}
