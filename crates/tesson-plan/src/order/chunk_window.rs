//! Windows counted in chunks (§5.2).

/// The window `[begin, end)` of each of `n` places, for windows of `size` places.
pub(super) fn windows(n: usize, size: u64) -> impl Iterator<Item = (usize, usize)> {
    let n = n as u64;
    let half = size / 2;
    (0..n).map(move |place| {
        let begin = place.saturating_sub(half);
        let end = begin.saturating_add(size);
        let (begin, end) = if end > n { (n.saturating_sub(size), n) } else { (begin, end) };
        (begin as usize, end as usize)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(n: usize, size: u64, expected: &[(usize, usize)]) {
        assert_eq!(windows(n, size).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn windows_lie_around_their_place_and_are_pushed_back_at_both_ends() {
        check(4, 1, &[(0, 1), (1, 2), (2, 3), (3, 4)]);
        check(4, 2, &[(0, 2), (0, 2), (1, 3), (2, 4)]);
        check(4, 3, &[(0, 3), (0, 3), (1, 4), (1, 4)]);
        check(3, 128, &[(0, 3), (0, 3), (0, 3)]);
        check(2, u64::MAX, &[(0, 2), (0, 2)]);
    }
}
