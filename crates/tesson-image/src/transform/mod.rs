//! Transforms of pictures as functions of pixels, one file each, and [`pipeline`], which applies several.
//!
//! Results are those of CNTK 2.7 (spec/image.md §5), which are those of OpenCV 3.1, bit for bit; `normalize`,
//! `random_resized_crop` and `random_erasing` are torchvision's, antialiased resizing is Pillow's.

mod axis;
pub mod color;
pub mod crop;
mod fault;
pub mod fill;
pub mod intensity;
pub mod mean;
pub mod normalize;
pub mod opencv_storage;
pub mod pipeline;
pub mod random;
pub mod random_erasing;
pub mod random_resized_crop;
pub mod random_rotation;
mod real;
pub mod resize;
pub mod scale;
pub mod view;

pub use axis::{Filter, Interpolation};
pub use fault::TransformFault;
pub use real::Real;
