//! Configurations that cannot be opened.

use std::fmt;

use super::{ConfigErrorKind, ErrorCodes};
use crate::{ConfigSpan, Section};

/// A configuration that is not valid, or that cannot be opened.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConfigError {
    /// Path of the option, such as `deserializers[0].input.x.dim`; empty for the whole.
    pub path: String,
    /// The fault, with the value found, the expected one, and the remedy.
    pub what: String,
    /// The stable code of the error.
    pub code: &'static str,
    /// The location of the value, if it is in a text and known.
    pub at: Option<ConfigSpan>,
}

impl ConfigError {
    /// An error of the option at `path`, of the kind `config.invalid-option`.
    pub fn new(path: impl Into<String>, what: impl Into<String>) -> ConfigError {
        ConfigError::refused(path, &ConfigErrorKind::InvalidOption { what: what.into() })
    }

    /// The option at `path` is refused for a reason that has a code.
    pub fn refused(path: impl Into<String>, reason: &impl ErrorCodes) -> ConfigError {
        ConfigError { path: path.into(), what: reason.to_string(), code: reason.code(), at: None }
    }

    /// Sets the location, unless the error already has one.
    #[must_use]
    pub fn at(mut self, place: Option<ConfigSpan>) -> ConfigError {
        self.at = self.at.or(place);
        self
    }

    /// Sets the location of its path in the section from which the path starts.
    #[must_use]
    pub fn located_in(self, section: &Section) -> ConfigError {
        let place = section.span_of(&self.path).cloned();
        self.at(place)
    }

    /// Extends the path to the outside: `path` is put before the error's own.
    #[must_use]
    pub fn within(mut self, path: &str) -> ConfigError {
        let dot = if path.is_empty() || self.path.is_empty() { "" } else { "." };
        self.path = format!("{path}{dot}{}", self.path);
        self
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(place) = &self.at {
            write!(f, "{place}: ")?;
        }
        // An argument such as `--set maxErrors=3` or `--equal-steps` names the option itself.
        let option = self.path.rsplit('.').next().unwrap_or_default();
        let is_option = |word: &str| word.replace('-', "").eq_ignore_ascii_case(option);
        let names =
            |place: &ConfigSpan| place.file.split(|c: char| !c.is_alphanumeric() && c != '-').any(is_option);
        let is_named = self.at.as_ref().is_some_and(|place| place.is_argument() && names(place));
        if !self.path.is_empty() && !is_named {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.what)
    }
}

impl std::error::Error for ConfigError {}
