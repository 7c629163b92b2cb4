//! A reader with a list of deserializers, and what all readers of deserializers have in common.

use tesson_core::{
    ConfigError, KeyType, Name, OptionKind, OptionTable, Options, Registry, Section, Value, option_table,
};

use super::Draft;
use super::scope::Scope;
use super::unused_options::typed;
use super::window::{self, Rule, WINDOW};
use crate::lower::sections;
use crate::{READER_OPTIONS, Result, format_names};

/// Reads the section of a composite reader.
pub(super) fn read(scope: &Scope<'_>, registry: &Registry, draft: &mut Draft) -> Result<()> {
    let given = scope.own("deserializers");
    let list = sections("deserializers", given.map(|(_, value)| value))?;
    let trace_level = READER_OPTIONS.find("traceLevel").and_then(|spec| scope.find(spec));
    let mut deserializers = Vec::new();
    for (i, item) in list.iter().enumerate() {
        let Value::Section(section) = item else {
            return Err(ConfigError::wrong_type(format!("deserializers[{i}]"), item, "a section"));
        };
        let path = format!("deserializers[{i}]");
        let table = |name: &str| Some(registry.find(name, "").ok()?.options);
        let has_level = type_name(section).and_then(table).is_some_and(|t| t.find("traceLevel").is_some());
        // The reader decides over these, whatever a deserializer says itself.
        let mut own = section.clone();
        remove(&mut own, &["frameMode", "precision"]);
        if trace_level.is_some() || !has_level {
            remove(&mut own, &["traceLevel"]);
        }
        let mut kept = typed(&own, &path, &mut draft.ignored, registry, table);
        if let (Some((name, level)), true) = (trace_level, has_level) {
            kept.push(Name::at("traceLevel", name.span().cloned()), level.clone());
        }
        deserializers.push(kept);
    }
    let formats = || deserializers.iter().filter_map(|d| registry.find(type_name(d)?, "").ok());
    let kinds: Vec<&str> = formats().map(|format| format.name).collect();
    let rule = match kinds[..] {
        [format_names::IMAGE] => Rule::Images,
        _ if kinds.contains(&format_names::TEXT) => Rule::Text { chunk_bytes: chunk_bytes(scope)? },
        _ => Rule::NoText,
    };
    let facts = Facts {
        rule,
        images: kinds.contains(&format_names::IMAGE),
        text_keys: formats().any(|format| format.keys == KeyType::Text),
    };
    let deserializers = deserializers.into_iter().map(Value::Section).collect();
    let name = given.map_or("deserializers".into(), |(name, _)| name.clone());
    draft.section.push(name, Value::List(deserializers));
    scope.copy(READER_OPTIONS, |name| !NOT_COPIED.contains(&name), &mut draft.section);
    finish(scope, &facts, &mut draft.section)
}

/// Options of readers that are worked out.
pub(super) const NOT_COPIED: &[&str] = &[
    "deserializers",
    "module",
    WINDOW[0],
    WINDOW[1],
    WINDOW[2],
    WINDOW[3],
    "minibatchSize",
    "epochSize",
    "maxEpochs",
];

/// The properties of the deserializers on which the reader's defaults depend.
pub(super) struct Facts {
    pub(super) rule: Rule,
    pub(super) images: bool,
    /// True if keys are texts by default.
    pub(super) text_keys: bool,
}

/// Completes a section with what BrainScript's readers have by default and other forms of configurations have not.
pub(super) fn finish(scope: &Scope<'_>, facts: &Facts, section: &mut Section) -> Result<()> {
    if writes(scope) {
        remove(section, &["randomize", "frameMode", "truncated"]);
        section.push("randomize", Value::Bool(false));
    }
    let shuffled = window::put(scope, facts.rule, section)?;
    let frames = facts.rule == Rule::Images && shuffled;
    for (name, value) in [
        ("frameMode", frames),
        ("truncated", false),
        ("multiThreadedDeserialization", facts.images),
        ("useNumericSequenceKeys", !facts.text_keys),
        ("crossSweepEnds", false),
    ] {
        if section.get(name).is_none() {
            section.push(name, Value::Bool(value));
        }
    }
    Ok(())
}

/// True if the reader's section belongs to an action that writes: then whole sequences come as they are stored.
pub(super) fn writes(scope: &Scope<'_>) -> bool {
    scope.find_text("action").is_some_and(|action| action.eq_ignore_ascii_case("write"))
}

pub(super) fn remove(section: &mut Section, names: &[&str]) {
    section.0.retain(|(name, _)| !names.iter().any(|n| n.eq_ignore_ascii_case(name)));
}

/// `chunkSizeInBytes` at the reader's level, which only decides over the window.
fn chunk_bytes(scope: &Scope<'_>) -> Result<u64> {
    static TABLE: OptionTable = option_table! {
        "chunkSizeInBytes": OptionKind::Whole, "33554432"
            => "Size of a chunk.",
    };
    let given = scope.given(&TABLE, |_| true);
    let bytes = Options::new(&TABLE, &given, "")?.whole_if_given("chunkSizeInBytes");
    bytes.map(Option::unwrap_or_default).map_err(|e| e.located_in(&given))
}

fn type_name(section: &Section) -> Option<&str> {
    match section.get("type") {
        Some(Value::Text(name)) => Some(name),
        _ => None,
    }
}
