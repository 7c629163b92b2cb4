//! Pairing the streams of a minibatch sample by sample, or saying why they do not pair.
//!
//! The samples of a stream lie one after the other, so sample `i` of two streams belong together only if every sequence
//! has as many samples of both. Formats allow sequences where that is not so; zipping flat
//! arrays would then pair samples that do not belong together.

use std::fmt;

use tesson_core::Key;

use crate::batch_keys::BatchKeys;

/// Why streams of a minibatch cannot be paired sample by sample.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PairingError {
    /// A sequence has more samples of one stream than of another.
    Lengths {
        /// The key of the first such sequence.
        key: Key,
        /// The stream.
        stream: String,
        /// Its samples in the sequence.
        samples: u32,
        /// The stream that it is paired with.
        first: String,
        /// Samples of that.
        first_samples: u32,
    },
    /// A sample of a sparse stream has not exactly one entry.
    Entries {
        /// The key of the sample's sequence.
        key: Key,
        /// The stream.
        stream: String,
        /// The sample's number in its sequence, from 0.
        sample: u32,
        /// Its entries.
        entries: u32,
    },
    /// The minibatch has no such stream, or the stream is dense where a sparse one is expected.
    Stream {
        /// The sentence.
        what: String,
    },
}

impl PairingError {
    /// The stream, and the key of the sequence, where there is one.
    pub fn place(&self) -> Option<(&str, &Key)> {
        match self {
            PairingError::Lengths { stream, key, .. } | PairingError::Entries { stream, key, .. } => {
                Some((stream, key))
            }
            PairingError::Stream { .. } => None,
        }
    }
}

impl fmt::Display for PairingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PairingError::Lengths { key, stream, samples, first, first_samples } => write!(
                f,
                "sequence {key}: streams `{first}` and `{stream}` have {first_samples} and {samples} samples, expected as many of \
                 both; pair streams of different lengths by sequence, not by sample"
            ),
            PairingError::Entries { key, stream, sample, entries } => write!(
                f,
                "sequence {key}: sample {sample} of stream `{stream}` has {entries} entries, expected one; where samples \
                 have more or fewer, `indptr` says which entries are whose"
            ),
            PairingError::Stream { what } => f.write_str(what),
        }
    }
}

impl std::error::Error for PairingError {}

/// Checks that every sequence has as many samples of each stream, given by name and length of each sequence, as of the
/// first one.
///
/// # Errors
/// The first sequence, in the order of delivery, that has not.
pub fn check_lengths(keys: &BatchKeys, streams: &[(&str, &[u32])]) -> Result<(), PairingError> {
    let Some((&(first, expected), others)) = streams.split_first() else { return Ok(()) };
    let differs = |&(_, lengths): &(&str, &[u32])| {
        lengths.iter().zip(expected).position(|(found, expected)| found != expected)
    };
    let found = others.iter().filter_map(|other| Some((differs(other)?, other)));
    let Some((sequence, &(stream, lengths))) = found.min_by_key(|&(sequence, _)| sequence) else {
        return Ok(());
    };
    Err(PairingError::Lengths {
        key: keys.get(sequence),
        stream: stream.into(),
        samples: lengths[sequence],
        first: first.into(),
        first_samples: expected[sequence],
    })
}

/// Checks that every sample of a sparse stream has exactly one entry, as one-hot samples have: then its column numbers are
/// one a sample. `indptr` says where the entries of each sample begin.
///
/// # Errors
/// The first sample that has not.
pub fn check_single_entries(
    keys: &BatchKeys,
    stream: &str,
    lengths: &[u32],
    indptr: &[i32],
) -> Result<(), PairingError> {
    let Some(at) = indptr.windows(2).position(|pair| pair[1] - pair[0] != 1) else { return Ok(()) };
    // The sequence whose samples end after it.
    let mut begin = 0;
    let sequence = lengths.iter().position(|&n| {
        let holds = at < begin + n as usize;
        begin += if holds { 0 } else { n as usize };
        holds
    });
    Err(PairingError::Entries {
        key: keys.get(sequence.unwrap_or_default()),
        stream: stream.into(),
        sample: (at - begin) as u32,
        entries: (indptr[at + 1] - indptr[at]) as u32,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_sequence_whose_lengths_differ_is_named() {
        let keys = BatchKeys::Numbers(vec![7, 8, 9]);
        let check = |streams: &[(&str, &[u32])]| check_lengths(&keys, streams).map_err(|e| e.to_string());
        assert_eq!(check(&[]), Ok(()));
        assert_eq!(check(&[("a", &[1, 2, 3])]), Ok(()));
        assert_eq!(check(&[("a", &[1, 2, 3]), ("b", &[1, 2, 3])]), Ok(()));
        let later = [("a", &[1, 2, 3][..]), ("b", &[1, 2, 0]), ("c", &[1, 5, 3])];
        assert_eq!(
            check(&later).unwrap_err(),
            "sequence 8: streams `a` and `c` have 2 and 5 samples, expected as many of both; pair streams of different \
             lengths by sequence, not by sample"
        );
    }

    #[test]
    fn equal_totals_do_not_hide_what_does_not_pair() {
        let keys = BatchKeys::Texts(["x", "y"].iter().collect());
        let error = check_lengths(&keys, &[("a", &[2, 1]), ("b", &[1, 2])]).unwrap_err();
        assert_eq!(error.place(), Some(("b", &Key::Text("x".into()))));
    }

    #[test]
    fn the_first_sample_without_one_entry_is_named() {
        let keys = BatchKeys::Numbers(vec![7, 8, 9]);
        let check = |lengths: &[u32], indptr: &[i32]| check_single_entries(&keys, "y", lengths, indptr);
        assert_eq!(check(&[1, 0, 2], &[0, 1, 2, 3]), Ok(()));
        let entries = |key, sample, entries| PairingError::Entries {
            key: Key::Number(key),
            stream: "y".into(),
            sample,
            entries,
        };
        assert_eq!(check(&[1, 0, 2], &[0, 1, 2, 2]), Err(entries(9, 1, 0)));
        assert_eq!(check(&[1, 2, 0], &[0, 1, 3, 3]), Err(entries(8, 0, 2)));
        assert_eq!(check(&[2, 1, 0], &[0, 0, 2, 3]), Err(entries(7, 0, 0)));
    }
}
