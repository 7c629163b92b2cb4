//! The registry: which formats there are, and what opens each.

use crate::{ConfigError, Deserializer, Element, OptionTable, Options, nearest};

/// What the reader section around a deserializer decides for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The type of all streams' values (`precision`).
    pub element: Element,
    /// Every sequence is one sample (`frameMode`).
    pub frame_mode: bool,
    /// Keys are numbers (`useNumericSequenceKeys`).
    pub numeric_keys: bool,
    /// The default of `cacheIndex`.
    pub cache_index: bool,
}

/// Makes a deserializer from its options and what the reader around it decides.
pub type OpenFn = fn(&Options<'_>, &Setting) -> Result<Box<dyn Deserializer>, ConfigError>;

/// A format: its name, its options, and how to make its deserializer.
pub struct Format {
    /// The deserializer's type in configurations, such as `CNTKTextFormatDeserializer`.
    pub name: &'static str,
    /// Older types and module names that mean the same.
    pub aliases: &'static [&'static str],
    /// One sentence.
    pub help: &'static str,
    /// Its options.
    pub options: &'static OptionTable,
    /// Makes the deserializer; nothing is read yet.
    pub open: OpenFn,
}

/// All formats known, built-in ones and the caller's own.
#[derive(Clone, Default)]
pub struct Registry {
    formats: Vec<&'static Format>,
}

impl Registry {
    /// A registry of these formats.
    pub fn new(formats: &[&'static Format]) -> Registry {
        Registry { formats: formats.to_vec() }
    }

    /// The same with one more, which wins over earlier ones of its name.
    #[must_use]
    pub fn with(mut self, format: &'static Format) -> Registry {
        self.formats.insert(0, format);
        self
    }

    /// All formats.
    pub fn formats(&self) -> &[&'static Format] {
        &self.formats
    }

    /// The format of a type name.
    ///
    /// # Errors
    /// An unknown name, with the nearest known one.
    pub fn find(&self, name: &str, path: &str) -> Result<&'static Format, ConfigError> {
        if let Some(f) = self.formats.iter().find(|f| f.name == name || f.aliases.contains(&name)) {
            return Ok(f);
        }
        let known = self.formats.iter().map(|f| f.name);
        Err(ConfigError::new(
            path,
            match nearest(name, known) {
                Some(near) => format!("unknown type `{name}`, did you mean `{near}`?"),
                None => {
                    let all: Vec<&str> = self.formats.iter().map(|f| f.name).collect();
                    format!("unknown type `{name}`, expected one of {}", all.join(", "))
                }
            },
        ))
    }
}
