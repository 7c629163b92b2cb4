//! The fingerprint: the corpus, order and options to which a state belongs.

use tesson_core::{CompactLengths, Index, ResumeError};

use super::same;
use crate::OrderSpec;
use crate::rng::{GOLDEN, mix};

/// A summary of everything that decides which sequence comes when, and what it holds.
///
/// It excludes what may change between runs: paths, times, sizes of minibatches, workers, limits and threads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fingerprint {
    /// A hash of the sizes and both ends of all files.
    pub corpus: u64,
    /// [`index_shape`] of the index; `None` while it grows.
    pub index: Option<u64>,
    /// The order, with its seed and window.
    pub order: OrderSpec,
    /// `true`: minibatches cross sweep ends; `false`: they end with their sweep.
    pub cross_sweep_ends: bool,
    /// A hash of the deserializers' identities and of the options that change values.
    pub options: u64,
}

impl Fingerprint {
    /// Checks that a state with this fingerprint belongs to a source with the other. An index that is pending on
    /// either side is not compared.
    ///
    /// # Errors
    /// [`ResumeError`] with the first thing that differs and both values.
    pub fn check(&self, source: &Fingerprint) -> Result<(), ResumeError> {
        let hex = |hash: u64| format!("{hash:016x}");
        same("the data (a hash of sizes and ends of the files)", hex(self.corpus), hex(source.corpus))?;
        same("the order", self.order.name(), source.order.name())?;
        if let (Some(one), Some(other)) = (self.order.seed(), source.order.seed()) {
            same("the randomization seed", one, other)?;
        }
        if let (Some(one), Some(other)) = (self.order.window(), source.order.window()) {
            same("the randomization window", one, other)?;
        }
        if let (Some(one), Some(other)) = (self.index, source.index) {
            same("the index (a hash of chunks and lengths)", hex(one), hex(other))?;
        }
        same("whether minibatches cross sweep ends", self.cross_sweep_ends, source.cross_sweep_ends)?;
        same(
            "the options (a hash of those that change order or values)",
            hex(self.options),
            hex(source.options),
        )
    }
}

/// A hash of the chunks of a complete index and the counted lengths in them, however they are coded.
pub fn index_shape(index: &Index) -> u64 {
    let add = |shape: u64, number: u64| mix(shape ^ number).wrapping_add(GOLDEN);
    let mut shape = add(0, index.n_chunks() as u64);
    for chunk in index.chunk_ids() {
        let lengths = index.lengths(chunk);
        shape = add(shape, lengths.len() as u64);
        // By the values and not by their coding, which may change from release to release.
        match only(lengths) {
            // The upper half distinguishes it from listed lengths.
            Some(length) => shape = add(shape, u64::from(length) << 32 | 1),
            None => (0..lengths.len()).for_each(|i| shape = add(shape, lengths.get(i).into())),
        }
    }
    shape
}

/// The only length in a column, if there is no other.
fn only(lengths: &CompactLengths) -> Option<u32> {
    if lengths.is_empty() {
        return None;
    }
    let first = lengths.get(0);
    let constant = matches!(lengths, CompactLengths::Constant { .. });
    (constant || (1..lengths.len()).all(|i| lengths.get(i) == first)).then_some(first)
}
