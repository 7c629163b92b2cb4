//! Errors of data, with their location.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use super::{DataErrorKind, ErrorCodes, Remedy};
use crate::{ChunkId, Key};

/// An error of data: the fault, its location, its stream and its sequence.
#[derive(Clone, Debug, PartialEq)]
pub struct DataError(Box<DataErrorInside>);

#[derive(Clone, Debug, PartialEq)]
struct DataErrorInside {
    kind: DataErrorKind,
    at: Location,
    chunk: Option<u32>,
    stream: Option<String>,
    key: Option<Key>,
    listing: Option<String>,
}

impl DataError {
    /// An error at a place.
    pub fn new(kind: impl Into<DataErrorKind>, at: Location) -> DataError {
        let kind = kind.into();
        DataError(Box::new(DataErrorInside { kind, at, chunk: None, stream: None, key: None, listing: None }))
    }

    /// An error in a chunk of a custom deserializer, shown with the deserializer's name instead of a file.
    pub fn in_chunk(kind: impl Into<DataErrorKind>, deserializer: &str, chunk: ChunkId) -> DataError {
        let at = Location { file: Path::new(deserializer).into(), offset: 0, line: None };
        let mut error = DataError::new(kind, at);
        error.0.chunk = Some(chunk.0);
        error
    }

    /// Adds the stream and the sequence of the fault.
    #[must_use]
    pub fn within(mut self, stream: Option<String>, key: Option<Key>) -> DataError {
        self.0.stream = stream;
        self.0.key = key;
        self
    }

    /// Sets another kind.
    #[must_use]
    pub fn with_kind(mut self, kind: DataErrorKind) -> DataError {
        self.0.kind = kind;
        self
    }

    /// Adds the location at which the file is listed, if another file lists it: `line 3 of map.txt lists it`.
    #[must_use]
    pub fn listed(mut self, listing: Option<String>) -> DataError {
        self.0.listing = listing;
        self
    }

    /// The place that lists the file, as [`DataError::listed`] takes it.
    pub fn listing(&self) -> Option<&str> {
        self.0.listing.as_deref()
    }

    /// Adds `lines` to the line, if that was counted within a part of the file.
    #[must_use]
    pub fn lines_down(mut self, lines: u64) -> DataError {
        self.0.at.line = self.0.at.line.map(|line| line + lines);
        self
    }

    /// The kind of fault.
    pub fn kind(&self) -> &DataErrorKind {
        &self.0.kind
    }

    /// The stable code of the error: that of the last fault if no fault is forgiven.
    pub fn code(&self) -> &'static str {
        match self.kind() {
            DataErrorKind::BudgetSpent { last, budget: 0, .. } => last.code(),
            kind => kind.code(),
        }
    }

    /// The remedy.
    pub fn remedy(&self) -> Remedy {
        self.kind().remedy()
    }

    /// Where.
    pub fn at(&self) -> &Location {
        &self.0.at
    }

    /// The chunk, where that is all that is known of the place.
    pub fn chunk(&self) -> Option<u32> {
        self.0.chunk
    }

    /// The stream, if the fault lies in one.
    pub fn stream(&self) -> Option<&str> {
        self.0.stream.as_deref()
    }

    /// The key of the sequence, if the fault lies in one.
    pub fn key(&self) -> Option<&Key> {
        self.0.key.as_ref()
    }
}

impl fmt::Display for DataError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.chunk {
            Some(chunk) => write!(f, "{}, chunk {chunk}: ", self.0.at.file.display())?,
            None => write!(f, "{}: ", self.0.at)?,
        }
        match (&self.0.stream, &self.0.key) {
            (Some(stream), Some(key)) => write!(f, "stream `{stream}`, sequence {key}: ")?,
            (Some(stream), None) => write!(f, "stream `{stream}`: ")?,
            (None, Some(key)) => write!(f, "sequence {key}: ")?,
            (None, None) => {}
        }
        self.0.kind.fmt(f)?;
        self.0.listing.as_ref().map_or(Ok(()), |listing| write!(f, "; {listing}"))
    }
}

impl std::error::Error for DataError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.0.kind {
            DataErrorKind::User { cause, .. } | DataErrorKind::Transform { cause, .. } => Some(&*cause.0),
            _ => None,
        }
    }
}

/// A place in an input file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// The file, as the configuration names it.
    pub file: Arc<Path>,
    /// Bytes from the start of the file, from 0.
    pub offset: u64,
    /// Physical line, from 1; `None` in binary formats and if it is not known.
    pub line: Option<u64>,
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        match self.line {
            Some(line) => write!(f, ":{line} (byte {})", self.offset),
            None => write!(f, " (byte {})", self.offset),
        }
    }
}
