//! From the numbers of pictures to those of the stream.

use tesson_core::{OptionTable, Section, TransformFormat};

pub(crate) static FORMAT: TransformFormat = TransformFormat {
    name: "Cast",
    help: "Makes the values those of the stream's type.",
    options: &OptionTable(&[]),
    describe: |_| Ok(Section::default()),
    open: None,
};
