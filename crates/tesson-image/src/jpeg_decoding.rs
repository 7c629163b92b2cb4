//! The JPEG decoder of this build.

use std::fmt;

/// The decoder of JPEG files. Pixels are those of libjpeg-turbo, with SIMD and without, except for those of
/// [`Rust`](Self::Rust).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum JpegDecoding {
    /// With SIMD.
    Simd,
    /// Without: the assembler `nasm` was missing when the library was built.
    Plain,
    /// By a decoder in Rust, with other pixels: the feature `pure-rust` is on, and `codecs` is off.
    Rust,
    /// Not at all: the feature `codecs` is off.
    Absent,
}

/// The JPEG decoder of this build.
pub const fn jpeg_decoding() -> JpegDecoding {
    if cfg!(all(feature = "pure-rust", not(feature = "codecs"))) {
        JpegDecoding::Rust
    } else if cfg!(not(feature = "codecs")) {
        JpegDecoding::Absent
    } else if cfg!(jpeg_simd) {
        JpegDecoding::Simd
    } else {
        JpegDecoding::Plain
    }
}

impl JpegDecoding {
    /// Describes the decoder in words.
    pub const fn describe(self) -> &'static str {
        match self {
            JpegDecoding::Simd => "JPEG is decoded with SIMD",
            JpegDecoding::Plain => "JPEG is decoded without SIMD: `nasm` was missing when this was built",
            JpegDecoding::Rust => {
                "JPEG is decoded in Rust (feature `pure-rust`): pixels differ from those of libjpeg-turbo"
            }
            JpegDecoding::Absent => "JPEG is not decoded: built without the feature `codecs`",
        }
    }
}

impl fmt::Display for JpegDecoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.describe())
    }
}

/// Counts a file for [`tesson_core::DecodeWarnings`], if it is a JPEG that this build decodes without SIMD, or to other pixels.
pub(crate) fn note_jpeg(file: &[u8], warnings: &mut tesson_core::DecodeWarnings) {
    if !file.starts_with(&[0xff, 0xd8, 0xff]) {
        return;
    }
    match jpeg_decoding() {
        JpegDecoding::Plain => warnings.plain_jpegs += 1,
        JpegDecoding::Rust => warnings.rust_jpegs += 1,
        JpegDecoding::Simd | JpegDecoding::Absent => {}
    }
}

#[cfg(test)]
mod tests {
    use tesson_core::DecodeWarnings;

    use super::*;

    #[test]
    fn what_is_slow_or_different_is_said() {
        let said = |decoding: JpegDecoding, words: &[&str]| {
            let text = decoding.to_string();
            assert!(words.iter().all(|word| text.contains(word)), "{text}");
        };
        said(JpegDecoding::Simd, &["with SIMD"]);
        said(JpegDecoding::Plain, &["without SIMD", "`nasm` was missing"]);
        said(JpegDecoding::Rust, &["feature `pure-rust`", "pixels differ"]);
        said(JpegDecoding::Absent, &["not decoded", "without the feature `codecs`"]);
    }

    #[test]
    fn jpegs_that_are_decoded_slowly_or_differently_are_counted_and_nothing_else() {
        let mut warnings = DecodeWarnings::default();
        note_jpeg(b"\x89PNG", &mut warnings);
        assert_eq!(warnings, DecodeWarnings::default());
        note_jpeg(&[0xff, 0xd8, 0xff, 0xe0], &mut warnings);
        let expected = match jpeg_decoding() {
            JpegDecoding::Plain => (1, 0),
            JpegDecoding::Rust => (0, 1),
            JpegDecoding::Simd | JpegDecoding::Absent => (0, 0),
        };
        assert_eq!((warnings.plain_jpegs, warnings.rust_jpegs), expected);
    }
}
