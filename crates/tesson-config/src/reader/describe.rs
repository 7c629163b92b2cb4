//! The complete description of a reader, typed and with every default, as JSON (spec/brainscript.md §14).

use serde_json::{Map, Value as Json, json};
use tesson_core::{
    ConfigError, Deserializer, Format, OptionSet, OptionTable, Options, ReaderDefaults, Registry, Section,
    Value,
};

use super::{Reader, ReaderType, is_cntk_module};
use crate::READER_OPTIONS;
use crate::ReaderRefusal;
use crate::json::{section_to_json, to_json};
use crate::lower::lower_unchecked;
use crate::source::DeserializerConfig;

/// Stands for a deserializer that a module is to register: only who imports that knows what its options mean.
static PLUG_IN: Format = Format::new("plug-in", "", &OptionTable(&[]), not_opened);

fn not_opened(_: &Options<'_>, _: &ReaderDefaults) -> Result<Box<dyn Deserializer>, ConfigError> {
    Err(ConfigError::refused("", &ReaderRefusal::OnlyDescribed))
}

/// The section of a deserializer, if its type is unknown and it names the module that registers it.
fn plug_in<'v>(part: &'v Value, registry: &Registry) -> Option<&'v Section> {
    let Value::Section(section) = part else { return None };
    let (Some(Value::Text(name)), Some(module)) = (section.get("type"), section.get("module")) else {
        return None;
    };
    let is_cntk = matches!(module, Value::Text(module) if is_cntk_module(module));
    (!is_cntk && registry.find(name, "").is_err()).then_some(section)
}

/// Checks a reader's section as far as that goes without the modules that register its types, so that no module of an
/// invalid configuration is imported. What is checked anyway where no module is named is left to others.
///
/// # Errors
/// Unknown options, and values that are not of their option's type, outside of the deserializers that modules make.
pub fn check_before_modules(section: &Section, registry: &Registry) -> Result<(), ConfigError> {
    let mut section = section.clone();
    let list = section.0.iter_mut().find(|(name, _)| name.eq_ignore_ascii_case("deserializers"));
    let Some((_, Value::List(parts))) = list else { return Ok(()) };
    if !parts.iter().any(|part| plug_in(part, registry).is_some()) {
        return Ok(());
    }
    let is_unknown = |part: &&mut Value| match part {
        Value::Section(inner) => {
            matches!(inner.get("type"), Some(Value::Text(name)) if registry.find(name, "").is_err())
        }
        _ => false,
    };
    // A module may register the types of others, too.
    parts.iter_mut().filter(is_unknown).for_each(|part| *part = stand_in());
    let source = lower_unchecked(&section, &registry.clone().with(&PLUG_IN))?;
    source.check()?;
    let mut known = source.deserializers.iter().filter(|d| d.format.name != PLUG_IN.name);
    known.try_for_each(|d| deserializer(d, &source.reader_defaults(), registry).map(drop))
}

/// A section of [`PLUG_IN`].
fn stand_in() -> Value {
    Value::Section([("type", Value::Text(PLUG_IN.name.into()))].into_iter().collect())
}

/// The options of the reader that a description shows; the source's own are all of them.
const DESCRIBED: &[&str] = &[
    "precision",
    "randomize",
    "randomizationSeed",
    "randomizationWindow",
    "sampleBasedRandomizationWindow",
    "frameMode",
    "truncated",
    "truncationLength",
    "maxErrors",
    "verbosity",
    "multiThreadedDeserialization",
    "useNumericSequenceKeys",
    "hashSequenceKeys",
];

impl Reader {
    /// Describes the reader: every option of it and of its deserializers, typed, and the unused options.
    ///
    /// # Errors
    /// Values that are not of their option's type, and options that exclude each other.
    pub fn describe(&self, registry: &Registry) -> Result<Json, ConfigError> {
        self.described(registry).map_err(|e| self.located(e))
    }

    fn described(&self, registry: &Registry) -> Result<Json, ConfigError> {
        // By position: sections that are shown as they were written.
        let mut plug_ins = Vec::new();
        let mut section = self.section.clone();
        if let Some((_, Value::List(parts))) =
            section.0.iter_mut().find(|(name, _)| name.eq_ignore_ascii_case("deserializers"))
        {
            for part in parts {
                let written = plug_in(part, registry).map(section_to_json);
                if written.is_some() {
                    *part = stand_in();
                }
                plug_ins.push(written);
            }
        }
        let source = lower_unchecked(&section, &registry.clone().with(&PLUG_IN))?;
        let options = Options::new(READER_OPTIONS, &self.section, "")?;
        // Readers of speech take the size of the minibatch for a length of 0.
        let is_open = self.kind == ReaderType::Speech
            && source.truncation.is_on
            && options.whole("truncationLength")? == 0
            && !source.defaults.frame_mode;
        if !is_open {
            source.check()?;
        }
        let section = source.describe(&options, registry)?;
        let mut described = json!({"source": self.kind.name()});
        for name in DESCRIBED {
            described[*name] = section.get(name).map_or(Json::Null, to_json);
        }
        if let Some(parallel) = &self.parallel_sequences {
            described["parallelSequences"] = json!(parallel);
        }
        let deserializers = source.deserializers.iter().enumerate();
        let deserializers = deserializers.map(|(i, d)| match plug_ins.get(i) {
            Some(Some(written)) => Ok(written.clone()),
            _ => deserializer(d, &source.reader_defaults(), registry),
        });
        described["deserializers"] = deserializers.collect::<Result<Vec<_>, _>>()?.into();
        described["ignored"] = self.ignored.iter().map(|i| i.path.as_str()).collect();
        Ok(described)
    }
}

fn deserializer(
    config: &DeserializerConfig,
    defaults: &ReaderDefaults,
    registry: &Registry,
) -> Result<Json, ConfigError> {
    let options = Options::new(config.format.options, &config.options, config.path.clone())?;
    let mut section = (config.format.describe)(&options, defaults, registry)?;
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
/// Those of [`Reader::describe`].
pub(crate) fn resolved(tree: &Section, readers: &[Reader], registry: &Registry) -> Result<Json, ConfigError> {
    let described = readers.iter().map(|r| Ok((r.path.clone(), r.describe(registry)?)));
    let described = described.collect::<Result<Map<String, Json>, ConfigError>>()?;
    Ok(json!({"tree": section_to_json(tree), "readers": described}))
}
