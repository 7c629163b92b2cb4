//! `Cast`: converts the values of pictures to the element type of the stream.

use tesson_core::identity::Identity;
use tesson_core::{Error, OpenTransform, OptionTable, Options, ReadFile, Section, TransformFormat};

use crate::picture_transforms::{self, NamedStep};
use crate::transform::pipeline::Step;

pub(crate) static FORMAT: TransformFormat = TransformFormat {
    name: "Cast",
    help: "Makes the values those of the stream's type.",
    options: &OptionTable(&[]),
    describe: |_| Ok(Section::default()),
    open: OpenTransform::Chained(picture_transforms::open),
};

pub(crate) fn step(_: &Options<'_>, _: &ReadFile<'_>) -> Result<NamedStep, Error> {
    Ok(NamedStep { step: Step::Cast, identity: Identity::new("cast", 1) })
}
