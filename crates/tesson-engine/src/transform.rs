//! Transforms of streams: applied where a minibatch is made, on its packed samples, sequence by sequence.
//!
//! A sequence's random numbers are keyed by the sequence, so no thread, size or worker changes what comes out.

use std::sync::Arc;

use tesson_core::identity::Identity;
use tesson_core::{
    Cause, ConfigError, DataError, DataErrorKind, Draw, Error, Flow, Key, Scratch, SparseFlow, StreamInfo,
    Transform, UserError,
};
use tesson_plan::{BatchSlot, DrawKey, Philox};

use crate::fingerprint;
use crate::minibatch::{BatchKeys, Floats, Samples, StreamBatch};
use crate::pack::{self, Pools};

/// The transforms of a source's streams.
#[derive(Clone, Default)]
pub struct StreamTransforms {
    /// Streams by name, and what is done with each, in order.
    pub streams: Vec<(String, Vec<Arc<dyn Transform>>)>,
    /// The seed of their random numbers.
    pub seed: u64,
}

/// The same, matched with the streams there are.
pub(crate) struct Transforms {
    /// For each stream what is done with it.
    streams: Vec<Vec<Step>>,
    seed: u64,
    /// What errors say where a sequence comes from.
    deserializer: &'static str,
}

struct Step {
    transform: Arc<dyn Transform>,
    input: Arc<StreamInfo>,
    output: Arc<StreamInfo>,
}

impl Transforms {
    /// Matches transforms with streams and works out the shapes that come out.
    ///
    /// # Errors
    /// Streams that do not exist, sparse ones that a transform would leave sparse without being made for them, shapes
    /// that a transform does not take.
    pub(crate) fn new(
        given: &StreamTransforms,
        streams: &[Arc<StreamInfo>],
        deserializer: &'static str,
    ) -> Result<Transforms, ConfigError> {
        let mut steps: Vec<Vec<Step>> = streams.iter().map(|_| Vec::new()).collect();
        for (name, transforms) in &given.streams {
            let wrong = |what: String| ConfigError::new(format!("transforms.{name}"), what);
            let at = streams.iter().position(|s| s.name == *name).ok_or_else(|| {
                let known: Vec<&str> = streams.iter().map(|s| s.name.as_str()).collect();
                wrong(format!("there is no such stream, there are {}", known.join(", ")))
            })?;
            for transform in transforms {
                let input = steps[at].last().map_or(&streams[at], |step| &step.output).clone();
                let output =
                    transform.output(&input).map_err(|e| wrong(format!("`{}`: {e}", transform.name())))?;
                if output.name != input.name
                    || output.element != input.element
                    || output.sparse && !input.sparse
                    || output.shape.is_empty()
                {
                    return Err(wrong(format!(
                        "`{}` changes more than the shape of a sample",
                        transform.name()
                    )));
                }
                if output.sparse && !transform.takes_sparse() {
                    return Err(wrong(format!(
                        "`{}` transforms dense streams, this one is sparse",
                        transform.name()
                    )));
                }
                steps[at].push(Step { transform: transform.clone(), input, output: Arc::new(output) });
            }
        }
        Ok(Transforms { streams: steps, seed: given.seed, deserializer })
    }

    /// Whether nothing is transformed.
    pub(crate) fn is_empty(&self) -> bool {
        self.streams.iter().all(Vec::is_empty)
    }

    /// The streams that come out.
    pub(crate) fn outputs(&self, streams: &[Arc<StreamInfo>]) -> Vec<Arc<StreamInfo>> {
        let steps = self.streams.iter().zip(streams);
        steps.map(|(steps, stream)| steps.last().map_or(stream, |step| &step.output).clone()).collect()
    }

    /// Writes what changes values: nothing where nothing is transformed.
    pub(crate) fn write(&self, identity: Identity) -> Identity {
        if self.is_empty() {
            return identity;
        }
        let all = self.streams.iter().flatten().fold(identity.field("transforms", ""), |text, step| {
            let t = &step.transform;
            text.word(format_args!("{}:", step.input.name))
                .word(t.name())
                .word(t.identity())
                .field("seed", t.seed())
                .word("to")
                .word(&step.output.shape)
        });
        all.field("seed", self.seed)
    }

    /// Transforms the streams of a minibatch, of whose sequences the places in the plan are given.
    ///
    /// # Errors
    /// What a transform answers, with stream, sequence and chunk.
    pub(crate) fn apply(
        &self,
        batches: &mut [StreamBatch],
        keys: &BatchKeys,
        places: &[BatchSlot],
        scratch: &mut Scratch,
        pools: &Pools,
    ) -> Result<(), Error> {
        for (steps, batch) in self.streams.iter().zip(batches) {
            for (number, step) in steps.iter().enumerate() {
                let draws = |i: usize| {
                    Philox::new(DrawKey {
                        seed: self.seed,
                        transform_seed: step.transform.seed(),
                        step: number as u64,
                        copy: 0,
                        sweep: places[i].sweep,
                        sequence: key_hash(&keys.get(i)),
                    })
                };
                step.apply(batch, draws, scratch, pools).map_err(|(i, e)| {
                    let chunk = places.get(i).map_or(0, |place| place.planned.chunk);
                    failed(self.deserializer, chunk, step, keys.get(i), e)
                })?;
            }
        }
        Ok(())
    }
}

impl Step {
    /// Transforms all sequences of a stream; an error comes with the number of its sequence.
    fn apply(
        &self,
        batch: &mut StreamBatch,
        draws: impl Fn(usize) -> Philox,
        scratch: &mut Scratch,
        pools: &Pools,
    ) -> Result<(), (usize, UserError)> {
        if self.output.sparse {
            self.apply_sparse(batch, draws, scratch, pools)?;
        } else {
            self.apply_dense(batch, draws, scratch, pools)?;
        }
        batch.info = self.output.clone();
        Ok(())
    }

    /// The samples go in dense and come out dense.
    fn apply_dense(
        &self,
        batch: &mut StreamBatch,
        draws: impl Fn(usize) -> Philox,
        scratch: &mut Scratch,
        pools: &Pools,
    ) -> Result<(), (usize, UserError)> {
        let (from, to) = (self.input.shape.len(), self.output.shape.len());
        let mut out = Floats::with_capacity(self.output.element, batch.n_samples * to, pools);
        // Of a sparse stream one sequence at a time is dense.
        let mut dense = Floats::with_capacity(self.output.element, 0, pools);
        let mut sample = 0;
        for (i, &n) in batch.lengths.iter().enumerate() {
            let samples = sample..sample + n as usize;
            let (values, range) = match &batch.samples {
                Samples::Dense { values } => (values, samples.start * from..samples.end * from),
                sparse @ Samples::Sparse { .. } => {
                    dense.truncate(0);
                    pack::append_dense(&mut dense, sparse, samples, from);
                    (&dense, 0..dense.len())
                }
            };
            let flow = match (values, &mut out) {
                (Floats::F32(v), Floats::F32(out)) => Flow::F32 { input: &v[range], output: out.items() },
                (Floats::F64(v), Floats::F64(out)) => Flow::F64 { input: &v[range], output: out.items() },
                _ => unreachable!("the type of a stream stays"),
            };
            self.transform
                .apply(flow, &self.input, &mut Draw::from_words(&mut draws(i)), scratch)
                .map_err(|e| (i, e))?;
            sample += n as usize;
            if out.len() != sample * to {
                let what = format!("{} values so far, expected {}", out.len(), sample * to);
                return Err((i, what.into()));
            }
        }
        batch.samples = Samples::Dense { values: out };
        Ok(())
    }

    /// The samples go in sparse and come out sparse.
    fn apply_sparse(
        &self,
        batch: &mut StreamBatch,
        draws: impl Fn(usize) -> Philox,
        scratch: &mut Scratch,
        pools: &Pools,
    ) -> Result<(), (usize, UserError)> {
        let Samples::Sparse { indptr, indices, values } = &batch.samples else {
            unreachable!("a dense stream stays dense")
        };
        let mut bounds_out = pools.i32s.take(batch.n_samples + 1);
        bounds_out.items().push(0);
        let mut columns_out = pools.i32s.take(indices.len());
        let mut out = Floats::with_capacity(self.output.element, values.len(), pools);
        let mut counts_out = Vec::new();
        let mut sample = 0;
        for (i, &n) in batch.lengths.iter().enumerate() {
            let bounds = &indptr[sample..=sample + n as usize];
            sample += n as usize;
            let entries = bounds[0] as usize..bounds[n as usize] as usize;
            counts_out.clear();
            let before = columns_out.len();
            let flow = SparseFlow {
                bounds,
                columns: &indices[entries.clone()],
                values: match (values, &mut out) {
                    (Floats::F32(v), Floats::F32(out)) => {
                        Flow::F32 { input: &v[entries], output: out.items() }
                    }
                    (Floats::F64(v), Floats::F64(out)) => {
                        Flow::F64 { input: &v[entries], output: out.items() }
                    }
                    _ => unreachable!("the type of a stream stays"),
                },
                counts_out: &mut counts_out,
                columns_out: columns_out.items(),
            };
            self.transform
                .apply_sparse(flow, &self.input, &mut Draw::from_words(&mut draws(i)), scratch)
                .map_err(|e| (i, e))?;
            let fresh = columns_out.get(before..).unwrap_or_default();
            self.check_sparse(n, &counts_out, fresh).map_err(|what| (i, what.into()))?;
            if columns_out.len() != out.len() || columns_out.len() > i32::MAX as usize {
                let what = format!("{} columns and {} values so far", columns_out.len(), out.len());
                return Err((i, what.into()));
            }
            let mut end = before as i32;
            bounds_out.items().extend(counts_out.iter().map(|&count| {
                end += count as i32;
                end
            }));
        }
        batch.samples = Samples::Sparse { indptr: bounds_out, indices: columns_out, values: out };
        Ok(())
    }

    /// Whether these are `n` samples with columns as they have to be; if not, what is wrong.
    fn check_sparse(&self, n: u32, counts: &[u32], mut columns: &[i32]) -> Result<(), String> {
        let all: u64 = counts.iter().map(|&count| u64::from(count)).sum();
        if counts.len() != n as usize || all != columns.len() as u64 {
            let (samples, entries) = (counts.len(), columns.len());
            return Err(format!(
                "{samples} samples of {all} entries with {entries} columns, expected {n} samples"
            ));
        }
        let dim = self.output.shape.len();
        for &count in counts {
            let (sample, rest) = columns.split_at(count as usize);
            columns = rest;
            let in_order = sample.windows(2).all(|pair| pair[0] < pair[1]);
            let within =
                sample.first().is_none_or(|&c| c >= 0) && sample.last().is_none_or(|&c| (c as usize) < dim);
            if !in_order || !within {
                return Err(format!(
                    "a sample has the columns {sample:?}, expected ascending ones below {dim}"
                ));
            }
        }
        Ok(())
    }
}

/// The hash of a key: of its text, numbers in decimal.
fn key_hash(key: &Key) -> u64 {
    match key {
        Key::Number(n) => fingerprint::text(&n.to_string()),
        Key::Text(text) => fingerprint::text(text),
    }
}

#[cold]
fn failed(deserializer: &str, chunk: u32, step: &Step, key: Key, e: UserError) -> Error {
    match e.downcast::<Error>() {
        Ok(ours) => *ours,
        Err(e) => {
            let what = format!("transform `{}`: {e}", step.transform.name());
            let kind = DataErrorKind::User { what, cause: Cause(e.into()) };
            DataError::in_chunk(kind, deserializer, chunk)
                .within(Some(step.input.name.clone()), Some(key))
                .into()
        }
    }
}
