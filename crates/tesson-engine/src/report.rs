//! Faults as JSON: for `tesson check --json`, and for the file that keeps what has been forgiven.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use tesson_core::{DataError, Key, StoreError};

use crate::atomic_file::GrowingFile;

/// Data about a fault, for programs: `fault` in words, its stable `code`, `file`, `line` (from 1), `offset` (bytes),
/// `stream` and `key`; null where there is none.
pub fn fault_facts(error: &DataError) -> Map<String, Value> {
    let key = error.key().map(|key| match key {
        Key::Number(n) => Value::from(*n),
        Key::Text(text) => Value::from(text.as_str()),
    });
    let facts = [
        ("fault", json!(error.kind().to_string())),
        ("code", json!(error.code())),
        ("file", json!(error.at().file.to_string_lossy())),
        ("line", json!(error.at().line)),
        ("offset", json!(error.at().offset)),
        ("stream", json!(error.stream())),
        ("key", json!(key)),
    ];
    let listing = error.listing().map(|listing| ("listing", json!(listing)));
    facts.into_iter().chain(listing).map(|(name, value)| (name.to_string(), value)).collect()
}

/// A file to which forgiven faults are appended, a line each.
pub(crate) struct Report {
    path: PathBuf,
    file: GrowingFile,
}

impl Report {
    /// Opens the file; what it holds already stays.
    pub(crate) fn open(path: &Path) -> Result<Report, StoreError> {
        let file = GrowingFile::append_to(path);
        let file = file.map_err(|e| StoreError::new(path.into(), None, e))?;
        Ok(Report { path: path.into(), file })
    }

    /// Appends a fault, in one write: several readers may share a file.
    pub(crate) fn append(&mut self, error: &DataError) -> Result<(), StoreError> {
        let line = Value::Object(fault_facts(error)).to_string() + "\n";
        let written = self.file.write_all(line.as_bytes()).and_then(|()| self.file.flush());
        written.map_err(|e: io::Error| StoreError::new(self.path.as_path().into(), None, e))
    }
}
