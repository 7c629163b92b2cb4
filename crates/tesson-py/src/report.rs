//! Reports of a source's data.

use std::path::PathBuf;

use pyo3::prelude::*;
use tesson::{Canceller, Error, OpenOptions};
use tesson_engine::atomic_file;
use tesson_report::{Request, collect, page};

use crate::calls::Owner;
use crate::source::{attentive, or_call_off};
use crate::{config, errors, log};

/// Writes the page of a report about what a configuration describes, and returns its figures as JSON. Ctrl-C ends it with what has
/// been seen.
#[pyfunction]
#[pyo3(signature = (config, base_dir, by_keywords, path, shown, batch_samples, workers, all))]
#[expect(clippy::too_many_arguments, reason = "the Python half passes them by name")]
pub(crate) fn report(
    py: Python<'_>,
    config: &Bound<'_, PyAny>,
    base_dir: Option<PathBuf>,
    by_keywords: bool,
    path: Option<PathBuf>,
    shown: String,
    batch_samples: u64,
    workers: u64,
    all: bool,
) -> PyResult<String> {
    let raised = |e: Error| errors::raise_spelt(py, e, by_keywords);
    let tree = config::section_for(config, Owner::new())?;
    let mut config = tesson_config::lower(&tree, &config::registry()).map_err(|e| raised(e.into()))?;
    if let Some(dir) = base_dir {
        config.resolve_paths(&dir, &config::registry()).map_err(|e| raised(e.into()))?;
    }
    log::install(py)?;
    let canceller = Canceller::new();
    let make = || {
        let request = Request {
            input: shown.clone(),
            kind: "described in Python".to_owned(),
            command: format!("report({:?})", path.as_deref().unwrap_or("report.html".as_ref())),
            certificate_command: String::new(),
            python: String::new(),
            samples: batch_samples,
            workers,
            all,
            measures: true,
            interrupted: &|| canceller.is_cancelled(),
            progress: &|_| (),
        };
        let made = collect(&config, &OpenOptions::default(), &request)?;
        if let Some(path) = &path {
            atomic_file::write(path, page(&made).as_bytes())
                .map_err(|e| tesson::StoreError::new(path.as_path().into(), None, e))?;
        }
        Ok(serde_json::to_string(&made).expect("figures are numbers and texts"))
    };
    let (made, signal) = attentive(py, |interrupted| or_call_off(interrupted, &canceller, make))?;
    match signal {
        Some(e) => Err(e),
        None => made.map_err(raised),
    }
}
