//! Remainders by a divisor that stays the same for many numbers.

/// Computes `x mod d` with two multiplications, exactly, for every 64-bit `x`.
#[derive(Clone, Copy)]
pub(crate) struct Remainder {
    divisor: u64,
    reciprocal: u64,
}

impl Remainder {
    /// Prepares remainders by `divisor`, which is not 0.
    pub(crate) fn by(divisor: u64) -> Remainder {
        Remainder { divisor, reciprocal: u64::MAX / divisor }
    }

    /// `x mod divisor`.
    ///
    /// `reciprocal` is less than 1 below 2^64 / d (exactly 1 below it for powers of two), so the estimated quotient
    /// is too small by at most `x / 2^64 < 1`, hence by at most 1 after rounding down, which one subtraction
    /// corrects. A division takes several times as long, and the shuffles need a remainder for each sequence.
    #[inline]
    pub(crate) fn of(self, x: u64) -> u64 {
        let quotient = ((u128::from(x) * u128::from(self.reciprocal)) >> 64) as u64;
        let rest = x.wrapping_sub(quotient.wrapping_mul(self.divisor));
        if rest >= self.divisor { rest - self.divisor } else { rest }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(x: u64, d: u64) {
        assert_eq!(Remainder::by(d).of(x), x % d, "{x} mod {d}");
    }

    #[test]
    fn remainders_at_the_borders_are_exact() {
        let edges = [
            1,
            2,
            3,
            7,
            8,
            10,
            1 << 31,
            (1 << 32) - 1,
            1 << 32,
            (1 << 63) - 1,
            1 << 63,
            u64::MAX - 1,
            u64::MAX,
        ];
        for d in edges {
            for x in edges {
                check(x, d);
                check(0, d);
                check((u64::MAX / d).wrapping_mul(d), d);
                check((u64::MAX / d).wrapping_mul(d).wrapping_sub(1), d);
            }
        }
    }

    proptest! {
        #[test]
        fn remainders_are_those_of_division(x: u64, d in 1u64.., bits in 0u32..64) {
            check(x, (d >> bits).max(1));
        }
    }
}
