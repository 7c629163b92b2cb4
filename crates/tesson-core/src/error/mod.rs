//! What can go wrong, grouped by who can repair it, with the place and the values.

mod codes;
mod config;
mod data;
mod data_kind;
mod manual;
mod store;

use std::fmt;
use std::sync::Arc;

pub use codes::{ErrorCodes, ErrorInfo};
pub use config::ConfigError;
pub use data::{DataError, Location};
pub use data_kind::{DataErrorKind, FormatFault, FormatFaults, SEQUENCES_IN_MEMORY};
pub use manual::{ErrorEntry, error_entries, error_manual, general_entries};
pub use store::StoreError;

/// Any error of a user's code. An [`Error`] in it is passed on as it is; any other becomes a [`DataError`] that says where
/// and has it as its cause.
pub type UserError = Box<dyn std::error::Error + Send + Sync>;

/// An error of somebody else's code that stands behind one of ours.
#[derive(Clone, Debug)]
pub struct Cause(pub Arc<dyn std::error::Error + Send + Sync>);

impl PartialEq for Cause {
    fn eq(&self, other: &Cause) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// A saved state that does not belong to the source it is restored into, or is no state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResumeError {
    /// What differs, such as `randomizationSeed`.
    pub what: String,
    /// The state's value.
    pub state: String,
    /// The source's value.
    pub source: String,
}

impl fmt::Display for ResumeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the state does not belong to this source: {} is {} in the state and {} here",
            self.what, self.state, self.source
        )
    }
}

impl std::error::Error for ResumeError {}

/// A call that can never be right, such as a minibatch of 0 samples. The source is as it was before the call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsageError {
    what: String,
    code: &'static str,
}

impl UsageError {
    /// An error of the kind `usage.invalid-call`.
    pub fn new(what: String) -> UsageError {
        UsageError { what, code: "usage.invalid-call" }
    }

    /// The call is refused for a reason that has a code.
    pub fn refused(reason: &impl ErrorCodes) -> UsageError {
        UsageError { what: reason.to_string(), code: reason.code() }
    }

    /// The stable code of what is wrong.
    pub fn code(&self) -> &'static str {
        self.code
    }
}

impl fmt::Display for UsageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
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
    /// The stable code of what is wrong.
    pub fn code(&self) -> &'static str {
        match self {
            Error::Data(e) => e.code(),
            Error::Store(_) => "store.unreadable",
            Error::Config(e) => e.code,
            Error::Resume(_) => "resume.other-source",
            Error::Usage(e) => e.code(),
            Error::Cancelled => "usage.cancelled",
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
            Error::Cancelled => f.write_str("reading was cancelled"),
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
