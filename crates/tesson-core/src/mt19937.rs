//! The 32-bit Mersenne Twister: TensorFlow's global seed draws from it (spec/tfds.md §8.4), and CNTK's image
//! transforms do (spec/image.md §9.1).
//!
//! M. Matsumoto and T. Nishimura, MT19937 of 2002, `init_by_array` and `init_genrand`.

const N: usize = 624;
const M: usize = 397;

/// MT19937.
#[derive(Clone, Debug)]
pub struct Mt19937 {
    state: [u32; N],
    next: usize,
}

impl Mt19937 {
    /// A generator seeded with one word.
    pub fn new(seed: u32) -> Mt19937 {
        let mut state = [seed; N];
        for i in 1..N {
            state[i] = spread(state[i - 1], 1_812_433_253).wrapping_add(i as u32);
        }
        Mt19937 { state, next: N }
    }

    /// A generator seeded with the words of a list, which is not empty.
    pub fn from_words(key: &[u32]) -> Mt19937 {
        let Mt19937 { mut state, .. } = Mt19937::new(19_650_218);
        let mut i = 1;
        for n in 0..N.max(key.len()) {
            let j = n % key.len();
            state[i] = (state[i] ^ spread(state[i - 1], 1664525)).wrapping_add(key[j]).wrapping_add(j as u32);
            i = following(&mut state, i);
        }
        for _ in 0..N - 1 {
            state[i] = (state[i] ^ spread(state[i - 1], 1_566_083_941)).wrapping_sub(i as u32);
            i = following(&mut state, i);
        }
        state[0] = 1 << 31;
        Mt19937 { state, next: N }
    }

    /// The next 32 bits.
    pub fn draw(&mut self) -> u32 {
        if self.next == N {
            self.renew();
        }
        let mut x = self.state[self.next];
        self.next += 1;
        x ^= x >> 11;
        x ^= (x << 7) & 0x9d2c_5680;
        x ^= (x << 15) & 0xefc6_0000;
        x ^ (x >> 18)
    }

    fn renew(&mut self) {
        for i in 0..N {
            let x = (self.state[i] & 1 << 31) | (self.state[(i + 1) % N] & !(1 << 31));
            self.state[i] = self.state[(i + M) % N] ^ (x >> 1) ^ ((x & 1).wrapping_neg() & 0x9908_b0df);
        }
        self.next = 0;
    }
}

fn spread(last: u32, factor: u32) -> u32 {
    (last ^ (last >> 30)).wrapping_mul(factor)
}

/// The index after `i`; the first word takes over the last one's value at the end of the list.
fn following(state: &mut [u32; N], i: usize) -> usize {
    if i + 1 < N {
        return i + 1;
    }
    state[0] = state[N - 1];
    1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_outputs_are_those_of_the_authors() {
        let mut generator = Mt19937::from_words(&[0x123, 0x234, 0x345, 0x456]);
        let found: Vec<u32> = (0..5).map(|_| generator.draw()).collect();
        assert_eq!(found, [1067595299, 955945823, 477289528, 4107218783, 4228976476]);
        let mut generator = Mt19937::new(0);
        assert_eq!([(); 3].map(|()| generator.draw()), [2_357_136_044, 2_546_248_239, 3_071_714_933]);
    }
}
