//! The options of tar archives, and their meaning.

use std::path::PathBuf;

use tesson_core::identity::{Identity, Maybe, Quoted};
use tesson_core::{OptionSet, ReaderDefaults, Value, options};

use crate::images::{Decoding, ImageInput, ImageOptions, Pixels};
use crate::options::{FILE, VERBOSITY};

options! {
    /// The options of the deserializer.
    #[derive(Clone, Debug)]
    pub(super) struct TarOptions(options, reader: ReaderDefaults) {
        files: Vec<PathBuf> = FILE;
        ..input: ImageInput;
        /// In small letters, as [`TarOptions::label_extension`].
        pub(super) image_extension: Option<String> = "imageExtension", optional
            => "Part of an image's name after the first `.`, such as `jpg` or `left.png`; by default any usual image extension."
            [read options.text_if_given("imageExtension")?.map(extension)]
            [describe after "jpegScaledDecode" with |tar, _, section| {
                if let Some(extension) = &tar.image_extension {
                    section.push("imageExtension", Value::Text(extension.clone()));
                }
                Ok(())
            }]
            [identity after "version" with |tar, text| text.field("image", Maybe(tar.image_extension.as_deref().map(Quoted)))];
        pub(super) label_extension: String = "labelExtension", "cls"
            => "Part after the first `.` in the names of members that hold the number of a class as text."
            [read extension(options.text("labelExtension")?)]
            [describe after "imageExtension" as |tar| Value::Text(tar.label_extension.clone())]
            [identity after "imageExtension" with |tar, text| text.field("label", Quoted(&tar.label_extension))];
        ..pixels: Pixels;
        ..decoding: Decoding;
        _ = VERBOSITY [describe never];
        let version: u32 = 1 => [identity after "numeric_keys" with |tar, text| text.word("tar").word(tar.version)];
        pub(super) let images: ImageOptions = ImageOptions::new(&files, &input, &pixels, &decoding);
        check |tar, options| tar.images.check_dim_is_given(options);
    }
}

/// An extension in small letters, without the dot before it.
fn extension(text: String) -> String {
    text.trim_start_matches('.').to_ascii_lowercase()
}

impl TarOptions {
    /// Everything that samples depend on beside the archives.
    pub(super) fn identity(&self) -> String {
        self.identify(Identity::default()).text()
    }
}
