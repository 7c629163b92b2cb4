//! The state of a stream: a few integers (spec/tfds.md §12.1).

use serde_json::{Value, json};
use tesson_core::ResumeError;

use super::Stream;

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

impl Stream {
    /// The state at the present position.
    pub fn state(&self) -> StreamState {
        StreamState { started: self.started().to_vec(), delivered: self.delivered(), ended: self.has_ended() }
    }

    /// Goes to the position of a state of this stream. Nothing is read for it; the buffer of a shuffle is found from
    /// its random words (spec/tfds.md §12.3).
    ///
    /// # Errors
    /// [`ResumeError`] if the state belongs to a stream with other operations, lies after the end, or claims an end
    /// where there is none.
    pub fn restore(&mut self, state: &StreamState) -> Result<(), ResumeError> {
        self.restore_with(state, &[], &mut || false)
    }

    /// The passes that each shuffle had begun when a state of this stream was taken, first that of the files; the
    /// next traversal begins after them. The stream itself does not move; `interrupted` is called every few
    /// milliseconds of a long skip.
    ///
    /// # Errors
    /// The errors of [`Stream::restore`], and [`ResumeError`] if `interrupted` has returned `true`.
    pub fn passes_at(
        &self,
        state: &StreamState,
        interrupted: &mut dyn FnMut() -> bool,
    ) -> Result<Vec<u64>, ResumeError> {
        let mut there = self.clone();
        there.follow_passes(false);
        // If nothing is traversed twice, the first example has begun all passes that the others need.
        let delivered =
            if there.facts.once && !state.ended { state.delivered.min(1) } else { state.delivered };
        there.restore_with(&StreamState { delivered, ..state.clone() }, &[], interrupted)?;
        Ok(there.passes().to_vec())
    }

    /// Restores a state with the contents that the buffers had there ([`Stream::buffers`]; no bytes if they were not
    /// saved), which takes no draw. `interrupted` is called every few milliseconds of a long skip. On failure the
    /// stream does not move.
    ///
    /// # Errors
    /// The errors of [`Stream::restore`], and [`ResumeError`] for buffers of another position or if `interrupted` has
    /// returned `true`.
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
        // A count mismatch is accepted as the end: it was already reported before the state was taken.
        if state.ended && matches!(there.next(), Ok(Some(_))) {
            let end = format!("{}, the end", state.delivered);
            return Err(ResumeError::new("the position", end, "not the end"));
        }
        *self = there;
        Ok(())
    }
}
