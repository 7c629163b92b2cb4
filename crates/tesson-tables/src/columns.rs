//! Columns of several runs of rows, put together.

use tesson_core::{Data, Offsets, StreamColumn};

/// Columns of rows that are appended run by run.
pub(crate) struct Columns {
    rows: usize,
    columns: Vec<StreamColumn>,
}

impl Columns {
    /// No rows yet of columns of this data.
    pub(crate) fn new(data: impl Iterator<Item = Data>) -> Columns {
        let columns = data.map(|data| StreamColumn { samples: Offsets::At(vec![0]), data }).collect();
        Columns { rows: 0, columns }
    }

    /// Appends columns of `rows` rows.
    pub(crate) fn append(&mut self, columns: Vec<StreamColumn>, rows: usize) {
        if self.rows == 0 {
            self.columns = columns;
        } else {
            for (to, from) in self.columns.iter_mut().zip(columns) {
                append(to, self.rows, &from, rows);
            }
        }
        self.rows += rows;
    }

    /// Appends rows without samples.
    pub(crate) fn append_nothing(&mut self, rows: usize) {
        for column in &mut self.columns {
            let ends = at(&mut column.samples, self.rows);
            ends.resize(ends.len() + rows, ends[self.rows]);
        }
        self.rows += rows;
    }

    /// Number of rows.
    pub(crate) fn len(&self) -> usize {
        self.rows
    }

    /// The columns.
    pub(crate) fn finish(self) -> Vec<StreamColumn> {
        self.columns
    }
}

/// The positions of offsets, which become a list.
fn at(offsets: &mut Offsets, rows: usize) -> &mut Vec<u32> {
    if let Offsets::Every(_) = offsets {
        *offsets = Offsets::At((0..=rows).map(|row| offsets.start(row) as u32).collect());
    }
    match offsets {
        Offsets::At(at) => at,
        Offsets::Every(_) => unreachable!("it has become a list"),
    }
}

fn append(to: &mut StreamColumn, n: usize, from: &StreamColumn, m: usize) {
    if !matches!((&to.samples, &from.samples), (Offsets::Every(one), Offsets::Every(other)) if one == other) {
        let ends = at(&mut to.samples, n);
        let start = ends[n];
        ends.extend((1..=m).map(|row| start + from.samples.start(row) as u32));
    }
    match (&mut to.data, &from.data) {
        (Data::Dense { values }, Data::Dense { values: more }) if values.is_empty() => *values = more.clone(),
        (Data::Dense { values }, Data::Dense { values: more }) => values.append(more, 0..more.len()),
        (
            Data::Sparse { rows, columns, values },
            Data::Sparse { rows: more_rows, columns: more_columns, values: more },
        ) => {
            let (n_samples, n_more) = (samples_of(rows), samples_of(more_rows));
            let ends = at(rows, n_samples);
            let start = ends[n_samples];
            ends.extend((1..=n_more).map(|sample| start + more_rows.start(sample) as u32));
            columns.extend_from_slice(more_columns);
            values.append(more, 0..more.len());
        }
        (Data::Encoded(samples), Data::Encoded(more)) => samples.append(more, 0..more.len(), 0),
        _ => unreachable!("columns of one stream have one form"),
    }
}

/// The number of samples that offsets of pairs have.
fn samples_of(rows: &Offsets) -> usize {
    match rows {
        Offsets::At(at) => at.len() - 1,
        Offsets::Every(_) => unreachable!("samples have any number of pairs"),
    }
}

#[cfg(test)]
mod tests {
    use tesson_core::Values;

    use super::*;

    fn column(samples: Offsets, values: &[u8]) -> Vec<StreamColumn> {
        vec![StreamColumn { samples, data: Data::Dense { values: Values::Bytes(values.to_vec()) } }]
    }

    fn empty() -> impl Iterator<Item = Data> {
        [Data::Dense { values: Values::Bytes(Vec::new()) }].into_iter()
    }

    #[test]
    fn runs_with_and_without_samples_follow_each_other() {
        let mut columns = Columns::new(empty());
        columns.append_nothing(1);
        columns.append(column(Offsets::Every(1), &[7, 8]), 2);
        columns.append(column(Offsets::At(vec![0, 0, 2]), &[5, 6]), 2);
        columns.append_nothing(1);
        let expected = column(Offsets::At(vec![0, 0, 1, 2, 2, 4, 4]), &[7, 8, 5, 6]);
        assert_eq!((columns.len(), columns.finish()), (6, expected));
    }

    #[test]
    fn runs_of_equal_rows_stay_equal() {
        let mut columns = Columns::new(empty());
        columns.append(column(Offsets::Every(2), &[1, 2]), 1);
        columns.append(column(Offsets::Every(2), &[3, 4, 5, 6]), 2);
        assert_eq!(columns.finish(), column(Offsets::Every(2), &[1, 2, 3, 4, 5, 6]));
    }
}
