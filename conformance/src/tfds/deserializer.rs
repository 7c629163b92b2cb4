//! A recorded dataset as a deserializer: its streams hold the values of its examples.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use tesson::Samples;
use tesson::store::{MemoryStore, Stores};
use tesson_prepared::{ExampleBatch, OnDamage, Reader};
use tesson_tfds::features::{Schema, Selection, node};
use tesson_tfds::reading::{Plan, Reading};

use super::case::{copied, in_memory};

/// The version directories below a folder.
///
/// # Errors
/// Folders that cannot be listed.
pub fn datasets(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    if folder.join("dataset_info.json").is_file() && folder.join("features.json").is_file() {
        found.push(folder.to_owned());
    }
    let mut entries: Vec<PathBuf> =
        std::fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?;
    entries.sort();
    for entry in entries.into_iter().filter(|entry| entry.is_dir()) {
        found.extend(datasets(&entry)?);
    }
    Ok(found)
}

/// Reads the split `train` as a deserializer, of copies in memory if so, and as a stream of examples of the files, and compares
/// all dense streams; how many values.
///
/// # Errors
/// The first sequence that differs, and whatever reading says.
pub fn check_deserializer(folder: &Path, is_in_memory: bool) -> Result<usize, String> {
    let examples = match examples(folder) {
        Ok(examples) => examples,
        // Some datasets are recorded because of their faults.
        Err(tesson::Error::Data(_)) => return Ok(0),
        Err(error) => return Err(error.to_string()),
    };
    let of =
        |folder: &Path| tesson::read_tfds(&*folder.to_string_lossy()).split("train").loader().batch_size(3);
    let loader = if is_in_memory {
        let memory = copied(folder, MemoryStore::new()).map_err(|e| e.to_string())?;
        of(&in_memory(folder)).store(&Stores::local().with("memory", Arc::new(memory)))
    } else {
        of(folder)
    };
    let mut loader = match loader.open() {
        Ok(loader) => loader,
        Err(error) if error.to_string().contains("no feature of the dataset has numbers") => return Ok(0),
        Err(error) => return Err(error.to_string()),
    };
    let (mut first, mut compared) = (0, 0);
    for batch in loader.epoch() {
        let batch = batch.map_err(|e| e.to_string())?;
        let minibatch = batch.minibatch();
        for stream in minibatch.streams() {
            let info = stream.info();
            let Samples::Dense { values } = stream.samples() else { continue };
            let mut at = 0;
            for (i, length) in stream.lengths().iter().enumerate() {
                let n = *length as usize * info.shape.len();
                let found: Vec<f64> = (at..at + n).map(|i| values.get(i)).collect();
                at += n;
                let Some(expected) = numbers(&examples[first + i], &info.name) else { continue };
                // JSON has the fewest digits that bring a value back.
                let same = |(a, b): (&f64, &f64)| *a as f32 == *b as f32 || (a.is_nan() && b.is_nan());
                if found.len() != expected.len() || !found.iter().zip(&expected).all(same) {
                    let example = first + i;
                    return Err(format!(
                        "`{}` of example {example}: {found:?}, expected {expected:?}",
                        info.name
                    ));
                }
                compared += n;
            }
        }
        first += minibatch.n_sequences();
    }
    if first == examples.len() {
        Ok(compared)
    } else {
        Err(format!("{first} of {} examples", examples.len()))
    }
}

/// All examples in the order of the files, in their JSON form.
fn examples(folder: &Path) -> Result<Vec<Value>, tesson::Error> {
    let dataset = Arc::new(tesson_prepared::open(&Stores::local(), folder)?);
    let mut reading = Reading::of(tesson_tfds::split::Selection::parse("train")?);
    reading.config.set("interleave_cycle_length", &1.into())?;
    let plan = Plan::new(&dataset, &reading, &mut || 0)?;
    let schema = Arc::new(Schema::new(
        &tesson_prepared::features_of(&Stores::local(), &dataset)?,
        &Selection::default(),
    )?);
    let mut reader = Reader::new(&Stores::local(), dataset, plan, schema, OnDamage::Fail)?;
    let mut rows = ExampleBatch::new(reader.schema());
    reader.read(usize::MAX >> 1, &mut rows)?;
    Ok((0..rows.len()).map(|row| node(&rows.batch.value(reader.schema(), row))).collect())
}

/// The numbers of a feature, if the JSON form lists them.
fn numbers(example: &Value, path: &str) -> Option<Vec<f64>> {
    let leaf = path.split('/').try_fold(example, |node, name| node.get("fields")?.get(name))?;
    let number = |value: &Value| match value {
        Value::Bool(b) => Some(f64::from(u8::from(*b))),
        Value::String(text) => text.parse().ok(),
        other => other.as_f64(),
    };
    leaf.get("data")?.as_array()?.iter().map(number).collect()
}
