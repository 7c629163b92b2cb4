//! Faults of files of images in Base64.

use tesson_core::{FormatFaults, OptionName};

const LABEL_DIM: OptionName = OptionName::new("labelDim");

tesson_core::error_kinds! {
    /// A fault of a line in a file of images in Base64.
    pub enum Base64ImageFault {
        /// A line has fewer columns than the file's first line.
        MissingColumn { expected: &'static str = "a label, a tab and an image in Base64" }
            = "base64-image.missing-column": "expected {expected}"
            => "Separate the columns by tabs; whether lines have keys is decided by the first one.",
        /// The key of a line is empty.
        EmptyKey
            = "base64-image.empty-key": "the key is empty, expected a number or a name"
            => "Write a key before the first tab.",
        /// A label is no number, or one beyond 64 bits.
        BadLabel { found: String = "cat".into() }
            = "base64-image.bad-label": "the label is `{found}`, expected the number of a class"
            => "Number the classes from 0.",
        /// A label is not below the number of classes.
        LabelOutOfRange { label: u64 = 10, dim: u64 = 10 }
            = "base64-image.label-out-of-range": "the label is {label}, expected one below {LABEL_DIM}, {dim}"
            => "Raise {LABEL_DIM}, or fix the label.",
        /// Two lines that follow each other have one key.
        RepeatedKey { key: String = "7".into(), first: u64 = 2 }
            = "base64-image.repeated-key": "the key `{key}` is that of line {first}, which precedes this one; CNTK takes such \
                lines for one sequence"
            => in manual "Give each line a key of its own.",
        /// The image's text is no Base64: its length is no multiple of 4.
        BadLength { found: u64 = 1021 }
            = "base64-image.bad-length": "the image has {found} characters of Base64, expected a multiple of 4"
            => "Rewrite the image; the line may be truncated.",
        /// A line has no image.
        NoImage
            = "base64-image.no-picture": "the line has no image after its last tab"
            => "Write the image, or remove the line.",
    }
}

impl FormatFaults for Base64ImageFault {}

impl Base64ImageFault {
    /// True if a label is at fault.
    pub(super) fn is_of_label(&self) -> bool {
        matches!(self, Base64ImageFault::BadLabel { .. } | Base64ImageFault::LabelOutOfRange { .. })
    }
}
