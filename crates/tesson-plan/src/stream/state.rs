//! Where a stream stands, in a handful of integers (§12.1).

use serde_json::{Value, json};
use tesson_core::ResumeError;

use super::Stream;

/// Where a stream stands: everything else follows from what it is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamState {
    /// Passes that each shuffle had begun before this traversal, the files' first.
    pub started: Vec<u64>,
    /// Examples given in this traversal.
    pub delivered: u64,
    /// The end of the traversal has been seen, which may have begun a pass more.
    pub ended: bool,
}

impl StreamState {
    /// As JSON.
    pub fn to_json(&self) -> Value {
        json!({"started": self.started, "delivered": self.delivered, "ended": self.ended})
    }

    /// From [`StreamState::to_json`].
    ///
    /// # Errors
    /// Something else.
    pub fn from_json(value: &Value) -> Result<StreamState, ResumeError> {
        let numbers = |v: &Value| v.as_array()?.iter().map(Value::as_u64).collect::<Option<Vec<u64>>>();
        let read = || {
            Some(StreamState {
                started: numbers(value.get("started")?)?,
                delivered: value.get("delivered")?.as_u64()?,
                ended: value.get("ended")?.as_bool()?,
            })
        };
        read().ok_or_else(|| differs("the position in the stream", value.to_string(), "three fields"))
    }
}

impl Stream {
    /// Where the stream stands.
    pub fn state(&self) -> StreamState {
        StreamState { started: self.started().to_vec(), delivered: self.delivered(), ended: self.has_ended() }
    }

    /// Goes to where a state of this stream was taken. Nothing is read for it; the buffer of a shuffle is found from
    /// its random words (§12.3).
    ///
    /// # Errors
    /// The state is of a stream of other operations, or lies behind the end.
    pub fn restore(&mut self, state: &StreamState) -> Result<(), ResumeError> {
        if state.started.len() != self.started().len() {
            let n = |shuffles: usize| format!("{shuffles} shuffles");
            return Err(differs("the stream", n(state.started.len()), n(self.started().len())));
        }
        self.begin_at(&state.started);
        let skipped = self.skip(state.delivered).unwrap_or_else(|_| self.delivered());
        if skipped != state.delivered {
            return Err(differs("the position", state.delivered.to_string(), format!("at most {skipped}")));
        }
        if state.ended {
            // What it answers, it has answered before the state was taken.
            let _ = self.next();
        }
        Ok(())
    }
}

fn differs(what: &str, state: String, source: impl Into<String>) -> ResumeError {
    ResumeError { what: what.into(), state, source: source.into() }
}
