//! The answers to a case, the expected ones, and their comparison.

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::{Case, Query};

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

/// The answers that Tesson must give.
///
/// # Errors
/// A file that cannot be read, or a deviation that is not known here.
pub fn expected(case: &Case) -> Result<Answers, String> {
    let own = case.folder.join("tesson.jsonl");
    let file = if own.is_file() { own.clone() } else { case.folder.join("expected.jsonl") };
    let text = std::fs::read_to_string(&file).map_err(|e| format!("{}: {e}", file.display()))?;
    let parse = |line: &str| serde_json::from_str(line).map_err(|e| format!("{}: {e}", file.display()));
    let recorded: Answers =
        text.lines().filter(|line| !line.is_empty()).map(parse).collect::<Result<_, String>>()?;
    match case.deviation() {
        Some(deviation) if !own.is_file() && case.query == Query::Examples => {
            super::examples::deviating(case, deviation, recorded)
        }
        Some(deviation) if !own.is_file() => deviating(case, deviation, recorded),
        _ => Ok(recorded),
    }
}

/// The answers under a deviation that a sentence describes.
fn deviating(case: &Case, deviation: &str, recorded: Answers) -> Result<Answers, String> {
    if let Some(path) = deviation.split_once("takes ").map(|(_, path)| path.trim_end_matches('.')) {
        return Ok(vec![json!({"resolved": path})]);
    }
    if deviation.contains("refuses a slice whose start lies beyond its end") {
        let refused = |line: Value| {
            let negative = |file: &Value| file["take"].as_i64() < Some(0);
            if line["file_instructions"].as_array().is_some_and(|files| files.iter().any(negative)) {
                json!({"split": line["split"], "error": deviation})
            } else {
                line
            }
        };
        return Ok(recorded.into_iter().map(refused).collect());
    }
    if deviation.contains("refuses the split before reading") {
        return Ok(vec![error(deviation)]);
    }
    if deviation.contains("repeat_filenames lifts the count check") {
        return repeated(case, &recorded);
    }
    Err(format!("what is to be answered under `{deviation}` is not known here"))
}

/// The answers for repeated files: those of the reference before it failed, continued with the same files.
fn repeated(case: &Case, recorded: &[Value]) -> Result<Answers, String> {
    let given = recorded[0]["ids"].as_array().ok_or("there are no ids")?;
    let take = case.fields.get("take").and_then(Value::as_u64).ok_or("`take` is missing")? as usize;
    let found = super::answers(case);
    let ids = found[0]["ids"].as_array().ok_or("there are no ids")?;
    let agrees = ids.len() == take && ids.starts_with(given) && found[0].get("error").is_none();
    if agrees { Ok(found) } else { Err(format!("expected {given:?} and more, found {ids:?}")) }
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
