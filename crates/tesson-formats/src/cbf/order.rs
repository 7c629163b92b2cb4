//! A check that entries are in order within their samples, without a branch for each entry.

/// True if nothing in `columns` falls except from a sample to the next. `ends` are the ends of samples, counted in
/// `columns`; `falls` is true for two entries of which the second may not follow the first.
pub(super) fn ascend<T: Copy>(
    columns: &[T],
    ends: impl Iterator<Item = usize>,
    falls: impl Fn(T, T) -> bool,
) -> bool {
    let fall = |(a, b): (&T, &T)| u32::from(falls(*a, *b));
    let all: u32 = columns.iter().zip(columns.iter().skip(1)).map(fall).sum();
    if all == 0 {
        return true;
    }
    // From the last entry of a sample to the first of the next one columns may fall; nowhere else.
    let mut between = 0;
    let mut last = 0;
    for at in ends {
        if at != last && at < columns.len() {
            between += fall((&columns[at - 1], &columns[at]));
        }
        last = at;
    }
    all == between
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_may_begin_anew_and_nothing_else_falls() {
        let check = |columns: &[i32], ends: &[usize]| ascend(columns, ends.iter().copied(), |a, b| a >= b);
        assert!(check(&[], &[]));
        assert!(check(&[1, 2, 2, 0], &[2, 2, 3, 4]));
        assert!(!check(&[1, 2, 2, 0], &[2, 4]));
        assert!(!check(&[2, 1], &[0, 2]));
        assert!(check(&[5, 5, 5], &[0, 1, 2, 2, 3]));
    }
}
