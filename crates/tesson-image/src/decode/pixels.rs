//! Where decoded pixels go.

use super::{Depth, PictureError, PictureShape, Want};

/// Room for a picture at the end of `out`, zeroed, unless it is larger than what is allowed. `from_file` is the most that a
/// file of this kind and size can hold, in bytes: what a header declares is not believed beyond that.
pub(super) fn room(
    shape: PictureShape,
    want: Want,
    from_file: usize,
    out: &mut Vec<u8>,
) -> Result<usize, PictureError> {
    let limit = want.limit.min(from_file.saturating_mul(want.depth.bytes()));
    let size = shape.dims().chain([want.depth.bytes()]).try_fold(1_usize, |n, d| n.checked_mul(d));
    match size.filter(|size| *size <= limit) {
        Some(size) => {
            let start = out.len();
            out.resize(start + size, 0);
            Ok(start)
        }
        None => Err(PictureError::TooLarge { size: (shape.width, shape.height), limit }),
    }
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
