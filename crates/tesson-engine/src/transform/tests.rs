use std::sync::Arc;

use tesson_core::{
    Draw, EncodedColumn, Input, InputValues, Origin, Output, OutputValues, ResourceId, SampleType, Scratch,
    StreamInfo, Transform, UserError, ValueType,
};
use tesson_memory::file_pages::EncodedBytes;
use tesson_plan::DrawKey;

use super::chain::{self, ChainMemory, FailureCause, Feed, Passage, SampleShapes, Sink, Step};
use super::draws::StreamDraws;
use super::{Chain, EncodedTransforms, next_step};
use crate::pack::Pools;
use crate::sample_room::SampleRoom;
use crate::sample_values::SampleValues;
use tesson_core::{Element, Shape};

/// A transform made of a function, for tests.
struct Test<F> {
    name: &'static str,
    output: SampleType,
    apply: F,
}

impl<F> Transform for Test<F>
where
    F: Fn(Input<'_>, Output<'_>, &mut Draw<'_>, &mut Scratch) -> Result<(), UserError> + Send + Sync,
{
    fn name(&self) -> &str {
        self.name
    }

    fn identity(&self) -> String {
        String::new()
    }

    fn output(&self, _: &SampleType) -> Result<SampleType, String> {
        Ok(self.output.clone())
    }

    fn apply(
        &self,
        input: Input<'_>,
        output: Output<'_>,
        draw: &mut Draw<'_>,
        scratch: &mut Scratch,
    ) -> Result<(), UserError> {
        (self.apply)(input, output, draw, scratch)
    }
}

fn test<F>(name: &'static str, output: SampleType, apply: F) -> Arc<dyn Transform>
where
    F: Fn(Input<'_>, Output<'_>, &mut Draw<'_>, &mut Scratch) -> Result<(), UserError>
        + Send
        + Sync
        + 'static,
{
    Arc::new(Test { name, output, apply })
}

/// The bytes of a sample as numbers of one row.
fn decode() -> Arc<dyn Transform> {
    test("decode", SampleType::dense(ValueType::U8, [None]), |input, mut output, _, _| {
        let InputValues::Encoded(bytes) = input.values else { return Err("bytes".into()) };
        output.set_shape(&[bytes.len()]);
        let OutputValues::U8(out) = output.values else { return Err("8 bit".into()) };
        out.extend_from_slice(bytes);
        Ok(())
    })
}

/// The sum of a sample, and how often the step has been called on this thread.
fn sum() -> Arc<dyn Transform> {
    test("sum", SampleType::dense(ValueType::F64, [Some(2)]), |input, output, _, scratch| {
        scratch.bytes.push(0);
        let InputValues::U8(values) = input.values else { return Err("8 bit".into()) };
        let OutputValues::F64(out) = output.values else { return Err("64 bit".into()) };
        let sum: u32 = values.iter().map(|&x| u32::from(x)).sum();
        out.extend([f64::from(sum), scratch.bytes.len() as f64]);
        Ok(())
    })
}

/// Numbers that are drawn.
fn drawn() -> Arc<dyn Transform> {
    test("drawn", SampleType::dense(ValueType::F32, [Some(1)]), |input, output, draw, _| {
        let OutputValues::F32(out) = output.values else { return Err("32 bit".into()) };
        out.extend(input.own.map(|_| draw.integer(0, 1 << 20) as f32));
        Ok(())
    })
}

fn steps(transforms: &[Arc<dyn Transform>], stream: &StreamInfo) -> Result<Vec<Step>, String> {
    let mut steps = Vec::new();
    for transform in transforms {
        steps.push(next_step(&steps, transform, stream)?);
    }
    Ok(steps)
}

fn key(copy: u64) -> DrawKey {
    DrawKey { seed: 1, transform_seed: 0, transform: 0, copy, sweep: 0, sequence: 5 }
}

/// Runs steps on a sequence and returns 32-bit floats, or the step, the sample and the sentence of a failure.
fn run(steps: &[Step], feed: Feed<'_>, copy: u64, memory: &mut ChainMemory) -> Result<Vec<f32>, String> {
    let pools = Pools::new(1, usize::MAX);
    let mut out = SampleValues::with_capacity(Element::F32, 0, &pools);
    let mut draws = StreamDraws::keyed();
    let passage = Passage { draws: draws.of(0, 0, key(copy)), number: 0 };
    let sink = Sink { values: &mut out, shapes: &mut SampleShapes::Same(None) };
    chain::run(steps, feed, passage, memory, sink).map_err(|failure| match failure.cause {
        FailureCause::Step(step, error) => format!("{step} {}: {error}", failure.sample),
        FailureCause::Memory { refused, .. } => format!("{refused:?}"),
        FailureCause::Shape { .. } => unreachable!("the last step gives one shape"),
    })?;
    let SampleValues::F32(values) = out else { panic!("the type was chosen above") };
    Ok(values.to_vec())
}

fn encoded(column: &EncodedColumn) -> EncodedBytes<'_> {
    EncodedBytes { column, pages: None }
}

fn column(samples: &[&[u8]]) -> EncodedColumn {
    let mut column = EncodedColumn::default();
    let origin = Origin { resource: ResourceId(0), offset: 0, line: None, embedded: false };
    samples.iter().for_each(|bytes| column.push(bytes, origin));
    column
}

#[test]
fn samples_of_each_size_go_through_all_steps_and_come_out_in_the_streams_type() {
    let steps = steps(&[decode(), sum()], &StreamInfo::encoded("x", Element::F32)).unwrap();
    let column = column(&[&[9], &[1, 2, 3], &[], &[4, 5]]);
    let mut memory = ChainMemory::default();
    let found = run(&steps, Feed::Encoded(encoded(&column), 1..4), 0, &mut memory).unwrap();
    // What a step leaves in its scratch memory is there in the next call.
    assert_eq!(found, [6.0, 1.0, 0.0, 2.0, 9.0, 3.0]);
    assert_eq!(run(&steps, Feed::Encoded(encoded(&column), 0..1), 0, &mut memory).unwrap(), [9.0, 4.0]);
}

#[test]
fn copies_and_steps_draw_their_own_numbers() {
    let info = StreamInfo::dense("x", Shape::new([1]), Element::F32);
    let steps = steps(&[drawn(), drawn()], &info).unwrap();
    let values = [0.0; 3];
    let mut memory = ChainMemory::default();
    let mut of = |steps: &[Step], copy| {
        run(steps, Feed::Even(InputValues::F32(&values), 0..3), copy, &mut memory).unwrap()
    };
    assert_eq!(of(&steps, 0), of(&steps, 0));
    assert_ne!(of(&steps, 0), of(&steps, 1));
    assert_ne!(of(&steps, 0), of(&steps[..1], 0));
}

#[test]
fn a_step_that_gives_another_size_than_it_said_is_an_error_with_its_sample() {
    let odd = |output: SampleType, dims: &'static [usize]| {
        test("odd", output, move |_, mut output, _, _| {
            output.set_shape(dims);
            let OutputValues::U8(out) = output.values else { return Err("8 bit".into()) };
            out.extend([1, 2]);
            Ok(())
        })
    };
    let info = StreamInfo::encoded("x", Element::F32);
    let column = column(&[&[7], &[8]]);
    let mut memory = ChainMemory::default();
    for (output, dims, expected) in [
        (SampleType::dense(ValueType::U8, [Some(3)]), &[][..], "0 0: gave 2 values, expected 3"),
        (SampleType::dense(ValueType::U8, [None]), &[3], "0 0: gave 2 values, expected 3"),
        (
            SampleType::dense(ValueType::U8, [None, Some(3)]),
            &[1, 2],
            "0 0: gave a sample of 1x2, expected uint8 ?x3",
        ),
        (
            SampleType::dense(ValueType::U8, [None]),
            &[],
            "0 0: gave a sample of no dimensions, expected uint8 ?",
        ),
    ] {
        let steps = steps(&[odd(output, dims)], &info).unwrap();
        assert_eq!(run(&steps, Feed::Encoded(encoded(&column), 0..2), 0, &mut memory).unwrap_err(), expected);
    }
}

#[test]
fn types_are_worked_out_step_by_step() {
    let stream = |info: StreamInfo, transforms: &[Arc<dyn Transform>]| {
        let chain = Chain::new(steps(transforms, &info)?, &Arc::new(info))?;
        Ok::<_, String>((chain.delivered.shape.to_string(), chain.delivered.element, chain.delivered.sparse))
    };
    let encoded = || StreamInfo::encoded("x", Element::F32);
    assert_eq!(stream(encoded(), &[decode(), sum()]).unwrap(), ("2".into(), Element::F32, false));
    let sparse = StreamInfo::sparse("x", 7, Element::F64);
    assert_eq!(stream(sparse, &[sum()]).unwrap(), ("2".into(), Element::F64, false));
    assert_eq!(stream(encoded(), &[]).unwrap_err(), "samples are encoded, and no transform decodes them");
    // What is open to the end is 0: each minibatch has its own shape.
    assert_eq!(stream(encoded(), &[decode()]).unwrap(), ("0".into(), Element::F32, false));
    let encode = test("encode", SampleType::of(&encoded()), |_, _, _, _| Ok(()));
    let error = stream(encoded(), &[decode(), encode]).unwrap_err();
    assert_eq!(error, "`encode`: gives encoded bytes for uint8 ?, which no transform may");
}

#[test]
fn a_transform_draws_the_same_numbers_whatever_stands_beside_it() {
    let values = |transforms: &[Arc<dyn Transform>]| {
        let stream = StreamInfo::dense("x", Shape::new([1]), Element::F32);
        let steps = steps(transforms, &stream).expect("they fit");
        let feed = Feed::Even(InputValues::F32(&[1.0]), 0..1);
        run(&steps, feed, 0, &mut ChainMemory::default()).expect("they succeed")
    };
    let renamed = |name: &'static str| {
        test(name, SampleType::dense(ValueType::F32, [Some(1)]), |input, output, draw, _| {
            let OutputValues::F32(out) = output.values else { return Err("32 bit".into()) };
            out.extend(input.own.map(|_| draw.integer(0, 1 << 20) as f32));
            Ok(())
        })
    };
    let alone = values(&[drawn()]);
    assert_eq!(values(&[renamed("other"), drawn()]), alone);
    assert_eq!(values(&[drawn(), renamed("other")]), values(&[renamed("other")]));
    assert_ne!(values(&[renamed("other")]), alone);
    // The second of a name is another one.
    let second = values(&[drawn(), drawn()]);
    assert_ne!(second, alone);
    assert_eq!(values(&[drawn(), renamed("other"), drawn()]), second);
}

/// Decodes any file to as many bytes as its first byte says, in millions.
struct Large;

impl Transform for Large {
    fn name(&self) -> &str {
        "large"
    }

    fn identity(&self) -> String {
        "1".into()
    }

    fn output(&self, _: &SampleType) -> Result<SampleType, String> {
        Ok(SampleType::dense(ValueType::U8, [None]))
    }

    fn decoding_bytes(&self, input: &Input<'_>, shape: &mut Vec<usize>) -> Result<u64, UserError> {
        let InputValues::Encoded(&[millions, ..]) = input.values else { return Err("an empty file".into()) };
        shape.push(usize::from(millions) * 1_000_000);
        Ok(u64::from(millions) * 2_000_000)
    }

    fn apply(
        &self,
        input: Input<'_>,
        mut output: Output<'_>,
        _: &mut Draw<'_>,
        _: &mut Scratch,
    ) -> Result<(), UserError> {
        let mut shape = Vec::new();
        self.decoding_bytes(&input, &mut shape)?;
        assert!(shape[0] < 30_000_000, "it was to be refused before");
        let OutputValues::U8(out) = &mut output.values else { return Err("8 bit".into()) };
        out.resize(out.len() + shape[0], 1);
        output.set_shape(&shape);
        Ok(())
    }
}

#[test]
fn a_sample_that_takes_more_than_there_is_is_refused_before_it_is_decoded() {
    let transforms = EncodedTransforms::new("picture", &[Arc::new(Large)], 0).expect("it decodes");
    let room = Arc::new(SampleRoom::new(64_000_000, 2));
    let mut scratch = transforms.scratch(&room);
    let mut len = |file: &[u8]| {
        let made = transforms.apply(file, 0, "key", &mut scratch);
        made.map(|sample| sample.shape[0]).map_err(|failure| failure.error.to_string())
    };
    // Twice as many bytes to decode, and one for each value where they come out.
    assert_eq!(len(&[20]), Ok(20_000_000));
    let refused = len(&[200]).unwrap_err();
    assert!(refused.contains("200000000 values takes 400000000 bytes, at most 48000000 fit"), "{refused}");
    assert!(refused.contains("; 533333334 or more is needed"), "{refused}");
    assert_eq!(len(&[]), Err("an empty file".into()));
    assert_eq!((len(&[1]), room.in_use()), (Ok(1_000_000), 0));
}
