//! Truncated reading with equal steps: as many minibatches for every rank.

use tesson::{Demand, Error, merge_states};

use crate::truncation::{BY_POSITION, IN_ORDER, LENGTHS, Row, all, next, open, open_text, text};

const SHUFFLED: &str = r#""randomizationWindow": 3"#;

fn with(order: &str, mode: &str, more: &str) -> String {
    format!(r#"{order}, "equalSteps": "{mode}"{more}"#)
}

fn row(pieces: &[(&str, i64, i64)]) -> Row {
    pieces.iter().map(|&(key, begin, end)| (key.to_string(), begin, end)).collect()
}

#[test]
fn who_has_run_out_waits_repeats_or_holds_all_back() {
    let read = |mode: &str, rank: u64| all(&mut open(&[6, 2], &with(IN_ORDER, mode, "")), 6, 2, rank);
    let long = [[row(&[("0", 0, 6)])], [row(&[("0", -3, 3)])]];
    assert_eq!(read("empty", 0), long);
    assert_eq!(read("repeat", 0), long);
    assert_eq!(read("drop", 0), long[..1]);
    let short = row(&[("1", 0, 2)]);
    assert_eq!(read("empty", 1), [[short.clone()], [Row::new()]]);
    assert_eq!(read("repeat", 1), [[short.clone()], [row(&[("1", 0, 2), ("1", 2, 4)])]]);
    assert_eq!(read("drop", 1), [[short]]);
}

#[test]
fn steps_are_planned_as_they_come() {
    for order in [IN_ORDER, SHUFFLED, BY_POSITION] {
        for mode in ["drop", "repeat", "empty"] {
            if mode == "repeat" && order == BY_POSITION {
                continue;
            }
            for (samples, rank) in [(6, 0), (6, 1), (20, 0), (20, 1)] {
                let demand = Demand { samples, workers: 2, rank };
                let mut source = open(&LENGTHS, &with(order, mode, r#", "rightSplice": 1"#));
                let mut planned = Vec::new();
                source
                    .plan_truncated(demand, |plan| {
                        let pieces = plan.segments.iter().map(|p| (p.slot, p.begin, p.end));
                        planned.push((plan.sweep_end, pieces.collect::<Vec<_>>()));
                        true
                    })
                    .unwrap();
                let steps = source.steps_per_sweep(demand).unwrap();
                let read = |source: &mut tesson::Source| {
                    let minibatch = source.next(demand).expect("the data are right")?;
                    let layout = minibatch.streams()[0].layout();
                    let pieces = layout.places.iter().map(|p| (p.row, p.begin, p.end));
                    Some((minibatch.sweep_end(), pieces.collect::<Vec<_>>()))
                };
                let found: Vec<_> = std::iter::from_fn(|| read(&mut source)).collect();
                assert_eq!(planned, found, "{order}, {mode}, {samples} samples, rank {rank}");
                assert_eq!(steps, found.len() as u64);
            }
        }
    }
}

#[test]
fn sequences_that_are_shorter_for_their_faults_change_no_number_of_steps() {
    // The last sample of the second rank's sequence is none.
    let text = text(&[4, 4]).replace("|x 103 |s 3:1", "|x z |s z");
    for mode in ["drop", "repeat", "empty"] {
        let mut source = open_text(&text, &with(IN_ORDER, mode, r#", "maxErrorShare": 1"#));
        let found = all(&mut source, 6, 2, 1);
        let first = row(&[("1", 0, 3)]);
        let second = if mode == "repeat" { first.clone() } else { Row::new() };
        assert_eq!(found, [[first], [second]], "{mode}");
        // What is repeated is not charged again.
        assert_eq!(source.stats().faults, 2, "{mode}");
    }
}

#[test]
fn sizes_and_workers_change_where_a_sweep_ends() {
    let options = with(SHUFFLED, "drop", r#", "maxSweeps": 2"#);
    let open = || open(&LENGTHS, &options);
    let demand = |samples, workers, rank| Demand { samples, workers, rank };
    let mut ranks = [open(), open()];
    for (source, rank) in ranks.iter_mut().zip(0..) {
        loop {
            let minibatch = source.next(demand(12, 2, rank)).expect("data").expect("there is a sweep more");
            if minibatch.sweep_end() {
                break;
            }
            let state = source.state().clone();
            let e = source.next(demand(6, 2, rank)).expect_err("steps are of equal size");
            assert!(matches!(e, Error::Usage(_)), "{e}");
            assert_eq!(source.state(), &state);
        }
    }
    let merged = merge_states(&ranks.each_ref().map(|source| source.state().clone())).expect("they fit");
    let steps = |workers: u64, rank: u64| {
        let mut source = open();
        source.restore(&merged).expect("the state is this source's");
        all(&mut source, 12, workers, rank).len()
    };
    assert!(steps(1, 0) > steps(3, 0), "fewer workers take more steps");
    assert_eq!(steps(3, 0), steps(3, 2));
    assert_eq!(all(&mut ranks[0], 6, 2, 0).len(), all(&mut ranks[1], 6, 2, 1).len());
}

#[test]
fn a_rank_without_chunks_keeps_step() {
    for (mode, n) in [("empty", 2), ("repeat", 2)] {
        let mut source = open(&[6], &with(SHUFFLED, mode, ""));
        let first = next(&mut source, 9, 3, 2).expect("all ranks take steps");
        assert_eq!(first, [Row::new()], "{mode}");
        let state = source.state().clone();
        let mut fresh = open(&[6], &with(SHUFFLED, mode, ""));
        fresh.restore(&state).expect("the state is this source's");
        assert_eq!(all(&mut fresh, 9, 3, 2).len(), n - 1, "{mode}");
        assert_eq!(all(&mut open(&[6], &with(SHUFFLED, mode, "")), 9, 3, 0).len(), n, "{mode}");
    }
    let refused = open(&[6], &with(SHUFFLED, "drop", "")).next(Demand { samples: 9, workers: 3, rank: 2 });
    assert!(refused.unwrap_err().to_string().starts_with("3 workers share 1 chunks"));
}

#[test]
fn rows_of_other_workers_are_not_repeated() {
    let json = r#"{"deserializers": [{"type": "CNTKTextFormatDeserializer", "file": "f"}],
        "truncationLength": 3, "sharing": "position", "equalSteps": "repeat"}"#;
    let e = tesson::config::from_json(json).unwrap_err().to_string();
    assert!(e.starts_with("equalSteps: rows of another worker continue inside sequences"), "{e}");
}

/// Samples delivered of each key, to all ranks, and how many minibatches each rank got.
fn delivered(
    lengths: &[u32],
    options: &str,
    (samples, workers): (u64, u64),
) -> (std::collections::BTreeMap<String, i64>, Vec<usize>) {
    let mut found = std::collections::BTreeMap::new();
    let steps = (0..workers).map(|rank| {
        let mut source = open(lengths, options);
        let minibatches = all(&mut source, samples, workers, rank);
        for (key, begin, end) in minibatches.iter().flatten().flatten() {
            *found.entry(key.clone()).or_default() += end.min(&3) - begin.max(&0);
        }
        let steps = source.steps_per_sweep(Demand { samples, workers, rank }).expect("an index");
        assert_eq!(steps, minibatches.len() as u64, "{options}, rank {rank} of {workers}");
        minibatches.len()
    });
    let steps = steps.collect();
    (found, steps)
}

#[test]
fn steps_are_counted_without_the_sequences_that_are_left_out_so_that_none_of_the_others_is_lost() {
    let mut draw = 7_u64;
    let mut below = |n: u64| {
        draw = draw.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (draw >> 33) % n
    };
    for _ in 0..100 {
        let lengths: Vec<u32> = (0..8 + below(16)).map(|_| 1 + below(16) as u32).collect();
        let excluded: Vec<u64> = (0..lengths.len() as u64).filter(|_| below(6) == 0).collect();
        let (workers, samples) = (1 + below(2), 9 + below(9));
        for order in [IN_ORDER, SHUFFLED] {
            let options = with(order, "empty", &format!(r#", "excludeKeys": {excluded:?}"#));
            if excluded.len() == lengths.len() {
                continue;
            }
            let (found, steps) = delivered(&lengths, &options, (samples, workers));
            let stays = |(key, _): &(usize, &u32)| !excluded.contains(&(*key as u64));
            let expected = lengths.iter().enumerate().filter(stays);
            let expected = expected.map(|(key, &n)| (key.to_string(), i64::from(n))).collect();
            assert_eq!(
                found, expected,
                "{options}, lengths {lengths:?}, {samples} samples, {workers} workers"
            );
            assert!(steps.iter().all(|n| *n == steps[0]), "{options}: {steps:?}");
        }
    }
}
