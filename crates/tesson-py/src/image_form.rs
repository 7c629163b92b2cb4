//! The form in which a path holds images, for `read_images`.

use std::path::Path;

use pyo3::prelude::*;
use tesson::StoreError;
use tesson_convert::image_form::{self, ImageForm as Form};

use crate::errors::raise;

/// The form in which a path holds images.
#[pyclass(frozen, module = "tesson._tesson")]
pub(crate) struct ImageForm {
    form: Form,
}

#[pymethods]
impl ImageForm {
    #[new]
    fn new(py: Python<'_>, names: Vec<String>) -> PyResult<ImageForm> {
        let path = names.first().map_or("", String::as_str);
        let form = py.detach(|| Form::of_all(&names)).map_err(|e| unreadable(py, path, e))?;
        Ok(ImageForm { form })
    }

    /// `folder`, `list`, `base64` or `tar`.
    fn kind(&self) -> &'static str {
        self.form.kind.name()
    }

    /// The path as deserializers name it.
    fn path(&self) -> &str {
        &self.form.path
    }

    /// The format of a list.
    fn map_format(&self) -> Option<&'static str> {
        self.form.map_format
    }

    /// True if there are classes; of a list in the column of this name.
    fn has_labels(&self, py: Python<'_>, column: &str) -> PyResult<bool> {
        py.detach(|| self.form.has_labels(column)).map_err(|e| unreadable(py, &self.form.path, e))
    }
}

/// The first of the files that names and patterns stand for.
#[pyfunction]
pub(crate) fn first_file(py: Python<'_>, names: Vec<String>) -> Option<String> {
    py.detach(|| image_form::first_file(&names)).map(|path| path.to_string_lossy().into_owned())
}

/// The extensions of the members of an archive's first sample, in lower case.
#[pyfunction]
pub(crate) fn extensions_in_tar(py: Python<'_>, path: &str) -> PyResult<Vec<String>> {
    py.detach(|| image_form::extensions_in_tar(Path::new(path))).map_err(|e| unreadable(py, path, e))
}

fn unreadable(py: Python<'_>, path: &str, error: std::io::Error) -> PyErr {
    raise(py, StoreError::new(Path::new(path).into(), None, error))
}
