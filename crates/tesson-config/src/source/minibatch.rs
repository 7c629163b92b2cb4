//! How sequences are divided into minibatches, and where minibatches end.

use tesson_core::{ConfigError, OptionKind, Words, options};
use tesson_plan::{Demand, Ending, LastSequence, Limit, SegmentLength, Truncation};

use crate::lower::{limit, minibatch_size};
use crate::{ConfigConflict, Schedule, schedule};

/// Samples of a minibatch where neither a call nor the configuration gives a size (spec/engine.md §14).
pub(crate) const DEFAULT_MINIBATCH: u64 = 256;

/// "No end", as a value of `maxSamples` and `maxSweeps`.
pub const INFINITELY_REPEAT: u64 = u64::MAX;

/// "One sweep", as a value of `maxSamples`.
pub const FULL_DATA_SWEEP: u64 = u64::MAX - 1;

/// Words of `maxSamplesEnd`.
static ENDS: Words<LastSequence, 3> = Words::new([
    ("after", LastSequence::Whole),
    ("before", LastSequence::LeftOut),
    ("inside", LastSequence::Cut),
]);

options! {
    /// The division of sequences into minibatches, and their end.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct MinibatchConfig(options) {
        /// Samples of an epoch over all workers, whose end ends a minibatch, too; `None`: one sweep.
        pub epoch_size: Option<u64> = "epochSize", "0"
            => "Number of samples in an epoch, over all workers; a minibatch also ends at its end; 0 means one sweep."
            [listed after "bucketing"]
            [read options.whole_if_given("epochSize")?.filter(|&samples| samples > 0)];
        /// True: a minibatch may hold the end of one sweep and the beginning of the next.
        pub cross_sweep_ends: bool = "crossSweepEnds", "true"
            => "Allow a minibatch to hold the end of one sweep and the beginning of the next; not with `equalSteps` under \
             sharing by chunk."
            [listed after "sharing"];
        /// Sizes by epoch, for calls that give none.
        pub size: Option<Schedule> = "minibatchSize": OptionKind::Text, optional
            => "Number of samples in a minibatch, over all workers, for calls that give no size; or a schedule over epochs such \
             as `128*2:1024`."
            [read minibatch_size(options)?]
            [describe never];
        /// Sequences that a minibatch of all workers may hold, at least 1; `None`: any number.
        pub size_in_sequences: Option<u64> = "minibatchSizeInSequences", optional
            => "Number of sequences in a minibatch, over all workers; beside a size in samples both are limits, and the smaller \
             one applies.";
        /// The end of the data.
        pub limit: Limit = "maxSweeps": OptionKind::Whole, "18446744073709551615"
            => "Number of sweeps until the end of the data; 2^64-1 means no end."
            [listed after "localTimeline"]
            [read limit(options, epoch_size)?]
            [describe never];
        _ = "maxSamples": OptionKind::Whole, "18446744073709551615"
            => "Number of samples until the end of the data, over all workers; 2^64-1 means no end, 2^64-2 one sweep."
            [listed after "maxSweeps"]
            [describe never];
        _ = "maxEpochs": OptionKind::Whole, optional
            => "Number of epochs until the end of the data, in place of `maxSweeps` and `maxSamples`."
            [describe never];
        /// The treatment of the sequence in which the end of the data lies.
        pub last_sequence: LastSequence = "maxSamplesEnd" in ENDS, "after"
            => "End of the data if `maxSamples` lies inside a sequence: after the sequence, as in the reference, before it, or \
             inside, which cuts it."
            [listed after "augmentation"];
        /// True: a last minibatch with room left is left out.
        pub drop_last: bool = "dropLast", "false"
            => "Leave out the last minibatch of the data if it is not full; where minibatches end with their sweep \
             (`crossSweepEnds = false`) and ranks share by position, that of each sweep."
            [listed after "maxSamplesEnd"];
    }
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

    /// The treatment of the last sequence and the last minibatch.
    pub fn ending(&self) -> Ending {
        Ending { last_sequence: self.last_sequence, drop_last: self.drop_last }
    }

    /// Refuses ends of epochs within sequences, and minibatches of none.
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        if self.epoch_size.is_some() && self.last_sequence != LastSequence::Whole {
            return Err(ConfigError::refused("maxSamplesEnd", &ConfigConflict::EpochsEndAfterSequences));
        }
        if self.size_in_sequences == Some(0) {
            return Err(ConfigError::out_of_range("minibatchSizeInSequences", "0", "at least 1 sequence"));
        }
        Ok(())
    }

    /// Refuses epochs that are shorter than a minibatch. Where pieces of sequences are given by how many lie side by side, it is the
    /// size of one that counts: the older readers of speech call that `minibatchSize`.
    pub(super) fn check_epochs(&self, truncation: Option<&Truncation>) -> Result<(), ConfigError> {
        let by_slots = truncation.map(|t| &t.length).filter(|l| !matches!(l, SegmentLength::Samples(_)));
        let least = match (by_slots, &self.size) {
            (_, None) => 0,
            (Some(length), Some(sizes)) => lengths(length, sizes).max().unwrap_or(0),
            (None, Some(sizes)) => sizes.runs().iter().map(|(size, _)| *size).max().unwrap_or(0),
        };
        match self.epoch_size {
            Some(samples) if samples < least => {
                Err(ConfigError::refused("epochSize", &ConfigConflict::EpochTooShort { samples, least }))
            }
            _ => Ok(()),
        }
    }
}

/// The lengths of pieces of sequences, of every epoch in which they may change.
pub(super) fn lengths(length: &SegmentLength, sizes: &Schedule) -> impl Iterator<Item = u64> {
    let slots = match length {
        SegmentLength::BySlotsOfEpoch(runs) => &**runs,
        // The size decides alone.
        _ => &[(1, 1)],
    };
    let by_epoch = schedule::by_epoch(sizes.runs(), slots).into_iter();
    by_epoch.map(move |(size, slots, _)| match length {
        SegmentLength::BySlotsOfEpoch(_) => SegmentLength::BySlots(slots).samples(size, 0),
        length => length.samples(size, 0),
    })
}
