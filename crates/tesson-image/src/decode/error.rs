//! Why an image cannot be decoded.

use tesson_core::{OptionName, OptionSetting};

const MEMORY_LIMIT: OptionName = OptionName::new("memoryLimit");
const ON_CORRUPT_IMAGE_SKIP: OptionSetting = OptionName::set_to("onCorruptImage", "\"skip\"");

tesson_core::error_kinds! {
    /// An image that cannot be decoded.
    pub enum ImageError {
        /// The file has no bytes.
        Empty
            = "picture.empty": "the file is empty"
            => "Replace the file, or set {ON_CORRUPT_IMAGE_SKIP} of a deserializer of images.",
        /// The first bytes are those of no known kind of file.
        Unknown { begin: Vec<u8> = b"RIFF\0\0\0\0".to_vec(), expected: &'static str = "PNG, JPEG, GIF or BMP" }
            = "picture.unknown":
                ("the image begins with `{}`, expected a {expected} file", begin.escape_ascii())
            => "Convert the image to one of these kinds.",
        /// The file is damaged, truncated, or of a form that is not supported.
        Damaged { kind: &'static str = "JPEG", what: String = "the file is cut".into() }
            = "picture.damaged": "{kind}: {what}"
            => "Replace the file, or set {ON_CORRUPT_IMAGE_SKIP} of a deserializer of images.",
        /// Files of this kind cannot be decoded to this number of channels.
        Channels { kind: &'static str = "JPEG", wanted: usize = 4 }
            = "picture.channels": ("{}", channels(kind, *wanted))
            => "Ask for a number of channels that the message names, or convert the file.",
        /// The decoded image would exceed the limit, or what a file of this length can hold.
        TooLarge { size: (usize, usize) = (70_000, 70_000), limit: usize = 1 << 30 }
            = "picture.too-large":
                ("an image of {} by {} pixels has more than {limit} bytes, which is the limit here", size.0, size.1)
            => "Raise the limit if the image is meant to be as large.",
        /// The file declares more pixels than `maxPixels` allows, or than a file of this length can hold.
        TooManyPixels { width: usize = 70_000, height: usize = 70_000, limit: u64 = 1 << 28 }
            = "picture.too-many-pixels":
                "an image of {width} by {height} pixels is declared, at most {limit} pixels are possible here"
            => "Raise `maxPixels` if the image is meant to be as large.",
        /// The file declares an image without pixels.
        NoPixels { width: usize = 0, height: usize = 7 }
            = "picture.no-pixels": "an image of {width} by {height} pixels is declared"
            => "Replace the file, or set {ON_CORRUPT_IMAGE_SKIP} of a deserializer of images.",
        /// The decoder would take more memory beside the pixels than the limit.
        BeyondMemory { size: (usize, usize) = (16_383, 16_383), bytes: u64 = 2_684_026_890, limit: u64 = 1 << 30 }
            = "picture.beyond-memory":
                ("decoding an image of {} by {} pixels takes {bytes} bytes beside it, more than {limit}, which is the \
                limit here", size.0, size.1)
            => "Raise the limit if the image is meant to be as large.",
        /// The system has no memory for the pixels.
        NoMemory { bytes: usize = 1 << 40 }
            = "picture.no-memory": "there is no memory for {bytes} bytes of pixels"
            => "Lower {MEMORY_LIMIT}, so that such images are refused, or give the process more memory.",
        /// Files of this kind contain no smaller version of the image.
        Unscaled { kind: &'static str = "PNG" }
            = "picture.unscaled": "{kind}: is not decoded at a reduced scale, JPEG files are"
            => "Decode the image at its whole size.",
        /// This build has no decoder for it.
        NotBuilt { kind: &'static str = "PNG", feature: &'static str = "codecs" }
            = "picture.not-built":
                "this build decodes no {kind}; build it with the feature `{feature}`, which is on by default"
            => "Build with the feature that the message names."
    }
}

fn channels(kind: &str, wanted: usize) -> String {
    match kind {
        "any" => format!("no image has {wanted} channels, expected 1, 3 or 4"),
        _ => format!("{kind}: cannot be decoded with {wanted} channels"),
    }
}

impl ImageError {
    /// The error for a file that is empty or begins like none of the expected kinds.
    pub(crate) fn unknown(file: &[u8], expected: &'static str) -> ImageError {
        if file.is_empty() {
            return ImageError::Empty;
        }
        ImageError::Unknown { begin: file[..file.len().min(8)].to_vec(), expected }
    }
}

impl std::error::Error for ImageError {}
