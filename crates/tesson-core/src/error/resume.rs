//! States that cannot be restored.

use std::fmt;

use super::{ErrorCodes, Remedy, ResumeErrorKind};

/// A saved state that does not belong to the source it is restored into, or is no state.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ResumeError {
    /// The property that differs, such as `the randomization seed`.
    pub what: String,
    /// The state's value.
    pub state: String,
    /// The source's value, or the one that is expected.
    pub source: String,
    reason: Reason,
}

/// The variants of [`ResumeErrorKind`], which all have the same fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reason {
    OtherSource,
    OtherShare,
    OtherVersion,
    Unreadable,
    NotAllRanks,
}

impl ResumeError {
    /// The error for a state of another source: `what` has the value `state` there, and `source` in this one.
    pub fn new(what: impl ToString, state: impl ToString, source: impl ToString) -> ResumeError {
        ResumeError::of(Reason::OtherSource, what, state, source)
    }

    /// A state of another worker.
    pub fn other_share(what: impl ToString, state: impl ToString, source: impl ToString) -> ResumeError {
        ResumeError::of(Reason::OtherShare, what, state, source)
    }

    /// The error for a state of another release: `what` is `found` instead of `expected`.
    pub fn other_version(what: impl ToString, found: impl ToString, expected: impl ToString) -> ResumeError {
        ResumeError::of(Reason::OtherVersion, what, found, expected)
    }

    /// The error for bytes or a text that are not a state: `what` is `found` instead of `expected`.
    pub fn unreadable(what: impl ToString, found: impl ToString, expected: impl ToString) -> ResumeError {
        ResumeError::of(Reason::Unreadable, what, found, expected)
    }

    /// The error for states that cannot be merged: `what` is `found` instead of `expected`.
    pub fn not_all_ranks(what: impl ToString, found: impl ToString, expected: impl ToString) -> ResumeError {
        ResumeError::of(Reason::NotAllRanks, what, found, expected)
    }

    fn of(reason: Reason, what: impl ToString, state: impl ToString, source: impl ToString) -> ResumeError {
        ResumeError { what: what.to_string(), state: state.to_string(), source: source.to_string(), reason }
    }

    /// The stable code of the error.
    pub fn code(&self) -> &'static str {
        self.kind().code()
    }

    /// The remedy.
    pub fn remedy(&self) -> Remedy {
        self.kind().remedy()
    }

    fn kind(&self) -> ResumeErrorKind {
        let ResumeError { what, state, source, reason } = self.clone();
        match reason {
            Reason::OtherSource => ResumeErrorKind::OtherSource { what, state, source },
            Reason::OtherShare => ResumeErrorKind::OtherShare { what, state, source },
            Reason::OtherVersion => ResumeErrorKind::OtherVersion { what, state, source },
            Reason::Unreadable => ResumeErrorKind::Unreadable { what, state, source },
            Reason::NotAllRanks => ResumeErrorKind::NotAllRanks { what, state, source },
        }
    }
}

impl fmt::Display for ResumeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind().fmt(f)
    }
}

impl std::error::Error for ResumeError {}
