//! Generators and permutations, written here and not taken from a crate, so that no other crate's release can change
//! an order.
//!
//! Advice for the next editor: every function here is frozen by states, by published orders (docs/order.md) or by the
//! reference. Vectors from the specifications and from the authors' papers are in the tests; `examples/order_vectors`
//! prints the published ones.

mod feistel;
mod mt19937_64;
mod permutation;
mod philox;
mod remainder;
mod words;

pub(crate) use mt19937_64::Mt19937_64;
pub(crate) use permutation::Permutation;
pub use philox::{DrawKey, Philox};
pub(crate) use remainder::Remainder;
pub(crate) use tesson_core::Mt19937;
pub(crate) use words::Words;

/// Spreads the bits of a number over all 64: the finalizer of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
///
/// A bijection. Permutations, index shapes and state checksums depend on it; it never changes.
#[inline]
pub(crate) fn mix(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// The golden ratio's fraction in 64 bits, odd: steps by it visit all numbers, far apart.
pub(crate) const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// A source of keys for permutations: SplitMix64 from a state that follows from a seed and a sweep.
struct Keys(u64);

impl Keys {
    /// Seed and sweep are mixed in turn, so that (seed, sweep + 1) and (seed + 1, sweep) have nothing in common.
    fn new(seed: u64, sweep: u64) -> Keys {
        Keys(mix(mix(seed.wrapping_add(GOLDEN)) ^ sweep))
    }

    fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GOLDEN);
        mix(self.0)
    }
}
