//! Faults of data: counted once, in plan order, repeated until the caller decides.

use crate::kit::{rest, source, values};
use tesson::{Error, Key};
use tesson_core::DataErrorKind;

/// Sequences 1 to 6, one row each; those of `bad` with a value that is no number.
fn text(bad: &[u32]) -> String {
    let row = |id: u32| {
        if bad.contains(&id) {
            format!("{id} |x {id} |x a |y 0:1\n")
        } else {
            format!("{id} |x {id} |y 0:1\n")
        }
    };
    (1..=6).map(row).collect()
}

const IN_ORDER: &str = r#", "randomize": false, "maxSweeps": 2"#;

#[test]
fn an_error_names_file_line_byte_stream_and_key() {
    let (file, config) = source("fault-place", &text(&[3]), IN_ORDER, "");
    let mut source = tesson::open(&config).expect("the file can be opened");
    assert_eq!(values(&source.next_minibatch(2).expect("no fault yet").expect("data")), [1.0, 2.0]);
    let Err(Error::Data(e)) = source.next_minibatch(2) else { panic!("sequence 3 has a fault") };
    assert_eq!(&*e.at().file, file.as_path());
    assert_eq!((e.at().line, e.stream(), e.key()), (Some(3), Some("x"), Some(&Key::Number(3))));
    assert_eq!(e.at().offset, text(&[3]).find('a').expect("the fault") as u64);
    let what = "stream `x`, sequence 3: `a` is not a number, expected one such as `1`, `-0.5` or `2e-3`";
    let remedy = "`maxErrors` of the deserializer leaves such data out, `tesson check` lists all of it";
    assert!(e.to_string().ends_with(&format!("{what}; {remedy}")), "{e}");
}

#[test]
fn an_error_is_repeated_until_it_is_skipped() {
    let (_, config) = source("fault-repeated", &text(&[3]), IN_ORDER, "");
    let mut source = tesson::open(&config).expect("the file can be opened");
    source.next_minibatch(2).expect("no fault yet");
    let state = source.state().clone();
    let first = source.next_minibatch(2).expect_err("a fault").to_string();
    assert_eq!(source.next_minibatch(2).expect_err("the same").to_string(), first);
    assert_eq!(source.state(), &state);
    source.skip_failed();
    assert_eq!(values(&source.next_minibatch(2).expect("behind it").expect("data")), [5.0, 6.0]);
}

#[test]
fn an_error_ends_with_a_restore() {
    let (_, config) = source("fault-restored", &text(&[3]), IN_ORDER, "");
    let mut source = tesson::open(&config).expect("the file can be opened");
    let start = source.state().clone();
    source.next_minibatch(2).expect("no fault yet");
    source.next_minibatch(2).expect_err("a fault");
    source.restore(&start).expect("its own state");
    assert_eq!(values(&source.next_minibatch(2).expect("no fault yet").expect("data")), [1.0, 2.0]);
}

#[test]
fn forgiven_faults_are_counted_once_and_kept_in_the_state() {
    let (_, config) = source("fault-budget", &text(&[2, 5]), IN_ORDER, r#", "maxErrors": 2"#);
    let mut source = tesson::open(&config).expect("the file can be opened");
    source.next_minibatch(3).expect("the first is forgiven");
    let state = source.state().clone();
    assert_eq!(state.faults, 1);
    // The second sweep meets both again and counts neither.
    assert_eq!(rest(&mut source, 3).len(), 3);
    assert_eq!(source.state().faults, 2);
    let mut other = crate::kit::resumed(&config, &state).expect("its own state");
    assert_eq!(rest(&mut other, 3).len(), 3);
    assert_eq!(other.state().faults, 2);
}

#[test]
fn one_fault_more_than_the_budget_ends_reading_at_its_minibatch() {
    let (_, config) = source("fault-over-budget", &text(&[2, 5]), IN_ORDER, r#", "maxErrors": 1"#);
    let mut source = tesson::open(&config).expect("the file can be opened");
    for _ in 0..4 {
        source.next_minibatch(1).expect("one is forgiven");
    }
    let Err(Error::Data(e)) = source.next_minibatch(1) else { panic!("the second is not") };
    assert!(matches!(e.kind(), DataErrorKind::BudgetSpent { budget: 1, .. }), "{e:?}");
    assert_eq!(e.key(), Some(&Key::Number(5)));
}

#[test]
fn every_rank_counts_the_same_faults_under_sharing_by_position() {
    let options = r#", "randomize": false, "maxSweeps": 1, "sharing": "position""#;
    let (_, config) = source("fault-position", &text(&[2, 5]), options, r#", "maxErrors": 9"#);
    let state = |rank| {
        let mut source = tesson::open(&config).expect("the file can be opened");
        while source
            .next(tesson::Demand { samples: 4, workers: 3, rank })
            .expect("all are forgiven")
            .is_some()
        {}
        source.state().clone()
    };
    let states = [state(0), state(1), state(2)];
    assert_eq!(states[0].faults, 2);
    assert!(states.iter().all(|s| *s == states[0]));
}

#[test]
fn a_check_lists_every_fault_in_the_order_of_the_file() {
    let (_, config) = source("fault-check", &text(&[5, 2]), IN_ORDER, "");
    let mut lines = Vec::new();
    let mut source = tesson::open(&config).expect("the file can be opened");
    let seen = source.check(&mut |e, _| lines.push(e.at().line)).expect("the file can be read");
    assert_eq!((lines, seen.faults, seen.sequences), (vec![Some(2), Some(5)], 2, 6));
}

#[test]
fn a_share_of_the_sequences_passed_may_be_faulty() {
    let open = |share: &str| {
        let options = format!(r#"{IN_ORDER}, "maxErrorShare": {share}"#);
        let (_, config) = source(&format!("fault-share-{share}"), &text(&[3, 5]), &options, "");
        tesson::open(&config).expect("the file can be opened")
    };
    // One fault in four sequences, two in six.
    let mut third = open("0.34");
    (0..3).for_each(|_| assert!(third.next_minibatch(2).expect("within the share").is_some()));
    assert_eq!(third.state().faults, 2);
    let mut fifth = open("0.2");
    fifth.next_minibatch(2).expect("no fault yet");
    assert!(matches!(fifth.next_minibatch(2), Err(Error::Data(_))), "one of four is more than a fifth");
}

#[test]
fn forgiven_faults_are_reported_as_lines_of_json() {
    let (file, mut config) = source("fault-report", &text(&[2, 5]), IN_ORDER, r#", "maxErrors": 2"#);
    let report = file.with_extension("faults.jsonl");
    config.faults.report = Some(report.clone());
    let mut source = tesson::open(&config).expect("the file can be opened");
    rest(&mut source, 2);
    let lines = std::fs::read_to_string(report).expect("a report");
    let lines: Vec<serde_json::Value> =
        lines.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect();
    // Once each, though both sweeps meet them.
    assert_eq!(lines.iter().map(|l| l["key"].as_u64()).collect::<Vec<_>>(), [Some(2), Some(5)]);
    let offset = text(&[2, 5]).find('a').expect("the fault");
    assert_eq!(
        lines[0],
        serde_json::json!({
            "fault": "`a` is not a number, expected one such as `1`, `-0.5` or `2e-3`", "code": "ctf.bad-number", "file": file, "line": 2, "offset": offset, "stream": "x", "key": 2,
        })
    );
}

#[test]
fn a_sequence_that_is_no_frame_is_told_with_its_own_place_behind_one_that_is_left_out() {
    let text = "0 |x 1 |y 1:1\n1 |y 1:1\n2 |x 1 |y 1:1\n2 |x 1 |y 1:1\n";
    let options = r#", "randomize": false, "maxSweeps": 1, "frameMode": true"#;
    let (file, config) = source("fault-frames", text, options, r#", "emptyInputs": "skip""#);
    let e =
        tesson::open(&config).expect("the file can be opened").next_minibatch(9).expect_err("two samples");
    let place = format!("{} (byte 23): stream `x`, sequence 2", file.display());
    assert!(e.to_string().starts_with(&place), "{e}");
}

#[test]
fn a_file_in_which_no_row_counts_is_told_with_its_name_in_any_order() {
    let told = |options: &str| {
        let (file, config) = source("fault-none", "|# 1\n \n", options, r#", "skipSequenceIds": true"#);
        let e = tesson::open(&config).and_then(|mut source| source.next_minibatch(1)).expect_err("no inputs");
        (file.display().to_string(), e.to_string())
    };
    for options in [r#", "randomize": true"#, IN_ORDER] {
        let (file, e) = told(options);
        assert_eq!(e, format!("{file}:1 (byte 0): the file holds no sequence under the given options"));
    }
}
