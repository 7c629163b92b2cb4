//! Streams that blocks keep as they were read: encoded samples, frames of recordings, samples that are repeated.

use std::collections::BTreeMap;
use std::sync::Arc;

use tesson::{BatchKeys, Demand, Error, Minibatch, OpenOptions, SampleValues, Samples, Source, SourceConfig};
use tesson_config::Transforms;
use tesson_config::{json, lower};
use tesson_core::{
    Draw, Input, InputValues, Output, OutputValues, SampleType, Scratch, Transform, ValueType,
};
use tesson_engine::Severity;
use tesson_formats::user::UserError;

use crate::kit::{per_sequence, store_of, stream_of};
use crate::scans;

/// The kinds of transforms in these tests.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    /// Digits to numbers: an image of open shape.
    Decode,
    /// Drops the last row, or not, by chance.
    Cut,
    /// Two by two numbers: a corner, which the copy chooses.
    Corner,
    /// Divided by 2, as floats.
    Half,
    /// Each frame with those before and after it.
    Window,
    /// A number that is drawn behind each frame.
    Mark,
}
use Kind::{Corner, Cut, Decode, Half, Mark, Window};

struct Test(Kind);

impl Transform for Test {
    fn name(&self) -> &str {
        match self.0 {
            Decode => "decode",
            Cut => "cut",
            Corner => "corner",
            Half => "half",
            Window => "window",
            Mark => "mark",
        }
    }

    fn identity(&self) -> String {
        "1".into()
    }

    fn output(&self, input: &SampleType) -> Result<SampleType, String> {
        let takes = match self.0 {
            Decode => input.values == ValueType::Encoded,
            Cut | Corner => input.values == ValueType::U8 && input.dims.len() == 2,
            Half | Window | Mark => input.values != ValueType::Encoded && input.shape().is_some(),
        };
        if !takes {
            return Err(format!("found {input}"));
        }
        Ok(match self.0 {
            Decode => SampleType::dense(ValueType::U8, [None, None]),
            Cut => input.clone().with_dims([None, input.dims[1]]),
            Corner => input.clone().with_dims([Some(2), Some(2)]),
            Half => input.clone().with_values(ValueType::F32),
            Window => input.clone().with_dims([Some(3)]),
            Mark => input.clone().with_dims([Some(2)]),
        })
    }

    fn apply(
        &self,
        input: Input<'_>,
        mut output: Output<'_>,
        draw: &mut Draw<'_>,
        scratch: &mut Scratch,
    ) -> Result<(), UserError> {
        let shape = input.shape.to_vec();
        let mut dims = None;
        match (self.0, input.values, &mut output.values) {
            (Decode, InputValues::Encoded(bytes), OutputValues::U8(out)) => {
                scratch.bytes.clear();
                scratch.bytes.extend(bytes.iter().filter(|&&b| b != b'/'));
                if let Some(odd) = scratch.bytes.iter().find(|b| !b.is_ascii_digit()) {
                    return Err(format!("found `{}`, expected a digit", char::from(*odd)).into());
                }
                out.extend(scratch.bytes.iter().map(|b| b - b'0'));
                let rows = 1 + bytes.iter().filter(|&&b| b == b'/').count();
                dims = Some([rows, scratch.bytes.len() / rows]);
            }
            (Cut, InputValues::U8(values), OutputValues::U8(out)) => {
                let rows = shape[0] - usize::from(shape[0] > 2 && draw.coin());
                out.extend_from_slice(&values[..rows * shape[1]]);
                dims = Some([rows, shape[1]]);
            }
            (Corner, InputValues::U8(values), OutputValues::U8(out)) => {
                let (rows, columns) = (shape[0], shape[1]);
                let top = if input.copy & 2 == 0 { 0 } else { rows - 2 };
                let left = if input.copy & 1 == 0 { 0 } else { columns - 2 };
                for row in top..top + 2 {
                    out.extend_from_slice(&values[row * columns + left..row * columns + left + 2]);
                }
            }
            (Half, InputValues::U8(values), OutputValues::F32(out)) => {
                out.extend(values.iter().map(|&x| f32::from(x) / 2.0));
            }
            (Half, InputValues::F32(values), OutputValues::F32(out)) => {
                out.extend(values.iter().map(|&x| x / 2.0));
            }
            (Window, InputValues::F32(values), OutputValues::F32(out)) => {
                for i in input.own {
                    let near = [i.saturating_sub(1), i, (i + 1).min(values.len() - 1)];
                    out.extend(near.map(|i| values[i]));
                }
            }
            (Mark, InputValues::F32(values), OutputValues::F32(out)) => {
                out.extend(values.iter().flat_map(|&x| [x, draw.integer(0, 1000) as f32]));
            }
            _ => return Err("another type is expected".into()),
        }
        if let Some(dims) = dims {
            output.set_shape(&dims);
        }
        Ok(())
    }

    fn sees_context(&self) -> bool {
        self.0 == Window
    }
}

fn config(deserializers: &str, options: &str, transforms: &[Kind]) -> SourceConfig {
    let text = format!(r#"{{"deserializers": [{deserializers}] {options}}}"#);
    let registry = tesson::registry().with(&scans::FORMAT);
    let tree = json::parse(&text).expect("the text is JSON");
    let mut config = lower(&tree, &registry).expect("the options are right");
    config.transforms =
        Transforms::of("x", transforms.iter().map(|&kind| Arc::new(Test(kind)) as Arc<dyn Transform>));
    config
}

fn open_of(files: &[(&str, &str)], config: &SourceConfig) -> Result<Source, Error> {
    OpenOptions::in_store(&store_of(files.iter().copied())).open(config)
}

/// Key and values of a sequence.
type Sequence = (u64, Vec<f32>);

/// Keys and values of the sequences of a minibatch.
fn sequences(minibatch: &Minibatch, stream: &str) -> Vec<Sequence> {
    let BatchKeys::Numbers(keys) = minibatch.keys() else { panic!("keys are numbers") };
    let stream = stream_of(minibatch, stream);
    let Samples::Dense { values: SampleValues::F32(values) } = stream.samples() else {
        panic!("dense floats")
    };
    let all = per_sequence(values, stream, stream.info().shape.len());
    assert_eq!(all.len(), keys.len());
    keys.iter().copied().zip(all).collect()
}

/// The sequences of minibatches up to the end.
fn rest(source: &mut Source, demand: Demand) -> Result<Vec<Vec<Sequence>>, Error> {
    let mut all = Vec::new();
    while let Some(minibatch) = source.next(demand)? {
        all.push(sequences(&minibatch, "x"));
    }
    Ok(all)
}

fn alone(samples: u64) -> Demand {
    Demand { samples, workers: 1, rank: 0 }
}

/// Images of three rows of three or four digits.
fn images(n: u32) -> String {
    let row = |i: u32, row: u32| format!("{}{}{}", i % 10, row, (i + row) % 10);
    let line = |i: u32| {
        let wide = if i.is_multiple_of(3) { "7" } else { "" };
        let rows: Vec<String> = (0..3).map(|r| row(i, r) + wide).collect();
        format!("{i}\t{}\n", rows.join("/"))
    };
    (0..n).map(line).collect()
}

const SCANS: &str = r#"{"type": "Scans"}"#;

#[test]
fn encoded_samples_are_decoded_through_types_and_open_shapes() {
    let text = "5\t123/456/789\n6\t12/34\n";
    let open = |kinds: &[Kind]| {
        open_of(&[("f", text)], &config(SCANS, r#", "randomize": false, "maxSweeps": 1"#, kinds))
    };
    let mut source = open(&[Decode, Corner]).unwrap();
    assert_eq!(
        (source.streams()[0].shape.dims(), source.streams()[0].element.name()),
        (&[2, 2][..], "float32")
    );
    let all = rest(&mut source, alone(10)).unwrap().concat();
    assert_eq!(all, [(5, vec![1.0, 2.0, 4.0, 5.0]), (6, vec![1.0, 2.0, 3.0, 4.0])]);
    let halves = rest(&mut open(&[Decode, Corner, Half]).unwrap(), alone(10)).unwrap().concat();
    assert_eq!(halves[0].1, [0.5, 1.0, 2.0, 2.5]);
}

#[test]
fn what_does_not_go_together_is_refused_when_it_is_opened() {
    let error = |kinds: &[Kind]| {
        let found = open_of(&[("f", "5\t12/34\n")], &config(SCANS, "", kinds));
        found.map(|_| ()).unwrap_err().to_string()
    };
    assert_eq!(error(&[]), "transforms.x: samples are encoded, and no transform decodes them");
    assert_eq!(error(&[Half]), "transforms.x: `half`: found encoded bytes");
    assert_eq!(error(&[Decode, Decode]), "transforms.x: `decode`: found uint8 ?x?");
    assert_eq!(error(&[Decode, Half]), "transforms.x: `half`: found uint8 ?x?");
}

#[test]
fn a_shape_that_is_open_to_the_end_is_that_of_a_minibatch() {
    let open = |text: &str| {
        let options = r#", "randomize": false, "maxSweeps": 1"#;
        open_of(&[("f", text)], &config(SCANS, options, &[Decode])).unwrap()
    };
    let mut source = open("5\t12/34\n6\t56/78\n7\t123/456\n");
    assert_eq!(source.streams()[0].shape.dims(), [0, 0]);
    let minibatch = source.next_minibatch(2).unwrap().expect("two pictures of one shape");
    assert_eq!(minibatch.stream("x").unwrap().info().shape.dims(), [2, 2]);
    let minibatch = source.next_minibatch(2).unwrap().expect("a picture of another shape");
    assert_eq!(minibatch.stream("x").unwrap().info().shape.dims(), [2, 3]);
    let error = open("5\t12/34\n6\t123/456\n").next_minibatch(2).unwrap_err();
    assert_eq!(
        error.to_string().split(": ").last(),
        Some(
            "the sample has the shape 2x3, those before it in the minibatch have 2x2; scale all to one shape, or \
             set `ragged` of the stream"
        )
    );
}

#[test]
fn blocks_in_memory_hold_what_was_stored_and_each_sweep_draws_anew() {
    let text = images(40);
    let options = r#", "randomizationSeed": 3, "maxSweeps": 3"#;
    let views = |more: &str| {
        let scans = r#"{"type": "Scans", "views": 4}"#;
        let config = config(scans, &format!("{options}{more}"), &[Decode, Cut, Corner, Half]);
        open_of(&[("f", &text)], &config).unwrap()
    };
    let all = rest(&mut views(r#", "threads": 1"#), alone(7)).unwrap();
    let flat = all.concat();
    assert_eq!(flat.len(), 3 * 160);
    let by_key = |part: &[(u64, Vec<f32>)]| {
        let mut found = BTreeMap::<u64, Vec<Vec<u32>>>::new();
        for (key, values) in part {
            found.entry(*key).or_default().push(values.iter().map(|x| x.to_bits()).collect());
        }
        found.values_mut().for_each(|views| views.sort());
        found
    };
    let sweeps: Vec<_> = flat.chunks(160).map(by_key).collect();
    assert!(sweeps.iter().all(|sweep| sweep.len() == 40 && sweep.values().all(|views| views.len() == 4)));
    assert!(sweeps[0] != sweeps[1] && sweeps[1] != sweeps[2], "each sweep draws its own cuts");
    for more in [r#", "threads": 3"#, r#", "memoryLimit": 30000"#, r#", "prefetch": false"#] {
        assert_eq!(rest(&mut views(more), alone(7)).unwrap(), all, "{more}");
    }
    for taken in [1, 20, 40] {
        let mut source = views("");
        let state = (0..taken).map(|_| source.next(alone(7)).unwrap().unwrap().resume().clone()).last();
        let mut resumed = views("");
        resumed.restore(&state.unwrap()).unwrap();
        assert_eq!(rest(&mut resumed, alone(7)).unwrap(), all[taken..]);
    }
}

#[test]
fn each_view_of_an_image_is_told_which_it_is() {
    let scans = r#"{"type": "Scans", "views": 4}"#;
    let config = config(scans, r#", "randomize": false, "maxSweeps": 1"#, &[Decode, Corner]);
    let all = rest(&mut open_of(&[("f", "5\t123/456/789\n")], &config).unwrap(), alone(3)).unwrap();
    assert_eq!(all.iter().map(Vec::len).collect::<Vec<_>>(), [3, 1], "minibatches may end between views");
    let corners = [[1., 2., 4., 5.], [2., 3., 5., 6.], [4., 5., 7., 8.], [5., 6., 8., 9.]];
    assert_eq!(all.concat(), corners.map(|corner| (5, corner.to_vec())));
}

#[test]
fn what_cannot_be_decoded_is_a_fault_with_its_line_and_left_out() {
    let text = images(30).replace("\n11\t", "\n11\t!").replace("\n23\t", "\n23\t?");
    let open = |max_errors: u32, more: &str| {
        let scans = format!(r#"{{"type": "Scans", "maxErrors": {max_errors}}}"#);
        open_of(&[("f", &text)], &config(&scans, &format!(r#", "maxSweeps": 2 {more}"#), &[Decode, Corner]))
            .unwrap()
    };
    for order in [r#", "randomize": false"#, r#", "randomizationSeed": 3"#] {
        let mut source = open(0, order);
        let e = rest(&mut source, alone(4)).unwrap_err().to_string();
        assert!(e.contains("f:12 ") || e.contains("f:24 "), "{e}");
        assert!(e.contains("transform `decode`: found `!`, expected a digit") || e.contains("`?`"), "{e}");
        assert!(e.contains("`x`"), "{e}");
        assert!(rest(&mut open(1, order), alone(4)).is_err());
        let mut source = open(2, order);
        let all = rest(&mut source, alone(4)).unwrap();
        let mut keys: Vec<u64> = all.concat().iter().map(|(key, _)| *key).collect();
        keys.sort_unstable();
        let expected = (0..30).filter(|i| ![11, 23].contains(i)).flat_map(|i| [i, i]);
        assert_eq!(keys, expected.collect::<Vec<_>>());
        assert_eq!(source.state().faults, 2, "each is counted once");
        for more in [r#", "threads": 3"#, r#", "memoryLimit": 30000"#] {
            assert_eq!(rest(&mut open(2, &format!("{order}{more}")), alone(4)).unwrap(), all);
        }
    }
}

#[test]
fn a_check_decodes_what_is_stored_encoded() {
    let text = images(30).replace("\n11\t", "\n11\t!").replace("\n23\t", "\n23\t?");
    for threads in [1, 3] {
        let options = format!(r#", "randomize": false, "maxSweeps": 1, "threads": {threads}"#);
        let mut source = open_of(&[("f", &text)], &config(SCANS, &options, &[Decode, Corner])).unwrap();
        let mut found = Vec::new();
        let checked = source.check(&mut |e, severity| found.push((e.to_string(), severity))).unwrap();
        assert_eq!((checked.sequences, checked.faults, checked.left_out), (30, 2, 2));
        for ((e, severity), (line, key, odd)) in found.iter().zip([(12, 11, '!'), (24, 23, '?')]) {
            assert!(e.starts_with(&format!("f:{line} ")), "{e}");
            let what =
                format!("stream `x`, sequence {key}: transform `decode`: found `{odd}`, expected a digit");
            assert!(e.ends_with(&what), "{e}");
            assert_eq!(*severity, Severity::Fault);
        }
        assert_eq!(found.len(), 2);
    }
}

#[test]
fn workers_that_share_by_position_count_each_others_faults() {
    let text = images(30).replace("\n11\t", "\n11\t!").replace("\n23\t", "\n23\t?");
    let open = |max_errors: u32| {
        let scans = format!(r#"{{"type": "Scans", "maxErrors": {max_errors}}}"#);
        let options = r#", "randomize": "global", "maxSweeps": 1"#;
        open_of(&[("f", &text)], &config(&scans, options, &[Decode, Corner])).unwrap()
    };
    let mut keys = Vec::new();
    for rank in 0..2 {
        let demand = Demand { samples: 4, workers: 2, rank };
        let mut source = open(2);
        keys.extend(rest(&mut source, demand).unwrap().concat().iter().map(|(key, _)| *key));
        assert_eq!(source.state().faults, 2);
        assert!(rest(&mut open(1), demand).is_err());
    }
    keys.sort_unstable();
    assert_eq!(keys, (0..30).filter(|i| ![11, 23].contains(i)).collect::<Vec<_>>());
}

/// Recordings of 1 to 9 frames.
fn recordings(n: u32) -> String {
    let line = |i: u32| {
        let digits: String = (0..=i % 9).map(|frame| ((i + 3 * frame) % 10).to_string()).collect();
        format!("{i}\t{digits}\n")
    };
    (0..n).map(line).collect()
}

#[test]
fn windows_of_frames_are_those_of_the_whole_recording() {
    let text = recordings(25);
    let whole = r#"{"type": "Scans", "storage": "values"}"#;
    let whole = config(whole, r#", "randomize": false, "maxSweeps": 1"#, &[Window, Half]);
    let whole = rest(&mut open_of(&[("f", &text)], &whole).unwrap(), alone(9)).unwrap().concat();
    let mut expected: Vec<(u64, Vec<f32>)> = whole
        .iter()
        .flat_map(|(key, values)| values.chunks(3).map(|window| (*key, window.to_vec())))
        .collect();
    let frames = r#"{"type": "Scans", "storage": "frames"}"#;
    let open = |more: &str, kinds: &[Kind]| {
        open_of(&[("f", &text)], &config(frames, &format!(r#", "maxSweeps": 1 {more}"#), kinds))
    };
    let stored = r#", "randomize": false, "frameMode": true"#;
    assert_eq!(rest(&mut open(stored, &[Window, Half]).unwrap(), alone(7)).unwrap().concat(), expected);
    let order =
        |all: &mut Vec<(u64, Vec<f32>)>| all.sort_by(|a, b| a.partial_cmp(b).expect("no number is missing"));
    order(&mut expected);
    for more in [
        r#", "randomizationSeed": 3"#,
        r#", "randomizationSeed": 3, "memoryLimit": 20000"#,
        r#", "randomize": "global""#,
    ] {
        let mut found = rest(&mut open(more, &[Window, Half]).unwrap(), alone(7)).unwrap().concat();
        order(&mut found);
        assert_eq!(found, expected, "{more}");
    }
    // Without a transform, and with one that sees no context, a frame is a frame.
    let plain = rest(&mut open(stored, &[]).unwrap(), alone(7)).unwrap().concat();
    let halves = rest(&mut open(stored, &[Half]).unwrap(), alone(7)).unwrap().concat();
    assert!(plain.iter().zip(&halves).all(|((a, x), (b, y))| a == b && x[0] == 2.0 * y[0]));
    let e = open(stored, &[Half, Window]).map(|_| ()).unwrap_err().to_string();
    assert_eq!(e, "transforms.x: `window` looks at the frames around each one and has to come first");
}

#[test]
fn one_sample_is_repeated_to_the_length_of_the_first_deserializers_sequence() {
    let files =
        [("f", recordings(25)), ("speakers", (0..30).rev().map(|i| format!("{i}\t{}\n", i % 7)).collect())];
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (*name, text.as_str())).collect();
    let of = |storage: &str| {
        format!(
            r#"{{"type": "Scans", "storage": "{storage}", "stream": "frames"}},
            {{"type": "Scans", "storage": "repeated", "file": "speakers"}}"#
        )
    };
    for (storage, more) in [
        ("values", r#", "randomize": false"#),
        ("values", r#", "randomizationSeed": 3"#),
        ("values", r#", "randomizationSeed": 3, "memoryLimit": 30000"#),
        ("frames", r#", "randomizationSeed": 3"#),
    ] {
        for kinds in [&[][..], &[Mark]] {
            let config = config(&of(storage), &format!(r#", "maxSweeps": 1 {more}"#), kinds);
            let mut source = open_of(&files, &config).unwrap();
            let mut n_sequences = 0;
            while let Some(minibatch) = source.next(alone(11)).unwrap() {
                let (frames, speakers) = (sequences(&minibatch, "frames"), sequences(&minibatch, "x"));
                n_sequences += frames.len();
                for ((key, frames), (_, speakers)) in frames.iter().zip(&speakers) {
                    let dim = 1 + kinds.len();
                    assert_eq!(speakers.len(), dim * frames.len());
                    assert!(speakers.chunks(dim).all(|sample| sample[0] == (key % 7) as f32));
                }
            }
            let n_frames = (0..25).map(|i| 1 + i % 9).sum();
            assert_eq!(n_sequences, if storage == "frames" { n_frames } else { 25 });
        }
    }
    let first = r#"{"type": "Scans", "storage": "repeated", "file": "speakers"}"#;
    let e = open_of(&files, &config(first, "", &[])).map(|_| ()).unwrap_err().to_string();
    assert!(e.contains("stream `x` is repeated"), "{e}");
}

#[test]
fn a_deserializer_that_needs_another_one_first_is_refused_as_the_first() {
    let files = [("f", "1\t7\n"), ("g", "1\t8\n")];
    let scans = |stream: &str, file: &str, more: &str| {
        format!(r#"{{"type": "Scans", "storage": "values", "stream": "{stream}", "file": "{file}"{more}}}"#)
    };
    let (labels, first) = (scans("labels", "g", r#", "needsAnotherFirst": true"#), scans("x", "f", ""));
    let opened = |list: &str| open_of(&files, &config(list, r#", "maxSweeps": 1"#, &[]));
    assert!(opened(&format!("{first}, {labels}")).is_ok());
    for list in [format!("{labels}, {first}"), labels.clone()] {
        let e = opened(&list).map(|_| ()).unwrap_err().to_string();
        let expected = "deserializers[0]: `Scans` only adds to the sequences of another deserializer; put that one first";
        assert_eq!(e, expected);
    }
    let named = format!("{labels}, {first}");
    let config = config(&named, r#", "maxSweeps": 1, "primary": 1"#, &[]);
    assert!(open_of(&files, &config).is_ok());
}
