//! Datasets prepared by TensorFlow Datasets: found by name, opened by directory.
//!
//! ```
//! # fn main() -> Result<(), tesson::Error> {
//! # let dir = std::env::temp_dir().join(format!("tesson-tfds-doc-{}", std::process::id()));
//! # std::fs::create_dir_all(&dir).expect("a temporary folder");
//! # std::fs::write(dir.join("features.json"), "{}").expect("a file");
//! # std::fs::write(dir.join("dataset_info.json"), r#"{"name": "d", "version": "1.0.0",
//! #     "splits": [{"name": "train", "shardLengths": ["3", "4"]}]}"#).expect("a file");
//! use tesson::store::Stores;
//! use tesson::tfds::{Plan, Reading, Selection};
//!
//! let dataset = tesson::tfds::open(&Stores::local(), &dir)?;
//! let reading = Reading::of(Selection::parse("train[50%:]")?);
//! let mut stream = Plan::new(&dataset, &reading, &mut tesson::tfds::random_seed)?.stream()?;
//! let mut records = Vec::new();
//! stream.fill(100, &mut records).expect("the plan counts what it reads");
//! assert_eq!(records, [4, 5, 6]);
//! # std::fs::remove_dir_all(&dir).expect("the folder is ours");
//! # Ok(())
//! # }
//! ```
//!
//! Preparing a dataset:
//!
//! ```
//! use tesson::store::Stores;
//! use tesson::tfds::{DatasetWriter, ExampleValue, NewDataset, NewSplit, Version};
//! # fn main() -> Result<(), tesson::Error> {
//! # let data_dir = std::env::temp_dir().join(format!("tesson-prepare-doc-{}", std::process::id()));
//! let features = serde_json::json!({
//!     "type": "tensorflow_datasets.core.features.features_dict.FeaturesDict",
//!     "content": {"square": {
//!         "type": "tensorflow_datasets.core.features.tensor_feature.Tensor",
//!         "content": {"shape": [], "dtype": "int64"},
//!     }},
//! });
//! let mut new = NewDataset::new("squares", Version([1, 0, 0]), features);
//! new.description = "Numbers and their squares.".into();
//! new.splits = vec![NewSplit::new("train", Some(4))];
//! let mut writer = DatasetWriter::open(&data_dir, new)?;
//! // After a kill, those that are whole need not be written again.
//! for n in writer.written("train")? as i64..10 {
//!     writer.example("train", &[("square", ExampleValue::Ints(&[n * n]))])?;
//! }
//! let dataset = tesson::tfds::open(&Stores::local(), writer.finish()?)?;
//! assert_eq!(dataset.splits[0].shards.len(), 4);
//! # std::fs::remove_dir_all(&data_dir).expect("the folder is ours");
//! # Ok(())
//! # }
//! ```

use std::path::Path;

use tesson_core::{Error, Section};
use tesson_engine::store::{Store, read_whole};

pub use tesson_engine::{EncodedScratch, EncodedTransforms, SampleRoom, TransformFailure, TransformedSample};
pub use tesson_formats::example::{self, Value as ExampleValue};
pub use tesson_image::decode as pictures;
pub use tesson_plan::{
    CountMismatch, ElementOrder, ElementStep, GlobalSeeds, SeedPair, Seeding, Span, Stream, StreamOp,
    StreamSpec, StreamState, Taken,
};
pub use tesson_prepared::{
    CheckedDataset, DatasetWriter, ExampleBatch, FORMAT, InterruptibleReader, NewDataset, NewSplit, OnDamage,
    Reader, ReaderLimits, Restoring, Unwritable, check, default_data_dir, describe, feature_classes,
    features_of, find, labels_of, list, open, open_all, random_seed,
};
pub use tesson_tfds::features;
pub use tesson_tfds::ids::Ids;
pub use tesson_tfds::info::{
    self, Dataset, DatasetInfo, DatasetName, FileFormat, Resolved, Shard, Split, Version,
};
pub use tesson_tfds::read_config::{InputContext, ReadConfig, Sort, Sorted};
pub use tesson_tfds::reading::{DrawnSeed, Op, Plan, Reading};
pub use tesson_tfds::split::{self, FileInstruction, Selection, file_instructions};

/// The transforms of pictures that [`Reader::with_transforms`] applies: `given` has a list for each feature, such as
/// `[{"type": "Scale", …}]`, before which pictures are decoded as TensorFlow Datasets does, unless it begins with a decoder.
/// Random numbers depend on `seed`.
///
/// # Errors
/// Features that are not one picture of 8-bit values, unknown transforms, and what their options are refused for.
pub fn picture_transforms(
    store: &dyn Store,
    features: &features::Feature,
    given: &Section,
    seed: u64,
) -> Result<Vec<EncodedTransforms>, Error> {
    let registry = crate::registry();
    let mut all = Vec::with_capacity(given.0.len());
    for (feature, list) in &given.0 {
        let (feature, path) = (feature.to_string(), format!("transforms.{feature}"));
        let decoder = tesson_prepared::picture_decoder(features, &feature, list)?;
        let read = |path: &Path| Ok(read_whole(store, path)?);
        let transforms = tesson_config::open_list(decoder, list, &path, &registry, &read)?;
        all.push(EncodedTransforms::new(&feature, &transforms, seed)?);
    }
    Ok(all)
}
