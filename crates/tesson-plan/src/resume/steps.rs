//! Equal steps in states: a list of numbers, each with a name.

use crate::Steps;

/// The name of [`Steps::data_end`], which is 0 or 1 and the last.
const DATA_END: &str = "dataEnd";

impl Steps {
    /// The other fields with their names in states, in order.
    fn fields(&mut self) -> [(&'static str, &mut u64); 13] {
        [
            ("minibatchSizeInSamples", &mut self.samples),
            ("minibatchSizeInSequences", &mut self.sequences),
            ("numberOfWorkers", &mut self.workers),
            ("given", &mut self.given),
            ("of", &mut self.of),
            ("sweep", &mut self.sweep),
            ("beginPosition", &mut self.begin_position),
            ("beginSequence", &mut self.begin_sequence),
            ("againPosition", &mut self.again_position),
            ("againSequence", &mut self.again_sequence),
            ("endPosition", &mut self.end_position),
            ("endSequence", &mut self.end_sequence),
            ("sequences", &mut self.n_sequences),
        ]
    }

    /// All numbers with their names.
    pub(super) fn numbers(mut self) -> impl Iterator<Item = (&'static str, u64)> {
        let data_end = (DATA_END, self.data_end.into());
        self.fields().map(|(name, number)| (name, *number)).into_iter().chain([data_end])
    }

    /// Builds steps from the numbers that `read` returns for their names, in order.
    pub(super) fn read<E>(mut read: impl FnMut(&'static str) -> Result<u64, E>) -> Result<Steps, E> {
        let mut steps = Steps::default();
        for (name, number) in steps.fields() {
            *number = read(name)?;
        }
        Ok(Steps { data_end: read(DATA_END)? != 0, ..steps })
    }
}
