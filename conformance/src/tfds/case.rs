//! The request of a case.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Map, Value};
use tesson::store::{MemoryStore, Stores};
use tesson_tfds::read_config::ReadConfig;
use tesson_tfds::reading::{Op, Reading};
use tesson_tfds::split::Selection;

/// A query of a dataset.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Query {
    /// The number of each example in its split.
    Ids,
    /// The id of each example.
    TfdsIds,
    /// The records that are read of each file.
    FileInstructions,
    /// The examples themselves.
    Examples,
    /// The description of the dataset.
    Info,
    /// The directory of a name.
    Resolve,
}

/// The dataset of a case.
#[derive(Clone, Debug)]
pub enum Source {
    /// A description without data.
    Fake(Value),
    /// Directories that are read as one dataset.
    Directories(Vec<PathBuf>),
    /// A name, to be found in a data directory.
    Named {
        /// The directory in which it is searched.
        data_dir: PathBuf,
        /// The name.
        name: String,
    },
}

/// A case: the request as it is written, and where.
#[derive(Clone, Debug)]
pub struct Case {
    /// The folder.
    pub folder: PathBuf,
    /// case.json.
    pub fields: Map<String, Value>,
    /// The query.
    pub query: Query,
    /// The files of its dataset, if they are not read where they lie.
    memory: Option<MemoryStore>,
}

impl Case {
    /// Reads a case.
    ///
    /// # Errors
    /// A sentence: no such file, or a request that is not understood.
    pub fn load(folder: &Path) -> Result<Case, String> {
        let file = folder.join("case.json");
        let text = std::fs::read_to_string(&file).map_err(|e| format!("{}: {e}", file.display()))?;
        let fields: Map<String, Value> =
            serde_json::from_str(&text).map_err(|e| format!("{}: {e}", file.display()))?;
        let query = match fields.get("query").and_then(Value::as_str).unwrap_or("ids") {
            "ids" => Query::Ids,
            "tfds_ids" => Query::TfdsIds,
            "file_instructions" => Query::FileInstructions,
            "examples" => Query::Examples,
            "info" => Query::Info,
            "resolve" => Query::Resolve,
            other => return Err(format!("unknown query `{other}`")),
        };
        Ok(Case { folder: folder.to_path_buf(), fields, query, memory: None })
    }

    /// This case on copies of its files in memory, under names that no file has.
    ///
    /// # Errors
    /// A dataset in an unknown form, and files that cannot be read.
    pub fn in_memory(self) -> Result<Case, String> {
        let folders = match self.source()? {
            Source::Fake(_) => Vec::new(),
            Source::Directories(folders) => folders,
            Source::Named { data_dir, .. } => vec![data_dir],
        };
        let mut memory = MemoryStore::new();
        for folder in folders {
            memory = copied(&folder, memory).map_err(|e| format!("{}: {e}", folder.display()))?;
        }
        Ok(Case { memory: Some(memory), ..self })
    }

    /// The stores that have its files.
    pub fn store(&self) -> Stores {
        match &self.memory {
            Some(memory) => Stores::local().with("memory", Arc::new(memory.clone())),
            None => Stores::local(),
        }
    }

    /// The dataset of the case.
    ///
    /// # Errors
    /// A dataset in an unknown form.
    pub fn source(&self) -> Result<Source, String> {
        let dataset = self.fields.get("dataset").ok_or("`dataset` is missing")?;
        let path = |value: &Value| {
            let path = self.folder.join(value.as_str()?);
            Some(if self.memory.is_some() { in_memory(&path) } else { path })
        };
        let source = || {
            if let Some(fake) = dataset.get("fake") {
                return Some(Source::Fake(fake.clone()));
            }
            if let Some(dir) = dataset.get("dir") {
                return Some(Source::Directories(vec![path(dir)?]));
            }
            if let Some(dirs) = dataset.get("dirs") {
                return Some(Source::Directories(dirs.as_array()?.iter().map(path).collect::<Option<_>>()?));
            }
            let (data_dir, name) =
                (path(dataset.get("data_dir")?)?, dataset.get("name")?.as_str()?.to_owned());
            Some(Source::Named { data_dir, name })
        };
        source().ok_or_else(|| format!("`dataset` is {dataset}"))
    }

    /// The number of traversals of the dataset.
    pub fn epochs(&self) -> u64 {
        self.fields.get("epochs").and_then(Value::as_u64).unwrap_or(1)
    }

    /// The requested splits, as they are written.
    pub fn splits(&self) -> Vec<&Value> {
        match self.fields.get("splits").and_then(Value::as_array) {
            Some(splits) => splits.iter().collect(),
            None => self.fields.get("split").into_iter().collect(),
        }
    }

    /// The operations on examples, in their JSON form, `skip` and `take` among them.
    pub fn ops(&self) -> Vec<Value> {
        let mut ops = self.fields.get("ops").and_then(Value::as_array).cloned().unwrap_or_default();
        for name in ["skip", "take"] {
            if let Some(n) = self.fields.get(name).filter(|n| !n.is_null()) {
                ops.push(Value::Object(Map::from_iter([(name.to_owned(), n.clone())])));
            }
        }
        ops
    }

    /// The request to read the dataset.
    ///
    /// # Errors
    /// The refusal of a split, an option or an operation.
    pub fn reading(&self) -> Result<Reading, tesson::ConfigError> {
        let field = |name: &str| self.fields.get(name).unwrap_or(&Value::Null);
        let config = match field("read_config") {
            Value::Null => ReadConfig::default(),
            fields => ReadConfig::from_json(fields)?,
        };
        let ops = self.ops().iter().map(|op| Op::from_json(op, "ops")).collect::<Result<_, _>>()?;
        Ok(Reading {
            selection: Selection::from_json(field("split"))?,
            shuffle_files: field("shuffle_files").as_bool().unwrap_or(false),
            config,
            ops,
            global_seed: field("global_seed").as_i64().map(i128::from),
        })
    }
}

/// The name in memory of what a local folder or file holds.
pub(super) fn in_memory(path: &Path) -> PathBuf {
    format!("memory://{}", path.display()).into()
}

/// Adds the files of a folder and of those below it, each under its name in memory; nothing where there is no folder.
///
/// # Errors
/// Errors of the file system.
pub(super) fn copied(folder: &Path, mut memory: MemoryStore) -> std::io::Result<MemoryStore> {
    if !folder.is_dir() {
        return Ok(memory);
    }
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        memory = if path.is_dir() {
            copied(&path, memory)?
        } else {
            memory.with(in_memory(&path), std::fs::read(&path)?)
        };
    }
    Ok(memory)
}
