//! The checks of a sequence that has been read: its streams against its rows.

use super::decimal::Real;
use super::fault::CtfFault;
use super::options::EmptyInputs;
use super::parse::{Decoder, Odd};

/// A fault of the whole sequence: what, in which stream, and whether no budget forgives it.
pub(crate) type RowFault = (CtfFault, Option<u16>, bool);

/// Checks the open sequence of `rows` counted rows, which begins at `offset`; what is to be left out at delivery is noted in
/// the decoder. `faulty`: whether its rows have faults already.
pub(crate) fn check<E: Real>(
    decoder: &mut Decoder<'_, E>,
    rows: u32,
    offset: u64,
    faulty: bool,
) -> Vec<RowFault> {
    let samples: Vec<u32> = decoder.columns.iter().map(|c| c.n_open()).collect();
    let mut found = Vec::new();
    if samples.contains(&0) {
        if !decoder.rules.lenient {
            let empty = samples.iter().position(|&n| n == 0);
            return vec![(CtfFault::EmptyInput, empty.map(|s| s as u16), true)];
        }
        let is_bare = samples.iter().all(|&n| n == 0);
        // A stream that has lost all its samples to faults takes the sequence with it; those were charged already.
        let mut is_left_out = is_bare || decoder.columns.iter().any(|c| c.n_open() == 0 && c.is_faulty);
        let missing = decoder.columns.iter().position(|c| c.n_open() == 0 && !c.is_faulty);
        let missing_u16 = missing.map(|stream| stream as u16);
        match (missing, decoder.rules.empty) {
            (Some(_), EmptyInputs::Error) if !is_bare => {
                return vec![(CtfFault::EmptyInput, missing_u16, true)];
            }
            (Some(_), EmptyInputs::Fault) if !is_bare => {
                is_left_out = true;
                found.push((CtfFault::MissingInput, missing_u16, false));
            }
            (Some(stream), empty) => {
                is_left_out |= empty == EmptyInputs::Skip;
                // Why nothing is left of a sequence may be a fault, and that is logged anyway.
                if !(is_bare && faulty) {
                    decoder.note_at(Odd::Empty { stream }, offset);
                }
            }
            (None, _) => {}
        }
        if is_left_out {
            decoder.leave_out();
        }
        if is_bare {
            return found;
        }
    }
    let counted = match decoder.rules.main {
        Some(main) => main..main + 1,
        None => 0..samples.len(),
    };
    let (first, counts) = (counted.start, &samples[counted]);
    let longest = counts.iter().copied().max().unwrap_or(0);
    let (longest_u64, rows_u64) = (u64::from(longest), u64::from(rows));
    if let Some(stream) = counts.iter().position(|&n| n > rows) {
        let samples = u64::from(counts[stream]);
        let kind = CtfFault::MoreSamplesThanRows { samples, rows: rows_u64 };
        found.push((kind, Some((first + stream) as u16), false));
    } else if longest < rows && !decoder.rules.lenient {
        let kind = CtfFault::FewerSamplesThanRows { samples: longest_u64, rows: rows_u64 };
        found.push((kind, None, false));
    }
    found
}
