//! Sizes of minibatches and epochs (spec/engine.md §14). They stand beside a reader, in `SGD` or around it.

use tesson_core::{Name, Section, Value};

use super::scope::Scope;

const NAMES: [&str; 3] = ["minibatchSize", "epochSize", "maxEpochs"];

/// Puts them into a section, as far as they are given. Data to validate with (`validates`) have no epochs but sweeps.
pub(super) fn read(scope: &Scope<'_>, validates: bool, section: &mut Section) {
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
}
