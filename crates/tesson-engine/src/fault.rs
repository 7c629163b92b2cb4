//! Faults of data as errors, with all that is known of their place.

use std::sync::Arc;

use tesson_core::{DataError, Fault, Key, Location, StreamInfo};

use crate::fetch::Resources;
use crate::pack::Source;

/// A fault that counts against the budget, in plan order.
pub(crate) struct Charge {
    pub(crate) error: DataError,
    /// No budget forgives it.
    pub(crate) fatal: bool,
    /// A [check](crate::Source::check) finds it, too: it is one of the data, not of a function that transforms them.
    pub(crate) is_of_data: bool,
}

/// Appends what counts of a sequence: its damage, or its faults; only fatal ones if it has been met `again`.
pub(crate) fn charge(
    sequence: u32,
    source: &Source<'_>,
    again: bool,
    streams: &[Arc<StreamInfo>],
    resources: &Resources,
    into: &mut Vec<Charge>,
) {
    if let Some(error) = source.chunk.damage_of(sequence) {
        return into.push(Charge { error: error.clone(), fatal: true, is_of_data: true });
    }
    let counted = source.chunk.faults_of(sequence).iter().filter(|fault| fault.fatal || !again);
    into.extend(counted.map(|fault| Charge {
        error: describe(fault, source, streams, resources),
        fatal: fault.fatal,
        is_of_data: true,
    }));
}

/// A fault as an error: file, line, byte, stream and key.
pub(crate) fn describe(
    fault: &Fault,
    source: &Source<'_>,
    streams: &[Arc<StreamInfo>],
    resources: &Resources,
) -> DataError {
    let at = Location {
        file: resources.path(fault.resource).expect("faults are of resources that were read"),
        offset: fault.offset,
        line: fault.line.map(|line| line + source.chunk.first_line + source.line_base + 1),
    };
    let stream = fault.stream.map(|s| streams[s as usize].name.clone());
    DataError::new(fault.kind.clone(), at)
        .within(stream, Some(key(fault.sequence, source)))
        .listed(resources.listing(fault.resource))
}

/// The key of a sequence, line numbers counted from the beginning of the resource.
pub(crate) fn key(sequence: u32, source: &Source<'_>) -> Key {
    match (source.chunk.key(sequence as usize), source.chunk.keys_are_lines) {
        (Key::Number(n), true) => Key::Number(n + source.line_base),
        (key, _) => key,
    }
}
