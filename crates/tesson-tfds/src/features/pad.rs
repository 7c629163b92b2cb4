//! Rows of different shapes as one array, padded at their ends (spec/tfds.md §10).

use std::ops::Range;

use super::column::{Column, Shapes};
use super::schema::Plan;

/// The layout of a column's rows in one padded array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Padding {
    /// The shape of the array; the first dimension counts rows.
    pub shape: Vec<usize>,
    /// The runs of values that are copied; everything else is padding.
    pub runs: Vec<Run>,
}

/// Values that stay together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// Their range in the column.
    pub from: Range<usize>,
    /// The position of the first one in the array.
    pub to: usize,
}

impl Padding {
    /// The layout of a column as one array, with each dimension as long as that of the longest row. `None` for ragged
    /// features and nested streams: their rows are no arrays.
    pub fn of(plan: &Plan, column: &Column) -> Option<Padding> {
        let inner = plan.inner_lengths()?;
        let rows = column.rows();
        if let (Shapes::Same(own), true) = (&column.shapes, column.levels.is_empty()) {
            // Nothing is looked at row by row: batches are larger than anything else is done with them.
            let shape = [&[rows], &own[..]].concat();
            let all = 0..shape.iter().product();
            return Some(Padding { shape, runs: vec![Run { from: all, to: 0 }] });
        }
        let dims: Vec<Vec<usize>> =
            (0..rows).map(|row| column.dims(plan, &inner, row)).collect::<Option<_>>()?;
        let rank = usize::from(!plan.levels.is_empty()) + inner.len() + plan.leaf.shape.len();
        let longest = |d: usize| dims.iter().map(|of| of[d]).max().unwrap_or(0);
        let most: Vec<usize> = (0..rank).map(longest).collect();
        let shape = [&[rows], &most[..]].concat();
        if dims.iter().all(|of| *of == most) {
            let all = 0..shape.iter().product();
            return Some(Padding { shape, runs: vec![Run { from: all, to: 0 }] });
        }
        let each: usize = most.iter().product();
        let mut runs = Vec::new();
        for (row, of) in dims.iter().enumerate() {
            let items = column.items(row)..column.items(row + 1);
            runs_of(of, &most, column.values(items).start, row * each, &mut runs);
        }
        Some(Padding { shape, runs })
    }

    /// The first row with another shape than row 0, and both shapes, that of row 0 first.
    pub fn first_difference(&self, plan: &Plan, column: &Column) -> Option<(usize, Vec<usize>, Vec<usize>)> {
        let n: usize = self.shape.iter().product();
        let is_whole = matches!(&self.runs[..], [run] if n > 0 && run.from.len() == n);
        let shape = |row: usize| column.row(plan, row).map(|(dims, _)| dims);
        let first = if is_whole || column.rows() == 0 { return None } else { shape(0)? };
        (1..column.rows()).find_map(|row| {
            shape(row).filter(|other| *other != first).map(|other| (row, first.clone(), other))
        })
    }
}

/// The runs of a row of some dimensions in one of the largest.
fn runs_of(dims: &[usize], most: &[usize], from: usize, to: usize, runs: &mut Vec<Run>) {
    // From the last dimension that is not full on, values are adjacent in both, so they are one run.
    let Some(split) = dims.iter().zip(most).rposition(|(d, m)| d != m) else {
        runs.push(Run { from: from..from + dims.iter().product::<usize>(), to });
        return;
    };
    let len: usize = dims[split..].iter().product();
    let outer: usize = dims[..split].iter().product();
    if len == 0 {
        return;
    }
    for i in 0..outer {
        // The position of the run's first value, dimension by dimension from the innermost.
        let (mut left, mut stride, mut place) = (i, most[split..].iter().product::<usize>(), 0);
        for d in (0..split).rev() {
            place += left % dims[d] * stride;
            left /= dims[d];
            stride *= most[d];
        }
        runs.push(Run { from: from + i * len..from + (i + 1) * len, to: to + place });
    }
}
