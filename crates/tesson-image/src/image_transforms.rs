//! Transforms of images as the engine applies them: those that follow each other in a list are one [`Pipeline`].

use std::sync::Arc;

use tesson_core::identity::Identity;
use tesson_core::{
    ConfigError, Draw, Error, Input, InputValues, OptionSet, Options, Output, OutputValues, ReadFile,
    SampleType, Scratch, Transform, TransformFormat, UserError, ValueType,
};

use xxhash_rust::xxh3::xxh3_64;

use crate::transform::canvas::PipelineScratch;
use crate::transform::options::seed;
use crate::transform::pipeline::{AtStep, Pipeline, StoreScratch};
use crate::transform::random::Random;
use crate::transform::step::Step;
use crate::transform::view::{Size, View};
use crate::transform::{Real, TransformFault};

/// A step, and the identity of everything that changes its result.
pub(crate) struct NamedStep {
    pub(crate) step: Arc<dyn Step>,
    pub(crate) identity: Identity,
}

impl NamedStep {
    /// A transform that is made of its options alone; its identity begins with its name.
    pub(crate) fn of<S: OptionSet + Step + 'static>(step: S, name: &str) -> NamedStep {
        let identity = step.identify(Identity::new(name, 1));
        NamedStep { step: Arc::new(step), identity }
    }
}

/// Makes the step of a transform from its options.
pub(crate) type StepFn = fn(&Options<'_>, &ReadFile<'_>) -> Result<NamedStep, Error>;

/// Makes one transform of several that follow each other.
pub(crate) fn open(
    transforms: &[(&'static TransformFormat, Options<'_>)],
    read: &ReadFile<'_>,
) -> Result<Arc<dyn Transform>, Error> {
    let (mut steps, mut seeds, mut identities) = (Vec::new(), Vec::new(), Vec::new());
    for (format, options) in transforms {
        let (_, step) = crate::transform::STEPS
            .iter()
            .find(|(known, _)| known.name == format.name)
            .expect("every format has a step");
        let NamedStep { step, identity } = step(options, read)?;
        steps.push(step);
        identities.push(identity.text());
        seeds.push(seed(options)?);
    }
    let names: Vec<&'static str> = transforms.iter().map(|(format, _)| format.name).collect();
    let pipeline = Pipeline::new(steps)
        .map_err(|AtStep { step, fault }| refused(&transforms[step].1, "type", &fault))?;
    Ok(Arc::new(ImageTransforms {
        name: names.join(", "),
        names,
        identity: identities.join("; "),
        seeds,
        pipeline,
    }))
}

/// A fault as an error of an option.
pub(crate) fn refused(options: &Options<'_>, name: &str, fault: &TransformFault) -> ConfigError {
    ConfigError::refused(options.path(name), fault)
}

/// A hash of a file's content, as text.
pub(crate) fn content(file: &[u8]) -> String {
    format!("{:016x}", xxh3_64(file))
}

/// Transforms of images that follow each other.
struct ImageTransforms {
    name: String,
    /// The name of each.
    names: Vec<&'static str>,
    identity: String,
    /// The seed of each.
    seeds: Vec<u64>,
    pipeline: Pipeline,
}

impl Transform for ImageTransforms {
    fn name(&self) -> &str {
        &self.name
    }

    fn identity(&self) -> String {
        self.identity.clone()
    }

    fn seed(&self) -> u64 {
        self.seeds[0]
    }

    fn step_names(&self) -> Vec<&str> {
        self.names.clone()
    }

    fn draws(&self) -> bool {
        self.pipeline.draws()
    }

    fn output(&self, input: &SampleType) -> Result<SampleType, String> {
        if input.values != ValueType::U8 || input.dims.len() != 3 {
            return Err(format!("found {input}, expected 8-bit images of rows, columns and channels"));
        }
        self.pipeline.output(input, input.floats()).map_err(|AtStep { step, fault }| {
            if self.seeds.len() == 1 { fault.to_string() } else { format!("number {}: {fault}", step + 1) }
        })
    }

    fn working_bytes(&self, shape: &[usize], values: ValueType) -> u64 {
        let &[height, width, channels] = shape else { return 0 };
        let real = if values == ValueType::F64 { size_of::<f64>() } else { size_of::<f32>() };
        self.pipeline.working_bytes(Size::new(height, width, channels), real as u64)
    }

    fn apply(
        &self,
        input: Input<'_>,
        mut output: Output<'_>,
        draw: &mut Draw<'_>,
        scratch: &mut Scratch,
    ) -> Result<(), UserError> {
        let InputValues::U8(values) = input.values else { return Err("it takes 8-bit images".into()) };
        let &[height, width, channels] = input.shape else { return Err("it takes images".into()) };
        let size = Size::new(height, width, channels);
        let mut random = StepDraw { draw, seeds: &self.seeds };
        let mut shape = [0; 3];
        for image in values.chunks_exact(size.values().max(1)) {
            let image = View::new(image, size);
            let random = &mut random;
            shape = match &mut output.values {
                OutputValues::U8(out) => {
                    let memory = memory::<f32>(scratch);
                    let done = self.pipeline.apply(image, input.copy, random, &mut memory.pipeline)?;
                    done.append_bytes(self.pipeline.is_transposed(), &mut memory.store, out);
                    self.shape(done.size())
                }
                OutputValues::F32(out) => self.append(image, input.copy, random, memory(scratch), out)?,
                OutputValues::F64(out) => self.append(image, input.copy, random, memory(scratch), out)?,
                _ => return Err("it gives 8-bit values or floats".into()),
            };
        }
        output.set_shape(&shape);
        Ok(())
    }
}

impl ImageTransforms {
    fn append<F: Real>(
        &self,
        image: View<'_, u8>,
        copy: u32,
        random: &mut dyn Random,
        memory: &mut Memory<F>,
        out: &mut Vec<F>,
    ) -> Result<[usize; 3], UserError> {
        let done = self.pipeline.apply(image, copy, random, &mut memory.pipeline)?;
        done.append_reals(self.pipeline.is_transposed(), &mut memory.store, out);
        Ok(self.shape(done.size()))
    }

    fn shape(&self, Size { height, width, channels }: Size) -> [usize; 3] {
        if self.pipeline.is_transposed() { [channels, height, width] } else { [height, width, channels] }
    }
}

/// The scratch memory that a worker keeps from one image to the next.
struct Memory<F: crate::transform::resize::Value> {
    pipeline: PipelineScratch<F>,
    store: StoreScratch<F>,
}

/// The memory that the scratch memory holds, or new one in the place of something else.
fn memory<F: Real>(scratch: &mut Scratch) -> &mut Memory<F> {
    let is_ours = scratch.format.as_ref().is_some_and(|held| held.is::<Memory<F>>());
    if !is_ours {
        let new = Memory::<F> { pipeline: PipelineScratch::default(), store: StoreScratch::default() };
        scratch.format = Some(Box::new(new));
    }
    scratch.format.as_mut().and_then(|held| held.downcast_mut()).expect("put there above")
}

/// The random numbers of an image, those of each transform apart.
struct StepDraw<'a, 'd> {
    draw: &'a mut Draw<'d>,
    seeds: &'a [u64],
}

impl Random for StepDraw<'_, '_> {
    fn begin(&mut self, step: usize) {
        self.draw.begin_step(step as u64, self.seeds[step]);
    }

    fn real(&mut self, from: f64, to: f64) -> f64 {
        self.draw.real(from, to)
    }

    fn integer(&mut self, from: i64, to: i64) -> i64 {
        self.draw.integer(from, to)
    }

    fn coin(&mut self) -> bool {
        self.draw.coin()
    }

    fn normal(&mut self) -> f32 {
        self.draw.normal()
    }
}
