//! States of readers as JSON: where the stream stands, and what it must be a stream of (§12.4).

use serde_json::{Value, json};
use tesson_core::ResumeError;
use tesson_plan::StreamState;

use super::Reader;

/// The version of the form.
const VERSION: u64 = 1;

impl Reader {
    /// A state of this reader, with what tells it from others.
    pub fn to_json(&self, state: &StreamState) -> Value {
        let mut saved = json!({"tfds": VERSION, "stream": state.to_json()});
        for (name, what) in self.identity() {
            saved[name] = what.into();
        }
        saved
    }

    /// Goes to where [`Reader::to_json`] was taken.
    ///
    /// # Errors
    /// Something else, or a state of another dataset, split or order; the error says what differs.
    pub fn restore_json(&mut self, saved: &Value) -> Result<(), ResumeError> {
        if saved["tfds"] != VERSION {
            return Err(differs("the version of the state", &saved["tfds"], VERSION.to_string()));
        }
        for (name, what) in self.identity() {
            if saved[name] != what {
                return Err(differs(&format!("the {name}"), &saved[name], what));
            }
        }
        self.restore(&StreamState::from_json(&saved["stream"])?)
    }
}

fn differs(what: &str, found: &Value, expected: String) -> ResumeError {
    let state = found.as_str().map_or_else(|| found.to_string(), str::to_owned);
    ResumeError { what: what.to_owned(), state, source: expected }
}
