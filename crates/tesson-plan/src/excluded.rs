//! Sequences that are not delivered although they are planned.

use crate::Planned;

/// Sequences to leave out. Each is planned like all others and then removed from its minibatch, as an invalid
/// sequence is: nothing else moves, so a state means the same whichever sequences are excluded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExcludedSequences {
    /// Chunk and number within it, sorted.
    sequences: Vec<(u32, u32)>,
}

impl ExcludedSequences {
    /// Collects these sequences, which may come in any order.
    pub fn new(sequences: impl IntoIterator<Item = Planned>) -> ExcludedSequences {
        let mut sequences: Vec<_> = sequences.into_iter().map(|p| (p.chunk, p.sequence)).collect();
        sequences.sort_unstable();
        sequences.dedup();
        ExcludedSequences { sequences }
    }

    /// True if a sequence is left out.
    #[inline]
    pub fn holds(&self, planned: Planned) -> bool {
        self.sequences.binary_search(&(planned.chunk, planned.sequence)).is_ok()
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
