//! Readers, which answer cases, and how they are called.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::{Case, From, Request, Step, Times};

/// Something that reads: an API of Tesson, or something it is compared with.
///
/// Answers and states are JSON as in the files of cases. An error is a sentence in any words.
pub trait Reader {
    /// Opens a fresh source, in place of the one that is open.
    ///
    /// # Errors
    /// The reason why opening was refused.
    fn open(&mut self) -> Result<(), String>;

    /// The answers to one step that requests minibatches: each is a minibatch, the end or an error.
    fn next(&mut self, request: &Request, times: Times) -> Vec<Value>;

    /// The state after the last minibatch.
    ///
    /// # Errors
    /// The reason why there is none.
    fn state(&mut self) -> Result<Value, String>;

    /// Restores a state.
    ///
    /// # Errors
    /// Why it cannot be restored.
    fn restore(&mut self, state: &Value) -> Result<(), String>;
}

/// Requests one minibatch after the other, for readers that return one in each call.
pub(crate) fn one_by_one(times: Times, mut next: impl FnMut() -> Value) -> Vec<Value> {
    match times {
        Times::Repeat(n) => (0..n).map(|_| next()).collect(),
        Times::UntilEnd => {
            let mut answers = Vec::new();
            loop {
                answers.push(next());
                let last = &answers[answers.len() - 1];
                if last.get("end").is_some() || last.get("error").is_some() {
                    return answers;
                }
            }
        }
    }
}

/// An error as a line of answers.
pub(crate) fn error(what: impl ToString) -> Value {
    json!({"error": what.to_string()})
}

/// All answers to a case, line by line.
pub fn run(case: &Case, reader: &mut dyn Reader) -> Vec<Value> {
    if let Err(what) = reader.open() {
        return vec![error(what)];
    }
    let mut labels = BTreeMap::new();
    case.steps.iter().flat_map(|step| answer(step, reader, &mut labels)).collect()
}

fn answer(step: &Step, reader: &mut dyn Reader, labels: &mut BTreeMap<String, Value>) -> Vec<Value> {
    let line = match step {
        Step::Next(request, times) => return reader.next(request, *times),
        Step::Reopen => reader.open().map(|()| json!({"reopen": true})),
        Step::Checkpoint(label) => reader.state().map(|state| {
            labels.insert(label.clone(), state.clone());
            json!({"checkpoint": label, "state": state})
        }),
        Step::Restore(from) => restore(from, reader, labels),
    };
    vec![line.unwrap_or_else(error)]
}

fn restore(from: &From, reader: &mut dyn Reader, labels: &BTreeMap<String, Value>) -> Result<Value, String> {
    let (name, state) = match from {
        From::Label(label) => {
            let saved = labels.get(label).ok_or_else(|| format!("no checkpoint has the label `{label}`"))?;
            (Value::from(label.as_str()), saved)
        }
        From::State(state) => (state.clone(), state),
    };
    reader.restore(state)?;
    Ok(json!({"restore": name, "state": reader.state()?}))
}
