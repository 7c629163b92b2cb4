//! Dense values by blocks with NEON: the rules of `blocks.rs` with 16 bytes a register.
//!
//! For the next editor: NEON has no instruction that makes a bit mask of bytes; `mask` gives each byte its own bit of eight and adds
//! neighbours three times. `small` and `decimals` decline, as they do with AVX2. `cargo xtask neon` runs the tests of this file on
//! other processors.

use std::arch::aarch64::*;

use tesson_core::Kernels;

use super::super::decimal::{Grammar, Real, read};
use super::super::sparse_rows::SparseRows;
use super::blocks::{Apart, Block, Digits, LAST, Masks, WITHOUT, ZEROS, dense, kernel, long, ordinary};
use crate::fields::Fields;

kernel! {
    /// NEON, which every processor of this kind has; its level asks for checksums, too.
    Neon of ByNeon with "neon"
}

struct ByNeon;

impl Block for ByNeon {
    #[inline(always)]
    unsafe fn masks(block: &[u8; 64]) -> Masks {
        // SAFETY: NEON is the caller's promise.
        unsafe {
            let is = |x, b: u8| vceqq_u8(x, vdupq_n_u8(b));
            // Signed: bytes beyond ASCII are negative.
            let end = |x| vorrq_u8(vcltq_s8(vreinterpretq_s8_u8(x), vdupq_n_s8(0x21)), is(x, b'|'));
            let blank = |x| vorrq_u8(is(x, b' '), is(x, b'\t'));
            let ends = mask(quarters(block).map(end));
            Masks { ends, stops: ends & !mask(quarters(block).map(blank)) }
        }
    }

    #[inline(always)]
    unsafe fn equal(block: &[u8; 64], byte: u8) -> u64 {
        // SAFETY: NEON is the caller's promise.
        unsafe { mask(quarters(block).map(|x| vceqq_u8(x, vdupq_n_u8(byte)))) }
    }

    #[inline(always)]
    unsafe fn decimal_digits(block: &[u8; 64]) -> u64 {
        // SAFETY: NEON is the caller's promise.
        unsafe {
            let is_digit = |x| vcleq_u8(vsubq_u8(x, vdupq_n_u8(b'0')), vdupq_n_u8(9));
            mask(quarters(block).map(is_digit))
        }
    }

    #[inline(always)]
    unsafe fn is_zeros(block: &[u8; 64]) -> bool {
        // SAFETY: NEON is the caller's promise.
        unsafe {
            let ([a, b, c, d], [zeros, ..]) = (quarters(block), quarters(&ZEROS));
            let is = |x| vceqq_u8(x, zeros);
            vminvq_u8(vandq_u8(vandq_u8(is(a), is(b)), vandq_u8(is(c), is(d)))) == 0xFF
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
        // SAFETY: NEON is the caller's promise. The loads: the 16 bytes of `text`; of `LAST`, 16 of 32 from at most 16; of `WITHOUT`, one
        // of its entries; of arrays of 16 bytes.
        unsafe {
            let bytes = vld1q_u8(text.as_ptr());
            let token = vld1q_u8(LAST[n..n + 16].as_ptr());
            let digits = vsubq_u8(bytes, vdupq_n_u8(b'0'));
            let is_digit = vcleq_u8(digits, vdupq_n_u8(9));
            // Four bits a byte: the narrowing shift keeps the middle of each pair of bytes.
            let others = vreinterpretq_u16_u8(vbicq_u8(token, is_digit));
            let others = vget_lane_u64::<0>(vreinterpret_u64_u8(vshrn_n_u16::<4>(others)));
            let point = others.trailing_zeros() as usize / 4;
            // One byte that is no digit may be there: a point.
            if others != 0 && (others >> (4 * point) != 0xF || text[point] != b'.') {
                return None;
            }
            let digits = vandq_u8(digits, vandq_u8(is_digit, token));
            let digits = vqtbl1q_u8(digits, vld1q_u8(WITHOUT[point].as_ptr()));
            // Neighbours are joined to pairs, pairs to fours, fours to eights.
            let pairs = vpaddlq_u8(vmulq_u8(digits, vreinterpretq_u8_u16(vdupq_n_u16(0x010A))));
            let fours = vpaddlq_u16(vmulq_u16(pairs, vreinterpretq_u16_u32(vdupq_n_u32(0x0001_0064))));
            let eights =
                vpaddlq_u32(vmulq_u32(fours, vreinterpretq_u32_u64(vdupq_n_u64(0x0000_0001_0000_2710))));
            let (high, low) = (vgetq_lane_u64::<0>(eights), vgetq_lane_u64::<1>(eights));
            Some(Digits { mantissa: high * 100_000_000 + low, point })
        }
    }
}

/// The four quarters of a block.
///
/// # Safety
/// NEON is there.
#[inline(always)]
pub(super) unsafe fn quarters(block: &[u8; 64]) -> [uint8x16_t; 4] {
    // SAFETY: NEON is the caller's promise; the loads are of 16 bytes of the 64 each.
    unsafe { [0, 16, 32, 48].map(|at| vld1q_u8(block[at..at + 16].as_ptr())) }
}

/// A bit for each byte, of bytes of which each has all bits or none.
///
/// # Safety
/// NEON is there.
#[inline(always)]
pub(super) unsafe fn mask(quarters: [uint8x16_t; 4]) -> u64 {
    // SAFETY: NEON is the caller's promise.
    unsafe {
        let bits = vreinterpretq_u8_u64(vdupq_n_u64(0x8040_2010_0804_0201));
        let [a, b, c, d] = quarters.map(|quarter| vandq_u8(quarter, bits));
        let sums = vpaddq_u8(vpaddq_u8(a, b), vpaddq_u8(c, d));
        vgetq_lane_u64::<0>(vreinterpretq_u64_u8(vpaddq_u8(sums, sums)))
    }
}
