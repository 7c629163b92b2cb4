//! Small prepared datasets in folders of their own.

use std::fs;
use std::path::{Path, PathBuf};

use tesson_formats::example::{Value, write};
use tesson_formats::tfrecord::write::Writer;
use tesson_tfds::info::rounded_lengths;

/// A dataset in a folder of its own, which goes with it.
pub(crate) struct Dataset(pub(crate) PathBuf);

/// A feature as features.json has it.
pub(crate) fn feature(class: &str, content: serde_json::Value) -> serde_json::Value {
    let mut node = content;
    node["pythonClassName"] = format!("tensorflow_datasets.core.features.{class}").into();
    node
}

/// Numbers of a shape, in which -1 is unknown.
pub(crate) fn tensor(dtype: &str, shape: &[i64]) -> serde_json::Value {
    let dimensions: Vec<String> = shape.iter().map(i64::to_string).collect();
    feature(
        "tensor_feature.Tensor",
        serde_json::json!({"tensor": {"shape": {"dimensions": dimensions}, "dtype": dtype}}),
    )
}

pub(crate) fn text() -> serde_json::Value {
    feature("text_feature.Text", serde_json::json!({"text": {}}))
}

impl Dataset {
    /// Shards of about the same size with these examples, as the split `train`.
    pub(crate) fn of(
        name: &str,
        features: serde_json::Value,
        examples: &[Vec<u8>],
        shards: usize,
    ) -> Dataset {
        // Tests of another crate use this module, too, in a process of its own at the same time.
        let folder = format!("tfds-{}-{name}", env!("CARGO_CRATE_NAME"));
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(folder);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("a folder of ours");
        let lengths = rounded_lengths(examples.len() as u64, shards);
        let info = serde_json::json!({"name": "d", "version": "1.0.0", "fileFormat": "tfrecord",
            "splits": [{"name": "train", "shardLengths": lengths}]});
        fs::write(folder.join("dataset_info.json"), info.to_string()).expect("a file of ours");
        let root = feature(
            "features_dict.FeaturesDict",
            serde_json::json!({"featuresDict": {"features": features}}),
        );
        fs::write(folder.join("features.json"), root.to_string()).expect("a file of ours");
        let mut examples = examples.iter();
        for (shard, len) in lengths.into_iter().enumerate() {
            let file = folder.join(format!("d-train.tfrecord-{shard:05}-of-{shards:05}"));
            let mut writer = Writer::new(Vec::new());
            for example in examples.by_ref().take(len as usize) {
                writer.record(example).expect("memory takes it");
            }
            fs::write(file, writer.finish().expect("memory takes it")).expect("a file of ours");
        }
        Dataset(folder)
    }
}

impl Drop for Dataset {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Written as one record, in the order of the keys.
pub(crate) fn record(values: &[(&str, Value<'_>)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    write(values, &mut bytes);
    bytes
}

/// An image of a kind that needs no compressor: 24 bits a pixel, rows of multiples of four bytes, from the bottom.
pub(crate) fn bitmap(width: usize, height: usize, grey: u8) -> Vec<u8> {
    let row = (3 * width).next_multiple_of(4);
    let size = (54 + row * height) as u32;
    let mut bytes = b"BM".to_vec();
    bytes.extend([size, 0, 54, 40, width as u32, height as u32].map(u32::to_le_bytes).concat());
    bytes.extend([1_u16, 24].map(u16::to_le_bytes).concat());
    bytes.extend([0; 24]);
    bytes.extend(std::iter::repeat_n(grey, row * height));
    bytes
}
