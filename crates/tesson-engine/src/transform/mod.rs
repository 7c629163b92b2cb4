//! Transforms of streams: applied where a minibatch is made, sequence by sequence.
//!
//! | file | subject |
//! |---|---|
//! | `chain` | the transforms of a stream, one after the other, on one sequence |
//! | `draws` | random numbers |
//! | `encoded` | those of encoded samples that come one at a time, for readers that are no sources |
//! | `sparse` | those of samples that are sparse and stay so |
//! | `stored` | streams whose blocks keep them as they were read: encoded samples, frames of recordings |
//!
//! A sequence's random numbers are keyed by the sequence, so no thread, size or worker changes what comes out; only with
//! CNTK's generators they are not, which is why minibatches are then made in order, each when it is asked for. Blocks in
//! memory hold what was stored, never what came out.

mod chain;
mod draws;
mod encoded;
mod sparse;
mod stored;

use std::sync::Arc;

use tesson_core::identity::Identity;
use tesson_core::{
    Augmentation, Cause, ChunkId, ConfigError, DataError, DataErrorKind, Element, Error, Key, SampleType,
    Shape, Storage, StreamInfo, Transform, ValueType,
};
use tesson_plan::{BatchSlot, DrawKey};

use crate::batch_keys::BatchKeys;
use crate::fault::Charge;
use crate::fingerprint;
use crate::pack::{self, Item, Pools, Source};
use crate::refusal::EngineRefusal;
use crate::sample_room::BeyondRoom;
use crate::sample_values::SampleValues;
use crate::samples::{Samples, StreamBatch, dense_bytes};
pub(crate) use chain::ChainMemory;
use chain::{FailureCause, Feed, Passage, SampleShapes, Sink, Step};
use draws::{BatchDraws, Draws};
pub use encoded::{EncodedScratch, EncodedTransforms, TransformFailure, TransformedSample};
pub(crate) use stored::{PlacedItem, StoredBatches};

/// The transforms of a source's streams.
#[derive(Clone, Default)]
pub struct StreamTransforms {
    /// Streams by name, and what is done with each, in order.
    pub streams: Vec<(String, Vec<Arc<dyn Transform>>)>,
    /// The seed of their random numbers.
    pub seed: u64,
    /// Whose random numbers they draw.
    pub augmentation: Augmentation,
}

/// Transforms of streams, matched with the streams of a source.
pub(crate) struct Transforms {
    chains: Vec<Chain>,
    /// The numbers of the stored streams whose samples are frames of recordings.
    recordings: Vec<usize>,
    seed: u64,
    draws: Draws,
    /// The origin of a sequence that errors report.
    deserializer: &'static str,
}

/// The transforms of one stream.
struct Chain {
    steps: Vec<Step>,
    /// Of these so many leave sparse samples sparse.
    n_sparse: usize,
    /// Number of the first one among those of all streams.
    first: usize,
    stored: Arc<StreamInfo>,
    delivered: Arc<StreamInfo>,
    /// True if its deserializer tolerates no fault, whatever the others do.
    is_strict: bool,
    /// True if a step may draw random numbers.
    draws: bool,
    /// True if frames of consecutive sequences of a recording give the same result when transformed together.
    joins_frames: bool,
}

/// The sequences of a minibatch.
#[derive(Clone, Copy)]
pub(crate) struct Sequences<'a> {
    /// Each as a row of a source.
    pub(crate) items: &'a [Item],
    pub(crate) sources: &'a [Source<'a>],
    /// The place of each in the plan.
    pub(crate) places: &'a [BatchSlot],
}

/// A sequence that a transform refuses.
pub(crate) struct Untransformed {
    /// Its number in the minibatch.
    pub(crate) sequence: usize,
    pub(crate) charge: Charge,
}

impl Transforms {
    /// Matches transforms with streams and works out the types and shapes that come out. `decoders` are those that
    /// deserializers have themselves, each with the number of its stream: they come first. `strict` says of each stream
    /// whether its deserializer forgives no fault.
    ///
    /// # Errors
    /// Streams that do not exist, and samples that a transform does not take.
    pub(crate) fn new(
        given: &StreamTransforms,
        decoders: &[(usize, Arc<dyn Transform>)],
        streams: &[Arc<StreamInfo>],
        strict: &[bool],
        deserializer: &'static str,
    ) -> Result<Transforms, ConfigError> {
        let mut steps: Vec<Vec<Step>> = streams.iter().map(|_| Vec::new()).collect();
        let refused = |name: &str, refusal| ConfigError::refused(format!("transforms.{name}"), &refusal);
        let wrong = |name: &str, what| refused(name, EngineRefusal::TransformMismatch { what });
        for (at, decoder) in decoders {
            let name = &streams[*at].name;
            let step = next_step(&steps[*at], decoder, &streams[*at]).map_err(|what| wrong(name, what))?;
            steps[*at].push(step);
        }
        for (name, transforms) in &given.streams {
            let at = streams.iter().position(|s| s.name == *name).ok_or_else(|| {
                let known: Vec<&str> = streams.iter().map(|s| s.name.as_str()).collect();
                refused(name, EngineRefusal::TransformOfUnknownStream { known: known.join(", ") })
            })?;
            for transform in transforms {
                let step =
                    next_step(&steps[at], transform, &streams[at]).map_err(|what| wrong(name, what))?;
                steps[at].push(step);
            }
        }
        let mut first = 0;
        let mut chains = Vec::with_capacity(streams.len());
        for ((steps, stored), &is_strict) in steps.into_iter().zip(streams).zip(strict) {
            let n_steps = steps.len();
            let chain = Chain::new(steps, stored).map_err(|what| wrong(&stored.name, what))?;
            chains.push(Chain { first, is_strict, ..chain });
            first += n_steps;
        }
        let draws = Draws::new(given.augmentation, chains.len());
        let is_recordings = |chain: &Chain| chain.is_stored() && chain.stored.storage == Storage::Recordings;
        let recordings = (0..chains.len()).filter(|&stream| is_recordings(&chains[stream])).collect();
        Ok(Transforms { chains, recordings, seed: given.seed, draws, deserializer })
    }

    /// True if nothing is transformed.
    pub(crate) fn is_empty(&self) -> bool {
        self.chains.iter().all(|chain| chain.steps.is_empty())
    }

    /// True if any stored stream has frames of recordings.
    pub(crate) fn has_recordings(&self) -> bool {
        !self.recordings.is_empty()
    }

    /// True if random numbers depend on earlier minibatches, which therefore have to be made in order.
    pub(crate) fn draw_in_order(&self) -> bool {
        matches!(self.draws, Draws::Cntk(_))
    }

    /// The streams that come out.
    pub(crate) fn outputs(&self) -> Vec<Arc<StreamInfo>> {
        self.chains.iter().map(|chain| chain.delivered.clone()).collect()
    }

    /// Bytes of dense values that a sample has in all streams together while a minibatch is made.
    pub(crate) fn sample_bytes(&self) -> u64 {
        let bytes = |(number, chain): (usize, &Chain)| {
            let packed = if chain.is_stored() { &chain.delivered } else { &chain.stored };
            dense_bytes(packed).saturating_add(self.bytes_beside(number) as u64)
        };
        self.chains.iter().enumerate().map(bytes).fold(0, u64::saturating_add)
    }

    /// Bytes that a dense sample of a stream takes when it is transformed, beside those that it was packed into.
    pub(crate) fn bytes_beside(&self, stream: usize) -> usize {
        let chain = &self.chains[stream];
        let is_beside = !chain.steps.is_empty() && !chain.is_stored();
        if is_beside { dense_bytes(&chain.delivered) as usize } else { 0 }
    }

    /// Writes what changes values: nothing where nothing is transformed.
    pub(crate) fn write(&self, identity: Identity) -> Identity {
        if self.is_empty() {
            return identity;
        }
        let identity = self.write_with_former_draws(identity);
        if self.draw_by_key() { draws_version(identity) } else { identity }
    }

    /// True if random numbers depend on the sequence: the version of these draws is then part of states.
    pub(crate) fn draw_by_key(&self) -> bool {
        !self.draw_in_order() && self.chains.iter().any(|chain| chain.draws)
    }

    /// Writes the identity as releases did whose random numbers depended on a transform's position in its list.
    pub(crate) fn write_with_former_draws(&self, identity: Identity) -> Identity {
        let steps = self.chains.iter().flat_map(|chain| chain.steps.iter().map(move |step| (chain, step)));
        let all = steps.fold(identity.field("transforms", ""), |text, (chain, step)| {
            let t = &step.transform;
            let text = text
                .word(format_args!("{}:", chain.stored.name))
                .word(t.name())
                .word(t.identity())
                .field("seed", t.seed())
                .word("to");
            match step.output.shape() {
                Some(shape) if step.output.values == chain.stored.element.into() => text.word(&shape),
                _ => text.word(&step.output),
            }
        });
        all.field("seed", self.seed).flag("cntk", self.draw_in_order())
    }

    /// Transforms the streams of a minibatch that are packed as values. Returns the sequences that a transform refuses, ascending
    /// and each once; what comes out for them is of no use.
    ///
    /// # Errors
    /// Errors of ours that a transform hands on.
    pub(crate) fn apply(
        &self,
        batches: &mut [StreamBatch],
        keys: &BatchKeys,
        Sequences { items, sources, places }: Sequences<'_>,
        memory: &mut ChainMemory,
        pools: &Pools,
    ) -> Result<Vec<Untransformed>, Error> {
        let mut untransformed = Vec::new();
        let mut refused = Vec::new();
        let packed = |chain: &Chain| !chain.steps.is_empty() && !chain.is_stored();
        let mut draws = self.draws.lock();
        for ((stream, chain), batch) in self.chains.iter().enumerate().zip(batches) {
            if !packed(chain) {
                continue;
            }
            let copy = |i: usize| sources[items[i].held as usize].chunk.copy(items[i].row as usize);
            let key = |i: usize| self.key(places[i].sweep, batch_key_hash(keys, i), copy(i));
            chain.apply(batch, draws.of_batch(stream, key), memory, pools, &mut refused);
            for (sequence, cause) in refused.drain(..) {
                let chunk = places.get(sequence).map_or(ChunkId(0), |place| place.planned.chunk);
                let error = DataError::in_chunk(chain.error_kind(cause)?, self.deserializer, chunk)
                    .within(Some(chain.stored.name.clone()), Some(keys.get(sequence)));
                untransformed.push(Untransformed {
                    sequence,
                    charge: Charge { error, fatal: chain.is_strict, is_of_data: false },
                });
            }
        }
        untransformed.sort_by_key(|refused: &Untransformed| refused.sequence);
        untransformed.dedup_by_key(|refused| refused.sequence);
        Ok(untransformed)
    }

    /// The key of a sequence's random numbers, but for what tells transforms apart.
    fn key(&self, sweep: u64, key_hash: u64, copy: u32) -> DrawKey {
        DrawKey {
            seed: self.seed,
            transform_seed: 0,
            transform: 0,
            copy: copy.into(),
            sweep,
            sequence: key_hash,
        }
    }
}

/// How random numbers follow from their key: a change of it makes states of sources that draw invalid.
pub(crate) const DRAWS_VERSION: u32 = 2;

/// Writes the version of random numbers.
fn draws_version(identity: Identity) -> Identity {
    identity.field("draws", DRAWS_VERSION)
}

/// The step that a transform is after these.
fn next_step(before: &[Step], transform: &Arc<dyn Transform>, stream: &StreamInfo) -> Result<Step, String> {
    let name = transform.name();
    let stored = SampleType::of(stream);
    let step = next_step_of(before, transform, || stored)?;
    if transform.sees_context() && !before.is_empty() && stream.storage == Storage::Frames {
        return Err(format!("`{name}` looks at the frames around each one and has to come first"));
    }
    if stream.storage == Storage::Recordings && before.is_empty() && step.output.shape().is_none() {
        return Err(format!("`{name}` leaves the shape of frames open"));
    }
    Ok(step)
}

/// Checks a transform as the next step, where the first step takes samples of any type.
fn next_step_of(
    before: &[Step],
    transform: &Arc<dyn Transform>,
    first: impl FnOnce() -> SampleType,
) -> Result<Step, String> {
    let name = transform.name();
    let input = before.last().map_or_else(first, |step| step.output.clone());
    if let ValueType::Exact(element) = input.values
        && (!transform.takes_exact() || element.is_string())
    {
        let takes = if transform.takes_exact() { "numbers" } else { "floating-point numbers or images" };
        return Err(format!("`{name}` takes {takes}, this stream has {} values", element.name()));
    }
    let step = Step::new(transform, input, before)
        .map_err(|e| if e.starts_with(&format!("`{name}`")) { e } else { format!("`{name}`: {e}") })?;
    if step.output.sparse && !transform.takes_sparse() {
        return Err(format!("`{name}` transforms dense streams, this one is sparse"));
    }
    Ok(step)
}

impl Chain {
    fn new(steps: Vec<Step>, stored: &Arc<StreamInfo>) -> Result<Chain, String> {
        let (stored, delivered) = (stored.clone(), stored.clone());
        let draws = steps.iter().any(|step| step.transform.draws());
        let joins_frames = stored.storage == Storage::Recordings
            && !draws
            && matches!(&steps[..], [only] if only.transform.sees_context());
        let (n_sparse, first, is_strict) = (0, 0, false);
        let chain = Chain { steps, n_sparse, first, stored, delivered, is_strict, draws, joins_frames };
        let (Some(last), stored) = (chain.steps.last(), &chain.stored) else {
            return match chain.stored.storage {
                Storage::Encoded if chain.stored.element == Element::Bytes => Ok(chain),
                Storage::Encoded | Storage::Recordings => {
                    Err("samples are encoded, and no transform decodes them".into())
                }
                _ => Ok(chain),
            };
        };
        // Dimensions that are open to the end are those of each minibatch.
        let dims = last.output.dims.iter().map(|dim| dim.unwrap_or(0));
        let shape = Shape::new(dims.collect::<Vec<_>>());
        let decides = last.transform.takes_exact();
        if last.output.sparse && last.output.values != ValueType::from(stored.element) {
            return Err(format!(
                "sparse samples are {} at last, expected {}",
                last.output,
                stored.element.name()
            ));
        }
        if stored.element == Element::U8 && last.output.values != ValueType::U8 && !decides {
            return Err(format!(
                "samples are {} at last, and `dtype` of the stream is uint8; leave out what makes floats, or `dtype`",
                last.output
            ));
        }
        if stored.ragged && stored.storage != Storage::Encoded {
            return Err("samples are not encoded, and only such may each have a shape of their own".into());
        }
        // Bytes that are decoded become what comes out, and so do values of types that a transform decides.
        let element = match (stored.element, last.output.values) {
            (_, ValueType::Exact(element)) => element,
            (_, ValueType::U8) if decides => Element::U8,
            (_, ValueType::F64) if decides => Element::F64,
            (_, ValueType::F32) if decides => Element::F32,
            (Element::Bytes, ValueType::U8) => Element::U8,
            (Element::Bytes, ValueType::F64) => Element::F64,
            (Element::Bytes, _) => Element::F32,
            (element, _) => element,
        };
        let delivered = StreamInfo::dense(&stored.name, shape, element)
            .with_sparse(last.output.sparse)
            .with_ragged(stored.ragged);
        let n_sparse = chain.steps.iter().take_while(|step| step.output.sparse).count();
        Ok(Chain { n_sparse, delivered: Arc::new(delivered), ..chain })
    }

    /// True if samples come out in shapes that are not known before any data.
    fn is_open(&self) -> bool {
        self.steps.last().is_some_and(Step::is_open)
    }

    /// The shape of all samples, where it is known before any data.
    fn fixed_shape(&self) -> Option<Shape> {
        self.steps.last().and_then(|step| step.output.shape())
    }

    /// True if transforms take the samples from the blocks that keep them, before minibatches are packed.
    fn is_stored(&self) -> bool {
        let storage = self.stored.storage;
        !self.steps.is_empty() && matches!(storage, Storage::Encoded | Storage::Frames | Storage::Recordings)
    }

    /// Transforms all sequences of a packed stream. Those that a step refuses are listed by number.
    fn apply(
        &self,
        batch: &mut StreamBatch,
        mut draws: BatchDraws<'_, '_, impl Fn(usize) -> DrawKey>,
        memory: &mut ChainMemory,
        pools: &Pools,
        refused: &mut Vec<(usize, FailureCause)>,
    ) {
        for (number, step) in self.steps[..self.n_sparse].iter().enumerate() {
            let mut by_step = Vec::new();
            sparse::apply(step, batch, &mut draws, self.first + number, memory, pools, &mut by_step);
            refused.extend(by_step.into_iter().map(|(i, error)| (i, FailureCause::Step(number, error))));
        }
        if self.n_sparse < self.steps.len() {
            self.apply_dense(batch, draws, memory, pools, refused);
        }
        batch.info = self.delivered.clone();
    }

    /// Why a sequence could not be transformed, as an error of the data; errors of ours that a transform handed on are what
    /// they are.
    #[cold]
    fn error_kind(&self, cause: FailureCause) -> Result<DataErrorKind, Error> {
        match cause {
            FailureCause::Step(number, error) => match error.downcast::<Error>() {
                Ok(ours) => Err(*ours),
                Err(error) => {
                    let transform = self.steps[number].transform.name().into();
                    Ok(DataErrorKind::Transform { transform, cause: Cause(error.into()) })
                }
            },
            FailureCause::Memory { refused: BeyondRoom { bytes, most, limit, with_batch: true }, .. } => {
                Err(EngineRefusal::SampleBesideBatch { bytes, most, limit }.into())
            }
            FailureCause::Memory { shape, refused } => Ok(beyond_memory(&shape, refused)),
            FailureCause::Shape { found, expected } => Ok(DataErrorKind::ShapesDiffer {
                found: Shape::new(found).to_string(),
                expected: Shape::new(expected).to_string(),
            }),
        }
    }

    /// Takes all sequences through the steps from which samples come out dense.
    fn apply_dense(
        &self,
        batch: &mut StreamBatch,
        mut draws: BatchDraws<'_, '_, impl Fn(usize) -> DrawKey>,
        memory: &mut ChainMemory,
        pools: &Pools,
        refused: &mut Vec<(usize, FailureCause)>,
    ) {
        let steps = &self.steps[self.n_sparse..];
        let dim = steps[0].input.shape().map_or(0, |shape| shape.len());
        let element = self.delivered.element;
        let mut out =
            SampleValues::with_capacity(element, batch.n_samples * self.delivered.shape.len(), pools);
        // Of a sparse stream one sequence at a time is dense.
        let mut dense = SampleValues::with_capacity(self.stored.element, 0, pools);
        let mut shapes = SampleShapes::Same(None);
        let mut sample = 0;
        for (i, &n) in batch.lengths.iter().enumerate() {
            let samples = sample..sample + n as usize;
            sample = samples.end;
            let (values, range) = match &batch.samples {
                Samples::Dense { values } => (values, samples.start * dim..samples.end * dim),
                sparse @ Samples::Sparse { .. } => {
                    dense.truncate(0);
                    pack::append_dense(&mut dense, sparse, samples, dim);
                    (&dense, 0..dense.len())
                }
                Samples::Ragged { .. } => unreachable!("only encoded samples become ragged"),
            };
            let passage = Passage { draws: draws.of(i), number: self.first + self.n_sparse };
            let feed = Feed::Even(values.slice(range), 0..n as usize);
            let sink = Sink { values: &mut out, shapes: &mut shapes };
            let before = sink.values.len();
            if let Err(failure) = chain::run(steps, feed, passage, memory, sink) {
                // Of open shapes there are no values, and the sequence is left out in any case.
                out.truncate(before);
                out.append_zeros(n as usize * self.delivered.shape.len());
                refused.push((i, failure.cause.after(self.n_sparse)));
            }
        }
        batch.samples = Samples::Dense { values: out };
    }
}

/// The error of a sample for which there is no memory.
#[cold]
fn beyond_memory(shape: &[usize], BeyondRoom { bytes, most, limit, .. }: BeyondRoom) -> DataErrorKind {
    let shape = Shape::new(shape.to_vec()).to_string();
    DataErrorKind::SampleBeyondMemory { shape, found: bytes, most, limit }
}

/// The hash of a key: of its text, numbers in decimal.
fn key_hash(key: &Key) -> u64 {
    match key {
        Key::Number(n) => fingerprint::decimal(*n),
        Key::Text(text) => fingerprint::text(text),
    }
}

/// The hash of a key in a minibatch.
fn batch_key_hash(keys: &BatchKeys, i: usize) -> u64 {
    match keys {
        BatchKeys::Numbers(numbers) => fingerprint::decimal(numbers[i]),
        BatchKeys::Texts(texts) => fingerprint::text(texts.get(i)),
    }
}

#[cfg(test)]
mod tests;
