//! Samples of one stream, as the rows of a text bring them.

use super::decimal::Real;
use super::options::Input;

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
}
