//! Pictures: decoding files to pixels with TensorFlow's values ([`decode`]) or OpenCV's ([`imdecode`]), encoding
//! ([`encode`]), and transforms of pixels ([`transform`]).
//!
//! The options of a transform are a file here and a word in [`TRANSFORMS`]; its effect on pixels is the file of the
//! same name in [`transform`].

#![deny(unsafe_code)]

mod cast;
mod color;
mod crop;
pub mod decode;
mod decode_image;
mod decoder;
pub mod encode;
mod horizontal_flip;
pub mod imdecode;
mod intensity;
mod jpeg_decoding;
#[cfg(feature = "codecs")]
mod libjpeg;
mod mean;
mod normalize;
mod options;
mod picture_transforms;
mod random_erasing;
mod random_resized_crop;
mod random_rotation;
mod scale;
pub mod transform;
mod transpose;

pub use jpeg_decoding::{JpegDecoding, jpeg_decoding};
use picture_transforms::StepFn;
use tesson_core::TransformFormat;

/// Lists the transforms: those that decode, and those of pixels, each of which has a step of a pipeline.
macro_rules! transforms {
    (decoding: $($decoder:ident),+; of pixels: $($pixels:ident),+;) => {
        /// Every transform of this crate.
        pub static TRANSFORMS: &[&TransformFormat] = &[$(&$decoder::FORMAT,)+ $(&$pixels::FORMAT,)+];

        /// The step of each transform of pixels.
        static STEPS: &[(&TransformFormat, StepFn)] = &[$((&$pixels::FORMAT, $pixels::step),)+];
    };
}

transforms! {
    decoding: decoder, decode_image;
    of pixels: crop, random_resized_crop, horizontal_flip, random_rotation, random_erasing, scale, color, mean, normalize, intensity, transpose, cast;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_has_one_sentence() {
        for transform in TRANSFORMS {
            for help in transform.options.0.iter().map(|o| o.help).chain([transform.help]) {
                assert!(help.ends_with('.') && !help.contains(". "), "{}: {help}", transform.name);
            }
        }
    }
}
