//! The options of files of images in Base64, and their meaning.

use std::path::PathBuf;
use std::slice;

use tesson_core::identity::Identity;
use tesson_core::{OptionKind, OptionSet, ReaderDefaults, options};

use crate::images::{Decoding, FILE, ImageInput, ImageOptions, Pixels, describe_file};
use crate::options::VERBOSITY;

options! {
    /// The options of the deserializer.
    #[derive(Clone, Debug)]
    pub(super) struct Base64Options(options, reader: ReaderDefaults) {
        file: PathBuf = FILE
            [describe with |_, options, section| describe_file(options, section)];
        ..input: ImageInput;
        ..pixels: Pixels;
        ..decoding: Decoding;
        pub(super) max_errors: Option<u64> = "maxErrors", optional
            => "Number of images that cannot be decoded to tolerate before reading fails; by default the reader's `maxErrors`.";
        _ = VERBOSITY [describe never];
        _ = "cacheIndex": OptionKind::Unused, optional
            => "Has no effect: the file is indexed each time.";
        let version: u32 = 1 => [identity with |base64, text| text.word("base64").word(base64.version)];
        pub(super) let images: ImageOptions =
            ImageOptions::new(slice::from_ref(&file), &input, &pixels, &decoding);
        check |base64, options| base64.images.check_dim_is_given(options);
    }
}

impl Base64Options {
    /// Everything that samples depend on beside the file.
    pub(super) fn identity(&self) -> String {
        self.identify(Identity::default()).text()
    }
}
