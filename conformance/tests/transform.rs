//! Transforms give the same results for any threads, minibatches, workers and resumed states, and draw separate
//! numbers for every sequence of every sweep.

use std::collections::BTreeMap;
use std::sync::Arc;

use tesson::{Error, OpenOptions, Shape, Source, SourceConfig};
use tesson_config::Transforms;
use tesson_conformance::corpus::{self, Delivered, TRUNCATED, dawdling, rest};
use tesson_conformance::marked::Marked;
use tesson_conformance::ways::WAYS;
use tesson_core::{Transform, TransformFormat};

fn config(options: &str, marks: &[u64]) -> SourceConfig {
    let mut config = corpus::config(options);
    let transforms = marks.iter().map(|&seed| Arc::new(Marked { seed }) as Arc<dyn Transform>);
    config.transforms = Transforms::of("x", transforms);
    config
}

fn open(options: &str, marks: &[u64]) -> Source {
    let store = dawdling(corpus::store(&corpus::text(&corpus::lengths())), 3);
    OpenOptions::in_store(&store).open(&config(options, marks)).expect("the data are right")
}

const STORED: &str = r#""randomize": false"#;

/// The draws of each sequence, one list for each delivery; the segments of a truncated sequence are joined.
fn drawn(minibatches: &[Delivered]) -> BTreeMap<String, Vec<Vec<u64>>> {
    let mut all = BTreeMap::<String, Vec<Vec<u64>>>::new();
    for minibatch in minibatches {
        let stream = &minibatch.streams[0];
        let mut samples = stream.bits.chunks(4).map(|sample| sample[2]);
        for (i, (key, &length)) in minibatch.keys.iter().zip(&stream.lengths).enumerate() {
            let times = all.entry(key.clone()).or_default();
            if minibatch.layout.as_ref().is_none_or(|layout| layout.places[i].begin >= 0) {
                times.push(Vec::new());
            }
            times.last_mut().expect("it began earlier").extend(samples.by_ref().take(length as usize));
        }
    }
    all
}

#[test]
fn what_is_drawn_is_a_matter_of_sequence_sweep_and_seed() {
    let plain = r#""randomizationWindow": 4, "randomizationSeed": 3, "maxSweeps": 2"#;
    let expected = drawn(&rest(&mut open(&format!(r#"{plain}, "threads": 1"#), &[7, 8]), 40, 1, 0));
    assert_eq!(expected.len(), corpus::lengths().len());
    for sweeps in expected.values() {
        assert_eq!(sweeps.len(), 2);
        assert_ne!(sweeps[0], sweeps[1], "each sweep draws its own");
    }
    // Another size, more threads and little memory draw the same, and so do other workers together.
    let busy = format!(r#"{plain}, "threads": 4, "memoryLimit": 40000"#);
    assert_eq!(drawn(&rest(&mut open(&busy, &[7, 8]), 7, 1, 0)), expected);
    let mut shares = BTreeMap::new();
    for rank in 0..3 {
        for (key, sweeps) in drawn(&rest(&mut open(&busy, &[7, 8]), 60, 3, rank)) {
            shares.entry(key).or_insert_with(Vec::new).extend(sweeps);
        }
    }
    for (key, sweeps) in &mut shares {
        // Ranks own other chunks in the second sweep, so the sweeps may come in any order.
        sweeps.sort();
        let mut expected = expected[key].clone();
        expected.sort();
        assert_eq!(*sweeps, expected);
    }
    // Other seeds draw other numbers, and the second transform others than the first.
    assert_ne!(drawn(&rest(&mut open(plain, &[8, 8]), 40, 1, 0)), expected);
    let other = plain.replace("Seed\": 3", "Seed\": 4");
    assert_ne!(drawn(&rest(&mut open(&other, &[7, 8]), 40, 1, 0)), expected);
    let second = rest(&mut open(plain, &[7, 7]), 40, 1, 0);
    let alike = second[0].streams[0].bits.chunks(4).filter(|sample| sample[2] == sample[3]).count();
    assert_eq!(alike, 0);
}

#[test]
fn sequences_are_transformed_whole_before_they_are_cut() {
    let options =
        r#""randomizationWindow": 4, "randomizationSeed": 3, "maxSamples": 2003, "maxSamplesEnd": "inside""#;
    let whole = drawn(&rest(&mut open(options, &[7, 8]), 40, 1, 0));
    assert!(
        whole.values().any(|sweeps| sweeps.len() == 2 && sweeps[0].len() > 5),
        "some have several pieces"
    );
    let cut = rest(&mut open(&format!("{TRUNCATED}, {options}"), &[7, 8]), 40, 1, 0);
    assert_eq!(drawn(&cut), whole);
}

#[test]
fn a_state_of_other_transforms_is_refused() {
    let state = open(STORED, &[1]).state().clone();
    assert!(open(STORED, &[1]).restore(&state).is_ok());
    for marks in [&[][..], &[2], &[1, 1]] {
        assert!(matches!(open(STORED, marks).restore(&state), Err(Error::Resume(_))));
    }
}

#[test]
fn shapes_are_known_before_data_and_those_that_do_not_fit_are_refused() {
    assert_eq!(open(STORED, &[1, 2]).streams()[0].shape, Shape::new([4]));
    let error = |config: &SourceConfig| {
        let store = corpus::store(&corpus::text(&[1]));
        OpenOptions::in_store(&*store).open(config).err().map(|e| e.to_string()).unwrap_or_default()
    };
    let found = error(&config(STORED, &[0; 10]));
    assert_eq!(found, "transforms.x: `marked`: found float32 11, expected one dimension of at most 10");
    let mut config = config(STORED, &[1]);
    config.transforms.0[0].0 = "y".into();
    assert_eq!(error(&config), "transforms.y: `marked` transforms dense streams, this one is sparse");
    config.transforms.0[0].0 = "z".into();
    assert_eq!(error(&config), "transforms.z: there is no such stream, there are x, y");
}

#[test]
fn an_error_of_a_transform_says_where() {
    let store = corpus::store("7 |x 1 2 |y 1:1\n8 |x 1234 2 |y 1:1\n");
    let config = config(r#""randomize": false, "maxSweeps": 1"#, &[1]);
    let mut source = OpenOptions::in_store(&*store).open(&config).unwrap();
    assert_eq!(source.next_minibatch(1).unwrap().unwrap().n_sequences(), 1);
    let error = source.next_minibatch(1).unwrap_err().to_string();
    assert_eq!(
        error,
        "CNTKTextFormatDeserializer, chunk 0: stream `x`, sequence 8: transform `marked`: 1234 is not transformed; `maxErrors` of \
         the deserializer leaves such examples out"
    );
}

#[test]
fn every_transform_that_draws_is_in_some_way_of_reading() {
    let draws = |transform: &&&TransformFormat| transform.options.find("seed").is_some();
    for transform in tesson::registry().transforms().iter().filter(draws) {
        let name = format!(r#"{{"type": "{}""#, transform.name);
        assert!(WAYS.iter().any(|way| way.options.contains(&name)), "{} is in no way", transform.name);
    }
}
