//! Dense values and sparse pairs by blocks with AVX-512 and VBMI2: small whole numbers and decimals of a block all at once.
//!
//! For the next editor: the rules of `blocks.rs` hold. Whatever is not ordinary (long digits, odd bytes, a value too near a tie)
//! is given back to the caller, so every result here is the plain parser's.

use std::arch::x86_64::*;

use tesson_core::Kernels;

use super::super::decimal::{Grammar, INVERSES, POWERS, Real, read};
use super::super::sparse_rows::{Found, OF_BLOCK, SparseRows, Tape};
use super::blocks::{Apart, Block, Digits, Masks, ZEROS, dense, kernel, long, ordinary};
use super::{Pairs, avx2};
use crate::fields::Fields;

kernel! {
    /// AVX-512 with byte compression, and AVX2 and what comes with it.
    Avx512 of ByAvx512 with "avx2,bmi1,bmi2,lzcnt,popcnt,avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2"
}

impl Avx512 {
    /// Reads pairs of whole numbers as far as they come several to a block.
    #[inline]
    pub(super) fn sparse<E: Real>(
        self,
        bytes: &[u8],
        dim: u32,
        pairs: &mut Pairs,
        columns: &mut Vec<u32>,
        values: &mut Vec<E>,
    ) {
        // SAFETY: `self` is the proof that the processor has the features. Measured: long samples at twice the rate of
        // machine words.
        unsafe { sparse_avx512(bytes, dim, pairs, columns, values) }
    }
}

#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt,avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2")]
fn sparse_avx512<E: Real>(
    bytes: &[u8],
    dim: u32,
    pairs: &mut Pairs,
    columns: &mut Vec<u32>,
    values: &mut Vec<E>,
) {
    while let Some(block) = bytes.get(pairs.at..).and_then(|rest| rest.first_chunk::<64>()) {
        // SAFETY: the features are enabled here.
        let Masks { mut ends, stops } = unsafe { ByAvx512::masks(block) };
        if stops != 0 {
            // Up to the first one.
            ends &= stops ^ (stops - 1);
        }
        // A machine word at a time is as good for one or two.
        let count = (ends & !(ends << 1 | 1)).count_ones() as usize;
        if count < 3 {
            return;
        }
        // SAFETY: the features are enabled here.
        if !unsafe { block_of_pairs(block, ends, count, dim, pairs, columns, values) } {
            return;
        }
        pairs.at += 63 - ends.leading_zeros() as usize;
        if stops != 0 {
            return;
        }
    }
}

/// Registers in memory, where eight bytes at a time are read from them.
///
/// Aligned to cache lines, and with it the stack of the kernels: where spilled registers and tables lay across two lines, a
/// dense file was read at two thirds of the rate, depending on how deep in the stack the kernel happened to be called.
#[repr(align(64))]
struct Tables<const N: usize>([[u8; 64]; N]);

impl<const N: usize> Tables<N> {
    /// # Safety
    /// AVX-512 is there.
    #[inline(always)]
    unsafe fn new(registers: [__m512i; N]) -> Tables<N> {
        let mut tables = Tables([[0; 64]; N]);
        for (table, x) in tables.0.iter_mut().zip(registers) {
            // SAFETY: AVX-512 is the caller's promise; the store is of the 64 bytes of a table.
            unsafe { _mm512_storeu_si512(table.as_mut_ptr().cast(), x) };
        }
        tables
    }
}

/// Appends the `count` pairs of a block, if they are all ordinary and have columns below `dim`; nothing otherwise.
///
/// # Safety
/// AVX-512 with VBMI and VBMI2 is there.
#[inline(always)]
unsafe fn block_of_pairs<E: Real>(
    block: &[u8; 64],
    ends: u64,
    count: usize,
    dim: u32,
    pairs: &mut Pairs,
    columns: &mut Vec<u32>,
    values: &mut Vec<E>,
) -> bool {
    // Of pairs that end in this block.
    let inside = !ends & (u64::MAX >> ends.leading_zeros());
    let starts = inside & !(inside << 1);
    let tokens = ends & inside << 1;
    let kept = columns.len();
    // SAFETY: the caller's promise; loads and stores are of arrays and slices of their sizes.
    unsafe {
        let x = _mm512_loadu_si512(block.as_ptr().cast());
        let digits = _mm512_sub_epi8(x, _mm512_set1_epi8(b'0' as i8));
        let is_digit = _mm512_cmple_epu8_mask(digits, _mm512_set1_epi8(9));
        let colons = inside & _mm512_cmpeq_epi8_mask(x, _mm512_set1_epi8(b':' as i8));
        // Carries run from each start to its first colon, which is to be the only one and between digits.
        let runs = inside & !colons;
        let middles = runs.wrapping_add(starts) & !runs;
        let odd = inside & !(is_digit | colons) | (middles ^ colons);
        let (firsts, seconds) = (starts & is_digit, middles << 1 & is_digit & inside);
        if odd != 0 || firsts != starts || seconds != middles << 1 {
            return false;
        }
        let places = _mm512_loadu_si512(PLACES.as_ptr().cast());
        let ends = _mm512_maskz_compress_epi8(tokens, places);
        let middles = _mm512_maskz_compress_epi8(middles, places);
        let n_index = _mm512_sub_epi8(middles, _mm512_maskz_compress_epi8(starts, places));
        let n_value = _mm512_subs_epu8(ends, _mm512_add_epi8(middles, _mm512_set1_epi8(1)));
        // Seven digits are exact in every type.
        if _mm512_cmpgt_epu8_mask(n_index, _mm512_set1_epi8(8)) != 0
            || _mm512_cmpgt_epu8_mask(n_value, _mm512_set1_epi8(7)) != 0
        {
            return false;
        }
        let tables = Tables::new([middles, ends, n_index, n_value]);
        let [middles, ends, n_index, n_value] = &tables.0;
        let (mut next, mut sorted) = (pairs.next, pairs.sorted);
        for from in (0..count).step_by(8) {
            let n = (count - from).min(8);
            let index = joined(digits, unsigned(middles, from), unsigned(n_index, from));
            let value = joined(digits, unsigned(ends, from), unsigned(n_value, from));
            let here = 0xFF >> (8 - n);
            if _mm256_cmpge_epu32_mask(index, _mm256_set1_epi32(dim as i32)) & here != 0 {
                columns.truncate(kept);
                values.truncate(kept);
                return false;
            }
            let before = _mm256_permutevar8x32_epi32(index, _mm256_setr_epi32(0, 0, 1, 2, 3, 4, 5, 6));
            let ascends = _mm256_cmpgt_epu32_mask(index, before) | 1;
            let len = columns.len();
            columns.resize(len + 8, 0);
            _mm256_storeu_si256(columns[len..len + 8].as_mut_ptr().cast(), index);
            sorted &= ascends & here == here && next <= columns[len];
            columns.truncate(len + n);
            next = columns[len + n - 1] + 1;
            values.resize(len + 8, E::default());
            if let Some(slots) = E::singles(&mut values[len..len + 8]) {
                _mm256_storeu_ps(slots.as_mut_ptr(), _mm256_cvtepi32_ps(value));
            } else {
                let mut whole = [0u32; 8];
                _mm256_storeu_si256(whole.as_mut_ptr().cast(), value);
                values[len..].iter_mut().zip(whole).for_each(|(v, n)| *v = E::from_small(n));
            }
            values.truncate(len + n);
        }
        (pairs.next, pairs.sorted) = (next, sorted);
        true
    }
}

/// Up to 16 whole numbers: each are the `n` digits before its end.
///
/// # Safety
/// AVX-512 with VBMI is there.
#[inline(always)]
unsafe fn numbers(digits: __m512i, ends: __m128i, n: __m128i) -> [__m256i; 2] {
    // SAFETY: the caller's promise.
    unsafe {
        [
            joined(digits, _mm512_cvtepu8_epi64(ends), _mm512_cvtepu8_epi64(n)),
            joined(
                digits,
                _mm512_cvtepu8_epi64(_mm_bsrli_si128::<8>(ends)),
                _mm512_cvtepu8_epi64(_mm_bsrli_si128::<8>(n)),
            ),
        ]
    }
}

struct ByAvx512;

impl Block for ByAvx512 {
    #[inline(always)]
    unsafe fn digits(text: &[u8; 16], n: usize) -> Option<Digits> {
        // SAFETY: AVX2 comes with AVX-512, which is the caller's promise.
        unsafe { avx2::digits(text, n) }
    }

    #[inline(always)]
    unsafe fn masks(block: &[u8; 64]) -> Masks {
        // SAFETY: AVX-512 is the caller's promise; the load is of the 64 bytes.
        unsafe {
            let x = _mm512_loadu_si512(block.as_ptr().cast());
            let is = |b: u8| _mm512_cmpeq_epi8_mask(x, _mm512_set1_epi8(b as i8));
            // Signed: bytes beyond ASCII are negative.
            let ends = _mm512_cmple_epi8_mask(x, _mm512_set1_epi8(0x20)) | is(b'|');
            Masks { ends, stops: ends & !(is(b' ') | is(b'\t')) }
        }
    }

    #[inline(always)]
    unsafe fn equal(block: &[u8; 64], byte: u8) -> u64 {
        // SAFETY: AVX-512 is the caller's promise; the load is of the 64 bytes.
        unsafe {
            _mm512_cmpeq_epi8_mask(_mm512_loadu_si512(block.as_ptr().cast()), _mm512_set1_epi8(byte as i8))
        }
    }

    #[inline(always)]
    unsafe fn decimal_digits(block: &[u8; 64]) -> u64 {
        // SAFETY: AVX-512 is the caller's promise; the load is of the 64 bytes.
        unsafe {
            let x = _mm512_loadu_si512(block.as_ptr().cast());
            _mm512_cmple_epu8_mask(_mm512_sub_epi8(x, _mm512_set1_epi8(b'0' as i8)), _mm512_set1_epi8(9))
        }
    }

    #[inline(always)]
    unsafe fn pairs(bytes: &[u8], at: usize, found: &Found, tape: &mut Tape) {
        let block: &[u8; 64] = bytes[at..].first_chunk().expect("what was found is of a block");
        let Found { starts, colons, ends, marks, before } = *found;
        let indices: &mut [u32; OF_BLOCK] =
            tape.indices[1 + tape.n_pairs..].first_chunk_mut().expect("a tape has room for a block");
        let values: &mut [u32; OF_BLOCK] = tape.values[tape.n_pairs..].first_chunk_mut().expect("likewise");
        let mark_places: &mut [u16; OF_BLOCK] =
            tape.places[tape.n_marks..].first_chunk_mut().expect("likewise");
        let ranks: &mut [u16; OF_BLOCK] = tape.ranks[tape.n_marks..].first_chunk_mut().expect("likewise");
        // SAFETY: AVX-512 is the caller's promise; loads and stores are of arrays of their sizes.
        unsafe {
            let places = _mm512_loadu_si512(PLACES.as_ptr().cast());
            let digits =
                _mm512_sub_epi8(_mm512_loadu_si512(block.as_ptr().cast()), _mm512_set1_epi8(b'0' as i8));
            let of = |bits, x| _mm512_castsi512_si128(_mm512_maskz_compress_epi8(bits, x));
            let middles = of(colons, places);
            let n_index = _mm_sub_epi8(middles, of(starts, places));
            let [low, high] = numbers(digits, middles, n_index);
            _mm256_storeu_si256(indices[..8].as_mut_ptr().cast(), low);
            _mm256_storeu_si256(indices[8..].as_mut_ptr().cast(), high);
            if colons << 2 == ends {
                let digits = of(colons << 1, digits);
                _mm512_storeu_si512(values.as_mut_ptr().cast(), _mm512_cvtepu8_epi32(digits));
            } else {
                let ends = of(ends, places);
                let n_value = _mm_subs_epu8(ends, _mm_add_epi8(middles, _mm_set1_epi8(1)));
                let [low, high] = numbers(digits, ends, n_value);
                _mm256_storeu_si256(values[..8].as_mut_ptr().cast(), low);
                _mm256_storeu_si256(values[8..].as_mut_ptr().cast(), high);
            }
            let from = |n: usize, x| _mm256_add_epi16(_mm256_cvtepu8_epi16(x), _mm256_set1_epi16(n as i16));
            _mm256_storeu_si256(mark_places.as_mut_ptr().cast(), from(before, of(marks, places)));
            // Among the last bytes of pairs and the marks, those of pairs are as many as stand before a mark and are none.
            let ordinals = of(_pext_u64(marks, ends >> 1 | marks), places);
            let pairs = _mm_sub_epi8(ordinals, _mm512_castsi512_si128(places));
            _mm256_storeu_si256(ranks.as_mut_ptr().cast(), from(tape.n_pairs, pairs));
        }
    }

    #[inline(always)]
    unsafe fn is_zeros(block: &[u8; 64]) -> bool {
        // SAFETY: AVX-512 is the caller's promise; the loads are of 64 bytes each.
        unsafe {
            let x = _mm512_loadu_si512(block.as_ptr().cast());
            _mm512_cmpeq_epi8_mask(x, _mm512_loadu_si512(ZEROS.as_ptr().cast())) == !0
        }
    }

    /// The last, last but one and last but two digits of all values are gathered by byte compression; a value that has
    /// no such digit gives a zero.
    #[inline(always)]
    unsafe fn small(bytes: &[u8], at: usize, ends: u64, tokens: u64) -> Option<[u16; 32]> {
        // A list never begins at the first two bytes of a file: `|` and a name come before it.
        let text = bytes.get(at.checked_sub(2)?..at + 64)?;
        // Bytes of values that end in this block.
        let inside = !ends & (u64::MAX >> ends.leading_zeros());
        if inside & inside >> 1 & inside >> 2 & inside >> 3 != 0 {
            return None;
        }
        // SAFETY: AVX-512 is the caller's promise; the loads are of 64 of the 66 bytes of `text`, from 0, 1 and 2.
        unsafe {
            let digits = |from: usize| {
                let x = _mm512_loadu_si512(text[from..from + 64].as_ptr().cast());
                _mm512_sub_epi8(x, _mm512_set1_epi8(b'0' as i8))
            };
            let ones = digits(2);
            if inside & _mm512_cmpgt_epu8_mask(ones, _mm512_set1_epi8(9)) != 0 {
                return None;
            }
            let last = tokens >> 1;
            let gather = |digits| {
                _mm512_cvtepu8_epi16(_mm512_castsi512_si256(_mm512_maskz_compress_epi8(last, digits)))
            };
            let tens = _mm512_maskz_mov_epi8(inside << 1, digits(1));
            let hundreds = _mm512_maskz_mov_epi8(inside << 1 & inside << 2, digits(0));
            let sum = _mm512_add_epi16(
                gather(ones),
                _mm512_add_epi16(
                    _mm512_mullo_epi16(gather(tens), _mm512_set1_epi16(10)),
                    _mm512_mullo_epi16(gather(hundreds), _mm512_set1_epi16(100)),
                ),
            );
            let mut values = [0; 32];
            _mm512_storeu_si512(values.as_mut_ptr().cast(), sum);
            Some(values)
        }
    }

    /// A value is taken apart at its point and its exponent. For eight values at a time the eight bytes before the point
    /// and the eight at the end of the digits are brought into a lane each by byte permutation, what is no part of them
    /// made zero, the digits joined, and both parts put together as doubles, which hold them exactly.
    #[inline(always)]
    unsafe fn decimals<E: Real>(block: &[u8; 64], ends: u64, slots: &mut [E]) -> Option<u32> {
        // Of values that end in this block.
        let mut inside = !ends & (u64::MAX >> ends.leading_zeros());
        let starts = inside & !(inside << 1);
        let mut tokens = ends & inside << 1;
        // SAFETY: AVX-512 is the caller's promise; loads are of 64 bytes of arrays that have them, stores masked to or
        // within what they store to.
        unsafe {
            let x = _mm512_loadu_si512(block.as_ptr().cast());
            let digits = _mm512_sub_epi8(x, _mm512_set1_epi8(b'0' as i8));
            let is_digit = _mm512_cmple_epu8_mask(digits, _mm512_set1_epi8(9));
            let is = |b: u8| _mm512_cmpeq_epi8_mask(x, _mm512_set1_epi8(b as i8));
            let points = inside & is(b'.');
            let exponents = inside & (is(b'e') | is(b'E'));
            let powers = if exponents == 0 {
                None
            } else {
                let written = Exponents { places: exponents, minus: is(b'-'), plus: is(b'+') };
                // No exponent may follow a point without digits behind it.
                if exponents & points << 1 != 0 || !written.are_ordinary(is_digit, tokens) {
                    return None;
                }
                let powers = written.of_values(digits, tokens);
                // Values end in front of their exponents.
                inside &= !written.bytes();
                tokens = tokens & !(exponents << 4) | exponents;
                Some(powers)
            };
            let minus = starts & is(b'-');
            // Carries run from each start to its first point, or else to its end.
            let runs = inside & !points;
            let middles = runs.wrapping_add(starts) & !runs;
            let firsts = (starts & !minus | minus << 1) & is_digit & inside;
            let odd = inside & !(is_digit | minus | points & middles);
            if odd != 0 || firsts.count_ones() != starts.count_ones() {
                return None;
            }
            let places = _mm512_loadu_si512(PLACES.as_ptr().cast());
            let ends = _mm512_maskz_compress_epi8(tokens, places);
            let middles = _mm512_maskz_compress_epi8(middles, places);
            let firsts = _mm512_maskz_compress_epi8(firsts, places);
            let n_whole = _mm512_sub_epi8(middles, firsts);
            let n_fraction = _mm512_subs_epu8(ends, _mm512_add_epi8(middles, _mm512_set1_epi8(1)));
            let n_digits = _mm512_add_epi8(n_whole, n_fraction);
            let (eight, fifteen) = (_mm512_set1_epi8(8), _mm512_set1_epi8(15));
            if _mm512_cmpgt_epu8_mask(_mm512_max_epu8(n_whole, n_fraction), eight) != 0
                || _mm512_cmpgt_epu8_mask(n_digits, fifteen) != 0
            {
                return None;
            }
            let decimals = Decimals {
                middles,
                ends,
                n_whole,
                n_fraction,
                powers: powers.unwrap_or(_mm512_setzero_si512()),
                // A bit a value, in their order.
                signs: _pext_u64(minus, starts) as u32,
            };
            Some(if powers.is_some() {
                scientific(digits, decimals, slots)
            } else {
                plain(digits, decimals, slots)
            })
        }
    }
}

/// Exponents of the values of a block, a bit for each byte of the block.
struct Exponents {
    /// Where their `e` is.
    places: u64,
    /// All `-` of the block.
    minus: u64,
    /// All `+` of the block.
    plus: u64,
}

impl Exponents {
    /// True if all are a sign and two digits, as C's `printf` and NumPy write them, and end their value.
    #[inline(always)]
    fn are_ordinary(&self, is_digit: u64, tokens: u64) -> bool {
        let places = self.places;
        let odd = places << 1 & !(self.minus | self.plus)
            | (places << 2 | places << 3) & !is_digit
            | places << 4 & !tokens
            | places >> 60;
        odd == 0
    }

    /// Their bytes.
    #[inline(always)]
    fn bytes(&self) -> u64 {
        self.places | self.places << 1 | self.places << 2 | self.places << 3
    }

    /// The exponents of all values, a signed byte each, which end at `tokens`; zero of a value that has none.
    ///
    /// # Safety
    /// AVX-512 with VBMI2 is there.
    #[inline(always)]
    unsafe fn of_values(&self, digits: __m512i, tokens: u64) -> __m512i {
        // SAFETY: the caller's promise.
        unsafe {
            let tens = _mm512_maskz_compress_epi8(self.places << 2, digits);
            let ones = _mm512_maskz_compress_epi8(self.places << 3, digits);
            let twice = _mm512_add_epi8(tens, tens);
            let four = _mm512_add_epi8(twice, twice);
            let size = _mm512_add_epi8(_mm512_add_epi8(ones, twice), _mm512_add_epi8(four, four));
            let negative = _pext_u64(self.minus, self.places << 1);
            let exponents = _mm512_mask_sub_epi8(size, negative, _mm512_setzero_si512(), size);
            _mm512_maskz_expand_epi8(_pext_u64(self.places << 4, tokens), exponents)
        }
    }
}

/// The decimals of a block, a byte for each value in every register.
struct Decimals {
    /// Where their digits in front of the point end.
    middles: __m512i,
    /// Where those behind it end.
    ends: __m512i,
    /// Digits in front of the point, up to eight.
    n_whole: __m512i,
    /// Digits behind it, up to eight.
    n_fraction: __m512i,
    /// Their exponents.
    powers: __m512i,
    /// A bit for each value: it is negative.
    signs: u32,
}

/// Puts decimals without exponents into `slots`. Returns where the bit of a value is set that is too near a tie.
///
/// # Safety
/// AVX-512 with VBMI is there.
#[inline(always)]
unsafe fn plain<E: Real>(digits: __m512i, decimals: Decimals, slots: &mut [E]) -> u32 {
    // SAFETY: the caller's promise; loads are of 64 bytes of arrays that have them, stores masked to or within what they
    // store to.
    unsafe {
        let Decimals { middles, ends, n_whole, n_fraction, signs, .. } = decimals;
        let columns = Tables::new([middles, ends, n_whole, n_fraction]);
        let mut near = 0;
        for (group, slots) in slots.chunks_mut(8).enumerate() {
            let from = group * 8;
            let (mantissa, scale) = mantissas(digits, &columns, from);
            if let Some(slots) = E::singles(slots) {
                let x = _mm512_mul_pd(mantissa, by_scale(&INVERSES, scale));
                near |= u32::from(store_singles(x, signs >> from, slots)) << from;
            } else {
                let mut mantissas = [0.0; 8];
                _mm512_storeu_pd(mantissas.as_mut_ptr(), mantissa);
                for (i, slot) in slots.iter_mut().enumerate() {
                    let (scale, negative) = (columns.0[3][from + i].into(), signs >> (from + i) & 1 != 0);
                    match E::from_decimal(negative, mantissas[i] as u64, scale) {
                        Some(x) => *slot = x,
                        None => near |= 1 << (from + i),
                    }
                }
            }
        }
        near
    }
}

/// Like [`plain`] with exponents, which also gives back values whose power of ten is beyond those of ordinary floats.
///
/// It is no part of the loop over blocks, which plain decimals would pay for.
///
/// # Safety
/// AVX-512 with VBMI is there.
#[inline(never)]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt,avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2")]
unsafe fn scientific<E: Real>(digits: __m512i, decimals: Decimals, slots: &mut [E]) -> u32 {
    // SAFETY: the caller's promise; loads are of 64 bytes of arrays that have them, stores masked to or within what they
    // store to.
    unsafe {
        let Decimals { middles, ends, n_whole, n_fraction, powers, signs } = decimals;
        let columns = Tables::new([middles, ends, n_whole, n_fraction]);
        let powers = Tables::new([_mm512_sub_epi8(powers, n_fraction)]);
        let [powers] = &powers.0;
        let mut left = 0;
        for (group, slots) in slots.chunks_mut(8).enumerate() {
            let from = group * 8;
            let (mantissa, _) = mantissas(digits, &columns, from);
            if let Some(slots) = E::singles(slots) {
                let powers = _mm512_cvtepi8_epi64(_mm_loadl_epi64(powers[from..from + 8].as_ptr().cast()));
                let place = _mm512_add_epi64(powers, _mm512_set1_epi64(LEAST_POWER));
                // Unsigned: lower powers, whose floats may be denormal, are beyond as well.
                let beyond = _mm512_cmpge_epu64_mask(place, _mm512_set1_epi64(128));
                // Three roundings, as in `f32::from_decimal`: in the table, of the product of powers, and here.
                let power = _mm512_mul_pd(
                    by_scale(&EIGHTH_POWERS, _mm512_srli_epi64(place, 3)),
                    _mm512_permutexvar_pd(place, _mm512_loadu_pd(POWERS.as_ptr())),
                );
                let near = store_singles(_mm512_mul_pd(mantissa, power), signs >> from, slots);
                left |= u32::from(near | beyond) << from;
            } else {
                let mut mantissas = [0.0; 8];
                _mm512_storeu_pd(mantissas.as_mut_ptr(), mantissa);
                for (i, slot) in slots.iter_mut().enumerate() {
                    let power = i64::from(powers[from + i].cast_signed());
                    match E::from_scientific(signs >> (from + i) & 1 != 0, mantissas[i] as u64, power) {
                        Some(x) => *slot = x,
                        None => left |= 1 << (from + i),
                    }
                }
            }
        }
        left
    }
}

/// Eight bytes of a register in memory, a lane each.
///
/// # Safety
/// AVX-512 is there.
#[inline(always)]
unsafe fn unsigned(column: &[u8; 64], from: usize) -> __m512i {
    // SAFETY: the caller's promise; the load is of eight bytes of the slice.
    unsafe { _mm512_cvtepu8_epi64(_mm_loadl_epi64(column[from..from + 8].as_ptr().cast())) }
}

/// Eight decimals without their points, exactly, and the digits behind those. `columns` are the first four of [`Decimals`].
///
/// # Safety
/// AVX-512 with VBMI is there.
#[inline(always)]
unsafe fn mantissas(digits: __m512i, columns: &Tables<4>, from: usize) -> (__m512d, __m512i) {
    let [middles, ends, n_whole, n_fraction] = &columns.0;
    // SAFETY: the caller's promise.
    unsafe {
        let scale = unsigned(n_fraction, from);
        let whole = joined(digits, unsigned(middles, from), unsigned(n_whole, from));
        let fraction = joined(digits, unsigned(ends, from), scale);
        let (whole, fraction) = (_mm512_cvtepi32_pd(whole), _mm512_cvtepi32_pd(fraction));
        (_mm512_fmadd_pd(whole, by_scale(&POWERS, scale), fraction), scale)
    }
}

/// Rounds to `f32` and stores, the signs from the low bits of `signs`. Returns which values are too near a tie.
///
/// # Safety
/// AVX-512 is there.
#[inline(always)]
unsafe fn store_singles(x: __m512d, signs: u32, slots: &mut [f32]) -> u8 {
    // SAFETY: the caller's promise; the store is masked to the slots.
    unsafe {
        // As `f32::from_decimal` has it.
        let low = _mm512_and_si512(_mm512_castpd_si512(x), _mm512_set1_epi64(0x1FFF_FFFF));
        let off = _mm512_sub_epi64(low, _mm512_set1_epi64(0x1000_0000 - 4));
        let near = _mm512_cmple_epu64_mask(off, _mm512_set1_epi64(8));
        let minus = _mm256_maskz_set1_epi32(signs as u8, i32::MIN);
        let x = _mm256_xor_ps(_mm512_cvtpd_ps(x), _mm256_castsi256_ps(minus));
        let here = (0xFF >> (8 - slots.len())) as u8;
        _mm256_mask_storeu_ps(slots.as_mut_ptr(), here, x);
        near & here
    }
}

/// Minus the exponent of the least power of ten that makes no denormal float of a whole number.
const LEAST_POWER: i64 = 37;

/// Every eighth power of ten from the least one; [`POWERS`] has those between.
static EIGHTH_POWERS: [f64; 16] =
    [1e-37, 1e-29, 1e-21, 1e-13, 1e-5, 1e3, 1e11, 1e19, 1e27, 1e35, 1e43, 1e51, 1e59, 1e67, 1e75, 1e83];

/// 0, 1, 2, …
static PLACES: [u8; 64] = {
    let mut places = [0; 64];
    let mut i = 0;
    while i < 64 {
        places[i] = i as u8;
        i += 1;
    }
    places
};

/// The whole numbers of eight lanes: each lane's are the `n` digits, up to eight, before `ends`.
///
/// # Safety
/// AVX-512 with VBMI is there.
#[inline(always)]
unsafe fn joined(digits: __m512i, ends: __m512i, n: __m512i) -> __m256i {
    // SAFETY: the caller's promise.
    unsafe {
        // Each lane's low byte in all of its bytes.
        let spread = _mm512_set4_epi32(0x0808_0808, 0x0808_0808, 0, 0);
        let ends = _mm512_shuffle_epi8(ends, spread);
        let n = _mm512_shuffle_epi8(n, spread);
        let places = _mm512_set1_epi64(0x0706_0504_0302_0100);
        let before = _mm512_add_epi8(ends, _mm512_sub_epi8(places, _mm512_set1_epi8(8)));
        // The last `n` of the eight.
        let kept = _mm512_cmpge_epu8_mask(_mm512_add_epi8(n, places), _mm512_set1_epi8(8));
        let digits = _mm512_maskz_permutexvar_epi8(kept, before, digits);
        // Neighbours are joined to pairs, pairs to fours, fours to eights.
        let pairs = _mm512_maddubs_epi16(digits, _mm512_set1_epi16(0x010A));
        let fours = _mm512_madd_epi16(pairs, _mm512_set1_epi32(0x0001_0064));
        let parts = _mm512_madd_epi16(fours, _mm512_set1_epi64(0x0000_0001_0000_2710));
        let eights = _mm512_add_epi64(parts, _mm512_srli_epi64(parts, 32));
        _mm512_cvtepi64_epi32(eights)
    }
}

/// The entries of a table that lanes, up to 8, ask for.
///
/// # Safety
/// AVX-512 is there.
#[inline(always)]
unsafe fn by_scale<const N: usize>(table: &[f64; N], lanes: __m512i) -> __m512d {
    // SAFETY: the caller's promise; loads are of the first 16 entries of at least 23.
    unsafe {
        let (low, high) = (_mm512_loadu_pd(table.as_ptr()), _mm512_loadu_pd(table[8..].as_ptr()));
        _mm512_permutex2var_pd(low, lanes, high)
    }
}
