//! Conversions: the written data equal the read ones, whatever the sequences, the chunks and the threads are.

// What tests share is not known as a test to clippy.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use tesson::config::from_json;
use tesson::store::Stores;
use tesson::{Element, Source};
use tesson_convert::records::{RecordForm, RecordKind, RecordsFile, TfRecordWriter};
use tesson_convert::{ConvertError, Corpus, Form, Written};
use tesson_engine::atomic_file::Existing;

use crate::kit::folder;

/// A source of one file, in order, once.
fn open(file: &Path, precision: &str, threads: usize) -> Result<Source, tesson::Error> {
    let (kind, input) = match file.extension().and_then(|e| e.to_str()) {
        Some("cbf") => ("CNTKBinaryFormatDeserializer", ""),
        _ => (
            "CNTKTextFormatDeserializer",
            r#""input": {"a": {"dim": 2, "format": "dense"}, "s": {"dim": 9, "format": "sparse"}}, "#,
        ),
    };
    let text = format!(
        r#"{{"deserializers": [{{"type": "{kind}", {input}"file": {file:?}}}], "precision": "{precision}",
            "randomize": false, "maxSweeps": 1, "threads": {threads}}}"#
    );
    tesson::open(&from_json(&text)?)
}

fn to(
    input: &Path,
    output: &Path,
    form: Form,
    precision: &str,
    threads: usize,
) -> Result<Written, ConvertError> {
    let element = if precision == "double" { Element::F64 } else { Element::F32 };
    let corpus = || Ok::<_, ConvertError>(Corpus::new(open(input, precision, threads)?, |_| element));
    let written = tesson_convert::write(&mut corpus()?, output, Existing::Replace, form, &mut |_| ())?;
    tesson::convert::verify(&mut corpus()?, output, form, &written, &mut |_| ())?;
    Ok(written)
}

#[test]
fn an_output_that_appears_during_a_conversion_is_kept() {
    let folder = folder("appears");
    let (input, output) = (folder.join("in.ctf"), folder.join("out.cbf"));
    fs::write(&input, "0 |a 1 2\n".repeat(5_000)).unwrap();
    let mut corpus = Corpus::new(open(&input, "float", 1).unwrap(), |_| Element::F32);
    let mut appear = |_| fs::write(&output, "another program's").unwrap();
    let e =
        tesson_convert::write(&mut corpus, &output, Existing::Keep, Form::BINARY, &mut appear).unwrap_err();
    let what = "the file exists; replace it with `--force`, or choose another name";
    assert_eq!(e.to_string(), format!("{}: {what}", output.display()));
    assert_eq!(fs::read(&output).unwrap(), b"another program's");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 2);
}

#[test]
fn a_file_of_records_that_appears_during_a_conversion_is_kept() {
    let folder = folder("records-appear");
    let (input, output) = (folder.join("in.tfrecord"), folder.join("out.array_record"));
    let mut writer = TfRecordWriter::new(fs::File::create(&input).unwrap());
    writer.record(b"one").unwrap();
    writer.finish().unwrap();
    let input = RecordsFile::open(&Stores::local(), &input, RecordKind::TfRecord, 1 << 20).unwrap();
    let mut appear = |_| fs::write(&output, "another program's").unwrap();
    let e =
        tesson_convert::records::convert(&input, &output, Existing::Keep, RecordForm::TfRecord, &mut appear)
            .unwrap_err();
    assert!(e.to_string().ends_with("the file exists; replace it with `--force`, or choose another name"));
    assert_eq!(fs::read(&output).unwrap(), b"another program's");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 2);
}

/// Rows of text: `a` with any finite values, `s` with any columns, some sequences without one of them.
fn text() -> impl Strategy<Value = String> {
    let value = any::<f32>().prop_filter("finite", |x| x.is_finite());
    let dense = prop::collection::vec(value.clone(), 2);
    let sparse = prop::collection::btree_map(0u32..9, value, 0..4);
    let row = (prop::option::weighted(0.9, dense), prop::option::weighted(0.8, sparse));
    let sequences = prop::collection::vec(prop::collection::vec(row, 1..4), 1..30);
    sequences.prop_map(|sequences| {
        let mut text = String::new();
        for (id, rows) in sequences.iter().enumerate() {
            for (dense, sparse) in rows {
                text += &format!("{id}");
                // A row without any sample would be a fault.
                let values = dense.as_ref().map(Vec::as_slice).or(sparse.is_none().then_some(&[0.0, 1.0]));
                if let Some(values) = values {
                    text += &format!(" |a {:e} {}", values[0], values[1]);
                }
                if let Some(pairs) = sparse {
                    text += " |s";
                    pairs.iter().for_each(|(column, value)| text += &format!(" {column}:{value:e}"));
                }
                text.push('\n');
            }
        }
        text
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn there_and_back_is_where_one_was(text in text(), chunk_bytes in 1u64..400, double: bool, threads in 1usize..4) {
        let folder = folder("round-trip");
        let [first, binary, middle, again] = ["first.ctf", "one.cbf", "middle.ctf", "two.cbf"].map(|f| folder.join(f));
        let precision = if double { "double" } else { "float" };
        let form = Form::Binary { chunk_bytes };
        fs::write(&first, text).unwrap();
        let written = to(&first, &binary, form, precision, 1).unwrap();
        prop_assert_eq!(written.bytes, fs::metadata(&binary).unwrap().len());
        to(&binary, &middle, Form::Text, precision, threads).unwrap();
        to(&middle, &again, form, precision, threads).unwrap();
        prop_assert!(fs::read(&binary).unwrap() == fs::read(&again).unwrap());
    }
}

#[test]
fn a_chunk_is_closed_when_it_has_its_bytes() {
    let folder = folder("chunks");
    let (input, output) = (folder.join("in.ctf"), folder.join("out.cbf"));
    fs::write(&input, "|a 1 2 |s\n".repeat(10)).unwrap();
    // A sequence takes 4 bytes of length, 12 of `a` and 12 of `s`.
    for (chunk_bytes, chunks) in [(1, 10), (28, 10), (29, 5), (56, 5), (57, 4), (1000, 1)] {
        to(&input, &output, Form::Binary { chunk_bytes }, "float", 2).unwrap();
        let index = open(&output, "float", 1).unwrap().indexed().unwrap().index.clone();
        assert_eq!(index.n_chunks(), chunks, "{chunk_bytes}");
    }
}

#[test]
fn an_old_file_stays_if_the_new_one_cannot_be_written() {
    let folder = folder("old");
    let (input, output) = (folder.join("in.ctf"), folder.join("out.cbf"));
    fs::write(&output, "old").unwrap();
    fs::write(&input, "|a 1 2 |s 1:1\n|a 1 x\n").unwrap();
    let e = to(&input, &output, Form::BINARY, "float", 1).unwrap_err().to_string();
    assert!(e.contains("in.ctf:2 (byte 19)"), "{e}");
    assert_eq!(fs::read_to_string(&output).unwrap(), "old");
    assert_eq!(names(&folder), ["in.ctf", "out.cbf"]);
}

#[cfg(unix)]
#[test]
fn a_link_beside_the_output_is_not_written_through() {
    let folder = folder("links");
    let (input, output) = (folder.join("in.ctf"), folder.join("out.cbf"));
    fs::write(&input, "|a 1 2 |s 1:1\n").unwrap();
    for name in ["out.cbf", "out.cbf.tmp"] {
        std::os::unix::fs::symlink(&input, folder.join(name)).unwrap();
    }
    to(&input, &output, Form::BINARY, "float", 1).unwrap();
    assert_eq!(fs::read_to_string(&input).unwrap(), "|a 1 2 |s 1:1\n");
    assert!(!output.is_symlink());
    assert_eq!(names(&folder), ["in.ctf", "out.cbf", "out.cbf.tmp"]);
}

#[test]
fn a_folder_is_not_replaced_by_the_output() {
    let folder = folder("occupied");
    let (input, output) = (folder.join("in.ctf"), folder.join("out.cbf"));
    fs::write(&input, "|a 1 2 |s 1:1\n").unwrap();
    fs::create_dir(&output).unwrap();
    let e = to(&input, &output, Form::BINARY, "float", 1).unwrap_err().to_string();
    assert!(e.contains("out.cbf: is a directory; expected a regular file to replace, or a new name"), "{e}");
    assert_eq!(names(&folder), ["in.ctf", "out.cbf"]);
}

/// The names in a folder.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn what_text_cannot_hold_is_refused_by_its_sequence() {
    let folder = folder("refused");
    let (input, output) = (folder.join("in.cbf"), folder.join("out.ctf"));
    fs::write(folder.join("in.ctf"), "|a 1 2 |s 1:1\n|a 1e39 2 |s 1:1\n").unwrap();
    to(&folder.join("in.ctf"), &input, Form::BINARY, "float", 1).unwrap();
    let e = to(&input, &output, Form::Text, "float", 1).unwrap_err().to_string();
    assert!(e.ends_with("sequence 1: stream `a`: the value inf is no number of the text format; replace it, or write the binary format"), "{e}");
}

#[test]
fn a_difference_is_found() {
    let folder = folder("differs");
    let (input, output) = (folder.join("in.ctf"), folder.join("out.cbf"));
    fs::write(&input, "|a 1 2 |s 1:1\n|a 3 4 |s 1:1\n").unwrap();
    let written = to(&input, &output, Form::BINARY, "float", 1).unwrap();
    let check = |text: &str| {
        fs::write(&input, text).unwrap();
        let mut again = Corpus::new(open(&input, "float", 1).unwrap(), |_| Element::F32);
        tesson::convert::verify(&mut again, &output, Form::BINARY, &written, &mut |_| ())
            .unwrap_err()
            .to_string()
    };
    let differs = |what: &str| format!("what was written differs from what was read: {what}");
    assert_eq!(check("|a 1 2 |s 1:1\n|a 3 5 |s 1:1\n"), differs("stream `a` of sequence 1"));
    assert_eq!(check("|a 1 2 |s 2:1\n|a 3 4 |s 1:1\n"), differs("stream `s` of sequence 0"));
    assert_eq!(check("|a 1 2 |s 1:1\n"), differs("the file has more than 1 sequence"));
}
