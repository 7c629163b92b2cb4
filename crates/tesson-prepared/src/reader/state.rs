//! States of readers as JSON: where the stream stands, and what it must be a stream of (spec/tfds.md §12.4).
//!
//! | member | what it holds | since |
//! |---|---|---|
//! | `tfds` | the version that wrote the state | 1 |
//! | `requires` | members, of the following ones, that a reader must know | 2 |
//! | `stream` | the position | 1 |
//! | `dataset`, `files`, `order` | what the state belongs to | 1 |
//! | `lengths` | files of other lengths than declared; required where it is present | 1 |
//! | `buffers` | what shuffle buffers hold, as [tagged sections](tesson_core::sections) in hexadecimal digits, and a hash | 2 |
//! | `rings` | the same without tags | in 1 only |
//!
//! Unknown members are ignored unless `requires` lists them, so states may get more members without a new version. A state of a
//! later version is refused (decision 27).

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tesson_core::identity::{Identity, List};
use tesson_core::{Error, ResumeError, UsageError, sections};
use tesson_plan::StreamState;

use super::Reader;
use crate::order::{SeekTarget, order_text};

/// The version that is written.
const VERSION: u64 = 2;

/// The member that a reader must know where a state has it.
const LENGTHS: &str = "lengths";

/// The section of `buffers` with the bytes of [`tesson_plan::Stream::rings`].
const BUFFERS: u8 = 1;

impl Reader {
    /// A state of this reader, with what tells it from others.
    pub fn to_json(&self, state: &StreamState) -> Value {
        let found = self.found_lengths(state);
        let required = if found.is_empty() { json!([]) } else { json!([LENGTHS]) };
        let mut saved = json!({"tfds": VERSION, "requires": required, "stream": state.to_json()});
        if !found.is_empty() {
            saved[LENGTHS] = found.into();
        }
        for (name, what) in self.identity() {
            saved[name] = what.into();
        }
        saved
    }

    /// Like [`Reader::to_json`], with the content of shuffle buffers: restoring such a state costs no draws, however
    /// far it is (spec/tfds.md §12.3). It takes a few bytes for each example in a buffer.
    ///
    /// The first one in a traversal costs a draw for each example before it, the next ones for those since the last.
    ///
    /// # Errors
    /// A state that is not of this reader.
    pub fn to_json_with_buffers(&mut self, state: &StreamState) -> Result<Value, Error> {
        let mut tagged = Vec::new();
        sections::put(BUFFERS, &self.order.buffers_at(state)?, &mut tagged);
        let held = hex(&tagged);
        let mut saved = self.to_json(state);
        saved["buffers"] = json!({"hash": self.hash(state, &held), "held": held});
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
        self.restore_json_with(saved, Restoring { force: false, interrupted: &mut || false })
    }

    /// Like [`Reader::restore_json`], with choices.
    ///
    /// # Errors
    /// Those of [`Reader::restore_json`]; an interruption.
    pub fn restore_json_with(&mut self, saved: &Value, how: Restoring<'_>) -> Result<(), ResumeError> {
        check_version(saved)?;
        for (name, what) in self.identity() {
            if saved[name] == what {
                continue;
            }
            let number = |files: &str| files.split(',').next().map(str::to_owned);
            if how.force && name == "files" && saved[name].as_str().and_then(number) == number(&what) {
                tracing::warn!("resuming from a state saved for differently named files");
                continue;
            }
            return Err(match &saved[name] {
                missing @ Value::Null => malformed(&format!("`{name}`"), missing, &what),
                found => ResumeError::new(described(name), text_of(found), what),
            });
        }
        let state = StreamState::from_json(&saved["stream"])?;
        let lengths = self.lengths(&saved[LENGTHS])?;
        let buffers = self.buffers(&state, saved)?;
        let stream = self.order.with(&lengths);
        let mut stream =
            stream.map_err(|error| malformed("`lengths`", &saved[LENGTHS], &error.to_string()))?;
        stream.restore_with(&state, &buffers, how.interrupted)?;
        self.adopt_stream(lengths, stream);
        Ok(())
    }

    /// The content of buffers in a state; empty if it was not saved.
    fn buffers(&self, state: &StreamState, saved: &Value) -> Result<Vec<u8>, ResumeError> {
        let Some((name, buffers)) =
            ["buffers", "rings"].into_iter().find_map(|name| Some((name, saved.get(name)?)))
        else {
            return Ok(Vec::new());
        };
        let held = buffers["held"].as_str().unwrap_or_default();
        let hash = self.hash(state, held);
        if buffers["hash"] != *hash {
            return Err(malformed(&format!("the hash of `{name}`"), &buffers["hash"], &hash));
        }
        let bytes =
            unhex(held).and_then(|bytes| if name == "rings" { Some(bytes) } else { untagged(&bytes) });
        bytes.ok_or_else(|| malformed(&format!("`{name}`"), &json!(held), "pairs of hexadecimal digits"))
    }

    /// Goes to a place of a traversal, both counted from 0, without reading what is before it. The traversals before it are
    /// over then, as if each had been read to its end. Without a number it is the traversal that the reader is in.
    ///
    /// # Errors
    /// A traversal after one that has no end; a place past the end.
    pub fn seek(&mut self, traversal: Option<u64>, place: u64) -> Result<(), Error> {
        self.seek_with(traversal, place, &mut || false)
    }

    /// Goes to a place as [`Reader::seek`]. `interrupted` is asked every few milliseconds of a long way, past many examples of
    /// a shuffle; if it says so, the reader stays where it stood.
    ///
    /// # Errors
    /// Those of [`Reader::seek`]; an interruption.
    pub fn seek_with(
        &mut self,
        traversal: Option<u64>,
        place: u64,
        interrupted: &mut dyn FnMut() -> bool,
    ) -> Result<(), Error> {
        if self.traversal_len().is_some_and(|len| place > len)
            && let Some(len) = self.counted_len()?.filter(|len| place > *len)
        {
            return Err(UsageError::new(format!("found place {place}, the traversal has {len}")).into());
        }
        self.seek_to(SeekTarget { traversal, place, with_next: false }, interrupted)
    }

    /// Files that hold another number of records than the dataset says, as far as that has been seen: their places in the
    /// plan, and the number. The order after such a file is another one.
    fn found_lengths(&self, state: &StreamState) -> Vec<Value> {
        let found = self.order.lengths.found(state);
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
        found.ok_or_else(|| malformed("`lengths`", saved, "a list of pairs of a file and its records"))
    }
}

/// How a saved state is restored.
pub struct Restoring<'a> {
    /// Files may have other names than those it was taken of (spec/tfds.md §12.4); their number and the dataset's name
    /// and version are compared, and that they hold the same is the caller's word.
    pub force: bool,
    /// Returns true to stop; called every few milliseconds while many examples of a shuffle are passed.
    pub interrupted: &'a mut dyn FnMut() -> bool,
}

/// Refuses what no version wrote, and states that require members which are not known.
fn check_version(saved: &Value) -> Result<(), ResumeError> {
    if saved["tfds"].is_null() && !saved["minibatchSourcePosition"].is_null() {
        let found = "that of a source of minibatches";
        return Err(ResumeError::unreadable("it", found, "that of a prepared dataset"));
    }
    let Some(version) = saved["tfds"].as_u64().filter(|version| *version > 0) else {
        return Err(malformed(
            "the version of the state, `tfds`,",
            &saved["tfds"],
            &format!("1 to {VERSION}"),
        ));
    };
    if version > VERSION {
        let expected = format_args!("{VERSION} or an earlier one").to_string();
        return Err(ResumeError::other_version("the version of the state, `tfds`,", version, expected));
    }
    // The first version had no such list.
    let required = if version == 1 { Some(&[][..]) } else { saved["requires"].as_array().map(Vec::as_slice) };
    let Some(required) = required else {
        return Err(malformed("`requires`", &saved["requires"], "a list of names of members"));
    };
    match required.iter().find(|name| **name != LENGTHS) {
        None => Ok(()),
        Some(name) => Err(ResumeError::other_version(
            "a member that the state requires",
            format_args!("{name}, of a later release"),
            format_args!("`{LENGTHS}`"),
        )),
    }
}

/// The content of the buffers' section; `None` if it is missing, or if there is another that is not optional.
fn untagged(mut bytes: &[u8]) -> Option<Vec<u8>> {
    let mut held = None;
    while !bytes.is_empty() {
        match sections::take(&mut bytes)? {
            (BUFFERS, payload) => held = Some(payload.to_vec()),
            (tag, _) if sections::is_optional(tag) => {}
            _ => return None,
        }
    }
    held
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

fn malformed(what: &str, found: &Value, expected: &str) -> ResumeError {
    let found = if found.is_null() { "missing".to_owned() } else { text_of(found) };
    ResumeError::unreadable(what, found, expected)
}

/// The description of a property that the state is bound to.
fn described(name: &str) -> String {
    match name {
        "files" => "what is read of the split (its files and a hash of their parts)".to_owned(),
        name => format!("the {name}"),
    }
}

/// A text as it is, anything else as JSON.
fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
