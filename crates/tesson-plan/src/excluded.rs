//! Sequences that are not delivered although they are planned.

use tesson_core::SequenceId;

/// Sequences to leave out. Each is planned like all others and then removed from its minibatch, as an invalid
/// sequence is: nothing else moves, so a state means the same whichever sequences are excluded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExcludedSequences {
    /// Sorted.
    sequences: Vec<SequenceId>,
}

impl ExcludedSequences {
    /// Collects these sequences, which may come in any order.
    pub fn new(sequences: impl IntoIterator<Item = SequenceId>) -> ExcludedSequences {
        let mut sequences: Vec<_> = sequences.into_iter().collect();
        sequences.sort_unstable();
        sequences.dedup();
        ExcludedSequences { sequences }
    }

    /// True if a sequence is left out.
    #[inline]
    pub fn holds(&self, planned: SequenceId) -> bool {
        self.sequences.binary_search(&planned).is_ok()
    }

    /// The number of excluded sequences.
    pub fn len(&self) -> usize {
        self.sequences.len()
    }

    /// True if no sequence is excluded.
    pub fn is_empty(&self) -> bool {
        self.sequences.is_empty()
    }
}
