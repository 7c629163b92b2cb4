//! Recorded cases of decoding: from the bytes of records to the examples of TFDS. Splits, orders and damage of record
//! files are not tested here; a case is all its records, one after the other.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};
use tesson_formats::example::Span;

use super::super::{Schema, Selection, json};
use super::tools::decoded;

/// The records of a TFRecord file that is whole.
fn records(file: &[u8]) -> Vec<Span> {
    let (mut spans, mut at) = (Vec::new(), 0);
    while at < file.len() {
        let len = u64::from_le_bytes(*file[at..].first_chunk().expect("a length")) as usize;
        spans.push(Span { start: at + 12, len });
        at += len + 16;
    }
    spans
}

/// True if two nodes are equal, apart from the values beside a digest.
fn same(ours: &Json, expected: &Json) -> bool {
    match (ours, expected) {
        (Json::Object(a), Json::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(k, v)| b.get(k).is_some_and(|w| k == "spot" || same(v, w)))
        }
        (Json::Array(a), Json::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Json::Number(a), Json::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        _ => ours == expected,
    }
}

fn run(folder: &Path) -> Result<(), String> {
    let read = |path: PathBuf| fs::read(&path).map_err(|e| format!("{}: {e}", path.display()));
    let request: Json =
        serde_json::from_slice(&read(folder.join("case.json"))?).map_err(|e| e.to_string())?;
    let own = tesson_case_lookup::own_file(folder, "tesson.jsonl");
    let recorded = read(own.unwrap_or_else(|| folder.join("expected.jsonl")))?;
    let answer: Json = serde_json::from_slice(&recorded).map_err(|e| e.to_string())?;
    let data = folder.join(request["dataset"]["dir"].as_str().ok_or("no dataset")?);
    let features = String::from_utf8(read(data.join("features.json"))?).map_err(|e| e.to_string())?;
    let parsed = json::parse(&features).map_err(|e| e.to_string())?;
    let schema = Schema::new(&parsed.root, &Selection::default()).map_err(|e| e.to_string())?;
    let mut shards: Vec<PathBuf> = fs::read_dir(&data)
        .and_then(|entries| entries.map(|e| Ok(e?.path())).collect())
        .map_err(|e: std::io::Error| e.to_string())?;
    shards.retain(|path| path.to_string_lossy().contains("-train.tfrecord-"));
    shards.sort();
    let (mut examples, mut failed) = (Vec::new(), None);
    for shard in shards {
        let file = read(shard)?;
        let (these, result) = decoded(schema.clone(), &file, &records(&file));
        examples.extend(these);
        if let Err(error) = result {
            failed = Some(error.error.to_string());
            break;
        }
    }
    let expected = answer["examples"].as_array().cloned().unwrap_or_default();
    let fails = answer["error"].is_string();
    if failed.is_some() != fails || examples.len() != expected.len() {
        return Err(format!("{} of {} examples, then {failed:?}", examples.len(), expected.len()));
    }
    for (i, (ours, expected)) in examples.iter().zip(&expected).enumerate() {
        for (name, expected) in expected.as_object().ok_or("an example is a dict")? {
            // The tolerance that cases of JPEG allow is for other decoders: ours gives the very values.
            if !same(&ours[name], expected) {
                return Err(format!("example {i}, `{name}`: {}\n   expected {expected}", ours[name]));
            }
        }
    }
    Ok(())
}

/// Cases with whole, undamaged shards in stored order.
const CASES: &[&str] = &[
    "absent-sequences",
    "damaged-png",
    "extra-key",
    "image-shape-differs",
    "legacy-features",
    "missing-key",
    "mixed-packing",
    "not-an-image",
    "ragged-lengths-wrong",
    "raw-bytes-wrong-size",
    "read-audio",
    "read-bmp",
    "read-boxes",
    "read-gif",
    "read-jpeg-1-channels",
    "read-jpeg-3-channels",
    "read-kinds",
    "read-nested",
    "read-optional-text",
    "read-optionals",
    "read-ordered",
    "read-pictures",
    "read-png-1-channels",
    "read-png-16-bit-1-channels",
    "read-png-16-bit-3-channels",
    "read-png-3-channels",
    "read-png-4-channels",
    "read-tensors",
    "read-translations",
    "repeated-key",
    "two-values-for-scalar",
    "uint32-bytes",
    "unpacked-lists",
    "values-wrap",
    "wrong-kind",
];

#[test]
fn recorded_examples_are_decoded_as_they_were() {
    let folder = |case: &str| tesson_case_lookup::case(&format!("tfds/{case}"));
    let failures: Vec<String> =
        CASES.iter().filter_map(|case| Some(format!("{case}: {}", run(&folder(case)).err()?))).collect();
    assert!(failures.is_empty(), "{} of {} cases:\n{}", failures.len(), CASES.len(), failures.join("\n"));
}

#[test]
fn what_the_reference_cannot_read_is_read() {
    let example = |case: &str| {
        let data = tesson_case_lookup::case(&format!("tfds/{case}")).join("data");
        let features = fs::read_to_string(data.join("features.json")).unwrap();
        let parsed = json::parse(&features).unwrap();
        let schema = Schema::new(&parsed.root, &Selection::default()).unwrap();
        let shard = fs::read_dir(&data).unwrap().map(|e| e.unwrap().path());
        let shard = shard.filter(|p| p.to_string_lossy().contains("tfrecord")).min().unwrap();
        let file = fs::read(shard).unwrap();
        (decoded(schema, &file, &records(&file)).0, parsed.warnings)
    };
    // "Tesson gives the 2 by 3 array."
    let (examples, _) = example("ragged-static-inner");
    let (_, array) = examples[0].as_object().unwrap().iter().next().unwrap();
    assert_eq!(array["shape"], json!([2, 3]), "{array}");
    // "Tesson goes by the content field where the class is unknown, with a warning; here it reads text."
    let (examples, warnings) = example("features-unknown-class");
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(examples[0].as_object().unwrap().values().any(|v| v["dtype"] == "string"), "{}", examples[0]);
}
