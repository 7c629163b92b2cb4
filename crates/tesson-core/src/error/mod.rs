//! Errors, grouped by who can fix them, with location and values.

mod codes;
mod config;
mod data;
mod data_kind;
mod kinds;
mod manual;
mod resume;
mod store;
mod values;

use std::fmt;
use std::sync::Arc;

pub use codes::{AnyKind, ErrorCodes, ErrorInfo, Remedy};
pub use config::ConfigError;
pub use data::{DataError, Location};
pub use data_kind::{DataErrorKind, FormatFault, FormatFaults, SEQUENCES_IN_MEMORY};
pub use kinds::{CallErrorKind, ConfigErrorKind, ResumeErrorKind, StoreErrorKind};
pub use manual::{ErrorEntry, error_entries, error_manual, general_entries};
pub use resume::ResumeError;
pub use store::StoreError;
pub use values::{Expected, Found};

/// Any error of a user's code. An [`Error`] in it is passed on as it is; any other becomes a [`DataError`] that says where
/// and has it as its cause.
pub type UserError = Box<dyn std::error::Error + Send + Sync>;

/// The error of other code that caused one of ours.
#[derive(Clone, Debug)]
pub struct Cause(pub Arc<dyn std::error::Error + Send + Sync>);

impl PartialEq for Cause {
    fn eq(&self, other: &Cause) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// A call that can never be right, such as a minibatch of 0 samples. The source is as it was before the call.
#[derive(Clone, Debug, PartialEq)]
pub struct UsageError(AnyKind);

impl UsageError {
    /// An error of the kind `usage.invalid-call`.
    pub fn new(what: String) -> UsageError {
        UsageError::refused(&CallErrorKind::Invalid { what })
    }

    /// The call is refused for a reason that has a code.
    pub fn refused(reason: &impl ErrorCodes) -> UsageError {
        UsageError(reason.clone().into())
    }

    /// The stable code of the error.
    pub fn code(&self) -> &'static str {
        self.0.code()
    }

    /// The reason, with its values: [`AnyKind::get`] gives it as the enum that declares it.
    pub fn kind(&self) -> &AnyKind {
        &self.0
    }

    /// The remedy.
    pub fn remedy(&self) -> Remedy {
        self.0.remedy()
    }
}

impl fmt::Display for UsageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for UsageError {}

/// Everything that can go wrong.
#[non_exhaustive]
#[derive(Clone, Debug)]
pub enum Error {
    /// Bad data.
    Data(DataError),
    /// Unreadable storage.
    Store(StoreError),
    /// A configuration that cannot be opened.
    Config(ConfigError),
    /// A state that cannot be restored.
    Resume(ResumeError),
    /// A call that can never be right.
    Usage(UsageError),
    /// Reading was called off: the source was closed, or the caller interrupted it.
    Cancelled,
}

impl Error {
    /// The stable code of the error.
    pub fn code(&self) -> &'static str {
        match self {
            Error::Data(e) => e.code(),
            Error::Store(e) => e.kind().code(),
            Error::Config(e) => e.code(),
            Error::Resume(e) => e.code(),
            Error::Usage(e) => e.code(),
            Error::Cancelled => CallErrorKind::Cancelled.code(),
        }
    }

    /// The remedy.
    pub fn remedy(&self) -> Remedy {
        match self {
            Error::Data(e) => e.remedy(),
            Error::Store(e) => e.remedy(),
            Error::Config(e) => e.remedy(),
            Error::Resume(e) => e.remedy(),
            Error::Usage(e) => e.remedy(),
            Error::Cancelled => CallErrorKind::Cancelled.remedy(),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Data(e) => e.fmt(f),
            Error::Store(e) => e.fmt(f),
            Error::Config(e) => e.fmt(f),
            Error::Resume(e) => e.fmt(f),
            Error::Usage(e) => e.fmt(f),
            Error::Cancelled => CallErrorKind::Cancelled.fmt(f),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Store(e) => e.source(),
            Error::Data(e) => e.source(),
            _ => None,
        }
    }
}

macro_rules! from {
    ($($variant:ident($inner:ident)),*) => {$(
        impl From<$inner> for Error {
            fn from(e: $inner) -> Error {
                Error::$variant(e)
            }
        }
    )*};
}
from!(Data(DataError), Store(StoreError), Config(ConfigError), Resume(ResumeError), Usage(UsageError));
