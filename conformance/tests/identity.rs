//! Identities, to which saved states and index caches are bound: hashes that must not change, so that files of
//! earlier releases are still read. If one of these changes, every state that users have saved for such a source is
//! refused.

use std::sync::Arc;

use tesson::store::MemoryStore;
use tesson::{Element, OpenOptions, ResumeState, Shape, Source, StreamInfo};
use tesson_config::{json, lower};
use tesson_conformance::corpus;
use tesson_core::{Data, Keys, Offsets, StreamColumn, Value, Values};
use tesson_formats::user;
use tesson_formats::user::{ChunkSource, UserError};

const CTF: &str = r#""type": "CNTKTextFormatDeserializer""#;
const DENSE: &str = r#""x": {"dim": 2, "format": "dense"}"#;

/// One deserializer of the text format with these options.
fn ctf(options: &str) -> String {
    format!(r#""deserializers": [{{{CTF}, "file": "corpus.ctf", {options}}}]"#)
}

/// A source of text with one dense stream.
fn ctf_x(options: &str) -> String {
    ctf(&format!(r#"{options}, "input": {{{DENSE}}}"#))
}

fn cbf(options: &str) -> String {
    format!(
        r#""deserializers": [{{"type": "CNTKBinaryFormatDeserializer", "file": "corpus.cbf" {options}}}]"#
    )
}

fn prepared(options: &str) -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/data/prepared");
    format!(r#""deserializers": [{{"type": "TFDSDeserializer", "directory": "{folder}", {options}}}]"#)
}

fn source(options: &str) -> Source {
    let store = corpus::store(&corpus::text(&corpus::lengths()));
    OpenOptions::in_store(&*store).open(&corpus::config(options)).unwrap_or_else(|e| panic!("{options}: {e}"))
}

/// The hash of everything that changes values, as a state has it.
fn hash(source: &Source) -> String {
    source.state().to_json()["options"].as_str().expect("a text").to_owned()
}

/// Compares all hashes before it fails, so that one run shows every effect of a change.
fn check(cases: &[(String, &str)]) {
    let found: Vec<String> = cases.iter().map(|(options, _)| hash(&source(options))).collect();
    let wrong: Vec<String> = cases
        .iter()
        .zip(&found)
        .filter(|((_, expected), found)| expected != found)
        .map(|((options, expected), found)| format!("{options}\n    expected {expected}, found {found}"))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn options_of_the_text_format_keep_their_identity() {
    check(&[
        (String::new(), "e859be5731b71321"),
        (ctf_x(r#""rules": "lenient""#), "124366f2283c4ff5"),
        (ctf_x(r#""rules": "cntk""#), "1c87c1e82fbb5618"),
        (ctf_x(r#""skipSequenceIds": true"#), "5f72b4f5a48b4236"),
        (ctf_x(r#""emptyInputs": "keep""#), "3e57277432bbe2aa"),
        (ctf_x(r#""emptyInputs": "skip""#), "e9bac9d37ae5e922"),
        (ctf_x(r#""emptyInputs": "fault""#), "938a51d54362977e"),
        (ctf_x(r#""emptyInputs": "error""#), "99e15331e7554d41"),
        (ctf_x(r#""numbers": "cntk""#), "124366f2283c4ff5"),
        (ctf_x(r#""numbers": "extended""#), "08906cb6505b09d0"),
        (ctf_x(r#""chunkSizeInBytes": 77"#), "cc3eb9e9a37722f3"),
        (ctf(r#""input": {"x": {"dim": "auto", "format": "dense"}}"#), "124366f2283c4ff5"),
        (
            ctf(
                r#""input": {"y": {"dim": 10, "format": "sparse"}, "a": {"alias": "x", "dim": 2, "format": "dense", "definesMBSize": true}}"#,
            ),
            "b8d2c4e977d80f43",
        ),
        (ctf(r#""input": {"quo\"te\\": {"alias": "x", "dim": 2, "format": "dense"}}"#), "f70a8a3956509642"),
        (ctf(r#""input": {"tab\tlf\n'": {"alias": "x", "dim": 2, "format": "dense"}}"#), "dbb0bc6f524e8d72"),
        (ctf(r#""input": {"é 漢字 😀": {"alias": "x", "dim": 2, "format": "dense"}}"#), "f29e858dcee7a548"),
        (
            ctf(
                r#""input": {"e\u0301 \u200b \u00a0 \u0000\u001f\u007f \ue000": {"alias": "x", "dim": 2, "format": "dense"}}"#,
            ),
            "dadc666ded3ba05c",
        ),
        (format!(r#""useNumericSequenceKeys": false, {}"#, ctf_x(r#""rules": "cntk""#)), "b7810f0ede297d8a"),
        (corpus::SEVERAL.into(), "3cec79d70837aeb5"),
    ]);
}

#[test]
fn options_of_the_binary_format_keep_their_identity() {
    check(&[
        (corpus::BINARY.into(), "7b5b925d2234ae3d"),
        (cbf(r#", "precision": "double""#), "9c52f5f1ded9d665"),
        (cbf(r#", "keepDataInMemory": true"#), "7b5b925d2234ae3d"),
        (cbf(r#", "input": {"y": {"skip": true}}"#), "d8c47be8395944bb"),
        (cbf(r#", "input": {"quo\"te": {"alias": "x"}}"#), "e41b8e961836c62f"),
    ]);
}

#[test]
fn options_of_prepared_datasets_keep_their_identity() {
    check(&[
        (corpus::PREPARED.into(), "7b6bf905c37a397c"),
        (prepared(r#""split": "train""#), "0bffa95c6b97801d"),
        (prepared(r#""split": "train[10:30]", "key": "id""#), "f1e28d7d2a571d08"),
        (prepared(r#""split": "train", "input": {"a b": {"feature": "x"}}"#), "a2b921483682a51e"),
        (
            prepared(r#""split": "train", "input": {"y": {"format": "sparse", "dim": 20}}"#),
            "80a00af5c31d8f48",
        ),
        (prepared(r#""split": "train", "input": {"x": {"shape": "2"}}"#), "7591b68bb247d6d0"),
        (
            format!(r#""useNumericSequenceKeys": false, {}"#, prepared(r#""split": "train""#)),
            "f920242b0269d2a5",
        ),
    ]);
}

#[test]
fn options_of_features_keep_their_identity() {
    let features = |options: &str| {
        format!(
            r#""deserializers": [{{"type": "HTKFeatureDeserializer", "input": {{
                "x": {{"scpFile": "features.scp", "dim": 2, {options}}}}}}}]"#
        )
    };
    check(&[
        (features(r#""verify": "full""#), "2555b132ea1c600b"),
        (features(r#""contextWindow": "1:2""#), "c123c6a5b4fe743c"),
        (features(r#""contextWindow": 3"#), "97eeb11e94d6965d"),
        (features(r#""maxSequenceSize": 3"#), "00b0a43c9a0b51ab"),
        (features(r#""onDuplicate": "first""#), "51fae95c3da61543"),
        (features(r#""chunkSizeInFrames": 60"#), "1d9d4248397c68da"),
        (features(r#""allowKinds": "LPC""#), "fd8c8d6ae581792a"),
        (features(r#""definesMBSize": true"#), "92338977ac8ddef0"),
        (corpus::FRAMES.to_owned(), "c7ffdf25a15bdc14"),
    ]);
}

#[test]
fn options_of_the_source_keep_their_identity() {
    let x = ctf_x(r#""rules": "cntk""#);
    check(&[
        (corpus::JOINED.into(), "0bfa9c72954aca27"),
        (format!(r#""outerJoin": true, {}"#, corpus::JOINED), "178d794366b1829c"),
        (format!(r#""precision": "double", {x}"#), "968d365fd77f8551"),
        (format!(r#""useNumericSequenceKeys": false, "hashSequenceKeys": true, {x}"#), "c8c82c1be0a5b835"),
        (corpus::TRUNCATED.into(), "d478bb21f5e0c846"),
        (format!(r#""truncationLength": 5, "rightSplice": 2, "keepSparse": true, {x}"#), "fbe800c2c85548ae"),
        (format!(r#""bucketing": 30, {x}"#), "ddc927c90c3f8f7e"),
        (format!(r#""bucketing": 30, "minibatchSizeInSequences": 7, {x}"#), "829871f52ccd6d02"),
        (format!(r#""transforms": {{"x": [1, 5]}}, {x}"#), "fccfb46464161520"),
        (format!(r#""transforms": {{"x": [1]}}, "randomizationSeed": 9, {x}"#), "03396d3c77a29078"),
        // Options that only decide when and how much is delivered are no part of it.
        (
            format!(
                r#""maxErrors": 3, "threads": 2, "maxSweeps": 2, "sharing": "position", "equalSteps": "drop", {x}"#
            ),
            "1c87c1e82fbb5618",
        ),
    ]);
}

#[test]
fn frames_keep_their_identity() {
    let store = MemoryStore::new().with("f", b"1 |x 1\n2 |x 2\n".to_vec());
    let text = format!(
        r#"{{"frameMode": true, "deserializers": [{{{CTF}, "file": "f", "input": {{"x": {{"dim": 1, "format": "dense"}}}}}}]}}"#
    );
    let source = OpenOptions::in_store(&store).open(&tesson::config::from_json(&text).unwrap()).unwrap();
    assert_eq!(hash(&source), "f19e6abf632c19c0");
    // The hash of the data themselves.
    assert_eq!(source.state().to_json()["corpus"], "bfba74f06be11c24");
}

/// A custom deserializer of one chunk.
struct Custom(&'static str);

impl ChunkSource for Custom {
    fn name(&self) -> &str {
        "Custom"
    }

    fn streams(&self) -> Vec<StreamInfo> {
        let x = StreamInfo::dense("x", Shape::new([2, 3]), Element::F32);
        vec![x, StreamInfo::sparse("y", 7, Element::F32)]
    }

    fn n_chunks(&self) -> Result<u32, UserError> {
        Ok(1)
    }

    fn read(&self, _: u32) -> Result<Vec<StreamColumn>, UserError> {
        let dense = Data::Dense { values: Values::F32(vec![0.0; 6]) };
        let sparse =
            Data::Sparse { values: Values::F32(vec![1.0]), columns: vec![3], rows: Offsets::Every(1) };
        Ok([dense, sparse].map(|data| StreamColumn { samples: Offsets::Every(1), data }).into())
    }

    fn keys(&self, _: u32) -> Result<Option<Keys>, UserError> {
        Ok(None)
    }

    fn identity(&self) -> String {
        self.0.into()
    }
}

#[test]
fn custom_deserializers_keep_their_identity() {
    let cases = [
        ("", true, "92bae5e42a238f11"),
        ("file=a.bin", true, "93292a73749470c8"),
        ("file=a.bin", false, "93292a73749470c8"),
    ];
    for (identity, composable, expected) in cases {
        let text =
            format!(r#"{{"deserializers": [{{"type": "UserDeserializer", "composable": {composable}}}]}}"#);
        let mut tree = json::parse(&text).unwrap();
        let Value::List(deserializers) = &mut tree.0[0].1 else { unreachable!("written above") };
        let Value::Section(section) = &mut deserializers[0] else { unreachable!("written above") };
        section.push("instance", user::instance(Arc::new(Custom(identity))));
        let config = lower(&tree, &tesson::registry().with(&user::FORMAT)).unwrap();
        let source = OpenOptions::in_store(&MemoryStore::new()).open(&config).unwrap();
        assert_eq!(hash(&source), expected, "{identity} {composable}");
    }
}

/// States of the first version of the draws, in which a transform's numbers depended on its position in the list.
#[test]
fn a_state_of_other_draws_is_refused_as_one_of_another_release() {
    let former = [
        (r#""transforms": {"x": [1, 5]}, "#, "06073ce1f9554a1d"),
        (r#""transforms": {"x": [1]}, "randomizationSeed": 9, "#, "2de69cfea7dccb7f"),
    ];
    for (transforms, hash) in former {
        let mut source = source(&format!("{transforms}{}", ctf_x(r#""rules": "cntk""#)));
        let mut state = source.state().to_json();
        state["options"] = hash.into();
        let state = ResumeState::from_json(&state).expect("it was a state");
        let refused = source.restore(&state).unwrap_err().to_string();
        assert!(
            refused.contains(
                "another release: the version of the random numbers of transforms is 1, expected 2"
            ),
            "{refused}"
        );
    }
}
