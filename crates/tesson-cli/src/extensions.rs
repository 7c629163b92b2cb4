//! Extensions of a program that embeds the command: custom formats, and types that configurations name.

use std::path::Path;

use tesson::ConfigError;
use tesson_core::Registry;
use tesson_core::Section;

/// The additions of a program to the command that it embeds.
pub trait Extensions {
    /// The formats and transforms that configurations may name.
    fn registry(&self) -> Registry {
        tesson::registry()
    }

    /// Replaces the program's types of deserializers in a reader's section by the objects that they name. `base_dir`
    /// is the folder of relative names, if they do not start from the working directory.
    ///
    /// # Errors
    /// [`ConfigError`] with the path of the option if an object cannot be made.
    fn resolve(&self, reader: &mut Section, base_dir: Option<&Path>) -> Result<(), ConfigError>;
}

/// The command as it is.
pub(crate) struct NoExtensions;

impl Extensions for NoExtensions {
    fn resolve(&self, _: &mut Section, _: Option<&Path>) -> Result<(), ConfigError> {
        Ok(())
    }
}
