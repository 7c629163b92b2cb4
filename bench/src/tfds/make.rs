//! Prepared datasets by generator: the same content and size give the same bytes.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tesson_formats::example::Value as ExampleValue;
use tesson_prepared::{DatasetWriter, NewDataset, NewSplit};
use tesson_tfds::info::Version;

use super::Answer;
use crate::corpus::Random;

/// The contents of examples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// One integer, in 16 shards.
    Integers,
    /// 80 kB that no compressor makes smaller, in 16 shards.
    Blobs,
    /// A JPEG of 500 by 375 pixels and the number of a class, in 16 shards.
    Images,
    /// One integer, in 1,024 shards.
    Shards,
}

pub(super) const WIDTH: usize = 500;
pub(super) const HEIGHT: usize = 375;

impl Content {
    pub(super) fn parse(name: &str) -> Option<Content> {
        Some(match name {
            "integers" => Content::Integers,
            "blobs" => Content::Blobs,
            "pictures" => Content::Images,
            "shards" => Content::Shards,
            _ => return None,
        })
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Content::Integers => "integers",
            Content::Blobs => "blobs",
            Content::Images => "pictures",
            Content::Shards => "shards",
        }
    }

    /// The default size in millions of bytes, with which a measurement takes some tenths of a second.
    pub(super) fn megabytes(self) -> u64 {
        match self {
            Content::Integers => 150,
            Content::Blobs => 400,
            Content::Images | Content::Shards => 40,
        }
    }

    fn features(self) -> Value {
        let scalar = |dtype: &str| {
            json!({"pythonClassName": "tensorflow_datasets.core.features.scalar.Scalar",
                "tensor": {"shape": {}, "dtype": dtype, "encoding": "none"}})
        };
        let features = match self {
            Content::Integers | Content::Shards => json!({"id": scalar("int64")}),
            Content::Blobs => json!({"blob": {
                "pythonClassName": "tensorflow_datasets.core.features.text_feature.Text", "text": {}}}),
            Content::Images => json!({
                "image": {"pythonClassName": "tensorflow_datasets.core.features.image_feature.Image",
                    "image": {"shape": {"dimensions": ["-1", "-1", "3"]}, "dtype": "uint8",
                        "encodingFormat": "jpeg"}},
                "label": scalar("int64"),
            }),
        };
        json!({"pythonClassName": "tensorflow_datasets.core.features.features_dict.FeaturesDict",
            "featuresDict": {"features": features}})
    }
}

/// The version directory below a folder.
pub(super) fn directory(content: Content, folder: &Path) -> PathBuf {
    folder.join(content.name()).join("1.0.0")
}

/// Prepares a dataset of about `megabytes` million bytes; an existing one is left as it is.
pub(super) fn write(content: Content, folder: &Path, megabytes: u64) -> Answer<()> {
    if directory(content, folder).exists() {
        return Ok(());
    }
    let shards = if content == Content::Shards { 1024 } else { 16 };
    let mut new = NewDataset::new(content.name(), Version([1, 0, 0]), content.features());
    new.description = "Made for measuring.".into();
    new.splits = vec![NewSplit::new("train", Some(shards))];
    let mut writer = DatasetWriter::open(folder, new)?;
    let (mut random, mut bytes, mut n) = (Random(7), 0, 0);
    let mut noise = vec![0; 80_000];
    while bytes < megabytes * 1_000_000 {
        let id = [n];
        match content {
            Content::Integers | Content::Shards => {
                writer.example("train", &[("id", ExampleValue::Ints(&id))])?;
                bytes += 33;
            }
            Content::Blobs => {
                noise.chunks_exact_mut(8).for_each(|c| c.copy_from_slice(&random.next().to_le_bytes()));
                writer.example("train", &[("blob", ExampleValue::Bytes(&[&noise]))])?;
                bytes += 80_032;
            }
            Content::Images => {
                let file = image(&mut random)?;
                let label = [n % 1000];
                let values =
                    [("image", ExampleValue::Bytes(&[&file])), ("label", ExampleValue::Ints(&label))];
                writer.example("train", &values)?;
                bytes += file.len() as u64;
            }
        }
        n += 1;
    }
    writer.finish()?;
    Ok(())
}

/// A JPEG of quality 90 of shapes in colours with some grain: about 80 kB, as photographs of this size have.
pub(crate) fn image(random: &mut Random) -> std::io::Result<Vec<u8>> {
    let mut pixels = vec![0_u8; WIDTH * HEIGHT * 3];
    let waves: Vec<[f64; 4]> = (0..9)
        .map(|_| [random.unit() * 0.2, random.unit() * 0.2, random.unit() * 6.0, 10.0 + 25.0 * random.unit()])
        .collect();
    for (i, pixel) in pixels.chunks_exact_mut(3).enumerate() {
        let (x, y) = ((i % WIDTH) as f64, (i / WIDTH) as f64);
        let grain = random.unit() * 16.0;
        for (c, value) in pixel.iter_mut().enumerate() {
            let of = |[a, b, phase, size]: &[f64; 4]| (a * x + b * y + phase).sin() * size;
            *value = (120.0 + grain + waves[c * 3..][..3].iter().map(of).sum::<f64>()) as u8;
        }
    }
    let mut jpeg = mozjpeg::Compress::new(mozjpeg::ColorSpace::JCS_RGB);
    jpeg.set_size(WIDTH, HEIGHT);
    jpeg.set_quality(90.0);
    // As libjpeg-turbo writes by itself, and as most photographs are: one scan, not progressive.
    jpeg.set_fastest_defaults();
    let mut jpeg = jpeg.start_compress(Vec::new())?;
    jpeg.write_scanlines(&pixels)?;
    jpeg.finish()
}
