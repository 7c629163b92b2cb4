//! The registry: all formats, with the functions that open them.

use std::fmt;
use std::iter;
use std::path::Path;
use std::sync::Arc;

use crate::store::Store;
use crate::{
    ConfigError, ConfigErrorKind, Deserializer, Element, Error, OptionTable, Options, Section, Transform,
    describe_from_table, nearest,
};

/// The options of a deserializer that its reader section decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReaderDefaults {
    /// The type of all streams' values (`precision`).
    pub element: Element,
    /// Every sequence is one sample (`frameMode`).
    pub frame_mode: bool,
    /// Keys are numbers (`useNumericSequenceKeys`).
    pub numeric_keys: bool,
    /// The default of `cacheIndex`.
    pub cache_index: bool,
    /// True if any fault is forgiven (`maxErrors`, `maxErrorShare`): a fault found when a source is opened is then
    /// not an error before its sequence is delivered.
    pub forgives: bool,
}

/// A function that makes a deserializer from its options and those that the reader decides.
pub type OpenFn = fn(&Options<'_>, &ReaderDefaults) -> Result<Box<dyn Deserializer>, ConfigError>;

/// Resolves the options of a format: all of them, typed, with every default, under the names of configurations. The registry
/// describes lists of transforms and the like.
pub type DescribeFn = fn(&Options<'_>, &ReaderDefaults, &Registry) -> Result<Section, ConfigError>;

/// The streams of encoded samples, each with the section of the transform that decodes it: it runs before those that the
/// stream's section lists. The store is for formats whose data say which transform that is.
pub type DecoderFn =
    fn(&Options<'_>, &ReaderDefaults, &dyn Store) -> Result<Vec<(String, Section)>, ConfigError>;

/// A format: its name, its options, and how to make its deserializer.
#[non_exhaustive]
pub struct Format {
    /// The deserializer's type in configurations, such as `CNTKTextFormatDeserializer`.
    pub name: &'static str,
    /// Older types and module names that mean the same.
    pub aliases: &'static [&'static str],
    /// One sentence.
    pub help: &'static str,
    /// Its options.
    pub options: &'static OptionTable,
    /// The keys that it reads where the configuration does not say (`useNumericSequenceKeys`).
    pub keys: KeyType,
    /// Resolves the options, for people and for other programs.
    pub describe: DescribeFn,
    /// Names the transforms that decode its streams of encoded samples, if it may have any.
    pub decoder: Option<DecoderFn>,
    /// Makes the deserializer; nothing is read yet.
    pub open: OpenFn,
}

impl Format {
    /// A format of numeric keys that is described by its table alone.
    pub const fn new(
        name: &'static str,
        help: &'static str,
        options: &'static OptionTable,
        open: OpenFn,
    ) -> Format {
        Format {
            name,
            aliases: &[],
            help,
            options,
            keys: KeyType::Numeric,
            describe: describe_from_table,
            decoder: None,
            open,
        }
    }

    /// Adds further names.
    #[must_use]
    pub const fn with_aliases(self, aliases: &'static [&'static str]) -> Format {
        Format { aliases, ..self }
    }

    /// Sets another type of keys.
    #[must_use]
    pub const fn with_keys(self, keys: KeyType) -> Format {
        Format { keys, ..self }
    }

    /// Sets the transforms that decode its streams of encoded samples.
    #[must_use]
    pub const fn with_decoder(self, decoder: DecoderFn) -> Format {
        Format { decoder: Some(decoder), ..self }
    }

    /// Sets another description.
    #[must_use]
    pub const fn with_describe(self, describe: DescribeFn) -> Format {
        Format { describe, ..self }
    }
}

/// The type of the keys of a format's sequences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyType {
    /// Numbers.
    Numeric,
    /// Texts, such as the names of utterances.
    Text,
}

/// A transform of samples, as configurations name it.
pub struct TransformFormat {
    /// Its `type`.
    pub name: &'static str,
    /// One sentence.
    pub help: &'static str,
    /// Its options.
    pub options: &'static OptionTable,
    /// Describes the options: all of them, typed, with every default.
    pub describe: fn(&Options<'_>) -> Result<Section, ConfigError>,
    /// The function that makes it.
    pub open: OpenTransform,
}

/// The function that makes a transform.
#[derive(Clone, Copy, Debug)]
pub enum OpenTransform {
    /// Makes one transform from its options.
    Single(OpenTransformFn),
    /// Makes one transform of it and of those after it that are made by the same function.
    Chained(OpenChainFn),
}

/// Makes one transform of several that follow each other in a list, each with its options.
pub type OpenChainFn =
    fn(&[(&'static TransformFormat, Options<'_>)], &ReadFile<'_>) -> Result<Arc<dyn Transform>, Error>;

/// Makes a transform from its options. The files that they name are read here, once.
pub type OpenTransformFn = fn(&Options<'_>, &ReadFile<'_>) -> Result<Arc<dyn Transform>, Error>;

/// The bytes of a file that options name, from where the source reads its files.
pub type ReadFile<'a> = dyn Fn(&Path) -> Result<Vec<u8>, Error> + 'a;

/// All formats and transforms known, built-in ones and the caller's own.
#[derive(Clone, Default)]
pub struct Registry {
    formats: Vec<&'static Format>,
    transforms: Vec<&'static TransformFormat>,
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let formats: Vec<&str> = self.formats.iter().map(|format| format.name).collect();
        let transforms: Vec<&str> = self.transforms.iter().map(|transform| transform.name).collect();
        f.debug_struct("Registry").field("formats", &formats).field("transforms", &transforms).finish()
    }
}

impl Registry {
    /// A registry of these formats.
    pub fn new(formats: &[&'static Format]) -> Registry {
        Registry { formats: formats.to_vec(), ..Registry::default() }
    }

    /// Adds these transforms.
    #[must_use]
    pub fn with_transforms(mut self, transforms: &[&'static TransformFormat]) -> Registry {
        self.transforms.extend_from_slice(transforms);
        self
    }

    /// Adds a format, which takes precedence over earlier ones of its name.
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
        let aliases = self.formats.iter().flat_map(|f| f.aliases.iter().copied());
        Err(unknown_type(path, name, self.formats.iter().map(|f| f.name), aliases))
    }

    /// All transforms.
    pub fn transforms(&self) -> &[&'static TransformFormat] {
        &self.transforms
    }

    /// The transform of a type name.
    ///
    /// # Errors
    /// An unknown name, with the nearest known one.
    pub fn find_transform(&self, name: &str, path: &str) -> Result<&'static TransformFormat, ConfigError> {
        let found = self.transforms.iter().find(|t| t.name == name).copied();
        found.ok_or_else(|| unknown_type(path, name, self.transforms.iter().map(|t| t.name), iter::empty()))
    }
}

/// The error of a name that is none of the `known` ones, which are listed, nor of their `aliases`, which may be meant.
fn unknown_type(
    path: &str,
    name: &str,
    known: impl Iterator<Item = &'static str> + Clone,
    aliases: impl Iterator<Item = &'static str>,
) -> ConfigError {
    let longer =
        |known: &&str| !name.is_empty() && known.to_ascii_lowercase().starts_with(&name.to_ascii_lowercase());
    // A beginning is meant to be that of a first name, though an alias may be shorter.
    let near = known.clone().find(longer).or_else(|| nearest(name, known.clone().chain(aliases)));
    let nearest = near.map(str::to_owned);
    let known = known.collect::<Vec<_>>().join(", ");
    ConfigError::refused(path, &ConfigErrorKind::UnknownType { name: name.to_owned(), known, nearest })
}
