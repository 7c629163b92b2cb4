//! Configurations: of files, of texts, and what they can say.

use std::path::Path;

pub use tesson_config::{ExcludedKeys, MinibatchConfig, OrderConfig, Randomize, Schedule};
pub use tesson_core::{Augmentation, FaultRules, RuntimeSpec, Section, Value};
pub use tesson_plan::{EqualSteps, Limit, Sharing, Window};

use tesson_config::{Choices, ConfigAccess, Loaded};
use tesson_core::StoreError;
use tesson_engine::store::{Store as _, Stores, read_text};

use crate::{Error, SourceConfig, registry};

/// The meaning of a JSON configuration, with the built-in formats.
///
/// # Errors
/// Text that is no JSON, and options that mean nothing.
pub fn from_json(text: &str) -> Result<SourceConfig, Error> {
    Ok(tesson_config::from_json(text, &registry())?)
}

/// Reads a configuration: the path of a file (`*.json`, `*.toml`, anything else is BrainScript), or a text. A text is
/// JSON if it begins with a brace, else BrainScript; a brace, an equals sign or a line feed tells it from a path.
///
/// # Errors
/// A file that cannot be read, text that is no configuration, and overrides without a place.
pub fn load(config: &str, choices: &Choices) -> Result<Loaded, Error> {
    tesson_config::load(config, choices, &Process, registry())
}

/// The local files and the environment of this process.
struct Process;

impl ConfigAccess for Process {
    fn read_text(&self, path: &Path) -> Result<String, StoreError> {
        read_text(&Stores::local(), path)
    }

    fn exists(&self, path: &Path) -> bool {
        Stores::local().entry(path).is_ok()
    }

    fn variable(&self, name: &str) -> Option<String> {
        std::env::var(name).ok()
    }
}
