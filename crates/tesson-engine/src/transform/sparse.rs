//! Transforms of samples that are sparse and stay so.

use tesson_core::{InputValues, OutputValues, SparseInput, SparseOutput, UserError};
use tesson_memory::pool::Buffer;
use tesson_plan::DrawKey;

use super::chain::{ChainMemory, Step};
use super::draws::BatchDraws;
use crate::pack::Pools;
use crate::sample_values::SampleValues;
use crate::samples::{Samples, StreamBatch};

/// Sparse samples as they are made.
struct Made {
    bounds: Buffer<i32>,
    columns: Buffer<i32>,
    values: SampleValues,
}

/// Transforms all sequences of a stream. Those that it refuses are listed by number, and have no entries.
pub(super) fn apply(
    step: &Step,
    batch: &mut StreamBatch,
    draws: &mut BatchDraws<'_, '_, impl Fn(usize) -> DrawKey>,
    number: usize,
    memory: &mut ChainMemory,
    pools: &Pools,
    refused: &mut Vec<(usize, UserError)>,
) {
    let Samples::Sparse { indptr, indices, values } = &batch.samples else {
        unreachable!("a dense stream stays dense")
    };
    let mut made = Made {
        bounds: pools.i32s.take(batch.n_samples + 1),
        columns: pools.i32s.take(indices.len()),
        values: SampleValues::with_capacity(batch.info.element, values.len(), pools),
    };
    made.bounds.items().push(0);
    let mut counts = Vec::new();
    let mut sample = 0;
    let dim = step.input.shape().map_or(0, |shape| shape.len());
    for (i, &n) in batch.lengths.iter().enumerate() {
        let bounds = &indptr[sample..=sample + n as usize];
        sample += n as usize;
        let entries = bounds[0] as usize..bounds[n as usize] as usize;
        let input = match values {
            SampleValues::F32(v) => InputValues::F32(&v[entries.clone()]),
            SampleValues::F64(v) => InputValues::F64(&v[entries.clone()]),
            SampleValues::U8(v) => InputValues::U8(&v[entries.clone()]),
            SampleValues::Exact(_) | SampleValues::Strings(_) => {
                unreachable!("transforms of such streams are refused")
            }
        };
        let mut draws = draws.of(i);
        let input = SparseInput::new(bounds, &indices[entries], input, dim).with_copy(draws.copy());
        counts.clear();
        let before = made.columns.len();
        let mut words = draws.begin(step);
        let scratch = memory.scratch(number);
        let output = made.output(&mut counts);
        let applied = step.transform.apply_sparse(input, output, &mut words.draw(), scratch);
        let ended = applied.and_then(|()| Ok(made.end_sequence(step, n, &counts, before)?));
        if let Err(error) = ended {
            made.refuse_sequence(n, before);
            refused.push((i, error));
        }
    }
    batch.samples = Samples::Sparse { indptr: made.bounds, indices: made.columns, values: made.values };
}

impl Made {
    fn output<'a>(&'a mut self, counts: &'a mut Vec<u32>) -> SparseOutput<'a> {
        let values = match &mut self.values {
            SampleValues::F32(out) => OutputValues::F32(out.items()),
            SampleValues::F64(out) => OutputValues::F64(out.items()),
            SampleValues::U8(out) => OutputValues::U8(out.items()),
            SampleValues::Exact(_) | SampleValues::Strings(_) => {
                unreachable!("transforms of such streams are refused")
            }
        };
        SparseOutput::new(counts, self.columns.items(), values)
    }

    /// Leaves the `n` samples of a sequence empty, of which there may be columns after the first `before`.
    fn refuse_sequence(&mut self, n: u32, before: usize) {
        self.columns.items().truncate(before);
        self.values.truncate(before);
        self.bounds.items().extend((0..n).map(|_| before as i32));
    }

    /// Checks the `n` samples of a sequence, whose columns lie after the first `before`, and notes where they end.
    fn end_sequence(&mut self, step: &Step, n: u32, counts: &[u32], before: usize) -> Result<(), String> {
        let columns = self.columns.get(before..).unwrap_or_default();
        check(step, n, counts, columns)?;
        let (columns, values) = (self.columns.len(), self.values.len());
        if columns != values || columns > i32::MAX as usize {
            return Err(format!("{columns} columns and {values} values so far"));
        }
        let mut end = before as i32;
        self.bounds.items().extend(counts.iter().map(|&count| {
            end += count as i32;
            end
        }));
        Ok(())
    }
}

/// Checks that these are `n` samples with valid columns; the error says what is wrong.
fn check(step: &Step, n: u32, counts: &[u32], mut columns: &[i32]) -> Result<(), String> {
    let all: u64 = counts.iter().map(|&count| u64::from(count)).sum();
    if counts.len() != n as usize || all != columns.len() as u64 {
        let (samples, entries) = (counts.len(), columns.len());
        return Err(format!(
            "{samples} samples of {all} entries with {entries} columns, expected {n} samples"
        ));
    }
    let dim = step.output.shape().map_or(0, |shape| shape.len());
    for &count in counts {
        let (sample, rest) = columns.split_at(count as usize);
        columns = rest;
        if let Some([before, after]) = sample.windows(2).find(|pair| pair[0] >= pair[1]) {
            return Err(format!(
                "column {after} of a sample follows column {before}, expected ascending ones"
            ));
        }
        if let Some(column) = sample.iter().find(|&&column| column < 0 || column as usize >= dim) {
            return Err(format!("a sample has the column {column}, expected columns from 0 to below {dim}"));
        }
    }
    Ok(())
}
