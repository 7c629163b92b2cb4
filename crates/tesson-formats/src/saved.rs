//! The parts of kept indices: numbers and lengths, little-endian.
//!
//! A column is `u8 width` (0: one value for all; 255: none), then the values, in 4, 1, 2 or 4 bytes each.

use tesson_core::CompactLengths;

/// Appends a column of lengths, or that there is none.
pub fn save_lengths(column: Option<&CompactLengths>, into: &mut Vec<u8>) {
    match column {
        None => into.push(255),
        Some(CompactLengths::Constant { value, .. }) => {
            into.push(0);
            into.extend_from_slice(&value.to_le_bytes());
        }
        Some(CompactLengths::Bytes(v)) => {
            into.push(1);
            into.extend_from_slice(v);
        }
        Some(CompactLengths::Halves(v)) => {
            into.push(2);
            v.iter().for_each(|x| into.extend_from_slice(&x.to_le_bytes()));
        }
        Some(CompactLengths::Words(v)) => {
            into.push(4);
            v.iter().for_each(|x| into.extend_from_slice(&x.to_le_bytes()));
        }
    }
}

/// Kept bytes that have not been read yet.
pub struct Saved<'a>(pub &'a [u8]);

impl<'a> Saved<'a> {
    /// The next bytes; `None` if there are fewer.
    pub fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*head)
    }

    /// The next number; `None` if there are fewer bytes.
    pub fn number(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }

    /// A column of `n` lengths; `None` if the bytes are none. The inner `None` is that there is no column.
    pub fn lengths(&mut self, n: u32) -> Option<Option<CompactLengths>> {
        let [width] = self.take()?;
        Some(match width {
            255 => None,
            0 => Some(CompactLengths::constant(u32::from_le_bytes(self.take()?), n)),
            1 => Some(CompactLengths::Bytes(self.values(n, 1)?.into())),
            2 => Some(CompactLengths::Halves(
                self.values(n, 2)?.chunks_exact(2).map(|b| u16::from_le_bytes([b[0], b[1]])).collect(),
            )),
            4 => Some(CompactLengths::Words(
                self.values(n, 4)?
                    .chunks_exact(4)
                    .map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
                    .collect(),
            )),
            _ => return None,
        })
    }

    fn values(&mut self, n: u32, width: usize) -> Option<&'a [u8]> {
        let (values, rest) = self.0.split_at_checked(n as usize * width)?;
        self.0 = rest;
        Some(values)
    }
}
