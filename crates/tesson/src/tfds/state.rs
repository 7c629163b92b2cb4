//! States of readers as JSON: where the stream stands, and what it must be a stream of (§12.4).

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tesson_core::{Error, ResumeError, UsageError};
use tesson_plan::StreamState;

use super::Reader;

/// The version of the form.
const VERSION: u64 = 1;

impl Reader {
    /// A state of this reader, with what tells it from others.
    pub fn to_json(&self, state: &StreamState) -> Value {
        let mut saved = json!({"tfds": VERSION, "stream": state.to_json()});
        let found = self.found_lengths();
        if !found.is_empty() {
            saved["lengths"] = found.into();
        }
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
        let state = StreamState::from_json(&saved["stream"])?;
        self.take_lengths(&saved["lengths"])?;
        self.restore(&state)
    }

    /// Goes to a place of a traversal, both counted from 0, without reading what is before it. The traversals before it are
    /// over then, as if each had been read to its end. Without a number it is the traversal that the reader is in.
    ///
    /// # Errors
    /// A traversal behind one that has no end; a place behind the end.
    pub fn seek(&mut self, traversal: Option<u64>, place: u64) -> Result<(), Error> {
        let mut stream = self.plan().stream()?;
        match traversal {
            Some(n) => stream.begin_traversal(n)?,
            None => stream.restore(&StreamState { delivered: 0, ended: false, ..self.state() })?,
        }
        // A wrong count is told to whoever reads as far.
        let passed = stream.skip(place).unwrap_or_else(|_| stream.delivered());
        if passed < place {
            return Err(UsageError(format!("found place {place}, the traversal has {passed}")).into());
        }
        Ok(self.restore(&stream.state())?)
    }

    /// Files that hold another number of records than the dataset says, as far as that has been seen: their places in the
    /// plan, and the number. The order behind such a file is another one.
    fn found_lengths(&self) -> Vec<Value> {
        let files = &self.plan().files;
        let differs =
            self.order.lengths.iter().filter(|(file, found)| files[**file].examples_in_shard != **found);
        differs.map(|(file, found)| json!([file, found])).collect()
    }

    fn take_lengths(&mut self, saved: &Value) -> Result<(), ResumeError> {
        let length = |pair: &Value| {
            let file = usize::try_from(pair[0].as_u64()?).ok()?;
            (file < self.plan().files.len()).then_some((file, pair[1].as_u64()?))
        };
        let found: Option<_> = match saved {
            Value::Null => Some(BTreeMap::new()),
            pairs => pairs.as_array().and_then(|pairs| pairs.iter().map(length).collect()),
        };
        let expected = || "pairs of a file and its records".to_owned();
        self.order.lengths = found.ok_or_else(|| differs("the lengths of files", saved, expected()))?;
        self.go_on_from(0).map_err(|error| differs("the lengths of files", saved, error.to_string()))
    }
}

fn differs(what: &str, found: &Value, expected: String) -> ResumeError {
    let state = found.as_str().map_or_else(|| found.to_string(), str::to_owned);
    ResumeError { what: what.to_owned(), state, source: expected }
}
