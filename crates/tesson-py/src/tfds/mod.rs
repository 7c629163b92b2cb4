//! Prepared TFDS datasets: what `tesson.tfds` stands on.
//!
//! `dataset.rs` has what is known without reading (descriptions, plans, orders), `reader.rs` reads, `value.rs` makes NumPy
//! values of examples. Requests come as dictionaries in the JSON form that the façade takes, so nothing is decided here.

mod dataset;
mod reader;
mod value;

pub(crate) use dataset::{GlobalSeeds, PreparedDataset, Stream, find_dataset};
pub(crate) use reader::ExampleReader;
