//! The command `tesson` inside of Python: types that modules register are known to it.

use std::path::Path;

use pyo3::prelude::*;
use tesson::ConfigError;
use tesson::config::{Section, Value};
use tesson_cli::Extensions;
use tesson_config::json::section_to_json;
use tesson_core::Registry;

use crate::calls::Raised;
use crate::config;
use crate::errors::Refusal;

/// Runs the command `tesson` with a program's name and its arguments, and returns the exit code.
#[pyfunction]
pub(crate) fn main(py: Python<'_>, arguments: Vec<std::ffi::OsString>) -> i32 {
    py.detach(|| tesson_cli::main_with(&Interpreter, arguments.into_iter()))
}

struct Interpreter;

impl Extensions for Interpreter {
    fn registry(&self) -> Registry {
        config::registry()
    }

    fn resolve(&self, reader: &mut Section, base_dir: Option<&Path>) -> Result<(), ConfigError> {
        let is_list = |name: &str| name.eq_ignore_ascii_case("deserializers");
        let list = reader.0.iter_mut().find(|(name, _)| is_list(name));
        let Some((_, Value::List(parts))) = list else { return Ok(()) };
        for (i, part) in parts.iter_mut().enumerate() {
            if let Value::Section(section) = part {
                let path = format!("deserializers[{i}]");
                let made = Python::attach(|py| made(py, section, &path, base_dir));
                if let Some(made) = made? {
                    *section = made;
                }
            }
        }
        Ok(())
    }
}

/// The section that `tesson.plugins` makes of a section; `None` if its type is not registered there.
fn made(
    py: Python<'_>,
    section: &Section,
    path: &str,
    base_dir: Option<&Path>,
) -> Result<Option<Section>, ConfigError> {
    let make = || -> PyResult<Option<Section>> {
        let make = py.import("tesson.plugins")?.getattr("made")?;
        let made = make.call1((section_to_json(section).to_string(), path, base_dir))?;
        if made.is_none() {
            return Ok(None);
        }
        config::section(&made).map(Some)
    };
    make().map_err(|exception| refused(py, section, path, exception))
}

/// An exception as an error of the option that it names, or else of the section at a path.
fn refused(py: Python<'_>, section: &Section, path: &str, exception: PyErr) -> ConfigError {
    let named: Option<String> = exception.value(py).getattr("path").and_then(|p| p.extract()).ok();
    if let Some(named) = named.filter(|named| named.starts_with(path)) {
        let message = exception.value(py).to_string();
        let what = message.strip_prefix(&format!("{named}: ")).unwrap_or(&message);
        return ConfigError::refused(named.as_str(), &Refusal::Raised { what: what.to_owned() });
    }
    let name = match section.get("type") {
        Some(Value::Text(name)) => name,
        _ => "type",
    };
    let what = Raised::new(py, &format!("{name}(…)"), exception).to_string();
    ConfigError::refused(path, &Refusal::Raised { what })
}
