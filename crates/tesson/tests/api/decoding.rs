//! How images are decoded, and what a check says of it.

use tesson::store::MemoryStore;
use tesson::{Error, Source};
use tesson_engine::Severity;

use crate::kit::{self, checked, dense, refusal, store_of, stream_of};

/// An image of 157 x 118 pixels.
const JPEG: &[u8] = include_bytes!("../../../tesson-image/tests/jpeg/420-95.jpg");

/// One row of two pixels.
const ROW: &[u8] = b"P6 2 1 255\n\x01\x02\x03\x04\x05\x06";

/// The configuration of a map of these images, and the store that has it.
fn map(names: &[&str], options: &str, transforms: &str, store: &MemoryStore) -> (String, MemoryStore) {
    let map: String = names.iter().map(|name| format!("{name}\t1\n")).collect();
    let text = format!(
        r#"{{"deserializers": [{{"type": "ImageDeserializer", "file": "map.txt", {options}
            "input": {{"x": {{"transforms": [{transforms}]}}}}}}], "randomize": false, "maxSweeps": 1}}"#
    );
    (text, store.clone().with("map.txt", map.into_bytes()))
}

fn open(name: &str, options: &str, transforms: &str) -> Result<Source, Error> {
    let (config, store) = map(&[name], options, transforms, &store());
    kit::open(&store, &config)
}

fn store() -> MemoryStore {
    store_of([("row.ppm", ROW), ("photo.jpg", JPEG)])
}

/// The shape and the values of the first image.
fn first(name: &str, options: &str, transforms: &str) -> (Vec<usize>, Vec<u8>) {
    let mut source = open(name, options, transforms).expect("the options are right");
    let minibatch = source.next_minibatch(1).expect("it can be read").expect("a picture");
    let values = dense(&minibatch, "x").into_iter().map(|value| value as u8).collect();
    (stream_of(&minibatch, "x").info().shape.dims().to_vec(), values)
}

#[test]
fn red_comes_first_where_that_is_asked_for() {
    assert_eq!(first("row.ppm", "", "").1, [3, 2, 1, 6, 5, 4]);
    assert_eq!(first("row.ppm", r#""channelOrder": "RGB","#, "").1, [1, 2, 3, 4, 5, 6]);
    let error = refusal(open("row.ppm", r#""channelOrder": "gbr","#, ""));
    assert!(error.contains("channelOrder: found `gbr`, expected `bgr` or `rgb`"), "{error}");
}

#[test]
fn jpegs_are_decoded_smaller_down_to_the_size_asked_for() {
    let shape = |options: &str| first("photo.jpg", options, "").0;
    assert_eq!(shape(""), [118, 157, 3]);
    for (size, expected) in [
        ("20", [30, 40, 3]),
        (r#""20:10""#, [15, 20, 3]),
        (r#""21:10""#, [30, 40, 3]),
        ("[40, 31]", [59, 79, 3]),
        ("200", [118, 157, 3]),
        ("0", [118, 157, 3]),
    ] {
        assert_eq!(shape(&format!(r#""jpegScaledDecode": {size},"#)), expected, "{size}");
    }
    // Other images are as large as they are, and a transform makes all of one size.
    assert_eq!(first("row.ppm", r#""jpegScaledDecode": 1,"#, "").0, [1, 2, 3]);
    let scale = r#"{"type": "Scale", "width": 24, "height": 24, "channels": 3}"#;
    let (shape, scaled) = first("photo.jpg", r#""jpegScaledDecode": 24,"#, scale);
    assert_eq!(shape, [24, 24, 3]);
    assert_ne!(scaled, first("photo.jpg", "", scale).1);
    let error = refusal(open("row.ppm", r#""jpegScaledDecode": "2.5","#, ""));
    assert!(error.contains("expected a width and a height in pixels"), "{error}");
}

#[test]
fn padding_has_a_value_for_each_channel() {
    let pad = |value: &str| {
        format!(
            r#"{{"type": "Scale", "width": 2, "height": 3, "channels": 3, "scaleMode": "pad", "padValue": {value}}}"#
        )
    };
    let row = [3, 2, 1, 6, 5, 4];
    let padded = |pixel: [u8; 3]| [pixel, pixel].concat();
    for (value, pixel) in [("[7, 8, 9]", [7, 8, 9]), ("300", [255; 3]), (r#""1:0:2""#, [1, 0, 2])] {
        let expected = [padded(pixel), row.to_vec(), padded(pixel)].concat();
        assert_eq!(first("row.ppm", "", &pad(value)).1, expected, "{value}");
    }
    for wrong in ["[1, 2]", "-2", "1.5", "[-1, 0, 0]"] {
        let error = refusal(open("row.ppm", "", &pad(wrong)));
        assert!(error.contains("padValue") && error.contains("one of each channel"), "{error}");
    }
}

/// The findings of a check of these images, and their severity.
fn found(names: &[&str], transforms: &str, store: &MemoryStore) -> Vec<(Severity, String)> {
    let (config, store) = map(names, "", transforms, store);
    let (found, checked) = checked(&store, &config, |error, severity| (severity, error.to_string()));
    let notes = found.iter().filter(|(severity, _)| *severity == Severity::Note).count();
    assert_eq!((checked.faults, checked.notes), (0, notes as u64));
    found
}

#[test]
fn a_check_tells_of_images_that_are_decoded_in_a_way_of_their_own() {
    let profile = [b"\xff\xe2\x00\x10ICC_PROFILE\0".as_slice(), &[1, 1]].concat();
    let profiled = [&JPEG[..2], &profile, &JPEG[2..]].concat();
    let store = store().with("a.jpg", profiled.clone()).with("b.jpg", profiled);
    let scale = r#"{"type": "Scale", "width": 9, "height": 9, "channels": 3}"#;
    assert_eq!(found(&["photo.jpg", "row.ppm"], scale, &store), []);
    let remarks = found(&["photo.jpg", "a.jpg", "row.ppm", "b.jpg"], scale, &store);
    let [(Severity::Remark, remark)] = &remarks[..] else { panic!("{remarks:?}") };
    assert!(remark.starts_with("a.jpg") && remark.contains("line 2 of map.txt lists it"), "{remark}");
    assert!(remark.contains("it has a colour profile, which is ignored (2 samples in all)"), "{remark}");
}

#[test]
fn a_check_tells_of_images_of_several_shapes() {
    let names = ["row.ppm", "row.ppm", "photo.jpg", "row.ppm", "photo.jpg"];
    let notes = found(&names, "", &store());
    let [(Severity::Note, note)] = &notes[..] else { panic!("{notes:?}") };
    assert!(note.starts_with("photo.jpg") && note.contains("shape 118x157x3"), "{note}");
    assert!(note.contains("the first one of the stream 1x2x3"), "{note}");
    assert_eq!(found(&names[..2], "", &store()), []);
}
