//! Images: decoding files to pixels with TensorFlow's values ([`decode`]) or OpenCV's ([`imdecode`]), encoding
//! ([`encode`]), and transforms of pixels ([`transform`]).

#![deny(unsafe_code)]

pub mod decode;
mod decode_image;
mod decoder;
pub mod encode;
mod image_transforms;
pub mod imdecode;
mod jpeg_decoding;
#[cfg(feature = "codecs")]
mod libjpeg;
pub mod transform;

pub use jpeg_decoding::{JpegDecoding, jpeg_decoding};
pub use transform::TRANSFORMS;

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
