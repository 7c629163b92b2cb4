//! Examples that were read, with the record and the position of each.

use tesson_tfds::features::{Batch, Schema};

/// Examples, and what a reader knows of each.
pub struct ExampleBatch {
    /// The examples.
    pub batch: Batch,
    pub(crate) numbers: Vec<u64>,
    /// For each example, how many of its traversal are over with it.
    pub(crate) positions: Vec<u64>,
}

impl ExampleBatch {
    /// Room for examples.
    pub fn new(schema: &Schema) -> ExampleBatch {
        ExampleBatch { batch: Batch::new(schema), numbers: Vec::new(), positions: Vec::new() }
    }

    /// Number of examples.
    pub fn len(&self) -> usize {
        self.numbers.len()
    }

    /// True if the batch has no examples.
    pub fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    /// Forgets all examples and keeps the memory.
    pub fn clear(&mut self) {
        self.batch.clear();
        self.numbers.clear();
        self.positions.clear();
    }
}
