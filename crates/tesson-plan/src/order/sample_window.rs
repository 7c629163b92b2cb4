//! Windows counted in samples (§5.2).

/// The window `[begin, end)` of each place, for windows of `size` samples. `before[p]` counts the samples before
/// place `p`; its last entry is their sum.
pub(super) fn windows(before: &[u64], size: u64) -> impl Iterator<Item = (usize, usize)> + '_ {
    let half = size / 2;
    let n = before.len() - 1;
    let (mut begin, mut end) = (0, 1);
    (0..n).map(move |place| {
        while before[place] - before[begin] > half {
            begin += 1;
        }
        end = end.max(place + 1);
        while end < n && before[end + 1] - before[place] < half {
            end += 1;
        }
        (begin, end)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(samples: &[u64], size: u64, expected: &[(usize, usize)]) {
        let mut before = vec![0];
        samples.iter().for_each(|s| before.push(before[before.len() - 1] + s));
        assert_eq!(windows(&before, size).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn windows_hold_half_their_samples_on_each_side() {
        check(&[6, 6, 3, 9], 9, &[(0, 1), (1, 2), (2, 3), (2, 4)]);
        check(&[6, 6, 3, 9], 14, &[(0, 1), (0, 2), (1, 3), (2, 4)]);
        check(&[6, 6, 9, 3], 14, &[(0, 1), (0, 2), (1, 3), (3, 4)]);
        check(&[6, 6, 9, 3], 0, &[(0, 1), (1, 2), (2, 3), (3, 4)]);
    }
}
