//! The parts that all formats of images share: options, labels, keys.

mod columns;
pub(crate) mod embedded;
mod keys;
mod options;

pub(crate) use columns::{ImageColumns, lossy, parse_label, parse_numeric_key};
pub(crate) use keys::{KeyColumn, KeyTable};
pub use options::ImageRefusal;
pub(crate) use options::{
    Decoding, FILE, ImageInput, ImageOptions, ImageStream, LabelStream, MAX_DIM, OnCorruptImage, Pixels,
    decoder, describe_file,
};

/// The extensions of images, in small letters.
const EXTENSIONS: &[&str] =
    &["jpg", "jpeg", "jpe", "png", "bmp", "dib", "ppm", "pgm", "pbm", "pnm", "gif", "tif", "tiff", "webp"];

/// True if the extension of a path is that of an image.
pub(crate) fn has_image_extension(path: &str) -> bool {
    let file = path.rsplit('/').next().unwrap_or(path);
    let extension =
        file.rsplit_once('.').filter(|(stem, _)| !stem.is_empty()).map(|(_, extension)| extension);
    extension.is_some_and(is_image_extension)
}

/// True if an extension is one of images, in any case.
pub(crate) fn is_image_extension(extension: &str) -> bool {
    EXTENSIONS.iter().any(|known| known.eq_ignore_ascii_case(extension))
}

/// Views of an image under `multiViewCrop`.
pub(crate) const VIEWS: u32 = 10;
