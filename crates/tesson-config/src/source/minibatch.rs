//! How sequences are divided into minibatches, and where minibatches end.

use tesson_core::ConfigError;
use tesson_plan::{Demand, Ending, LastSequence, Limit};

use crate::{ConfigConflict, Schedule};

/// Samples of a minibatch where neither a call nor the configuration gives a size (spec/engine.md §14).
pub(crate) const DEFAULT_MINIBATCH: u64 = 256;

/// "No end", as a value of `maxSamples` and `maxSweeps`.
pub const INFINITELY_REPEAT: u64 = u64::MAX;

/// "One sweep", as a value of `maxSamples`.
pub const FULL_DATA_SWEEP: u64 = u64::MAX - 1;

/// How sequences are divided into minibatches, and where minibatches end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MinibatchConfig {
    /// Sizes by epoch, for calls that give none; by default none.
    pub size: Option<Schedule>,
    /// Sequences that a minibatch of all workers may hold, at least 1; by default any number.
    pub size_in_sequences: Option<u64>,
    /// True if a minibatch may hold the end of one sweep and the beginning of the next. Default true. Default true.
    pub cross_sweep_ends: bool,
    /// Samples of an epoch over all workers, whose end ends a minibatch, too; `None` (the default): one sweep.
    pub epoch_size: Option<u64>,
    /// Where the data end; by default nowhere.
    pub limit: Limit,
    /// How the data end there; by default the last sequence is given whole, and the last minibatch whatever it holds.
    pub ending: Ending,
}

impl MinibatchConfig {
    /// Sizes of minibatches in samples for who gives none: as configured; any number where only sequences are limited;
    /// else 256 (spec/engine.md §14).
    ///
    /// # Panics
    /// Never: the default sizes are possible ones.
    pub fn default_sizes(&self) -> Schedule {
        let samples = match self.size_in_sequences {
            Some(_) => Demand::ANY_SAMPLES,
            None => DEFAULT_MINIBATCH,
        };
        let default = || Schedule::constant(samples).expect("the default is a possible size");
        self.size.clone().unwrap_or_else(default)
    }

    /// Refuses ends of epochs within sequences, and minibatches of none.
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        if self.epoch_size.is_some() && self.ending.last_sequence != LastSequence::Whole {
            return Err(ConfigError::refused("maxSamplesEnd", &ConfigConflict::EpochsEndAfterSequences));
        }
        if self.size_in_sequences == Some(0) {
            let what = "found 0, expected at least 1 sequence";
            return Err(ConfigError::new("minibatchSizeInSequences", what));
        }
        Ok(())
    }

    /// Refuses epochs that are shorter than a minibatch.
    pub(super) fn check_epochs(&self) -> Result<(), ConfigError> {
        let sizes = self.size.iter().flat_map(|schedule| schedule.runs());
        let least = sizes.map(|(size, _)| *size).max().unwrap_or(0);
        match self.epoch_size {
            Some(samples) if samples < least => {
                Err(ConfigError::refused("epochSize", &ConfigConflict::EpochTooShort { samples, least }))
            }
            _ => Ok(()),
        }
    }
}
