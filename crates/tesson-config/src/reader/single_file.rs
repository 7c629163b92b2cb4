//! Readers of one file: the options of its deserializer stand in the reader's own section, or around it.

use tesson_core::{Options, Registry, Section, Value};

use super::Draft;
use super::composite::{Facts, NOT_COPIED, finish};
use super::reader_type::ReaderType;
use super::scope::Scope;
use super::unused_options::known;
use super::window::Rule;
use crate::READER_OPTIONS;
use crate::Result;

/// Reads the section of a reader of text or of a binary file.
pub(super) fn read(
    kind: ReaderType,
    scope: &Scope<'_>,
    registry: &Registry,
    draft: &mut Draft,
) -> Result<()> {
    let name = kind.own_deserializer().expect("a lone reader has a deserializer of its own");
    let format = registry.find(name, "")?;
    // Frames and precision are the reader's.
    let options = scope.given(format.options, |name| !["frameMode", "precision"].contains(&name));
    let mut unknown = Vec::new();
    let mut options = known(&options, format.options, registry, "", &mut unknown);
    draft.ignored.extend(unknown.into_iter().map(|mut ignored| {
        ignored.path = ignored.path.trim_start_matches('.').to_string();
        ignored
    }));
    let typed = Options::new(format.options, &options, "")?;
    let rule = match kind {
        ReaderType::Binary => Rule::Binary,
        _ => Rule::Text { chunk_bytes: typed.whole("chunkSizeInBytes")? },
    };
    options.0.insert(0, ("type".into(), Value::Text(name.into())));
    draft.section.push("deserializers", Value::List(vec![Value::Section(options)]));
    let of_file = |name: &str| format.options.find(name).is_some();
    let own = |name: &str| match name {
        // Nothing is truncated here, and the budget of faults is the file's if it has one.
        "truncated" | "truncationLength" | "rightSplice" => false,
        "maxErrors" | "cacheIndex" => !of_file(name),
        _ => !NOT_COPIED.contains(&name),
    };
    scope.copy(READER_OPTIONS, own, &mut draft.section);
    finish(scope, &Facts { rule, images: false, text_keys: false }, &mut draft.section)?;
    global_timeline(&mut draft.section);
    Ok(())
}

/// The older readers cut minibatches by the samples of all workers.
pub(super) fn global_timeline(section: &mut Section) {
    if section.get("localTimeline").is_none() {
        section.push("localTimeline", Value::Bool(false));
    }
}
