//! Sequences that are brought to the length of the first deserializer's, from which they differ by a few samples.

use tesson_core::{Data, Offsets, StreamColumn, Values};

/// Changes a column's sequences to these lengths: cut at their end, or with their last sample repeated. Sequences
/// without samples stay so. Columns that are kept as they were read stay as they are.
pub(super) fn fit(column: StreamColumn, lengths: &[u32], dim: usize) -> StreamColumn {
    let mut ends = vec![0];
    let mut picked = Vec::new();
    for (i, &length) in lengths.iter().enumerate() {
        let samples = column.samples.range(i);
        if let Some(last) = samples.clone().last() {
            picked.extend((samples.start..).take(length as usize).map(|sample| sample.min(last)));
        }
        ends.push(picked.len() as u32);
    }
    let data = match column.data {
        Data::Dense { values } => {
            let mut fitted = Values::Ones(0);
            picked.iter().for_each(|sample| fitted.append(&values, sample * dim..(sample + 1) * dim));
            Data::Dense { values: fitted }
        }
        Data::Sparse { rows, columns, values } => {
            let (mut row_ends, mut indices, mut fitted) = (vec![0], Vec::new(), Values::Ones(0));
            for &sample in &picked {
                let entries = rows.range(sample);
                indices.extend_from_slice(&columns[entries.clone()]);
                fitted.append(&values, entries);
                row_ends.push(indices.len() as u32);
            }
            Data::Sparse { rows: Offsets::At(row_ends), columns: indices, values: fitted }
        }
        data => return StreamColumn { samples: column.samples, data },
    };
    StreamColumn { samples: Offsets::At(ends), data }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_sample_is_repeated_or_the_end_is_cut() {
        let samples = Offsets::At(vec![0, 2, 2, 5]);
        let values = Values::F32((0..10).map(|x| x as f32).collect());
        let column = StreamColumn { samples: samples.clone(), data: Data::Dense { values } };
        let values = Values::F32(vec![0., 1., 2., 3., 2., 3., 4., 5., 6., 7.]);
        let fitted = StreamColumn { samples: Offsets::At(vec![0, 3, 3, 5]), data: Data::Dense { values } };
        assert_eq!(fit(column, &[3, 4, 2], 2), fitted);
        let sparse = |samples, rows, columns: &[u32], values: &[u8]| {
            let data =
                Data::Sparse { rows, columns: columns.to_vec(), values: Values::Bytes(values.to_vec()) };
            StreamColumn { samples, data }
        };
        let column = sparse(samples, Offsets::Every(1), &[7, 8, 1, 2, 3], &[2, 1, 2, 1, 1]);
        let rows = Offsets::At(vec![0, 1, 2, 3, 4, 5]);
        let fitted = sparse(Offsets::At(vec![0, 3, 3, 5]), rows, &[7, 8, 8, 1, 2], &[2, 1, 1, 2, 1]);
        assert_eq!(fit(column, &[3, 4, 2], 9), fitted);
    }
}
