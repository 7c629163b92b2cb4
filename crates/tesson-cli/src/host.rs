//! What a program that has the command inside adds to it: formats of its own, and types that configurations name.

use std::path::Path;

use tesson::deserializer::Section;
use tesson::{ConfigError, Registry};

/// The program around the command.
pub trait Host {
    /// The formats and transforms that configurations may name.
    fn registry(&self) -> Registry {
        tesson::registry()
    }

    /// Puts what it makes of its own types of deserializers in their places in a reader's section. `base_dir` is the folder
    /// of relative names, if they do not start from the working directory.
    ///
    /// # Errors
    /// What cannot be made, with the path of the option.
    fn resolve(&self, reader: &mut Section, base_dir: Option<&Path>) -> Result<(), ConfigError>;
}

/// A program that adds nothing.
pub(crate) struct Alone;

impl Host for Alone {
    fn resolve(&self, _: &mut Section, _: Option<&Path>) -> Result<(), ConfigError> {
        Ok(())
    }
}
