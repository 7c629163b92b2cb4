//! A hash of data in memory, by which a state knows them again.

use pyo3::prelude::*;
use xxhash_rust::xxh3::Xxh3;

/// A hash (XXH3, 64 bits) of bytes that come piece by piece.
// On the heap: it is aligned more strictly than Python's objects are.
#[pyclass(module = "tesson._tesson")]
pub(crate) struct Digest(Box<Xxh3>);

#[pymethods]
impl Digest {
    #[new]
    fn new() -> Digest {
        Digest(Box::default())
    }

    /// Adds bytes.
    fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The hash of all bytes so far.
    fn hexdigest(&self) -> String {
        format!("{:016x}", self.0.digest())
    }
}
