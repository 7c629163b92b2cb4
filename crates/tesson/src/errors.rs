//! The kinds of errors: enums with a stable code for each kind, which the manual lists.
//!
//! [`Error::code`](crate::Error::code) gives the code of an error;
//! [`DataErrorKind::of_format`](crate::DataErrorKind::of_format) gives the fault of one format as that format's enum.

pub use tesson_config::ConfigConflict;
pub use tesson_core::{
    CallErrorKind, ConfigErrorKind, ErrorCodes, ErrorEntry, ErrorInfo, FormatFault, FormatFaults,
    ResumeErrorKind, StoreErrorKind,
};
pub use tesson_engine::EngineRefusal;
pub use tesson_formats::FilesFault;
pub use tesson_formats::base64_image::Base64ImageFault;
pub use tesson_formats::cbf::CbfFault;
pub use tesson_formats::ctf::CtfFault;
pub use tesson_formats::example::{ExampleError, Fault as ExampleFault};
pub use tesson_formats::htk::HtkFault;
pub use tesson_formats::image_map::ImageMapFault;
pub use tesson_formats::mlf::MlfFault;
pub use tesson_formats::record::{Fault as RecordFault, Problem as RecordProblem};
pub use tesson_formats::user::UserFault;
pub use tesson_image::decode::PictureError;
pub use tesson_image::transform::TransformFault;
pub use tesson_plan::PlanRefusal;
pub use tesson_tfds::fault::{RecordFault as TfdsRecordFault, TfdsFault};
pub use tesson_tfds::features::FeatureFault;

use tesson_core::{DataErrorKind, error_entries};

/// The manual's page of errors: each kind with its code, meaning, remedy and an example of its text.
pub fn manual() -> String {
    let entries = [
        error_entries::<DataErrorKind>(),
        error_entries::<CtfFault>(),
        error_entries::<CbfFault>(),
        error_entries::<FilesFault>(),
        error_entries::<ImageMapFault>(),
        error_entries::<Base64ImageFault>(),
        error_entries::<HtkFault>(),
        error_entries::<MlfFault>(),
        error_entries::<UserFault>(),
        error_entries::<RecordFault>(),
        error_entries::<ExampleError>(),
        error_entries::<TfdsFault>(),
        error_entries::<FeatureFault>(),
        error_entries::<PlanRefusal>(),
        error_entries::<EngineRefusal>(),
        error_entries::<PictureError>(),
        error_entries::<TransformFault>(),
        error_entries::<ConfigConflict>(),
        tesson_core::general_entries(),
    ];
    tesson_core::error_manual(entries.concat())
}
