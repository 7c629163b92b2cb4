//! The transforms of one stream, one after the other, on one sequence.
//!
//! A sequence goes through all of them before the next one does, so that what lies between two of them is one sequence,
//! in memory that is used again.

use std::ops::Range;
use std::sync::Arc;

use tesson_core::{
    BitsBuffer, BitsSlice, Draw, Input, InputValues, Output, OutputValues, SampleType, Scratch, Transform,
    UserError, ValueType,
};
use tesson_memory::file_pages::EncodedBytes;

use super::draws::SequenceDraws;
use crate::fingerprint;
use crate::sample_room::{BeyondRoom, Entered, SampleRoom};
use crate::sample_values::SampleValues;
use crate::stats::Counters;

/// One transform of a stream, and what is known before any data of what goes in and comes out.
pub(super) struct Step {
    pub(super) transform: Arc<dyn Transform>,
    pub(super) input: SampleType,
    pub(super) output: SampleType,
    /// How many transforms come before it in the stream's list: it may stand for several.
    pub(super) position: u64,
    /// Which transform each of those is that it stands for, in the keys of random numbers.
    pub(super) draw_numbers: Box<[u64]>,
    /// The shape of what goes in, if it is known.
    input_shape: Option<Vec<usize>>,
    /// Values in a sample that comes out, if they are known.
    output_len: Option<usize>,
}

impl Step {
    /// Works out what comes out of a transform that follows others of its stream, and makes sure that it may.
    ///
    /// # Errors
    /// A sentence without the transform's name.
    pub(super) fn new(
        transform: &Arc<dyn Transform>,
        input: SampleType,
        before: &[Step],
    ) -> Result<Step, String> {
        let output = transform.output(&input)?;
        if output.values == ValueType::Encoded
            || output.sparse && (!input.sparse || output.values != input.values)
            || output.dims.contains(&Some(0))
        {
            return Err(format!("gives {output} for {input}, which no transform may"));
        }
        let input_shape = input.shape().map(|shape| shape.dims().to_vec());
        let output_len = output.shape().map(|shape| shape.len());
        let names = transform.step_names();
        let mut former: Vec<&str> = before.iter().flat_map(|step| step.transform.step_names()).collect();
        let position = former.len() as u64;
        let mut draw_numbers = Vec::with_capacity(names.len());
        for name in names {
            let n_alike = former.iter().filter(|other| **other == name).count() as u64;
            draw_numbers.push(fingerprint::text(name).wrapping_add(n_alike));
            former.push(name);
        }
        Ok(Step {
            transform: transform.clone(),
            input,
            output,
            position,
            draw_numbers: draw_numbers.into(),
            input_shape,
            output_len,
        })
    }

    /// True if samples are transformed one at a time, because they differ in size.
    fn is_by_sample(&self) -> bool {
        self.input_shape.is_none() || self.is_open()
    }

    /// True if samples come out in shapes that are not known before any data.
    pub(super) fn is_open(&self) -> bool {
        self.output_len.is_none()
    }
}

/// Samples of one sequence on their way into a step.
pub(super) enum Feed<'a> {
    /// Samples of one known shape, of which these are the sequence's own.
    Even(InputValues<'a>, Range<usize>),
    /// A recording of encoded bytes, of which these frames are the sequence's own.
    Recording(&'a [u8], Range<usize>),
    /// Samples of a column.
    Encoded(EncodedBytes<'a>, Range<usize>),
    /// One encoded sample, which lies within a file of records.
    Record(&'a [u8]),
    /// Samples that each have their own dimensions, one after the other.
    Open(InputValues<'a>, &'a [usize]),
}

/// Why a sequence could not be transformed.
pub(super) struct Failure {
    /// The sample of the sequence, if it is one.
    pub(super) sample: usize,
    pub(super) cause: FailureCause,
}

/// The cause of a [`Failure`].
pub(super) enum FailureCause {
    /// The transform of this number refused the sample.
    Step(usize, UserError),
    /// Making a sample that is decoded to this shape takes more memory than there is, or than there is beside its minibatch.
    Memory { shape: Vec<usize>, refused: BeyondRoom },
    /// The sample came out in another shape than those before it in the minibatch.
    Shape { found: Vec<usize>, expected: Vec<usize> },
}

impl FailureCause {
    /// Adds `n` steps that run before those that were counted.
    pub(super) fn after(self, n: usize) -> FailureCause {
        match self {
            FailureCause::Step(number, error) => FailureCause::Step(n + number, error),
            other @ (FailureCause::Shape { .. } | FailureCause::Memory { .. }) => other,
        }
    }
}

/// The shapes of samples, where those are open before any data.
pub(super) enum SampleShapes {
    /// The shape that all have, once there is one.
    Same(Option<Vec<usize>>),
    /// That of each, one after the other.
    Each(Vec<usize>),
}

/// Where the samples of a stream go when they come out of its last step.
pub(super) struct Sink<'a> {
    pub(super) values: &'a mut SampleValues,
    pub(super) shapes: &'a mut SampleShapes,
}

impl Sink<'_> {
    /// Takes in the shape of a sample.
    fn take_shape(&mut self, found: &[usize]) -> Result<(), FailureCause> {
        let same = match self.shapes {
            SampleShapes::Same(shape) => shape,
            SampleShapes::Each(shapes) => {
                shapes.extend_from_slice(found);
                return Ok(());
            }
        };
        let expected = same.get_or_insert_with(|| found.to_vec());
        if expected == found {
            Ok(())
        } else {
            Err(FailureCause::Shape { found: found.to_vec(), expected: expected.clone() })
        }
    }
}

/// The memory that one worker keeps for all chains of a source.
#[derive(Default)]
pub(crate) struct ChainMemory {
    /// The input and the output of a step.
    between: [Between; 2],
    /// Of each step that has been applied, by number among those of all streams.
    scratch: Vec<Scratch>,
    /// The shape of the sample that comes out of a step, where it is open.
    shape: Vec<usize>,
    /// The encoded sample that is being decoded, where it has to be put together.
    file: Vec<u8>,
    /// Where memory is set aside for encoded samples.
    room: Arc<SampleRoom>,
    /// Bytes of the minibatch that samples are made for.
    batch_bytes: u64,
}

impl ChainMemory {
    /// The memory of a worker whose encoded samples share this room.
    pub(crate) fn new(room: Arc<SampleRoom>) -> ChainMemory {
        ChainMemory { room, ..ChainMemory::default() }
    }

    /// Says how many bytes the minibatch has that the next samples become part of.
    pub(super) fn set_batch_bytes(&mut self, bytes: u64) {
        self.batch_bytes = bytes;
    }

    /// Frees what a large sample has left.
    fn shed(&mut self) {
        self.between = Default::default();
        self.scratch.iter_mut().for_each(shed);
    }

    /// Counts what transforms found worth mentioning.
    pub(crate) fn note_warnings(&mut self, counters: &Counters) {
        self.scratch.iter_mut().for_each(|scratch| counters.note_warnings(scratch));
    }

    /// The scratch memory of a step.
    pub(super) fn scratch(&mut self, number: usize) -> &mut Scratch {
        if self.scratch.len() <= number {
            self.scratch.resize_with(number + 1, Scratch::default);
        }
        &mut self.scratch[number]
    }
}

/// Frees the memory that a step has worked with.
fn shed(scratch: &mut Scratch) {
    (scratch.bytes, scratch.format) = (Vec::new(), None);
}

/// Samples between two transforms.
#[derive(Default)]
struct Between {
    /// Values of 8 bits: images, or the bits of an exact type.
    u8s: Vec<u8>,
    u16s: Vec<u16>,
    u32s: Vec<u32>,
    u64s: Vec<u64>,
    f32s: Vec<f32>,
    f64s: Vec<f64>,
    /// The dimensions of each sample, where they are open.
    dims: Vec<usize>,
}

impl Between {
    fn clear(&mut self) {
        self.u8s.clear();
        self.u16s.clear();
        self.u32s.clear();
        self.u64s.clear();
        self.f32s.clear();
        self.f64s.clear();
        self.dims.clear();
    }

    fn values(&self, of: ValueType) -> InputValues<'_> {
        match of {
            ValueType::F32 => InputValues::F32(&self.f32s),
            ValueType::F64 => InputValues::F64(&self.f64s),
            ValueType::Exact(element) => InputValues::Exact(
                element,
                match element.size() {
                    1 => BitsSlice::B8(&self.u8s),
                    2 => BitsSlice::B16(&self.u16s),
                    4 => BitsSlice::B32(&self.u32s),
                    _ => BitsSlice::B64(&self.u64s),
                },
            ),
            _ => InputValues::U8(&self.u8s),
        }
    }

    fn output(&mut self, of: ValueType) -> OutputValues<'_> {
        match of {
            ValueType::F32 => OutputValues::F32(&mut self.f32s),
            ValueType::F64 => OutputValues::F64(&mut self.f64s),
            ValueType::Exact(element) => OutputValues::Exact(
                element,
                match element.size() {
                    1 => BitsBuffer::B8(&mut self.u8s),
                    2 => BitsBuffer::B16(&mut self.u16s),
                    4 => BitsBuffer::B32(&mut self.u32s),
                    _ => BitsBuffer::B64(&mut self.u64s),
                },
            ),
            _ => OutputValues::U8(&mut self.u8s),
        }
    }

    fn len(&self, of: ValueType) -> usize {
        match self.values(of) {
            InputValues::F32(v) => v.len(),
            InputValues::F64(v) => v.len(),
            InputValues::U8(v) => v.len(),
            InputValues::Exact(_, v) => v.len(),
            _ => unreachable!("transforms make no encoded samples"),
        }
    }
}

/// Where the samples that come out of a step go.
enum Target<'a, 's> {
    Between(&'a mut Between),
    Sink(&'a mut Sink<'s>),
}

impl Target<'_, '_> {
    fn values(&mut self, of: ValueType) -> OutputValues<'_> {
        match self {
            Target::Sink(sink) => sink.values.output(),
            Target::Between(between) => between.output(of),
        }
    }

    /// Takes in the shape that a transform said; returns the number of values in the sample.
    fn open_sample(&mut self, step: usize, of: &SampleType, shape: &[usize]) -> Result<usize, FailureCause> {
        let fits = |(dim, &found): (&Option<usize>, &usize)| dim.is_none_or(|dim| dim == found);
        if shape.len() != of.dims.len() || !of.dims.iter().zip(shape).all(fits) {
            let found = match shape {
                [] => "no dimensions".to_owned(),
                _ => shape.iter().map(usize::to_string).collect::<Vec<_>>().join("x"),
            };
            let what = format!("gave a sample of {found}, expected {of}");
            return Err(FailureCause::Step(step, what.into()));
        }
        match self {
            Target::Between(between) => between.dims.extend_from_slice(shape),
            Target::Sink(sink) => sink.take_shape(shape)?,
        }
        Ok(shape.iter().product())
    }

    fn len(&self, of: ValueType) -> usize {
        match self {
            Target::Sink(sink) => sink.values.len(),
            Target::Between(between) => between.len(of),
        }
    }
}

/// The sequence that goes through steps, and the place of the first of them.
pub(super) struct Passage<'a> {
    /// Its random numbers.
    pub(super) draws: SequenceDraws<'a>,
    /// The number of the first step among those of all streams.
    pub(super) number: usize,
}

/// Takes a sequence through steps, and appends what comes out to `sink` in its type.
pub(super) fn run(
    steps: &[Step],
    first: Feed<'_>,
    passage: Passage<'_>,
    memory: &mut ChainMemory,
    sink: Sink<'_>,
) -> Result<(), Failure> {
    let room = Arc::clone(&memory.room);
    let mut entered = room.enter();
    let done = run_within(steps, first, passage, memory, sink, &mut entered);
    if entered.is_large() {
        memory.shed();
    }
    done
}

/// Runs the steps, reserving memory for encoded samples as they come.
fn run_within(
    steps: &[Step],
    first: Feed<'_>,
    mut passage: Passage<'_>,
    memory: &mut ChainMemory,
    mut sink: Sink<'_>,
    entered: &mut Entered<'_>,
) -> Result<(), Failure> {
    let ChainMemory { between: [from, to], scratch, shape, file, batch_bytes, .. } = memory;
    if scratch.len() < passage.number + steps.len() {
        scratch.resize_with(passage.number + steps.len(), Scratch::default);
    }
    let (mut from, mut to) = (from, to);
    let n = match &first {
        Feed::Even(_, samples) | Feed::Encoded(_, samples) | Feed::Recording(_, samples) => samples.len(),
        Feed::Record(_) => 1,
        Feed::Open(..) => unreachable!("streams are stored as values or encoded"),
    };
    let mut first = Some(first);
    for (number, step) in steps.iter().enumerate() {
        let feed = first.take().unwrap_or_else(|| match step.input_shape {
            Some(_) => Feed::Even(from.values(step.input.values), 0..n),
            None => Feed::Open(from.values(step.input.values), &from.dims),
        });
        to.clear();
        let delivered = sink.values.value_type();
        let spare_bytes = sink.values.memory().saturating_sub(sink.values.bytes()) as u64;
        let target = if number + 1 == steps.len() && step.output.values == delivered {
            Target::Sink(&mut sink)
        } else {
            Target::Between(to)
        };
        let copy = passage.draws.copy();
        let mut words = passage.draws.begin(step);
        let call =
            Call { step, number, copy, draw: words.draw(), scratch: &mut scratch[passage.number + number] };
        let applied = if step.is_by_sample() && !matches!(feed, Feed::Recording(..)) {
            let costs = Costs { entered, steps, delivered, batch_bytes: *batch_bytes, spare_bytes };
            call.each(&feed, n, target, SampleMemory { shape, file }, costs)
        } else {
            call.whole(&feed, n, target)
                .map_err(|error| Failure { sample: 0, cause: FailureCause::Step(number, error) })
        };
        applied?;
        if entered.is_large() {
            // The input of a step is freed before the next one begins.
            *from = Between::default();
            shed(&mut scratch[passage.number + number]);
        }
        std::mem::swap(&mut from, &mut to);
    }
    let Some(last) = steps.last().filter(|step| step.output.values != sink.values.value_type()) else {
        return Ok(());
    };
    if last.output_len.is_none() {
        for (sample, dims) in from.dims.chunks(last.output.dims.len().max(1)).enumerate() {
            sink.take_shape(dims).map_err(|cause| Failure { sample, cause })?;
        }
    }
    sink.values.append_cast(from.values(last.output.values));
    Ok(())
}

/// Bytes of one value.
fn bytes_of(values: ValueType) -> u64 {
    match values {
        ValueType::F64 => 8,
        ValueType::F32 => 4,
        ValueType::Exact(element) => element.size() as u64,
        _ => 1,
    }
}

/// The memory accounts of encoded samples on their way through the steps.
struct Costs<'a, 'r> {
    entered: &'a mut Entered<'r>,
    steps: &'a [Step],
    delivered: ValueType,
    /// Bytes of the minibatch.
    batch_bytes: u64,
    /// Bytes of it that wait for samples.
    spare_bytes: u64,
}

impl Costs<'_, '_> {
    /// Sets memory aside for an encoded sample before it is decoded, whose shape is put into `shape`.
    fn set_aside(&mut self, input: &Input<'_>, shape: &mut Vec<usize>) -> Result<(), FailureCause> {
        let refused = |error| FailureCause::Step(0, error);
        shape.clear();
        let decoding = self.steps[0].transform.decoding_bytes(input, shape).map_err(refused)?;
        let InputValues::Encoded(file) = input.values else { return Ok(()) };
        let (making, delivered) = self.transforming(shape);
        let bytes = decoding.max(making.saturating_add(delivered));
        // What is delivered has room in the minibatch already, but for the first sample and larger ones.
        let placed = delivered.min(self.spare_bytes);
        self.spare_bytes -= placed;
        let beside = self.batch_bytes.saturating_sub(placed).saturating_add(file.len() as u64);
        let beyond = |refused| FailureCause::Memory { shape: shape.clone(), refused };
        self.entered.add(bytes, beside).map_err(beyond)
    }

    /// The most bytes that a sample takes once it has been decoded to this shape: what goes into a step, what that works with, and
    /// what comes out; and those that it takes in its minibatch, unless that has been made for them. Where a shape is open, samples
    /// become no larger: steps that enlarge them say to which size.
    fn transforming(&self, decoded: &[usize]) -> (u64, u64) {
        let mut values = decoded.iter().fold(1_u64, |n, &dim| n.saturating_mul(dim as u64));
        let Some((decoder, steps)) = self.steps.split_first() else { return (0, 0) };
        let mut input = values.saturating_mul(bytes_of(decoder.output.values));
        let mut making = input;
        for (number, step) in steps.iter().enumerate() {
            let shape = step.input_shape.as_deref().unwrap_or(decoded);
            let working = step.transform.working_bytes(shape, step.output.values);
            values = step.output_len.map_or(values, |len| len as u64);
            let is_last = number + 1 == steps.len() && step.output.values == self.delivered;
            let output = if is_last { 0 } else { values.saturating_mul(bytes_of(step.output.values)) };
            making = making.max(input.saturating_add(working).saturating_add(output));
            input = output;
        }
        // A sample of a known size is part of what its minibatch is known to take.
        let is_open = self.steps.last().is_some_and(Step::is_open);
        let delivered = if is_open { values.saturating_mul(bytes_of(self.delivered)) } else { 0 };
        (making, delivered)
    }
}

/// Memory that one sample after the other uses.
struct SampleMemory<'a> {
    /// Its shape, where samples differ.
    shape: &'a mut Vec<usize>,
    /// Its file, where that is not in one piece.
    file: &'a mut Vec<u8>,
}

/// One step on its way through a sequence.
struct Call<'a> {
    step: &'a Step,
    /// The number of the step in its chain.
    number: usize,
    copy: u32,
    draw: Draw<'a>,
    scratch: &'a mut Scratch,
}

impl Call<'_> {
    /// Transforms all samples of a sequence at once.
    fn whole(mut self, feed: &Feed<'_>, n: usize, mut target: Target<'_, '_>) -> Result<(), UserError> {
        let Step { transform, input_shape, output, output_len, .. } = self.step;
        let (values, own, shape): (_, _, &[usize]) = match (feed, input_shape) {
            (Feed::Recording(bytes, own), _) => (InputValues::Encoded(bytes), own.clone(), &[]),
            (Feed::Even(values, own), Some(shape)) if transform.sees_context() => {
                (*values, own.clone(), shape)
            }
            (Feed::Even(values, own), Some(shape)) => {
                (part(*values, own, shape.iter().product()), 0..n, shape)
            }
            _ => unreachable!("samples of other shapes go one by one"),
        };
        let before = target.len(output.values);
        let input = Input::new(values, shape).with_own(own).with_copy(self.copy);
        let values = Output::new(target.values(output.values));
        transform.apply(input, values, &mut self.draw, self.scratch)?;
        check(target.len(output.values) - before, n * output_len.unwrap_or(0))
    }

    /// Transforms the samples one at a time.
    fn each(
        mut self,
        feed: &Feed<'_>,
        n: usize,
        mut target: Target<'_, '_>,
        SampleMemory { shape, file }: SampleMemory<'_>,
        mut costs: Costs<'_, '_>,
    ) -> Result<(), Failure> {
        let Step { transform, input, output, output_len, .. } = self.step;
        let rank = input.dims.len();
        let mut begin = 0;
        for i in 0..n {
            let mut embedded = false;
            let (values, dims): (_, &[usize]) = match feed {
                Feed::Encoded(encoded, samples) => {
                    embedded = encoded.column.origin(samples.start + i).embedded;
                    (InputValues::Encoded(encoded.get(samples.start + i, file)), &[])
                }
                Feed::Record(bytes) => {
                    embedded = true;
                    (InputValues::Encoded(bytes), &[])
                }
                Feed::Even(values, own) => {
                    let dims = self.step.input_shape.as_deref().unwrap_or_default();
                    (part(*values, &(own.start + i..own.start + i + 1), dims.iter().product()), dims)
                }
                Feed::Recording(..) => unreachable!("recordings are decoded at once"),
                Feed::Open(values, dims) => {
                    let dims = &dims[i * rank..(i + 1) * rank];
                    let len = dims.iter().product::<usize>();
                    begin += len;
                    (part(*values, &(begin - len..begin), 1), dims)
                }
            };
            let before = target.len(output.values);
            let input = Input::new(values, dims).with_own(0..1).with_copy(self.copy).with_embedded(embedded);
            let failed = |cause| Failure { sample: i, cause };
            if self.number == 0 && matches!(values, InputValues::Encoded(_)) {
                costs.set_aside(&input, shape).map_err(failed)?;
            }
            if let (Target::Sink(sink), None) = (&mut target, output_len) {
                // The minibatch grows by the sample, and not to twice its size.
                let dims = if matches!(values, InputValues::Encoded(_)) { &**shape } else { dims };
                sink.values.reserve(dims.iter().product());
            }
            shape.clear();
            let of = target.values(output.values);
            let out = if output_len.is_some() { Output::new(of) } else { Output::open(of, shape) };
            let refused = |error| failed(FailureCause::Step(self.number, error));
            transform.apply(input, out, &mut self.draw, self.scratch).map_err(refused)?;
            let expected = match output_len {
                Some(len) => *len,
                None => target.open_sample(self.number, output, shape).map_err(failed)?,
            };
            check(target.len(output.values) - before, expected).map_err(refused)?;
        }
        Ok(())
    }
}

/// Makes sure that as many values came out as there have to be.
fn check(found: usize, expected: usize) -> Result<(), UserError> {
    if found == expected { Ok(()) } else { Err(format!("gave {found} values, expected {expected}").into()) }
}

/// Samples `range` of values, of which each has `len`.
fn part<'a>(values: InputValues<'a>, range: &Range<usize>, len: usize) -> InputValues<'a> {
    let range = range.start * len..range.end * len;
    match values {
        InputValues::U8(v) => InputValues::U8(&v[range]),
        InputValues::F32(v) => InputValues::F32(&v[range]),
        InputValues::F64(v) => InputValues::F64(&v[range]),
        InputValues::Exact(element, bits) => InputValues::Exact(element, bits.part(range)),
        other => other,
    }
}
