//! Columns of small numbers in as few bytes as the largest of them needs.

/// A column of unsigned numbers, stored as one constant or in 1, 2 or 4 bytes each.
///
/// The indexes of corpora hold one or two numbers a sequence; on files with a billion sequences it matters that
/// equal lengths cost nothing and short ones one byte.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CompactLengths {
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

impl CompactLengths {
    /// Codes a column in the narrowest form that holds it.
    pub fn new(values: &[u32]) -> CompactLengths {
        let first = values.first().copied().unwrap_or(0);
        let (mut same, mut all) = (true, 0u32);
        for &v in values {
            same &= v == first;
            all |= v;
        }
        if same {
            let n = u32::try_from(values.len()).expect("a chunk has fewer than 2^32 sequences");
            CompactLengths::Constant { value: first, n }
        } else if all < 1 << 8 {
            CompactLengths::Bytes(values.iter().map(|&v| v as u8).collect())
        } else if all < 1 << 16 {
            CompactLengths::Halves(values.iter().map(|&v| v as u16).collect())
        } else {
            CompactLengths::Words(values.into())
        }
    }

    /// `n` times `value`.
    pub fn constant(value: u32, n: u32) -> CompactLengths {
        CompactLengths::Constant { value, n }
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        match self {
            CompactLengths::Constant { n, .. } => *n as usize,
            CompactLengths::Bytes(v) => v.len(),
            CompactLengths::Halves(v) => v.len(),
            CompactLengths::Words(v) => v.len(),
        }
    }

    /// True if the column has no entries.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value of entry `i`.
    #[inline]
    pub fn get(&self, i: usize) -> u32 {
        match self {
            CompactLengths::Constant { value, n } => {
                debug_assert!(i < *n as usize);
                *value
            }
            CompactLengths::Bytes(v) => v[i].into(),
            CompactLengths::Halves(v) => v[i].into(),
            CompactLengths::Words(v) => v[i],
        }
    }

    /// True if some entry is 0.
    pub fn has_zero(&self) -> bool {
        match self {
            CompactLengths::Constant { value, n } => *value == 0 && *n > 0,
            CompactLengths::Bytes(v) => v.contains(&0),
            CompactLengths::Halves(v) => v.contains(&0),
            CompactLengths::Words(v) => v.contains(&0),
        }
    }

    /// The sum of the entries `range`.
    pub fn sum(&self, range: std::ops::Range<usize>) -> u64 {
        match self {
            CompactLengths::Constant { value, .. } => u64::from(*value) * range.len() as u64,
            CompactLengths::Bytes(v) => v[range].iter().map(|&x| u64::from(x)).sum(),
            CompactLengths::Halves(v) => v[range].iter().map(|&x| u64::from(x)).sum(),
            CompactLengths::Words(v) => v[range].iter().map(|&x| u64::from(x)).sum(),
        }
    }

    /// The number of entries from `from` on, `most` at most, whose sum does not exceed a limit, and their sum.
    pub fn prefix(&self, from: usize, most: usize, limit: u64) -> (usize, u64) {
        let most = most.min(self.len() - from);
        if let CompactLengths::Constant { value: value @ 1.., .. } = self {
            let value = u64::from(*value);
            let n = (limit / value).min(most as u64);
            return (n as usize, n * value);
        }
        let (mut n, mut sum, mut step) = (0, 0, most);
        // Sums of many entries are fast, so what fits is found in halves of halves. A half that fits may fit again.
        while step > 0 {
            let next = (n + step <= most).then(|| self.sum(from + n..from + n + step));
            match next.filter(|&next| next <= limit - sum) {
                Some(next) => (n, sum) = (n + step, sum + next),
                None => step /= 2,
            }
        }
        (n, sum)
    }

    /// Bytes of memory held, beside the value itself.
    pub fn bytes(&self) -> usize {
        match self {
            CompactLengths::Constant { .. } => 0,
            CompactLengths::Bytes(v) => v.len(),
            CompactLengths::Halves(v) => v.len() * 2,
            CompactLengths::Words(v) => v.len() * 4,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(values: &[u32], bytes: usize) {
        let c = CompactLengths::new(values);
        assert_eq!((0..c.len()).map(|i| c.get(i)).collect::<Vec<_>>(), values);
        assert_eq!(c.bytes(), bytes);
        assert_eq!(c.has_zero(), values.contains(&0));
        assert_eq!(c.sum(0..values.len()), values.iter().map(|&v| u64::from(v)).sum::<u64>());
        for from in 0..=values.len() {
            for most in 0..=values.len() + 1 {
                for limit in [0, 6, 7, 8, 20, 255, 256, u64::MAX] {
                    let sums = values[from..].iter().take(most).scan(0, |sum, &v| {
                        *sum += u64::from(v);
                        Some(*sum)
                    });
                    let fitting: Vec<u64> = sums.take_while(|&sum| sum <= limit).collect();
                    let expected = (fitting.len(), fitting.last().copied().unwrap_or(0));
                    assert_eq!(c.prefix(from, most, limit), expected, "{values:?} {from} {most} {limit}");
                }
            }
        }
    }

    #[test]
    fn a_column_takes_the_bytes_its_largest_value_needs() {
        check(&[], 0);
        check(&[7, 7, 7], 0);
        check(&[3, 1, 4, 1, 5, 9, 2, 6, 0, 0, 5, 3], 12);
        check(&[0, 0], 0);
        check(&[0, 255], 2);
        check(&[0, 256, 1], 6);
        check(&[1, 65536], 8);
        check(&[u32::MAX, 0], 8);
    }
}
