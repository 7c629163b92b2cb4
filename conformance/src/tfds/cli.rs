//! Cases through the program: `tesson plan`, `info` and `read` on a directory.

use std::path::Path;
use std::process::Command;
use std::{fs, io};

use serde_json::{Value, json};

use super::answer::{Answers, ids_line};
use super::rust_api::fake_info;
use super::{Case, Query, Source};

/// All answers of the program to a case; `scratch` is a folder for datasets that are described without data.
///
/// # Errors
/// The program cannot be run, or answers in no known form.
pub fn answers_of_program(program: &Path, case: &Case, scratch: &Path) -> Result<Answers, String> {
    let mut command = Command::new(program);
    let is_info = matches!(case.query, Query::Info | Query::Resolve);
    let job = match case.query {
        Query::Examples => "read",
        _ if is_info => "info",
        _ => "plan",
    };
    command.args([job, "--json"]);
    match case.source()? {
        Source::Fake(fake) => {
            describe(&fake, scratch).map_err(|e| format!("{}: {e}", scratch.display()))?;
            command.arg(scratch);
        }
        Source::Directories(dirs) => {
            command.args(dirs);
        }
        Source::Named { data_dir, name } => {
            command.arg(name).arg("--data-dir").arg(data_dir);
        }
    }
    command.args(options(case));
    let output = command.output().map_err(|e| e.to_string())?;
    let parse = |line: &str| serde_json::from_str(line).map_err(|e| format!("{e} in {line}"));
    let text = String::from_utf8_lossy(&output.stdout);
    let mut lines: Answers = text.lines().map(parse).collect::<Result<_, String>>()?;
    if lines.is_empty() {
        return Err(format!("no answer: {}", String::from_utf8_lossy(&output.stderr)));
    }
    put_error_beside_examples(&mut lines);
    Ok(lines.into_iter().map(shortened).collect())
}

/// The only feature of a dataset without data.
const FEATURES: &str = r#"{"pythonClassName": "tensorflow_datasets.core.features.features_dict.FeaturesDict",
    "featuresDict": {"features": {"id": {"pythonClassName": "tensorflow_datasets.core.features.scalar.Scalar",
    "tensor": {"shape": {}, "dtype": "int64", "encoding": "none"}}}}}"#;

/// Writes the two files that make a directory a dataset.
fn describe(fake: &Value, folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    fs::write(folder.join("dataset_info.json"), fake_info(fake).to_string())?;
    fs::write(folder.join("features.json"), FEATURES)
}

fn options(case: &Case) -> Vec<String> {
    let mut options = Vec::new();
    if matches!(case.query, Query::Info | Query::Resolve) {
        return options;
    }
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    options.extend(case.splits().into_iter().map(|split| format!("--split={}", text(split))));
    if case.query == Query::FileInstructions {
        options.push("--files".into());
        return options;
    }
    let field = |name: &str| case.fields.get(name).filter(|value| !value.is_null());
    if field("shuffle_files") == Some(&Value::Bool(true)) {
        options.push("--shuffle-files".into());
    }
    for (name, value) in field("read_config").and_then(Value::as_object).into_iter().flatten() {
        options.push(format!("--read-config={name}={value}"));
    }
    for op in case.ops() {
        let named = op.as_object().into_iter().flatten();
        options.extend(named.map(|(name, value)| format!("--op={name}={value}")));
    }
    options.extend(field("global_seed").map(|seed| format!("--global-seed={seed}")));
    options.push(format!("--epochs={}", case.epochs()));
    if field("backend").and_then(Value::as_str) == Some("data_source") {
        let places = field("indices").map_or("all".into(), |indices| indices.to_string());
        options.push(format!("--at={}", places.trim_matches(['[', ']'])));
    }
    options.extend((case.query == Query::Ids).then(|| "--numbers".to_owned()));
    options
}

/// Moves an error, which the program prints in a line after the examples before it, into the line of these examples.
fn put_error_beside_examples(lines: &mut Answers) {
    let [.., before, last] = &mut lines[..] else { return };
    let is_error = last.get("error").is_some() && last.get("split").is_none();
    let came_before = ["ids", "tfds_ids", "examples"].into_iter().any(|name| before.get(name).is_some());
    if is_error && came_before {
        before["error"] = last["error"].take();
        lines.pop();
    }
}

/// Replaces a long list of ids, which the program prints in full, by a digest, as it is recorded.
fn shortened(line: Value) -> Value {
    let numbers: Option<Vec<u64>> =
        line.get("ids").and_then(|ids| ids.as_array()?.iter().map(Value::as_u64).collect());
    let Some(ids) = numbers else { return line };
    let mut short = ids_line(&ids);
    if let Some(error) = line.get("error") {
        short["error"] = json!(error);
    }
    short
}
