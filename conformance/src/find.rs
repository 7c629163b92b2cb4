//! Where cases lie.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// A case's folder and the name of its test: `area/case`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Folder {
    /// `area/case`.
    pub name: String,
    /// The folder.
    pub path: PathBuf,
}

/// The cases shared with other implementations: the folder that `TESSON_CONFORMANCE` names, by default
/// `../shared/conformance` beside the checkout. `None` if it is not there.
pub fn shared_cases() -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/conformance");
    let folder = env::var_os("TESSON_CONFORMANCE").map_or_else(beside, PathBuf::from);
    folder.is_dir().then_some(folder)
}

/// The cases of some areas under a folder, by name.
///
/// # Errors
/// What the file system answers; a missing area holds no cases.
pub fn case_folders(root: &Path, areas: &[&str]) -> io::Result<Vec<Folder>> {
    let mut folders = Vec::new();
    for area in areas {
        let area_folder = root.join(area);
        if !area_folder.is_dir() {
            continue;
        }
        for entry in fs::read_dir(area_folder)? {
            let path = entry?.path();
            if path.join("case.json").is_file() {
                let case = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                folders.push(Folder { name: format!("{area}/{case}"), path });
            }
        }
    }
    folders.sort();
    Ok(folders)
}
