//! How this build decodes JPEG files.

use std::fmt;

/// How JPEG files are decoded. Pixels are the same with SIMD and without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum JpegDecoding {
    /// With SIMD.
    Simd,
    /// Without: the assembler `nasm` was missing when the library was built.
    Plain,
    /// Not at all: the feature `codecs` is off.
    Absent,
}

/// How this build decodes JPEG files.
pub const fn jpeg_decoding() -> JpegDecoding {
    if cfg!(not(feature = "codecs")) {
        JpegDecoding::Absent
    } else if cfg!(jpeg_simd) {
        JpegDecoding::Simd
    } else {
        JpegDecoding::Plain
    }
}

impl JpegDecoding {
    /// The same in words.
    pub const fn describe(self) -> &'static str {
        match self {
            JpegDecoding::Simd => "JPEG is decoded with SIMD",
            JpegDecoding::Plain => "JPEG is decoded without SIMD: `nasm` was missing when this was built",
            JpegDecoding::Absent => "JPEG is not decoded: built without the feature `codecs`",
        }
    }
}

impl fmt::Display for JpegDecoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.describe())
    }
}

/// Counts a file for [`tesson_core::DecodeWarnings`], if it is a JPEG that this build decodes without SIMD.
pub(crate) fn note_plain(file: &[u8], warnings: &mut tesson_core::DecodeWarnings) {
    if matches!(jpeg_decoding(), JpegDecoding::Plain) && file.starts_with(&[0xff, 0xd8, 0xff]) {
        warnings.plain_jpegs += 1;
    }
}
