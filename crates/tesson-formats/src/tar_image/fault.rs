//! Faults of tar archives of images.

use tesson_core::{FormatFaults, OptionName};

const IMAGE_EXTENSION: OptionName = OptionName::new("imageExtension");
const LABEL_EXTENSION: OptionName = OptionName::new("labelExtension");

const LABEL_DIM: OptionName = OptionName::new("labelDim");

tesson_core::error_kinds! {
    /// A fault of a tar archive of images.
    pub enum TarImageFault {
        /// The file is not a tar archive, or is damaged here.
        BadHeader { why: String = "archive header checksum mismatch".into() }
            = "tar-image.bad-header": "expected the header of a member: {why}"
            => "Recreate the archive as a tar file, plain or compressed with gzip.",
        /// The file is compressed with something other than gzip.
        Compressed { form: &'static str = "xz" }
            = "tar-image.compressed": "the archive is compressed by {form}, expected a tar file, plain or compressed by gzip"
            => "Unpack the archive to a `.tar`; its images are compressed by themselves.",
        /// The compression of the file is damaged.
        BadGzip { why: String = "its checksum is another one".into() }
            = "tar-image.bad-gzip": "the archive cannot be unpacked by gzip: {why}"
            => "Copy the archive again, or unpack it to a `.tar`.",
        /// A member goes beyond the end of the file.
        Truncated { member: String = "7.jpg".into(), needs: u64 = 4096, left: u64 = 512 }
            = "tar-image.truncated": "`{member}` has {needs} bytes, the archive ends after {left} of them"
            => "Recreate the archive; it is truncated.",
        /// A sample has more than one image.
        SeveralImages { first: String = "7.jpg".into(), second: String = "7.png".into() }
            = "tar-image.several-pictures": "`{first}` and `{second}` are images of one sample"
            => "Choose one of them with {IMAGE_EXTENSION}; if they are two samples, rename one: members are of one sample if their names \
                are equal up to the first `.`.",
        /// An image or a class is stored as a sparse file.
        Sparse { member: String = "7.jpg".into() }
            = "tar-image.sparse": "`{member}` is stored as a sparse file, whose bytes are not all in the archive"
            => "Recreate the archive without sparse files (`tar` without `--sparse`).",
        /// A sample has an image and no class.
        NoLabel { image: String = "7.jpg".into(), expected: String = "7.cls".into() }
            = "tar-image.no-label": "the sample of `{image}` has no `{expected}`, expected the number of its class"
            => "Add the class after the image, name its extension in {LABEL_EXTENSION}, or leave out the stream of labels.",
        /// A class is no number.
        BadLabel { member: String = "7.cls".into(), found: String = "cat".into() }
            = "tar-image.bad-label": "`{member}` holds `{found}`, expected the number of a class"
            => "Number the classes from 0.",
        /// A class is not below the number of classes.
        LabelOutOfRange { label: u64 = 10, dim: u64 = 10 }
            = "tar-image.label-out-of-range": "the label is {label}, expected one below {LABEL_DIM}, {dim}"
            => "Raise {LABEL_DIM}, or fix the label.",
        /// An image, or the name of a member, is larger than can be.
        TooLarge { what: &'static str = "the image", bytes: u64 = 5_000_000_000, most: u64 = 4_294_967_295 }
            = "tar-image.too-large": "{what} has {bytes} bytes, expected at most {most}"
            => "Leave the member out of the archive.",
        /// No sample has an image.
        NoImages
            = "tar-image.no-pictures": "no member is an image by its extension"
            => "Name the extension of images in {IMAGE_EXTENSION}.",
    }
}

impl FormatFaults for TarImageFault {}

impl TarImageFault {
    /// True if a label is at fault.
    pub(super) fn is_of_label(&self) -> bool {
        use TarImageFault::{BadLabel, LabelOutOfRange, NoLabel};
        matches!(self, BadLabel { .. } | LabelOutOfRange { .. } | NoLabel { .. })
    }
}
