//! The answers to a case, the expected ones, and their comparison.

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::{Case, Query};
use crate::case::lines;

/// A line for each query.
pub type Answers = Vec<Value>;

/// The answer that is an error.
pub(super) fn error(what: impl Into<String>) -> Value {
    json!({"error": what.into()})
}

/// More ids than this are recorded as a digest.
const MOST: usize = 4000;

/// Ids as they are recorded.
pub(super) fn ids_line(ids: &[u64]) -> Value {
    if ids.len() <= MOST {
        return json!({"ids": ids});
    }
    let mut digest = Sha256::new();
    ids.iter().for_each(|id| digest.update(id.to_le_bytes()));
    let hex: String = digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    json!({"count": ids.len(), "sha256": hex, "first": ids[..40], "last": ids[ids.len() - 40..]})
}

/// The answers that Tesson must give: those of `tesson.jsonl` where it is meant to differ, or the recorded ones.
///
/// # Errors
/// A file that cannot be read.
pub fn expected(case: &Case) -> Result<Answers, String> {
    let own = tesson_case_lookup::own_file(&case.folder, "tesson.jsonl");
    lines(&own.unwrap_or_else(|| case.folder.join("expected.jsonl")))
}

/// Compares the answers to a case with the expected ones.
///
/// # Errors
/// The first difference.
pub fn compare(case: &Case, expected: &[Value], found: &[Value]) -> Result<(), String> {
    for (i, line) in expected.iter().enumerate() {
        let Some(answer) = found.get(i) else { return Err(format!("line {i} is missing: {line}")) };
        same_line(case, line, answer).map_err(|what| format!("line {i}: {what}"))?;
    }
    match found.get(expected.len()) {
        Some(more) => Err(format!("a line too many: {more}")),
        None => Ok(()),
    }
}

fn same_line(case: &Case, expected: &Value, found: &Value) -> Result<(), String> {
    let fails = |line: &Value| line.get("error").is_some();
    if fails(expected) != fails(found) {
        return Err(format!("expected {expected}, found {found}"));
    }
    let names: &[&str] = match case.query {
        Query::Ids => &["ids", "count", "sha256", "first", "last"],
        Query::TfdsIds => &["tfds_ids"],
        Query::FileInstructions => &["split", "file_instructions"],
        Query::Examples => &["examples"],
        Query::Resolve => &["resolved"],
        Query::Info => &[
            "name",
            "version",
            "config",
            "file_format",
            "disable_shuffling",
            "supervised_keys",
            "splits",
            "features",
            "labels",
        ],
    };
    for name in names {
        let (a, b) = (&expected[*name], &found[*name]);
        // Nothing was delivered before an error, or nothing was recorded about it.
        let none = |v: &Value| v.is_null() || v.as_array().is_some_and(Vec::is_empty);
        let same = a == b || case.query == Query::Examples && super::examples::same(case, a, b);
        let nothing = fails(expected) && none(a) && none(b);
        if !(same || nothing) {
            return Err(format!("`{name}`: expected {a}, found {b}"));
        }
    }
    Ok(())
}
