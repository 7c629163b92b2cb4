//! Names in a configuration, and where each was written.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// A location in the text of a configuration, or an argument outside of any text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigSpan {
    /// The file as it was named, or another name of the text, such as `argument 2`.
    pub file: Arc<str>,
    /// Line, from 1; 0 for an argument, which has no lines.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
}

impl ConfigSpan {
    /// The location of a value that was given by an argument, such as the option `--seed` of a command line.
    pub fn argument(argument: impl Into<Arc<str>>) -> ConfigSpan {
        ConfigSpan { file: argument.into(), line: 0, column: 0 }
    }

    /// True if it is an argument.
    pub fn is_argument(&self) -> bool {
        self.line == 0
    }
}

impl fmt::Display for ConfigSpan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_argument() {
            return f.write_str(&self.file);
        }
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// The name of an entry of a section, and its location, if it was written in a text. Names are equal if their texts
/// are.
#[derive(Clone, Debug)]
pub struct Name {
    text: String,
    span: Option<ConfigSpan>,
}

impl Name {
    /// A name that was written there.
    pub fn at(text: impl Into<String>, span: Option<ConfigSpan>) -> Name {
        Name { text: text.into(), span }
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Sets the location of the name.
    #[must_use]
    pub fn with_span(self, span: ConfigSpan) -> Name {
        Name { span: Some(span), ..self }
    }

    /// The location of the name, if it was written in a text.
    pub fn span(&self) -> Option<&ConfigSpan> {
        self.span.as_ref()
    }
}

impl PartialEq for Name {
    fn eq(&self, other: &Name) -> bool {
        self.text == other.text
    }
}

impl PartialEq<str> for Name {
    fn eq(&self, other: &str) -> bool {
        self.text == other
    }
}

impl Deref for Name {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text
    }
}

impl From<&str> for Name {
    fn from(text: &str) -> Name {
        Name::at(text, None)
    }
}

impl From<String> for Name {
    fn from(text: String) -> Name {
        Name::at(text, None)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
