//! What follows what: the orders, one family a file.

mod ahead;
mod as_stored;
mod bucketed;
mod chunk_window;
mod glimpse;
mod global;
mod local;
mod locate;
mod sample_window;
mod shuffle;
mod windowed;

use std::fmt;

use tesson_core::Index;

use crate::Planned;
use crate::cut::Size;

pub(crate) use as_stored::{Walk, first_from};
pub(crate) use bucketed::{Bucketed, MOST as MOST_POOLED, POOL_BYTES, Shuffled};
pub(crate) use global::{Global, only_length};
pub(crate) use local::{Entry, Local};
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

/// Size of the buckets in which sequences of similar length are put together; both limits hold, a longer sequence is alone.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Bucketing {
    /// Samples, best those of a minibatch.
    pub samples: u64,
    /// Sequences, best those of a minibatch; [`u64::MAX`] for any number.
    pub sequences: u64,
}

impl Bucketing {
    /// Bytes of memory that bucketing takes for a corpus of so many sequences.
    pub fn bytes(n_sequences: u64) -> u64 {
        POOL_BYTES * n_sequences.min(MOST_POOLED)
    }
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
    /// As stored, on a timeline of each rank's own (§8.1): for what cannot be joined.
    LocalPlain,
    /// Chunks shuffled, and the sequences of so many of them at a time, on a timeline of each rank's own (§8.2).
    Tumbling {
        /// How much is shuffled at a time.
        window: Window,
        /// The seed; sweep `w` uses `seed + w`.
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
            OrderSpec::LocalPlain => "local_plain",
            OrderSpec::Tumbling { .. } => "tumbling",
        }
    }

    /// The version of an order that has never changed.
    pub(crate) const FIRST_VERSION: u8 = 1;

    /// The version of the order: a state means something only where sequences still come in the order that they came in
    /// when it was saved. One for each order, so that a change of one leaves the states of all others valid.
    pub fn version(&self) -> u8 {
        match self {
            // 2: up to 1,024 sequences are drawn into a table, and the first two change places under every other key.
            OrderSpec::Global { .. } => 2,
            OrderSpec::AsStored
            | OrderSpec::ChunkWindow { .. }
            | OrderSpec::LocalPlain
            | OrderSpec::Tumbling { .. } => Self::FIRST_VERSION,
        }
    }

    /// The seed, where there is one.
    pub fn seed(&self) -> Option<u64> {
        match self {
            OrderSpec::AsStored | OrderSpec::LocalPlain => None,
            OrderSpec::ChunkWindow { seed, .. }
            | OrderSpec::Global { seed }
            | OrderSpec::Tumbling { seed, .. } => Some(*seed),
        }
    }

    /// The window, where there is one.
    pub fn window(&self) -> Option<&Window> {
        match self {
            OrderSpec::ChunkWindow { window, .. } | OrderSpec::Tumbling { window, .. } => Some(window),
            OrderSpec::AsStored | OrderSpec::Global { .. } | OrderSpec::LocalPlain => None,
        }
    }

    /// Whether each rank counts on a timeline of its own (§8).
    pub fn is_local(&self) -> bool {
        matches!(self, OrderSpec::LocalPlain | OrderSpec::Tumbling { .. })
    }

    /// Whether chunks or sequences are shuffled.
    pub fn is_shuffled(&self) -> bool {
        !matches!(self, OrderSpec::AsStored | OrderSpec::LocalPlain)
    }

    /// The order in which what is not composable is read where this one was asked for (§2).
    #[must_use]
    pub fn on_local_timeline(self) -> OrderSpec {
        match self {
            OrderSpec::AsStored => OrderSpec::LocalPlain,
            OrderSpec::ChunkWindow { window, seed } => OrderSpec::Tumbling { window, seed },
            other => other,
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

    /// What the bucket holds that begins with sequence number `sequence`, for which has been prepared, where one does.
    #[inline]
    fn bucket_at(&self, _sequence: u64) -> Option<Size> {
        None
    }
}
