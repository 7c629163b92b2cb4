//! The kinds of errors: enums with a stable code for each kind, which the manual lists.
//!
//! [`Error::code`](crate::Error::code) gives the code of an error;
//! [`DataErrorKind::of_format`](crate::DataErrorKind::of_format) gives the fault of one format as that format's enum.

pub use tesson_core::{ErrorCodes, ErrorEntry, ErrorInfo, FormatFault, FormatFaults};
pub use tesson_formats::cbf::CbfFault;
pub use tesson_formats::ctf::CtfFault;
pub use tesson_formats::record::{Fault as RecordFault, Problem as RecordProblem};
pub use tesson_plan::PlanRefusal;

use tesson_core::{DataErrorKind, error_entries};

/// The manual's page of errors: each kind with its code, meaning, remedy and an example of its text.
pub fn manual() -> String {
    let entries = [
        error_entries::<DataErrorKind>(),
        error_entries::<CtfFault>(),
        error_entries::<CbfFault>(),
        error_entries::<RecordFault>(),
        error_entries::<PlanRefusal>(),
        tesson_core::general_entries(),
    ];
    tesson_core::error_manual(entries.concat())
}
