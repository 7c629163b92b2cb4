//! Columns of small numbers in as few bytes as the largest of them needs.

/// A column of unsigned numbers, stored as one constant or in 1, 2 or 4 bytes each.
///
/// The indexes of corpora hold one or two numbers a sequence; on files with a billion sequences it matters that
/// equal lengths cost nothing and short ones one byte.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Coded {
    /// `n` times the same value.
    Constant {
        /// The value of every entry.
        value: u32,
        /// Number of entries.
        n: u32,
    },
    /// Values below 2^8.
    Bytes(Box<[u8]>),
    /// Values below 2^16.
    Halves(Box<[u16]>),
    /// Any values.
    Words(Box<[u32]>),
}

impl Coded {
    /// Codes a column in the narrowest form that holds it.
    pub fn new(values: &[u32]) -> Coded {
        let first = values.first().copied().unwrap_or(0);
        let (mut same, mut all) = (true, 0u32);
        for &v in values {
            same &= v == first;
            all |= v;
        }
        if same {
            let n = u32::try_from(values.len()).expect("a chunk has fewer than 2^32 sequences");
            Coded::Constant { value: first, n }
        } else if all < 1 << 8 {
            Coded::Bytes(values.iter().map(|&v| v as u8).collect())
        } else if all < 1 << 16 {
            Coded::Halves(values.iter().map(|&v| v as u16).collect())
        } else {
            Coded::Words(values.into())
        }
    }

    /// `n` times `value`.
    pub fn constant(value: u32, n: u32) -> Coded {
        Coded::Constant { value, n }
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        match self {
            Coded::Constant { n, .. } => *n as usize,
            Coded::Bytes(v) => v.len(),
            Coded::Halves(v) => v.len(),
            Coded::Words(v) => v.len(),
        }
    }

    /// Whether the column has no entries.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value of entry `i`.
    #[inline]
    pub fn get(&self, i: usize) -> u32 {
        match self {
            Coded::Constant { value, n } => {
                debug_assert!(i < *n as usize);
                *value
            }
            Coded::Bytes(v) => v[i].into(),
            Coded::Halves(v) => v[i].into(),
            Coded::Words(v) => v[i],
        }
    }

    /// Whether an entry is 0.
    pub fn has_zero(&self) -> bool {
        match self {
            Coded::Constant { value, n } => *value == 0 && *n > 0,
            Coded::Bytes(v) => v.contains(&0),
            Coded::Halves(v) => v.contains(&0),
            Coded::Words(v) => v.contains(&0),
        }
    }

    /// The sum of the entries `range`.
    pub fn sum(&self, range: std::ops::Range<usize>) -> u64 {
        match self {
            Coded::Constant { value, .. } => u64::from(*value) * range.len() as u64,
            Coded::Bytes(v) => v[range].iter().map(|&x| u64::from(x)).sum(),
            Coded::Halves(v) => v[range].iter().map(|&x| u64::from(x)).sum(),
            Coded::Words(v) => v[range].iter().map(|&x| u64::from(x)).sum(),
        }
    }

    /// Bytes of memory held, beside the value itself.
    pub fn bytes(&self) -> usize {
        match self {
            Coded::Constant { .. } => 0,
            Coded::Bytes(v) => v.len(),
            Coded::Halves(v) => v.len() * 2,
            Coded::Words(v) => v.len() * 4,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(values: &[u32], bytes: usize) {
        let c = Coded::new(values);
        assert_eq!((0..c.len()).map(|i| c.get(i)).collect::<Vec<_>>(), values);
        assert_eq!(c.bytes(), bytes);
        assert_eq!(c.has_zero(), values.contains(&0));
        assert_eq!(c.sum(0..values.len()), values.iter().map(|&v| u64::from(v)).sum::<u64>());
    }

    #[test]
    fn a_column_takes_the_bytes_its_largest_value_needs() {
        check(&[], 0);
        check(&[7, 7, 7], 0);
        check(&[0, 0], 0);
        check(&[0, 255], 2);
        check(&[0, 256, 1], 6);
        check(&[1, 65536], 8);
        check(&[u32::MAX, 0], 8);
    }
}
