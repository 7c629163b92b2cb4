//! The older readers of speech: a section for each stream of features and labels (.11; spec of speech, .10).

use tesson_core::{
    ConfigError, Name, OptionKind, OptionSpec, OptionTable, Options, Registry, Section, Value,
};

use super::composite::{Facts, NOT_COPIED, remove, writes};
use super::scope::Scope;
use super::single_file::global_timeline;
use super::window::Rule;
use super::{Draft, Ignored, composite};
use crate::lower::WHOLE_SET;
use crate::{READER_OPTIONS, format_names};

/// Options that older programs read and that change nothing.
const WITHOUT_EFFECT: &[&str] = &["miniBatchMode", "useMersenneTwisterRand", "hmms", "verbosity", "module"];

/// Reads the section of a reader of speech.
pub(super) fn read(scope: &Scope<'_>, registry: &Registry, draft: &mut Draft) -> Result<(), ConfigError> {
    if scope.own("lattices").is_some() {
        return Err(ConfigError::new("lattices", "lattices are not supported, train without them"));
    }
    if scope.own("hmms").is_some() {
        draft.warnings.push("hmms: nothing of it is used".into());
    }
    WITHOUT_EFFECT.iter().for_each(|name| scope.know(name));
    let (mut features, mut labels) = (Vec::new(), Vec::new());
    for (name, value) in &scope.own.0 {
        let Value::Section(section) = value else { continue };
        if name.eq_ignore_ascii_case("hmms") {
            continue;
        }
        if section.get("scpFile").is_some() {
            features.push((name, section));
        } else if section.get("mlfFile").or(section.get("mlfFileList")).is_some() {
            labels.push((name, section));
        } else if section.get("phoneFile").or(section.get("denlatTocFile")).is_some() {
            let what = "sequence training inside of the reader is not supported";
            return Err(ConfigError::new(name.to_string(), what));
        }
    }
    if features.is_empty() {
        return Err(ConfigError::new(
            "",
            "no section has `scpFile`, at least one stream of features is expected",
        ));
    }
    let by_name = |(a, _): &(&Name, &Section), (b, _): &(&Name, &Section)| {
        a.to_ascii_lowercase().cmp(&b.to_ascii_lowercase())
    };
    features.sort_by(by_name);
    labels.sort_by(by_name);
    let [feature_type, label_type] = format_names::SPEECH;
    let features = features.into_iter().map(|(n, s)| (feature_type, &["real"][..], &["type"][..], n, s));
    let labels =
        labels.into_iter().map(|(n, s)| (label_type, &["category"][..], &["labelType", "type"][..], n, s));
    let mut deserializers = Vec::new();
    for (kind, word, names, name, section) in features.chain(labels) {
        scope.know(name);
        let stream = scope.inner(section);
        check_word(&stream, names, word[0], name)?;
        deserializers.push(deserializer(kind, name, &stream, registry)?);
        let unread = stream.unread().map(|n| Ignored { path: format!("{name}.{n}"), near: None });
        draft.ignored.extend(unread);
    }
    draft.section.push("deserializers", Value::List(deserializers));
    let copied = |name: &str| name != "randomize" && !NOT_COPIED.contains(&name);
    scope.copy(&READER_OPTIONS, copied, &mut draft.section);
    if draft.section.get("frameMode").is_none() && !writes(scope) {
        draft.section.push("frameMode", Value::Bool(true));
    }
    order(scope, draft)?;
    draft.parallel_sequences = Some(parallel_sequences(scope)?);
    let facts = Facts { rule: Rule::NoText, pictures: false, speech: true };
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

/// A stream says what it is, or nothing.
fn check_word(stream: &Scope<'_>, names: &[&str], word: &str, section: &str) -> Result<(), ConfigError> {
    for name in names {
        if let Some((_, value)) = stream.own(name) {
            return match value {
                Value::Text(text) if text.eq_ignore_ascii_case(word) => {
                    names.iter().for_each(|name| stream.know(name));
                    Ok(())
                }
                other => {
                    let what = format!("found {}, expected `{word}`", other.describe());
                    Err(ConfigError::new(format!("{section}.{name}"), what))
                }
            };
        }
    }
    Ok(())
}

/// A stream's section as a deserializer. Options may stand further outside, but for those that make the section what it is.
fn deserializer(
    kind: &str,
    name: &Name,
    stream: &Scope<'_>,
    registry: &Registry,
) -> Result<Value, ConfigError> {
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
fn order(scope: &Scope<'_>, draft: &mut Draft) -> Result<(), ConfigError> {
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
    if is("none") {
        draft.section.push(name, Value::Bool(false));
        return Ok(());
    }
    if is("rollingWindow") {
        draft.warnings.push("readMethod: `rollingWindow` is read as `blockRandomize`".into());
    } else if !is("blockRandomize") {
        let what = format!("found `{method}`, expected `blockRandomize` or `none`");
        return Err(ConfigError::new("readMethod", what));
    }
    if writes(scope) {
        let what = "what writes reads in order: expected `none`, since `action` is `write`";
        return Err(ConfigError::new("readMethod", what));
    }
    let window = match (text.to_ascii_lowercase().as_str(), text.parse::<u64>()) {
        ("auto", _) => WHOLE_SET,
        (_, Ok(frames @ 1..)) => frames,
        _ => {
            let what = format!(
                "found `{text}`, expected `auto`, or a window in frames; `none` wants `readMethod = none`"
            );
            return Err(ConfigError::new("randomize", what).at(name.span().cloned()));
        }
    };
    let place = name.span().cloned();
    draft.section.push(name, Value::Bool(true));
    draft.section.push(Name::at("randomizationWindow", place), Value::Whole(window.into()));
    Ok(())
}

static PARALLEL: OptionTable = OptionTable(&[OptionSpec::with_default(
    "nbruttsineachrecurrentiter",
    OptionKind::Numbers,
    "1",
    "Sequences side by side, by epoch.",
)]);

fn parallel_sequences(scope: &Scope<'_>) -> Result<Vec<u64>, ConfigError> {
    let mut given = Section::default();
    scope.copy(&PARALLEL, |_| true, &mut given);
    let name = PARALLEL.0[0].name;
    let wrong = || {
        ConfigError::new(name, "expected whole numbers from 1, such as `16` or `8*2:16`").located_in(&given)
    };
    let numbers =
        Options::new(&PARALLEL, &given, "")?.numbers_if_given(name).map_err(|e| e.located_in(&given))?;
    let whole = |n: f64| if n >= 1.0 && n.fract() == 0.0 && n < 1e9 { Ok(n as u64) } else { Err(wrong()) };
    numbers.unwrap_or_default().into_iter().map(whole).collect()
}
