//! Features from outside: descriptions, examples and images, with the same answer in every way or a complaint.

use std::sync::{Arc, LazyLock};

use serde_json::{Value, json};
use tesson_formats::example::Span;
use tesson_image::decode as images;
use tesson_image::decode::{Depth, Want};
use tesson_tfds::features::{Batch, Decoder, Failed, Limits, Padding, Schema, Selection, json, node};

/// Checks a features.json: it is parsed and has a schema, or it is refused.
pub fn features_json(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(parsed) = json::parse(text) else { return };
    let leaves = parsed.root.leaves().len();
    assert!(parsed.root.classes().len() <= leaves);
    let _ = parsed.root.describe();
    if let Ok(schema) = Schema::new(&parsed.root, &Selection::default()) {
        assert_eq!(schema.columns.len(), leaves);
    }
}

/// Checks records, each after its length in a byte, as examples of one schema with a feature of every kind.
pub fn example_decode(bytes: &[u8]) {
    let mut records = Vec::new();
    let mut at = 0;
    while let Some(len) = bytes.get(at) {
        let len = usize::from(*len).min(bytes.len() - at - 1);
        records.push(Span { start: at + 1, len });
        at += 1 + len;
    }
    let (together, failed) = decode(bytes, &records);
    let good = failed.as_ref().map_or(records.len(), |f| f.record);
    assert_eq!(together.len(), good);
    for (i, example) in together.iter().enumerate() {
        let (alone, failed) = decode(bytes, &records[i..=i]);
        assert!(failed.is_none() && alone[0] == *example, "record {i}");
    }
    if let Some(failed) = failed {
        let (alone, again) = decode(bytes, &records[good..=good]);
        assert!(alone.is_empty());
        assert_eq!(again.map(|f| f.error), Some(failed.error));
    }
}

/// The examples of these records, and the first record that is none.
fn decode(bytes: &[u8], records: &[Span]) -> (Vec<Value>, Option<Failed>) {
    let mut decoder = Decoder::new(Arc::clone(&SCHEMA), Limits { value_bytes: 1 << 16 });
    let mut batch = Batch::new(&SCHEMA);
    let failed = decoder.decode(bytes, records.iter().copied(), &mut batch).err();
    for (plan, column) in SCHEMA.columns.iter().zip(&batch.columns) {
        let Some(padding) = Padding::of(plan, column) else { continue };
        let copied: usize = padding.runs.iter().map(|run| run.from.len()).sum();
        assert_eq!(copied, column.data.len());
    }
    ((0..batch.rows()).map(|row| node(&batch.value(&SCHEMA, row))).collect(), failed)
}

static SCHEMA: LazyLock<Arc<Schema>> = LazyLock::new(|| {
    let node = |class: &str, content: Value| {
        let mut node = content;
        node["pythonClassName"] = json!(class);
        node
    };
    let tensor = |dtype: &str, dims: &[i64], encoding: &str| {
        let shape = json!({"dimensions": dims});
        node(
            "Tensor",
            json!({"tensor": {"dtype": dtype, "shape": shape, "encoding": encoding, "optional": dims.is_empty()}}),
        )
    };
    let sequence = |class: &str, of: Value| node(class, json!({"sequence": {"feature": of, "length": -1}}));
    let dict = |members: Value| node("FeaturesDict", json!({"featuresDict": {"features": members}}));
    let image = node("Image", json!({"image": {"dtype": "uint8", "shape": {"dimensions": [-1, -1, 3]}}}));
    let root = dict(json!({
        "i": tensor("int8", &[], "none"),
        "f": tensor("float16", &[-1, 2], "none"),
        "s": sequence("Sequence", node("Text", json!({"text": {}}))),
        "r": sequence("Sequence", sequence("Sequence", tensor("int64", &[2], "none"))),
        "z": tensor("uint16", &[-1], "zlib"),
        "d": sequence("Sequence", tensor("uint8", &[-1, -1], "bytes")),
        "n": sequence("Dataset", dict(json!({"a": tensor("int32", &[], "none"), "b": sequence("Sequence", tensor("bool", &[], "none"))}))),
        "p": sequence("Sequence", image),
        "w": node("Audio", json!({"audio": {"dtype": "int16", "lazyDecode": true, "shape": {"dimensions": [-1, 2]}}})),
    }));
    let parsed = json::from_value(&root).expect("the features are known");
    Arc::new(Schema::new(&parsed.root, &Selection::default()).expect("they can have been stored"))
});

/// Checks a file of an image, after a byte that chooses how it is decoded.
pub fn image_decode(bytes: &[u8]) {
    let Some((wanted, file)) = bytes.split_first() else { return };
    let channels = Some(usize::from(wanted & 7)).filter(|n| *n > 0);
    let depth = if wanted & 8 == 0 { Depth::Eight } else { Depth::Sixteen };
    let mut out = vec![7; 3];
    if let Ok(shape) = images::decode(file, Want { channels, depth, limit: 1 << 20 }, &mut out) {
        assert_eq!(out.len(), 3 + shape.dims().product::<usize>() * depth.bytes());
        assert!(out.len() <= 3 + (1 << 20));
        assert_eq!(out[..3], [7; 3]);
    }
}
