//! Rank and number of processes from the variables of launchers.

use pyo3::prelude::*;
use tesson_config::{GivenSize, World};
use tesson_core::{ConfigError, Spelling};

use crate::errors::raise;

/// Rank, number of processes, and what says so.
type Found = (u64, u64, String);

fn variable(name: &str) -> Option<String> {
    Some(std::env::var_os(name)?.to_string_lossy().into_owned())
}

/// Finds a world with the number of processes that is given, in the words of keyword arguments.
fn find<T>(
    py: Python<'_>,
    world_size: Option<u64>,
    find: impl FnOnce(Option<GivenSize>) -> Result<T, ConfigError>,
) -> PyResult<T> {
    Spelling::Keywords
        .within(|| GivenSize::find(world_size, &variable).and_then(find).map_err(|error| raise(py, error)))
}

fn parts(World { rank, size, origin }: World) -> Found {
    (rank, size, origin)
}

/// The world of a launcher: of the innermost one for `auto`, where `None` is that there is none.
#[pyfunction]
pub(crate) fn launched(
    py: Python<'_>,
    name: &str,
    world_size: Option<u64>,
    others: Vec<String>,
) -> PyResult<Option<Found>> {
    let others: Vec<&str> = others.iter().map(String::as_str).collect();
    let world = find(py, world_size, |size| match name {
        "auto" => World::launched(&variable, size),
        name => World::by_name(name, &variable, size, &others).map(Some),
    });
    Ok(world?.map(parts))
}

/// The world of a process that no launcher has started.
#[pyfunction]
pub(crate) fn without_launcher(py: Python<'_>, world_size: Option<u64>) -> PyResult<Found> {
    find(py, world_size, |size| World::without_launcher(&variable, size)).map(parts)
}

/// Refuses a number of processes that is given, if it is not that of a world.
#[pyfunction]
pub(crate) fn check_world_size(py: Python<'_>, found: Found, world_size: Option<u64>) -> PyResult<()> {
    let (rank, size, origin) = found;
    find(py, world_size, |given| World::new(rank, size, origin).of_size(given)).map(drop)
}
