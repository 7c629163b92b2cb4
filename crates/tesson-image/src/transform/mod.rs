//! Transforms of images, one file each: its options, how it is made of them, and what it does to pixels. [`pipeline`] applies
//! several. A new transform is a file here that implements the traits of [`step`], and a word of the list [`TRANSFORMS`].
//!
//! Results are those of CNTK 2.7 (spec/image.md §5), which are those of OpenCV 3.1, bit for bit; `normalize`,
//! `random_resized_crop` and `random_erasing` are torchvision's, antialiased resizing is Pillow's.

mod axis;
pub mod canvas;
pub mod cast;
pub mod color;
pub mod crop;
mod fault;
pub mod fill;
pub mod horizontal_flip;
pub mod intensity;
pub mod mean;
pub mod normalize;
pub mod opencv_storage;
pub(crate) mod options;
pub mod pipeline;
pub mod random;
pub mod random_erasing;
pub mod random_resized_crop;
pub mod random_rotation;
mod real;
pub mod resize;
pub mod scale;
pub mod step;
pub mod transpose;
pub mod view;

pub use axis::{Filter, Interpolation};
pub use fault::TransformFault;
pub use options::OptionRefusal;
pub use real::Real;

use tesson_core::TransformFormat;

use crate::image_transforms::StepFn;
use crate::{decode_image, decoder};

/// Lists the transforms: those that decode, and those of pixels, each of which has a step of a pipeline.
macro_rules! transforms {
    (decoding: $($decoder:ident),+; of pixels: $($pixels:ident),+;) => {
        /// Every transform of this crate.
        pub static TRANSFORMS: &[&TransformFormat] = &[$(&$decoder::FORMAT,)+ $(&$pixels::FORMAT,)+];

        /// The step of each transform of pixels.
        pub(crate) static STEPS: &[(&TransformFormat, StepFn)] = &[$((&$pixels::FORMAT, $pixels::step),)+];
    };
}

transforms! {
    decoding: decoder, decode_image;
    of pixels: crop, random_resized_crop, horizontal_flip, random_rotation, random_erasing, scale, color, mean, normalize, intensity, transpose, cast;
}
