//! The older readers of speech: a section for each stream of features and labels
//! (spec/brainscript.md §11, spec/speech.md §10).

use tesson_core::{
    ConfigError, Name, OptionKind, OptionTable, Options, Registry, Section, Value, option_table,
};

use super::composite::{Facts, NOT_COPIED, remove, writes};
use super::scope::Scope;
use super::single_file::global_timeline;
use super::window::Rule;
use super::{Draft, composite};
use crate::ReaderRefusal;
use crate::lower::{WHOLE_SET, minibatch_size};
use crate::{READER_OPTIONS, Result, Schedule, format_names, schedule};

/// Options that older programs read and that change nothing.
const WITHOUT_EFFECT: &[&str] = &["miniBatchMode", "useMersenneTwisterRand", "verbosity", "module"];

/// Features or labels.
struct StreamKind {
    /// The format that reads it.
    format: &'static str,
    /// The type that a stream's section may declare, and the options that may declare it.
    word: &'static str,
    options: &'static [&'static str],
}

static FEATURES: StreamKind = StreamKind { format: format_names::FEATURES, word: "real", options: &["type"] };
static LABELS: StreamKind =
    StreamKind { format: format_names::LABELS, word: "category", options: &["labelType", "type"] };

/// Reads the section of a reader of speech.
pub(super) fn read(scope: &Scope<'_>, registry: &Registry, draft: &mut Draft) -> Result<()> {
    if scope.own("lattices").is_some() {
        return Err(ConfigError::refused("lattices", &ReaderRefusal::Lattices));
    }
    WITHOUT_EFFECT.iter().for_each(|name| scope.know(name));
    read_streams(scope, registry, draft)?;
    let copied = |name: &str| name != "randomize" && !NOT_COPIED.contains(&name);
    scope.copy(READER_OPTIONS, copied, &mut draft.section);
    if draft.section.get("frameMode").is_none() && !writes(scope) {
        draft.section.push("frameMode", Value::Bool(true));
    }
    order(scope, draft)?;
    draft.parallel_sequences = Some(parallel_sequences(scope)?);
    let facts = Facts { rule: Rule::NoText, images: false, text_keys: true };
    let window = draft.section.entry("randomizationWindow").map(|(n, v)| (n.clone(), v.clone()));
    remove(&mut draft.section, &["randomizationWindow"]);
    composite::finish(scope, &facts, &mut draft.section)?;
    if let Some((name, value)) = window {
        remove(&mut draft.section, &["randomizationWindow"]);
        draft.section.push(name, value);
    }
    global_timeline(&mut draft.section);
    Ok(())
}

/// Makes a deserializer of each stream: features first, both in the order of their names.
fn read_streams(scope: &Scope<'_>, registry: &Registry, draft: &mut Draft) -> Result<()> {
    let (mut features, mut labels) = (Vec::new(), Vec::new());
    for (name, value) in &scope.own.0 {
        let Value::Section(section) = value else { continue };
        let has = |option: &str| section.get(option).is_some();
        if has("scpFile") {
            features.push((&FEATURES, name, section));
        } else if has("mlfFile") || has("mlfFileList") {
            labels.push((&LABELS, name, section));
        } else if has("phoneFile") {
            // States of phones, for sequence training: streams are read as if it was not there.
            scope.know(name);
            draft.warnings.push(format!("{name}: nothing of it is used"));
        } else if has("denlatTocFile") {
            return Err(ConfigError::refused(name.to_string(), &ReaderRefusal::Lattices));
        }
    }
    if features.is_empty() {
        return Err(ConfigError::refused("", &ReaderRefusal::NoFeatures));
    }
    let mut deserializers = Vec::new();
    for streams in [&mut features, &mut labels] {
        streams.sort_by_cached_key(|(_, name, _)| name.to_ascii_lowercase());
        for (kind, name, section) in streams {
            scope.know(name);
            let stream = scope.inner(section);
            check_word(&stream, kind, name)?;
            deserializers.push(deserializer(kind.format, name, &stream, registry)?);
            draft.ignored.extend(stream.ignored(name));
        }
    }
    draft.section.push("deserializers", Value::List(deserializers));
    Ok(())
}

/// A stream says what it is, or nothing.
fn check_word(stream: &Scope<'_>, kind: &StreamKind, section: &str) -> Result<()> {
    let given = kind.options.iter().find_map(|name| Some((name, stream.own(name)?.1)));
    match given {
        None => {}
        Some((_, Value::Text(text))) if text.eq_ignore_ascii_case(kind.word) => {
            kind.options.iter().for_each(|name| stream.know(name));
        }
        Some((name, other)) => {
            let expected = format!("`{}`", kind.word);
            return Err(ConfigError::unknown_word(format!("{section}.{name}"), other, expected));
        }
    }
    Ok(())
}

/// A stream's section as a deserializer. Options may stand further outside, but for those that make the section what it is.
fn deserializer(kind: &str, name: &Name, stream: &Scope<'_>, registry: &Registry) -> Result<Value> {
    const OWN: &[&str] = &["scpFile", "mlfFile", "mlfFileList", "type", "labelType"];
    let format = registry.find(kind, "")?;
    let table = format.options.inner("input").expect("formats of speech have streams");
    let mut options = Section::default();
    for spec in table.0.iter().filter(|spec| OWN[..3].contains(&spec.name)) {
        if let Some((name, value)) = stream.own(spec.name) {
            options.push(name.clone(), value.clone());
        }
    }
    stream.copy(table, |name| !OWN.contains(&name), &mut options);
    let mut section = Section::default();
    section.push("type", Value::Text(kind.into()));
    stream.copy(format.options, |name| name == "chunkSizeInBytes", &mut section);
    let input = Section(vec![(name.clone(), Value::Section(options))]);
    section.push("input", Value::Section(input));
    Ok(Value::Section(section))
}

/// `readMethod` and `randomize`, which is a word or the window in frames.
fn order(scope: &Scope<'_>, draft: &mut Draft) -> Result<()> {
    let method = scope.find_text("readMethod").unwrap_or("blockRandomize");
    let is = |word: &str| method.eq_ignore_ascii_case(word);
    let (name, given) = match READER_OPTIONS.find("randomize").and_then(|spec| scope.find(spec)) {
        Some((name, value)) => (name.clone(), value.clone()),
        None => ("randomize".into(), Value::Text("auto".into())),
    };
    let text = match &given {
        Value::Text(text) => text.clone(),
        other => other.describe().trim_matches('`').to_string(),
    };
    // The older program ignored the order asked for when it wrote, and its rolling window could stand still.
    let in_order = writes(scope) || is("rollingWindow") && text.eq_ignore_ascii_case("none");
    if is("none") || is_older(scope) && in_order {
        draft.section.push(name, Value::Bool(false));
        return Ok(());
    }
    if is("rollingWindow") {
        draft.warnings.push("readMethod: `rollingWindow` is read as `blockRandomize`".into());
    } else if !is("blockRandomize") {
        let expected = "`blockRandomize` or `none`";
        return Err(ConfigError::unknown_word("readMethod", format!("`{method}`"), expected));
    }
    if writes(scope) {
        return Err(ConfigError::refused("readMethod", &ReaderRefusal::WritesShuffled));
    }
    let window = match (text.to_ascii_lowercase().as_str(), text.parse::<u64>()) {
        ("auto", _) => WHOLE_SET,
        (_, Ok(frames @ 1..)) => frames,
        _ => {
            let refusal = ReaderRefusal::OlderWindow { found: text.to_string() };
            return Err(ConfigError::refused("randomize", &refusal).at(name.span().cloned()));
        }
    };
    let place = name.span().cloned();
    draft.section.push(name, Value::Bool(true));
    draft.section.push(Name::at("randomizationWindow", place), Value::Whole(window.into()));
    Ok(())
}

/// True if it is a reader of the older of two programs with the same options.
fn is_older(scope: &Scope<'_>) -> bool {
    let name = scope.find_text("readerType").unwrap_or_default();
    ["HTKMLFReader", "Cntk.Reader.HTKMLF"].iter().any(|older| older.eq_ignore_ascii_case(name))
}

/// Truncation without a length of its own (spec/speech.md §10): pieces are as long as a minibatch is large, and a minibatch has
/// as many slots as the epoch has sequences side by side. `default`: the size of minibatches if none is given; without it the
/// length then stays open.
///
/// One length is written as such, and others by their slots, of which states know nothing that they did not: a length
/// is part of what they belong to. Epochs shorter than all pieces of a minibatch together, but not than one, want slots too.
pub(super) fn truncate_by_minibatch(
    parallel: &[u64],
    default: Option<&Schedule>,
    section: &mut Section,
) -> Result<()> {
    let options = Options::new(READER_OPTIONS, section, "")?;
    let is_open = options.given("truncated").is_some()
        && options.bool("truncated")?
        && options.whole("truncationLength")? == 0;
    let is_open = is_open && !section.0.iter().any(|(name, _)| name.eq_ignore_ascii_case("truncationSlots"));
    let sizes = minibatch_size(&options)?.or_else(|| default.cloned());
    let Some(sizes) = sizes.filter(|_| is_open) else { return Ok(()) };
    let place = section.span_of("minibatchSize").cloned();
    let epoch_size = options.whole_if_given("epochSize")?.filter(|&samples| samples > 0);
    let parallel = if parallel.is_empty() { &[1] } else { parallel };
    let parallel: Vec<(u64, u64)> = parallel.iter().map(|slots| (*slots, 1)).collect();
    let epochs = schedule::by_epoch(sizes.runs(), &parallel);
    let samples = |length: u64, slots: u64| length.saturating_mul(slots);
    let has_one = |of: fn(&(u64, u64, u64)) -> u64| epochs.iter().all(|epoch| of(epoch) == of(&epochs[0]));
    let fits = |epoch: u64| epochs.iter().all(|(length, slots, _)| samples(*length, *slots) <= epoch);
    let (option, value) = if has_one(|epoch| epoch.0) && epoch_size.is_none_or(fits) {
        ("truncationLength", Value::Whole(epochs[0].0.into()))
    } else if has_one(|epoch| epoch.1) {
        // The length of the pieces changes with the size.
        ("truncationSlots", Value::Whole(epochs[0].1.into()))
    } else {
        let slots: Vec<(u64, u64)> = epochs.iter().map(|(_, slots, n)| (*slots, *n)).collect();
        ("truncationSlots", Value::Text(schedule::text(&slots)))
    };
    let sizes: Vec<(u64, u64)> =
        epochs.iter().map(|(length, slots, n)| (samples(*length, *slots), *n)).collect();
    let sizes = Value::Text(schedule::text(&sizes));
    remove(section, &["minibatchSize", "truncationLength"]);
    section.push(Name::at(option, place.clone()), value);
    section.push(Name::at("minibatchSize", place), sizes);
    Ok(())
}

static PARALLEL: OptionTable = option_table! {
    "nbruttsineachrecurrentiter": OptionKind::Numbers, "1"
        => "Sequences side by side, by epoch.",
};

fn parallel_sequences(scope: &Scope<'_>) -> Result<Vec<u64>> {
    let given = scope.given(&PARALLEL, |_| true);
    let name = PARALLEL.0[0].name;
    let wrong = || ConfigError::refused(name, &ReaderRefusal::SequencesSideBySide).located_in(&given);
    let numbers =
        Options::new(&PARALLEL, &given, "")?.numbers_if_given(name).map_err(|e| e.located_in(&given))?;
    let whole = |n: f64| if n >= 1.0 && n.fract() == 0.0 && n < 1e9 { Ok(n as u64) } else { Err(wrong()) };
    numbers.unwrap_or_default().into_iter().map(whole).collect()
}
