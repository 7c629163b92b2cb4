//! A case, as its `case.json` describes it.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use tesson_case_lookup::own_file;

/// The rules that text deserializers follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rules {
    /// Those that the case names.
    AsWritten,
    /// `"rules": "cntk"` is replaced by `"lenient"`.
    Lenient,
}

/// A request for one minibatch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Its size in samples, over all workers.
    pub samples: Option<u64>,
    /// Its size in sequences, which no call accepts yet.
    pub sequences: Option<u64>,
    /// Number of workers.
    pub workers: u64,
    /// The worker that gets its share.
    pub rank: u64,
}

/// The number of requests for a minibatch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Times {
    /// This number of times, whatever the answers are.
    Repeat(u64),
    /// Until the answer is the end or an error.
    UntilEnd,
}

/// The state that is restored.
#[derive(Clone, Debug, PartialEq)]
pub enum From {
    /// The one that the checkpoint of this label saved in the same run.
    Label(String),
    /// This one, with the fields that the reference records.
    State(Value),
}

/// A call to a reader.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Requests minibatches.
    Next(Request, Times),
    /// Saves the state under a label.
    Checkpoint(String),
    /// Restores a state.
    Restore(From),
    /// Continues with a fresh source on the same files.
    Reopen,
}

/// A case: the configuration of a source, and the calls to it.
#[derive(Clone, Debug)]
pub struct Case {
    /// Its folder, to which file names are relative.
    pub dir: PathBuf,
    /// The configuration of the source.
    pub source: Map<String, Value>,
    /// The calls, in order.
    pub steps: Vec<Step>,
}

impl Case {
    /// Reads `case.json` in a folder, with the options that `tesson.json` adds to its source.
    ///
    /// # Errors
    /// A sentence about the fault of a file: unreadable, no JSON, a step of an unknown kind.
    pub fn load(dir: &Path) -> Result<Case, String> {
        let path = dir.join("case.json");
        let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        let mut case = Case::parse(dir, &text).map_err(|e| format!("{}: {e}", path.display()))?;
        if let Some(file) = own_file(dir, "tesson.json") {
            for options in lines(&file)?.iter().filter_map(Value::as_object) {
                add_members(&mut case.source, options);
            }
        }
        Ok(case)
    }

    /// The answers that Tesson must give: those of `tesson.jsonl` or `lenient.jsonl` where it is meant to differ, or the
    /// recorded ones.
    ///
    /// # Errors
    /// Files that cannot be read.
    pub fn expected(&self, rules: Rules) -> Result<Vec<Value>, String> {
        let own = match rules {
            Rules::Lenient => ["lenient.jsonl", "tesson.jsonl"].as_slice(),
            Rules::AsWritten => ["tesson.jsonl"].as_slice(),
        };
        let own = own.iter().find_map(|name| own_file(&self.dir, name));
        lines(&own.unwrap_or_else(|| self.dir.join("expected.jsonl")))
    }

    /// A case from the text of its `case.json`.
    ///
    /// # Errors
    /// The errors of [`Case::load`].
    pub fn parse(dir: &Path, text: &str) -> Result<Case, String> {
        let json: Value = serde_json::from_str(text).map_err(|e| e.to_string())?;
        let steps = json["steps"].as_array().ok_or("`steps` is no list")?;
        let mut case = Case {
            dir: dir.to_path_buf(),
            source: json["source"].as_object().ok_or("`source` is no object")?.clone(),
            steps: steps.iter().map(step).collect::<Result<_, _>>()?,
        };
        case.complete_paths();
        Ok(case)
    }

    /// Adds the folder of the files that maps and script files list: the case's, which was the working directory.
    fn complete_paths(&mut self) {
        let root = Value::from(self.dir.display().to_string());
        for deserializer in self.deserializers_mut() {
            if ["ImageDeserializer", "HTKFeatureDeserializer"]
                .iter()
                .any(|name| deserializer["type"] == *name)
            {
                deserializer["root"] = root.clone();
            }
        }
    }

    /// Changes the rules of the case.
    #[must_use]
    pub fn under(mut self, rules: Rules) -> Case {
        if rules == Rules::Lenient {
            for deserializer in self.deserializers_mut() {
                if deserializer.get("rules").is_some_and(|r| r == "cntk") {
                    deserializer["rules"] = "lenient".into();
                }
            }
        }
        self
    }

    /// True if a deserializer names the reference's rules, so that the case has an answer under lenient ones, too.
    pub fn names_rules(&self) -> bool {
        self.deserializers().iter().any(|d| d.get("rules").is_some_and(|r| r == "cntk"))
    }

    /// The sections of the deserializers.
    pub fn deserializers(&self) -> &[Value] {
        self.source.get("deserializers").and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    fn deserializers_mut(&mut self) -> &mut [Value] {
        self.source.get_mut("deserializers").and_then(Value::as_array_mut).map_or(&mut [], Vec::as_mut_slice)
    }

    /// The name of a missing format without which Tesson cannot answer the case; `None` if it must answer.
    pub fn needs(&self) -> Option<String> {
        let registry = crate::registry();
        let unknown = self.types().find(|name| registry.find(name, "").is_err())?;
        Some(format!("needs {unknown}"))
    }

    fn types(&self) -> impl Iterator<Item = &str> {
        self.deserializers().iter().filter_map(|d| d["type"].as_str())
    }
}

/// The lines of a file of JSON, blank ones left out.
pub(crate) fn lines(file: &Path) -> Result<Vec<Value>, String> {
    let text = fs::read_to_string(file).map_err(|e| format!("{}: {e}", file.display()))?;
    let full = text.lines().filter(|line| !line.trim().is_empty());
    full.map(|line| serde_json::from_str(line).map_err(|e| format!("{}: {e}", file.display()))).collect()
}

/// Adds members to an object, to those that are objects their members, and to elements of lists those of the same place.
fn add_members(to: &mut Map<String, Value>, added: &Map<String, Value>) {
    for (name, value) in added {
        add(to.entry(name).or_insert(Value::Null), value);
    }
}

fn add(to: &mut Value, added: &Value) {
    match (to, added) {
        (Value::Object(to), Value::Object(added)) => add_members(to, added),
        (Value::Array(to), Value::Array(added)) => to.iter_mut().zip(added).for_each(|(to, of)| add(to, of)),
        (to, added) => *to = added.clone(),
    }
}

fn step(json: &Value) -> Result<Step, String> {
    let unknown = || format!("unknown step {json}");
    let step = json.as_object().ok_or_else(unknown)?;
    if let Some(request) = step.get("next") {
        return Ok(Step::Next(self::request(request)?, times(step)?));
    }
    if let Some(label) = step.get("checkpoint") {
        return Ok(Step::Checkpoint(label.as_str().ok_or_else(unknown)?.to_string()));
    }
    match step.get("restore") {
        Some(Value::String(label)) => Ok(Step::Restore(From::Label(label.clone()))),
        Some(state) => Ok(Step::Restore(From::State(state.clone()))),
        None if step.contains_key("reopen") => Ok(Step::Reopen),
        None => Err(unknown()),
    }
}

fn request(json: &Value) -> Result<Request, String> {
    let mut request = Request { samples: None, sequences: None, workers: 1, rank: 0 };
    for (name, value) in json.as_object().ok_or_else(|| format!("`next` is {json}"))? {
        let number = value.as_u64().ok_or_else(|| format!("`{name}` is {value}"))?;
        match name.as_str() {
            "minibatchSizeInSamples" => request.samples = Some(number),
            "minibatchSizeInSequences" => request.sequences = Some(number),
            "numberOfWorkers" => request.workers = number,
            "workerRank" => request.rank = number,
            _ => return Err(format!("`next` has an unknown field `{name}`")),
        }
    }
    Ok(request)
}

fn times(step: &Map<String, Value>) -> Result<Times, String> {
    match (step.get("repeat"), step.get("until")) {
        (None, None) => Ok(Times::Repeat(1)),
        (Some(n), None) => n.as_u64().map(Times::Repeat).ok_or_else(|| format!("`repeat` is {n}")),
        (None, Some(until)) if until == "end" => Ok(Times::UntilEnd),
        _ => Err(format!("`repeat` and `until` of a step: {step:?}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(source: &str, steps: &str) -> Result<Case, String> {
        Case::parse(Path::new("."), &format!(r#"{{"source": {source}, "steps": {steps}}}"#))
    }

    fn needs(source: &str) -> Option<String> {
        case(source, "[]").unwrap().needs()
    }

    const CTF: &str = r#"{"type": "CNTKTextFormatDeserializer", "rules": "cntk"}"#;

    #[test]
    fn steps_of_all_kinds_are_understood() {
        let steps = r#"[{"next": {"minibatchSizeInSamples": 4, "numberOfWorkers": 2, "workerRank": 1}, "repeat": 3},
            {"checkpoint": "a"}, {"restore": "a"}, {"restore": {"minibatchSourcePosition": 5}}, {"reopen": true},
            {"next": {"minibatchSizeInSequences": 2}, "until": "end"}]"#;
        let request = |samples, sequences, workers, rank| Request { samples, sequences, workers, rank };
        let expected = [
            Step::Next(request(Some(4), None, 2, 1), Times::Repeat(3)),
            Step::Checkpoint("a".into()),
            Step::Restore(From::Label("a".into())),
            Step::Restore(From::State(serde_json::json!({"minibatchSourcePosition": 5}))),
            Step::Reopen,
            Step::Next(request(None, Some(2), 1, 0), Times::UntilEnd),
        ];
        assert_eq!(case("{}", steps).unwrap().steps, expected);
    }

    #[test]
    fn an_unknown_step_is_named() {
        assert_eq!(case("{}", r#"[{"jump": 1}]"#).unwrap_err(), r#"unknown step {"jump":1}"#);
        assert!(case("{}", r#"[{"next": {"size": 1}}]"#).unwrap_err().contains("`size`"));
    }

    #[test]
    fn a_case_may_be_asked_with_more_options() {
        let case = |name: &str| Case::load(&tesson_case_lookup::case(&format!("cntk/image/{name}"))).unwrap();
        assert_eq!(case("intensity").source["augmentation"], "cntk");
        let cut = case("jpeg-truncated");
        assert_eq!(cut.deserializers()[0]["onCorruptImage"], "accept");
        assert_eq!(cut.deserializers()[0]["type"], "ImageDeserializer", "the options of the case stay");
        assert!(!case("scale-cubic").source.contains_key("augmentation"));
    }

    #[test]
    fn a_type_that_is_not_registered_is_needed() {
        assert_eq!(needs(&format!(r#"{{"deserializers": [{CTF}]}}"#)), None);
        assert_eq!(
            needs(r#"{"deserializers": [{"type": "OtherDeserializer"}]}"#).unwrap(),
            "needs OtherDeserializer"
        );
        assert_eq!(needs(r#"{"deserializers": [{"type": "UserDeserializer"}]}"#), None);
    }

    #[test]
    fn only_the_rules_of_the_reference_are_replaced() {
        let case = case(&format!(r#"{{"deserializers": [{CTF}]}}"#), "[]").unwrap();
        assert!(case.names_rules());
        let lenient = case.clone().under(Rules::Lenient);
        assert_eq!(lenient.deserializers()[0]["rules"], "lenient");
        assert_eq!(case.under(Rules::AsWritten).deserializers()[0]["rules"], "cntk");
    }
}
