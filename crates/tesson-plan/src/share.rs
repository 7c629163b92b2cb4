//! How ranks share the sequences of a minibatch.

use crate::PlanRefusal;

/// How ranks share the sequences.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// CNTK's: in shuffled orders by chunk (spec/engine.md §6.3), as stored by running number (spec/engine.md §7). Each
    /// rank has its own position.
    Chunk,
    /// By number within the minibatch of all ranks (spec/engine.md §6.4): minibatches do not depend on the number of
    /// workers.
    Position,
}

/// The largest size of a minibatch, in samples.
pub(crate) const MAX_SAMPLES: u64 = (1 << 63) - 1;

/// What one call asks for.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Demand {
    /// Samples over all workers, from 1 to 2^63 − 1.
    pub samples: u64,
    /// Workers that share each minibatch, at least 1.
    pub workers: u64,
    /// Whose share is wanted, below `workers`.
    pub rank: u64,
}

impl Demand {
    /// A number of samples that limits nothing, for minibatches whose size is given in sequences.
    pub const ANY_SAMPLES: u64 = MAX_SAMPLES;

    /// Whether the demand makes sense.
    ///
    /// # Errors
    /// [`PlanRefusal`] with the values if a field is out of its range.
    pub fn validate(self) -> Result<(), PlanRefusal> {
        let Demand { samples, workers, rank } = self;
        if samples == 0 || samples > MAX_SAMPLES {
            Err(PlanRefusal::MinibatchSize { samples })
        } else if workers == 0 {
            Err(PlanRefusal::NoWorkers)
        } else if rank >= workers {
            Err(PlanRefusal::Rank { rank, workers })
        } else {
            Ok(())
        }
    }
}

/// Which owners' numbers are ours.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Share {
    workers: u64,
    rank: u64,
}

impl Share {
    /// A rank's share.
    pub(crate) fn new(workers: u64, rank: u64) -> Share {
        Share { workers, rank }
    }

    /// The share of who takes everything.
    pub(crate) const ALL: Share = Share { workers: 1, rank: 0 };

    /// Of how many workers the rank is, and which.
    pub(crate) fn workers_and_rank(self) -> (u64, u64) {
        (self.workers, self.rank)
    }

    /// Whether the sequence of this home (place of its chunk, chunk, or running number: as the order deals) is ours.
    #[inline]
    pub(crate) fn owns(self, home: u64) -> bool {
        self.workers == 1 || home % self.workers == self.rank
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(samples: u64, workers: u64, rank: u64, expected: &str) {
        let found = Demand { samples, workers, rank }.validate();
        assert_eq!(found.err().map_or(String::new(), |e| e.to_string()), expected);
    }

    #[test]
    fn a_demand_out_of_range_is_refused_with_its_values() {
        check(1, 1, 0, "");
        check(MAX_SAMPLES, 3, 2, "");
        check(0, 1, 0, "the minibatch size is 0 samples, from 1 to 9223372036854775807 are possible");
        check(
            1 << 63,
            1,
            0,
            "the minibatch size is 9223372036854775808 samples, from 1 to 9223372036854775807 are possible",
        );
        check(5, 0, 0, "the number of workers is 0, at least 1 is expected");
        check(5, 2, 2, "the rank is 2, expected one below the number of workers, 2");
    }
}
