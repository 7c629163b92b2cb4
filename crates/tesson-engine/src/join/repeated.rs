//! One sample a sequence that stands for as many as the first deserializer's sequence has.

use tesson_core::{Data, Offsets, StreamColumn, Values};

/// Makes a column of one sample a sequence one of samples that are repeated so often; nothing is copied. Returns the
/// sequences that have several samples, of which the first one is repeated. One without samples stays so.
pub(super) fn repeat(column: &mut StreamColumn, lengths: &[u32], dim: usize) -> Vec<u32> {
    let Data::Dense { values } = &mut column.data else {
        unreachable!("deserializers keep to their stream's storage")
    };
    let found: Vec<usize> = (0..lengths.len()).map(|i| column.samples.range(i).len()).collect();
    if found.iter().any(|&n| n != 1) {
        let mut single = Values::Ones(0);
        for (i, &n) in found.iter().enumerate() {
            let start = column.samples.start(i) * dim;
            match n {
                0 => single.append(&Values::Ones(dim), 0..dim),
                _ => single.append(values, start..start + dim),
            }
        }
        *values = single;
    }
    column.data = Data::Repeated { values: std::mem::replace(values, Values::Ones(0)) };
    let mut ends = vec![0];
    let mut end = 0;
    for (&length, &n) in lengths.iter().zip(&found) {
        end += length * u32::from(n > 0);
        ends.push(end);
    }
    column.samples = Offsets::At(ends);
    (0..).zip(&found).filter(|(_, n)| **n > 1).map(|(i, _)| i).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_sample_stands_for_all_and_several_are_told() {
        let values = Values::F32(vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        let samples = Offsets::At(vec![0, 1, 1, 3]);
        let mut column = StreamColumn { samples, data: Data::Dense { values } };
        assert_eq!(repeat(&mut column, &[3, 2, 4], 2), [2]);
        let values = Values::F32(vec![1.0, 2.0, 1.0, 1.0, 3.0, 4.0]);
        let samples = Offsets::At(vec![0, 3, 3, 7]);
        assert_eq!(column, StreamColumn { samples, data: Data::Repeated { values } });
    }
}
