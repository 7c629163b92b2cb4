//! A keyed permutation of the numbers below any `n`, without a table; [`Permutation`](super::Permutation) uses it for
//! large `n`.
//!
//! A number below 2^b, b = bits of n − 1, is cut into a left half of b / 2 bits and a right half of the rest. Eight
//! rounds change the left and the right half in turn: half ^= the topmost bits of F(other half, key of the round),
//! where F(h, k) = fold((h ^ k) · C) · GOLDEN and fold(x) = x ^ (x >> 32), modulo 2^64. Results that are not below
//! `n` pass through again ("cycle walking", Black and Rogaway, CT-RSA 2002): fewer than two passes on the average, as
//! 2^b < 2 n.
//!
//! Halves of few bits are too narrow: there are 2 functions of one bit to one bit and 2^(4 · 2) of two bits to two, so
//! that eight rounds reach the orders of 5 to 8 numbers unevenly. Each round, and so the whole, is also an even
//! permutation of all 2^b numbers. Therefore 0 and 1 are swapped first under every other key: without that only half
//! of all orders of 2^b numbers would occur. More rounds do not help, since they generate only even permutations
//! (decision 23).
//!
//! This is a shuffle, not a cipher. Every constant and the order in which keys are drawn are part of the order
//! `global` of version 2; `permutation.rs` fixes its first numbers in a test.

use super::Keys;

const ROUNDS: usize = 8;

/// A permutation of `0..n`.
#[derive(Clone, Debug)]
pub(crate) struct Feistel {
    n: u64,
    left_bits: u32,
    right_bits: u32,
    keys: [u64; ROUNDS],
    /// 1 if 0 and 1 are swapped, or else 0.
    odd: u64,
}

impl Feistel {
    /// A permutation of `0..n`, with `n` above 2.
    pub(super) fn new(n: u64, keys: &mut Keys) -> Feistel {
        let bits = u64::BITS - (n - 1).leading_zeros();
        let rounds = std::array::from_fn(|_| keys.draw());
        Feistel { n, left_bits: bits / 2, right_bits: bits - bits / 2, keys: rounds, odd: keys.draw() >> 63 }
    }

    /// The image of `i`, which is below `n`.
    #[inline]
    pub(super) fn get(&self, i: u64) -> u64 {
        debug_assert!(i < self.n);
        let mut x = self.pass(i ^ (self.odd & u64::from(i < 2)));
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
    (x ^ (x >> 32)).wrapping_mul(super::GOLDEN)
}
