//! States: a handful of integers to go on from, and what they belong to.
//!
//! Binary form, version 2, little endian; 112 bytes, and 8 more a rank for merged states, 16 on local timelines, 16 a row
//! and 16 a sequence in it of truncated reading, 112 where ranks are kept together:
//!
//! | bytes | what |
//! |---|---|
//! | 4 | `TSNR` |
//! | 1, 1, 1, 1 | state version; order version; flags (1 share, 2 fingerprint, 4 index, 8 minibatches cross sweep ends, 16 consumed, 32 rows, 64 local timeline, 128 steps); order (0 as stored, 1 window in chunks, 2 window in samples, 3 global, 4 local as stored, 5 tumbling window in chunks, 6 in samples) |
//! | 8 × 4 | position; sweep; sequence; faults |
//! | 8 × 2 | workers; rank |
//! | 8 × 5 | corpus; index; options; seed; window |
//! | 8 + … | layers consumed, if any: their number; of each the number of ranks and their positions |
//! | 16 | on local timelines: place and sweep at which the window begins |
//! | 8 × 14 | where ranks are kept together: the fields of [`Steps`](crate::Steps), in order |
//! | 8 + … | truncated: number of rows; of each the cursor, the number of its sequences, and of these twice the number, plus 1 where a sweep ended; twice the sweep, plus 1 where the data end inside the sequence; then the samples that are kept of it |
//! | 8 | checksum of all before |
//!
//! Version 1 had no sweeps and no ends inside sequences; its states are read. Those without rows are the same in both, and
//! are still written as version 1.

use std::sync::Arc;

use serde_json::{Map, Value};
use tesson_core::{Coded, Index, ResumeError};

use crate::rng::{GOLDEN, mix};
use crate::{
    Consumed, Cursor, Demand, Layer, OrderSpec, RowState, RowsState, Steps, Waits, Window, WindowStart,
};

/// Version of the forms of a state. Earlier ones are read.
pub const STATE_VERSION: u8 = 2;

/// The version that knew nothing of a waiting sequence but its number.
const WITHOUT_SWEEPS: u8 = 1;

/// Version of the orders: states mean something only where the same orders are made.
pub const ORDER_VERSION: u8 = 1;

/// What a state belongs to: everything that decides which sequence comes when, and what it holds.
///
/// Paths, times, sizes of minibatches, workers, limits and threads are not in it: they may change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fingerprint {
    /// A hash of the sizes and both ends of all files.
    pub corpus: u64,
    /// [`index_shape`] of the index; `None` while it grows.
    pub index: Option<u64>,
    /// The order, with its seed and window.
    pub order: OrderSpec,
    /// Whether minibatches go on over sweep ends.
    pub cross_sweep_ends: bool,
    /// A hash of the deserializers' identities and of the options that change values.
    pub options: u64,
}

impl Fingerprint {
    /// Whether a state with this fingerprint belongs to a source with the other. An index that is pending on either
    /// side is not compared.
    ///
    /// # Errors
    /// [`ResumeError`] with the first thing that differs and both values.
    pub fn check(&self, source: &Fingerprint) -> Result<(), ResumeError> {
        let hex = |hash: u64| format!("{hash:016x}");
        same("the data (a hash of sizes and ends of the files)", hex(self.corpus), hex(source.corpus))?;
        same("the order", self.order.name(), source.order.name())?;
        if let (Some(one), Some(other)) = (self.order.seed(), source.order.seed()) {
            same("the randomization seed", one, other)?;
        }
        if let (Some(one), Some(other)) = (self.order.window(), source.order.window()) {
            same("the randomization window", one, other)?;
        }
        if let (Some(one), Some(other)) = (self.index, source.index) {
            same("the index (a hash of chunks and lengths)", hex(one), hex(other))?;
        }
        same("whether minibatches cross sweep ends", self.cross_sweep_ends, source.cross_sweep_ends)?;
        same(
            "the options (a hash of those that change order or values)",
            hex(self.options),
            hex(source.options),
        )
    }
}

fn same<T: PartialEq + ToString>(what: &str, state: T, source: T) -> Result<(), ResumeError> {
    if state == source { Ok(()) } else { Err(refusal(what, state, source)) }
}

/// A position to go on from, and what it belongs to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResumeState {
    /// The position.
    pub cursor: Cursor,
    /// Under sharing by chunk whose position it is: the number of workers, and the rank.
    pub share: Option<(u64, u64)>,
    /// Faults charged so far.
    pub faults: u64,
    /// In truncated reading: what waits in the rows.
    pub rows: Option<Arc<RowsState>>,
    /// In merged states: what was consumed beyond the position.
    pub consumed: Option<Arc<Consumed>>,
    /// What the state belongs to; `None` for a bare position, as the reference saves it.
    pub fingerprint: Option<Arc<Fingerprint>>,
}

impl ResumeState {
    /// A position and nothing else, as the reference saves it.
    pub fn bare(position: u64) -> ResumeState {
        ResumeState { cursor: Cursor { position, ..Cursor::default() }, ..ResumeState::default() }
    }

    /// Whether there is no more to this state than its position.
    pub fn is_bare(&self) -> bool {
        self.fingerprint.is_none()
    }

    /// Whether the state belongs to a source. Bare positions belong to any.
    ///
    /// # Errors
    /// As [`Fingerprint::check`].
    pub fn check(&self, source: &Fingerprint) -> Result<(), ResumeError> {
        self.fingerprint.as_ref().map_or(Ok(()), |fingerprint| fingerprint.check(source))
    }

    /// Whether a demand may go on from here. A rank's state says nothing about the shares of the others, so it is
    /// good for the same rank of the same number of workers only.
    ///
    /// # Errors
    /// [`ResumeError`] with both shares, and how to go on with other workers.
    pub fn check_share(&self, demand: Demand) -> Result<(), ResumeError> {
        let Some((workers, rank)) = self.share.filter(|_| !self.is_bare()) else { return Ok(()) };
        if (workers, rank) == (demand.workers, demand.rank) {
            return Ok(());
        }
        Err(refusal(
            "the share of the data",
            format_args!("rank {rank} of {workers} workers"),
            format_args!(
                "rank {} of {} (combine the states of all ranks with `merge_states` to change the workers)",
                demand.rank, demand.workers
            ),
        ))
    }

    /// The binary form: at most 128 bytes, merged states excepted.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = b"TSNR".to_vec();
        let fingerprint = self.fingerprint.as_deref();
        let (order, seed, size) = order_to_numbers(fingerprint.map(|f| &f.order));
        bytes.extend([self.version(), ORDER_VERSION, self.flags(), order]);
        let (workers, rank) = self.share.unwrap_or_default();
        let Cursor { position, sweep, sequence, window, steps } = self.cursor;
        let hashes = fingerprint.map_or([0; 3], |f| [f.corpus, f.index.unwrap_or(0), f.options]);
        let numbers = [position, sweep, sequence, self.faults, workers, rank];
        let mut put = |number: u64| bytes.extend(number.to_le_bytes());
        numbers.into_iter().chain(hashes).chain([seed, size]).for_each(&mut put);
        if let Some(consumed) = &self.consumed {
            put(consumed.layers.len() as u64);
            for layer in &consumed.layers {
                put(layer.positions.len() as u64);
                layer.positions.iter().for_each(|&position| put(position));
            }
        }
        if self.is_local() {
            [window.place, window.sweep].into_iter().for_each(&mut put);
        }
        if steps.is_running() {
            steps.numbers().into_iter().for_each(&mut put);
        }
        if let Some(state) = &self.rows {
            put(state.rows.len() as u64);
            for row in &state.rows {
                put(row.cursor.into());
                put(row.waiting.len() as u64);
                for waits in &row.waiting {
                    put(waits.sequence << 1 | u64::from(waits.sweep_end));
                    put(waits.sweep << 1 | u64::from(waits.keep.is_some()));
                    waits.keep.map(u64::from).into_iter().for_each(&mut put);
                }
            }
        }
        let checksum = checksum(&bytes);
        bytes.extend(checksum.to_le_bytes());
        bytes
    }

    /// The first version that can say this.
    fn version(&self) -> u8 {
        if self.rows.is_some() { STATE_VERSION } else { WITHOUT_SWEEPS }
    }

    fn flags(&self) -> u8 {
        let fingerprint = self.fingerprint.as_deref();
        u8::from(self.share.is_some())
            | u8::from(fingerprint.is_some()) << 1
            | u8::from(fingerprint.is_some_and(|f| f.index.is_some())) << 2
            | u8::from(fingerprint.is_some_and(|f| f.cross_sweep_ends)) << 3
            | u8::from(self.consumed.is_some()) << 4
            | u8::from(self.rows.is_some()) << 5
            | u8::from(self.is_local()) << 6
            | u8::from(self.cursor.steps.is_running()) << 7
    }

    /// Whether the position is one of a local timeline, so that it says where a window begins.
    fn is_local(&self) -> bool {
        let order = self.fingerprint.as_ref().map(|f| &f.order);
        order.map_or(self.cursor.window != WindowStart::default(), OrderSpec::is_local)
    }

    /// The state of its binary form.
    ///
    /// # Errors
    /// [`ResumeError`] for anything else, and for states of other versions.
    pub fn from_bytes(bytes: &[u8]) -> Result<ResumeState, ResumeError> {
        let body = bytes
            .strip_prefix(b"TSNR")
            .ok_or_else(|| refusal("the beginning", "something else", "`TSNR`"))?;
        let &[state, orders, flags, order, ..] = body else { return Err(too_short(bytes)) };
        let version = check_versions(state.into(), orders.into())?;
        let (content, sum) = bytes.split_last_chunk::<8>().ok_or_else(|| too_short(bytes))?;
        let (found, expected) = (u64::from_le_bytes(*sum), checksum(content));
        same("the checksum", format!("{found:016x}"), format!("{expected:016x}"))?;
        let mut numbers = Numbers { bytes: content.get(8..).unwrap_or_default(), total: bytes.len() };
        let [position, sweep, sequence] = [numbers.take()?, numbers.take()?, numbers.take()?];
        let faults = numbers.take()?;
        let share = (numbers.take()?, numbers.take()?);
        let [corpus, index, options] = [numbers.take()?, numbers.take()?, numbers.take()?];
        let order = order_from_numbers(order, numbers.take()?, numbers.take()?)?;
        let consumed = if flags & 16 != 0 { Some(Arc::new(numbers.consumed()?)) } else { None };
        let window = match flags & 64 {
            0 => WindowStart::default(),
            _ => WindowStart { place: numbers.take()?, sweep: numbers.take()? },
        };
        let steps = if flags & 128 != 0 { numbers.steps()? } else { Steps::default() };
        let cursor = Cursor { position, sweep, sequence, window, steps };
        let rows = if flags & 32 != 0 { Some(Arc::new(numbers.rows(version)?)) } else { None };
        let fingerprint = Fingerprint {
            corpus,
            index: (flags & 4 != 0).then_some(index),
            order,
            cross_sweep_ends: flags & 8 != 0,
            options,
        };
        Ok(ResumeState {
            cursor,
            share: (flags & 1 != 0).then_some(share),
            faults,
            rows,
            consumed,
            fingerprint: (flags & 2 != 0).then(|| Arc::new(fingerprint)),
        })
    }

    /// The JSON form: `minibatchSourcePosition`, as the reference has it, and the rest by name.
    pub fn to_json(&self) -> Value {
        let mut json = Map::new();
        let mut put = |name: &str, value: Value| json.insert(name.into(), value);
        self.position_fields(&mut put);
        let Some(fingerprint) = self.fingerprint.as_deref() else { return json.into() };
        put("stateVersion", self.version().into());
        put("orderVersion", ORDER_VERSION.into());
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
        let version = check_versions(fields.number("stateVersion")?, fields.number("orderVersion")?)?;
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
            order: fields.order()?,
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

/// The numbers of a binary state, in turn.
struct Numbers<'a> {
    bytes: &'a [u8],
    total: usize,
}

impl Numbers<'_> {
    fn take(&mut self) -> Result<u64, ResumeError> {
        let (number, rest) = self
            .bytes
            .split_first_chunk::<8>()
            .ok_or_else(|| refusal("the length", format_args!("{} bytes", self.total), "more"))?;
        self.bytes = rest;
        Ok(u64::from_le_bytes(*number))
    }

    /// The rows of a state of this version.
    fn rows(&mut self, version: u8) -> Result<RowsState, ResumeError> {
        let n_rows = self.take()?;
        let mut rows = Vec::new();
        for _ in 0..n_rows {
            let (cursor, n) = (self.take()?, self.take()?);
            let cursor = u32::try_from(cursor).map_err(|_| refusal("the cursor of a row", cursor, "less"))?;
            let waiting = (0..n).map(|_| self.waits(version)).collect::<Result<Vec<_>, _>>()?;
            rows.push(RowState { cursor, waiting });
        }
        Ok(RowsState { rows })
    }

    fn waits(&mut self, version: u8) -> Result<Waits, ResumeError> {
        let number = self.take()?;
        let sweep = if version == WITHOUT_SWEEPS { 0 } else { self.take()? };
        let keep = if sweep & 1 == 1 { Some(self.take()?) } else { None };
        let keep = keep.map(|n| u32::try_from(n).map_err(|_| refusal("the samples to keep", n, "less")));
        Ok(Waits {
            sequence: number >> 1,
            sweep_end: number & 1 == 1,
            sweep: sweep >> 1,
            keep: keep.transpose()?,
        })
    }

    fn steps(&mut self) -> Result<Steps, ResumeError> {
        let mut all = [0; Steps::NAMES.len()];
        for number in &mut all {
            *number = self.take()?;
        }
        Ok(Steps::of_numbers(all))
    }

    fn consumed(&mut self) -> Result<Consumed, ResumeError> {
        let n_layers = self.take()?;
        let mut layers = Vec::new();
        for _ in 0..n_layers {
            let ranks = self.take()?;
            // Collecting stops where the bytes do, so a wild number of ranks allocates nothing.
            let positions = (0..ranks).map(|_| self.take()).collect::<Result<Vec<u64>, _>>()?;
            layers.push(layer(positions)?);
        }
        Ok(Consumed { layers })
    }
}

fn layer(positions: Vec<u64>) -> Result<Layer, ResumeError> {
    if positions.is_empty() {
        Err(refusal("`consumed`", "of 0 ranks", "of 1 or more"))
    } else {
        Ok(Layer { positions })
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

impl Steps {
    /// The names of the fields in states, in order.
    const NAMES: [&str; 14] = [
        "minibatchSizeInSamples",
        "minibatchSizeInSequences",
        "numberOfWorkers",
        "given",
        "of",
        "sweep",
        "beginPosition",
        "beginSequence",
        "againPosition",
        "againSequence",
        "endPosition",
        "endSequence",
        "sequences",
        "dataEnd",
    ];

    fn numbers(&self) -> [u64; Steps::NAMES.len()] {
        let Steps { samples, sequences, workers, given, of, sweep, n_sequences, data_end, .. } = *self;
        let Steps {
            begin_position,
            begin_sequence,
            again_position,
            again_sequence,
            end_position,
            end_sequence,
            ..
        } = *self;
        [
            samples,
            sequences,
            workers,
            given,
            of,
            sweep,
            begin_position,
            begin_sequence,
            again_position,
            again_sequence,
            end_position,
            end_sequence,
            n_sequences,
            data_end.into(),
        ]
    }

    fn of_numbers(numbers: [u64; Steps::NAMES.len()]) -> Steps {
        let [
            samples,
            sequences,
            workers,
            given,
            of,
            sweep,
            begin_position,
            begin_sequence,
            again_position,
            again_sequence,
            end_position,
            end_sequence,
            n_sequences,
            data_end,
        ] = numbers;
        Steps {
            samples,
            sequences,
            workers,
            given,
            of,
            sweep,
            begin_position,
            begin_sequence,
            again_position,
            again_sequence,
            end_position,
            end_sequence,
            n_sequences,
            data_end: data_end != 0,
        }
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

fn order_to_numbers(order: Option<&OrderSpec>) -> (u8, u64, u64) {
    match order {
        None | Some(OrderSpec::AsStored) => (0, 0, 0),
        Some(&OrderSpec::ChunkWindow { window: Window::Chunks(n), seed }) => (1, seed, n),
        Some(&OrderSpec::ChunkWindow { window: Window::Samples(n), seed }) => (2, seed, n),
        Some(&OrderSpec::Global { seed }) => (3, seed, 0),
        Some(OrderSpec::LocalPlain) => (4, 0, 0),
        Some(&OrderSpec::Tumbling { window: Window::Chunks(n), seed }) => (5, seed, n),
        Some(&OrderSpec::Tumbling { window: Window::Samples(n), seed }) => (6, seed, n),
    }
}

fn order_from_numbers(order: u8, seed: u64, window: u64) -> Result<OrderSpec, ResumeError> {
    Ok(match order {
        0 => OrderSpec::AsStored,
        1 => OrderSpec::ChunkWindow { window: Window::Chunks(window), seed },
        2 => OrderSpec::ChunkWindow { window: Window::Samples(window), seed },
        3 => OrderSpec::Global { seed },
        4 => OrderSpec::LocalPlain,
        5 => OrderSpec::Tumbling { window: Window::Chunks(window), seed },
        6 => OrderSpec::Tumbling { window: Window::Samples(window), seed },
        _ => return Err(refusal("the order", order, "0 to 6")),
    })
}

/// The version of the state, if it is one that is read.
fn check_versions(state: u64, orders: u64) -> Result<u8, ResumeError> {
    let version = [WITHOUT_SWEEPS, STATE_VERSION].into_iter().find(|&known| u64::from(known) == state);
    let version = version.ok_or_else(|| refusal("the version of the state", state, STATE_VERSION))?;
    same("the version of the orders", orders, ORDER_VERSION.into())?;
    Ok(version)
}

fn too_short(bytes: &[u8]) -> ResumeError {
    refusal("the length", format_args!("{} bytes", bytes.len()), "112 or more")
}

fn refusal(what: &str, state: impl ToString, source: impl ToString) -> ResumeError {
    ResumeError { what: what.into(), state: state.to_string(), source: source.to_string() }
}

pub(crate) fn checksum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(GOLDEN, |sum, &byte| mix(sum ^ u64::from(byte)))
}

/// A hash of the chunks of a complete index and the counted lengths in them, however they are coded.
pub fn index_shape(index: &Index) -> u64 {
    let add = |shape: u64, number: u64| mix(shape ^ number).wrapping_add(GOLDEN);
    let mut shape = add(0, index.n_chunks() as u64);
    for chunk in 0..index.n_chunks() {
        let lengths = index.lengths(chunk);
        shape = add(shape, lengths.len() as u64);
        match only(lengths) {
            // Told apart from listed lengths by its upper half.
            Some(length) => shape = add(shape, u64::from(length) << 32 | 1),
            None => (0..lengths.len()).for_each(|i| shape = add(shape, lengths.get(i).into())),
        }
    }
    shape
}

/// The only length in a column, if there is no other.
fn only(lengths: &Coded) -> Option<u32> {
    if lengths.is_empty() {
        return None;
    }
    let first = lengths.get(0);
    let constant = matches!(lengths, Coded::Constant { .. });
    (constant || (1..lengths.len()).all(|i| lengths.get(i) == first)).then_some(first)
}
