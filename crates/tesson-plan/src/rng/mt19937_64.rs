//! The 64-bit Mersenne Twister, the generator of CNTK's shuffles.
//!
//! M. Matsumoto and T. Nishimura, MT19937-64; parameters as in spec/engine.md §4. The state is renewed 312 words at a
//! time in loops that the compiler turns into vector code. The output is tempered at the same time, so that a draw is
//! a load. Callers that need many draws take them as a slice (`ready`, `skip`), which saves a test for each.

const N: usize = 312;
const HALF: usize = N / 2;
const UPPER: u64 = !0 << 31;
const LOWER: u64 = !UPPER;

/// MT19937-64, seeded with one 64-bit number.
#[derive(Clone)]
pub(crate) struct Mt19937_64 {
    state: [u64; N],
    out: [u64; N],
    next: usize,
}

impl Mt19937_64 {
    /// The number of draws that are made at once.
    pub(crate) const AT_ONCE: usize = N;

    /// A generator that starts from `seed`; all 64 bits count.
    pub(crate) fn new(seed: u64) -> Mt19937_64 {
        let mut state = [seed; N];
        for i in 1..N {
            let last = state[i - 1];
            state[i] = 6_364_136_223_846_793_005u64.wrapping_mul(last ^ (last >> 62)).wrapping_add(i as u64);
        }
        Mt19937_64 { state, out: [0; N], next: N }
    }

    /// The next 64 bits.
    #[inline]
    pub(crate) fn draw(&mut self) -> u64 {
        if self.next == N {
            self.renew();
        }
        let x = self.out[self.next];
        self.next += 1;
        x
    }

    /// The draws that are ready, at least one; call [`Mt19937_64::skip`] with the number of them that were used.
    #[inline]
    pub(crate) fn ready(&mut self) -> &[u64] {
        if self.next == N {
            self.renew();
        }
        &self.out[self.next..]
    }

    /// Skips `n` draws that [`Mt19937_64::ready`] has returned.
    #[inline]
    pub(crate) fn skip(&mut self, n: usize) {
        self.next += n;
    }

    /// Skips `n` times [`Mt19937_64::AT_ONCE`] draws, none of which is ready.
    pub(crate) fn pass_over(&mut self, n: usize) {
        debug_assert_eq!(self.next, N, "draws are ready");
        (0..n).for_each(|_| self.twist());
    }

    #[inline(never)]
    fn renew(&mut self) {
        self.twist();
        self.show();
    }

    fn twist(&mut self) {
        let (low, high) = self.state.split_at_mut(HALF);
        for i in 0..HALF - 1 {
            low[i] = high[i] ^ twist(low[i], low[i + 1]);
        }
        low[HALF - 1] = high[HALF - 1] ^ twist(low[HALF - 1], high[0]);
        for i in 0..HALF - 1 {
            high[i] = low[i] ^ twist(high[i], high[i + 1]);
        }
        high[HALF - 1] = low[HALF - 1] ^ twist(high[HALF - 1], low[0]);
    }

    /// Makes what is drawn of the state.
    fn show(&mut self) {
        for (out, &state) in self.out.iter_mut().zip(&self.state) {
            *out = temper(state);
        }
        self.next = 0;
    }
}

#[inline(always)]
fn twist(this: u64, following: u64) -> u64 {
    let x = (this & UPPER) | (following & LOWER);
    (x >> 1) ^ ((x & 1).wrapping_neg() & 0xb502_6f5a_a966_19e9)
}

#[inline(always)]
fn temper(mut x: u64) -> u64 {
    x ^= (x >> 29) & 0x5555_5555_5555_5555;
    x ^= (x << 17) & 0x71d6_7fff_eda6_0000;
    x ^= (x << 37) & 0xfff7_eee0_0000_0000;
    x ^ (x >> 43)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(seed: u64, expected: &[u64]) {
        let mut generator = Mt19937_64::new(seed);
        let found: Vec<u64> = expected.iter().map(|_| generator.draw()).collect();
        assert_eq!(found, expected, "seed {seed}");
    }

    #[test]
    fn first_outputs_are_those_of_the_specification() {
        check(0, &[2947667278772165694, 18301848765998365067, 729919693006235833, 11021831128136023278]);
        check(1, &[2469588189546311528, 2516265689700432462, 8323445853463659930, 387828560950575246]);
        check(5489, &[14514284786278117030, 4620546740167642908, 13109570281517897720]);
        check(4294967301, &[5057056656413080451, 8988644812581549978]);
        check(9223372036854775813, &[17864154870240208571, 13954611134538676073]);
    }

    #[test]
    fn the_ten_thousandth_output_is_that_of_the_specification() {
        let mut generator = Mt19937_64::new(5489);
        let last = (0..10000).map(|_| generator.draw()).last();
        assert_eq!(last, Some(9981545732273789042));
    }

    #[test]
    fn draws_that_are_passed_over_are_those_that_come_first() {
        let (mut one, mut many) = (Mt19937_64::new(7), Mt19937_64::new(7));
        (0..3 * Mt19937_64::AT_ONCE).for_each(|_| {
            one.draw();
        });
        many.pass_over(3);
        assert_eq!(one.draw(), many.draw());
    }

    #[test]
    fn ready_draws_are_those_that_are_drawn() {
        let (mut one, mut many) = (Mt19937_64::new(7), Mt19937_64::new(7));
        for take in [1, 100, 250, 312, 3] {
            let ready = many.ready();
            let n = take.min(ready.len());
            let shown = ready[..n].to_vec();
            many.skip(n);
            assert_eq!(shown, (0..n).map(|_| one.draw()).collect::<Vec<_>>());
        }
    }
}
