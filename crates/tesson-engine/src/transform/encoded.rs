//! Transforms of encoded samples that come one at a time, for readers that are no sources.

use std::sync::Arc;

use tesson_core::identity::Identity;
use tesson_core::{ConfigError, Element, SampleType, Transform, UserError, ValueType};
use tesson_plan::DrawKey;

use super::chain::{self, ChainMemory, FailureCause, Feed, Passage, SampleShapes, Sink, Step};
use super::draws::StreamDraws;
use super::{beyond_memory, draws_version, next_step_of};
use crate::fingerprint;
use crate::pack::Pools;
use crate::refusal::EngineRefusal;
use crate::sample_room::SampleRoom;
use crate::sample_values::SampleValues;

/// The transforms of one feature of encoded samples, the first of which decodes.
pub struct EncodedTransforms {
    name: String,
    steps: Vec<Step>,
    output: SampleType,
    seed: u64,
}

/// The result of a transform for one sample.
pub struct TransformedSample<'a> {
    /// The values, in the type of [`EncodedTransforms::output`].
    pub values: &'a SampleValues,
    /// Their shape.
    pub shape: &'a [usize],
}

/// Memory that is reused from one sample to the next; one for each thread and feature.
pub struct EncodedScratch {
    memory: ChainMemory,
    values: SampleValues,
    /// That of all samples, or of the last one where it is open.
    shapes: SampleShapes,
}

/// A sample that could not be transformed.
#[derive(Debug)]
pub struct TransformFailure {
    /// The name of the transform.
    pub transform: String,
    /// The transform's error.
    pub error: UserError,
}

impl EncodedTransforms {
    /// Works out what comes out of a list of transforms. Their random numbers depend on `seed`.
    ///
    /// # Errors
    /// Transforms that do not take what the one before them gives; a list that does not decode. The error's path is
    /// `transforms.` and the name of the feature.
    pub fn new(
        name: &str,
        transforms: &[Arc<dyn Transform>],
        seed: u64,
    ) -> Result<EncodedTransforms, ConfigError> {
        let wrong = |what| {
            ConfigError::refused(format!("transforms.{name}"), &EngineRefusal::TransformMismatch { what })
        };
        let mut steps = Vec::with_capacity(transforms.len());
        for transform in transforms {
            let first = || SampleType::dense(ValueType::Encoded, []);
            let step = next_step_of(&steps, transform, first).map_err(wrong)?;
            steps.push(step);
        }
        match steps.last() {
            Some(last) => {
                Ok(EncodedTransforms { name: name.to_owned(), output: last.output.clone(), steps, seed })
            }
            None => Err(wrong("samples are encoded, and no transform decodes them".into())),
        }
    }

    /// The feature.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The type of the result: 8-bit values or floats, of a shape that may be open.
    pub fn output(&self) -> &SampleType {
        &self.output
    }

    /// All that changes values.
    pub fn identity(&self) -> String {
        let step = |text: Identity, step: &Step| {
            let of = &step.transform;
            text.word(of.name()).word(of.identity()).field("seed", of.seed())
        };
        let of_feature = Identity::of(format!("{}:", self.name));
        let identity = self.steps.iter().fold(of_feature, step).field("seed", self.seed);
        let draws = self.steps.iter().any(|step| step.transform.draws());
        if draws { draws_version(identity) } else { identity }.text()
    }

    /// Memory for one thread of several that share the room for samples.
    pub fn scratch(&self, room: &Arc<SampleRoom>) -> EncodedScratch {
        let element = match self.output.values {
            ValueType::U8 => Element::U8,
            ValueType::F64 => Element::F64,
            _ => Element::F32,
        };
        // Its buffers are never given back, so nothing is pooled.
        let values = SampleValues::with_capacity(element, 0, &Pools::new(0, 0));
        let shape = self.output.shape().map(|shape| shape.dims().to_vec());
        EncodedScratch {
            memory: ChainMemory::new(Arc::clone(room)),
            values,
            shapes: SampleShapes::Same(shape),
        }
    }

    /// Transforms a sample that lies within another file. Its random numbers depend on the sweep and the key.
    ///
    /// # Errors
    /// Those of a transform.
    pub fn apply<'a>(
        &self,
        sample: &[u8],
        sweep: u64,
        key: &str,
        scratch: &'a mut EncodedScratch,
    ) -> Result<TransformedSample<'a>, TransformFailure> {
        let EncodedScratch { memory, values, shapes } = scratch;
        values.truncate(0);
        if self.output.dims.contains(&None) {
            *shapes = SampleShapes::Same(None);
        }
        let sequence = fingerprint::text(key);
        let key = DrawKey { seed: self.seed, transform_seed: 0, transform: 0, copy: 0, sweep, sequence };
        let mut draws = StreamDraws::keyed();
        let passage = Passage { draws: draws.of(0, 0, key), number: 0 };
        let sink = Sink { values, shapes };
        chain::run(&self.steps, Feed::Record(sample), passage, memory, sink).map_err(
            |failure| match failure.cause {
                FailureCause::Step(number, error) => {
                    TransformFailure { transform: self.steps[number].transform.name().into(), error }
                }
                FailureCause::Memory { shape, refused } => TransformFailure {
                    transform: self.steps[0].transform.name().into(),
                    error: beyond_memory(&shape, refused).to_string().into(),
                },
                FailureCause::Shape { .. } => unreachable!("each sample has a shape of its own"),
            },
        )?;
        let (SampleShapes::Same(Some(shape)) | SampleShapes::Each(shape)) = shapes else {
            return Ok(TransformedSample { values, shape: &[] });
        };
        Ok(TransformedSample { values, shape })
    }
}
