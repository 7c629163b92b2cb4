//! Dense values by blocks with AVX2: the rules of `blocks.rs` with 32 bytes a register.
//!
//! For the next editor: `decimals` declines, since it needs byte permutations across a whole register, which AVX-512
//! has; `blocks.rs` then converts value by value.

use std::arch::x86_64::*;

use tesson_core::Kernels;

use super::super::decimal::{Grammar, Real, read};
use super::super::sparse_rows::{Found, SparseRows, Tape, marks_by_words, take_lowest};
use super::blocks::{Apart, Block, Digits, LAST, Masks, WITHOUT, ZEROS, dense, kernel, long, ordinary};
use crate::fields::Fields;

kernel! {
    /// AVX2 and what comes with it.
    Avx2 of ByAvx2 with "avx2,bmi1,bmi2,lzcnt,popcnt"
}

struct ByAvx2;

impl Block for ByAvx2 {
    #[inline(always)]
    unsafe fn masks(block: &[u8; 64]) -> Masks {
        // SAFETY: AVX2 is the caller's promise; both loads are within the 64 bytes.
        unsafe {
            let (low, high) = halves(block);
            let mask = |low, high| {
                u64::from(_mm256_movemask_epi8(low) as u32)
                    | u64::from(_mm256_movemask_epi8(high) as u32) << 32
            };
            let is = |x, b: u8| _mm256_cmpeq_epi8(x, _mm256_set1_epi8(b as i8));
            // Signed: bytes beyond ASCII are negative.
            let end = |x| _mm256_or_si256(_mm256_cmpgt_epi8(_mm256_set1_epi8(0x21), x), is(x, b'|'));
            let blank = |x| _mm256_or_si256(is(x, b' '), is(x, b'\t'));
            let ends = mask(end(low), end(high));
            Masks { ends, stops: ends & !mask(blank(low), blank(high)) }
        }
    }

    #[inline(always)]
    unsafe fn equal(block: &[u8; 64], byte: u8) -> u64 {
        // SAFETY: AVX2 is the caller's promise; both loads are within the 64 bytes.
        unsafe {
            let (low, high) = halves(block);
            let mask = |x| _mm256_movemask_epi8(_mm256_cmpeq_epi8(x, _mm256_set1_epi8(byte as i8))) as u32;
            u64::from(mask(low)) | u64::from(mask(high)) << 32
        }
    }

    #[inline(always)]
    unsafe fn decimal_digits(block: &[u8; 64]) -> u64 {
        // SAFETY: AVX2 is the caller's promise; both loads are within the 64 bytes.
        unsafe {
            let (low, high) = halves(block);
            let mask = |x| {
                let digits = _mm256_sub_epi8(x, _mm256_set1_epi8(b'0' as i8));
                let small = _mm256_min_epu8(digits, _mm256_set1_epi8(9));
                _mm256_movemask_epi8(_mm256_cmpeq_epi8(small, digits)) as u32
            };
            u64::from(mask(low)) | u64::from(mask(high)) << 32
        }
    }

    #[inline(always)]
    unsafe fn pairs(bytes: &[u8], at: usize, found: &Found, tape: &mut Tape) {
        let Found { mut starts, mut colons, mut ends, .. } = *found;
        let text: &[u8; 72] = bytes[at - 8..].first_chunk().expect("a block and what is in front of it");
        let are_digits = colons << 2 == ends;
        for from in (tape.n_pairs..tape.n_pairs + ends.count_ones() as usize).step_by(4) {
            let mut index = Four::default();
            let mut value = Four::default();
            for i in 0..4 {
                // Behind the last pair all are 64: a number without digits.
                let (start, colon) = (take_lowest(&mut starts) as usize, take_lowest(&mut colons) as usize);
                index.put(i, text, start, colon);
                if are_digits {
                    tape.values[from + i] = u32::from(text[8 + (colon + 1) % 64].wrapping_sub(b'0'));
                } else {
                    let end = take_lowest(&mut ends) as usize;
                    value.put(i, text, end.min(colon + 1), end);
                }
            }
            // SAFETY: AVX2 is the caller's promise.
            unsafe {
                index.join(&mut tape.indices[1 + from..]);
                if !are_digits {
                    value.join(&mut tape.values[from..]);
                }
            }
        }
        marks_by_words(found, tape);
    }

    #[inline(always)]
    unsafe fn is_zeros(block: &[u8; 64]) -> bool {
        // SAFETY: AVX2 is the caller's promise; all loads are within 64 bytes.
        unsafe {
            let ((low, high), (zeros, _)) = (halves(block), halves(&ZEROS));
            let both = _mm256_and_si256(_mm256_cmpeq_epi8(low, zeros), _mm256_cmpeq_epi8(high, zeros));
            _mm256_movemask_epi8(both) == -1
        }
    }

    #[inline(always)]
    unsafe fn small(bytes: &[u8], at: usize, ends: u64, tokens: u64) -> Option<[u16; 32]> {
        // Bytes of values that end in this block.
        let inside = !ends & (u64::MAX >> ends.leading_zeros());
        if inside & inside >> 1 & inside >> 2 & inside >> 3 != 0 {
            return None;
        }
        // SAFETY: the features are the caller's promise.
        unsafe { small_numbers(bytes, at, inside, tokens) }
    }

    #[inline(always)]
    unsafe fn decimals<E: Real>(_: &[u8; 64], _: u64, _: &mut [E]) -> Option<u32> {
        None
    }

    #[inline(always)]
    unsafe fn digits(text: &[u8; 16], n: usize) -> Option<Digits> {
        // SAFETY: the caller's promise.
        unsafe { digits(text, n) }
    }
}

/// Like [`Block::digits`], for AVX-512, too.
///
/// # Safety
/// AVX2 is there.
#[inline(always)]
pub(super) unsafe fn digits(text: &[u8; 16], n: usize) -> Option<Digits> {
    // SAFETY: AVX2 is the caller's promise. The loads: the 16 bytes of `text`; of `LAST`, 16 of 32 from at most 16; of `WITHOUT`, one
    // of its entries.
    unsafe {
        let bytes = _mm_loadu_si128(text.as_ptr().cast());
        let token = _mm_loadu_si128(LAST[n..n + 16].as_ptr().cast());
        let digits = _mm_sub_epi8(bytes, _mm_set1_epi8(b'0' as i8));
        let is_digit = _mm_cmpeq_epi8(_mm_min_epu8(digits, _mm_set1_epi8(9)), digits);
        let others = _mm_movemask_epi8(_mm_andnot_si128(is_digit, token)) as u32;
        let point = (others | 0x1_0000).trailing_zeros() as usize;
        // One byte that is no digit may be there: a point.
        if others & others.wrapping_sub(1) != 0 || (others != 0 && text[point] != b'.') {
            return None;
        }
        let digits = _mm_and_si128(digits, _mm_and_si128(is_digit, token));
        let digits = _mm_shuffle_epi8(digits, _mm_loadu_si128(WITHOUT[point].as_ptr().cast()));
        // Neighbours are joined to pairs, pairs to fours, fours to eights.
        let tens = _mm_setr_epi8(10, 1, 10, 1, 10, 1, 10, 1, 10, 1, 10, 1, 10, 1, 10, 1);
        let pairs = _mm_maddubs_epi16(digits, tens);
        let fours = _mm_madd_epi16(pairs, _mm_setr_epi16(100, 1, 100, 1, 100, 1, 100, 1));
        let fours = _mm_packus_epi32(fours, fours);
        let eights = _mm_madd_epi16(fours, _mm_setr_epi16(10_000, 1, 10_000, 1, 10_000, 1, 10_000, 1));
        let both = _mm_cvtsi128_si64(eights) as u64;
        Some(Digits { mantissa: (both & 0xFFFF_FFFF) * 100_000_000 + (both >> 32), point })
    }
}

/// Four whole numbers of up to eight digits.
#[derive(Default)]
struct Four {
    /// The eight bytes in front of where each ends.
    words: [u64; 4],
    /// The bits of each word that are in front of the number.
    others: [u64; 4],
}

impl Four {
    /// The number at `start..end` of a block, which has eight bytes in front of it.
    #[inline(always)]
    fn put(&mut self, i: usize, text: &[u8; 72], start: usize, end: usize) {
        self.words[i] = u64::from_le_bytes(*text[end..].first_chunk().expect("blocks end within the text"));
        self.others[i] = 64 - 8 * (end - start) as u64;
    }

    /// # Safety
    /// AVX2 is there.
    #[inline(always)]
    unsafe fn join(&self, numbers: &mut [u32]) {
        let numbers: &mut [u32; 4] = numbers.first_chunk_mut().expect("tapes have room for a block");
        // SAFETY: AVX2 is the caller's promise; loads and the store are of arrays of their sizes.
        unsafe {
            let words = _mm256_loadu_si256(self.words.as_ptr().cast());
            let others = _mm256_loadu_si256(self.others.as_ptr().cast());
            let digits = _mm256_xor_si256(words, _mm256_set1_epi8(b'0' as i8));
            let digits = _mm256_sllv_epi64(_mm256_srlv_epi64(digits, others), others);
            // Neighbours are joined to pairs, pairs to fours, fours to eights.
            let pairs = _mm256_maddubs_epi16(digits, _mm256_set1_epi16(0x010A));
            let fours = _mm256_madd_epi16(pairs, _mm256_set1_epi32(0x0001_0064));
            let parts = _mm256_madd_epi16(fours, _mm256_set1_epi64x(0x0000_0001_0000_2710));
            let eights = _mm256_add_epi32(parts, _mm256_srli_epi64::<32>(parts));
            let low = _mm256_permutevar8x32_epi32(eights, _mm256_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6));
            _mm_storeu_si128(numbers.as_mut_ptr().cast(), _mm256_castsi256_si128(low));
        }
    }
}

/// The two halves of a block.
///
/// # Safety
/// AVX2 is there.
#[inline(always)]
unsafe fn halves(block: &[u8; 64]) -> (__m256i, __m256i) {
    // SAFETY: AVX2 is the caller's promise; both loads are within the 64 bytes.
    unsafe { (_mm256_loadu_si256(block.as_ptr().cast()), _mm256_loadu_si256(block[32..].as_ptr().cast())) }
}

/// The values of the block at `at`, each of at most three bytes, if they are whole numbers: `inside` has their bytes, `tokens` where
/// they end.
///
/// For each byte of the block the number is made that ends there, as its last two digits and the one before them: of all bytes at
/// once, as that costs less than to find digits value by value. Then those of the last bytes of values are gathered, eight bytes at
/// a time. It is no part of the loop over blocks, which decimals would pay for.
#[inline(never)]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn small_numbers(bytes: &[u8], at: usize, inside: u64, tokens: u64) -> Option<[u16; 32]> {
    // A list never begins at the first two bytes of a file: `|` and a name come before it.
    let text: &[u8; 66] = bytes.get(at.checked_sub(2)?..)?.first_chunk()?;
    // What stands in front of the block is no part of its first value.
    if inside & 1 != 0 && text[1].is_ascii_digit() {
        return None;
    }
    let (mut low, mut high, mut digits) = ([0u8; 64], [0u8; 64], 0);
    for half in [0, 32] {
        // SAFETY: AVX2 is enabled here; the stores are of half of the 64 bytes of an array.
        unsafe {
            let (ones, is_one) = digits_of(text, half + 2);
            let (tens, is_ten) = digits_of(text, half + 1);
            let (hundreds, is_hundred) = digits_of(text, half);
            digits |= u64::from(_mm256_movemask_epi8(is_one) as u32) << half;
            let tens = _mm256_and_si256(tens, is_ten);
            let twice = _mm256_add_epi8(tens, tens);
            let four = _mm256_add_epi8(twice, twice);
            let ten = _mm256_add_epi8(_mm256_add_epi8(four, four), twice);
            let hundreds = _mm256_and_si256(hundreds, _mm256_and_si256(is_ten, is_hundred));
            _mm256_storeu_si256(low[half..half + 32].as_mut_ptr().cast(), _mm256_add_epi8(ones, ten));
            _mm256_storeu_si256(high[half..half + 32].as_mut_ptr().cast(), hundreds);
        }
    }
    if inside & !digits != 0 {
        return None;
    }
    // There are 32 values at most; what is written behind the last one is zeros.
    let (mut lows, mut highs) = ([0u8; 40], [0u8; 40]);
    let (last, mut n) = (tokens >> 1, 0);
    for (word, (low, high)) in low.as_chunks::<8>().0.iter().zip(high.as_chunks::<8>().0).enumerate() {
        let here = last >> (8 * word) & 0xFF;
        lows[n..n + 8].copy_from_slice(&gathered(low, here));
        highs[n..n + 8].copy_from_slice(&gathered(high, here));
        n += here.count_ones() as usize;
    }
    let mut values = [0; 32];
    for (value, (&low, &high)) in values.iter_mut().zip(lows.iter().zip(&highs)) {
        *value = u16::from(low) + 100 * u16::from(high);
    }
    Some(values)
}

/// Digits that 32 bytes would be, and which of them are some.
///
/// For the next editor: a function and no closure. That of six calls was compiled by itself, without the features of its caller,
/// and called a function for each instruction.
///
/// # Safety
/// `text` has 32 bytes from there on.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn digits_of(text: &[u8; 66], from: usize) -> (__m256i, __m256i) {
    // SAFETY: the load is of 32 bytes of `text`.
    unsafe {
        let x = _mm256_loadu_si256(text[from..from + 32].as_ptr().cast());
        let digits = _mm256_sub_epi8(x, _mm256_set1_epi8(b'0' as i8));
        (digits, _mm256_cmpeq_epi8(_mm256_min_epu8(digits, _mm256_set1_epi8(9)), digits))
    }
}

/// Those of eight bytes whose bits are set, one after the other, and zeros.
#[inline]
#[target_feature(enable = "bmi2")]
fn gathered(bytes: &[u8; 8], which: u64) -> [u8; 8] {
    let taken = _pdep_u64(which, 0x0101_0101_0101_0101) * 0xFF;
    _pext_u64(u64::from_le_bytes(*bytes), taken).to_le_bytes()
}
