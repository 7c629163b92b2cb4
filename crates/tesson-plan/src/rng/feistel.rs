//! A keyed permutation of the numbers below any `n`, without a table.
//!
//! Version 1 (part of [`ORDER_VERSION`](crate::ORDER_VERSION); any change here needs a new one): a number below 2^b,
//! b = max(2, bits of n − 1), is cut into a left half of b / 2 bits and a right half of the rest. Eight rounds change the
//! left and the right half in turn: half ^= the topmost bits of F(other half, key of the round), where
//! F(h, k) = fold((h ^ k) · C) · GOLDEN and fold(x) = x ^ (x >> 32), modulo 2^64. Results that are not below `n` go
//! through again ("cycle walking", Black and Rogaway, CT-RSA 2002): fewer than two passes on the average where n > 2, as
//! 2^b < 2 n then.
//!
//! The keys come from (seed, sweep) by SplitMix64. This is a shuffle, not a cipher.

use super::{GOLDEN, mix};

const ROUNDS: usize = 8;

/// A permutation of `0..n`, chosen by a seed and the number of a sweep.
#[derive(Clone, Debug)]
pub(crate) struct Feistel {
    n: u64,
    left_bits: u32,
    right_bits: u32,
    keys: [u64; ROUNDS],
}

impl Feistel {
    /// The permutation of `0..n` that belongs to a seed and a sweep.
    pub(crate) fn new(n: u64, seed: u64, sweep: u64) -> Feistel {
        let bits = (u64::BITS - n.saturating_sub(1).leading_zeros()).max(2);
        // Mixed in turn, so that (seed, sweep + 1) and (seed + 1, sweep) have nothing in common.
        let mut state = mix(mix(seed.wrapping_add(GOLDEN)) ^ sweep);
        let keys = std::array::from_fn(|_| {
            state = state.wrapping_add(GOLDEN);
            mix(state)
        });
        Feistel { n, left_bits: bits / 2, right_bits: bits - bits / 2, keys }
    }

    /// Where `i` goes. `i` is below `n`.
    #[inline]
    pub(crate) fn get(&self, i: u64) -> u64 {
        debug_assert!(i < self.n);
        let mut x = self.pass(i);
        while x >= self.n {
            x = self.pass(x);
        }
        x
    }

    #[inline]
    fn pass(&self, x: u64) -> u64 {
        let (short, long) = (self.left_bits, self.right_bits);
        let mut left = x >> long;
        let mut right = x & low(long);
        for pair in self.keys.chunks_exact(2) {
            left ^= round(right, pair[0]) >> (64 - short);
            right ^= round(left, pair[1]) >> (64 - long);
        }
        left << long | right
    }
}

#[inline]
fn low(bits: u32) -> u64 {
    (1 << bits) - 1
}

#[inline]
fn round(half: u64, key: u64) -> u64 {
    const C: u64 = 0xd6e8_feb8_6659_fd93;
    let x = (half ^ key).wrapping_mul(C);
    (x ^ (x >> 32)).wrapping_mul(GOLDEN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_comes_once() {
        for n in (1..70).chain([255, 256, 257, 1000, 4097, 100_000]) {
            let permutation = Feistel::new(n, 3, n);
            let mut seen = vec![false; n as usize];
            for i in 0..n {
                assert!(!std::mem::replace(&mut seen[permutation.get(i) as usize], true), "{i} of {n}");
            }
        }
    }

    /// The sum of (found − expected)² / expected over all cells.
    fn chi_square(cells: &[u64], expected: f64) -> f64 {
        cells.iter().map(|&c| (c as f64 - expected).powi(2) / expected).sum()
    }

    #[test]
    fn each_number_goes_to_each_place_equally_often() {
        for n in [3u64, 5, 16, 24, 100] {
            let sweeps = 400 * n;
            let mut cells = vec![0u64; (n * n) as usize];
            for sweep in 0..sweeps {
                let permutation = Feistel::new(n, 11, sweep);
                (0..n).for_each(|i| cells[(i * n + permutation.get(i)) as usize] += 1);
            }
            let freedom = ((n - 1) * (n - 1)) as f64;
            let found = chi_square(&cells, 400.0);
            // Five standard deviations; the sweeps are fixed, so this passes or fails for good.
            assert!(found < freedom + 5.0 * (2.0 * freedom).sqrt() + 5.0, "n = {n}: {found} of {freedom}");
        }
    }

    #[test]
    fn distances_of_neighbours_are_spread_evenly() {
        for (n, seed) in [(1_000_003u64, 0), (1 << 20, 1), (700_000, u64::MAX)] {
            let permutation = Feistel::new(n, seed, 0);
            let mut cells = [0u64; 64];
            for i in 0..n - 1 {
                let distance = (permutation.get(i + 1) + n - permutation.get(i)) % n;
                cells[(u128::from(distance) * 64 / u128::from(n)) as usize] += 1;
            }
            let found = chi_square(&cells, (n - 1) as f64 / 64.0);
            assert!(found < 63.0 + 5.0 * (2.0f64 * 63.0).sqrt(), "n = {n}: {found}");
        }
    }

    #[test]
    fn seeds_and_sweeps_give_unrelated_permutations() {
        let n = 1_000_000;
        let same = |a: &Feistel, b: &Feistel| (0..n).filter(|&i| a.get(i) == b.get(i)).count();
        let one = Feistel::new(n, 5, 5);
        // One fixed point is expected on the average (Poisson); twelve would be one in 10^9.
        for other in
            [Feistel::new(n, 5, 6), Feistel::new(n, 6, 5), Feistel::new(n, 6, 4), Feistel::new(n, 4, 6)]
        {
            assert!(same(&one, &other) < 12);
        }
    }

    #[test]
    fn the_first_numbers_of_this_version_stay_what_they_are() {
        let permutation = Feistel::new(1_000_000_000, 42, 7);
        let found: Vec<u64> = (0..4).map(|i| permutation.get(i)).collect();
        assert_eq!(found, [88518302, 161747646, 810329222, 492331819]);
    }
}
