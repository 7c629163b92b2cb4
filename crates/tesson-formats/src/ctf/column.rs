//! Samples of one stream, as the rows of a text bring them.

use super::decimal::Real;
use super::options::Input;
use super::sparse_rows::{OF_BLOCK, Tape};

/// The samples of one stream, as they come.
#[derive(Debug, Default)]
pub(crate) struct Column<E> {
    /// Where each sequence's samples begin; one entry more than sequences.
    pub(super) samples: Vec<u32>,
    /// Sparse: where each sample's pairs begin; one entry more than samples.
    pub(super) rows: Vec<u32>,
    pub(super) columns: Vec<u32>,
    pub(super) values: Vec<E>,
    pub(super) n_samples: u32,
    /// True if a sample of the sequence that is not closed yet was refused.
    pub(super) is_faulty: bool,
    /// The line of its last sample, where notes are wanted.
    pub(super) last_line: Option<u64>,
}

impl<E: Real> Column<E> {
    /// Samples of the sequence that is not closed yet.
    pub(super) fn n_open(&self) -> u32 {
        self.n_samples - self.samples[self.samples.len() - 1]
    }

    /// Adds samples of one pair each.
    #[inline]
    pub(super) fn push_single_pairs(&mut self, indices: &[u32], digits: &[u8]) {
        let pairs = self.columns.len() as u32;
        self.columns.extend_from_slice(indices);
        self.values.extend(digits.iter().map(|&digit| E::from_small(digit.into())));
        self.rows.extend(pairs + 1..=pairs + indices.len() as u32);
        self.n_samples += indices.len() as u32;
    }

    /// Takes the samples of the open sequence back.
    pub(super) fn undo(&mut self, input: &Input) {
        self.n_samples = self.samples[self.samples.len() - 1];
        self.is_faulty = false;
        if input.sparse {
            self.rows.truncate(self.n_samples as usize + 1);
            self.undo_pairs();
        } else {
            self.values.truncate(self.n_samples as usize * input.dim as usize);
        }
    }

    /// Takes the pairs of the open sample back.
    pub(super) fn undo_pairs(&mut self) {
        let kept = self.rows[self.rows.len() - 1] as usize;
        self.columns.truncate(kept);
        self.values.truncate(kept);
    }

    /// Sorts the pairs of the open sample by column, adding up those of one column in their order.
    pub(super) fn sort_pairs(&mut self) {
        let kept = self.rows[self.rows.len() - 1] as usize;
        let mut pairs: Vec<(u32, E)> =
            self.columns[kept..].iter().copied().zip(self.values[kept..].iter().copied()).collect();
        pairs.sort_by_key(|&(column, _)| column);
        self.undo_pairs();
        for (column, value) in pairs {
            match self.values[kept..].last_mut() {
                Some(sum) if self.columns.last() == Some(&column) => *sum += value,
                _ => {
                    self.columns.push(column);
                    self.values.push(value);
                }
            }
        }
    }

    /// Makes room for `n` pairs, which [`take`](Column::take) writes to, behind those that are there.
    #[inline(always)]
    pub(super) fn make_room(&mut self, n: usize) {
        self.columns.resize(self.columns.len() + n, 0);
        self.values.resize(self.values.len() + n, E::default());
    }

    /// Takes the pairs `from..to` of a tape as a sample. False if their columns do not ascend below the stream's dimension: it is then
    /// to be taken back ([`keep_samples`](Column::keep_samples)). The room behind them is overwritten.
    #[inline(always)]
    pub(super) fn take(&mut self, tape: &Tape, from: usize, to: usize, input: &Input) -> bool {
        let len = self.rows[self.rows.len() - 1] as usize;
        let mut odd = 0;
        for at in (from..to).step_by(OF_BLOCK) {
            // Values and no references, since what is written could be what is read for all that a compiler knows.
            let before: [u32; OF_BLOCK] =
                *tape.indices[at..].first_chunk().expect("there is room behind pairs");
            let indices: [u32; OF_BLOCK] = *tape.indices[1 + at..].first_chunk().expect("likewise");
            let values: [u32; OF_BLOCK] = *tape.values[at..].first_chunk().expect("likewise");
            let mut numbers = [E::default(); OF_BLOCK];
            for i in 0..OF_BLOCK {
                numbers[i] = E::from_small(values[i]);
            }
            let slot = len + at - from;
            *self.columns[slot..].first_chunk_mut().expect("room was made") = indices;
            *self.values[slot..].first_chunk_mut().expect("likewise") = numbers;
            // Numbers and no truth values, which compilers pack to bytes.
            let (n, first) = ((to - at) as u32, u32::from(at == from));
            for i in 0..OF_BLOCK {
                let is_here = u32::from((i as u32) < n);
                let falls = u32::from(i as u32 >= first) & u32::from(indices[i] <= before[i]);
                odd |= is_here & (falls | u32::from(indices[i] >= input.dim));
            }
        }
        self.rows.push((len + to - from) as u32);
        odd == 0
    }

    /// Keeps the first `n` of the samples that have been taken and not closed; the pairs of the others count as room.
    pub(super) fn keep_samples(&mut self, n: usize) {
        self.rows.truncate(self.n_samples as usize + n + 1);
    }

    /// Makes each of the `n` samples that have been taken a sequence, and gives the room behind them back.
    #[inline(always)]
    pub(super) fn close_samples(&mut self, n: usize) {
        let len = self.rows[self.rows.len() - 1] as usize;
        self.columns.truncate(len);
        self.values.truncate(len);
        self.samples.extend(self.n_samples + 1..=self.n_samples + n as u32);
        self.n_samples += n as u32;
    }
}
