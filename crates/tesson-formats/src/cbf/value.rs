//! Values: from the file's type to the one that is asked for (spec/cbf.md §2: rounded to nearest, or exact).

use crate::floats::Float;

/// A type of values that readers may ask for.
pub(super) trait Real: Float {
    fn of_single(bytes: [u8; 4]) -> Self;

    fn of_double(bytes: [u8; 8]) -> Self;
}

impl Real for f32 {
    #[inline]
    fn of_single(bytes: [u8; 4]) -> f32 {
        f32::from_le_bytes(bytes)
    }

    #[inline]
    fn of_double(bytes: [u8; 8]) -> f32 {
        f64::from_le_bytes(bytes) as f32
    }
}

impl Real for f64 {
    #[inline]
    fn of_single(bytes: [u8; 4]) -> f64 {
        f32::from_le_bytes(bytes).into()
    }

    #[inline]
    fn of_double(bytes: [u8; 8]) -> f64 {
        f64::from_le_bytes(bytes)
    }
}

/// The value number `i` in `bytes`, each of eight bytes if `double`, else of four.
#[inline]
pub(super) fn value<E: Real>(bytes: &[u8], double: bool, i: usize) -> E {
    if double { E::of_double(bytes.as_chunks().0[i]) } else { E::of_single(bytes.as_chunks().0[i]) }
}
