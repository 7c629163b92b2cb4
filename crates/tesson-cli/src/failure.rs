//! Why a command ends early, and with which exit code.

use std::fmt;
use std::io;
use std::path::Path;

use tesson::{ConfigError, Error, ResumeError};

use crate::data;

/// The error of a command.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The engine's or the configuration's own error.
    Tesson(Error),
    /// A state that cannot be restored, with the option that names its file.
    State(String, ResumeError),
    /// Arguments that mean nothing; with the repair.
    Usage(String),
    /// A file of the command's own (a configuration, a state) that cannot be read or written.
    File(String),
    /// Faults were found, and have been shown already.
    FaultsFound,
    /// The reader of the output has closed it.
    Closed,
}

impl Failure {
    /// 0, 1 (data or storage), or 2 (usage or configuration).
    pub(crate) fn exit_code(&self) -> i32 {
        match self {
            Failure::Closed => 0,
            Failure::Tesson(Error::Config(_) | Error::Usage(_) | Error::Resume(_))
            | Failure::State(..)
            | Failure::Usage(_) => 2,
            Failure::Tesson(_) | Failure::File(_) | Failure::FaultsFound => 1,
        }
    }

    /// The stable code of the error, if it has one.
    pub(crate) fn code(&self) -> Option<&'static str> {
        match self {
            Failure::Tesson(e) => Some(e.code()),
            Failure::State(_, e) => Some(e.code()),
            _ => None,
        }
    }

    /// The remedy, if the error has a code.
    pub(crate) fn remedy(&self) -> Option<String> {
        match self {
            Failure::Tesson(e) => Some(tesson::errors::remedy_of(e)),
            Failure::State(_, e) => Some(e.remedy().to_string()),
            _ => None,
        }
    }

    /// An error of restoring the state in a file.
    pub(crate) fn of_state(path: &Path, e: Error) -> Failure {
        match e {
            Error::Resume(e) => Failure::State(format!("--state {}", path.display()), e),
            other => other.into(),
        }
    }

    /// A file of the command's own that cannot be read or written.
    pub(crate) fn file(path: &Path, e: io::Error) -> Failure {
        Failure::Tesson(tesson_engine::store::unreadable(&data::stores(), path, e).into())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Tesson(e) => f.write_str(&tesson::errors::with_remedy(e)),
            Failure::State(option, e) => write!(f, "{option}: {e}"),
            Failure::Usage(what) | Failure::File(what) => f.write_str(what),
            Failure::FaultsFound => f.write_str("faults were found"),
            Failure::Closed => f.write_str("the output was closed"),
        }
    }
}

impl From<Error> for Failure {
    fn from(e: Error) -> Failure {
        Failure::Tesson(e)
    }
}

impl From<ConfigError> for Failure {
    fn from(e: ConfigError) -> Failure {
        Failure::Tesson(e.into())
    }
}

/// Errors of standard output.
impl From<io::Error> for Failure {
    fn from(e: io::Error) -> Failure {
        match e.kind() {
            io::ErrorKind::BrokenPipe => Failure::Closed,
            _ => Failure::File(format!("standard output: {e}")),
        }
    }
}
