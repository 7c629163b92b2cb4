//! What follows what: the orders, one family a file.

mod ahead;
mod as_stored;
mod chunk_window;
mod global;
mod locate;
mod sample_window;
mod shuffle;
mod windowed;

use std::fmt;

use tesson_core::Index;

use crate::Planned;

pub(crate) use as_stored::{Walk, first_from};
pub(crate) use global::{Global, only_length};
pub(crate) use shuffle::chunk_places;
pub(crate) use windowed::Windowed;

/// Size of the window in which sequences are shuffled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Window {
    /// In chunks, at least 1.
    Chunks(u64),
    /// In samples.
    Samples(u64),
}

/// Which order, and its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OrderSpec {
    /// As the sequences are stored, sweep after sweep (CNTK's plain randomizer, §7).
    AsStored,
    /// Chunks shuffled, and sequences among those of the chunks in a window (CNTK's block randomizer, §5).
    ChunkWindow {
        /// The window.
        window: Window,
        /// The seed; sweep `w` uses `seed + w`.
        seed: u64,
    },
    /// All sequences shuffled by a keyed permutation, without a table: any position is reached at once.
    Global {
        /// The seed; each sweep has its own permutation.
        seed: u64,
    },
}

impl OrderSpec {
    /// The name of the order in states and messages.
    pub fn name(&self) -> &'static str {
        match self {
            OrderSpec::AsStored => "as_stored",
            OrderSpec::ChunkWindow { .. } => "chunk_window",
            OrderSpec::Global { .. } => "global",
        }
    }

    /// The seed, where there is one.
    pub fn seed(&self) -> Option<u64> {
        match self {
            OrderSpec::AsStored => None,
            OrderSpec::ChunkWindow { seed, .. } | OrderSpec::Global { seed } => Some(*seed),
        }
    }

    /// The window, where there is one.
    pub fn window(&self) -> Option<&Window> {
        match self {
            OrderSpec::ChunkWindow { window, .. } => Some(window),
            OrderSpec::AsStored | OrderSpec::Global { .. } => None,
        }
    }
}

impl fmt::Display for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Window::Chunks(n) => write!(f, "{n} chunks"),
            Window::Samples(n) => write!(f, "{n} samples"),
        }
    }
}

/// A sequence of an order.
#[derive(Copy, Clone)]
pub(crate) struct Next {
    pub(crate) planned: Planned,
    /// The number by which ranks share: place of the chunk in the sweep, or the chunk itself.
    pub(crate) home: u64,
    /// Counted length in samples.
    pub(crate) length: u32,
}

/// An order that is worked out sweep by sweep.
pub(crate) trait Order {
    /// Makes a sweep the current one.
    fn enter(&mut self, index: &Index, sweep: u64);

    /// Works the current sweep out as far as is needed to ask for sequence `from`, which the sweep has. Returns up
    /// to which sequence may be asked from there on, at least `from + 1`.
    fn prepare(&mut self, index: &Index, from: u64) -> u64;

    /// Sequence number `sequence` of the current sweep, for which has been prepared.
    fn get(&self, sequence: u64) -> Next;
}
