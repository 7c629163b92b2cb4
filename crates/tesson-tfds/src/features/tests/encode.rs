//! Encoding values into records, and its refusals.

use std::sync::Arc;

use serde_json::{Value as Json, json};

use super::super::{Batch, DType, Decoder, Encoder, Given, GivenArray, GivenItem, Items, Limits, node};
use super::tools::{class, encoded, schema, sequence, tensor};

fn array<'a>(dtype: DType, shape: &[usize], bytes: &'a [u8]) -> GivenArray<'a> {
    GivenArray { dtype, shape: shape.to_vec(), bytes }
}

/// Writes a feature `x` and reads it again; returns its value, or the refusal.
fn written(feature: Json, row_lengths: &[&[i64]], items: Items<'_>) -> Result<Json, String> {
    let members = json!({ "x": feature });
    let names = |_: &str| vec!["cat".to_owned(), "dog".to_owned()];
    let mut encoder = Encoder::new(schema(members.clone())?, Limits::default(), names);
    let row_lengths = row_lengths.iter().map(|lengths| lengths.to_vec()).collect();
    let record = encoder.encode(&[Given { path: "x", row_lengths, items }]).map_err(|e| e.to_string())?;
    let schema = Arc::new(schema(members)?);
    let mut batch = Batch::new(&schema);
    let span = tesson_formats::example::Span { start: 0, len: record.len() };
    let decoded = Decoder::new(Arc::clone(&schema), Limits::default()).decode(&record, [span], &mut batch);
    decoded.map_err(|failed| failed.error.to_string())?;
    Ok(node(&batch.value(&schema, 0))["fields"]["x"].take())
}

fn data(feature: Json, given: GivenArray<'_>) -> Result<Json, String> {
    Ok(written(feature, &[], Items::Array(given))?["data"].take())
}

#[test]
fn numbers_of_any_type_come_back() {
    let pair = |values: [i16; 2]| values.map(i16::to_le_bytes).concat();
    assert_eq!(data(tensor("uint8", &[2]), array(DType::Int16, &[2], &pair([0, 255]))), Ok(json!([0, 255])));
    assert_eq!(
        data(tensor("float32", &[2]), array(DType::Int16, &[2], &pair([-3, 4]))),
        Ok(json!([-3.0, 4.0]))
    );
    assert_eq!(data(tensor("bool", &[]), array(DType::Bool, &[], &[1])), Ok(json!([true])));
    let large = u64::MAX.to_le_bytes();
    assert_eq!(data(tensor("uint64", &[]), array(DType::UInt64, &[], &large)), Ok(json!([u64::MAX])));
    let half = 0x3c01_u16.to_le_bytes();
    assert_eq!(data(tensor("float64", &[]), array(DType::Float16, &[], &half)), Ok(json!([1.0009765625])));
}

#[test]
fn what_reading_would_change_is_refused() {
    let wide = 300_i64.to_le_bytes();
    let e = data(tensor("uint8", &[]), array(DType::Int64, &[], &wide)).unwrap_err();
    assert_eq!(e, "feature `x`: found 300, which does not fit uint8");
    let e = data(tensor("uint8", &[]), array(DType::Float64, &[], &1.5_f64.to_le_bytes())).unwrap_err();
    assert_eq!(e, "feature `x`: found float64 values, expected whole numbers");
    let e = data(tensor("float64", &[]), array(DType::Float64, &[], &1e300_f64.to_le_bytes())).unwrap_err();
    assert!(e.contains("does not fit float32, which stores a float64 without an encoding"), "{e}");
    let e = data(tensor("float16", &[]), array(DType::Float32, &[], &70000_f32.to_le_bytes())).unwrap_err();
    assert_eq!(e, "feature `x`: found 70000, which does not fit float16");
    let e = data(tensor("int64", &[3, 2]), array(DType::UInt8, &[2, 3], &[0; 6])).unwrap_err();
    assert_eq!(e, "feature `x`: the shape is (2, 3), declared is (3, 2)");
    let e = written(tensor("int64", &[]), &[], Items::Strings { shape: vec![], values: vec![b"one"] });
    assert_eq!(e.unwrap_err(), "feature `x`: found text, expected whole numbers");
}

#[test]
fn labels_are_numbers_or_names_of_classes() {
    let label = || class("ClassLabel", json!({ "classLabel": { "numClasses": "2" } }));
    let named = |name: &'static str| {
        let items = Items::Strings { shape: vec![], values: vec![name.as_bytes()] };
        written(label(), &[], items).map(|mut of| of["data"].take())
    };
    assert_eq!(named("dog"), Ok(json!([1])));
    assert_eq!(
        named("dogs").unwrap_err(),
        "feature `x`: label `dogs`, expected one of cat, dog, did you mean `dog`?"
    );
    let number = |n: i64| data(label(), array(DType::Int64, &[], &n.to_le_bytes()));
    assert_eq!(number(-1), Ok(json!([-1])));
    assert_eq!(number(2).unwrap_err(), "feature `x`: label 2, expected 0 to 1, or -1 for no label");
    let both = Items::Strings { shape: vec![2], values: vec![b"dog", b"cat"] };
    assert_eq!(written(sequence(label(), -1), &[], both).map(|mut of| of["data"].take()), Ok(json!([1, 0])));
}

#[test]
fn images_are_files_or_pixels() {
    let image = |dtype: &str, dims: [i64; 3]| {
        class("Image", json!({ "image": { "dtype": dtype, "shape": { "dimensions": dims } } }))
    };
    let pixels: Vec<u8> = (0..12).map(|n| n * 20).collect();
    let one = |item| Items::Each(vec![item]);
    let given = || one(GivenItem::Array(array(DType::UInt8, &[2, 2, 3], &pixels)));
    let found = written(image("uint8", [-1, -1, 3]), &[], given()).expect("it is a picture");
    assert_eq!((&found["data"], &found["shape"]), (&json!(pixels), &json!([2, 2, 3])));
    let e = written(image("uint8", [-1, -1, 1]), &[], given()).unwrap_err();
    assert_eq!(e, "feature `x`: the shape is (2, 2, 3), declared is (?, ?, 1)");
    let floats = [0.5_f32, -1.0].map(f32::to_le_bytes).concat();
    let given = one(GivenItem::Array(array(DType::Float32, &[1, 2, 1], &floats)));
    let found = written(image("float32", [1, 2, 1]), &[], given).expect("it is a picture");
    assert_eq!(found["data"], json!([0.5, -1.0]));
    let e = written(image("uint8", [-1, -1, 3]), &[], one(GivenItem::Stored(b"no picture"))).unwrap_err();
    assert!(e.starts_with("feature `x`: "), "{e}");
}

#[test]
fn encoded_tensors_are_arrays_or_their_bytes() {
    let values = [1_i32, -2, 3].map(i32::to_le_bytes).concat();
    for encoding in ["bytes", "zlib"] {
        let given = Items::Each(vec![GivenItem::Array(array(DType::Int32, &[3], &values))]);
        let found = written(encoded("int64", &[-1], encoding), &[], given).expect("it can be stored");
        assert_eq!(found["data"], json!([1, -2, 3]), "{encoding}");
        let given = Items::Each(vec![GivenItem::Array(array(DType::Int32, &[1, 3], &values))]);
        let found = written(encoded("int32", &[-1, -1], encoding), &[], given).expect("it can be stored");
        assert_eq!(found["shape"], json!([1, 3]), "{encoding}");
    }
    let given = Items::Each(vec![GivenItem::Stored(&values[..11])]);
    let e = written(encoded("int32", &[-1], "bytes"), &[], given).unwrap_err();
    assert!(e.contains("11 bytes are stored"), "{e}");
}

#[test]
fn sequences_in_sequences_have_row_lengths() {
    let deep = || sequence(sequence(tensor("int64", &[]), -1), -1);
    let values = array(DType::UInt8, &[3], &[7, 8, 9]);
    let found = written(deep(), &[&[1, 2]], Items::Array(values.clone())).expect("it can be stored");
    assert_eq!((&found["row_lengths"], &found["values"]["data"]), (&json!([[1, 2]]), &json!([7, 8, 9])));
    let e = written(deep(), &[], Items::Array(values.clone())).unwrap_err();
    assert!(e.contains("found 0 levels of row lengths"), "{e}");
    let e = written(deep(), &[&[1, 1]], Items::Array(values)).unwrap_err();
    assert!(e.contains("add up to 2, but there are 3 parts"), "{e}");
}
