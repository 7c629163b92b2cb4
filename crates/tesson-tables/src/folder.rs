//! The files of a folder, and the files beside others.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use tesson_core::store::{Store, read_small, unreadable};
use tesson_core::{DataError, Error, Location};

use crate::fault::TableFault;
use crate::options::TableOptions;
use crate::table::{TABLE_FORMATS, TableFormat};

/// The files of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TableFiles {
    /// The files of rows, then those beside them.
    pub(crate) paths: Vec<Arc<Path>>,
    /// Number of files of rows.
    pub(crate) n: usize,
    /// The file beside each file of rows, by number.
    pub(crate) companions: Vec<Option<usize>>,
}

impl TableFiles {
    /// The files as the options name them.
    pub(crate) fn named(paths: &[PathBuf]) -> TableFiles {
        let paths: Vec<Arc<Path>> = paths.iter().map(|path| Arc::from(path.as_path())).collect();
        TableFiles { n: paths.len(), companions: vec![None; paths.len()], paths }
    }

    /// The files that the options stand for: those in folders, and indexes beside files of tokens.
    pub(crate) fn located(options: &TableOptions, store: &dyn Store) -> Result<TableFiles, Error> {
        let mut paths = Vec::new();
        for path in &options.files {
            // What cannot be looked at is reported where it is opened.
            if store.entry(path).is_ok_and(|entry| entry.is_folder()) {
                paths.extend(in_folder(path, options, store)?);
            } else {
                paths.push(path.clone());
            }
        }
        let mut files = TableFiles::named(&paths);
        if options.format == Some("tokens") && options.tokens.end_of_text.is_none() {
            for (number, path) in paths.iter().enumerate() {
                let index = path.with_extension("idx");
                let is_tokens = path.extension().is_some_and(|end| end == "bin");
                if is_tokens && store.entry(&index).is_ok_and(|entry| entry.is_file()) {
                    files.companions[number] = Some(files.paths.len());
                    files.paths.push(index.into());
                }
            }
        }
        Ok(files)
    }
}

fn wrong(folder: &Path, fault: TableFault) -> Error {
    DataError::new(fault, Location { file: folder.into(), offset: 0, line: None }).into()
}

/// The files in a folder: those that `datasets` lists, or all of one format, by name.
fn in_folder(folder: &Path, options: &TableOptions, store: &dyn Store) -> Result<Vec<PathBuf>, Error> {
    let names = store.names(folder).map_err(|e| unreadable(store, folder, e))?;
    let has = |name: &str| names.iter().any(|found| found.name == name && !found.is_folder);
    if has("state.json") {
        return saved_by_datasets(folder, store);
    }
    if has("dataset_dict.json") {
        let splits = names.iter().filter(|found| found.is_folder).map(|found| found.name.as_str());
        return Err(wrong(folder, TableFault::Splits { names: splits.collect::<Vec<_>>().join(", ") }));
    }
    let is_given = |format: &&&TableFormat| options.format.is_none_or(|given| given == format.name);
    let formats: Vec<&&TableFormat> = TABLE_FORMATS.iter().filter(is_given).collect();
    let of = |name: &str| formats.iter().find(|format| format.has_name(name));
    let mut found: Option<(&str, &'static str)> = None;
    let mut paths = Vec::new();
    for name in names.iter().filter(|found| !found.is_folder).map(|found| found.name.as_str()) {
        let Some(format) = of(name) else { continue };
        match found {
            Some((first, other)) if other != format.name => {
                let (one, other) = (first.to_owned(), name.to_owned());
                return Err(wrong(folder, TableFault::MixedFolder { one, other }));
            }
            Some(_) => {}
            None => found = Some((name, format.name)),
        }
        paths.push(folder.join(name));
    }
    if paths.is_empty() {
        let known = formats.iter().map(|format| format.name).collect::<Vec<_>>().join(", ");
        return Err(wrong(folder, TableFault::EmptyFolder { known }));
    }
    Ok(paths)
}

/// The files of a folder that the library `datasets` has saved, in its order.
fn saved_by_datasets(folder: &Path, store: &dyn Store) -> Result<Vec<PathBuf>, Error> {
    let path = folder.join("state.json");
    let bytes = read_small(store, &path).map_err(|e: io::Error| unreadable(store, &path, e))?;
    let bad = |what: String| wrong(&path, TableFault::BadState { what });
    let state: Value = serde_json::from_slice(&bytes).map_err(|e| bad(e.to_string()))?;
    let files = state["_data_files"].as_array().ok_or_else(|| bad("it has no list `_data_files`".into()))?;
    let name = |file: &Value| file["filename"].as_str().map(|name| folder.join(name));
    let files: Option<Vec<PathBuf>> = files.iter().map(name).collect();
    files.filter(|files| !files.is_empty()).ok_or_else(|| bad("`_data_files` has no names".into()))
}
