//! Prepared TFDS datasets: what `tesson.tfds` stands on.
//!
//! `dataset.rs` has what is known without reading (descriptions, plans, orders). `request.rs` opens readers; `iterator.rs`
//! hands out examples one at a time, `reader.rs` batches and examples by their places, `writer.rs` prepares datasets.
//! `examples.rs` and `batches.rs` make Python's values of columns, `nested.rs` those that are made one by one, all with the
//! arrays of `kit.rs`. Requests come in the JSON form that the façade takes, so nothing is decided here.

mod batches;
mod dataset;
mod examples;
mod iterator;
mod kit;
mod nested;
mod reader;
mod request;
mod writer;

use std::sync::Arc;

use pyo3::prelude::*;
use tesson::tfds::Rows;
use tesson::tfds::features::{Batch, Data, Schema};

pub(crate) use dataset::{GlobalSeeds, PreparedDataset, Stream, find_dataset};
pub(crate) use iterator::ExampleIterator;
pub(crate) use nested::NestedElements;
pub(crate) use reader::ExampleReader;
pub(crate) use request::forked;
pub(crate) use writer::DatasetWriter;

use crate::turn::Turn;

/// Uses what one thread at a time may use. `act` has the GIL and may release it; nobody waits with it.
fn alone<T: Send, R>(py: Python<'_>, turn: &Turn<T>, act: impl FnOnce(&mut T) -> PyResult<R>) -> PyResult<R> {
    let mut act = Some(act);
    loop {
        let done = turn.try_with(|thing| act.take().map(|act| act(thing)));
        if let Some(Some(result)) = done {
            return result;
        }
        py.check_signals()?;
        py.detach(|| turn.wait());
    }
}

/// How much memory decoded columns take, so that the next ones begin with as much: memory that NumPy owns does not come
/// back.
#[derive(Default)]
struct Memory(Vec<usize>);

impl Memory {
    fn reserve(&self, rows: &mut Rows) {
        for (column, size) in rows.batch.columns.iter_mut().zip(&self.0) {
            if let Data::Fixed { bytes, .. } = &mut column.data {
                bytes.reserve(*size);
            }
        }
    }

    /// The decoded columns; new ones take their place.
    fn take(&mut self, schema: &Arc<Schema>, rows: &mut Rows) -> Batch {
        let batch = std::mem::replace(&mut rows.batch, Batch::new(schema));
        let size = |data: &Data| match data {
            Data::Fixed { bytes, .. } => bytes.len(),
            Data::Strings { .. } => 0,
        };
        self.0 = batch.columns.iter().map(|column| size(&column.data)).collect();
        batch
    }
}
