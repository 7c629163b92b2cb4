//! Records: one sequence of one stream, and what its beginning says of its size.
//!
//! A record lies behind the one before it, so nothing but a walk from the first finds one. Everything that walks uses
//! [`Form::head`].

/// How a stream's records are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Form {
    pub(super) sparse: bool,
    /// Values of eight bytes instead of four.
    pub(super) double: bool,
    /// Values in a dense sample, columns of a sparse one.
    pub(super) dim: u32,
}

/// The head of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) samples: u32,
    /// Sparse: entries of all samples together.
    pub(super) entries: u32,
    /// The whole record, the head included. Too large for any file where the numbers are.
    pub(super) bytes: u64,
}

/// Why a record cannot be where it is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Broken {
    /// It needs more bytes than are left of the chunk.
    TooLong { needed: u64, left: u64 },
    /// A negative number of entries.
    NegativeEntries(i32),
}

impl Form {
    /// Bytes of a value.
    pub(super) fn value_bytes(self) -> usize {
        if self.double { 8 } else { 4 }
    }

    /// Bytes of a head.
    #[inline]
    pub(super) fn head_bytes(self) -> usize {
        if self.sparse { 8 } else { 4 }
    }

    /// Reads the head at the beginning of `bytes`, which may end within the record. `left` are the bytes of the chunk
    /// from here on.
    #[inline]
    pub(super) fn head(self, bytes: &[u8], left: u64) -> Result<Head, Broken> {
        let too_long = |needed| Err(Broken::TooLong { needed, left });
        let (Some(&samples), true) = (bytes.first_chunk(), bytes.len() >= self.head_bytes()) else {
            return too_long(self.head_bytes() as u64);
        };
        let samples = u32::from_le_bytes(samples);
        let n = u64::from(samples);
        let (entries, bytes) = if self.sparse {
            let entries = i32::from_le_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]);
            let Ok(entries) = u32::try_from(entries) else { return Err(Broken::NegativeEntries(entries)) };
            (entries, 8 + u64::from(entries) * (self.value_bytes() as u64 + 4) + 4 * n)
        } else {
            let values = n * u64::from(self.dim);
            (0, values.saturating_mul(self.value_bytes() as u64).saturating_add(4))
        };
        if bytes > left {
            return too_long(bytes);
        }
        Ok(Head { samples, entries, bytes })
    }

    /// The head of a record that lies in `bytes` as a whole.
    #[inline]
    pub(super) fn whole(self, bytes: &[u8]) -> Option<Head> {
        self.head(bytes, bytes.len() as u64).ok()
    }
}

impl Broken {
    /// The sentence for an error.
    pub(super) fn describe(self) -> String {
        match self {
            Broken::TooLong { needed, left } => {
                format!("needs {needed} bytes, {left} are left until the next chunk or the header begins")
            }
            Broken::NegativeEntries(n) => format!("has {n} entries, expected 0 or more"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DENSE: Form = Form { sparse: false, double: false, dim: 3 };
    const SPARSE: Form = Form { sparse: true, double: true, dim: 3 };

    fn head(form: Form, words: &[i32], left: u64) -> Result<Head, Broken> {
        form.head(&words.iter().flat_map(|w| w.to_le_bytes()).collect::<Vec<_>>(), left)
    }

    #[test]
    fn a_head_says_how_long_the_record_is() {
        assert_eq!(head(DENSE, &[2], 28), Ok(Head { samples: 2, entries: 0, bytes: 28 }));
        assert_eq!(head(SPARSE, &[2, 5], 76), Ok(Head { samples: 2, entries: 5, bytes: 76 }));
    }

    #[test]
    fn a_record_beyond_the_chunk_is_broken_however_large_its_numbers() {
        assert_eq!(head(DENSE, &[2], 27), Err(Broken::TooLong { needed: 28, left: 27 }));
        let wide = Form { sparse: false, double: true, dim: u32::MAX };
        assert!(matches!(head(wide, &[-1], u64::MAX - 1), Err(Broken::TooLong { .. })));
        assert!(matches!(head(SPARSE, &[-1, i32::MAX], 1 << 32), Err(Broken::TooLong { .. })));
        assert_eq!(head(SPARSE, &[2], 1 << 20), Err(Broken::TooLong { needed: 8, left: 1 << 20 }));
        assert_eq!(head(SPARSE, &[2, -7], 1 << 20), Err(Broken::NegativeEntries(-7)));
    }
}
