//! Files with saved states: read by `--state`, written by `--save-state`.

use std::io::ErrorKind;
use std::path::Path;

use serde_json::Value;

use crate::data;
use crate::failure::Failure;

/// Loads the state in a file, which errors name behind `option` (`--state `). `read` returns it, or the reason why the
/// JSON is not a state.
pub(crate) fn load<T>(
    path: &Path,
    option: &str,
    read: impl FnOnce(Value) -> Result<T, String>,
) -> Result<T, Failure> {
    let text = tesson_engine::store::read_text(&data::stores(), path).map_err(tesson::Error::from)?;
    let json = serde_json::from_str(&text).map_err(|e| format!("it is no JSON ({e})"));
    json.and_then(read).map_err(|what| {
        let expected = "expected a file that `--save-state` wrote";
        Failure::Usage(format!("{option}{}: no saved state, {what}; {expected}", path.display()))
    })
}

/// Refuses a name, given by `option`, under which no state can be saved, before hours of reading.
pub(crate) fn check(path: &Path, option: &str) -> Result<(), Failure> {
    if data::is_folder(path) {
        let what = "found a folder, expected the name of a file; add one";
        return Err(Failure::Usage(format!("{option} {}: {what}", path.display())));
    }
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() && !data::is_folder(folder) => {
            Err(Failure::file(path, ErrorKind::NotFound.into()))
        }
        _ => Ok(()),
    }
}

/// Writes a state so that the file holds the old state or the new one, never half of one.
pub(crate) fn save(path: &Path, state: &Value) -> Result<(), Failure> {
    tesson_engine::atomic_file::write(path, format!("{state}\n").as_bytes())
        .map_err(|e| Failure::file(path, e))
}
