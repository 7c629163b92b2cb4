//! The identity of a source: what a state must share with it to be resumed from.
//!
//! Advice for the next editor. Each struct is taken apart to its last field, so that a new option does not compile before it is said
//! here whether values depend on it. The words, and their order, are those that states of earlier releases hold a hash of: none of
//! them may change, and a new one is written only where its option is not at its default.

use tesson_core::identity::Identity;
use tesson_plan::{Bucketing, Fingerprint, JoinRules, MissingKeys, PlanSpec, SegmentLength, Truncation};

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
    let SourceSpec {
        deserializers: _, // Their own identities are those of `parts`.
        join: JoinRules { missing, max_missing: _, repeated: _, hash_keys },
        plan,
        exclude_keys: _, // A state resumes under any list.
        transforms: _,   // Written after these options.
        frame_mode,
        truncation,
        sizes_change: _,
        element,
        runtime: _,
        faults: _,
        purpose: _,
    } = spec;
    let PlanSpec {
        order: _,            // A part of its own,
        cross_sweep_ends: _, // and so is this.
        sharing: _,
        limit: _,
        ending: _,
        epoch_size: _,
        local_timeline: _,
        most_sequences: _,
        bucketing,
        equal_steps: _,
        excluded: _,
    } = plan;
    let mut options = Identity::of(parts.identity())
        .field("frame", frame_mode)
        .field("element", element.name())
        .flag("outer", *missing == MissingKeys::Empty);
    if let Some(truncation) = truncation {
        options = of_truncation(truncation, options);
    }
    if let Some(Bucketing { samples, sequences }) = bucketing {
        options = options.field("bucketing", format_args!("{samples}/{sequences}"));
    }
    options.flag("hashed", *hash_keys)
}

/// Writes the options of truncation.
fn of_truncation(truncation: &Truncation, identity: Identity) -> Identity {
    let Truncation { length, right_splice, keep_sparse } = truncation;
    let identity = match length {
        SegmentLength::Samples(length) => identity.field("truncationLength", length),
        SegmentLength::BySlots(slots) => identity.field("truncationSlots", slots),
        SegmentLength::BySlotsOfEpoch(runs) => {
            let runs: Vec<String> = runs.iter().map(|(slots, epochs)| format!("{slots}*{epochs}")).collect();
            identity.field("truncationSlots", runs.join(":"))
        }
    };
    identity.field("rightSplice", right_splice).field("keepSparse", keep_sparse)
}
