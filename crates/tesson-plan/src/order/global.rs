//! Tesson's `global` order: a keyed permutation of all sequences of a sweep.
//!
//! Nothing is worked out ahead and nothing but a table of the chunks is held, so any sequence of any sweep is known
//! in a fraction of a microsecond, whatever the size of the corpus. Bandwidth needs random access by sequence.

use tesson_core::{Coded, Index};

use super::locate::Locate;
use super::{Next, Order};
use crate::Planned;
use crate::rng::Feistel;

/// The permutation of the current sweep, and where chunks begin.
pub(crate) struct Global {
    seed: u64,
    sweep: u64,
    permutation: Feistel,
    locate: Locate,
    /// First sequence of each chunk; one more at the end.
    firsts: Vec<u64>,
    n: u64,
}

impl Global {
    pub(crate) fn new(seed: u64) -> Global {
        let permutation = Feistel::new(1, seed, 0);
        Global { seed, sweep: 0, permutation, locate: Locate::default(), firsts: Vec::new(), n: 0 }
    }

    /// Builds the chunk table when the corpus is seen for the first time.
    fn look_at(&mut self, index: &Index) {
        self.n = index.n_sequences();
        self.firsts = (0..index.n_chunks()).map(|c| index.chunk(c).first_sequence).collect();
        self.firsts.push(self.n);
        let firsts = &self.firsts;
        self.locate.rebuild(index.n_chunks(), self.n, |c| firsts[c]);
    }

    /// Bytes of memory held.
    pub(crate) fn bytes(&self) -> usize {
        self.firsts.capacity() * size_of::<u64>() + self.locate.bytes()
    }
}

/// The length of all sequences, if it is one and the same.
pub(crate) fn only_length(index: &Index) -> Option<u64> {
    let mut lengths = (0..index.n_chunks()).map(|c| match index.lengths(c) {
        Coded::Constant { value, .. } => Some(u64::from(*value)),
        _ => None,
    });
    let first = lengths.next()??;
    lengths.all(|length| length == Some(first)).then_some(first)
}

impl Order for Global {
    fn enter(&mut self, index: &Index, sweep: u64) {
        if self.n != index.n_sequences() || self.firsts.len() != index.n_chunks() + 1 {
            self.look_at(index);
        } else if sweep == self.sweep {
            return;
        }
        self.sweep = sweep;
        self.permutation = Feistel::new(self.n, self.seed, sweep);
    }

    fn prepare(&mut self, _from: u64) -> u64 {
        self.n
    }

    #[inline]
    fn get(&self, index: &Index, sequence: u64) -> Next {
        let number = self.permutation.get(sequence);
        let chunk = self.locate.find(number, |c| self.firsts[c]);
        let planned = Planned { chunk: chunk as u32, sequence: (number - self.firsts[chunk]) as u32 };
        let length = index.lengths(chunk).get(planned.sequence as usize);
        Next { planned, home: chunk as u64, length }
    }
}
