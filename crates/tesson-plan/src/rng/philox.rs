//! Random numbers for transforms: Philox4x32-10 (Salmon, Moraes, Dror, Shaw, SC 2011), keyed by the transform and the
//! sequence.
//!
//! A counter-based generator, because draws must not depend on which thread transforms a sequence, or on which others
//! it has transformed before: the draws of a sequence are a function of its [`DrawKey`] alone, so a resumed run
//! repeats them.

use super::{GOLDEN, mix};

/// The constant that gives each copy of a sequence draws of its own (spec/image.md §9.2).
const COPIES: u64 = 0xd1b5_4a32_d192_ed03;

/// Everything on which the random numbers of one transform of one sequence depend (spec/image.md §9.2).
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct DrawKey {
    /// The source's seed (`randomizationSeed`).
    pub seed: u64,
    /// The transform's own seed.
    pub transform_seed: u64,
    /// The number of the transform: the hash of its name, plus the number of transforms of that name before it in its
    /// stream's list.
    pub transform: u64,
    /// The number of the copy of the sequence, from 0.
    pub copy: u64,
    /// The sweep.
    pub sweep: u64,
    /// Hash of the sequence's key.
    pub sequence: u64,
}

/// A stream of random words that follows from a [`DrawKey`] alone.
#[derive(Clone, Debug)]
pub struct Philox {
    key: [u32; 2],
    counter: [u32; 4],
    block: [u32; 4],
    used: usize,
}

impl Philox {
    /// The numbers of a key, from the first on. Frozen: a change needs a new version in states (`DRAWS_VERSION` of
    /// the engine).
    pub fn new(key: DrawKey) -> Philox {
        let s = mix(key.seed)
            ^ mix(key.transform_seed.wrapping_add(GOLDEN.wrapping_mul(key.transform.wrapping_add(1))))
            ^ mix(key.copy.wrapping_add(COPIES));
        let counter = [0, key.sweep as u32, key.sequence as u32, (key.sequence >> 32) as u32];
        Philox { key: [s as u32, (s >> 32) as u32], counter, block: [0; 4], used: 4 }
    }
}

impl Iterator for Philox {
    type Item = u32;

    /// The next word; there is always one.
    fn next(&mut self) -> Option<u32> {
        if self.used == 4 {
            self.block = rounds(self.counter, self.key);
            self.counter[0] = self.counter[0].wrapping_add(1);
            self.used = 0;
        }
        self.used += 1;
        Some(self.block[self.used - 1])
    }
}

/// The ten rounds.
#[inline(always)]
pub(super) fn rounds(mut c: [u32; 4], mut k: [u32; 2]) -> [u32; 4] {
    for _ in 0..10 {
        let (a, b) = (u64::from(c[0]) * 0xd251_1f53, u64::from(c[2]) * 0xcd9e_8d57);
        c = [(b >> 32) as u32 ^ c[1] ^ k[0], b as u32, (a >> 32) as u32 ^ c[3] ^ k[1], a as u32];
        k = [k[0].wrapping_add(0x9e37_79b9), k[1].wrapping_add(0xbb67_ae85)];
    }
    c
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rounds_give_the_authors_answers() {
        let all = u32::MAX;
        for (counter, key, expected) in [
            ([0; 4], [0; 2], [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]),
            ([all; 4], [all; 2], [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]),
            (
                [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344],
                [0xa409_3822, 0x299f_31d0],
                [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1],
            ),
        ] {
            assert_eq!(rounds(counter, key), expected);
        }
    }

    #[test]
    fn every_part_of_the_key_changes_the_numbers() {
        let key = DrawKey { seed: 1, transform_seed: 2, transform: 3, copy: 4, sweep: 5, sequence: 6 };
        let words = |key: DrawKey| Philox::new(key).take(9).collect::<Vec<_>>();
        let all = [
            key,
            DrawKey { seed: 9, ..key },
            DrawKey { transform_seed: 9, ..key },
            DrawKey { transform: 9, ..key },
            DrawKey { copy: 9, ..key },
            DrawKey { sweep: 9, ..key },
            DrawKey { sequence: 9, ..key },
            DrawKey { sequence: 9 << 32, ..key },
        ];
        for (i, one) in all.iter().enumerate() {
            assert_eq!(words(*one), words(*one));
            for other in &all[..i] {
                assert_ne!(words(*one), words(*other));
            }
        }
    }
}
