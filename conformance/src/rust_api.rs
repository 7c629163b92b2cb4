//! The Rust API as a reader of cases.

use std::path::PathBuf;

use serde_json::{Map, Value, json};
use tesson::{Demand, Minibatch, ResumeState, SampleValues, Samples, Source, SourceConfig, StreamBatch};
use tesson_engine::Layout;

use crate::reader::{error, one_by_one};
use crate::user;
use crate::{Case, Reader, Request, Times};

/// Reads a case through `tesson::Source`.
pub struct RustApi {
    config: Map<String, Value>,
    dir: PathBuf,
    source: Option<Source>,
}

impl RustApi {
    /// A reader for a case; nothing is opened yet.
    pub fn new(case: &Case) -> RustApi {
        RustApi { config: case.source.clone(), dir: case.dir.clone(), source: None }
    }

    fn open_source(&self) -> Result<Source, tesson::Error> {
        tesson::open(&self.lower()?)
    }

    fn lower(&self) -> Result<SourceConfig, tesson::Error> {
        let tree = tesson_config::json::parse(&Value::from(self.config.clone()).to_string())?;
        let registry = user::registry();
        let mut config = tesson_config::lower(tesson_config::json::source_section(&tree), &registry)?;
        config.resolve_paths(&self.dir, &registry)?;
        Ok(config)
    }
}

impl Reader for RustApi {
    fn open(&mut self) -> Result<(), String> {
        self.source = None;
        self.source = Some(self.open_source().map_err(|e| e.to_string())?);
        Ok(())
    }

    fn next(&mut self, request: &Request, times: Times) -> Vec<Value> {
        let Some(source) = &mut self.source else { return vec![error("nothing is open")] };
        one_by_one(times, || match demand(request).and_then(|d| source.next(d).map_err(|e| e.to_string())) {
            Ok(Some(minibatch)) => line(&minibatch),
            Ok(None) => json!({"end": true}),
            Err(what) => error(what),
        })
    }

    fn state(&mut self) -> Result<Value, String> {
        Ok(self.source.as_ref().ok_or("nothing is open")?.state().to_json())
    }

    fn restore(&mut self, state: &Value) -> Result<(), String> {
        let state = ResumeState::from_json(state).map_err(|e| e.to_string())?;
        self.source.as_mut().ok_or("nothing is open")?.restore(&state).map_err(|e| e.to_string())
    }
}

/// The API has no sizes in sequences, so that a request for one cannot even be made.
fn demand(request: &Request) -> Result<Demand, String> {
    match (request.samples, request.sequences) {
        (Some(samples), None) => Ok(Demand { samples, workers: request.workers, rank: request.rank }),
        _ => Err("a minibatch is asked for by a number of samples only".into()),
    }
}

/// A minibatch as a line of answers, layouts included.
pub(crate) fn line(minibatch: &Minibatch) -> Value {
    let streams = minibatch.streams().iter().map(|s| (s.info().name.clone(), stream(s)));
    json!({"sweepEnd": minibatch.sweep_end(), "streams": streams.collect::<Map<_, _>>()})
}

fn stream(batch: &StreamBatch) -> Value {
    let mut first = 0;
    let sequence = |&length: &u32| {
        let samples = first..first + length as usize;
        first = samples.end;
        samples.map(|i| sample(batch, i)).collect::<Value>()
    };
    let sequences: Vec<Value> = batch.lengths().iter().map(sequence).collect();
    json!({
        "numberOfSequences": batch.n_sequences(),
        "numberOfSamples": batch.n_samples(),
        "sequences": sequences,
        "layout": layout(&batch.layout()),
    })
}

fn layout(layout: &Layout) -> Value {
    let places: Vec<_> = layout.places.iter().map(|p| json!([p.sequence, p.row, p.begin, p.end])).collect();
    json!({"steps": layout.steps, "rows": layout.rows, "places": places})
}

fn sample(batch: &StreamBatch, i: usize) -> Value {
    match batch.samples() {
        Samples::Dense { values } => {
            let dim = batch.info().shape.len();
            (i * dim..(i + 1) * dim).map(|k| value(values, k)).collect()
        }
        Samples::Sparse { indptr, indices, values } => (indptr[i] as usize..indptr[i + 1] as usize)
            .map(|k| json!([indices[k], value(values, k)]))
            .collect(),
        Samples::Ragged { values, .. } => {
            let (_, range) = batch.ragged_sample(i).expect("it is one of the batch");
            range.map(|k| value(values, k)).collect()
        }
    }
}

fn value(values: &SampleValues, i: usize) -> Value {
    match values.get(i) {
        v if v.is_nan() => "nan".into(),
        f64::INFINITY => "inf".into(),
        f64::NEG_INFINITY => "-inf".into(),
        v => v.into(),
    }
}
