//! Equal steps in states: a list of numbers, each with a name.

use crate::Steps;

impl Steps {
    /// The names of the fields in states, in order.
    pub(super) const NAMES: [&str; 14] = [
        "minibatchSizeInSamples",
        "minibatchSizeInSequences",
        "numberOfWorkers",
        "given",
        "of",
        "sweep",
        "beginPosition",
        "beginSequence",
        "againPosition",
        "againSequence",
        "endPosition",
        "endSequence",
        "sequences",
        "dataEnd",
    ];

    pub(super) fn numbers(&self) -> [u64; Steps::NAMES.len()] {
        let Steps { samples, sequences, workers, given, of, sweep, n_sequences, data_end, .. } = *self;
        let Steps {
            begin_position,
            begin_sequence,
            again_position,
            again_sequence,
            end_position,
            end_sequence,
            ..
        } = *self;
        [
            samples,
            sequences,
            workers,
            given,
            of,
            sweep,
            begin_position,
            begin_sequence,
            again_position,
            again_sequence,
            end_position,
            end_sequence,
            n_sequences,
            data_end.into(),
        ]
    }

    pub(super) fn of_numbers(numbers: [u64; Steps::NAMES.len()]) -> Steps {
        let [
            samples,
            sequences,
            workers,
            given,
            of,
            sweep,
            begin_position,
            begin_sequence,
            again_position,
            again_sequence,
            end_position,
            end_sequence,
            n_sequences,
            data_end,
        ] = numbers;
        Steps {
            samples,
            sequences,
            workers,
            given,
            of,
            sweep,
            begin_position,
            begin_sequence,
            again_position,
            again_sequence,
            end_position,
            end_sequence,
            n_sequences,
            data_end: data_end != 0,
        }
    }
}
