//! Sizes of minibatches and epochs (spec/engine.md §14). They stand beside a reader, in `SGD` or around it.

use tesson_core::{Name, Options, Section, Value};

use super::composite::remove;
use super::scope::Scope;
use crate::lower::minibatch_size;
use crate::{READER_OPTIONS, Result};

const NAMES: [&str; 3] = ["minibatchSize", "epochSize", "maxEpochs"];

/// Puts them into a section, as far as they are given. Data to validate with (`validates`) have no epochs but sweeps.
/// Only training compares sizes of minibatches with that of an epoch: what tests or writes ends a minibatch with the epoch.
///
/// # Errors
/// Sizes that are none.
pub(super) fn read(scope: &Scope<'_>, validates: bool, section: &mut Section) -> Result<()> {
    for name in NAMES {
        scope.know(name);
        if validates && name != "minibatchSize" {
            continue;
        }
        let levels = scope.around().flat_map(|level| {
            let sgd = match level.get("SGD") {
                Some(Value::Section(sgd)) => Some(sgd),
                _ => None,
            };
            sgd.into_iter().chain([level])
        });
        let own = std::iter::once(scope.own);
        let found = own.chain(levels).find_map(|level| level.entry(name));
        // An end that the reader itself is given wins over the trainer's.
        let is_ended = || ["maxSweeps", "maxSamples"].iter().any(|n| section.get(n).is_some());
        if let Some((at, value)) = found.filter(|_| name != "maxEpochs" || !is_ended()) {
            section.push(Name::at(name, at.span().cloned()), value.clone());
        }
    }
    let action = scope.find_text("action").unwrap_or_default();
    let trains = !["test", "eval", "write", "cv"].iter().any(|other| other.eq_ignore_ascii_case(action));
    if trains { Ok(()) } else { fit_epochs(section) }
}

/// Cuts the sizes of minibatches to that of an epoch.
fn fit_epochs(section: &mut Section) -> Result<()> {
    let options = Options::new(READER_OPTIONS, section, "")?;
    let epoch = options.whole_if_given("epochSize")?.unwrap_or(0);
    let sizes = minibatch_size(&options)?;
    let Some(sizes) = sizes.filter(|sizes| epoch > 0 && sizes.runs().iter().any(|(size, _)| *size > epoch))
    else {
        return Ok(());
    };
    let cut = |(size, epochs): &(u64, u64)| format!("{}*{epochs}", epoch.min(*size));
    let cut: Vec<String> = sizes.runs().iter().map(cut).collect();
    let name = Name::at(NAMES[0], section.span_of(NAMES[0]).cloned());
    remove(section, &NAMES[..1]);
    section.push(name, Value::Text(cut.join(":")));
    Ok(())
}
