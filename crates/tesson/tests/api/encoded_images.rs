//! Images beside those of maps: of prepared datasets, and of a user's own columns.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tesson::store::MemoryStore;
use tesson::{Element, Error, Minibatch, OpenOptions, Source, StreamInfo};
use tesson_config::{json, lower};
use tesson_core::{
    Data, EncodedColumn, Format, Offsets, OptionKind, OptionSpec, OptionTable, Origin, ResourceId,
    StreamColumn,
};
use tesson_engine::store::FileStore;
use tesson_formats::example;
use tesson_formats::example::Value;
use tesson_formats::user::{ChunkSource, UserDeserializer, UserError};
use tesson_image::decode::{Depth, Want, decode};

use crate::kit::{self, dense, folder, refusal, whole};

/// A BMP file whose pixels differ in all channels.
fn bmp(width: usize, height: usize) -> Vec<u8> {
    let row = (3 * width).next_multiple_of(4);
    let mut file = b"BM".to_vec();
    for word in [54 + row * height, 0, 54, 40, width, height, 1 | 24 << 16, 0, row * height, 0, 0, 0, 0] {
        file.extend((word as u32).to_le_bytes());
    }
    for y in (0..height).rev() {
        let start = file.len();
        (0..width).for_each(|x| file.extend([(10 * x) as u8, (10 * y) as u8, 200]));
        file.resize(start + row, 0);
    }
    file
}

/// Width and height of the images.
const SIZES: [(usize, usize); 3] = [(3, 2), (4, 5), (6, 3)];

/// A prepared dataset of images of these files, with their numbers as labels.
fn dataset(test: &str, files: &[Vec<u8>]) -> PathBuf {
    let folder = folder(test);
    let info = format!(
        r#"{{"name": "d", "version": "1.0.0", "splits": [{{"name": "train", "shardLengths": [{}]}}]}}"#,
        files.len()
    );
    fs::write(folder.join("dataset_info.json"), info).expect("the folder can be written");
    let features = r#"{"pythonClassName": "FeaturesDict", "featuresDict": {"features": {
        "image": {"pythonClassName": "Image", "image": {"shape": {"dimensions": ["-1", "-1", "3"]}, "dtype": "uint8"}},
        "label": {"pythonClassName": "Scalar", "tensor": {"shape": {}, "dtype": "int64"}}}}}"#;
    fs::write(folder.join("features.json"), features).expect("the folder can be written");
    let shard =
        fs::File::create(folder.join("d-train.tfrecord-00000-of-00001")).expect("the folder can be written");
    let mut writer = tesson_convert::records::TfRecordWriter::new(shard);
    for (number, file) in (0..).zip(files) {
        let mut bytes = Vec::new();
        example::write(&[("image", Value::Bytes(&[file])), ("label", Value::Ints(&[number]))], &mut bytes);
        writer.record(&bytes).expect("the file can be written");
    }
    folder
}

fn open(dataset: &Path, transforms: &str, more: &str) -> Result<Source, Error> {
    let text = format!(
        r#"{{"deserializers": [{{"type": "TFDSDeserializer", "directory": {:?}, "split": "train" {more},
            "input": {{"image": {{"transforms": {transforms}}}, "label": {{}}}}}}],
            "maxSweeps": 1, "randomize": false}}"#,
        dataset.to_str().expect("the path is UTF-8")
    );
    kit::open(&FileStore, &text)
}

/// The values of images, and the labels.
fn found(minibatch: &Minibatch) -> (Vec<f64>, Vec<f64>) {
    (dense(minibatch, "image"), dense(minibatch, "label"))
}

/// An image in two by two pixels, channels first, by hand: the nearest pixels of what TensorFlow decodes.
fn by_hand(file: &[u8], (width, height): (usize, usize)) -> Vec<f64> {
    let mut pixels = Vec::new();
    decode(file, Want { channels: Some(3), depth: Depth::Eight, limit: 1 << 20 }, &mut pixels)
        .expect("the file is whole");
    let nearest = |to: usize, of: usize| (to as f64 * of as f64 / 2.0) as usize;
    let mut values = Vec::new();
    for channel in 0..3 {
        for (y, x) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            values.push(pixels[3 * (nearest(y, height) * width + nearest(x, width)) + channel].into());
        }
    }
    values
}

const SMALL: &str = r#"{"type": "Scale", "width": 2, "height": 2, "channels": 3, "interpolations": "nearest"}, {"type": "Transpose"}"#;

#[test]
fn images_of_a_prepared_dataset_are_decoded_as_by_tensorflow_and_transformed() {
    let files = SIZES.map(|(width, height)| bmp(width, height));
    let dataset = dataset("prepared-pictures", &files);
    let mut source = open(&dataset, &format!("[{SMALL}]"), "").unwrap();
    assert_eq!(source.streams()[0].shape.dims(), [3, 2, 2], "known before any data");
    let minibatch = source.next_minibatch(10).unwrap().expect("three pictures");
    let expected: Vec<f64> = files.iter().zip(SIZES).flat_map(|(file, size)| by_hand(file, size)).collect();
    assert_eq!(found(&minibatch), (expected.clone(), vec![0.0, 1.0, 2.0]));
    assert_eq!(expected[0], 200.0, "red is first");
    // A decoder at the head of the list takes the place of TensorFlow's.
    let mut source = open(&dataset, &format!(r#"[{{"type": "Decode"}}, {SMALL}]"#), "").unwrap();
    let (values, _) = found(&source.next_minibatch(1).unwrap().expect("a picture"));
    assert_eq!((values[0], values[8]), (0.0, 200.0), "blue is first");
}

#[test]
fn a_bad_image_of_a_prepared_dataset_is_an_error_or_left_out() {
    let files = [bmp(3, 2), b"no picture".to_vec(), bmp(4, 4)];
    let dataset = dataset("prepared-bad-picture", &files);
    let transforms = format!("[{SMALL}]");
    let error = open(&dataset, &transforms, "").unwrap().next_minibatch(10).unwrap_err().to_string();
    assert!(error.contains("d-train.tfrecord-00000-of-00001 (byte ") && error.contains("`image`"), "{error}");
    let mut source = open(&dataset, &transforms, r#", "maxErrors": 1"#).unwrap();
    assert_eq!(found(&source.next_minibatch(10).unwrap().expect("two are left")).1, [0.0, 2.0]);
}

#[test]
fn transforms_of_a_feature_that_is_no_image_are_refused() {
    let dataset = dataset("prepared-no-picture", &[bmp(1, 1)]);
    let text = format!(
        r#"{{"deserializers": [{{"type": "TFDSDeserializer", "directory": {:?},
            "input": {{"label": {{"transforms": []}}}}}}]}}"#,
        dataset.to_str().unwrap()
    );
    let error = refusal(kit::open(&FileStore, &text));
    assert!(error.contains("input.label.transforms: `label` is int64"), "{error}");
}

/// A user's own dataset: one chunk of encoded images.
struct Images(Vec<Vec<u8>>);

impl ChunkSource for Images {
    fn name(&self) -> &str {
        "Pictures"
    }

    fn streams(&self) -> Vec<StreamInfo> {
        vec![StreamInfo::encoded("image", Element::F32)]
    }

    fn n_chunks(&self) -> Result<u32, UserError> {
        Ok(1)
    }

    fn read(&self, _: u32) -> Result<Vec<StreamColumn>, UserError> {
        let mut column = EncodedColumn::default();
        let origin = Origin { resource: ResourceId::NONE, offset: 0, line: None, embedded: true };
        self.0.iter().for_each(|file| column.push(file, origin));
        Ok(vec![StreamColumn { samples: Offsets::Every(1), data: Data::Encoded(column) }])
    }
}

static INPUT: OptionTable =
    OptionTable(&[OptionSpec::optional("transforms", OptionKind::Transforms, "What is done to each image.")]);

static OPTIONS: OptionTable =
    OptionTable(&[OptionSpec::required("input", OptionKind::Sections(&INPUT), "The stream.")]);

static FORMAT: Format = Format::new("Pictures", "A user's pictures.", &OPTIONS, |_, defaults| {
    let files = SIZES.map(|(width, height)| bmp(width, height)).to_vec();
    Ok(Box::new(UserDeserializer::new(Arc::new(Images(files)), defaults).expect("the streams are right")))
});

#[test]
fn encoded_columns_of_a_users_own_are_decoded_by_a_transform() {
    let read = |decoder: &str| {
        let text = format!(
            r#"{{"deserializers": [{{"type": "Pictures", "input": {{"image": {{"transforms": [
                {{"type": "{decoder}"}}, {SMALL}]}}}}}}], "maxSweeps": 1, "randomize": false}}"#
        );
        let config = lower(&json::parse(&text).unwrap(), &tesson::registry().with(&FORMAT)).unwrap();
        let mut source = OpenOptions::in_store(&MemoryStore::new()).open(&config).unwrap();
        dense(&whole(&mut source).unwrap(), "image")
    };
    let expected: Vec<f64> = SIZES.iter().flat_map(|&size| by_hand(&bmp(size.0, size.1), size)).collect();
    assert_eq!(read("DecodeImage"), expected);
    // CNTK's order: blue first.
    let reversed: Vec<f64> =
        expected.chunks(12).flat_map(|p| [&p[8..], &p[4..8], &p[..4]].concat()).collect();
    assert_eq!(read("Decode"), reversed);
}
