//! Equal steps in states: a list of numbers, each with a name.

use crate::Steps;

/// The name of [`Steps::data_end`], which is 0 or 1 and the last.
const DATA_END: &str = "dataEnd";

/// The other fields with their names in states, in order.
fn fields(steps: &mut Steps) -> [(&'static str, &mut u64); 13] {
    [
        ("minibatchSizeInSamples", &mut steps.samples),
        ("minibatchSizeInSequences", &mut steps.sequences),
        ("numberOfWorkers", &mut steps.workers),
        ("given", &mut steps.given),
        ("of", &mut steps.of),
        ("sweep", &mut steps.sweep),
        ("beginPosition", &mut steps.begin_position),
        ("beginSequence", &mut steps.begin_sequence),
        ("againPosition", &mut steps.again_position),
        ("againSequence", &mut steps.again_sequence),
        ("endPosition", &mut steps.end_position),
        ("endSequence", &mut steps.end_sequence),
        ("sequences", &mut steps.n_sequences),
    ]
}

/// All numbers with their names.
pub(super) fn numbers(mut steps: Steps) -> impl Iterator<Item = (&'static str, u64)> {
    let data_end = (DATA_END, steps.data_end.into());
    fields(&mut steps).map(|(name, number)| (name, *number)).into_iter().chain([data_end])
}

/// Builds steps from the numbers that `read` returns for their names, in order.
pub(super) fn from_numbers<E>(mut read: impl FnMut(&'static str) -> Result<u64, E>) -> Result<Steps, E> {
    let mut steps = Steps::default();
    for (name, number) in fields(&mut steps) {
        *number = read(name)?;
    }
    Ok(Steps { data_end: read(DATA_END)? != 0, ..steps })
}
