//! Configurations that cannot be opened.

use std::fmt;
use std::sync::Arc;

use super::{AnyKind, ConfigErrorKind, ErrorCodes, Expected, Found, Remedy};
use crate::{ConfigSpan, Section, Spelling};

/// A configuration that is not valid, or that cannot be opened.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ConfigError {
    /// Path of the option, such as `deserializers[0].input.x.dim`; empty for the whole.
    pub path: String,
    /// The location of the value, if it is in a text and known.
    pub at: Option<ConfigSpan>,
    kind: AnyKind,
    file: Option<Arc<str>>,
    advice: Option<Arc<str>>,
}

impl ConfigError {
    /// The option at `path` is refused for a reason that has a code.
    pub fn refused(path: impl Into<String>, reason: &impl ErrorCodes) -> ConfigError {
        ConfigError { path: path.into(), at: None, kind: reason.clone().into(), file: None, advice: None }
    }

    /// The option at `path` has a value of another type.
    pub fn wrong_type(
        path: impl Into<String>,
        found: impl Into<Found>,
        expected: impl Into<Expected>,
    ) -> ConfigError {
        let (found, expected) = (found.into(), expected.into());
        ConfigError::refused(path, &ConfigErrorKind::WrongType { found, expected })
    }

    /// The option at `path` has a number outside of its limits.
    pub fn out_of_range(
        path: impl Into<String>,
        found: impl Into<Found>,
        expected: impl Into<Expected>,
    ) -> ConfigError {
        let (found, expected) = (found.into(), expected.into());
        ConfigError::refused(path, &ConfigErrorKind::OutOfRange { found, expected })
    }

    /// The option at `path` has a word that it does not know.
    pub fn unknown_word(
        path: impl Into<String>,
        found: impl Into<Found>,
        expected: impl Into<Expected>,
    ) -> ConfigError {
        let (found, expected) = (found.into(), expected.into());
        ConfigError::refused(path, &ConfigErrorKind::UnknownWord { found, expected })
    }

    /// The option at `path` has a text of another form.
    pub fn wrong_form(
        path: impl Into<String>,
        found: impl Into<Found>,
        expected: impl Into<Expected>,
    ) -> ConfigError {
        let (found, expected) = (found.into(), expected.into());
        ConfigError::refused(path, &ConfigErrorKind::WrongForm { found, expected })
    }

    /// The option at `path` lists nothing.
    pub fn nothing_given(
        path: impl Into<String>,
        found: impl Into<Found>,
        expected: impl Into<Expected>,
    ) -> ConfigError {
        let (found, expected) = (found.into(), expected.into());
        ConfigError::refused(path, &ConfigErrorKind::NothingGiven { found, expected })
    }

    /// The stable code of the error.
    pub fn code(&self) -> &'static str {
        self.kind.code()
    }

    /// The reason, with its values: [`AnyKind::get`] gives it as the enum that declares it.
    pub fn kind(&self) -> &AnyKind {
        &self.kind
    }

    /// The remedy.
    pub fn remedy(&self) -> Remedy {
        let remedy = self.kind.remedy();
        match &self.advice {
            Some(advice) => Remedy { own: Some(remedy.own.unwrap_or_else(|| advice.to_string())), ..remedy },
            None => remedy,
        }
    }

    /// The text without path and location.
    pub fn message(&self) -> String {
        let file = self.file.as_ref().map_or(String::new(), |file| format!("{file}: "));
        let advice = self.advice.as_ref().map_or(String::new(), |advice| format!("; {advice}"));
        format!("{file}{}{advice}", self.kind)
    }

    /// Names the file whose content is refused.
    #[must_use]
    pub fn in_file(self, file: impl Into<Arc<str>>) -> ConfigError {
        ConfigError { file: Some(file.into()), ..self }
    }

    /// Adds what may help, as the last part of the text.
    #[must_use]
    pub fn with_remedy(self, advice: impl Into<Arc<str>>) -> ConfigError {
        ConfigError { advice: Some(advice.into()), ..self }
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
            write!(f, "{}: ", Spelling::current().path(&self.path))?;
        }
        f.write_str(&self.message())
    }
}

impl std::error::Error for ConfigError {}
