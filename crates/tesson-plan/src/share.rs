//! How ranks share the sequences: the demand of a call, and which sequences belong to a rank (spec/engine.md §6.3,
//! spec/engine.md §6.4).
//!
//! A sequence belongs to the rank `home mod workers`; what `home` is, the order defines (`Next::home`). The limits of
//! a demand are those of the exact range, not of the reference, which takes the size as a signed 32-bit number
//! (spec/engine.md §6.1).

use crate::PlanRefusal;

/// The way in which ranks share the sequences.
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

/// The request of one call: a size, and the worker that gets its share of it.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Demand {
    /// Samples over all workers, from 1 to 2^63 − 1.
    pub samples: u64,
    /// Workers that share each minibatch, at least 1.
    pub workers: u64,
    /// The worker that gets its share, below `workers`.
    pub rank: u64,
}

impl Demand {
    /// A number of samples that limits nothing, for minibatches with a size in sequences.
    pub const ANY_SAMPLES: u64 = MAX_SAMPLES;

    /// Whose share it is.
    pub fn share(self) -> Share {
        Share { workers: self.workers, rank: self.rank }
    }

    /// Checks that every field is within its range.
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

/// The part of the sequences that belongs to one rank.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Share {
    /// Workers that share the sequences, at least 1.
    pub workers: u64,
    /// The worker whose share it is, below `workers`.
    pub rank: u64,
}

impl Default for Share {
    fn default() -> Share {
        Share::ALL
    }
}

impl Share {
    /// Everything: the share of a single worker.
    pub const ALL: Share = Share { workers: 1, rank: 0 };

    /// The demand of this share, with so many samples in a minibatch of all workers.
    pub fn demand(self, samples: u64) -> Demand {
        let Share { workers, rank } = self;
        Demand { samples, workers, rank }
    }

    /// The number of `n` things that belong to the rank if they are dealt out one by one.
    pub fn part_of(self, n: u64) -> u64 {
        n / self.workers + u64::from(self.rank < n % self.workers)
    }

    /// True if the sequence with this home (the place of its chunk, its chunk, or a running number, as the order
    /// defines it) belongs to the rank.
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
