//! The form of states in JSON: the fields of the reference (§11), and the rest by name.

use std::sync::Arc;

use serde_json::{Map, Value};
use tesson_core::ResumeError;

use super::{Fingerprint, ResumeState, WITHOUT_SWEEPS, check_order_version, check_version, layer, refusal};
use crate::{Consumed, Cursor, OrderSpec, RowState, RowsState, Steps, Waits, Window, WindowStart};

impl ResumeState {
    /// The JSON form: `minibatchSourcePosition`, as the reference has it, and the rest by name.
    pub fn to_json(&self) -> Value {
        let mut json = Map::new();
        let mut put = |name: &str, value: Value| json.insert(name.into(), value);
        self.position_fields(&mut put);
        let Some(fingerprint) = self.fingerprint.as_deref() else { return json.into() };
        put("stateVersion", self.version().into());
        put("orderVersion", self.order_version().into());
        if !self.is_local() {
            put("sweep", self.cursor.sweep.into());
            put("sequence", self.cursor.sequence.into());
        }
        put("faults", self.faults.into());
        if let Some((workers, rank)) = self.share {
            put("numberOfWorkers", workers.into());
            put("workerRank", rank.into());
        }
        if self.cursor.steps.is_running() {
            let numbers = self.cursor.steps.numbers();
            let entries = Steps::NAMES.iter().zip(numbers).map(|(name, n)| (name.to_string(), n.into()));
            put("equalSteps", entries.collect::<Map<_, _>>().into());
        }
        if let Some(state) = &self.rows {
            put("rows", state.rows.iter().map(row_to_json).collect::<Vec<_>>().into());
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
            Some(&Window::Chunks(n)) => drop(put("randomizationWindowInChunks", n.into())),
            Some(&Window::Samples(n)) => drop(put("randomizationWindowInSamples", n.into())),
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

    /// The position, under the names that the reference has for it (§11).
    fn position_fields(&self, put: &mut impl FnMut(&str, Value) -> Option<Value>) {
        let Cursor { position, sweep, sequence, window, .. } = self.cursor;
        if !self.is_local() {
            put("minibatchSourcePosition", position.into());
            return;
        }
        put("baseSampleCount", position.into());
        put("baseSweepCount", sweep.into());
        put("baseCurrentSequencePositionInWindow", sequence.into());
        match self.fingerprint.as_ref().map(|f| &f.order) {
            Some(OrderSpec::LocalPlain) => {
                put("currentChunkPosition", window.place.into());
                // Follows from the chunk; the reference counts it with several workers only.
                put("currentSequencePosition", 0.into());
            }
            _ => {
                put("chunkPosition", window.place.into());
                put("sweepIndex", window.sweep.into());
            }
        }
    }

    /// The state of its JSON form. An object that only says `minibatchSourcePosition` is a bare position; fields
    /// nobody knows are ignored.
    ///
    /// # Errors
    /// [`ResumeError`] with the field that is missing or not what it should be, and for states of other versions.
    pub fn from_json(json: &Value) -> Result<ResumeState, ResumeError> {
        let fields = Fields(json);
        let local = json.get("baseSampleCount").is_some();
        let mut cursor = if local { fields.local_cursor()? } else { fields.bare_cursor()? };
        if json.get("stateVersion").is_none() {
            return Ok(ResumeState { cursor, ..ResumeState::default() });
        }
        let version = check_version(fields.number("stateVersion")?)?;
        let order = fields.order()?;
        check_order_version(&order, fields.number("orderVersion")?)?;
        if !local {
            (cursor.sweep, cursor.sequence) = (fields.number("sweep")?, fields.number("sequence")?);
        }
        if let Some(steps) = json.get("equalSteps") {
            cursor.steps = Fields(steps).steps()?;
        }
        let share = match json.get("numberOfWorkers") {
            None => None,
            Some(_) => Some((fields.number("numberOfWorkers")?, fields.number("workerRank")?)),
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
            refusal(&format!("`{name}`"), found, format_args!("{what}, as expected"))
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
        let window = match self.0.get("chunkPosition") {
            Some(_) => {
                WindowStart { place: self.number("chunkPosition")?, sweep: self.number("sweepIndex")? }
            }
            None => {
                self.number("currentSequencePosition")?;
                WindowStart { place: self.number("currentChunkPosition")?, sweep: 0 }
            }
        };
        Ok(Cursor {
            position: self.number("baseSampleCount")?,
            sweep: self.number("baseSweepCount")?,
            sequence: self.number("baseCurrentSequencePositionInWindow")?,
            window,
            steps: Steps::default(),
        })
    }

    fn steps(&self) -> Result<Steps, ResumeError> {
        let mut all = [0; Steps::NAMES.len()];
        for (number, name) in all.iter_mut().zip(Steps::NAMES) {
            *number = self.number(name)?;
        }
        Ok(Steps::of_numbers(all))
    }

    fn rows(&self, version: u8) -> Result<RowsState, ResumeError> {
        let row = |v: &Value| row_of_json(v, version);
        let read = |v: &'a Value| v.as_array()?.iter().map(row).collect::<Option<Vec<RowState>>>();
        let sweep = if version == WITHOUT_SWEEPS { "" } else { ", sweep" };
        let what = format!("a list of rows, [cursor, [[sequence, sweep end{sweep}], …]] each");
        Ok(RowsState { rows: self.get("rows", &what, read)? })
    }

    fn order(&self) -> Result<OrderSpec, ResumeError> {
        let name = self.get("order", "the name of an order", Value::as_str)?;
        match name {
            "as_stored" => Ok(OrderSpec::AsStored),
            "global" => Ok(OrderSpec::Global { seed: self.number("randomizationSeed")? }),
            "local_plain" => Ok(OrderSpec::LocalPlain),
            "chunk_window" | "tumbling" => {
                let window = match self.0.get("randomizationWindowInSamples") {
                    Some(_) => Window::Samples(self.number("randomizationWindowInSamples")?),
                    None => Window::Chunks(self.number("randomizationWindowInChunks")?),
                };
                let seed = self.number("randomizationSeed")?;
                Ok(match name {
                    "tumbling" => OrderSpec::Tumbling { window, seed },
                    _ => OrderSpec::ChunkWindow { window, seed },
                })
            }
            _ => Err(refusal(
                "the order",
                name,
                "one of as_stored, chunk_window, global, local_plain, tumbling",
            )),
        }
    }

    fn consumed(&self) -> Result<Consumed, ResumeError> {
        let positions = |v: &Value| v.as_array()?.iter().map(Value::as_u64).collect::<Option<Vec<u64>>>();
        let read = |v: &'a Value| v.as_array()?.iter().map(positions).collect::<Option<Vec<Vec<u64>>>>();
        let layers = self.get("consumed", "a list of lists of positions", read)?;
        Ok(Consumed { layers: layers.into_iter().map(layer).collect::<Result<_, _>>()? })
    }
}

fn row_to_json(row: &RowState) -> Value {
    let waits = |w: &Waits| {
        let fields = [w.sequence.into(), w.sweep_end.into(), w.sweep.into()];
        Value::Array(fields.into_iter().chain(w.keep.map(Value::from)).collect())
    };
    let waiting: Vec<Value> = row.waiting.iter().map(waits).collect();
    Value::Array(vec![row.cursor.into(), waiting.into()])
}

fn row_of_json(json: &Value, version: u8) -> Option<RowState> {
    let [cursor, waiting] = json.as_array()?.as_slice() else { return None };
    let waits = |json: &Value| {
        let [sequence, sweep_end, more @ ..] = json.as_array()?.as_slice() else { return None };
        let number = |json: &Value| json.as_u64().filter(|&n| n < 1 << 63);
        let (sweep, keep) = match more {
            [] if version == WITHOUT_SWEEPS => (0, None),
            [sweep] if version != WITHOUT_SWEEPS => (number(sweep)?, None),
            [sweep, keep] if version != WITHOUT_SWEEPS => {
                (number(sweep)?, Some(u32::try_from(keep.as_u64()?).ok()?))
            }
            _ => return None,
        };
        Some(Waits { sequence: number(sequence)?, sweep_end: sweep_end.as_bool()?, sweep, keep })
    };
    let waiting = waiting.as_array()?.iter().map(waits).collect::<Option<Vec<_>>>()?;
    Some(RowState { cursor: u32::try_from(cursor.as_u64()?).ok()?, waiting })
}
