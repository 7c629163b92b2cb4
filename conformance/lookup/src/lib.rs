//! The look-up of conformance cases, for the tests of all crates.
//!
//! Cases are in `conformance/cases` of the repository, always; `TESSON_CONFORMANCE` may name a folder of the same layout
//! whose cases are tested in addition. What is missing is a failure, never a reason to skip a test: all functions panic.

#![forbid(unsafe_code)]

use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// The variable that names a folder of further cases.
const ADDED: &str = "TESSON_CONFORMANCE";

/// A case.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CaseFolder {
    /// Its area and its name, `cntk/ctf/two-streams`; before them `added/` for a case outside the repository.
    pub name: String,
    /// Its folder.
    pub path: PathBuf,
}

impl CaseFolder {
    /// Its name without the area.
    pub fn short_name(&self) -> &str {
        self.name.rsplit('/').next().unwrap_or_default()
    }
}

/// The folder of an area in the repository: `cntk/ctf`.
///
/// # Panics
/// There is none.
pub fn area(area: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../cases").join(area);
    assert!(folder.is_dir(), "{}: there are no cases of `{area}`", folder.display());
    folder
}

/// The folders of an area: that of the repository, and that among the further cases if they have the area.
///
/// # Panics
/// The repository has none, or the variable names no folder.
pub fn areas(area: &str) -> Vec<PathBuf> {
    let added = env::var_os(ADDED).map(PathBuf::from);
    if let Some(folder) = &added {
        assert!(folder.is_dir(), "{}: no folder, but {ADDED} names it", folder.display());
    }
    let added = added.map(|folder| folder.join(area)).filter(|folder| folder.is_dir());
    [self::area(area)].into_iter().chain(added).collect()
}

/// The folder of a case of the repository: `cntk/ctf/two-streams`.
///
/// # Panics
/// There is no such case.
pub fn case(name: &str) -> PathBuf {
    let folder = area(name);
    assert!(folder.join("case.json").is_file(), "{}: no case", folder.display());
    folder
}

/// A file that says what Tesson does with a case: beside the case, or, as a folder of further cases may hold recorded ones
/// again, beside the repository's case of the same name.
pub fn own_file(case: &Path, name: &str) -> Option<PathBuf> {
    let parts: Vec<_> = case.components().collect();
    // Areas have one or two names: `tfds`, `cntk/ctf`.
    let named = [2, 3].map(|n| parts[parts.len().saturating_sub(n)..].iter().collect::<PathBuf>());
    let ours = named.map(|name| Path::new(env!("CARGO_MANIFEST_DIR")).join("../cases").join(name));
    [case.to_path_buf()].into_iter().chain(ours).map(|folder| folder.join(name)).find(|file| file.is_file())
}

/// All cases of an area, by name.
///
/// # Panics
/// The area cannot be read, or has no cases.
pub fn cases(area: &str) -> Vec<CaseFolder> {
    let of_folder = |(prefix, folder): (&str, &PathBuf)| -> Vec<CaseFolder> {
        let folders = folders_in(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
        let cases = folders.into_iter().filter(|path| path.join("case.json").is_file());
        let named = cases.map(|path| {
            let case = path.file_name().unwrap_or_default().to_string_lossy();
            CaseFolder { name: format!("{prefix}{area}/{case}"), path: path.clone() }
        });
        named.collect()
    };
    let mut cases: Vec<CaseFolder> =
        ["", "added/"].into_iter().zip(&areas(area)).flat_map(of_folder).collect();
    assert!(!cases.is_empty(), "there are no cases of `{area}`");
    cases.sort();
    cases
}

fn folders_in(folder: &Path) -> io::Result<Vec<PathBuf>> {
    fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_repository_has_cases_of_every_area() {
        for area in
            ["brainscript", "cntk/cbf", "cntk/ctf", "cntk/engine", "cntk/image", "cntk/speech", "tfds"]
        {
            let cases = cases(area);
            assert!(cases.len() > 10, "{area}: {}", cases.len());
            assert_eq!(
                case(&format!("{area}/{}", cases[0].short_name())),
                areas(area)[0].join(cases[0].short_name())
            );
        }
    }

    #[test]
    fn a_recorded_case_elsewhere_has_the_answers_of_the_repository() {
        for name in ["tfds/gzip-shard", "cntk/ctf/fault-in-later-chunk"] {
            let ours = case(name).join("tesson.jsonl");
            assert!(ours.is_file());
            let found = own_file(&Path::new("elsewhere").join(name), "tesson.jsonl").unwrap();
            assert_eq!(found.canonicalize().unwrap(), ours.canonicalize().unwrap());
            assert_eq!(own_file(&case(name), "tesson.jsonl"), Some(ours));
            assert_eq!(own_file(&case(name), "absent.jsonl"), None);
        }
        assert_eq!(own_file(Path::new("."), "tesson.jsonl"), None);
    }

    #[test]
    #[should_panic(expected = "there are no cases of `cntk/absent`")]
    fn an_area_that_is_missing_is_a_failure() {
        cases("cntk/absent");
    }
}
