//! Why transforms cannot be set up, or applied to an image.

tesson_core::error_kinds! {
    /// Why transforms cannot be set up, or applied to an image.
    pub enum TransformFault {
        /// A transform follows one that must come last.
        Order { found: &'static str = "Crop", after: &'static str = "Transpose" }
            = "transform.order": "`{found}` follows `{after}`, after which only `Cast` may come"
            => "Move `Transpose` and `Cast` to the end.",
        /// A transform declares another number of channels than images have.
        Channels { transform: &'static str = "Scale", expected: usize = 3, found: usize = 1 }
            = "transform.channels": "`{transform}` is for {expected} channels, the image has {found}"
            => "Correct the number of channels, or decode to that number.",
        /// The mean image has another size than images.
        MeanSize { mean: String = "224x224".into(), found: String = "256x256".into() }
            = "transform.mean-size": "the mean image has {mean} pixels, the image {found}"
            => "Scale images to the size of the mean image first, or use a mean of that size.",
        /// A file of OpenCV's matrices cannot be read.
        Storage { what: String = "`Row` is missing".into() }
            = "transform.storage": "not a usable file of OpenCV's matrices: {what}"
            => "Write the file with OpenCV, as XML or YAML, with the values that the manual lists.",
        /// A parameter has a value that cannot be used.
        Parameter { name: &'static str = "width", found: String = "0".into(), expected: &'static str = "at least 1" }
            = "transform.parameter": "`{name}` is {found}, expected {expected}"
            => "Correct the parameter that the message names.",
        /// An image has no pixels.
        NoPixels { width: usize = 0, height: usize = 4 }
            = "transform.no-pixels": "an image of {width} by {height} pixels cannot be transformed"
            => "Leave the image out."
    }
}

impl std::error::Error for TransformFault {}
