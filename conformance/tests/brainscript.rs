//! Every case of a BrainScript configuration as a test: resolved by the library and by the program.

#![forbid(unsafe_code)]

use std::path::Path;
use std::process::Command;

use libtest_mimic::{Arguments, Failed, Trial};
use serde_json::Value;
use tesson::config::load;
use tesson_case_lookup::{CaseFolder, cases};
use tesson_config::Choices;

fn main() {
    let arguments = Arguments::from_args();
    let trials = cases("brainscript").into_iter().flat_map(of_case).collect();
    libtest_mimic::run(&arguments, trials).exit();
}

fn of_case(CaseFolder { name, path }: CaseFolder) -> Vec<Trial> {
    let (other, older) = (path.clone(), older_readers(&path));
    let as_dictionary = (!older.is_empty()).then(|| {
        let path = path.clone();
        Trial::test(format!("{name}/dictionary"), move || dictionary(&path, &older))
    });
    let trials = [
        Trial::test(format!("{name}/rust"), move || check(&path, rust)),
        Trial::test(format!("{name}/cli"), move || check(&other, cli)),
    ];
    trials.into_iter().chain(as_dictionary).collect()
}

type Answer = Result<Value, String>;

fn check(folder: &Path, answer: fn(&str, &[String]) -> Answer) -> Result<(), Failed> {
    let case = json(&folder.join("case.json"))?;
    let expected = json(&folder.join("expected.json"))?;
    let arguments = case["arguments"].as_array().ok_or("`arguments` is no list")?;
    let arguments: Vec<String> =
        arguments.iter().map(|a| a.as_str().unwrap_or_default().to_string()).collect();
    let config = folder.join("config.cntk");
    let found = answer(config.to_str().ok_or("no UTF-8")?, &arguments);
    match (expected.get("error"), found) {
        (Some(_), Err(_)) => Ok(()),
        (Some(error), Ok(found)) => Err(format!("expected an error ({error}), found {found:#}").into()),
        (None, Err(e)) => Err(e.into()),
        (None, Ok(found)) => same("", &expected, &found).map_err(Failed::from),
    }
}

fn json(path: &Path) -> Result<Value, String> {
    let text = std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
    serde_json::from_str(&text).map_err(|e| format!("{}: {e}", path.display()))
}

fn rust(config: &str, arguments: &[String]) -> Answer {
    let choices = Choices { arguments: arguments.to_vec(), ..Choices::default() };
    let resolved = load(config, &choices).and_then(|loaded| loaded.resolved());
    let resolved = resolved.map_err(|e| e.to_string())?;
    resolved.to_json(&tesson::registry()).map_err(|e| e.to_string())
}

fn cli(config: &str, arguments: &[String]) -> Answer {
    let program = env!("CARGO_BIN_EXE_tesson-under-test");
    let output = Command::new(program).args(["config", config]).args(arguments).arg("--json").output();
    let output = output.map_err(|e| e.to_string())?;
    let answer = || serde_json::from_slice(&output.stdout).map_err(|e| e.to_string());
    match output.status.code() {
        Some(0) => answer(),
        Some(2) => {
            let told: Value = answer()?;
            Err(told["error"].as_str().ok_or("the program tells no error")?.to_string())
        }
        code => Err(format!("exit code {code:?}: {}", String::from_utf8_lossy(&output.stderr))),
    }
}

/// The paths of older readers in a case's tree, which have no deserializers.
fn older_readers(folder: &Path) -> Vec<String> {
    let expected = json(&folder.join("expected.json")).unwrap_or_default();
    let Some(readers) = expected["readers"].as_object() else { return Vec::new() };
    let is_older = |path: &&String| {
        let section = path.split('/').try_fold(&expected["tree"], |tree, name| tree.get(name));
        let names: Vec<&String> =
            section.and_then(Value::as_object).map_or(Vec::new(), |s| s.keys().collect());
        let has = |name: &str| names.iter().any(|n| n.eq_ignore_ascii_case(name));
        has("readerType") && !has("deserializers")
    };
    readers.keys().filter(is_older).cloned().collect()
}

/// They mean the same where their tree is written down as JSON.
fn dictionary(folder: &Path, readers: &[String]) -> Result<(), Failed> {
    let expected = json(&folder.join("expected.json"))?;
    let loaded = load(&expected["tree"].to_string(), &Choices::default()).map_err(|e| e.to_string())?;
    for path in readers {
        let reader = loaded.reader(Some(path)).map_err(|e| e.to_string())?;
        let found = reader.describe(&tesson::registry()).map_err(|e| e.to_string())?;
        same(path, &expected["readers"][path], &found)?;
    }
    Ok(())
}

/// Checks that two values agree; names keep their order, and numbers are compared as numbers.
fn same(path: &str, expected: &Value, found: &Value) -> Result<(), String> {
    match (expected, found) {
        (Value::Object(a), Value::Object(b)) => {
            let (mut names, mut others): (Vec<_>, Vec<_>) = (a.keys().collect(), b.keys().collect());
            if !path.starts_with("/tree") {
                names.sort();
                others.sort();
            }
            if names != others {
                return Err(format!("{path}: expected {names:?}, found {others:?}"));
            }
            names.iter().try_for_each(|name| same(&format!("{path}/{name}"), &a[*name], &b[*name]))
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            (0..a.len()).try_for_each(|i| same(&format!("{path}[{i}]"), &a[i], &b[i]))
        }
        (Value::Number(a), Value::Number(b)) if a.as_f64() == b.as_f64() => Ok(()),
        (a, b) if a == b => Ok(()),
        _ => Err(format!("{path}: expected {expected}, found {found}")),
    }
}
