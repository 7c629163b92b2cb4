//! What is checked when a sequence has been read: its streams against its rows.

use tesson_core::DataErrorKind;

use super::number::Real;
use super::options::EmptyInputs;
use super::parse::{Decoder, Odd};

/// A fault of the whole sequence: what, in which stream, and whether no budget forgives it.
pub(crate) type Found = (DataErrorKind, Option<u16>, bool);

/// Checks the open sequence of `rows` counted rows, which begins at `offset`; what is to be left out at delivery is noted in
/// the decoder. `faulty`: whether its rows have faults already.
pub(crate) fn check<E: Real>(
    decoder: &mut Decoder<'_, E>,
    rows: u32,
    offset: u64,
    faulty: bool,
) -> Vec<Found> {
    let samples: Vec<u32> = decoder.columns.iter().map(|c| c.n_open()).collect();
    if let Some(empty) = samples.iter().position(|&n| n == 0) {
        let bare = decoder.rules.lenient && samples.iter().all(|&n| n == 0);
        let refused = !bare && (!decoder.rules.lenient || decoder.rules.empty == EmptyInputs::Error);
        // The sample that is missing may be the one with the fault, and a fault is told anyway.
        if !faulty && !refused {
            decoder.note_at(Odd::Empty { stream: empty }, offset);
        }
        if bare {
            decoder.leave_out();
            return Vec::new();
        }
        if refused {
            return vec![(DataErrorKind::EmptyInput, Some(empty as u16), true)];
        }
        if decoder.rules.empty == EmptyInputs::Skip {
            decoder.leave_out();
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
        let kind = DataErrorKind::MoreSamplesThanRows { samples, rows: rows_u64 };
        vec![(kind, Some((first + stream) as u16), false)]
    } else if longest < rows && !decoder.rules.lenient {
        let kind = DataErrorKind::FewerSamplesThanRows { samples: longest_u64, rows: rows_u64 };
        vec![(kind, None, false)]
    } else {
        Vec::new()
    }
}
