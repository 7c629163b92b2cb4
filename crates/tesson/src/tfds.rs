//! Datasets prepared by TensorFlow Datasets: what `tesson-prepared` needs the built-in transforms for.

use std::path::Path;

use tesson_core::store::{Store, read_whole};
use tesson_core::{Error, Section};
use tesson_engine::EncodedTransforms;
use tesson_tfds::features::Feature;

/// The transforms of images that [`Reader::with_transforms`](tesson_prepared::Reader::with_transforms) applies: `given` has a list for each feature, such as
/// `[{"type": "Scale", …}]`, before which images are decoded as TensorFlow Datasets does, unless it begins with a decoder.
/// Random numbers depend on `seed`.
///
/// # Errors
/// Features that are not one image of 8-bit values, unknown transforms, and what their options are refused for.
pub fn image_transforms(
    store: &dyn Store,
    features: &Feature,
    given: &Section,
    seed: u64,
) -> Result<Vec<EncodedTransforms>, Error> {
    let registry = crate::registry();
    let mut all = Vec::with_capacity(given.0.len());
    for (feature, list) in &given.0 {
        let (feature, path) = (feature.to_string(), format!("transforms.{feature}"));
        let decoder = tesson_prepared::image_decoder(features, &feature, list)?;
        let read = |path: &Path| Ok(read_whole(store, path)?);
        let transforms = tesson_config::open_list(decoder, list, &path, &registry, &read)?;
        all.push(EncodedTransforms::new(&feature, &transforms, seed)?);
    }
    Ok(all)
}
