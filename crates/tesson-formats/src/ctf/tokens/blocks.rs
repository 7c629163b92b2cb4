//! Dense values by blocks of 64 bytes: what AVX2, AVX-512 and NEON share, for rows of sparse samples (`sparse_rows.rs`), too.
//!
//! For the next editor: a block begins at a value or a blank, never within a value, so values never span blocks but
//! those longer than one. Values are loaded as the 16 bytes that end where they end, so digits are right-aligned
//! whatever the length; nothing is ever read outside of `bytes`.

use super::super::bytes::is_end;
use super::super::decimal::{Grammar, Real, read};
use super::super::sparse_rows::{Found, Tape, pairs_by_words};

/// The classes of a block's 64 bytes, a bit for each byte.
pub(crate) struct Masks {
    /// Bytes that end a value.
    pub(crate) ends: u64,
    /// Those of them that end the value list.
    pub(crate) stops: u64,
}

/// The operations that instruction sets do differently. Everything is to be inlined where its features are enabled.
pub(crate) trait Block: Apart {
    /// # Safety
    /// The instruction set is there.
    unsafe fn masks(block: &[u8; 64]) -> Masks;

    /// The bytes of a block that are `byte`.
    ///
    /// # Safety
    /// The instruction set is there.
    unsafe fn equal(block: &[u8; 64], byte: u8) -> u64;

    /// The bytes of a block that are digits.
    ///
    /// # Safety
    /// The instruction set is there.
    unsafe fn decimal_digits(block: &[u8; 64]) -> u64;

    /// Puts what was `found` in the block at `at` behind what is on the tape, which counts it afterwards.
    ///
    /// # Safety
    /// The instruction set is there.
    #[inline(always)]
    unsafe fn pairs(bytes: &[u8], at: usize, found: &Found, tape: &mut Tape) {
        pairs_by_words(bytes, at, found, tape);
    }

    /// True if the block is `0 0 0 …`.
    ///
    /// # Safety
    /// The instruction set is there.
    unsafe fn is_zeros(block: &[u8; 64]) -> bool;

    /// All values of the block at `at`, and zeros behind them, if they are whole numbers of up to three digits.
    ///
    /// # Safety
    /// The instruction set is there.
    unsafe fn small(bytes: &[u8], at: usize, ends: u64, tokens: u64) -> Option<[u16; 32]>;

    /// Puts the values of a block into `slots`, if they are all decimals of up to eight digits on each side of the
    /// point. Returns where the bit of a value is set that is too near a tie.
    ///
    /// # Safety
    /// The instruction set is there.
    unsafe fn decimals<E: Real>(block: &[u8; 64], ends: u64, slots: &mut [E]) -> Option<u32>;

    /// The last `n` of 16 bytes, if they are digits with at most one `.` among them.
    ///
    /// # Safety
    /// The instruction set is there.
    unsafe fn digits(text: &[u8; 16], n: usize) -> Option<Digits>;
}

/// The parts of a kernel beside its loops over values, whose registers they would take. [`kernel`] implements it.
pub(crate) trait Apart {
    /// The value of `bytes[start..end]` if it is a number that is not [`ordinary`].
    ///
    /// # Safety
    /// The instruction set is there.
    unsafe fn odd<E: Real>(bytes: &[u8], start: usize, end: usize, grammar: Grammar) -> Option<E>;
}

/// Digits, and where their point is.
pub(crate) struct Digits {
    /// The whole number that the digits are without the point.
    pub(super) mantissa: u64,
    /// The place of the point in the 16 bytes; 16 without one.
    pub(super) point: usize,
}

/// Declares a kernel: the proof that the processor has its features and that they may be used, and the entries for
/// dense values, fields and rows. The compiler enables features function by function, so each kernel needs entries of its own.
macro_rules! kernel {
    ($(#[$about:meta])* $name:ident of $block:ident with $features:literal) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) struct $name(());

        impl Apart for $block {
            #[inline(always)]
            unsafe fn odd<E: Real>(bytes: &[u8], start: usize, end: usize, grammar: Grammar) -> Option<E> {
                #[cold]
                #[inline(never)]
                #[target_feature(enable = $features)]
                fn enabled<E: Real>(bytes: &[u8], start: usize, end: usize, grammar: Grammar) -> Option<E> {
                    // SAFETY: the features are enabled here, and in whatever is inlined here.
                    let value = unsafe { long::<E, $block>(bytes, start, end) };
                    value.or_else(|| read(bytes, start, grammar).filter(|&(_, to)| to == end).map(|(value, _)| value))
                }
                // SAFETY: the caller's promise. Measured: inlined it takes a tenth more instructions of plain decimals.
                unsafe { enabled(bytes, start, end, grammar) }
            }
        }

        impl $name {
            pub(super) fn detect() -> Option<$name> {
                (Kernels::in_use() >= Kernels::$name).then_some($name(()))
            }

            /// Like [`super::Kernel::dense`].
            #[inline]
            pub(super) fn dense<E: Real>(
                self,
                bytes: &[u8],
                at: usize,
                grammar: Grammar,
                values: &mut [E],
            ) -> Option<(usize, usize)> {
                #[target_feature(enable = $features)]
                fn enabled<E: Real>(
                    bytes: &[u8],
                    at: usize,
                    grammar: Grammar,
                    values: &mut [E],
                ) -> Option<(usize, usize)> {
                    // SAFETY: the features are enabled here, and in whatever is inlined here.
                    unsafe { dense::<E, $block>(bytes, at, grammar, values) }
                }
                // SAFETY: `self` is the proof that the processor has the features. Measured: AVX2 at several times the rate
                // of the plain parser, AVX-512 at about twice that of AVX2; NEON only emulated.
                unsafe { enabled(bytes, at, grammar, values) }
            }

            /// Like [`super::Kernel::sparse_rows`].
            pub(super) fn sparse_rows<E: Real>(self, rows: SparseRows<'_, E>) -> (usize, usize) {
                #[target_feature(enable = $features)]
                fn enabled<E: Real>(rows: SparseRows<'_, E>) -> (usize, usize) {
                    // SAFETY: the features are enabled here, and in whatever is inlined here.
                    unsafe { rows.read::<$block>() }
                }
                // SAFETY: `self` is the proof that the processor has the features. Measured: rows of two bags of words at 1.5 times the rate
                // of reading sample by sample with AVX-512, 1.3 times with AVX2.
                unsafe { enabled(rows) }
            }

            /// Like [`super::Kernel::append_fields`].
            pub(super) fn append_fields<E: Real>(self, fields: Fields<'_>, values: &mut Vec<E>) {
                #[target_feature(enable = $features)]
                fn enabled<E: Real>(fields: Fields<'_>, values: &mut Vec<E>) {
                    // SAFETY: the features are enabled here, and in whatever is inlined here.
                    fields.append(values, |bytes, start, end| unsafe {
                        let negative = bytes.get(start) == Some(&b'-');
                        ordinary::<E, $block>(bytes, start, end, negative)
                            .or_else(|| long::<E, $block>(bytes, start, end))
                    });
                }
                // SAFETY: `self` is the proof that the processor has the features. Measured: a quarter of the time of the
                // standard library's parser.
                unsafe { enabled(fields, values) }
            }
        }
    };
}
pub(super) use kernel;

/// Reads the values of a sample.
///
/// # Safety
/// The instruction set of `B` is there.
#[inline(always)]
pub(super) unsafe fn dense<E: Real, B: Block>(
    bytes: &[u8],
    mut at: usize,
    grammar: Grammar,
    values: &mut [E],
) -> Option<(usize, usize)> {
    let mut n = 0;
    let mut tail = [b'\n'; 64];
    loop {
        let block = match bytes.get(at..).and_then(|rest| rest.first_chunk::<64>()) {
            Some(block) => block,
            None => {
                // The end of the bytes ends the list as a line feed does.
                tail[..bytes.len() - at].copy_from_slice(&bytes[at..]);
                &tail
            }
        };
        // SAFETY: the caller's promise.
        if unsafe { B::is_zeros(block) } {
            // They are there already.
            n += 32;
            at += 64;
            if n > values.len() {
                return None;
            }
            continue;
        }
        // SAFETY: the caller's promise.
        let Masks { mut ends, stops } = unsafe { B::masks(block) };
        if stops != 0 {
            // Up to the first one.
            ends &= stops ^ (stops - 1);
        }
        if ends == 0 {
            // Longer than a block.
            let (value, end) = read(bytes, at, grammar)?;
            if !bytes.get(end).is_none_or(|&b| is_end(b)) {
                return None;
            }
            *values.get_mut(n)? = value;
            n += 1;
            at = end;
            continue;
        }
        let before = ends << 1 | 1;
        let mut tokens = ends & !before;
        let mut starts = !ends & before;
        let count = tokens.count_ones() as usize;
        let slots = values.get_mut(n..n + count)?;
        // SAFETY: the caller's promise.
        let (small, mut left) = match unsafe { B::small(bytes, at, ends, tokens) } {
            Some(small) => (Some(small), 0),
            // SAFETY: the caller's promise.
            None => (None, unsafe { B::decimals(block, ends, slots) }.unwrap_or(u32::MAX)),
        };
        if let Some(small) = small {
            match values.get_mut(n..n + 32) {
                // Those beyond `count` are zeros, as what they overwrite.
                Some(slots) => slots.iter_mut().zip(small).for_each(|(v, s)| *v = E::from_small(s.into())),
                None => values[n..].iter_mut().zip(small).for_each(|(v, s)| *v = E::from_small(s.into())),
            }
        } else if left != 0 {
            // A bit of a mask and not a comparison with a byte: compilers put the result of one into a byte of a register whose other
            // bytes the value before has written last, and each value then waited for the one before it.
            // SAFETY: the caller's promise.
            let minus = unsafe { B::equal(block, b'-') };
            for slot in slots {
                if left & 1 != 0 {
                    let first = starts.trailing_zeros();
                    let (start, end) = (at + first as usize, at + tokens.trailing_zeros() as usize);
                    let negative = minus.wrapping_shr(first) & 1 != 0;
                    // SAFETY: the caller's promise.
                    *slot = match unsafe { ordinary::<E, B>(bytes, start, end, negative) } {
                        // SAFETY: likewise.
                        None => unsafe { B::odd(bytes, start, end, grammar) }?,
                        Some(value) => value,
                    };
                }
                left >>= 1;
                starts &= starts.wrapping_sub(1);
                tokens &= tokens.wrapping_sub(1);
            }
        }
        n += count;
        let last = 63 - ends.leading_zeros() as usize;
        if stops != 0 {
            return Some((at + last, n));
        }
        at += last + 1;
    }
}

/// 16 bytes of zeros, then 16 of ones: loaded at `n`, a mask of the last `n` of 16 bytes.
pub(super) static LAST: [u8; 32] = {
    let mut window = [0; 32];
    let mut i = 16;
    while i < 32 {
        window[i] = 0xFF;
        i += 1;
    }
    window
};

/// Shuffles that take the byte at a position out of 16, moving those before it up; the last one takes none out.
pub(super) static WITHOUT: [[u8; 16]; 17] = {
    let mut shuffles = [[0; 16]; 17];
    let mut point = 0;
    while point < 17 {
        let mut i = 0;
        while i < 16 {
            shuffles[point][i] = match (point, i) {
                (16, _) => i as u8,
                _ if i > point => i as u8,
                (_, 0) => 0x80,
                _ => i as u8 - 1,
            };
            i += 1;
        }
        point += 1;
    }
    shuffles
};

/// The value of `bytes[start..end]`, if it is `[-] digit+ [ . digit* ]` of up to 16 bytes without the sign, which is there if it is
/// `negative`.
///
/// # Safety
/// The instruction set of `B` is there.
#[inline(always)]
pub(super) unsafe fn ordinary<E: Real, B: Block>(
    bytes: &[u8],
    start: usize,
    end: usize,
    negative: bool,
) -> Option<E> {
    let n = (end - start).wrapping_sub(usize::from(negative));
    if (1..=16).contains(&n)
        && bytes[end - n].is_ascii_digit()
        && let Some(text) = bytes.get(end.checked_sub(16)?..end)?.first_chunk()
        // SAFETY: the caller's promise.
        && let Some(Digits { mantissa, point }) = unsafe { B::digits(text, n) }
    {
        return E::from_decimal(negative, mantissa, if point == 16 { 0 } else { 15 - point });
    }
    None
}

/// Like [`ordinary`], of numbers that have more than 16 digits or an exponent.
///
/// # Safety
/// The instruction set of `B` is there.
#[inline(always)]
pub(super) unsafe fn long<E: Real, B: Block>(bytes: &[u8], start: usize, end: usize) -> Option<E> {
    let exponent = exponent(&bytes[start..end]);
    // SAFETY: the caller's promise.
    let number = unsafe { Number::read::<B>(bytes, start, end - if exponent.is_some() { 4 } else { 0 }) }?;
    let Number { negative, mantissa, fraction } = number;
    match (exponent, fraction) {
        (None, fraction) => E::from_decimal(negative, mantissa, fraction.unwrap_or(0)),
        // No exponent may follow a point without digits behind it.
        (Some(_), Some(0)) => None,
        (Some(exponent), fraction) => {
            E::from_scientific(negative, mantissa, exponent - fraction.unwrap_or(0) as i64)
        }
    }
}

/// The exponent that a number ends with, if it is written as C's `printf` and NumPy do: `e` or `E`, a sign and two digits.
#[inline(always)]
fn exponent(number: &[u8]) -> Option<i64> {
    let &[b'e' | b'E', sign @ (b'+' | b'-'), tens @ b'0'..=b'9', ones @ b'0'..=b'9'] =
        number.last_chunk::<4>()?
    else {
        return None;
    };
    let exponent = i64::from(tens - b'0') * 10 + i64::from(ones - b'0');
    Some(if sign == b'-' { -exponent } else { exponent })
}

/// `[-] digit+ [ . digit* ]`.
struct Number {
    negative: bool,
    /// The whole number that the digits are without the point.
    mantissa: u64,
    /// Digits behind the point, if there is one.
    fraction: Option<usize>,
}

impl Number {
    /// `bytes[start..end]`, if it is such a number of up to 19 digits.
    ///
    /// # Safety
    /// The instruction set of `B` is there.
    #[inline(always)]
    unsafe fn read<B: Block>(bytes: &[u8], start: usize, end: usize) -> Option<Number> {
        let negative = bytes.get(start) == Some(&b'-');
        let n = (end - start).wrapping_sub(usize::from(negative));
        // A number begins with a digit.
        if n == 0 || n > 20 || !bytes[end - n].is_ascii_digit() {
            return None;
        }
        let text = bytes.get(end.checked_sub(16)?..end)?.first_chunk()?;
        // SAFETY: the caller's promise.
        let Digits { mantissa, point } = unsafe { B::digits(text, n.min(16)) }?;
        let fraction = (point != 16).then(|| 15 - point);
        if n <= 16 {
            return Some(Number { negative, mantissa, fraction });
        }
        // The digits in front of the last 16 bytes.
        let text = bytes.get(end.checked_sub(32)?..end - 16)?.first_chunk()?;
        // SAFETY: the caller's promise.
        let front = unsafe { B::digits(text, n - 16) }?;
        let (shift, fraction) = match (front.point, fraction) {
            (16, Some(_)) => (10_u64.pow(15), fraction),
            // Twenty digits may be more than a mantissa holds.
            (16, None) if n < 20 => (10_u64.pow(16), None),
            (point, None) if point != 16 => (10_u64.pow(16), Some(31 - point)),
            // A second point.
            _ => return None,
        };
        Some(Number { negative, mantissa: front.mantissa * shift + mantissa, fraction })
    }
}

/// `0 0 0 …`, 64 bytes of it.
pub(super) static ZEROS: [u8; 64] = {
    let mut text = [b' '; 64];
    let mut i = 0;
    while i < 64 {
        text[i] = b'0';
        i += 2;
    }
    text
};
