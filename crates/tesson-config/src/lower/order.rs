//! The order of each sweep, and the window it is shuffled within.

use tesson_core::{ConfigError, Expected, Found, Options, Value};
use tesson_plan::Window;

use crate::ConfigConflict;
use crate::Result;
use crate::source::{DEFAULT_WINDOW, ORDERS, Randomize};

/// The window that is the whole corpus, in samples, as the reference writes it.
pub(crate) const WHOLE_SET: u64 = (1 << 62) - 1;

/// The order, and the window of an order that has one.
pub(crate) fn order(options: &Options<'_>) -> Result<(Randomize, Window)> {
    let window = window(options)?;
    Ok(match (randomize(options)?, window) {
        (Randomize::Window, None) => (Randomize::Off, DEFAULT_WINDOW),
        (order, window) => (order, window.unwrap_or(DEFAULT_WINDOW)),
    })
}

/// The order. The window may still turn it off.
pub(crate) fn randomize(options: &Options<'_>) -> Result<Randomize> {
    let name = "randomize";
    let given = options.given(name);
    if let Some(Value::Text(word)) = given
        && let Some(order) = ORDERS.meaning(word)
    {
        return Ok(order);
    }
    // Other spellings of truth values.
    match options.bool(name) {
        Ok(true) => Ok(Randomize::Window),
        Ok(false) => Ok(Randomize::Off),
        Err(e) => {
            let found = given.map_or("".into(), Found::from);
            Err(ConfigError::unknown_word(e.path, found, Expected::TruthOr("`global`")))
        }
    }
}

/// The window; `None` if its size is 0, which turns shuffling off.
fn window(options: &Options<'_>) -> Result<Option<Window>> {
    let size = options.whole_if_given("randomizationWindow")?;
    let in_samples = options.bool("sampleBasedRandomizationWindow")?;
    let (chunks, samples) = (
        options.whole_if_given("randomizationWindowInChunks")?,
        options.whole_if_given("randomizationWindowInSamples")?,
    );
    let window = match (size, chunks, samples) {
        (None, None, None) if in_samples => Window::Samples(WHOLE_SET),
        (None, None, None) => DEFAULT_WINDOW,
        (Some(n), None, None) if in_samples => Window::Samples(n),
        (Some(n), None, None) => Window::Chunks(n),
        (None, Some(1..), Some(1..)) => {
            let conflict = &ConfigConflict::WindowInTwoUnits;
            return Err(ConfigError::refused("randomizationWindowInSamples", conflict));
        }
        (None, None | Some(0), Some(n)) => Window::Samples(n),
        (None, Some(n), _) => Window::Chunks(n),
        (Some(_), _, _) => {
            return Err(ConfigError::refused("randomizationWindow", &ConfigConflict::WindowTwice));
        }
    };
    Ok(Some(window).filter(|w| !matches!(w, Window::Chunks(0) | Window::Samples(0))))
}
