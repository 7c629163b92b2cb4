//! What a reader means, typed and with every default, as JSON (§14).

use serde_json::{Map, Value as Json, json};
use tesson_core::{ConfigError, Element, Options, Registry, Section, Setting, Value};
use tesson_plan::Window;

use super::window::ALL;
use super::{Kind, Reader};
use crate::READER_OPTIONS;
use crate::json::section_to_json;
use crate::lower::understand;
use crate::source::{DeserializerConfig, Randomize};

impl Reader {
    /// What the reader means: every option of it and of its deserializers, typed, and the options that nobody reads.
    ///
    /// # Errors
    /// Values that are not of their option's type, and options that exclude each other.
    pub fn describe(&self, registry: &Registry) -> Result<Json, ConfigError> {
        self.described(registry).map_err(|e| self.located(e))
    }

    fn described(&self, registry: &Registry) -> Result<Json, ConfigError> {
        let source = understand(&self.section, registry)?;
        let options = Options::new(&READER_OPTIONS, &self.section, "")?;
        let truncated = options.bool("truncated")?;
        let length = options.whole("truncationLength")?.unwrap_or(0);
        // Readers of speech take the size of the minibatch for a length of 0.
        let is_open = self.kind == Kind::Speech && truncated && length == 0 && !source.frame_mode;
        if !is_open {
            source.check()?;
        }
        let (window, in_samples) = match (source.randomize, &source.randomization_window) {
            (Randomize::Window, Window::Samples(ALL..)) => (json!("all"), json!(true)),
            (Randomize::Window, Window::Chunks(ALL..)) => (json!("all"), json!(false)),
            (Randomize::Window, Window::Samples(n)) => (json!(n), json!(true)),
            (Randomize::Window, Window::Chunks(n)) => (json!(n), json!(false)),
            _ => (Json::Null, Json::Null),
        };
        let mut described = json!({
            "source": self.kind.name(),
            "precision": match source.precision {
                Element::F64 => "double",
                Element::F32 => "float",
            },
            "randomize": match source.randomize {
                Randomize::Off => json!(false),
                Randomize::Window => json!(true),
                Randomize::Global => json!("global"),
            },
            "randomizationSeed": source.randomization_seed,
            "randomizationWindow": window,
            "sampleBasedRandomizationWindow": in_samples,
            "frameMode": source.frame_mode,
            "truncated": truncated,
            "truncationLength": length,
            "maxErrors": source.max_errors,
            "verbosity": options.whole("verbosity")?.unwrap_or(0),
            "multiThreadedDeserialization": options.bool("multiThreadedDeserialization")?,
            "useNumericSequenceKeys": source.use_numeric_sequence_keys,
            "hashSequenceKeys": source.hash_sequence_keys,
        });
        if let Some(parallel) = &self.parallel_sequences {
            described["parallelSequences"] = json!(parallel);
        }
        let deserializers = source.deserializers.iter();
        let deserializers = deserializers.map(|d| deserializer(d, &source.setting(), registry));
        described["deserializers"] = deserializers.collect::<Result<Vec<_>, _>>()?.into();
        described["ignored"] = self.ignored.iter().map(|i| i.path.as_str()).collect();
        Ok(described)
    }
}

fn deserializer(
    config: &DeserializerConfig,
    setting: &Setting,
    registry: &Registry,
) -> Result<Json, ConfigError> {
    let options = Options::new(config.format.options, &config.options, config.path.clone())?;
    let mut section = (config.format.describe)(&options, setting, registry)?;
    if let Some((_, Value::Section(input))) = section.0.iter_mut().find(|(name, _)| name.as_str() == "input")
    {
        input.0.sort_by_key(|(name, _)| name.to_ascii_lowercase());
    }
    let mut described = Map::from_iter([("type".to_string(), json!(config.format.name))]);
    if let Json::Object(options) = section_to_json(&section) {
        described.extend(options);
    }
    Ok(Json::Object(described))
}

/// A configuration and its readers, for people and programs: `{"tree": …, "readers": {path: …}}`.
///
/// # Errors
/// As [`Reader::describe`].
pub(crate) fn resolved(tree: &Section, readers: &[Reader], registry: &Registry) -> Result<Json, ConfigError> {
    let described = readers.iter().map(|r| Ok((r.path.clone(), r.describe(registry)?)));
    let described = described.collect::<Result<Map<String, Json>, ConfigError>>()?;
    Ok(json!({"tree": section_to_json(tree), "readers": described}))
}
