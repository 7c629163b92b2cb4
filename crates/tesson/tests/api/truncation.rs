//! Truncated reading: pieces of equal length out of rows of sequences.

use tesson::config::Schedule;
use tesson::{BatchKeys, Demand, Error, OpenOptions, ResumeState, Samples, Source};
use tesson_engine::Layout;

use crate::kit::{self, store_of};

/// Sequences of these lengths; sample `t` of sequence `i` is `100 · i + t`, and the pair `t: i` of a sparse stream.
pub(crate) fn text(lengths: &[u32]) -> String {
    let row = |(i, t): (usize, u32)| format!("{i} |x {} |s {t}:{i}\n", 100 * i + t as usize);
    lengths.iter().enumerate().flat_map(|(i, &n)| (0..n).map(move |t| (i, t))).map(row).collect()
}

pub(crate) fn open(lengths: &[u32], options: &str) -> Source {
    open_text(&text(lengths), options)
}

pub(crate) fn open_text(text: &str, options: &str) -> Source {
    let ends = ["maxSamples", "maxSweeps"].iter().any(|end| options.contains(end));
    let end = if ends { "" } else { r#""maxSweeps": 1,"# };
    let json = format!(
        r#"{{"deserializers": [{{"type": "CNTKTextFormatDeserializer", "file": "f", "chunkSizeInBytes": 60,
            "input": {{"x": {{"dim": 1, "format": "dense"}}, "s": {{"dim": 20, "format": "sparse"}}}}}}],
            "truncationLength": 3, {end} {options}}}"#
    );
    kit::open(&store_of([("f", text)]), &json).expect("the data are right")
}

pub(crate) const IN_ORDER: &str = r#""randomize": false"#;
pub(crate) const BY_POSITION: &str = r#""randomizationWindow": 3, "sharing": "position""#;
pub(crate) const LENGTHS: [u32; 12] = [7, 1, 4, 9, 2, 2, 5, 3, 8, 1, 6, 4];

/// By row: key, and the steps from and to.
pub(crate) type Row = Vec<(String, i64, i64)>;

fn rows_of(layout: &Layout, keys: &BatchKeys) -> Vec<Row> {
    let mut rows = vec![Vec::new(); layout.rows as usize];
    for place in &layout.places {
        let key = keys.get(place.sequence as usize).to_string();
        rows[place.row as usize].push((key, place.begin, place.end));
    }
    rows
}

/// The rows of the next minibatch; `None` at the end.
pub(crate) fn next(source: &mut Source, samples: u64, workers: u64, rank: u64) -> Option<Vec<Row>> {
    let minibatch = source.next(Demand { samples, workers, rank }).expect("the data are right")?;
    Some(rows_of(&minibatch.streams()[0].layout(), minibatch.keys()))
}

pub(crate) fn all(source: &mut Source, samples: u64, workers: u64, rank: u64) -> Vec<Vec<Row>> {
    std::iter::from_fn(|| next(source, samples, workers, rank)).collect()
}

#[test]
fn by_position_any_number_of_workers_goes_on_in_the_middle_of_sequences() {
    let whole = all(&mut open(&LENGTHS, BY_POSITION), 15, 1, 0);
    let mut source = open(&LENGTHS, BY_POSITION);
    for _ in 0..2 {
        source.next(Demand { samples: 15, workers: 2, rank: 1 }).unwrap();
    }
    let state = ResumeState::from_bytes(&source.state().to_bytes()).unwrap();
    let rest: Vec<_> = (0..3)
        .map(|rank| {
            let mut source = open(&LENGTHS, BY_POSITION);
            source.restore(&state).unwrap();
            all(&mut source, 15, 3, rank)
        })
        .collect();
    for (i, minibatch) in whole[2..].iter().enumerate() {
        let dealt: Vec<Row> = (0..5).map(|row| rest[row % 3][i][row / 3].clone()).collect();
        assert_eq!(&dealt, minibatch, "minibatch {}", i + 2);
    }
}

#[test]
fn another_number_of_rows_is_refused_while_sequences_wait_and_accepted_when_none_do() {
    let mut source = open(&LENGTHS, IN_ORDER);
    let first = next(&mut source, 6, 1, 0);
    let refused = source.next(Demand { samples: 9, workers: 1, rank: 0 }).unwrap_err().to_string();
    assert!(refused.contains("wait in 2 slots, the call asks for 3"), "{refused}");
    // As many rows: the same as before.
    let second = next(&mut source, 7, 1, 0);
    let mut other = open(&LENGTHS, IN_ORDER);
    assert_eq!((next(&mut other, 6, 1, 0), next(&mut other, 6, 1, 0)), (first, second));
    let mut fresh = open(&LENGTHS, IN_ORDER);
    fresh.restore(&ResumeState::bare(0)).unwrap();
    assert_eq!(next(&mut fresh, 9, 1, 0).unwrap().len(), 3);
}

#[test]
fn a_state_holds_what_waits_and_nothing_is_lost() {
    let whole = all(&mut open(&LENGTHS, IN_ORDER), 9, 1, 0);
    let mut source = open(&LENGTHS, IN_ORDER);
    for behind in 1..whole.len() {
        next(&mut source, 9, 1, 0);
        let json = source.state().to_json();
        assert!(json["rows"].as_array().is_some_and(|rows| rows.len() == 3), "{json}");
        let mut fresh = open(&LENGTHS, IN_ORDER);
        fresh.restore(&ResumeState::from_json(&json).unwrap()).unwrap();
        assert_eq!(all(&mut fresh, 9, 1, 0), whole[behind..], "behind minibatch {behind}");
    }
}

#[test]
fn sparse_streams_become_dense_unless_they_are_to_be_kept() {
    let (mut dense, mut sparse) =
        (open(&LENGTHS, IN_ORDER), open(&LENGTHS, &format!(r#"{IN_ORDER}, "keepSparse": true"#)));
    assert!(!dense.streams()[1].sparse && sparse.streams()[1].sparse);
    while let Some(d) = dense.next_minibatch(9).unwrap() {
        let s = sparse.next_minibatch(9).unwrap().expect("both have as many minibatches");
        let Samples::Dense { values } = d.streams()[1].samples() else { panic!("dense") };
        let Samples::Sparse { indptr, indices, values: kept } = s.streams()[1].samples() else {
            panic!("sparse")
        };
        let mut expected = vec![0.0; values.len()];
        for sample in 0..indptr.len() - 1 {
            for i in indptr[sample] as usize..indptr[sample + 1] as usize {
                expected[20 * sample + indices[i] as usize] = kept.get(i);
            }
        }
        assert_eq!((0..values.len()).map(|i| values.get(i)).collect::<Vec<_>>(), expected);
    }
}

#[test]
fn streams_of_different_length_are_refused_once_and_left_out() {
    let text = "0 |x 1 |s 0:1\n1 |x 1 |s 0:1\n1 |x 2\n2 |x 3 |s 1:1\n";
    let mut source = open_text(text, IN_ORDER);
    let Err(Error::Data(e)) = source.next_minibatch(3) else { panic!("the second sequence is uneven") };
    assert_eq!((e.stream(), e.key().map(ToString::to_string)), (Some("s"), Some("1".into())));
    assert!(e.to_string().contains("found 1 sample beside 2 of stream `x`"), "{e}");
    let keys = next(&mut source, 3, 1, 0).unwrap();
    assert_eq!(keys, [[("0".to_string(), 0, 1), ("2".to_string(), 1, 2)]]);
    assert_eq!(next(&mut source, 3, 1, 0), None);
}

#[test]
fn steps_are_foretold_where_lengths_are_as_indexed() {
    for (options, workers) in [(IN_ORDER, 1), (IN_ORDER, 2), (BY_POSITION, 1), (BY_POSITION, 2)] {
        for samples in [6, 10, 40] {
            let mut source = open(&LENGTHS, options);
            let demand = Demand { samples, workers, rank: 1 % workers };
            let told = source.steps_per_sweep(demand).unwrap();
            let found = all(&mut source, samples, workers, demand.rank).len() as u64;
            assert_eq!(told, found, "{options}, {samples} samples, {workers} workers");
        }
    }
}

#[test]
fn a_limit_on_all_ranks_together_changes_nothing() {
    let options = r#""randomizationWindow": 3"#;
    for rank in 0..2 {
        let local = all(&mut open(&LENGTHS, options), 12, 2, rank);
        let global = format!(r#"{options}, "localTimeline": false"#);
        assert_eq!(all(&mut open(&LENGTHS, &global), 12, 2, rank), local);
    }
}

#[test]
fn the_last_rows_are_dropped_where_one_is_not_full() {
    for options in [IN_ORDER, BY_POSITION] {
        let whole = all(&mut open(&LENGTHS, options), 9, 1, 0);
        let dropped = all(&mut open(&LENGTHS, &format!(r#"{options}, "dropLast": true"#)), 9, 1, 0);
        let is_full =
            |rows: &Vec<Row>| rows.len() == 3 && rows.iter().all(|row| row.last().is_some_and(|p| p.2 >= 3));
        let full = whole.iter().take_while(|rows| is_full(rows)).count();
        assert!(full < whole.len(), "some are not full");
        assert_eq!(dropped, whole[..full], "{options}");
        let mut source = open(&LENGTHS, &format!(r#"{options}, "dropLast": true"#));
        let told = source.steps_per_sweep(Demand { samples: 9, workers: 1, rank: 0 }).unwrap();
        assert_eq!(told, full as u64);
        for behind in 1..full {
            next(&mut source, 9, 1, 0).unwrap();
            let mut fresh = open(&LENGTHS, &format!(r#"{options}, "dropLast": true"#));
            fresh.restore(&source.state().clone()).unwrap();
            assert_eq!(all(&mut fresh, 9, 1, 0), whole[behind..full]);
        }
    }
}

/// The values of `x` of all minibatches, row after row.
fn values(source: &mut Source, workers: u64, rank: u64) -> Vec<Vec<f64>> {
    let demand = Demand { samples: 12, workers, rank };
    std::iter::from_fn(|| source.next(demand).expect("the data are right"))
        .map(|minibatch| match minibatch.streams()[0].samples() {
            Samples::Dense { values } => (0..values.len()).map(|i| values.get(i)).collect(),
            _ => panic!("dense"),
        })
        .collect()
}

#[test]
fn data_that_end_inside_a_sequence_have_as_many_samples_as_were_asked_for() {
    let sweep: u32 = LENGTHS.iter().sum();
    for (order, workers) in
        [(IN_ORDER, 1), (BY_POSITION, 1), (BY_POSITION, 2), (r#""randomizationWindow": 3"#, 2)]
    {
        for limit in (1..30).chain(sweep - 3..=sweep + 12) {
            let end = |end: &str| format!(r#"{order}, "maxSamples": {limit}, "maxSamplesEnd": "{end}""#);
            let all = |end: &str| -> Vec<_> {
                (0..workers).map(|rank| values(&mut open(&LENGTHS, end), workers, rank).concat()).collect()
            };
            let (cut, whole) = (all(&end("inside")).concat(), all(&end("after")).concat());
            assert_eq!(cut.len(), limit as usize, "{order}, {workers} workers");
            // All that is missing is the end of one sequence.
            let missing: Vec<f64> = whole.iter().copied().filter(|x| !cut.contains(x)).collect();
            assert!(missing.windows(2).all(|pair| pair[1] == pair[0] + 1.0), "{limit}: {missing:?}");
        }
    }
}

#[test]
fn data_that_end_inside_a_sequence_are_gone_on_with_behind_every_minibatch() {
    for order in [IN_ORDER, BY_POSITION] {
        let mut cut = 0;
        for limit in [40, 67, 75, 89, 94] {
            let options = format!(r#"{order}, "maxSamples": {limit}, "maxSamplesEnd": "inside""#);
            let expected = values(&mut open(&LENGTHS, &options), 1, 0);
            let mut source = open(&LENGTHS, &options);
            for behind in 1..=expected.len() {
                next(&mut source, 12, 1, 0).expect("as many as before");
                let state = source.state();
                let rows = state.rows.iter().flat_map(|state| &state.slots);
                cut += rows.flat_map(|row| &row.waiting).filter(|waits| waits.keep.is_some()).count();
                let mut fresh = open(&LENGTHS, &options);
                fresh.restore(&ResumeState::from_bytes(&state.to_bytes()).unwrap()).unwrap();
                assert_eq!(
                    values(&mut fresh, 1, 0),
                    expected[behind..],
                    "{options}, behind minibatch {behind}"
                );
            }
        }
        assert!(cut > 0, "{order}: sequences that were cut wait in some states");
    }
}

#[test]
fn the_pieces_of_data_that_end_inside_a_sequence_are_planned_as_they_come() {
    let options = format!(r#"{BY_POSITION}, "maxSamples": 50, "maxSamplesEnd": "inside""#);
    let demand = Demand { samples: 12, workers: 2, rank: 1 };
    let mut planned = Vec::new();
    let mut source = open(&LENGTHS, &options);
    source
        .plan_truncated(demand, |plan| {
            planned.push(plan.segments.iter().map(|p| (p.slot, p.begin, p.end)).collect::<Vec<_>>());
            true
        })
        .unwrap();
    let found: Vec<_> = std::iter::from_fn(|| source.next(demand).expect("the data are right"))
        .map(|m| m.streams()[0].layout().places.iter().map(|p| (p.row, p.begin, p.end)).collect::<Vec<_>>())
        .collect();
    assert_eq!(planned, found);
}

#[test]
fn streams_of_different_length_are_refused_where_the_data_end_before_they_differ() {
    let text = "0 |x 1 |s 0:1\n1 |x 1 |s 0:1\n1 |x 2\n";
    let mut source = open_text(text, &format!(r#"{IN_ORDER}, "maxSamples": 2, "maxSamplesEnd": "inside""#));
    let refused = source.next_minibatch(3).unwrap_err().to_string();
    assert!(refused.contains("found 1 sample beside 2 of stream `x`"), "{refused}");
    assert_eq!(next(&mut source, 3, 1, 0).unwrap(), [[("0".to_string(), 0, 1)]]);
    assert_eq!(next(&mut source, 3, 1, 0), None);
}

#[test]
fn a_size_in_sequences_is_one_in_rows() {
    let mut source = open(&LENGTHS, r#""randomize": false, "minibatchSizeInSequences": 2"#);
    assert_eq!(next(&mut source, Demand::ANY_SAMPLES, 1, 0).unwrap().len(), 2);
    let mut source = open(&LENGTHS, r#""randomize": false, "minibatchSizeInSequences": 2"#);
    assert_eq!(next(&mut source, 3, 1, 0).unwrap().len(), 1);
}

#[test]
fn more_workers_than_rows_and_more_rows_than_memory_are_refused() {
    let mut source = open(&LENGTHS, IN_ORDER);
    let refused = |samples, workers, source: &mut Source| {
        source.next(Demand { samples, workers, rank: 0 }).unwrap_err().to_string()
    };
    assert!(refused(7, 3, &mut source).starts_with("3 workers share the slots"), "three of two rows");
    assert!(refused(1 << 60, 1, &mut source).contains("larger `memoryLimit`"));
    assert_eq!(next(&mut source, 6, 1, 0).unwrap().len(), 2);
}

/// A source whose sizes, slots, or both change from epoch to epoch, and its sizes. An epoch has 26 samples, a sweep 52; there are
/// three sweeps.
fn by_epoch(options: &str) -> (Source, Schedule) {
    let json = format!(
        r#"{{"deserializers": [{{"type": "CNTKTextFormatDeserializer", "file": "f", "chunkSizeInBytes": 60,
            "input": {{"x": {{"dim": 1, "format": "dense"}}, "s": {{"dim": 20, "format": "sparse"}}}}}}],
            "maxSweeps": 3, "epochSize": 26, {options}}}"#
    );
    let store = store_of([("f", text(&LENGTHS))]);
    let config = tesson::config::from_json(&json).expect("the test's configuration is right");
    let source = OpenOptions::in_store(&store).open(&config).expect("the data are right");
    (source, config.minibatches.default_sizes())
}

/// The next minibatch of the size of its epoch: the number of rows, and the values of `x`.
fn next_by_epoch(
    (source, sizes): &mut (Source, Schedule),
    (workers, rank): (u64, u64),
) -> Option<(u32, Vec<f64>)> {
    let samples = sizes.at(source.state().cursor.position / 26);
    let minibatch = source.next(Demand { samples, workers, rank }).expect("the data are right")?;
    let stream = &minibatch.streams()[0];
    let Samples::Dense { values } = stream.samples() else { panic!("dense") };
    Some((stream.layout().rows, (0..values.len()).map(|i| values.get(i)).collect()))
}

#[test]
fn sequences_under_way_continue_where_an_epoch_has_other_slots() {
    let sweep: u32 = LENGTHS.iter().sum();
    assert_eq!(sweep, 52);
    let ways = [
        r#""truncationSlots": "2:6:3:2*2:7", "minibatchSize": "6:24:6*2:4:14""#,
        r#""truncationSlots": "5:2*3:4", "minibatchSize": 20"#,
        r#""truncationSlots": "8:2", "minibatchSize": "8:2""#,
        r#""truncationLength": 3, "minibatchSize": "6:18*2:9*2:6:24""#,
    ];
    let orders = [(IN_ORDER, 1), (BY_POSITION, 1), (BY_POSITION, 2), (r#""randomizationWindow": 3"#, 2)];
    for (way, (order, workers)) in ways.iter().flat_map(|way| orders.map(|order| (way, order))) {
        let options = format!("{way}, {order}");
        let mut delivered: Vec<f64> = Vec::new();
        let mut rows = Vec::new();
        for rank in 0..workers {
            let share = (workers, rank);
            let mut source = by_epoch(&options);
            let whole: Vec<_> = std::iter::from_fn(|| next_by_epoch(&mut source, share)).collect();
            let mut again = by_epoch(&options);
            for after in 1..=whole.len() {
                next_by_epoch(&mut again, share).expect("as many as before");
                let mut fresh = by_epoch(&options);
                fresh.0.restore(&ResumeState::from_bytes(&again.0.state().to_bytes()).unwrap()).unwrap();
                let rest: Vec<_> = std::iter::from_fn(|| next_by_epoch(&mut fresh, share)).collect();
                assert_eq!(rest, whole[after..], "{options}, rank {rank}, after minibatch {after}");
            }
            rows.extend(whole.iter().map(|(rows, _)| *rows));
            delivered.extend(whole.into_iter().flat_map(|(_, values)| values));
        }
        assert!(rows.iter().any(|n| *n != rows[0]), "{options}: {rows:?}");
        delivered.sort_by(f64::total_cmp);
        let samples =
            LENGTHS.iter().enumerate().flat_map(|(i, &n)| (0..n).map(move |t| f64::from(100 * i as u32 + t)));
        let thrice: Vec<f64> = samples.flat_map(|x| [x; 3]).collect();
        assert_eq!(delivered, thrice, "{options}, {workers} workers");
    }
}

#[test]
fn minibatches_whose_slots_change_by_epoch_are_not_planned_with_one_size() {
    let (mut source, _) = by_epoch(r#""truncationSlots": "2:3", "minibatchSize": 6"#);
    let demand = Demand { samples: 6, workers: 1, rank: 0 };
    let refused = source.plan_truncated(demand, |_| true).unwrap_err().to_string();
    assert!(refused.contains("sizes or numbers of slots"), "{refused}");
}
