//! The order of sequences, and how workers share it.

use tesson_core::ConfigError;
use tesson_plan::{ChunkWindow, EqualSteps, Global, OrderSpec, Sharing, Window};

use crate::ConfigConflict;

/// The window where none is given, as in CNTK's Python interface.
pub const DEFAULT_WINDOW: Window = Window::Chunks(128);

/// The order of the sequences in a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Randomize {
    /// As stored.
    Off,
    /// Shuffled within [`OrderConfig::window`].
    Window,
    /// Shuffled as a whole, without a window.
    Global,
}

/// The order of sequences, and how workers share it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderConfig {
    /// The order of a sweep; by default [`Randomize::Window`].
    pub randomize: Randomize,
    /// Seed of the first sweep's order; each further sweep adds 1. Default 0.
    pub seed: u64,
    /// The window of [`Randomize::Window`]; by default 128 chunks.
    pub window: Window,
    /// How workers share the data; `None` (the default): by position under [`Randomize::Global`] and in buckets, else by
    /// chunk.
    pub sharing: Option<Sharing>,
    /// True if each worker fills its own share, false if a minibatch ends when all workers together have enough
    /// samples. Default true.
    pub local_timeline: bool,
    /// Samples of a bucket of sequences of similar length; by default there are no buckets.
    pub bucketing: Option<u64>,
    /// How all workers give equally many minibatches; by default they do not. Under sharing by chunk minibatches must
    /// not cross the ends of sweeps.
    pub equal_steps: Option<EqualSteps>,
}

impl OrderConfig {
    /// The order, as the plan knows it.
    pub fn spec(&self) -> OrderSpec {
        let OrderConfig { seed, window, .. } = *self;
        match self.randomize {
            Randomize::Off => OrderSpec::AsStored,
            Randomize::Window => OrderSpec::ChunkWindow(ChunkWindow { window, seed }),
            Randomize::Global => OrderSpec::Global(Global { seed }),
        }
    }

    /// How workers share the data, with the default of the order.
    pub fn resolved_sharing(&self) -> Sharing {
        let by_order = match self.randomize {
            Randomize::Global => Sharing::Position,
            // A bucket is a minibatch of all workers together.
            Randomize::Window if self.bucketing.is_some() => Sharing::Position,
            Randomize::Off | Randomize::Window => Sharing::Chunk,
        };
        self.sharing.unwrap_or(by_order)
    }

    /// Refuses buckets that are empty, or of what has none.
    pub(super) fn check_bucketing(&self, truncates: bool) -> Result<(), ConfigError> {
        let conflict = match self.bucketing {
            Some(0) => {
                let what = "found 0, expected at least 1 sample in a bucket";
                return Err(ConfigError::new("bucketing", what));
            }
            Some(_) if self.randomize == Randomize::Off => ConfigConflict::BucketsAsStored,
            Some(_) if truncates => ConfigConflict::BucketsOfPieces,
            _ => return Ok(()),
        };
        Err(ConfigError::refused("bucketing", &conflict))
    }
}
