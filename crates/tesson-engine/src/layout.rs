//! How sequences are laid side by side in rows of equal length.

/// Where a sequence lies: sequence number, row, first step, and the step after its last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowSegment {
    /// Number of the sequence within the minibatch.
    pub sequence: u32,
    /// The row.
    pub row: u32,
    /// The first step; negative where a sequence began in an earlier minibatch.
    pub begin: i64,
    /// The step after the last; beyond the layout's steps where a sequence continues.
    pub end: i64,
}

/// `steps` × `rows` cells and the sequences in them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Length of a row: the longest sequence.
    pub steps: u32,
    /// Number of rows.
    pub rows: u32,
    /// The places, in the order of the sequences.
    pub places: Vec<RowSegment>,
}

impl Layout {
    /// Lays sequences of these lengths into rows: each into the first row with room, else into a new one.
    pub fn of(lengths: &[u32]) -> Layout {
        let steps = lengths.iter().copied().max().unwrap_or(0);
        let mut rows = FirstFit::new(lengths.len(), steps);
        let places = lengths
            .iter()
            .enumerate()
            .map(|(sequence, &length)| {
                let (row, begin) = rows.put(length);
                let (begin, end) = (i64::from(begin), i64::from(begin) + i64::from(length));
                RowSegment { sequence: sequence as u32, row: row as u32, begin, end }
            })
            .collect();
        Layout { steps, rows: rows.used as u32, places }
    }
}

/// Rows that fill up, with a tournament tree over their free room: the first row with room is found in O(log rows).
struct FirstFit {
    /// `room[1]` is the most room of any row, `room[leaves + r]` the room of row `r`.
    room: Vec<u32>,
    leaves: usize,
    steps: u32,
    used: usize,
}

impl FirstFit {
    fn new(most_rows: usize, steps: u32) -> FirstFit {
        let leaves = most_rows.next_power_of_two();
        FirstFit { room: vec![steps; 2 * leaves], leaves, steps, used: 0 }
    }

    /// Puts a sequence into the first row with room; returns the row and the step it begins at.
    fn put(&mut self, length: u32) -> (usize, u32) {
        let mut node = 1;
        while node < self.leaves {
            node = if self.room[2 * node] >= length { 2 * node } else { 2 * node + 1 };
        }
        let row = node - self.leaves;
        let begin = self.steps - self.room[node];
        self.room[node] -= length;
        while node > 1 {
            node /= 2;
            self.room[node] = self.room[2 * node].max(self.room[2 * node + 1]);
        }
        self.used = self.used.max(row + 1);
        (row, begin)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(lengths: &[u32], steps: u32, rows: u32, places: &[(u32, i64, i64)]) {
        let layout = Layout::of(lengths);
        let found: Vec<_> = layout.places.iter().map(|p| (p.row, p.begin, p.end)).collect();
        assert_eq!((layout.steps, layout.rows, found.as_slice()), (steps, rows, places));
    }

    #[test]
    fn a_sequence_goes_into_the_first_row_with_room() {
        check(&[], 0, 0, &[]);
        check(&[1, 2, 3, 1], 3, 3, &[(0, 0, 1), (0, 1, 3), (1, 0, 3), (2, 0, 1)]);
        check(&[2, 3, 1, 2], 3, 3, &[(0, 0, 2), (1, 0, 3), (0, 2, 3), (2, 0, 2)]);
        check(&[2, 2], 2, 2, &[(0, 0, 2), (1, 0, 2)]);
    }

    #[test]
    fn sequences_without_samples_lie_in_the_first_row() {
        check(&[0, 0], 0, 1, &[(0, 0, 0), (0, 0, 0)]);
        check(&[2, 0], 2, 1, &[(0, 0, 2), (0, 2, 2)]);
    }
}
