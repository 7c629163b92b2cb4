//! The state of a stream: a few integers (spec/tfds.md §12.1).
//!
//! For the next editor: the form is a file format, and states of all releases have to be read. A new layer needs no
//! field here unless it counts something that neither the specification of the stream nor `delivered` tells.

use serde_json::{Value, json};
use tesson_core::ResumeError;

/// The position of a stream; everything else follows from its specification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamState {
    /// The passes that each shuffle had begun before this traversal, first that of the files.
    pub started: Vec<u64>,
    /// The number of examples delivered in this traversal.
    pub delivered: u64,
    /// True if a call has reached the end of the traversal, which may have begun one more pass.
    pub ended: bool,
}

impl StreamState {
    /// The state as a JSON object.
    pub fn to_json(&self) -> Value {
        json!({"started": self.started, "delivered": self.delivered, "ended": self.ended})
    }

    /// Reads the result of [`StreamState::to_json`].
    ///
    /// # Errors
    /// [`ResumeError`] for anything else.
    pub fn from_json(value: &Value) -> Result<StreamState, ResumeError> {
        let numbers = |v: &Value| v.as_array()?.iter().map(Value::as_u64).collect::<Option<Vec<u64>>>();
        let read = || {
            Some(StreamState {
                started: numbers(value.get("started")?)?,
                delivered: value.get("delivered")?.as_u64()?,
                ended: value.get("ended")?.as_bool()?,
            })
        };
        read().ok_or_else(|| {
            ResumeError::unreadable("`stream`", value, "an object with `started`, `delivered` and `ended`")
        })
    }
}
