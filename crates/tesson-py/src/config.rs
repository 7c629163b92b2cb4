//! Configurations: Python's dictionaries as trees of options, and the tables of options for Python.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use tesson::ConfigError;
use tesson::config::{Section, Value};
use tesson_config::Choices;
use tesson_core::Registry;
use tesson_core::{OptionDefault, OptionKind, OptionTable};

use crate::calls::Owner;
use crate::mapping::{self, Entries};
use crate::state::MOST_NESTED;
use crate::{errors, transform, user};

/// A mapping as a section. Entries that are None count as not given.
pub(crate) fn section(object: &Bound<'_, PyAny>) -> PyResult<Section> {
    section_for(object, Owner::NONE)
}

/// A mapping as a section, whose functions and deserializers a source is going to call.
pub(crate) fn section_for(object: &Bound<'_, PyAny>, owner: Owner) -> PyResult<Section> {
    match mapping::entries(object)? {
        Some(entries) => section_of(entries, owner, MOST_NESTED),
        None => {
            let found = object.get_type().name()?;
            Err(PyTypeError::new_err(format!("found {found}, expected a mapping of options")))
        }
    }
}

fn section_of(entries: Entries<'_>, owner: Owner, levels: usize) -> PyResult<Section> {
    let given = entries.into_iter().filter(|(_, value)| !value.is_none());
    given.map(|(name, value)| Ok((name, self::value(&value, owner, levels)?))).collect()
}

/// The formats of Rust, and deserializers of the user's own.
pub(crate) fn registry() -> Registry {
    tesson::registry().with(&tesson_formats::user::FORMAT)
}

/// True if a configuration contains a user's code.
pub(crate) fn has_user_code(section: &Section) -> bool {
    fn inside(value: &Value) -> bool {
        match value {
            Value::Object(_) => true,
            Value::List(values) => values.iter().any(inside),
            Value::Section(section) => has_user_code(section),
            _ => false,
        }
    }
    section.0.iter().any(|(_, value)| inside(value))
}

/// Any value of a configuration: texts, paths, truth values, numbers (NumPy's too), lists and mappings, within so many levels.
fn value(object: &Bound<'_, PyAny>, owner: Owner, levels: usize) -> PyResult<Value> {
    let Some(inside) = levels.checked_sub(1) else {
        let found = format!("values nested more than {MOST_NESTED} deep");
        return Err(errors::raise(object.py(), ConfigError::out_of_range("", found, "at most that")));
    };
    if let Ok(text) = object.cast::<PyString>() {
        return Ok(Value::Text(text.to_cow()?.into_owned()));
    }
    // Before numbers: Python's truth values are numbers too.
    if let Ok(truth) = object.cast::<PyBool>() {
        return Ok(Value::Bool(truth.is_true()));
    }
    if object.is_instance_of::<PyInt>() || object.hasattr("__index__")? {
        return Ok(Value::Whole(object.extract()?));
    }
    if object.is_instance_of::<PyFloat>() || object.hasattr("__float__")? {
        return Ok(Value::Real(object.extract()?));
    }
    if object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>() {
        return Ok(Value::List(
            object.try_iter()?.map(|v| value(&v?, owner, inside)).collect::<PyResult<_>>()?,
        ));
    }
    if let Some(entries) = mapping::entries(object)? {
        return Ok(Value::Section(section_of(entries, owner, inside)?));
    }
    if user::is_deserializer(object)? {
        return user::value(object, owner);
    }
    if object.is_callable() {
        return transform::value(object, owner);
    }
    if object.is_instance_of::<PyBytes>() || object.hasattr("__fspath__")? {
        // Bytes are a path as the system has it.
        return value(&object.py().import("os")?.call_method1("fsdecode", (object,))?, owner, levels);
    }
    Err(PyTypeError::new_err(format!(
        "found {} in a configuration, expected a text, path, number, truth value, list, mapping, deserializer or transform",
        object.get_type().name()?
    )))
}

/// The choices of a caller beside a configuration.
fn choices(
    overrides: Option<&Bound<'_, PyAny>>,
    arguments: Vec<String>,
    extended_variables: bool,
) -> PyResult<Choices> {
    let overrides = overrides.map_or(Ok(Section::default()), section)?;
    let overrides = overrides.0.into_iter().map(|(path, value)| (path.to_string(), value)).collect();
    Ok(Choices { arguments, overrides, override_option: None, extended_variables })
}

/// One reader of a configuration, a path or a text: its options in JSON, the folder that they say relative names start from,
/// and what to warn of.
#[pyfunction]
pub(crate) fn load_reader(
    py: Python<'_>,
    config: &str,
    section: Option<&str>,
    overrides: Option<&Bound<'_, PyAny>>,
    arguments: Vec<String>,
    extended_variables: bool,
) -> PyResult<(String, Option<String>, Vec<String>)> {
    let choices = choices(overrides, arguments, extended_variables)?;
    let loaded = tesson::config::load(config, &choices).map_err(|e| errors::raise(py, e))?;
    let reader = loaded.reader(section).map_err(|e| errors::raise(py, e))?;
    check_places(&reader.section).map_err(|e| errors::raise(py, e))?;
    let options = tesson_config::json::section_to_json(&reader.section).to_string();
    let base_dir = loaded.base_dir(&reader).map(str::to_owned);
    Ok((options, base_dir, reader.complaints()))
}

/// Refuses what can be refused with its place: a dictionary, as which the section goes on, knows none.
fn check_places(section: &Section) -> Result<(), ConfigError> {
    match tesson_config::lower(section, &registry()).map_err(|e| e.located_in(section)) {
        // A type may be one that a module registers.
        Err(e) if e.at.is_some() && !e.path.ends_with(".type") => Err(e),
        _ => Ok(()),
    }
}

/// Resolves a configuration, given as a path or a text, to `{"tree": …, "readers": {path: …}}` in JSON.
#[pyfunction]
pub(crate) fn resolve_config(
    py: Python<'_>,
    config: &str,
    arguments: Vec<String>,
    extended_variables: bool,
) -> PyResult<String> {
    let choices = choices(None, arguments, extended_variables)?;
    let resolved = tesson::config::load(config, &choices).and_then(|loaded| loaded.resolved());
    let resolved = resolved.map_err(|e| errors::raise(py, e))?;
    let described = resolved.to_json(&tesson::registry()).map_err(|e| errors::raise(py, e))?;
    Ok(described.to_string())
}

/// The name among these that a misspelt one was probably meant to be.
#[pyfunction]
pub(crate) fn nearest_name(name: &str, among: Vec<String>) -> Option<String> {
    tesson_core::nearest(name, among.iter().map(String::as_str)).map(str::to_owned)
}

/// The keyword of an option of configurations; the option itself where it has none.
#[pyfunction]
pub(crate) fn keyword_of(option: &str) -> String {
    tesson_core::Spelling::Keywords.option(option).into_owned()
}

/// True if CNTK's configurations name this module beside types of its own: no Python module registers types under such
/// a name.
#[pyfunction]
pub(crate) fn is_cntk_module(module: &str) -> bool {
    tesson_config::reader::is_cntk_module(module)
}

/// The options of a type of deserializer, or of the source itself for the empty name: for each its name, other
/// names, kind, default (None: required) and a sentence.
#[pyfunction]
pub(crate) fn option_table<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyList>> {
    let table = if name.is_empty() {
        tesson_config::READER_OPTIONS
    } else {
        registry().find(name, "").map_err(|e| errors::raise(py, e))?.options
    };
    rows(py, table)
}

/// The options of a type of transform, likewise.
#[pyfunction]
pub(crate) fn transform_table<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyList>> {
    rows(py, registry().find_transform(name, "").map_err(|e| errors::raise(py, e))?.options)
}

fn rows<'py>(py: Python<'py>, table: &OptionTable) -> PyResult<Bound<'py, PyList>> {
    let rows = PyList::empty(py);
    for option in table.0 {
        let row = PyDict::new(py);
        row.set_item("name", option.name)?;
        row.set_item("aliases", option.aliases)?;
        row.set_item("kind", kind(option.kind))?;
        let default = match option.default {
            OptionDefault::Required => None,
            OptionDefault::Absent => Some(""),
            OptionDefault::Value(value) => Some(value),
        };
        row.set_item("default", default)?;
        row.set_item("help", option.help)?;
        rows.append(row)?;
    }
    Ok(rows)
}

fn kind(kind: OptionKind) -> String {
    match kind {
        OptionKind::Bool => "bool".into(),
        OptionKind::Whole => "int".into(),
        OptionKind::Integer => "int".into(),
        OptionKind::Real => "float".into(),
        OptionKind::Numbers => "numbers".into(),
        OptionKind::Text => "str".into(),
        OptionKind::Texts => "strs".into(),
        OptionKind::Path => "path".into(),
        OptionKind::Files => "files".into(),
        OptionKind::Paths => "paths".into(),
        OptionKind::Keys => "keys".into(),
        OptionKind::Unused => "unused".into(),
        OptionKind::OneOf(words) | OptionKind::SomeOf(words) => words.join(" | "),
        OptionKind::Sections(_) | OptionKind::Streams(_) => "sections".into(),
        OptionKind::Transforms => "transforms".into(),
        OptionKind::Formats => "deserializers".into(),
        OptionKind::Bytes => "bytes".into(),
        OptionKind::Object => "object".into(),
    }
}

/// Sizes of minibatches by epoch.
#[pyclass(frozen, module = "tesson._tesson")]
pub struct Schedule(pub(crate) tesson::config::Schedule);

#[pymethods]
impl Schedule {
    /// `runs` are pairs of a size in samples and the number of epochs it holds for; the last holds for ever.
    #[new]
    fn new(py: Python<'_>, runs: Vec<(u64, u64)>) -> PyResult<Schedule> {
        tesson::config::Schedule::new(runs).map(Schedule).map_err(|e| errors::raise(py, e))
    }

    /// A schedule such as `128*2:1024`.
    #[staticmethod]
    fn parse(py: Python<'_>, text: &str) -> PyResult<Schedule> {
        tesson_config::schedule::parse(text).map(Schedule).map_err(|e| errors::raise(py, e))
    }

    /// The size in an epoch, counted from 0.
    fn at(&self, epoch: u64) -> u64 {
        self.0.at(epoch)
    }

    /// The only size, where all epochs have the same.
    fn constant(&self) -> Option<u64> {
        match self.0.runs() {
            [(size, _)] => Some(*size),
            _ => None,
        }
    }
}
