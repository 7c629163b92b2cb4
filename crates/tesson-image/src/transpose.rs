//! `Transpose`: reorders rows, columns, channels to channels, rows, columns.

use tesson_core::identity::Identity;
use tesson_core::{Error, OpenTransform, OptionTable, Options, ReadFile, Section, TransformFormat};

use crate::picture_transforms::{self, NamedStep};
use crate::transform::pipeline::Step;

pub(crate) static FORMAT: TransformFormat = TransformFormat {
    name: "Transpose",
    help: "Puts channels first: from height, width, channels to channels, height, width.",
    options: &OptionTable(&[]),
    describe: |_| Ok(Section::default()),
    open: OpenTransform::Chained(picture_transforms::open),
};

pub(crate) fn step(_: &Options<'_>, _: &ReadFile<'_>) -> Result<NamedStep, Error> {
    Ok(NamedStep { step: Step::Transpose, identity: Identity::new("transpose", 1) })
}
