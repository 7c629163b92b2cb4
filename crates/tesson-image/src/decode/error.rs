//! Why a picture cannot be decoded.

use std::fmt;

/// A picture that cannot be decoded.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PictureError {
    /// The first bytes are those of no known kind of file.
    Unknown {
        /// The first bytes.
        begin: Vec<u8>,
    },
    /// The file is damaged, cut, or of a form that is not read.
    Damaged {
        /// The kind of file.
        kind: &'static str,
        /// What is wrong.
        what: String,
    },
    /// Files of this kind cannot be had with so many channels.
    Channels {
        /// The kind of file.
        kind: &'static str,
        /// The number of channels that was asked for.
        wanted: usize,
    },
    /// Decoded it would be larger than what is allowed, or than so small a file can be.
    TooLarge {
        /// The width and height, as the file declares them.
        size: (usize, usize),
        /// The largest number of bytes.
        limit: usize,
    },
    /// Files of this kind have no smaller picture in them.
    Unscaled {
        /// The kind of file.
        kind: &'static str,
    },
    /// This build has no decoder for it.
    NotBuilt {
        /// The kind of file.
        kind: &'static str,
        /// The feature of the crate that has it.
        feature: &'static str,
    },
}

impl fmt::Display for PictureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PictureError::Unknown { begin } => {
                write!(
                    f,
                    "the picture begins with `{}`, expected a PNG, JPEG, GIF or BMP file",
                    begin.escape_ascii()
                )
            }
            PictureError::Damaged { kind, what } => write!(f, "{kind}: {what}"),
            PictureError::Channels { kind: "any", wanted } => {
                write!(f, "no picture has {wanted} channels, expected 1, 3 or 4")
            }
            PictureError::Channels { kind, wanted } => {
                write!(f, "{kind}: cannot be had with {wanted} channels")
            }
            PictureError::Unscaled { kind } => {
                write!(f, "{kind}: is not decoded at a reduced scale, JPEG files are")
            }
            PictureError::TooLarge { size: (width, height), limit } => {
                write!(
                    f,
                    "a picture of {width} by {height} pixels has more than {limit} bytes, which is the limit here"
                )
            }
            PictureError::NotBuilt { kind, feature } => {
                write!(
                    f,
                    "this build decodes no {kind}; build it with the feature `{feature}`, which is on by default"
                )
            }
        }
    }
}

impl std::error::Error for PictureError {}
