//! Reading in stored order, dealt to workers by running number: written from spec/engine.md §7 alone, on sequences
//! that were read one at a time by one worker.

use serde_json::{Map, Value, json};

use crate::reader::one_by_one;
use crate::{Case, Reader, Request, RustApi, Times};

/// A sequence: how many samples it counts, and its samples by stream.
struct Sequence {
    counted: u64,
    streams: Map<String, Value>,
}

/// Deals sequences to workers by their running number since the start of the data, for any requests.
pub(crate) struct Dealing {
    sequences: Vec<Sequence>,
    /// Samples in a sweep.
    sweep: u64,
    /// The position at which the data end.
    end: u64,
    local_timeline: bool,
    position: u64,
    /// Running number of the sequence that comes next.
    number: u64,
    ended: bool,
}

const INFINITELY_REPEAT: u64 = u64::MAX;
const FULL_DATA_SWEEP: u64 = u64::MAX - 1;

impl Dealing {
    /// Reads all sequences of a case.
    pub(crate) fn new(case: &Case) -> Result<Dealing, String> {
        let sequences = read_one_by_one(case)?;
        let sweep = sequences.iter().map(|s| s.counted).sum();
        let given = |name: &str| case.source.get(name).and_then(Value::as_u64).unwrap_or(INFINITELY_REPEAT);
        let end = match (given("maxSweeps"), given("maxSamples")) {
            (INFINITELY_REPEAT, INFINITELY_REPEAT) => i64::MAX as u64,
            (INFINITELY_REPEAT, FULL_DATA_SWEEP) => sweep,
            (INFINITELY_REPEAT, samples) => samples,
            (sweeps, _) => sweep * sweeps,
        };
        let local_timeline = case.source.get("localTimeline") != Some(&Value::Bool(false));
        Ok(Dealing { sequences, sweep, end, local_timeline, position: 0, number: 0, ended: false })
    }

    fn limits(&self, request: &Request, samples: u64) -> (u64, u64) {
        if !self.local_timeline {
            return (samples, samples);
        }
        let share = samples / request.workers + u64::from(request.rank < samples % request.workers);
        (u64::MAX, share.max(1))
    }

    fn read(&mut self, request: &Request) -> Value {
        let Some(samples) = request.samples.filter(|n| *n > 0 && request.sequences.is_none()) else {
            return json!({"error": "this size is refused"});
        };
        if self.ended {
            return json!({"end": true});
        }
        let (global, local) = self.limits(request, samples);
        let (mut all, mut own, mut taken) = (0, 0, Vec::new());
        let first_sweep = self.position / self.sweep;
        while all < global && own < local {
            let index = (self.number % self.sequences.len() as u64) as usize;
            let n = self.sequences[index].counted;
            let is_own = self.number % request.workers == request.rank;
            let is_full = all + n > global || (is_own && own + n > local);
            if self.position >= self.end || (!taken.is_empty() && is_full) {
                break;
            }
            if is_own {
                taken.push(index);
                own += n;
            }
            all += n;
            self.position += n;
            self.number += 1;
        }
        self.ended = self.position >= self.end;
        if taken.is_empty() {
            return json!({"end": true});
        }
        json!({"sweepEnd": self.position / self.sweep != first_sweep, "streams": self.streams(&taken)})
    }

    fn streams(&self, taken: &[usize]) -> Value {
        let names = self.sequences[taken[0]].streams.keys();
        let stream = |name: &String| {
            let sequences: Vec<&Value> = taken.iter().map(|&i| &self.sequences[i].streams[name]).collect();
            let samples: usize = sequences.iter().filter_map(|s| s.as_array()).map(Vec::len).sum();
            json!({"numberOfSequences": taken.len(), "numberOfSamples": samples, "sequences": sequences})
        };
        names.map(|name| (name.clone(), stream(name))).collect()
    }

    /// Goes to the first sequence that starts at or after a position.
    fn seek(&mut self, position: u64) {
        let (sweep, offset) = (position / self.sweep, position % self.sweep);
        let (mut start, mut index) = (0, 0);
        while start < offset {
            start += self.sequences[index].counted;
            index += 1;
        }
        self.position = sweep * self.sweep + start;
        self.number = sweep * self.sequences.len() as u64 + index as u64;
        self.ended = false;
    }
}

impl Reader for Dealing {
    fn open(&mut self) -> Result<(), String> {
        self.seek(0);
        Ok(())
    }

    fn next(&mut self, request: &Request, times: Times) -> Vec<Value> {
        one_by_one(times, || self.read(request))
    }

    fn state(&mut self) -> Result<Value, String> {
        Ok(json!({"minibatchSourcePosition": self.position}))
    }

    fn restore(&mut self, state: &Value) -> Result<(), String> {
        let position = state["minibatchSourcePosition"].as_u64().ok_or("the state has no position")?;
        self.seek(position);
        Ok(())
    }
}

/// The sequences of one sweep, in stored order. A minibatch of one sample holds one sequence, and the position after
/// it shows how many samples the sequence counts.
fn read_one_by_one(case: &Case) -> Result<Vec<Sequence>, String> {
    let mut one_sweep = case.clone();
    one_sweep.source.remove("maxSamples");
    one_sweep.source.insert("maxSweeps".into(), 1.into());
    let mut reader = RustApi::new(&one_sweep);
    reader.open()?;
    let (mut sequences, mut position) = (Vec::new(), 0);
    loop {
        let answer = reader
            .next(&Request { samples: Some(1), sequences: None, workers: 1, rank: 0 }, Times::Repeat(1));
        if let Some(what) = answer[0].get("error") {
            return Err(format!("the sequences cannot be read one by one: {what}"));
        }
        let Some(streams) = answer[0]["streams"].as_object() else { break };
        let streams = streams.iter().map(|(name, s)| (name.clone(), s["sequences"][0].clone())).collect();
        let state = reader.state()?;
        let after = state["minibatchSourcePosition"].as_u64().ok_or("the state has no position")?;
        sequences.push(Sequence { counted: after - position, streams });
        position = after;
    }
    if sequences.is_empty() { Err("there are no sequences to deal".into()) } else { Ok(sequences) }
}
