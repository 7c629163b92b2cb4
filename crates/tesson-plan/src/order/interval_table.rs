//! Finding the interval that holds a position, in about the time of one table look-up.
//!
//! A plain bisection has a branch at each step that no processor can predict, as positions are shuffled.

/// A coarse table over consecutive intervals of `0..n`, from which the search for a position starts.
///
/// Holds about 8 bytes an interval. Positions are divided into at most twice as many equal cells as there are
/// intervals. Where intervals have similar sizes the first guess is right or one off; elsewhere a bisection follows.
#[derive(Default)]
pub(crate) struct IntervalTable {
    shift: u32,
    /// For each cell the interval that holds its first position.
    cells: Vec<u32>,
}

impl IntervalTable {
    /// Builds the table for `count` intervals that end at `n`. `first` returns the first position of an interval;
    /// these ascend.
    pub(crate) fn rebuild(&mut self, count: usize, n: u64, first: impl Fn(usize) -> u64) {
        self.shift = 0;
        while n >> self.shift > 2 * count as u64 {
            self.shift += 1;
        }
        self.cells.clear();
        let mut interval = 0;
        for cell in 0..=(n.saturating_sub(1) >> self.shift) {
            while interval + 1 < count && first(interval + 1) <= cell << self.shift {
                interval += 1;
            }
            self.cells.push(interval as u32);
        }
        self.cells.push(count.saturating_sub(1) as u32);
    }

    /// The last interval that begins at or before `position`, which is below `n`. For the number of intervals
    /// `first` answers `n`.
    #[inline]
    pub(crate) fn find(&self, position: u64, first: impl Fn(usize) -> u64) -> usize {
        let cell = (position >> self.shift) as usize;
        let (low, high) = (self.cells[cell] as usize, self.cells[cell + 1] as usize);
        if high - low > 1 {
            return bisect(low, high, position, first);
        }
        // Without a branch: a processor cannot predict on which side of a border a shuffled position lies.
        low + usize::from(first(low + 1) <= position)
    }

    /// Bytes of memory held.
    pub(crate) fn bytes(&self) -> usize {
        self.cells.capacity() * size_of::<u32>()
    }
}

#[cold]
fn bisect(mut low: usize, mut high: usize, position: u64, first: impl Fn(usize) -> u64) -> usize {
    while low < high {
        let middle = high - (high - low) / 2;
        if first(middle) <= position { low = middle } else { high = middle - 1 }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn positions_are_found_as_by_bisection(sizes in prop::collection::vec(prop_oneof![0u64..3, 0u64..3, 500u64..900], 1..60)) {
            let mut firsts = vec![0];
            sizes.iter().for_each(|s| firsts.push(firsts[firsts.len() - 1] + s));
            let n = firsts[sizes.len()];
            let mut table = IntervalTable::default();
            table.rebuild(sizes.len(), n, |i| firsts[i]);
            for position in 0..n {
                let expected = firsts[..sizes.len()].partition_point(|&f| f <= position) - 1;
                prop_assert_eq!(table.find(position, |i| firsts[i]), expected);
            }
        }
    }
}
