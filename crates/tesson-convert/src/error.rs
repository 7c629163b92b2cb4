//! Why a conversion ends early.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use tesson_core::Error;
use tesson_formats::write::WriteError;

/// A conversion that could not be done.
#[derive(Debug)]
pub enum ConvertError {
    /// The input cannot be read in the declared format.
    Input(Error),
    /// A row of a table is invalid.
    Row {
        /// The file.
        file: PathBuf,
        /// The line it begins in, from 1.
        line: u64,
        /// The found and the expected.
        what: String,
    },
    /// Options are invalid for this input; the text has the remedy.
    Usage(String),
    /// A file that cannot be opened, read or written.
    File {
        /// The file.
        file: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The output's format cannot hold this.
    Refused {
        /// The file that was to be written.
        file: PathBuf,
        /// The value that cannot be held, and the remedy.
        what: String,
    },
    /// The output differs from the input.
    Differs(String),
}

impl ConvertError {
    /// The error of an output file that the system answers with.
    pub(crate) fn file(file: &Path, source: io::Error) -> ConvertError {
        match source.kind() {
            io::ErrorKind::AlreadyExists => ConvertError::exists(file),
            _ => ConvertError::File { file: file.into(), source },
        }
    }

    pub(super) fn exists(file: &Path) -> ConvertError {
        let remedy = "replace it with `--force`, or choose another name";
        ConvertError::Usage(format!("{}: the file exists; {remedy}", file.display()))
    }

    pub(super) fn write(file: &Path, e: WriteError) -> ConvertError {
        match e {
            WriteError::Io(source) => ConvertError::file(file, source),
            WriteError::Refused { .. } => ConvertError::Refused { file: file.into(), what: e.to_string() },
        }
    }
}

impl fmt::Display for ConvertError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConvertError::Input(e) => e.fmt(f),
            ConvertError::Row { file, line, what } => write!(f, "{}:{line}: {what}", file.display()),
            ConvertError::Usage(what) => f.write_str(what),
            ConvertError::File { file, source } => write!(f, "{}: {source}", file.display()),
            ConvertError::Refused { file, what } => write!(f, "{} cannot be written: {what}", file.display()),
            ConvertError::Differs(what) => write!(f, "what was written differs from what was read: {what}"),
        }
    }
}

impl std::error::Error for ConvertError {}

impl From<Error> for ConvertError {
    fn from(e: Error) -> ConvertError {
        ConvertError::Input(e)
    }
}
