use std::sync::Arc;

use serde_json::{Value as Json, json};
use tesson_formats::example::{Span, Value as List, write};

use super::super::{Batch, Decoder, Failed, Limits, Schema, Selection, json, node};

/// The schema of a features.json with these members in its root.
pub(super) fn schema(members: Json) -> Result<Schema, String> {
    selected(members, &Selection::default())
}

pub(super) fn selected(members: Json, selection: &Selection) -> Result<Schema, String> {
    let root = class("FeaturesDict", json!({ "featuresDict": { "features": members } }));
    let parsed = json::from_value(&root).map_err(|e| e.to_string())?;
    Schema::new(&parsed.root, selection).map_err(|e| e.to_string())
}

/// A node of today's form.
pub(super) fn class(name: &str, content: Json) -> Json {
    let mut node = content;
    node["pythonClassName"] = json!(format!("tensorflow_datasets.core.features.some_module.{name}"));
    node
}

pub(super) fn tensor(dtype: &str, dims: &[i64]) -> Json {
    class("Tensor", json!({ "tensor": { "dtype": dtype, "shape": { "dimensions": dims } } }))
}

pub(super) fn encoded(dtype: &str, dims: &[i64], encoding: &str) -> Json {
    let mut node = tensor(dtype, dims);
    node["tensor"]["encoding"] = json!(encoding);
    node
}

pub(super) fn sequence(of: Json, length: i64) -> Json {
    class("Sequence", json!({ "sequence": { "feature": of, "length": length.to_string() } }))
}

pub(super) fn dataset(of: Json) -> Json {
    class("Dataset", json!({ "sequence": { "feature": of, "length": "-1" } }))
}

/// Records of these features, one after the other, and the extent of each.
pub(super) fn records(examples: &[&[(&str, List<'_>)]]) -> (Vec<u8>, Vec<Span>) {
    let (mut block, mut spans) = (Vec::new(), Vec::new());
    for example in examples {
        let start = block.len();
        write(example, &mut block);
        spans.push(Span { start, len: block.len() - start });
    }
    (block, spans)
}

/// The examples decoded from records, and the error of the first that cannot be decoded.
pub(super) fn decoded(schema: Schema, block: &[u8], spans: &[Span]) -> (Vec<Json>, Result<(), Failed>) {
    let schema = Arc::new(schema);
    let mut batch = Batch::new(&schema);
    let mut decoder = Decoder::new(Arc::clone(&schema), Limits::default());
    let result = decoder.decode(block, spans.iter().copied(), &mut batch);
    // Put together of two parts it is the same batch.
    let (mut together, half) = (Batch::new(&schema), batch.rows() / 2);
    together.append(&batch, 0..half);
    together.append(&batch, half..batch.rows());
    assert_eq!(together, batch);
    let example = |row| node(&batch.value(&schema, row))["fields"].take();
    ((0..batch.rows()).map(example).collect(), result)
}

/// One decoded example, or its fault.
pub(super) fn one(members: Json, example: &[(&str, List<'_>)]) -> Result<Json, String> {
    let (block, spans) = records(&[example]);
    let (mut examples, result) = decoded(schema(members)?, &block, &spans);
    result.map_err(|failed| failed.error.to_string())?;
    Ok(examples.remove(0))
}
