//! How long a traversal of each layer is, and which passes it begins: so that whole passes are gone past without
//! following them (§8.4, §8.6).

use super::StreamOp;

/// What is known of a layer and those below it. Passes are counted for each shuffle, the files' first.
#[derive(Clone, Debug)]
pub(super) struct Facts {
    /// Examples of a traversal; `None`: there is no end, or none below 2^64.
    pub len: Option<u64>,
    /// Passes begun by beginning a traversal.
    pub at_begin: Box<[u64]>,
    /// Passes begun by a traversal that is read to its end, if that can be said.
    pub whole: Option<Box<[u64]>>,
    /// Nothing below is traversed more than once in a traversal.
    pub once: bool,
}

impl Facts {
    /// Of the files and what interleaves them, among so many shuffles.
    pub(super) fn of_files(len: Option<u64>, n_sources: usize) -> Facts {
        let only_files: Box<[u64]> = (0..n_sources).map(|source| u64::from(source == 0)).collect();
        let once = len.is_some();
        Facts { len, whole: once.then(|| only_files.clone()), at_begin: only_files, once }
    }

    /// Of a count of what the files give: where it is wrong, no traversal is read to its end.
    pub(super) fn counted(self, expected: u64) -> Facts {
        let whole = self.whole.filter(|_| self.len == Some(expected));
        Facts { whole, ..self }
    }

    /// Of an operation on this; `source` is the number of its shuffle, `fused` says whether it is a repeat that stands
    /// directly on a shuffle.
    pub(super) fn then(&self, op: StreamOp, source: usize, fused: bool) -> Facts {
        let none: Box<[u64]> = vec![0; self.at_begin.len()].into();
        let nothing = Facts { len: Some(0), at_begin: none.clone(), whole: Some(none.clone()), once: true };
        match op {
            StreamOp::Shuffle { .. } => {
                let mut own = none;
                own[source] = 1;
                let whole = self.whole.as_ref().map(|whole| sum(whole, &own, 1));
                Facts { whole, at_begin: own, ..self.clone() }
            }
            StreamOp::Repeat(0) => nothing,
            StreamOp::Repeat(n) => self.repeated(u64::try_from(n).ok(), fused),
            StreamOp::Skip(..0) => nothing,
            StreamOp::Skip(n) => {
                Facts { len: self.len.map(|len| len.saturating_sub(n.unsigned_abs())), ..self.clone() }
            }
            StreamOp::Take(0) => nothing,
            StreamOp::Take(n) => self.cut_short(u64::try_from(n).unwrap_or(u64::MAX)),
            StreamOp::Shard { count, index } => {
                let share = |len: u64| len.saturating_sub(index).div_ceil(count.get());
                Facts { len: self.len.map(share), ..self.clone() }
            }
            StreamOp::Prefetch => self.clone(),
        }
    }

    fn repeated(&self, times: Option<u64>, fused: bool) -> Facts {
        let len = match (self.len, times) {
            (Some(0), _) => Some(0),
            (Some(len), Some(times)) => len.checked_mul(times),
            _ => None,
        };
        // Nobody waits for a second pass without an example.
        let n_passes = if len == Some(0) { Some(1) } else { times };
        let whole = match (n_passes, &self.whole) {
            (Some(times), Some(whole)) if len.is_some() => {
                let passes = sum(&vec![0; whole.len()], whole, times);
                // The pass that is begun and never read.
                Some(if fused { passes } else { sum(&passes, &self.at_begin, 1) })
            }
            _ => None,
        };
        Facts { len, at_begin: self.at_begin.clone(), whole, once: false }
    }

    /// Of the first `n` examples, at least one.
    fn cut_short(&self, n: u64) -> Facts {
        let to_the_end = self.len.is_some_and(|len| n > len);
        // Below, everything that is begun at all is begun by the first example.
        let whole = if to_the_end || self.once { self.whole.clone() } else { None };
        Facts { len: Some(self.len.map_or(n, |len| len.min(n))), whole, ..self.clone() }
    }
}

/// `a` and so many times `b`, for each shuffle.
pub(super) fn sum(a: &[u64], b: &[u64], times: u64) -> Box<[u64]> {
    a.iter().zip(b).map(|(a, b)| a.wrapping_add(b.wrapping_mul(times))).collect()
}
