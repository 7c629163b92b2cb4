//! The randomization window (spec/brainscript.md §10): what it is where the configuration does not say all of it.

use tesson_core::{Name, Options, Section, Value};
use tesson_plan::Window;

use super::scope::Scope;
use crate::READER_OPTIONS;
use crate::Result;
use crate::lower::{WHOLE_SET, randomize};
use crate::source::Randomize;

/// The property of the deserializers that decides the default window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    /// Text is among the deserializers: windows are in chunks.
    Text {
        /// Size of a chunk as the reader's section has it.
        chunk_bytes: u64,
    },
    /// Deserializers, and no text among them: windows are in samples.
    NoText,
    /// A binary file.
    Binary,
    /// Nothing but images.
    Images,
}

/// Bytes of chunks that make a window of text.
const TEXT_WINDOW: u64 = 1 << 32;

/// Puts the window into a section, if sequences are shuffled within one; returns whether they are shuffled.
pub(super) fn put(scope: &Scope<'_>, rule: Rule, section: &mut Section) -> Result<bool> {
    let given = scope.given(READER_OPTIONS, |name| WINDOW[..2].contains(&name));
    let options = Options::new(READER_OPTIONS, &given, "")?;
    let order = randomize(&Options::new(READER_OPTIONS, section, "")?)?;
    if order != Randomize::Window {
        return Ok(order != Randomize::Off);
    }
    let size = options.whole_if_given("randomizationWindow")?;
    let in_samples = match options.given("sampleBasedRandomizationWindow") {
        Some(_) => Some(options.bool("sampleBasedRandomizationWindow")?),
        None => None,
    };
    let by_default = match rule {
        // As documented. CNTK 2.7 refuses it in a composite reader with text.
        Rule::Text { .. } | Rule::Binary if in_samples == Some(true) => Window::Samples(WHOLE_SET),
        Rule::Text { chunk_bytes } => Window::Chunks((TEXT_WINDOW / chunk_bytes.max(1)).max(1)),
        Rule::Binary => Window::Chunks(128),
        Rule::NoText => Window::Samples(WHOLE_SET),
        Rule::Images => Window::Samples(1),
    };
    let (default_size, default_in_samples) = match by_default {
        Window::Samples(n) => (n, true),
        Window::Chunks(n) => (n, false),
    };
    let place = |name: &str| Name::at(name, given.span_of(name).cloned());
    let size = size.unwrap_or(default_size);
    section.push(place("randomizationWindow"), Value::Whole(size.into()));
    let in_samples = in_samples.unwrap_or(default_in_samples);
    section.push(place("sampleBasedRandomizationWindow"), Value::Bool(in_samples));
    Ok(size > 0)
}

/// The options that say what the window is.
pub(super) const WINDOW: &[&str] = &[
    "randomizationWindow",
    "sampleBasedRandomizationWindow",
    "randomizationWindowInChunks",
    "randomizationWindowInSamples",
];
