//! Dense values by blocks with AVX2: the rules of `blocks.rs` with 32 bytes a register.
//!
//! For the next editor: `small` and `decimals` decline, since they need byte permutations across a whole register,
//! which AVX-512 has; `blocks.rs` then converts value by value.

use std::arch::x86_64::*;

use tesson_core::Kernels;

use super::super::decimal::{Grammar, Real};
use super::blocks::{Block, Digits, LAST, Masks, WITHOUT, ZEROS, dense, kernel, ordinary};
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
    unsafe fn is_zeros(block: &[u8; 64]) -> bool {
        // SAFETY: AVX2 is the caller's promise; all loads are within 64 bytes.
        unsafe {
            let ((low, high), (zeros, _)) = (halves(block), halves(&ZEROS));
            let both = _mm256_and_si256(_mm256_cmpeq_epi8(low, zeros), _mm256_cmpeq_epi8(high, zeros));
            _mm256_movemask_epi8(both) == -1
        }
    }

    #[inline(always)]
    unsafe fn small(_: &[u8], _: usize, _: u64, _: u64) -> Option<[u16; 32]> {
        None
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

/// The two halves of a block.
///
/// # Safety
/// AVX2 is there.
#[inline(always)]
unsafe fn halves(block: &[u8; 64]) -> (__m256i, __m256i) {
    // SAFETY: AVX2 is the caller's promise; both loads are within the 64 bytes.
    unsafe { (_mm256_loadu_si256(block.as_ptr().cast()), _mm256_loadu_si256(block[32..].as_ptr().cast())) }
}
