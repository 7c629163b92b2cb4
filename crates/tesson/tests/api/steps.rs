//! Which sequences a minibatch holds, where a key comes, skipping, and leaving out named keys: as they are delivered.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::kit::{rows, source};
use tesson::{ConfigError, Demand, Element, Source, SourceConfig, StreamInfo};
use tesson_config::{json, lower};
use tesson_core::{Data, Format, Offsets, OptionTable, StreamColumn, Values};
use tesson_engine::RunCalls;
use tesson_formats::user::{ChunkSource, UserDeserializer, UserError};
use tesson_plan::StepSizes;

const ORDERS: [(&str, &str); 6] = [
    ("as-stored", r#", "randomize": false"#),
    ("window", r#", "randomizationWindow": 3, "randomizationSeed": 4"#),
    ("window-ends", r#", "randomizationWindow": 3, "crossSweepEnds": false"#),
    ("global", r#", "randomize": "global", "randomizationSeed": 9"#),
    ("buckets", r#", "randomize": "global", "bucketing": 9"#),
    ("steps", r#", "randomizationWindow": 2, "equalSteps": "repeat", "crossSweepEnds": false"#),
];

/// 30 sequences in 8 chunks of a text, three times.
fn config(test: &str, options: &str) -> SourceConfig {
    source(test, &rows(30), &format!(r#", "maxSweeps": 3{options}"#), r#", "chunkSizeInBytes": 150"#).1
}

/// 8 chunks of 1 to 4 sequences of 1 to 4 samples, which ranks read on timelines of their own.
struct Chunks;

static CHUNKS: Format =
    Format::new("Chunks", "Chunks on local timelines.", &OptionTable(&[]), |_, defaults| {
        let deserializer = UserDeserializer::new(Arc::new(Chunks), defaults);
        Ok(Box::new(
            deserializer.map_err(|refusal| ConfigError::refused("type", &refusal))?.on_local_timelines(),
        ))
    });

impl ChunkSource for Chunks {
    fn name(&self) -> &str {
        CHUNKS.name
    }

    fn streams(&self) -> Vec<StreamInfo> {
        vec![StreamInfo::sparse("x", 1, Element::F32)]
    }

    fn n_chunks(&self) -> Result<u32, UserError> {
        Ok(8)
    }

    fn read(&self, chunk: u32) -> Result<Vec<StreamColumn>, UserError> {
        let mut ends = vec![0];
        (0..=chunk % 4).for_each(|i| ends.push(ends[i as usize] + 1 + (chunk + i) % 4));
        let n = ends[ends.len() - 1] as usize;
        let rows = Offsets::At((0..=n as u32).collect());
        let data = Data::Sparse { rows, columns: vec![0; n], values: Values::Ones(n) };
        Ok(vec![StreamColumn { samples: Offsets::At(ends), data }])
    }
}

fn local_config(options: &str) -> SourceConfig {
    let text = format!(r#"{{"deserializers": [{{"type": "Chunks"}}], "maxSweeps": 3{options}}}"#);
    let tree = json::parse(&text).expect("the test's configuration is right");
    lower(&tree, &tesson::registry().with(&CHUNKS)).expect("the test's configuration is right")
}

/// The keys of each minibatch that a rank gets of a source, at most so many.
fn delivered(source: &mut Source, demand: Demand, most: usize) -> Vec<Vec<String>> {
    let next = || source.next(demand).expect("the data are right");
    std::iter::from_fn(next)
        .take(most)
        .map(|m| (0..m.n_sequences()).map(|i| m.keys().get(i).to_string()).collect())
        .collect()
}

fn constant(samples: u64, workers: u64, rank: Option<u64>) -> RunCalls<'static> {
    RunCalls { sizes: StepSizes::Constant(samples), workers, rank }
}

fn which(source: &mut Source, step: usize, calls: RunCalls<'_>) -> Vec<(u64, String)> {
    let step = source.which(step as u64, calls).expect("the step is one of the data's");
    step.sequences.into_iter().map(|s| (s.rank, s.key.to_string())).collect()
}

/// All that is delivered is what `which` says, for each rank and for all of them, and where `where_is` says; a source that
/// has skipped to a step delivers the same and has the same state.
fn check(name: &str, config: impl Fn(&str) -> SourceConfig) {
    for (sharing, workers) in
        [("chunk", 1), ("chunk", 2), ("chunk", 3), ("position", 1), ("position", 2), ("position", 3)]
    {
        let config = config(&format!(r#", "sharing": "{sharing}""#));
        let open = || tesson::open(&config).expect("the file is right");
        let mut planned = open();
        let mut of_all: BTreeMap<(usize, u64), Vec<String>> = BTreeMap::new();
        for rank in 0..workers {
            let demand = Demand { samples: 9, workers, rank };
            let (mut reading, mut states) = (open(), Vec::new());
            let mut steps = Vec::new();
            while let Some(keys) = delivered(&mut reading, demand, 1).pop() {
                steps.push(keys);
                states.push(reading.state().clone());
            }
            for (step, keys) in steps.iter().enumerate() {
                let expected: Vec<_> = keys.iter().map(|key| (rank, key.clone())).collect();
                let calls = constant(9, workers, Some(rank));
                assert_eq!(which(&mut planned, step, calls), expected, "{name} {sharing} {workers} {step}");
                of_all.insert((step, rank), keys.clone());
            }
            for step in [1, steps.len() / 2, steps.len()] {
                let mut skipping = open();
                skipping.skip_to(step as u64, constant(9, workers, Some(rank))).expect("there are as many");
                assert_eq!(skipping.state(), &states[step - 1], "{name} {sharing} {workers} {step}");
                assert_eq!(delivered(&mut skipping, demand, usize::MAX), steps[step..]);
                // Also in a source that has read elsewhere, and one that resumes from there.
                reading.skip_to(step as u64, constant(9, workers, Some(rank))).expect("there are as many");
                let mut resumed = crate::kit::resumed(&config, reading.state()).expect("its own state");
                assert_eq!(delivered(&mut resumed, demand, 2), steps[step..(step + 2).min(steps.len())]);
                assert_eq!(
                    which(&mut resumed, step / 2, constant(9, workers, Some(rank))).len(),
                    steps[step / 2].len()
                );
            }
            let e = planned
                .skip_to(steps.len() as u64 + 1, constant(9, workers, Some(rank)))
                .expect_err("beyond the end");
            assert!(e.to_string().contains(&format!("after {} minibatches", steps.len())), "{e}");
        }
        let n_steps = 1 + of_all.keys().last().expect("data").0;
        for step in 0..n_steps {
            let expected: Vec<_> = (0..workers)
                .flat_map(|rank| {
                    of_all.get(&(step, rank)).into_iter().flatten().map(move |key| (rank, key.clone()))
                })
                .collect();
            assert_eq!(
                which(&mut planned, step, constant(9, workers, None)),
                expected,
                "{name} {sharing} {workers}"
            );
        }
        for key in ["0", "7", "18"] {
            let mut found = Vec::new();
            for sweep in 0..4 {
                let deliveries =
                    planned.where_is(key, sweep, constant(9, workers, None)).expect("it is a key");
                assert!(deliveries.iter().all(|d| d.sweep == sweep));
                found.extend(deliveries.into_iter().map(|d| (d.step as usize, d.rank)));
            }
            found.sort_unstable();
            found.dedup();
            let holds = |keys: &Vec<String>| keys.iter().any(|k| k == key);
            let expected: Vec<_> = of_all.iter().filter(|(_, keys)| holds(keys)).map(|(at, _)| *at).collect();
            assert_eq!(found, expected, "{name} {sharing} {workers}: key {key}");
        }
    }
}

#[test]
fn what_is_planned_is_delivered_in_every_order_for_any_workers_under_both_sharings() {
    for (name, options) in ORDERS {
        check(name, |more| config(&format!("steps-{name}"), &format!("{options}{more}")));
    }
}

#[test]
fn what_is_planned_is_delivered_on_local_timelines() {
    for options in [r#", "randomize": false"#, r#", "randomizationWindow": 2"#] {
        check("local", |more| local_config(&format!("{options}{more}")));
    }
}

#[test]
fn pieces_of_truncated_sequences_are_found_as_well() {
    for (name, options) in [
        ("truncated", r#", "randomizationWindow": 3, "truncated": true, "truncationLength": 2"#),
        ("truncated-stored", r#", "randomize": false, "truncated": true, "truncationLength": 3"#),
    ] {
        check(name, |more| config(&format!("steps-{name}"), &format!("{options}{more}")));
    }
}

#[test]
fn steps_of_a_schedule_are_counted_with_the_size_of_each_epoch() {
    let config = config("steps-schedule", r#", "randomizationWindow": 3, "crossSweepEnds": false"#);
    let mut source = tesson::open(&config).expect("the file is right");
    let epoch = source.num_samples_per_sweep().expect("data");
    let size = |position: u64| [4, 9, 20][(position / epoch) as usize];
    let mut steps = Vec::new();
    loop {
        let samples = size(source.state().cursor.position.min(epoch * 3 - 1));
        let Some(keys) = delivered(&mut source, Demand { samples, workers: 1, rank: 0 }, 1).pop() else {
            break;
        };
        steps.push(keys);
    }
    let size = |position: u64| size(position.min(epoch * 3 - 1));
    let calls = RunCalls { sizes: StepSizes::At(&size), workers: 1, rank: None };
    for (step, keys) in steps.iter().enumerate() {
        assert_eq!(
            which(&mut source, step, calls).into_iter().map(|(_, key)| key).collect::<Vec<_>>(),
            *keys
        );
    }
}

#[test]
fn skipping_after_a_merge_leaves_out_what_other_ranks_had_delivered_and_going_back_gives_it_again() {
    let config = source("steps-merged", &rows(30), r#", "maxSweeps": 1"#, r#", "chunkSizeInBytes": 150"#).1;
    let (mut states, mut before) = (Vec::new(), Vec::new());
    // Rank 1 is far ahead.
    for (rank, steps) in [(0, 1), (1, 5)] {
        let mut source = tesson::open(&config).expect("the file is right");
        before.extend(delivered(&mut source, Demand { samples: 9, workers: 2, rank }, steps).concat());
        states.push(source.state().clone());
    }
    let merged = tesson::merge_states(&states).expect("all ranks of one run");
    let alone = Demand { samples: 9, workers: 1, rank: 0 };
    let after = |step: u64| {
        let mut source = crate::kit::resumed(&config, &merged).expect("its own state");
        source.skip_to(step, constant(9, 1, None)).expect("there are as many");
        delivered(&mut source, alone, usize::MAX).concat()
    };
    let first = merged.cursor.position.div_ceil(9) + 1;
    assert!(merged.consumed.is_some() && !after(first).is_empty());
    assert!(after(first).iter().all(|key| !before.contains(key)));
    assert_eq!(after(0).len(), 30);
}

#[test]
fn a_sequence_is_told_with_file_and_bytes() {
    let (file, config) = source("steps-located", "4 |x 1\n4 |x 2\n9 |x 3\n", r#", "randomize": false"#, "");
    let mut source = tesson::open(&config).expect("the file is right");
    let step = source.which(0, constant(2, 1, None)).expect("data");
    let [sequence] = &step.sequences[..] else { panic!("one sequence of 2 samples") };
    let (found, bytes) = sequence.location.clone().expect("it lies in a file");
    assert_eq!((found.as_os_str(), bytes, sequence.samples.clone()), (file.as_os_str(), 0..14, 0..2));
    // In the data of any sweep: the source has not moved.
    let step = source.which(1_000_001, constant(3, 1, None)).expect("data without an end");
    assert_eq!(step.sequences.len(), 2);
    assert_eq!(source.state().cursor.position, 0);
}

#[test]
fn an_unknown_key_and_calls_that_make_no_sense_are_told() {
    let config = config("steps-unknown", r#", "sharing": "chunk""#);
    let mut source = tesson::open(&config).expect("the file is right");
    let error = |e: tesson::Error| e.to_string();
    let e = error(source.where_is("301", 0, constant(9, 1, None)).expect_err("no such key"));
    assert!(e.contains("no sequence with the key `301` among 30; one is `"), "{e}");
    let e = error(source.which(9, constant(9, 3, Some(3))).expect_err("no such rank"));
    assert!(e.contains("the rank is 3"), "{e}");
    let e = error(source.skip_to(2, constant(9, 3, None)).expect_err("no rank"));
    assert!(e.contains("no rank is named"), "{e}");
    let before = source.state().clone();
    source.skip_to(10_000, constant(9, 1, None)).expect_err("beyond the end");
    assert_eq!(source.state(), &before);
}

/// `excludeKeys` with these keys.
fn without(test: &str, options: &str, keys: &str) -> SourceConfig {
    config(test, &format!(r#"{options}, "excludeKeys": {keys}"#))
}

#[test]
fn sequences_with_excluded_keys_are_missing_and_all_others_keep_their_minibatch_in_every_order() {
    for (name, options) in &ORDERS[..5] {
        let whole = config(&format!("exclude-none-{name}"), options);
        let config = without(&format!("exclude-{name}"), options, r#"["7", 18, "29"]"#);
        for (workers, rank) in [(1, 0), (2, 0), (2, 1)] {
            let demand = Demand { samples: 9, workers, rank };
            let open = |config| tesson::open(config).expect("the file is right");
            let expected: Vec<Vec<String>> = delivered(&mut open(&whole), demand, usize::MAX)
                .into_iter()
                .map(|keys| keys.into_iter().filter(|key| !["7", "18", "29"].contains(&&**key)).collect())
                .collect();
            let mut source = open(&config);
            let found = delivered(&mut source, demand, usize::MAX);
            assert_eq!(found, expected, "{name} {workers}");
            let (steps, of_whole) = (source.steps_per_sweep(demand), open(&whole).steps_per_sweep(demand));
            assert_eq!(steps.expect("an index"), of_whole.expect("an index"), "{name} {workers}");
            assert!(source.where_is("18", 1, constant(9, workers, None)).expect("a key").is_empty());
            for (step, keys) in found.iter().enumerate() {
                let told = which(&mut source, step, constant(9, workers, Some(rank)));
                assert_eq!(&told.into_iter().map(|(_, key)| key).collect::<Vec<_>>(), keys);
            }
            // A run may leave out more, or less, from any state on.
            let mut first = open(&whole);
            delivered(&mut first, demand, 2);
            let mut resumed = crate::kit::resumed(&config, first.state()).expect("lists may differ");
            assert_eq!(delivered(&mut resumed, demand, usize::MAX), found[2..], "{name} {workers}");
        }
    }
}

#[test]
fn an_excluded_sequence_is_neither_read_nor_charged() {
    let text = rows(6).replace("3 |x 301 ", "3 |x ? ");
    let read = |keys: &str| {
        let options = format!(r#", "randomize": false, "maxSweeps": 1, "excludeKeys": {keys}"#);
        let (_, config) = source("exclude-faulty", &text, &options, "");
        let mut source = tesson::open(&config).expect("the file is right");
        std::iter::from_fn(|| source.next_minibatch(4).transpose())
            .collect::<Result<Vec<_>, _>>()
            .map(|all| all.len())
    };
    read("[]").expect_err("a value is no number");
    read("[3]").expect("that sequence is left out");
}

#[test]
fn excluded_keys_come_from_a_file_too_and_lists_that_mean_nothing_are_refused() {
    let folder = crate::kit::folder("exclude-file");
    let list = folder.join("bad.txt");
    std::fs::write(&list, "7\r\n\n18\n").expect("a temporary file");
    let config = without("exclude-from-file", "", &format!("{list:?}"));
    let keys = delivered(
        &mut tesson::open(&config).expect("the file is right"),
        Demand { samples: 9, workers: 1, rank: 0 },
        usize::MAX,
    );
    assert_eq!(keys.concat().len(), 3 * 28);
    std::fs::write(&list, b"7\n\xff\n").expect("a temporary file");
    let error =
        |config: &SourceConfig| tesson::open(config).err().expect("the list means nothing").to_string();
    let e = error(&config);
    assert!(e.contains("excludeKeys") && e.contains("line 2 of") && e.contains("no UTF-8"), "{e}");
    let all: Vec<String> = (0..30).map(|key| key.to_string()).collect();
    let e = error(&without("exclude-all", "", &format!("{all:?}")));
    assert!(e.contains("keys of all 30 sequences"), "{e}");
}

#[test]
fn truncated_rows_close_up_over_excluded_sequences_and_a_share_of_nothing_is_told() {
    let truncated = r#", "truncated": true, "truncationLength": 2, "randomizationWindow": 2"#;
    let config = without("exclude-truncated", truncated, "[7, 18]");
    let demand = Demand { samples: 8, workers: 1, rank: 0 };
    let mut source = tesson::open(&config).expect("the file is right");
    let steps = delivered(&mut source, demand, usize::MAX);
    let of = |key: &str| steps.concat().iter().filter(|k| *k == key).count();
    assert_eq!((of("7"), of("18")), (0, 0));
    // 4 samples in pieces of 2, in each of three sweeps, unless a piece is cut by the beginning of its row.
    assert!(of("3") >= 6);
    for (step, keys) in steps.iter().enumerate() {
        let told = which(&mut source, step, constant(8, 1, None));
        assert_eq!(&told.into_iter().map(|(_, key)| key).collect::<Vec<_>>(), keys);
    }
}

#[test]
fn a_rank_of_endless_data_that_has_nothing_left_is_told() {
    let text = rows(2);
    let options = r#", "truncated": true, "truncationLength": 2, "randomize": "global", "sharing": "chunk", "excludeKeys": [1]"#;
    let (_, config) = source("exclude-a-share", &text, options, r#", "chunkSizeInBytes": 8"#);
    let mut source = tesson::open(&config).expect("the file is right");
    assert_eq!(source.indexed().expect("data").index.n_chunks(), 2);
    let e = source.next(Demand { samples: 4, workers: 2, rank: 1 }).expect_err("nothing is left").to_string();
    assert!(e.contains("rank 1 of 2 has no sequence left"), "{e}");
}
