//! Sequences that are not delivered although they are planned.

use crate::{BatchPlan, Planned};

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

impl BatchPlan {
    /// Removes sequences from a minibatch that has been dealt out. The others keep their slots.
    pub(crate) fn leave_out(&mut self, excluded: &ExcludedSequences) {
        let stays = |planned: &Planned| !excluded.holds(*planned);
        if self.own.iter().chain(&self.foreign).all(stays) {
            return;
        }
        // The data end inside the last sequence that was planned; if it is left out, nothing is cut.
        self.keep_of_last = self.keep_of_last.filter(|_| self.own.last().is_some_and(stays));
        let places = |all: &[Planned]| (0..).zip(all).filter(|(_, p)| stays(p)).map(|(i, _)| i).collect();
        self.kept = Some((places(&self.own), places(&self.foreign)));
        self.own.retain(stays);
        self.foreign.retain(stays);
    }
}
