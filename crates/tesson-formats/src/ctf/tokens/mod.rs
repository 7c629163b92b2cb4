//! The fast way through ordinary values.
//!
//! A kernel takes the values of a sample as far as they are ordinary, and gives back to the plain parser whatever it
//! finds odd. It finds no faults of its own.

use super::number::Real;

/// How values are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kernel {
    /// By the plain parser alone.
    Plain,
}

impl Kernel {
    /// The fastest kernel that this processor has.
    pub(crate) fn best() -> Kernel {
        Kernel::Plain
    }

    /// Reads the values of a dense sample from `at`, behind its name, into `values`, which hold zeros: where the values
    /// end, and how many there are. `None` if the plain parser is to read the sample.
    #[inline]
    pub(crate) fn dense<E: Real>(
        self,
        _bytes: &[u8],
        _at: usize,
        _values: &mut [E],
    ) -> Option<(usize, usize)> {
        None
    }

    /// Reads pairs of a sparse sample from `at` on, as far as they are ordinary: where the plain parser is to go on, and
    /// whether their columns ascend.
    #[inline]
    pub(crate) fn sparse<E: Real>(
        self,
        _bytes: &[u8],
        at: usize,
        _dim: u32,
        _columns: &mut Vec<u32>,
        _values: &mut Vec<E>,
    ) -> (usize, bool) {
        (at, true)
    }
}
