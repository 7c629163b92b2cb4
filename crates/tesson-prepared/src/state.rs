//! States of readers as JSON: where the stream stands, and what it must be a stream of (§12.4).

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tesson_core::identity::{Identity, List};
use tesson_core::{Error, ResumeError, UsageError};
use tesson_plan::StreamState;

use crate::Reader;
use crate::order::{SeekTarget, order_text};

/// The version of the form.
const VERSION: u64 = 1;

impl Reader {
    /// A state of this reader, with what tells it from others.
    pub fn to_json(&self, state: &StreamState) -> Value {
        let mut saved = json!({"tfds": VERSION, "stream": state.to_json()});
        let found = self.found_lengths(state);
        if !found.is_empty() {
            saved["lengths"] = found.into();
        }
        for (name, what) in self.identity() {
            saved[name] = what.into();
        }
        saved
    }

    /// The same with what the buffers of shuffles hold there: going to it costs no draws then, however far it is (§12.3).
    /// That takes a few bytes for each example in a buffer.
    ///
    /// The first one in a traversal costs a draw for each example before it, the next ones for those since the last.
    ///
    /// # Errors
    /// A state that is not of this reader.
    pub fn to_json_with_buffers(&mut self, state: &StreamState) -> Result<Value, Error> {
        let held = hex(&self.order.buffers_at(state)?);
        let mut saved = self.to_json(state);
        saved["rings"] = json!({"hash": self.hash(state, &held), "held": held});
        Ok(saved)
    }

    /// Binds what buffers hold to its place and order.
    fn hash(&self, state: &StreamState, held: &str) -> String {
        let StreamState { started, delivered, ended } = state;
        let bound = Identity::of(order_text(self.plan().spec()));
        let bound = bound.word(List(started)).word(delivered).word(ended).word(held).text();
        format!("{:016x}", xxhash_rust::xxh3::xxh3_64(bound.as_bytes()))
    }

    /// Goes to where [`Reader::to_json`] was taken.
    ///
    /// # Errors
    /// Something else, or a state of another dataset, split or order; the error says what differs. The reader stays where it
    /// stood.
    pub fn restore_json(&mut self, saved: &Value) -> Result<(), ResumeError> {
        self.restore_json_with(saved, Restoring { force: false, keep_going: &mut || true })
    }

    /// The same, and how.
    ///
    /// # Errors
    /// As [`Reader::restore_json`]; an interruption.
    pub fn restore_json_with(&mut self, saved: &Value, how: Restoring<'_>) -> Result<(), ResumeError> {
        if saved["tfds"] != VERSION {
            return Err(differs("the version of the state", &saved["tfds"], VERSION.to_string()));
        }
        for (name, what) in self.identity() {
            if saved[name] == what {
                continue;
            }
            let number = |files: &str| files.split(',').next().map(str::to_owned);
            if how.force && name == "files" && saved[name].as_str().and_then(number) == number(&what) {
                tracing::warn!("resuming from a state saved for differently named files");
                continue;
            }
            return Err(differs(&format!("the {name}"), &saved[name], what));
        }
        let state = StreamState::from_json(&saved["stream"])?;
        let lengths = self.lengths(&saved["lengths"])?;
        let buffers = self.buffers(&state, &saved["rings"])?;
        let stream = self.order.with(&lengths);
        let mut stream =
            stream.map_err(|error| differs("the lengths of files", &saved["lengths"], error.to_string()))?;
        stream.restore_with(&state, &buffers, how.keep_going)?;
        self.adopt_stream(lengths, stream);
        Ok(())
    }

    /// What buffers hold, out of a state; nothing if it was not kept.
    fn buffers(&self, state: &StreamState, saved: &Value) -> Result<Vec<u8>, ResumeError> {
        if saved.is_null() {
            return Ok(Vec::new());
        }
        let held = saved["held"].as_str().unwrap_or_default();
        let hash = self.hash(state, held);
        if saved["hash"] != *hash {
            return Err(differs("the hash of the rings", &saved["hash"], hash));
        }
        unhex(held)
            .ok_or_else(|| differs("the rings", &json!(held.len()), "pairs of hexadecimal digits".into()))
    }

    /// Goes to a place of a traversal, both counted from 0, without reading what is before it. The traversals before it are
    /// over then, as if each had been read to its end. Without a number it is the traversal that the reader is in.
    ///
    /// # Errors
    /// A traversal after one that has no end; a place past the end.
    pub fn seek(&mut self, traversal: Option<u64>, place: u64) -> Result<(), Error> {
        self.seek_with(traversal, place, &mut || true)
    }

    /// Goes to a place as [`Reader::seek`]. `keep_going` is asked every few milliseconds of a long way, past many examples of
    /// a shuffle; if it says no, the reader stays where it stood.
    ///
    /// # Errors
    /// As [`Reader::seek`]; an interruption.
    pub fn seek_with(
        &mut self,
        traversal: Option<u64>,
        place: u64,
        keep_going: &mut dyn FnMut() -> bool,
    ) -> Result<(), Error> {
        if self.traversal_len().is_some_and(|len| place > len)
            && let Some(len) = self.counted_len()?.filter(|len| place > *len)
        {
            return Err(UsageError::new(format!("found place {place}, the traversal has {len}")).into());
        }
        self.seek_to(SeekTarget { traversal, place, with_next: false }, keep_going)
    }

    /// Files that hold another number of records than the dataset says, as far as that has been seen: their places in the
    /// plan, and the number. The order after such a file is another one.
    fn found_lengths(&self, state: &StreamState) -> Vec<Value> {
        let found = self.order.lengths.found(self.plan(), state);
        found.into_iter().map(|(file, records)| json!([file, records])).collect()
    }

    fn lengths(&self, saved: &Value) -> Result<BTreeMap<usize, u64>, ResumeError> {
        let length = |pair: &Value| {
            let file = usize::try_from(pair[0].as_u64()?).ok()?;
            (file < self.plan().files.len()).then_some((file, pair[1].as_u64()?))
        };
        let found: Option<_> = match saved {
            Value::Null => Some(BTreeMap::new()),
            pairs => pairs.as_array().and_then(|pairs| pairs.iter().map(length).collect()),
        };
        let expected = || "pairs of a file and its records".to_owned();
        found.ok_or_else(|| differs("the lengths of files", saved, expected()))
    }
}

/// How a saved state is restored.
pub struct Restoring<'a> {
    /// Files may have other names than those it was taken of (§12.4); their number and the dataset's name and version are
    /// compared, and that they hold the same is the caller's word.
    pub force: bool,
    /// Whether to continue, asked every few milliseconds of a long way, past many examples of a shuffle.
    pub keep_going: &'a mut dyn FnMut() -> bool,
}

fn hex(bytes: &[u8]) -> String {
    let digit = |half: u8| char::from(b"0123456789abcdef"[usize::from(half)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digit = |digit: u8| char::from(digit).to_digit(16).map(|half| half as u8);
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    if !rest.is_empty() {
        return None;
    }
    pairs.iter().map(|[high, low]| Some(digit(*high)? << 4 | digit(*low)?)).collect()
}

fn differs(what: &str, found: &Value, expected: String) -> ResumeError {
    let state = found.as_str().map_or_else(|| found.to_string(), str::to_owned);
    ResumeError { what: what.to_owned(), state, source: expected }
}
