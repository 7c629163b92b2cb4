//! Splits: from strings and objects to the records of files (spec/tfds.md §7).

mod absolute;
mod files;
mod grammar;
mod instruction;
mod json;

pub use absolute::Absolute;
pub use files::{FileInstruction, file_instructions};
pub use instruction::{Bound, Range, ReadInstruction, Rounding, Unit};

use tesson_core::ConfigError;

use crate::info::Dataset;
use crate::refusal::SplitRefusal;

/// A selection of a dataset's examples, as a user wrote it in a string or as objects.
#[derive(Clone, Debug, PartialEq)]
pub enum Selection {
    /// Every split, in the order of the dataset.
    All,
    /// A split or a slice of it.
    Part(ReadInstruction),
    /// One after the other.
    Sum(Vec<Selection>),
    /// One of `n` shares of nearly equal size; each part is cut for itself (spec/tfds.md §7.4).
    Even {
        /// The selection that is divided.
        of: Box<Selection>,
        /// The number of shares.
        n: u64,
        /// The number of this share, from 0.
        index: u64,
        /// `true`: all shares have the same size, and the remainder is in none; `false`: the first shares take it.
        drop_remainder: bool,
    },
}

impl Selection {
    /// Parses the text of a split.
    ///
    /// # Errors
    /// [`ConfigError`] for a text that is not a split.
    pub fn parse(text: &str) -> Result<Selection, ConfigError> {
        grammar::parse(text)
    }

    /// Reads a string, or the JSON form of objects: `{"read_instruction": …}`, `{"even_splits": …}`, `{"add": […]}`.
    ///
    /// # Errors
    /// Anything else.
    pub fn from_json(value: &serde_json::Value) -> Result<Selection, ConfigError> {
        json::selection(value)
    }

    /// The JSON form that [`Selection::from_json`] reads.
    pub fn to_json(&self) -> serde_json::Value {
        json::described(self)
    }

    /// The shares of [`Selection::Even`], all of them.
    ///
    /// # Errors
    /// There are to be none.
    pub fn even_splits(self, n: u64, drop_remainder: bool) -> Result<Vec<Selection>, ConfigError> {
        if n == 0 {
            return Err(wrong(&SplitRefusal::NoShares));
        }
        let share = |index| Selection::Even { of: Box::new(self.clone()), n, index, drop_remainder };
        Ok((0..n).map(share).collect())
    }

    /// The stretches of records that are meant.
    ///
    /// # Errors
    /// An unknown split, or a slice that is not within it.
    pub fn resolve(&self, dataset: &Dataset) -> Result<Vec<Absolute>, ConfigError> {
        absolute::resolve(self, dataset)
    }
}

/// An error of the option `split`.
fn wrong(refusal: &SplitRefusal) -> ConfigError {
    ConfigError::refused("split", refusal)
}
