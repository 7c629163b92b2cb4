//! The labels of a configuration by themselves, to be written in another format.

use tesson_core::{ConfigError, Options, Value};

use super::{DeserializerConfig, DeserializerDefaults, SourceConfig};
use crate::ReaderRefusal;

/// The option that marks where phones begin.
const BOUNDARIES: &str = "phoneBoundaries";

impl SourceConfig {
    /// A copy with only the deserializer of labels that need others to be read, and with whole utterances, which have
    /// texts as keys. The beginnings of phones are marked where its files have them; the second result is true if they
    /// are.
    ///
    /// # Errors
    /// No such deserializer, or several; what their options are refused for.
    pub fn labels_config(&self) -> Result<(SourceConfig, bool), ConfigError> {
        let mut labels = Vec::new();
        for deserializer in &self.deserializers {
            let options =
                Options::new(deserializer.format.options, &deserializer.options, deserializer.path.clone())?;
            let opened = (deserializer.format.open)(&options, &self.reader_defaults());
            if opened.map_err(|e| deserializer.located(e))?.facts().needs_another_first {
                labels.push(deserializer);
            }
        }
        let [only] = labels[..] else {
            let refusal = ReaderRefusal::LabelDeserializers { n: labels.len() };
            return Err(ConfigError::refused("deserializers", &refusal));
        };
        let (only, has_boundaries) = with_boundaries(only.clone());
        let mut config = SourceConfig { deserializers: vec![only], ..self.clone() };
        config.truncation.is_on = false;
        config.defaults = DeserializerDefaults { frame_mode: false, numeric_keys: false, ..config.defaults };
        config.order.bucketing = None;
        config.join.hash_keys = false;
        Ok((config, has_boundaries))
    }
}

/// Marks boundaries in all streams, if the format has an option for it.
fn with_boundaries(mut deserializer: DeserializerConfig) -> (DeserializerConfig, bool) {
    let table = deserializer.format.options.inner("input");
    if table.is_none_or(|table| table.find(BOUNDARIES).is_none()) {
        return (deserializer, false);
    }
    let Some((_, Value::Section(streams))) =
        deserializer.options.0.iter_mut().rev().find(|(name, _)| name.eq_ignore_ascii_case("input"))
    else {
        return (deserializer, false);
    };
    for (_, stream) in &mut streams.0 {
        if let Value::Section(section) = stream {
            // The last value of a name counts.
            section.push(BOUNDARIES, Value::Bool(true));
        }
    }
    (deserializer, true)
}
