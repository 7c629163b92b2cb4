//! The identity of a source: what a state must share with it to be resumed from.
//!
//! Advice for the next editor. Its text is that of the deserializers, then of the reader's options, then of transforms; each part is
//! written by the declaration of its option (the `identity` clauses of `options!`). States of earlier releases hold a hash of it:
//! none of the words, nor their order, may change, and a new one is written only where its option is not at its default.

use tesson_core::identity::Identity;
use tesson_plan::Fingerprint;

use super::SourceSpec;
use crate::fingerprint;
use crate::join::Parts;
use crate::transform::Transforms;

/// The identity of a source over files with this hash.
pub(super) fn fingerprint(
    spec: &SourceSpec,
    corpus: u64,
    parts: &Parts,
    transforms: &Transforms,
) -> Fingerprint {
    Fingerprint {
        corpus,
        index: None,
        order: spec.plan.order,
        cross_sweep_ends: spec.plan.cross_sweep_ends,
        options: fingerprint::text(&transforms.write(options(spec, parts)).text()),
    }
}

/// The hash of options in states of releases that drew random numbers otherwise; `None` if nothing is drawn.
pub(super) fn former_options(spec: &SourceSpec, parts: &Parts, transforms: &Transforms) -> Option<u64> {
    let former = || fingerprint::text(&transforms.write_with_former_draws(options(spec, parts)).text());
    transforms.draw_by_key().then(former)
}

/// The options that change values, but for those of transforms.
fn options(spec: &SourceSpec, parts: &Parts) -> Identity {
    Identity::of(parts.identity()).word(spec.identity.clone().text())
}
