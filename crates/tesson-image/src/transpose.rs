//! From rows, columns, channels to channels, rows, columns.

use tesson_core::{OptionTable, Section, TransformFormat};

pub(crate) static FORMAT: TransformFormat = TransformFormat {
    name: "Transpose",
    help: "Puts channels first: from height, width, channels to channels, height, width.",
    options: &OptionTable(&[]),
    describe: |_| Ok(Section::default()),
    open: None,
};
