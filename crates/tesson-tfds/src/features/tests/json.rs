//! features.json in its forms, and files that are none.

use serde_json::json;

use super::super::json::{from_value, parse};
use super::super::{Coding, DType, Feature, Leaf};
use super::tools::{class, encoded, sequence, tensor};

/// The feature `x` of a root that holds nothing else.
fn x(node: serde_json::Value) -> Result<(Feature, Vec<String>), String> {
    let root = class("FeaturesDict", json!({ "featuresDict": { "features": { "x": node } } }));
    let parsed = from_value(&root).map_err(|e| e.to_string())?;
    let Feature::Dict(members) = parsed.root else { panic!("a dict") };
    Ok((members.into_iter().next().expect("a member").1, parsed.warnings))
}

fn leaf(node: serde_json::Value) -> Leaf {
    match x(node) {
        Ok((Feature::Leaf(leaf), _)) => leaf,
        other => panic!("{other:?}"),
    }
}

#[test]
fn names_are_in_camel_or_snake_case() {
    let camel = class("ClassLabel", json!({ "classLabel": { "numClasses": "10" } }));
    let snake = json!({ "python_class_name": "a.ClassLabel", "class_label": { "num_classes": 10 } });
    assert_eq!(leaf(camel.clone()), leaf(snake));
    assert_eq!(leaf(camel).classes, Some(10));
}

#[test]
fn encodings_are_written_in_either_case() {
    assert_eq!(leaf(encoded("int16", &[2], "zlib")).coding, Coding::Zlib);
    let audio =
        class("Audio", json!({ "audio": { "encoding": "BYTES", "shape": { "dimensions": ["-1"] } } }));
    assert_eq!((leaf(audio.clone()).coding, leaf(audio).dtype), (Coding::Raw, DType::Int64));
}

#[test]
fn a_video_is_a_sequence_of_images() {
    let video = class(
        "Video",
        json!({ "video": { "dtype": "uint8", "shape": { "dimensions": ["-1", "3", "2", "3"] } } }),
    );
    let (feature, _) = x(video).unwrap();
    let Feature::Sequence { of, length: None, dataset: false } = feature else { panic!("{feature:?}") };
    assert!(matches!(*of, Feature::Leaf(Leaf { coding: Coding::Image, .. })));
}

#[test]
fn a_length_that_is_left_out_is_none_at_all() {
    let without = class("Sequence", json!({ "sequence": { "feature": tensor("int64", &[]) } }));
    assert!(matches!(x(without), Ok((Feature::Sequence { length: Some(0), .. }, _))));
    assert!(matches!(x(sequence(tensor("int64", &[]), -1)), Ok((Feature::Sequence { length: None, .. }, _))));
}

#[test]
fn older_files_name_a_type_and_its_arguments() {
    let old = json!({ "type": "tfds.Image", "content": { "shape": [null, 28, 1], "dtype": "uint16", "encoding_format": "png" } });
    let image = leaf(old);
    assert_eq!((image.dtype, image.shape), (DType::UInt16, vec![None, Some(28), Some(1)]));
    let message = json!({ "type": "tfds.Tensor", "content": "{\"dtype\": \"int8\", \"shape\": {\"dimensions\": [\"4\"]}}", "proto_cls": "a.TensorFeature" });
    assert_eq!(leaf(message).shape, [Some(4)]);
    let encoder = json!({ "type": "tfds.Text", "content": { "use_encoder": "True" } });
    assert!(x(encoder).unwrap_err().contains("sub-word encoders"));
    assert!(x(json!({ "type": "tfds.Text", "content": {} })).is_ok());
}

#[test]
fn unknown_classes_are_what_their_content_says() {
    let (feature, warnings) = x(json!({ "pythonClassName": "mine.Picture", "image": {} })).unwrap();
    assert!(matches!(feature, Feature::Leaf(Leaf { coding: Coding::Image, .. })));
    assert_eq!(warnings, ["feature `x`: unknown class `mine.Picture` is read as Image"]);
    let error = x(json!({ "pythonClassName": "mine.Any", "jsonFeature": { "json": "{}" } })).unwrap_err();
    assert_eq!(error, "x: unknown feature class `mine.Any`, and no content that is known");
}

#[test]
fn what_is_wrong_is_told_with_the_feature_it_is_in() {
    assert_eq!(x(tensor("int63", &[])).unwrap_err(), "x: unknown dtype `int63`, did you mean `int64`?");
    assert_eq!(x(tensor("int64", &[-2])).unwrap_err(), "x: `-2` is no dimension, expected a size or -1");
    assert!(x(json!(7)).unwrap_err().starts_with("x: found `7`"));
    assert!(x(class("Sequence", json!({ "sequence": {} }))).unwrap_err().contains("without `feature`"));
    assert!(x(class("Tensor", json!({ "text": {} }))).unwrap_err().contains("without `tensor`"));
    assert!(parse("{").unwrap_err().to_string().contains("no JSON"));
    assert!(from_value(&tensor("int64", &[])).is_err(), "a root of one tensor");
}
