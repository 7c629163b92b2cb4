//! The orders that CNTK 2.7 was seen to give: the recorded cases of the engine.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value;
use tesson_case_lookup::CaseFolder;
use tesson_core::{CompactLengths, Index};

use super::*;
use crate::{BatchPlan, Cursor};

/// Cases whose deviation says that Tesson answers otherwise; each sentence is quoted at the test of what it demands.
const DEVIATING: [&str; 4] = [
    "block-restore-other-workers",
    "block-restore-seed7-sweep0",
    "plain-workers2-size-changes-r0",
    "plain-workers2-size-changes-r1",
];

/// The index of a text file of lines `key |x value`, and the key of each sequence by chunk.
fn index_text(text: &str, chunk_bytes: u64) -> (Index, Vec<Vec<u64>>) {
    let mut sequences: Vec<(u64, u32, u64)> = Vec::new();
    for line in text.split_inclusive('\n') {
        let key = line.split('|').next().unwrap().trim();
        let bytes = line.len() as u64;
        match sequences.last_mut() {
            Some(last) if key.is_empty() || key.parse() == Ok(last.0) => {
                last.1 += 1;
                last.2 += bytes;
            }
            _ => sequences.push((key.parse().unwrap(), 1, bytes)),
        }
    }
    let mut chunks: Vec<(Vec<u32>, Vec<u64>, u64)> = Vec::new();
    for (key, length, bytes) in sequences {
        match chunks.last_mut() {
            Some(chunk) if chunk.2 + bytes <= chunk_bytes => {
                chunk.0.push(length);
                chunk.1.push(key);
                chunk.2 += bytes;
            }
            _ => chunks.push((vec![length], vec![key], bytes)),
        }
    }
    let mut index = Index::new();
    chunks.iter().for_each(|(lengths, _, bytes)| index.push(CompactLengths::new(lengths), *bytes));
    index.seal();
    (index, chunks.into_iter().map(|(_, keys, _)| keys).collect())
}

fn spec_of(source: &Value) -> PlanSpec {
    let number = |name: &str| source[name].as_u64();
    let size = number("randomizationWindow").unwrap_or(128);
    let window = match source["sampleBasedRandomizationWindow"].as_bool() {
        Some(true) => Window::Samples(size),
        _ => Window::Chunks(size),
    };
    let order = if source["randomize"] == Value::Bool(false) || size == 0 {
        OrderSpec::AsStored
    } else {
        OrderSpec::ChunkWindow(ChunkWindow { window, seed: number("randomizationSeed").unwrap_or(0) })
    };
    let limit = match (number("maxSamples"), number("maxSweeps")) {
        (Some(n), _) if n == u64::MAX - 1 => Limit::Sweeps(1),
        (Some(n), _) if n < u64::MAX => Limit::Samples(n),
        (_, Some(n)) if n < u64::MAX => Limit::Sweeps(n),
        _ => Limit::Endless,
    };
    PlanSpec {
        ending: Ending::default(),
        order,
        sharing: Sharing::Chunk,
        limit,
        cross_sweep_ends: true,
        epoch_size: None,
        local_timeline: source["localTimeline"] != Value::Bool(false),
        most_sequences: None,
        bucketing: None,
        equal_steps: None,
        excluded: None,
    }
}

/// A source as the reference has it, on top of a planner: calls, positions, restores (spec/engine.md §10.1).
struct Replay {
    index: Index,
    keys: Vec<Vec<u64>>,
    spec: PlanSpec,
    planner: Planner,
    delivered: Cursor,
    last: Option<Demand>,
    started: bool,
    ended: bool,
    saved: BTreeMap<String, Cursor>,
}

impl Replay {
    /// One call, as the recorded line has it: ends of sweeps and data, keys and lengths.
    fn next(&mut self, demand: Demand) -> Value {
        if self.ended {
            return serde_json::json!({"end": true});
        }
        if !self.started {
            let bare = self.delivered;
            match self.planner.start(&self.index, demand) {
                Ok(cursor) => self.delivered = cursor.unwrap(),
                Err(e) => return serde_json::json!({"error": e.to_string()}),
            }
            if bare != Cursor::default() {
                self.delivered = self.planner.resume(&self.index, bare, Some(demand)).unwrap().unwrap();
            }
            self.started = true;
        } else if self.last != Some(demand) {
            match self.planner.resume(&self.index, self.delivered, Some(demand)) {
                Ok(cursor) => self.delivered = cursor.unwrap(),
                Err(e) => return serde_json::json!({"error": e.to_string()}),
            }
        }
        self.last = Some(demand);
        let mut plan = BatchPlan::default();
        self.planner.next_batch(&self.index, demand, &mut plan).unwrap();
        self.delivered = plan.after;
        self.ended = plan.data_end;
        if plan.is_end() {
            return serde_json::json!({"end": true});
        }
        let length = |p: &SequenceId| self.index.length(*p);
        let sequences: Vec<_> =
            plan.own.iter().map(|p| (self.keys[p.chunk.index()][p.sequence as usize], length(p))).collect();
        serde_json::json!({"sweepEnd": plan.sweep_end, "sequences": sequences})
    }

    fn restore(&mut self, state: &Value) -> u64 {
        let saved = state.as_str().map(|label| self.saved[label]);
        let found = match saved {
            Some(cursor) => self.planner.resume(&self.index, cursor, None),
            None => {
                let position = state["minibatchSourcePosition"].as_u64().unwrap();
                self.planner.seek(&self.index, position, None)
            }
        };
        self.delivered = found.unwrap().unwrap();
        (self.started, self.ended, self.last) = (false, false, None);
        self.delivered.position
    }

    fn reopen(&mut self) {
        self.planner = Planner::new(self.spec.clone());
        self.delivered = Cursor::default();
        (self.started, self.ended, self.last) = (false, false, None);
    }
}

/// The contents of a recorded minibatch, in the form of [`Replay::next`].
fn recorded(line: &Value) -> Value {
    let Some(streams) = line["streams"].as_object() else { return line.clone() };
    let sequences = streams.values().next().unwrap()["sequences"].as_array().unwrap();
    let of = |sequence: &Value| {
        let samples = sequence.as_array().unwrap();
        (samples[0][0].as_f64().unwrap() as u64 / 100, samples.len())
    };
    let sequences: Vec<_> = sequences.iter().map(of).collect();
    serde_json::json!({"sweepEnd": line["sweepEnd"], "sequences": sequences})
}

fn demand_of(next: &Value) -> Demand {
    let number = |name: &str, or: u64| next[name].as_u64().unwrap_or(or);
    demand(number("minibatchSizeInSamples", 0), number("numberOfWorkers", 1), number("workerRank", 0))
}

/// Runs a case; returns for each recorded line what was recorded and what the planner says.
fn run(case: &Path) -> Vec<(Value, Value)> {
    let request: Value = serde_json::from_str(&fs::read_to_string(case.join("case.json")).unwrap()).unwrap();
    let source = &request["source"];
    let deserializer = &source["deserializers"][0];
    let text = fs::read_to_string(case.join(deserializer["file"].as_str().unwrap())).unwrap();
    let (index, keys) = index_text(&text, deserializer["chunkSizeInBytes"].as_u64().unwrap_or(32 << 20));
    let spec = spec_of(source);
    let planner = Planner::new(spec.clone());
    let mut replay = Replay {
        index,
        keys,
        spec,
        planner,
        delivered: Cursor::default(),
        last: None,
        started: false,
        ended: false,
        saved: BTreeMap::new(),
    };
    let expected = fs::read_to_string(case.join("expected.jsonl")).unwrap();
    let mut lines = expected.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()).peekable();
    let mut pairs = Vec::new();
    for step in request["steps"].as_array().unwrap() {
        let until_end = step["until"] == "end";
        for _ in 0..if until_end { u64::MAX } else { step["repeat"].as_u64().unwrap_or(1) } {
            let Some(line) = lines.next() else { return pairs };
            let last = line.get("end").is_some() || line.get("error").is_some();
            let answer = if let Some(next) = step.get("next") {
                replay.next(demand_of(next))
            } else if let Some(label) = step.get("checkpoint") {
                replay.saved.insert(label.as_str().unwrap().into(), replay.delivered);
                serde_json::json!({"checkpoint": label, "state": {"minibatchSourcePosition": replay.delivered.position}})
            } else if let Some(state) = step.get("restore") {
                let position = replay.restore(state);
                serde_json::json!({"restore": state, "state": {"minibatchSourcePosition": position}})
            } else {
                replay.reopen();
                serde_json::json!({"reopen": true})
            };
            pairs.push((recorded(&line), answer));
            if until_end && last {
                break;
            }
        }
    }
    assert!(lines.next().is_none(), "{}: more lines than steps", case.display());
    pairs
}

/// True if a line matches the recorded one: both are equal, or both are a refusal.
fn agrees((recorded, found): &(Value, Value)) -> bool {
    recorded == found || recorded.get("error").is_some() && found.get("error").is_some()
}

/// The cases with the wanted names, at least one.
fn cases(wanted: impl Fn(&str) -> bool) -> Vec<CaseFolder> {
    let mut cases = tesson_case_lookup::cases("cntk/engine");
    cases.retain(|case| wanted(case.short_name()));
    assert!(!cases.is_empty());
    cases
}

#[test]
fn block_and_plain_cases_come_out_as_recorded() {
    for case in
        cases(|name| (name.starts_with("block-") || name.starts_with("plain-")) && !DEVIATING.contains(&name))
    {
        for (i, pair) in run(&case.path).iter().enumerate() {
            assert!(agrees(pair), "{}, line {}: {:?}", case.name, i + 1, pair);
        }
    }
}

/// "Where the reference says error, Tesson hands out an empty minibatch (no sequences, sweepEnd as computed) and goes on."
#[test]
fn an_empty_share_is_an_empty_minibatch() {
    for case in cases(|name| name == "block-restore-other-workers") {
        for pair in run(&case.path) {
            let empty =
                pair.0.get("error").is_some() && pair.1["sequences"].as_array().is_some_and(Vec::is_empty);
            assert!(empty || agrees(&pair), "{pair:?}");
        }
    }
}

/// "Tesson restores exactly: the four minibatches after the restore are the four recorded right after the checkpoint."
#[test]
fn a_restored_source_goes_on_as_the_one_that_was_saved() {
    for case in cases(|name| name == "block-restore-seed7-sweep0") {
        let pairs = run(&case.path);
        let (before, after) = pairs.split_at(pairs.len() - 4);
        assert!(before.iter().all(agrees));
        let saved = before.iter().position(|(line, _)| line.get("checkpoint").is_some()).unwrap();
        for (expected, found) in before[saved + 1..].iter().zip(after) {
            assert_eq!(expected.0, found.1);
        }
    }
}

/// "Tesson keeps the dealing of an unchanged size: by running number since the start of the data; every sequence goes to
/// exactly one rank."
#[test]
fn a_change_of_size_does_not_change_whose_sequence_it_is() {
    let ranks: Vec<_> =
        cases(|name| name.starts_with("plain-workers2-size-changes")).iter().map(|c| run(&c.path)).collect();
    assert!(ranks.iter().all(|pairs| pairs[..4].iter().all(agrees)), "before the change");
    let mut keys: Vec<u64> = ranks
        .iter()
        .flatten()
        .flat_map(|(_, found)| found["sequences"].as_array().cloned().unwrap_or_default())
        .map(|sequence| sequence[0].as_u64().unwrap())
        .collect();
    keys.sort_unstable();
    // The case reads four sweeps.
    let runs: Vec<usize> = keys.chunk_by(|a, b| a == b).map(<[u64]>::len).collect();
    assert!(runs.iter().all(|&run| run == 4), "{keys:?}");
}
