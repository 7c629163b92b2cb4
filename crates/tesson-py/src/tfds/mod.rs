//! Prepared TFDS datasets: what `tesson.tfds` stands on.
//!
//! `dataset.rs` has what is known without reading (descriptions, plans, orders). `request.rs` opens readers; `traversal.rs`
//! is where one stands, `iterator.rs` hands out examples one at a time, `element_order.rs` the order of operations
//! on anything else, `reader.rs` batches and examples by their places, `writer.rs` prepares datasets.
//! `examples.rs` and `batches.rs` make Python's values of columns, `nested.rs` those that are made one by one, all with the
//! arrays of `array_maker.rs`. Requests come in the JSON form that the façade takes, so nothing is decided here.

mod array_maker;
mod batches;
mod dataset;
mod element_order;
mod examples;
mod iterator;
mod nested;
mod reader;
mod request;
mod traversal;
mod writer;

use std::sync::Arc;

use pyo3::prelude::*;
use serde_json::Value;
use tesson::Error;
use tesson_cli::restoring;
use tesson_plan::StreamState;
use tesson_prepared::{ExampleBatch, InterruptibleReader, Reader, Restoring};
use tesson_tfds::features::{Batch, Data, Schema};

pub(crate) use dataset::{
    GlobalSeeds, PreparedDataset, Stream, check_split, find_dataset, list_datasets, parse_split,
};
pub(crate) use element_order::{ElementOrder, is_idle};
pub(crate) use iterator::ExampleIterator;
pub(crate) use nested::NestedElements;
pub(crate) use reader::{ExampleBatches, ExampleReader};
pub(crate) use traversal::Traversal;
pub(crate) use writer::DatasetWriter;

use crate::calls::released;
use crate::errors::raise;
use crate::log;
use crate::turn::Turn;

/// Uses what one thread at a time may use. `act` has the GIL and may release it; no thread waits with it.
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

/// Calls a reader without the GIL. A signal abandons the call, and the reader is as it was before.
fn call<T: Send + 'static>(
    py: Python<'_>,
    reader: &mut InterruptibleReader,
    act: impl FnOnce(&mut Reader, &mut dyn FnMut() -> bool) -> Result<T, Error> + Send + 'static,
) -> PyResult<T> {
    until_signal(py, |interrupted| reader.call(interrupted, act))
}

/// Does what may take long without the GIL, until a signal comes: what is done asks now and then whether one has come.
fn until_signal<T: Send, E>(
    py: Python<'_>,
    act: impl FnOnce(&mut dyn FnMut() -> bool) -> Result<T, E> + Send,
) -> PyResult<T>
where
    E: Send + Into<Error>,
{
    let mut signal = None;
    let done = released(py, || {
        act(&mut || Python::attach(|py| py.check_signals().map_err(|s| signal = Some(s)).is_err()))
    })?;
    log::flush(py);
    signal.map_or(Ok(()), Err)?;
    done.map_err(|e| raise(py, e.into()))
}

/// Goes to where a state was taken, until a signal comes.
fn restore(py: Python<'_>, reader: &mut InterruptibleReader, state: Value, force: bool) -> PyResult<()> {
    let (place, passed) = (state["stream"]["delivered"].as_u64().unwrap_or(0), reader.inner().passed());
    restoring::passing(place, passed, || {
        call(py, reader, move |reader, interrupted| {
            Ok(reader.restore_json_with(&state, Restoring { force, interrupted })?)
        })
    })
}

/// Passes that each shuffle had begun where a state of a reader was taken.
fn passes_at(py: Python<'_>, reader: &InterruptibleReader, state: &StreamState) -> PyResult<Vec<u64>> {
    until_signal(py, |interrupted| reader.inner().passes_at(state, interrupted))
}

/// Where a reader stands as a state, with what its shuffles hold if that is wanted.
fn saved(
    py: Python<'_>,
    reader: &mut InterruptibleReader,
    state: StreamState,
    include_buffers: bool,
) -> PyResult<Value> {
    if !include_buffers {
        return Ok(reader.inner().to_json(&state));
    }
    call(py, reader, move |reader, _| reader.to_json_with_buffers(&state))
}

/// How much memory decoded columns take, so that the next ones begin with as much: memory that NumPy owns does not come
/// back.
#[derive(Default)]
struct Memory(Vec<usize>);

impl Memory {
    fn reserve(&self, rows: &mut ExampleBatch) {
        for (column, size) in rows.batch.columns.iter_mut().zip(&self.0) {
            if let Data::Fixed { bytes, .. } = &mut column.data {
                bytes.reserve(*size);
            }
        }
    }

    /// The decoded columns; new ones take their place.
    fn take(&mut self, schema: &Arc<Schema>, rows: &mut ExampleBatch) -> Batch {
        let batch = std::mem::replace(&mut rows.batch, Batch::new(schema));
        let size = |data: &Data| match data {
            Data::Fixed { bytes, .. } => bytes.len(),
            Data::Strings { .. } => 0,
        };
        self.0 = batch.columns.iter().map(|column| size(&column.data)).collect();
        batch
    }
}
