//! Writing decoded pixels, and the memory that they need.

use super::{Depth, ImageError, ImageShape, Needs, Want};

/// The working memory that a decoder may have under any limit.
const BESIDE_AT_LEAST: u64 = 16 << 20;

impl Needs {
    /// The needs of an image with `beside` bytes of working memory; an error if it is larger than the limit.
    /// `from_file` is the most bytes that a file of this kind and size can hold; a header that declares more is
    /// refused.
    pub(super) fn new(
        shape: ImageShape,
        want: Want,
        from_file: usize,
        beside: u64,
    ) -> Result<Needs, ImageError> {
        let limit = want.limit.min(from_file.saturating_mul(want.depth.bytes()));
        let values = shape.dims().chain([want.depth.bytes()]).try_fold(1_usize, |n, d| n.checked_mul(d));
        let size = (shape.width, shape.height);
        let Some(values) = values.filter(|values| *values <= limit) else {
            return Err(ImageError::TooLarge { size, limit });
        };
        let bytes = beside.saturating_add(values as u64);
        let most = (want.limit as u64).max(BESIDE_AT_LEAST);
        if beside <= most {
            Ok(Needs { shape, values, bytes })
        } else {
            Err(ImageError::BeyondMemory { size, bytes: beside, limit: most })
        }
    }

    /// Appends zeroed room for the pixels to `out` and returns its beginning.
    pub(super) fn room(&self, out: &mut Vec<u8>) -> Result<usize, ImageError> {
        let start = out.len();
        grow(out, start.saturating_add(self.values))?;
        Ok(start)
    }
}

/// Extends a buffer to `bytes` bytes, or fails if memory is short.
pub(crate) fn grow(out: &mut Vec<u8>, bytes: usize) -> Result<(), ImageError> {
    out.try_reserve_exact(bytes.saturating_sub(out.len())).map_err(|_| ImageError::NoMemory { bytes })?;
    out.resize(bytes, 0);
    Ok(())
}

/// A buffer of zeros, or an error if memory is short.
pub(crate) fn zeros(bytes: usize) -> Result<Vec<u8>, ImageError> {
    let mut zeros = Vec::new();
    grow(&mut zeros, bytes)?;
    Ok(zeros)
}

/// Values of 8 bits as values of the wanted depth: in 16 bits, `times` as much each. The values are the first half of `out`
/// then.
pub(super) fn deepen(out: &mut [u8], depth: Depth, times: u16) {
    if depth == Depth::Sixteen {
        // From the end on, so that no value is overwritten before it is read.
        for i in (0..out.len() / 2).rev() {
            let value = u16::from(out[i]) * times;
            out[2 * i..2 * i + 2].copy_from_slice(&value.to_le_bytes());
        }
    }
}
