//! The list of deserializers, and the options of the reader that a deserializer may have in its stead.

use std::collections::BTreeSet;

use tesson_core::{
    ConfigError, ConfigErrorKind, Element, KeyType, OptionKind, OptionTable, Options, Registry, Section,
    Value, split_type,
};

use crate::READER_OPTIONS;
use crate::ReaderRefusal;
use crate::Result;
use crate::conflict::ConfigConflict;
use crate::format_names;
use crate::reader::is_cntk_module;
use crate::source::{DeserializerConfig, PRECISIONS};

/// The deserializers of a reader, the primary one first.
pub(super) fn in_order(options: &Options<'_>, registry: &Registry) -> Result<Vec<DeserializerConfig>> {
    let mut all = listed(options, registry)?;
    check_streams(&all)?;
    if let Some(primary) = primary(options, &all)? {
        all[..=primary].rotate_right(1);
    }
    Ok(all)
}

fn listed(options: &Options<'_>, registry: &Registry) -> Result<Vec<DeserializerConfig>> {
    let name = "deserializers";
    let entries = sections(name, options.given(name))?;
    entries.iter().enumerate().map(|(i, v)| deserializer(v, format!("{name}[{i}]"), registry)).collect()
}

/// Refuses options of a deserializer, or of its streams, that stand among those of the reader, with the path that is meant.
pub(super) fn refuse_their_options(tree: &Section, registry: &Registry) -> Result<()> {
    let Some(Value::List(listed)) = tree.get("deserializers") else { return Ok(()) };
    for (name, _) in tree.0.iter().filter(|(name, _)| READER_OPTIONS.find(name).is_none()) {
        let meant = listed.iter().enumerate().find_map(|(i, deserializer)| {
            let Value::Section(section) = deserializer else { return None };
            // A type that does not exist is refused where it is looked up.
            let (kind, options) = split_type(section, "").ok()?;
            let table = registry.find(kind, "").ok()?.options;
            Some(format!("deserializers[{i}].{}", path_within(table, &options, name)?))
        });
        if let Some(meant) = meant {
            let nearest = Some(meant.into());
            let unknown = ConfigErrorKind::UnknownOption { name: name.to_string(), nearest };
            return Err(ConfigError::refused("", &unknown).at(name.span().cloned()));
        }
    }
    Ok(())
}

/// The path of an option in a deserializer's section, or in that of its first stream.
fn path_within(table: &OptionTable, section: &Section, name: &str) -> Option<String> {
    if let Some(option) = table.find(name) {
        return Some(option.name.to_owned());
    }
    table.0.iter().find_map(|option| {
        let (OptionKind::Sections(inner) | OptionKind::Streams(inner)) = option.kind else { return None };
        let inner = inner.find(name)?;
        let Some(Value::Section(streams)) = section.get(option.name) else { return None };
        let (stream, _) = streams.0.first()?;
        Some(format!("{}.{stream}.{}", option.name, inner.name))
    })
}

/// Refuses deserializers of one format and the same streams: meant are several files of one corpus, and under other names their
/// sequences would be joined by their numbers.
fn check_streams(all: &[DeserializerConfig]) -> Result<()> {
    for (number, one) in all.iter().enumerate() {
        let is_alike = |other: &&DeserializerConfig| {
            other.format.name == one.format.name && !streams(one).is_empty() && streams(one) == streams(other)
        };
        let Some(other) = all[..number].iter().find(is_alike) else { continue };
        let Some(list) = list_of_files(one.format.options, &other.options, &one.options) else { continue };
        let conflict = ConfigConflict::SameStreams { other: other.path.clone(), list };
        return Err(ConfigError::refused(one.path.clone(), &conflict));
    }
    Ok(())
}

/// The names of a deserializer's streams, where its configuration has them.
fn streams(deserializer: &DeserializerConfig) -> BTreeSet<&str> {
    match deserializer.options.get("input") {
        Some(Value::Section(streams)) => streams.0.iter().map(|(name, _)| name.as_str()).collect(),
        _ => BTreeSet::new(),
    }
}

/// The option that lists files, of the deserializer or of its streams, with the files of both.
fn list_of_files(table: &OptionTable, one: &Section, other: &Section) -> Option<String> {
    for option in table.0 {
        match option.kind {
            OptionKind::Files => {
                let file = |section: &Section| match section.get(option.name) {
                    Some(Value::Text(file)) => format!("\"{file}\""),
                    _ => "…".to_owned(),
                };
                return Some(format!("{} = [{}, {}]", option.name, file(one), file(other)));
            }
            OptionKind::Sections(table) | OptionKind::Streams(table) => {
                let first = |section: &Section| match section.get(option.name) {
                    Some(Value::Section(streams)) => match streams.0.first() {
                        Some((_, Value::Section(stream))) => stream.clone(),
                        _ => Section::default(),
                    },
                    _ => Section::default(),
                };
                if let Some(list) = list_of_files(table, &first(one), &first(other)) {
                    return Some(list);
                }
            }
            _ => {}
        }
    }
    None
}

/// The sections that an option lists, or the only one.
pub(crate) fn sections<'v>(name: &str, given: Option<&'v Value>) -> Result<&'v [Value]> {
    match given {
        Some(Value::List(entries)) => Ok(entries),
        Some(one @ Value::Section(_)) => Ok(std::slice::from_ref(one)),
        Some(other) => Err(ConfigError::wrong_type(name, other, "a list of sections")),
        None => Err(ConfigError::refused(name, &ConfigErrorKind::MissingOption { expected: "" })),
    }
}

/// Where in the list the deserializer is that `primary` means: by number, type or one of its streams.
fn primary(options: &Options<'_>, all: &[DeserializerConfig]) -> Result<Option<usize>> {
    let name = "primary";
    let Some(wanted) = options.text_if_given(name)? else { return Ok(None) };
    let is_meant = |(i, d): (usize, &DeserializerConfig)| {
        let streams = d.options.get("input");
        let has_stream = matches!(streams, Some(Value::Section(streams)) if streams.get(&wanted).is_some());
        (wanted == i.to_string() || wanted == d.format.name || has_stream).then_some(i)
    };
    let meant: Vec<usize> = all.iter().enumerate().filter_map(is_meant).collect();
    match meant[..] {
        [one] => Ok(Some(one)),
        [] => {
            let expected = "the number, type or a stream of a deserializer";
            Err(ConfigError::unknown_word(name, format!("`{wanted}`"), expected))
        }
        _ => {
            let refusal = ReaderRefusal::AmbiguousPrimary { found: wanted, n: meant.len() };
            Err(ConfigError::refused(name, &refusal))
        }
    }
}

fn deserializer(value: &Value, path: String, registry: &Registry) -> Result<DeserializerConfig> {
    let Value::Section(section) = value else {
        return Err(ConfigError::wrong_type(path, value, "a section"));
    };
    let (name, options) = split_type(section, &path)?;
    if name == format_names::LATTICES {
        return Err(ConfigError::refused(format!("{path}.type"), &ReaderRefusal::Lattices));
    }
    let format = registry.find(name, &format!("{path}.type")).map_err(|e| of_module(e, section))?;
    let options = pushed_down(options, format.options);
    Options::new(format.options, &options, path.clone())?;
    Ok(DeserializerConfig { format, options, path })
}

/// Adds to the error that only Python can tell which types a module registers, if the section names a module.
fn of_module(e: ConfigError, section: &Section) -> ConfigError {
    if let Some(Value::Text(module)) = section.get("module")
        && !is_cntk_module(module)
    {
        return e.with_remedy(format!(
            "if the Python module `{module}` registers it, read it in Python: `python -m tesson`, `MinibatchSource.from_config`"
        ));
    }
    e
}

/// The type of values: one for the whole reader, though a deserializer may be where it is written.
pub(crate) fn precision(options: &Options<'_>, deserializers: &[DeserializerConfig]) -> Result<Element> {
    let name = "precision";
    let reader = element(options, name)?;
    let mut found = options.given(name).map(|_| reader);
    for d in deserializers.iter().filter(|d| d.format.options.find(name).is_some()) {
        let own = Options::new(d.format.options, &d.options, d.path.clone())?;
        if own.given(name).is_none() {
            continue;
        }
        let own_element = element(&own, name)?;
        if found.is_some_and(|f| f != own_element) {
            let refusal = ReaderRefusal::OtherPrecision { found: own_element.name() };
            return Err(ConfigError::refused(own.path(name), &refusal));
        }
        found = Some(own_element);
    }
    Ok(found.unwrap_or(reader))
}

fn element(options: &Options<'_>, name: &str) -> Result<Element> {
    let word = options.text_if_given(name)?;
    Ok(word.and_then(|word| PRECISIONS.meaning(&word)).unwrap_or(Element::F32))
}

/// True if keys are numbers.
pub(crate) fn numeric_keys(options: &Options<'_>, deserializers: &[DeserializerConfig]) -> Result<bool> {
    match options.given("useNumericSequenceKeys") {
        Some(_) => options.bool("useNumericSequenceKeys"),
        None => Ok(!deserializers.iter().any(|d| d.format.keys == KeyType::Text)),
    }
}

/// The reader's own level, else that of the first deserializer that has one, else warnings.
pub(crate) fn trace_level(options: &Options<'_>, deserializers: &[DeserializerConfig]) -> Result<u8> {
    let name = "traceLevel";
    if let Some(level) = options.whole_if_given(name)? {
        return Ok(level_of(level));
    }
    for d in deserializers.iter().filter(|d| d.format.options.find(name).is_some()) {
        let own = Options::new(d.format.options, &d.options, d.path.clone())?;
        if own.given(name).is_some() {
            return Ok(level_of(own.whole(name)?));
        }
    }
    Ok(1)
}

/// Programs around readers know higher levels, which say no more here than everything.
fn level_of(level: u64) -> u8 {
    level.min(2) as u8
}

/// The section with everything that its streams do not say themselves written into them: from `input`, else from the
/// section itself. Only options of [`OptionKind::Streams`] do that; other sections are as they were.
fn pushed_down(mut section: Section, table: &OptionTable) -> Section {
    let streams = table.0.iter().find_map(|spec| match spec.kind {
        OptionKind::Streams(inner) => Some((spec.name, inner)),
        _ => None,
    });
    let Some((name, inner)) = streams else { return section };
    let belongs = |name: &str| table.find(name).is_none() && inner.find(name).is_some();
    let (outer, kept) = section.0.into_iter().partition(|(name, _)| belongs(name));
    section = Section(kept);
    let outer = Section(outer);
    for (_, value) in section.0.iter_mut().filter(|(n, _)| n.eq_ignore_ascii_case(name)) {
        let Value::Section(input) = value else { continue };
        let is_plain =
            |value: &Value, name: &str| !matches!(value, Value::Section(_)) && inner.find(name).is_some();
        let entries = std::mem::take(&mut input.0);
        let (plain, streams): (Vec<_>, Vec<_>) =
            entries.into_iter().partition(|(name, value)| is_plain(value, name));
        let around = [Section(plain), outer.clone()];
        input.0 = streams;
        for (_, stream) in &mut input.0 {
            if let Value::Section(stream) = stream {
                complete(stream, inner, &around);
            }
        }
    }
    section
}

fn complete(stream: &mut Section, table: &OptionTable, around: &[Section]) {
    for spec in table.0 {
        if spec.names().any(|name| stream.get(name).is_some()) {
            continue;
        }
        let found = around.iter().find_map(|level| spec.names().find_map(|name| level.entry(name)));
        if let Some((name, value)) = found {
            stream.push(name.clone(), value.clone());
        }
    }
}
