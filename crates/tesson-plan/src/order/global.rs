//! Tesson's `global` order: a keyed permutation of all sequences of a sweep.
//!
//! Nothing but a table of the chunks and a few sequences are held, so any sequence of any sweep is known
//! in a fraction of a microsecond, or in a few where there are few sequences, whatever the size of the corpus. Bandwidth needs random access by sequence.

use tesson_core::{CompactLengths, Index};

use super::ahead::Ahead;
use super::locate::Locate;
use super::{Next, Order};
use crate::Planned;
use crate::rng::Permutation;

/// The permutation of the current sweep, and where chunks begin.
pub(crate) struct Global {
    seed: u64,
    sweep: u64,
    permutation: Permutation,
    locate: Locate,
    /// First sequence of each chunk; one more at the end.
    firsts: Vec<u64>,
    n: u64,
    ahead: Ahead,
}

impl Global {
    pub(crate) fn new(seed: u64) -> Global {
        let permutation = Permutation::new(1, seed, 0);
        Global {
            seed,
            sweep: 0,
            permutation,
            locate: Locate::default(),
            firsts: Vec::new(),
            n: 0,
            ahead: Ahead::default(),
        }
    }

    /// Builds the chunk table when the corpus is seen for the first time.
    fn look_at(&mut self, index: &Index) {
        self.ahead.clear();
        self.n = index.n_sequences();
        self.firsts = (0..index.n_chunks()).map(|c| index.chunk(c).first_sequence).collect();
        self.firsts.push(self.n);
        let firsts = &self.firsts;
        self.locate.rebuild(index.n_chunks(), self.n, |c| firsts[c]);
    }

    /// Bytes of memory held.
    pub(crate) fn bytes(&self) -> usize {
        self.firsts.capacity() * size_of::<u64>() + self.locate.bytes() + self.permutation.bytes()
    }
}

/// The length of all sequences, if it is one and the same.
pub(crate) fn only_length(index: &Index) -> Option<u64> {
    let mut lengths = (0..index.n_chunks()).map(|c| match index.lengths(c) {
        CompactLengths::Constant { value, .. } => Some(u64::from(*value)),
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
        self.permutation = Permutation::new(self.n, self.seed, sweep);
    }

    fn prepare(&mut self, index: &Index, from: u64) -> u64 {
        if let Some(end) = self.ahead.end(self.sweep, from) {
            return end;
        }
        let Global { permutation, locate, firsts, ahead, sweep, n, .. } = self;
        let find = |sequence| {
            let number = permutation.get(sequence);
            let chunk = locate.find(number, |c| firsts[c]);
            let planned = Planned { chunk: chunk as u32, sequence: (number - firsts[chunk]) as u32 };
            (planned, chunk as u64)
        };
        ahead.fill(index, *sweep, from, *n, find)
    }

    #[inline]
    fn get(&self, sequence: u64) -> Next {
        self.ahead.get(sequence)
    }
}
