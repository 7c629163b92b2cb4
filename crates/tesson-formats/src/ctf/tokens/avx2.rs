//! Dense values by blocks with AVX2: the rules of `blocks.rs` with 32 bytes a register.
//!
//! For the next editor: `small` and `decimals` decline, since they need byte permutations across a whole register,
//! which AVX-512 has; `blocks.rs` then converts value by value.

use std::arch::x86_64::*;

use tesson_core::Kernels;

use super::super::decimal::{Grammar, Real};
use super::blocks::{Block, Masks, ZEROS, decimal, dense, kernel};
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
