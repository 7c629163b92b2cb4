//! The native half of the Python package `tesson`: it converts, releases the GIL and holds the memory of arrays.
//!
//! The items that users see, and their documentation, are in `python/tesson`, except for the members of
//! `MinibatchData`; decisions are made in the façade.

use pyo3::prelude::*;

mod arrays;
mod arrow;
mod batch;
mod calls;
mod command;
mod config;
mod digest;
mod epochs;
mod errors;
mod global_order;
mod image_form;
mod log;
mod mapping;
mod report;
mod source;
mod state;
mod stream_data;
mod tfds;
mod transform;
mod turn;
mod user;
mod world;

/// The native half of the package.
#[pymodule]
mod _tesson {
    use numpy::{PyArray1, PyArrayMethods};
    use pyo3::exceptions::PyImportError;
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::arrow::{arrow_array, arrow_stream};
    #[pymodule_export]
    use crate::batch::{Batch, BatchState};
    #[pymodule_export]
    use crate::calls::end_calls;
    #[pymodule_export]
    use crate::config::{
        Schedule, is_cntk_module, keyword_of, load_reader, nearest_name, option_table, resolve_config,
        transform_table,
    };
    #[pymodule_export]
    use crate::digest::Digest;
    #[pymodule_export]
    use crate::epochs::{Epochs, Iteration};
    #[pymodule_export]
    use crate::global_order::GlobalOrder;
    #[pymodule_export]
    use crate::image_form::{ImageForm, extensions_in_tar, first_file};
    #[pymodule_export]
    use crate::report::report;
    #[pymodule_export]
    use crate::source::{Batches, Source};
    #[pymodule_export]
    use crate::state::merge_states;
    #[pymodule_export]
    use crate::stream_data::StreamData;
    #[pymodule_export]
    use crate::turn::forked;

    #[pymodule_export]
    use crate::tfds::{
        DatasetWriter, ElementOrder, ExampleBatches, ExampleIterator, ExampleReader, GlobalSeeds,
        NestedElements, PreparedDataset, Stream, Traversal, check_split, find_dataset, is_idle,
        list_datasets, parse_split,
    };

    #[pymodule_export]
    use crate::user::batch_of;
    #[pymodule_export]
    use crate::world::{check_world_size, launched, without_launcher};

    #[pymodule_export]
    use crate::command::main;

    /// Makes the bridge to NumPy ready. It would import modules when the first array is made, and panic if Ctrl-C came
    /// meanwhile, or if there is no NumPy.
    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        let py = module.py();
        py.import("numpy").map_err(|cause| {
            let what = format!(
                "tesson needs NumPy, which cannot be imported: {cause}; install it, as by `pip install numpy`"
            );
            let error = PyImportError::new_err(what);
            error.set_cause(py, Some(cause));
            error
        })?;
        PyArray1::<u8>::zeros(py, 0, false).try_readonly()?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        Ok(())
    }
}
