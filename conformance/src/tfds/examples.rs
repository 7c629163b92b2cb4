//! Cases that ask for the examples themselves.

use std::sync::Arc;

use serde_json::{Value, json};
use tesson_prepared::{ExampleBatch, OnDamage, Reader, ReaderLimits, features_of};
use tesson_tfds::features::{Schema, Selection, node};

use super::{Answers, Case, dataset, plan};

/// The number of examples that are read at once; results do not depend on it.
const AT_ONCE: usize = 5;

/// The limits of threads and memory for readers, in turns; results do not depend on them.
const MEANS: [ReaderLimits; 4] = [
    ReaderLimits { threads: 1, memory_limit: 1 << 30 },
    ReaderLimits { threads: 2, memory_limit: 1 << 30 },
    ReaderLimits { threads: 8, memory_limit: 1 << 14 },
    ReaderLimits { threads: 1, memory_limit: 1 },
];

/// The examples of each epoch, as far as they can be read.
///
/// # Errors
/// The errors of opening the dataset; answers that depend on threads or memory.
pub(super) fn examples(case: &Case) -> Result<Answers, String> {
    let answers = examples_by(case, MEANS[0])?;
    for means in &MEANS[1..] {
        let others = examples_by(case, *means)?;
        if others != answers {
            return Err(format!("{means:?}: {others:?}, with {:?} {answers:?}", MEANS[0]));
        }
    }
    Ok(answers)
}

fn examples_by(case: &Case, means: ReaderLimits) -> Result<Answers, String> {
    let (mut reader, mut rows) = open(case, means)?;
    if case.fields.get("backend").and_then(Value::as_str) == Some("data_source") {
        let all: Vec<u64> = (0..reader.split_len()).collect();
        let listed = case.fields.get("indices").and_then(Value::as_array);
        let places = listed.map_or(all, |list| list.iter().filter_map(Value::as_u64).collect());
        let failed = reader.read_at(&places, &mut rows).err();
        return Ok(vec![line(case, &reader, &rows, failed)]);
    }
    let mut lines = Vec::new();
    for epoch in 0..case.epochs() {
        if epoch > 0 {
            reader.begin();
        }
        rows.clear();
        let failed = loop {
            let before = rows.len();
            match reader.read(AT_ONCE, &mut rows) {
                Ok(()) if rows.len() == before => break None,
                Ok(()) => {}
                Err(failed) => break Some(failed),
            }
        };
        let ends = failed.is_some();
        lines.push(line(case, &reader, &rows, failed));
        if ends {
            break;
        }
    }
    Ok(lines)
}

fn open(case: &Case, means: ReaderLimits) -> Result<(Reader, ExampleBatch), String> {
    let dataset = Arc::new(dataset(case)?);
    let features = features_of(&case.store(), &dataset).map_err(|e| e.to_string())?;
    let schema = Schema::new(&features, &Selection::default()).map_err(|e| e.to_string())?;
    let schema = Arc::new(schema);
    let plan = plan(case, &dataset)?;
    let rows = ExampleBatch::new(&schema);
    let reader = Reader::with(&case.store(), dataset, plan, schema, OnDamage::Fail, means)
        .map_err(|e| e.to_string())?;
    Ok((reader, rows))
}

fn line(case: &Case, reader: &Reader, rows: &ExampleBatch, failed: Option<tesson::Error>) -> Value {
    let with_ids = case.reading().is_ok_and(|reading| reading.config.add_tfds_id);
    let example = |row| {
        let mut example = node(&rows.batch.value(reader.schema(), row))["fields"].take();
        if with_ids {
            example["tfds_id"] = json!({"dtype": "string", "shape": [], "data": [reader.id(rows, row)]});
        }
        example
    };
    let examples: Vec<Value> = (0..rows.len()).map(example).collect();
    match failed {
        Some(failed) => json!({"examples": examples, "error": failed.to_string()}),
        None => json!({"examples": examples}),
    }
}

/// True if two lists of examples are equal within the tolerances of named features.
pub(super) fn same(case: &Case, expected: &Value, found: &Value) -> bool {
    let none = Vec::new();
    let (a, b) = (expected.as_array().unwrap_or(&none), found.as_array().unwrap_or(&none));
    let tolerance = |name: &str| case.fields.get("tolerance").and_then(|t| t[name].as_f64()).unwrap_or(0.0);
    let feature = |found: &Value, (name, value): (&String, &Value)| {
        found.get(name).is_some_and(|found| same_node(value, found, tolerance(name)))
    };
    let example = |(a, b): (&Value, &Value)| match (a.as_object(), b.as_object()) {
        (Some(a), Some(of)) => a.len() == of.len() && a.iter().all(|member| feature(b, member)),
        _ => false,
    };
    a.len() == b.len() && a.iter().zip(b).all(example)
}

/// Nodes are compared value by value; those beside a digest are in it.
fn same_node(a: &Value, b: &Value, tolerance: f64) -> bool {
    match (a, b) {
        (Value::Object(x), Value::Object(y)) => {
            let member = |(name, v): (&String, &Value)| {
                name == "spot" || y.get(name).is_some_and(|w| same_node(v, w, tolerance))
            };
            x.len() == y.len() && x.iter().all(member)
        }
        (Value::Array(x), Value::Array(y)) => {
            x.len() == y.len() && x.iter().zip(y).all(|(v, w)| same_node(v, w, tolerance))
        }
        (Value::Number(x), Value::Number(y)) => {
            x == y || x.as_f64().zip(y.as_f64()).is_some_and(|(x, y)| (x - y).abs() <= tolerance)
        }
        _ => a == b,
    }
}
