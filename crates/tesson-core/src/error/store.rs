//! Storage that cannot be read.

use std::fmt;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use super::{ErrorCodes as _, Remedy, StoreErrorKind};

/// A file, or another place where bytes are kept, cannot be read.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct StoreError {
    /// The resource, as the configuration names it.
    pub file: Arc<Path>,
    /// The offset at which reading failed, if it got that far.
    pub offset: Option<u64>,
    /// The store's error.
    pub source: Arc<std::io::Error>,
    /// The remedy, as half a sentence.
    pub remedy: Option<Arc<str>>,
}

impl StoreError {
    /// An error of opening or reading `file`.
    pub fn new(file: Arc<Path>, offset: Option<u64>, source: std::io::Error) -> StoreError {
        StoreError { file, offset, source: Arc::new(source), remedy: None }
    }

    /// Why the storage cannot be read or written.
    pub fn kind(&self) -> StoreErrorKind {
        match self.source.kind() {
            ErrorKind::NotFound => StoreErrorKind::NotFound,
            ErrorKind::PermissionDenied => StoreErrorKind::PermissionDenied,
            ErrorKind::UnexpectedEof => StoreErrorKind::EndsEarly,
            ErrorKind::Interrupted
            | ErrorKind::TimedOut
            | ErrorKind::ConnectionReset
            | ErrorKind::ConnectionAborted => StoreErrorKind::Interrupted,
            _ => StoreErrorKind::Unreadable,
        }
    }

    /// The remedy.
    pub fn remedy(&self) -> Remedy {
        Remedy { own: self.remedy.as_deref().map(str::to_owned), ..self.kind().remedy() }
    }

    /// Sets the remedy.
    #[must_use]
    pub fn with_remedy(self, remedy: Option<String>) -> StoreError {
        StoreError { remedy: remedy.map(Into::into), ..self }
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        if let Some(offset) = self.offset {
            write!(f, " (byte {offset})")?;
        }
        write!(f, ": {}", self.source)?;
        self.remedy.as_ref().map_or(Ok(()), |remedy| write!(f, "; {remedy}"))
    }
}

impl std::error::Error for StoreError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&*self.source)
    }
}
