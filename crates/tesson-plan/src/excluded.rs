//! Sequences that are not delivered although they are planned.

use crate::{BatchPlan, Planned};

/// Sequences to leave out. Each is planned like all others and then missing from its minibatch, as an invalid sequence is:
/// nothing else moves, so a state means the same whatever is left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExcludedSequences {
    /// Chunk and number within it, sorted.
    sequences: Vec<(u32, u32)>,
}

impl ExcludedSequences {
    /// These sequences, in any order.
    pub fn new(sequences: impl IntoIterator<Item = Planned>) -> ExcludedSequences {
        let mut sequences: Vec<_> = sequences.into_iter().map(|p| (p.chunk, p.sequence)).collect();
        sequences.sort_unstable();
        sequences.dedup();
        ExcludedSequences { sequences }
    }

    /// Whether a sequence is left out.
    #[inline]
    pub fn holds(&self, planned: Planned) -> bool {
        self.sequences.binary_search(&(planned.chunk, planned.sequence)).is_ok()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.sequences.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.sequences.is_empty()
    }
}

impl BatchPlan {
    /// Takes sequences out of a minibatch that has been dealt out. Those that stay keep their slots.
    pub(crate) fn leave_out(&mut self, excluded: &ExcludedSequences) {
        let stays = |planned: &Planned| !excluded.holds(*planned);
        if self.own.iter().chain(&self.foreign).all(stays) {
            return;
        }
        // What the data end inside is the last one that was planned.
        self.keep_of_last = self.keep_of_last.filter(|_| self.own.last().is_some_and(stays));
        let places = |all: &[Planned]| (0..).zip(all).filter(|(_, p)| stays(p)).map(|(i, _)| i).collect();
        self.kept = Some((places(&self.own), places(&self.foreign)));
        self.own.retain(stays);
        self.foreign.retain(stays);
    }
}
