//! The state of a stream: a handful of integers (spec/tfds.md §12.1).

use serde_json::{Value, json};
use tesson_core::ResumeError;

use super::Stream;

/// The position of a stream: everything else follows from its specification.
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
        read().ok_or_else(|| {
            ResumeError::unreadable("`stream`", value, "an object with `started`, `delivered` and `ended`")
        })
    }
}

impl Stream {
    /// The state at the present position.
    pub fn state(&self) -> StreamState {
        StreamState { started: self.started().to_vec(), delivered: self.delivered(), ended: self.has_ended() }
    }

    /// Goes to the position of a state of this stream. Nothing is read for it; the buffer of a shuffle is found from
    /// its random words (spec/tfds.md §12.3).
    ///
    /// # Errors
    /// The state is of a stream of other operations, lies after the end, or says that it is the end where there is none.
    pub fn restore(&mut self, state: &StreamState) -> Result<(), ResumeError> {
        self.restore_with(state, &[], &mut || false)
    }

    /// Passes that each shuffle had begun where a state of this stream was taken, the files' first: those that the next
    /// traversal comes after. The stream itself does not move; `interrupted` is called every few milliseconds of a long skip.
    ///
    /// # Errors
    /// As [`Stream::restore`]; `interrupted` has returned `true`.
    pub fn passes_at(
        &self,
        state: &StreamState,
        interrupted: &mut dyn FnMut() -> bool,
    ) -> Result<Vec<u64>, ResumeError> {
        let mut there = self.clone();
        there.follow_passes(false);
        // Where nothing is traversed twice, the first example has begun all that the others need.
        let delivered =
            if there.facts.once && !state.ended { state.delivered.min(1) } else { state.delivered };
        there.restore_with(&StreamState { delivered, ..state.clone() }, &[], interrupted)?;
        Ok(there.passes().to_vec())
    }

    /// The same by what the buffers held there ([`Stream::buffers`]; no bytes if that was not kept), without a draw. `interrupted`
    /// is called every few milliseconds of a long skip. If it fails the stream does not move.
    ///
    /// # Errors
    /// As [`Stream::restore`]; buffers of another position; `interrupted` has returned `true`.
    pub fn restore_with(
        &mut self,
        state: &StreamState,
        buffers: &[u8],
        interrupted: &mut dyn FnMut() -> bool,
    ) -> Result<(), ResumeError> {
        if state.started.len() != self.started().len() {
            let n = |shuffles: usize| format!("{shuffles} shuffles");
            return Err(ResumeError::new("the stream", n(state.started.len()), n(self.started().len())));
        }
        let mut there = self.clone();
        there.seek(&state.started, state.delivered, buffers, interrupted)?;
        // A mismatch that it answers, it has answered before the state was taken.
        if state.ended && matches!(there.next(), Ok(Some(_))) {
            let end = format!("{}, the end", state.delivered);
            return Err(ResumeError::new("the position", end, "not the end"));
        }
        *self = there;
        Ok(())
    }
}
