//! The number of parts, items and values in each row, derived from the lengths of the stored lists
//! (spec/tfds.md §6.2).

use tesson_formats::example::{self, List};

use super::super::column::{Column, Data, Shapes};
use super::super::fault::FeatureFault;
use super::super::schema::Plan;
use super::super::tree::{Coding, Dim};
use super::Lists;

/// Consecutive rows with adjacent values in the stored list.
pub(super) struct Stored {
    pub(super) first: usize,
    pub(super) count: usize,
    /// The row after them: absent, faulty, or the end.
    pub(super) then: Then,
}

impl Stored {
    pub(super) fn last(&self) -> usize {
        self.first + self.count - 1
    }

    pub(super) fn rows(&self) -> std::ops::Range<usize> {
        self.first..self.first + self.count
    }
}

pub(super) enum Then {
    /// No row follows.
    End,
    /// The row lacks an optional feature.
    Missing,
    /// The row cannot be laid out.
    Wrong(FeatureFault),
}

enum Row {
    Present,
    Missing,
}

/// Lays out the rows of one column.
pub(super) struct Layout<'a> {
    plan: &'a Plan,
    lists: &'a Lists<'a>,
    stored: &'a example::Column,
    /// Stored values of an item, where that does not differ.
    per_item: Option<usize>,
    /// Stored values of an item, but for its one unknown dimension.
    known: usize,
    /// True if the key must be present, because nothing allows a row without values.
    required: bool,
}

/// More parts than any record holds; a sum of row lengths stays below.
const MOST: u64 = u32::MAX as u64;

impl<'a> Layout<'a> {
    pub(super) fn new(plan: &'a Plan, lists: &'a Lists<'a>, column: &Column) -> Layout<'a> {
        let own: &[Dim] = if plan.leaf.coding == Coding::Plain { &plan.leaf.shape } else { &[] };
        let known = own.iter().flatten().product();
        let per_item = own.iter().all(Option::is_some).then_some(known);
        let required = per_item.is_some() && plan.levels.len() < 2 && plan.levels.iter().all(Option::is_some);
        debug_assert_eq!(plan.levels.len(), column.levels.len());
        Layout { plan, lists, stored: &lists.lists.of[plan.keys.values], per_item, known, required }
    }

    /// Lays out rows from `first` on, as far as they are stored one after the other.
    pub(super) fn rows(&mut self, first: usize, column: &mut Column) -> Stored {
        if self.are_alike(first) {
            return Stored { first, count: self.lists.records - first, then: Then::End };
        }
        for row in first..self.lists.records {
            let then = match self.row(row, column) {
                Ok(Row::Present) => continue,
                Ok(Row::Missing) => Then::Missing,
                Err(fault) => Then::Wrong(fault),
            };
            return Stored { first, count: row - first, then };
        }
        Stored { first, count: self.lists.records - first, then: Then::End }
    }

    /// True if all rows from `first` on have the only number of values that the shape allows; then the layout needs
    /// no work.
    fn are_alike(&self, first: usize) -> bool {
        if !self.required || !self.stored.absent.is_empty() || first >= self.lists.records {
            return false;
        }
        let each = self.plan.levels.iter().flatten().product::<usize>() * self.known;
        let begin = self.stored.row(first).start;
        let ends = &self.stored.ends[first..self.lists.records];
        // No branch for a row: the loop becomes vector code.
        let differ = |all: usize, (i, end): (usize, &usize)| all | (end ^ (begin + (i + 1) * each));
        ends.iter().enumerate().fold(0, differ) == 0
    }

    fn row(&self, row: usize, column: &mut Column) -> Result<Row, FeatureFault> {
        if self.required && self.stored.is_absent(row) {
            return if self.plan.leaf.optional {
                Ok(Row::Missing)
            } else {
                Err(FeatureFault::Missing { key: self.key(self.plan.keys.values) })
            };
        }
        let values = self.stored.row(row).len();
        match self.plan.levels.len() {
            0 | 1 => self.flat(values, column)?,
            _ => self.ragged(row, values, column)?,
        }
        Ok(Row::Present)
    }

    /// At most one sequence around the items.
    fn flat(&self, values: usize, column: &mut Column) -> Result<(), FeatureFault> {
        let items = self.plan.levels.first().copied().unwrap_or(Some(1));
        let fits = match (items, self.per_item) {
            (Some(items), Some(each)) => (values == items * each).then_some(()),
            (None, Some(each)) => divide(values, each).map(|items| column.levels[0].push(items)),
            (Some(items), None) => divide(values, items * self.known).map(|unknown| {
                (0..items).for_each(|_| self.push_shape(unknown, column));
            }),
            (None, None) => None,
        };
        fits.ok_or_else(|| self.count_fault(values))
    }

    /// Several sequences: the row lengths of each level but the outermost are stored beside the values.
    fn ragged(&self, row: usize, values: usize, column: &mut Column) -> Result<(), FeatureFault> {
        let each = self.per_item.unwrap_or(0);
        let items = divide(values, each).ok_or_else(|| self.count_fault(values))?;
        let keys = &self.plan.keys.row_lengths;
        let lengths: Vec<&[i64]> = keys.iter().map(|key| self.row_lengths(*key, row)).collect();
        self.check_length(keys[0], lengths[0].len() as i64, self.plan.levels[0])?;
        column.levels[0].push(lengths[0].len());
        for (k, of) in lengths.iter().enumerate() {
            let mut sum = 0_u64;
            for length in *of {
                self.check_length(keys[k], *length, self.plan.levels[k + 1])?;
                sum = sum.saturating_add(*length as u64);
            }
            // Items without values are counted by the row lengths alone.
            let parts = match lengths.get(k + 1) {
                Some(next) => next.len(),
                None if each == 0 && sum <= MOST => sum as usize,
                None => items,
            };
            if sum != parts as u64 {
                return Err(FeatureFault::RowLengths { key: self.key(keys[k]), sum, parts });
            }
            of.iter().for_each(|length| column.levels[k + 1].push(*length as usize));
        }
        Ok(())
    }

    fn row_lengths(&self, key: usize, row: usize) -> &'a [i64] {
        let column = &self.lists.lists.of[key];
        match &column.values {
            List::Ints(lengths) => &lengths[column.row(row)],
            _ => &[],
        }
    }

    fn check_length(&self, key: usize, found: i64, expected: Dim) -> Result<(), FeatureFault> {
        if found >= 0 && expected.is_none_or(|n| n as u64 == found as u64) {
            return Ok(());
        }
        Err(FeatureFault::RowLength { key: self.key(key), found, expected })
    }

    /// Appends the shape of an item with this size in its only unknown dimension.
    fn push_shape(&self, unknown: usize, column: &mut Column) {
        if let Shapes::Each { dims, values, .. } = &mut column.shapes {
            dims.extend(self.plan.leaf.shape.iter().map(|d| d.unwrap_or(unknown)));
            values.push(self.known * unknown);
        }
    }

    /// A row of which the feature is absent: filled with the type's smallest value (spec/tfds.md §6.3).
    pub(super) fn fill_missing(&self, column: &mut Column) {
        let items: usize = self.plan.levels.iter().flatten().product();
        let own: usize = self.plan.leaf.shape.iter().map(|d| d.unwrap_or(0)).product();
        if let Shapes::Each { dims, values, .. } = &mut column.shapes {
            for _ in 0..items {
                dims.extend(self.plan.leaf.shape.iter().map(|d| d.unwrap_or(0)));
                values.push(own);
            }
        }
        match &mut column.data {
            Data::Fixed { bytes, .. } => bytes.extend(column.dtype.smallest().repeat(items * own)),
            Data::Strings { bytes, ends } => ends.extend(std::iter::repeat_n(bytes.len(), items * own)),
        }
        if let Some(missing) = &mut column.missing {
            missing.push(column.rows);
        }
    }

    fn key(&self, wanted: usize) -> String {
        self.lists.schema.wanted[wanted].key.clone()
    }

    fn count_fault(&self, found: usize) -> FeatureFault {
        let own: &[Dim] = if self.plan.leaf.coding == Coding::Plain { &self.plan.leaf.shape } else { &[] };
        FeatureFault::Count { found, shape: [&self.plan.levels, own].concat() }
    }
}

/// `values` divided by `by`, if that leaves no remainder; 0 divided by 0 is 0.
fn divide(values: usize, by: usize) -> Option<usize> {
    match by {
        0 => (values == 0).then_some(0),
        by => values.is_multiple_of(by).then_some(values / by),
    }
}
