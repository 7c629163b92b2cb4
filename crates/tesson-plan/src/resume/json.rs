//! The form of states in JSON: the fields of the reference (spec/engine.md §11), and the rest by name.
//!
//! `requires` lists the fields that a reader must know in addition to those of every state. A state that lists an
//! unknown field is refused; unknown fields that it does not list are ignored. Versions 1 and 2 had no such list.

use std::sync::Arc;

use serde_json::{Map, Value};
use tesson_core::ResumeError;

use super::{
    Fingerprint, ResumeState, SECTIONS_SINCE, STATE_VERSION, WITHOUT_SWEEPS, check_order_version,
    later_version, layer, steps,
};
use crate::Share;
use crate::order::{self, Parameters, WindowStartFields};
use crate::{
    Consumed, Cursor, OrderSpec, PendingSequence, SlotState, SlotsState, Steps, Window, WindowStart,
};

impl ResumeState {
    /// The JSON form: `minibatchSourcePosition`, as in the reference, and the other fields by name.
    pub fn to_json(&self) -> Value {
        let mut json = Map::new();
        let mut put = |name: &str, value: Value| json.insert(name.into(), value);
        self.position_fields(&mut put);
        let Some(fingerprint) = self.fingerprint.as_deref() else { return json.into() };
        put("stateVersion", STATE_VERSION.into());
        put("requires", self.required_fields().into());
        put("orderVersion", fingerprint.order.version().into());
        if !self.is_local() {
            put("sweep", self.cursor.sweep.into());
            put("sequence", self.cursor.sequence.into());
        }
        put("faults", self.faults.into());
        if let Some(Share { workers, rank }) = self.share {
            put("numberOfWorkers", workers.into());
            put("workerRank", rank.into());
        }
        if self.cursor.steps.is_running() {
            put("equalSteps", steps::numbers(self.cursor.steps).collect());
        }
        if let Some(state) = &self.rows {
            put("rows", state.slots.iter().map(row_to_json).collect::<Vec<_>>().into());
        }
        if let Some(consumed) = &self.consumed {
            let layers: Vec<Value> = consumed.layers.iter().map(|l| l.positions.clone().into()).collect();
            put("consumed", layers.into());
        }
        put("order", fingerprint.order.name().into());
        if let Some(seed) = fingerprint.order.seed() {
            put("randomizationSeed", seed.into());
        }
        match fingerprint.order.window() {
            Some(Window::Chunks(n)) => drop(put("randomizationWindowInChunks", n.into())),
            Some(Window::Samples(n)) => drop(put("randomizationWindowInSamples", n.into())),
            None => {}
        }
        put("crossSweepEnds", fingerprint.cross_sweep_ends.into());
        put("corpus", format!("{:016x}", fingerprint.corpus).into());
        if let Some(index) = fingerprint.index {
            put("index", format!("{index:016x}").into());
        }
        put("options", format!("{:016x}", fingerprint.options).into());
        json.into()
    }

    /// The fields of this state that a reader must know.
    fn required_fields(&self) -> Vec<&'static str> {
        let has = [self.consumed.is_some(), self.cursor.steps.is_running(), self.rows.is_some()];
        EXTRA_FIELDS.into_iter().zip(has).filter_map(|(name, has)| has.then_some(name)).collect()
    }

    /// Writes the position under the reference's names (spec/engine.md §11).
    fn position_fields(&self, put: &mut impl FnMut(&str, Value) -> Option<Value>) {
        let Cursor { position, sweep, sequence, window, .. } = self.cursor;
        if !self.is_local() {
            put("minibatchSourcePosition", position.into());
            return;
        }
        put("baseSampleCount", position.into());
        put("baseSweepCount", sweep.into());
        put("baseCurrentSequencePositionInWindow", sequence.into());
        let of_order = self.fingerprint.as_ref().and_then(|f| f.order.info().window_start.as_ref());
        let fields = of_order.or_else(|| {
            // A bare position as the reference saves it: with the fields that define it completely.
            order::window_starts().find(|fields| !fields.sweep_is_ignored)
        });
        if let Some(fields) = fields {
            put(fields.place, window.place.into());
            put(fields.sweep, window.sweep.into());
        }
    }

    /// The state of its JSON form. An object with `minibatchSourcePosition` alone is a bare position; unknown
    /// fields are ignored unless `requires` lists them.
    ///
    /// # Errors
    /// [`ResumeError`] for a missing or invalid field, with its name, and for states of other versions.
    pub fn from_json(json: &Value) -> Result<ResumeState, ResumeError> {
        let fields = Fields(json);
        let local = json.get("baseSampleCount").is_some();
        let mut cursor = if local { fields.local_cursor()? } else { fields.bare_cursor()? };
        if json.get("stateVersion").is_none() {
            return Ok(ResumeState { cursor, ..ResumeState::default() });
        }
        let version = fields.version()?;
        let order = fields.order()?;
        check_order_version(&order, fields.number("orderVersion")?)?;
        if !local {
            (cursor.sweep, cursor.sequence) = (fields.number("sweep")?, fields.number("sequence")?);
        }
        if let Some(steps) = json.get("equalSteps") {
            cursor.steps = steps::from_numbers(|name| Fields(steps).number(name))?;
        }
        let share = match json.get("numberOfWorkers") {
            None => None,
            Some(_) => {
                Some(Share { workers: fields.number("numberOfWorkers")?, rank: fields.number("workerRank")? })
            }
        };
        let fingerprint = Fingerprint {
            corpus: fields.hash("corpus")?,
            index: json.get("index").map(|_| fields.hash("index")).transpose()?,
            order,
            cross_sweep_ends: fields.get("crossSweepEnds", "true or false", Value::as_bool)?,
            options: fields.hash("options")?,
        };
        Ok(ResumeState {
            cursor,
            share,
            faults: fields.number("faults")?,
            rows: json.get("rows").map(|_| fields.rows(version).map(Arc::new)).transpose()?,
            consumed: json.get("consumed").map(|_| fields.consumed().map(Arc::new)).transpose()?,
            fingerprint: Some(Arc::new(fingerprint)),
        })
    }
}

/// The fields that a state may require.
const EXTRA_FIELDS: [&str; 3] = ["consumed", "equalSteps", "rows"];

/// The fields of a JSON state.
struct Fields<'a>(&'a Value);

impl<'a> Fields<'a> {
    fn get<T>(
        &self,
        name: &str,
        what: &str,
        read: impl Fn(&'a Value) -> Option<T>,
    ) -> Result<T, ResumeError> {
        let found = self.0.get(name);
        found.and_then(read).ok_or_else(|| {
            let found = found.map_or("missing".into(), Value::to_string);
            ResumeError::unreadable(format_args!("`{name}`"), found, what)
        })
    }

    fn number(&self, name: &str) -> Result<u64, ResumeError> {
        self.get(name, "a number from 0 to 2^64 - 1", Value::as_u64)
    }

    fn hash(&self, name: &str) -> Result<u64, ResumeError> {
        let read = |v: &Value| v.as_str().and_then(|s| u64::from_str_radix(s, 16).ok());
        self.get(name, "a hexadecimal number", read)
    }

    fn bare_cursor(&self) -> Result<Cursor, ResumeError> {
        Ok(Cursor { position: self.number("minibatchSourcePosition")?, ..Cursor::default() })
    }

    /// A position on a local timeline, of either order.
    fn local_cursor(&self) -> Result<Cursor, ResumeError> {
        let is_here = |fields: &&WindowStartFields| self.0.get(fields.place).is_some();
        let fields = order::window_starts().find(is_here).ok_or_else(|| {
            let names: Vec<_> = order::window_starts().map(|fields| format!("`{}`", fields.place)).collect();
            ResumeError::unreadable("the beginning of the window", "missing", names.join(" or "))
        })?;
        let sweep = self.number(fields.sweep)?;
        let place = self.number(fields.place)?;
        let window = WindowStart { place, sweep: if fields.sweep_is_ignored { 0 } else { sweep } };
        Ok(Cursor {
            position: self.number("baseSampleCount")?,
            sweep: self.number("baseSweepCount")?,
            sequence: self.number("baseCurrentSequencePositionInWindow")?,
            window,
            steps: Steps::default(),
        })
    }

    /// The version that wrote the state. Refuses a state that requires unknown fields.
    fn version(&self) -> Result<u64, ResumeError> {
        let version = self.number("stateVersion")?;
        if version < SECTIONS_SINCE.into() {
            return match version {
                0 => Err(ResumeError::unreadable(
                    "the version of the state",
                    0,
                    format_args!("1 to {STATE_VERSION}"),
                )),
                _ => Ok(version),
            };
        }
        if version > STATE_VERSION.into() {
            return Err(later_version(version));
        }
        let names = |v: &'a Value| v.as_array()?.iter().map(Value::as_str).collect::<Option<Vec<&str>>>();
        let required = self.get("requires", "a list of names of fields", names)?;
        match required.iter().find(|name| !EXTRA_FIELDS.contains(name)) {
            None => Ok(version),
            Some(name) => Err(ResumeError::other_version(
                "a field that the state requires",
                format_args!("`{name}`, of a later release"),
                format_args!("one of {}", EXTRA_FIELDS.join(", ")),
            )),
        }
    }

    fn rows(&self, version: u64) -> Result<SlotsState, ResumeError> {
        let row = |v: &Value| row_of_json(v, version);
        let read = |v: &'a Value| v.as_array()?.iter().map(row).collect::<Option<Vec<SlotState>>>();
        let sweep = if version == u64::from(WITHOUT_SWEEPS) { "" } else { ", sweep" };
        let what = format!("a list of rows, [cursor, [[sequence, sweep end{sweep}], …]] each");
        Ok(SlotsState { slots: self.get("rows", &what, read)? })
    }

    fn order(&self) -> Result<OrderSpec, ResumeError> {
        let name = self.get("order", "the name of an order", Value::as_str)?;
        let info = order::by_name(name)
            .map_err(|names| ResumeError::unreadable("the order", name, format_args!("one of {names}")))?;
        let window = match self.0.get("randomizationWindowInSamples") {
            Some(_) => self.number("randomizationWindowInSamples").map(Window::Samples),
            None => self.number("randomizationWindowInChunks").map(Window::Chunks),
        };
        let seed = self.number("randomizationSeed");
        let found = Parameters { seed: seed.as_ref().ok().copied(), window: window.as_ref().ok().copied() };
        if let Some(order) = (info.with)(found) {
            return Ok(order);
        }
        // A parameter that the order needs is missing; the error names the window first.
        window?;
        seed?;
        Err(ResumeError::unreadable("the order", name, "its parameters, too"))
    }

    fn consumed(&self) -> Result<Consumed, ResumeError> {
        let positions = |v: &Value| v.as_array()?.iter().map(Value::as_u64).collect::<Option<Vec<u64>>>();
        let read = |v: &'a Value| v.as_array()?.iter().map(positions).collect::<Option<Vec<Vec<u64>>>>();
        let layers = self.get("consumed", "a list of lists of positions", read)?;
        Ok(Consumed { layers: layers.into_iter().map(layer).collect::<Result<_, _>>()? })
    }
}

fn row_to_json(row: &SlotState) -> Value {
    let pending = |w: &PendingSequence| {
        let fields = [w.sequence.into(), w.sweep_end.into(), w.sweep.into()];
        Value::Array(fields.into_iter().chain(w.keep.map(Value::from)).collect())
    };
    let waiting: Vec<Value> = row.waiting.iter().map(pending).collect();
    Value::Array(vec![row.cursor.into(), waiting.into()])
}

fn row_of_json(json: &Value, version: u64) -> Option<SlotState> {
    let has_sweeps = version != u64::from(WITHOUT_SWEEPS);
    let [cursor, waiting] = json.as_array()?.as_slice() else { return None };
    let pending = |json: &Value| {
        let [sequence, sweep_end, more @ ..] = json.as_array()?.as_slice() else { return None };
        let number = |json: &Value| json.as_u64().filter(|&n| n < 1 << 63);
        let (sweep, keep) = match more {
            [] if !has_sweeps => (0, None),
            [sweep] if has_sweeps => (number(sweep)?, None),
            [sweep, keep] if has_sweeps => (number(sweep)?, Some(u32::try_from(keep.as_u64()?).ok()?)),
            _ => return None,
        };
        Some(PendingSequence { sequence: number(sequence)?, sweep_end: sweep_end.as_bool()?, sweep, keep })
    };
    let waiting = waiting.as_array()?.iter().map(pending).collect::<Option<Vec<_>>>()?;
    Some(SlotState { cursor: u32::try_from(cursor.as_u64()?).ok()?, waiting })
}
