//! Rules of storage that no recorded case shows, and the faults of examples that break them.

use serde_json::json;
use tesson_formats::example::Value::{Bytes, Floats, Ints};

use super::super::{FeatureFault, Selection};
use super::tools::*;

#[test]
fn the_one_unknown_dimension_follows() {
    let members = || json!({ "x": tensor("int64", &[2, -1]) });
    let x = one(members(), &[("x", Ints(&[1, 2, 3, 4]))]).unwrap();
    assert_eq!(x["x"]["shape"], json!([2, 2]));
    let error = one(members(), &[("x", Ints(&[1, 2, 3]))]).unwrap_err();
    assert_eq!(error, "feature `x`: 3 values are stored, which do not fill the shape (2, ?)");
}

#[test]
fn sequences_of_sequences_have_their_row_lengths_beside_them() {
    let members = || json!({ "x": sequence(sequence(tensor("int64", &[]), -1), -1) });
    let key = "x/ragged_row_lengths_0";
    let values = ("x/ragged_flat_values", Ints(&[1, 2, 3]));
    let x = one(members(), &[values, (key, Ints(&[2, 0, 1]))]).unwrap();
    assert_eq!(x["x"]["row_lengths"], json!([[2, 0, 1]]));
    let error = one(members(), &[values, (key, Ints(&[2, 2]))]).unwrap_err();
    assert_eq!(
        error,
        "feature `x`: the row lengths of `x/ragged_row_lengths_0` add up to 4, but there are 3 parts"
    );
    let error = one(members(), &[values, (key, Ints(&[4, -1]))]).unwrap_err();
    assert_eq!(error, "feature `x`: `x/ragged_row_lengths_0` holds a row length of -1");
    assert!(one(members(), &[values, (key, Ints(&[i64::MAX, i64::MAX, 5]))]).is_err());
}

#[test]
fn sequences_of_fixed_length_inside_make_an_array_and_hold_to_their_length() {
    let members = || json!({ "x": sequence(sequence(tensor("int16", &[]), 2), -1) });
    let values = ("x/ragged_flat_values", Ints(&[1, 2, 3, 4]));
    let x = one(members(), &[values, ("x/ragged_row_lengths_0", Ints(&[2, 2]))]).unwrap();
    assert_eq!(x["x"], json!({ "dtype": "int16", "shape": [2, 2], "data": [1, 2, 3, 4] }));
    let error = one(members(), &[values, ("x/ragged_row_lengths_0", Ints(&[1, 3]))]).unwrap_err();
    assert_eq!(
        error,
        "feature `x`: `x/ragged_row_lengths_0` holds a row length of 1, the sequence's length is 2"
    );
}

#[test]
fn tensors_that_store_their_shape_are_stacked_or_ragged() {
    let members = || json!({ "x": sequence(encoded("uint8", &[-1, -1], "bytes"), -1) });
    let values = |v| ("x/value", Bytes(v));
    let x = one(members(), &[values(&[b"ab", b"cd"]), ("x/shape", Ints(&[1, 2, 1, 2]))]).unwrap();
    assert_eq!(x["x"]["shape"], json!([2, 1, 2]));
    let x = one(members(), &[values(&[b"ab", b"cde"]), ("x/shape", Ints(&[2, 1, 1, 3]))]).unwrap();
    let flat = json!({ "dtype": "uint8", "shape": [5], "data": [97, 98, 99, 100, 101] });
    assert_eq!(x["x"], json!({ "dtype": "uint8", "row_lengths": [[2, 1], [1, 1, 3]], "values": flat }));
    let x = one(members(), &[]).unwrap();
    assert_eq!(x["x"]["shape"], json!([0, 0, 0]));
    let error = one(members(), &[values(&[b"ab"]), ("x/shape", Ints(&[2, 2]))]).unwrap_err();
    assert_eq!(
        error,
        "feature `x`: 2 bytes are stored, which do not fill the shape (2, 2) with 1 bytes a value"
    );
    assert!(one(members(), &[values(&[b"ab"]), ("x/shape", Ints(&[2]))]).is_err());
    assert!(one(members(), &[values(&[b"ab"]), ("x/shape", Ints(&[i64::MAX, i64::MAX]))]).is_err());
    assert!(one(members(), &[values(&[b""]), ("x/shape", Ints(&[-1, 0]))]).is_err());
}

#[test]
fn damaged_streams_of_zlib_are_refused() {
    let deflated = |bytes: &[u8]| {
        let mut out = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::Write::write_all(&mut out, bytes).unwrap();
        out.finish().unwrap()
    };
    let members = || json!({ "x": encoded("int16", &[2], "zlib") });
    let check = |bytes: &[u8]| one(members(), &[("x", Bytes(&[bytes]))]);
    let whole = deflated(&[1, 0, 2, 0]);
    assert_eq!(check(&whole).unwrap()["x"]["data"], json!([1, 2]));
    assert!(check(&whole[..whole.len() - 1]).is_err());
    assert!(check(&[&whole[..], b"x"].concat()).is_err());
    assert!(check(&deflated(&[1, 0, 2, 0, 3, 0])).is_err());
    assert!(check(&deflated(&[0; 100_000])).is_err());
}

#[test]
fn an_absent_optional_is_told_from_a_present_one() {
    let mut x = tensor("int8", &[2]);
    x["tensor"]["optional"] = json!(true);
    let schema = std::sync::Arc::new(schema(json!({ "x": x })).unwrap());
    let (block, spans) = records(&[&[], &[("x", Ints(&[5, 6]))], &[]]);
    let mut batch = super::super::Batch::new(&schema);
    let limits = super::super::Limits::default();
    let mut decoder = super::super::Decoder::new(std::sync::Arc::clone(&schema), limits);
    decoder.decode(&block, spans.clone(), &mut batch).unwrap();
    decoder.decode(&block, spans, &mut batch).unwrap();
    assert_eq!(batch.columns[0].missing, Some(vec![0, 2, 3, 5]));
    let expected = json!({ "dtype": "int8", "shape": [2], "data": [-128, -128] });
    assert_eq!(super::super::node(&batch.value(&schema, 3))["fields"]["x"], expected);
    batch.truncate(3);
    assert_eq!(batch.columns[0].missing, Some(vec![0, 2]));
}

#[test]
fn nested_streams_hold_what_their_members_hold_element_by_element() {
    let steps = class(
        "FeaturesDict",
        json!({ "featuresDict": { "features": {
        "reward": tensor("float32", &[]),
        "words": sequence(class("Text", json!({ "text": {} })), -1),
    } } }),
    );
    let members = || json!({ "steps": dataset(steps.clone()) });
    let lengths = ("steps/words/ragged_row_lengths_0", Ints(&[1, 2]));
    let words = ("steps/words/ragged_flat_values", Bytes(&[b"a", b"b", b"c"]));
    let x = one(members(), &[("steps/reward", Floats(&[0.5, 1.5])), words, lengths]).unwrap();
    assert_eq!(x["steps"]["dataset"][1]["fields"]["words"]["data"], json!(["b", "c"]));
    assert_eq!(
        x["steps"]["dataset"][0]["fields"]["reward"],
        json!({ "dtype": "float32", "shape": [], "data": [0.5] })
    );
    let error = one(members(), &[("steps/reward", Floats(&[0.5])), words, lengths]).unwrap_err();
    assert_eq!(error, "feature `steps/words`: 2 elements of a nested stream, beside 1 of `steps/reward`");
}

#[test]
fn streams_in_streams_are_streams() {
    let members = || json!({ "x": sequence(dataset(tensor("int64", &[])), -1) });
    let stored = [("x/ragged_flat_values", Ints(&[1, 2, 3])), ("x/ragged_row_lengths_0", Ints(&[2, 1]))];
    let x = one(members(), &stored).unwrap();
    assert_eq!(x["x"]["dataset"][0]["dataset"][1]["data"], json!([2]));
    assert_eq!(x["x"]["dataset"][1]["dataset"].as_array().map(Vec::len), Some(1));
}

#[test]
fn only_what_is_selected_is_parsed() {
    let members = || {
        json!({ "a": tensor("int64", &[]), "d": class("FeaturesDict", json!({ "featuresDict": { "features": {
        "b": tensor("int64", &[]), "c": encoded("int16", &[1], "bytes") } } })) })
    };
    let selection = |features: &[&str], raw: &[&str]| Selection {
        features: Some(features.iter().map(|f| (*f).to_owned()).collect()),
        raw: raw.iter().map(|f| (*f).to_owned()).collect(),
    };
    let schema = selected(members(), &selection(&["d/c"], &["d"])).unwrap();
    assert_eq!(schema.wanted().len(), 1);
    // `a` holds a list of another kind, which is not looked at.
    let (block, spans) = records(&[&[("a", Floats(&[1.0])), ("d/c", Bytes(&[b"xy"]))]]);
    let (examples, result) = decoded(schema, &block, &spans);
    assert_eq!(result, Ok(()));
    let c = json!({ "dtype": "string", "shape": [], "data": ["xy"] });
    assert_eq!(examples[0], json!({ "d": { "fields": { "c": c } } }));
    let error = selected(members(), &selection(&["d/bb"], &[])).unwrap_err();
    assert_eq!(error, "features: the dataset has no feature `d/bb`, did you mean `d/b`?");
}

#[test]
fn images_of_a_sequence_have_one_size_and_those_of_a_stream_need_not() {
    let image =
        || class("Image", json!({ "image": { "dtype": "uint8", "shape": { "dimensions": [-1, -1, 1] } } }));
    let mut files = Vec::new();
    for width in [1, 2] {
        let mut header = b"BM".to_vec();
        header.extend([0_u32, 0, 54, 40, width, 1].map(u32::to_le_bytes).concat());
        header.extend([1_u16, 24].map(u16::to_le_bytes).concat());
        header.extend([0; 24 + 8]);
        files.push(header);
    }
    let files: Vec<&[u8]> = files.iter().map(Vec::as_slice).collect();
    let three = |mut image: serde_json::Value| {
        image["image"]["shape"]["dimensions"] = json!([-1, -1, 3]);
        image
    };
    let error = one(json!({ "x": sequence(three(image()), -1) }), &[("x", Bytes(&files))]).unwrap_err();
    let expected =
        "feature `x`: items of one sequence have the shapes (1, 1, 3) and (1, 2, 3), and form no array";
    assert_eq!(error, expected);
    let x = one(json!({ "x": dataset(three(image())) }), &[("x", Bytes(&files))]).unwrap();
    assert_eq!(x["x"]["dataset"][1]["shape"], json!([1, 2, 3]));
    let error = one(json!({ "x": dataset(image()) }), &[("x", Bytes(&files))]).unwrap_err();
    assert_eq!(error, "feature `x`: BMP: cannot be decoded with 1 channels");
}

#[test]
fn the_first_bad_record_is_told_and_those_before_it_stay() {
    let members = json!({ "a": tensor("int64", &[]), "b": tensor("int64", &[2]), "t": class("Text", json!({ "text": {} })) });
    let good = [("a", Ints(&[1])), ("b", Ints(&[1, 2])), ("t", Bytes(&[b"x"]))];
    let bad_a = [("a", Ints(&[1, 1])), good[1], good[2]];
    let bad_b = [good[0], ("b", Ints(&[1])), good[2]];
    let (block, mut spans) = records(&[&good, &good, &bad_b, &bad_a]);
    let (examples, result) = decoded(schema(members.clone()).unwrap(), &block, &spans);
    let failed = result.unwrap_err();
    assert_eq!((examples.len(), failed.record, failed.error.path.as_deref()), (2, 2, Some("b")));
    spans.swap(1, 3);
    let (examples, result) = decoded(schema(members.clone()).unwrap(), &block, &spans);
    let failed = result.unwrap_err();
    assert_eq!((examples.len(), failed.record, failed.error.path.as_deref()), (1, 1, Some("a")));
    spans[0].len -= 1;
    let (examples, result) = decoded(schema(members).unwrap(), &block, &spans);
    assert!(examples.is_empty());
    assert!(matches!(result.unwrap_err().error.fault, FeatureFault::Example { .. }));
}

#[test]
fn rows_of_different_shapes_are_padded_at_their_ends() {
    let schema = schema(json!({
        "columns": tensor("int64", &[2, -1]),
        "pairs": sequence(tensor("int64", &[2]), -1),
        "ragged": sequence(sequence(tensor("int64", &[]), -1), -1),
        "one": tensor("int64", &[]),
    }));
    let schema = std::sync::Arc::new(schema.unwrap());
    let row = |columns, pairs| [("columns", Ints(columns)), ("pairs", Ints(pairs)), ("one", Ints(&[7]))];
    let (block, spans) =
        records(&[&row(&[1, 2, 3, 4], &[]), &row(&[5, 6], &[1, 2, 3, 4]), &row(&[], &[8, 9])]);
    let mut batch = super::super::Batch::new(&schema);
    let limits = super::super::Limits::default();
    super::super::Decoder::new(std::sync::Arc::clone(&schema), limits)
        .decode(&block, spans, &mut batch)
        .unwrap();
    let padded = |path: &str| {
        let at = schema.column(path).unwrap();
        let padding = super::super::Padding::of(&schema.columns[at], &batch.columns[at])?;
        let super::super::Data::Fixed { bytes, .. } = &batch.columns[at].data else { panic!("numbers") };
        let values: Vec<u8> = bytes.chunks(8).map(|v| v[0]).collect();
        let mut array = vec![0; padding.shape.iter().product()];
        for run in padding.runs {
            array[run.to..][..run.from.len()].copy_from_slice(&values[run.from]);
        }
        Some((padding.shape, array))
    };
    assert_eq!(padded("columns"), Some((vec![3, 2, 2], vec![1, 2, 3, 4, 5, 0, 6, 0, 0, 0, 0, 0])));
    assert_eq!(padded("pairs"), Some((vec![3, 2, 2], vec![0, 0, 0, 0, 1, 2, 3, 4, 8, 9, 0, 0])));
    assert_eq!(padded("one"), Some((vec![3], vec![7, 7, 7])));
    assert_eq!(padded("ragged"), None);
}

#[test]
fn what_cannot_have_been_stored_is_refused_before_anything_is_read() {
    let refused = |node| schema(json!({ "x": node })).unwrap_err();
    assert_eq!(refused(tensor("complex64", &[])), "x: values of type `complex64` need an encoding");
    assert_eq!(
        refused(tensor("int64", &[-1, -1])),
        "x: the shape (?, ?) has several unknown dimensions, which needs an encoding"
    );
    assert!(refused(sequence(tensor("int64", &[-1]), -1)).contains("several unknown dimensions"));
    assert!(schema(json!({ "x": sequence(tensor("int64", &[-1]), 3) })).is_ok());
    assert!(refused(encoded("string", &[], "zlib")).contains("strings have no encoding"));
    assert!(refused(tensor("int64", &[1 << 40, 1 << 40])).contains("more values than memory"));
}
