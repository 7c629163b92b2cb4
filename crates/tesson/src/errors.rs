//! The kinds of errors: enums with a stable code for each kind, which the manual lists.
//!
//! [`DataError::code`](crate::DataError::code) gives the code of an error;
//! [`DataErrorKind::of_format`](crate::DataErrorKind::of_format) gives the fault of one format as that format's enum.

pub use tesson_core::{ErrorCodes, ErrorInfo, FormatFault, FormatFaults};
pub use tesson_formats::ctf::CtfFault;
