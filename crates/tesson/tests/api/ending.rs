//! How the data end.

use crate::kit::{rest, rows, source, values};
use tesson::Demand;

/// The values of `x` in each minibatch of `size` samples, from sequences of 1, 2, 3, 4, 1, … samples.
fn read(test: &str, options: &str, size: u64) -> Vec<Vec<f64>> {
    let (_, config) = source(test, &rows(8), &format!(r#", "randomize": false, {options}"#), "");
    rest(&mut tesson::open(&config).expect("the file is right"), size)
}

#[test]
fn the_data_end_after_before_or_inside_a_sequence() {
    let after = read("ending-after", r#""maxSamples": 8"#, 100);
    assert_eq!(after, [[0., 100., 101., 200., 201., 202., 300., 301., 302., 303.]]);
    let before = read("ending-before", r#""maxSamples": 8, "maxSamplesEnd": "before""#, 100);
    assert_eq!(before, [after[0][..6].to_vec()]);
    let inside = read("ending-inside", r#""maxSamples": 8, "maxSamplesEnd": "inside""#, 100);
    assert_eq!(inside, [after[0][..8].to_vec()]);
}

#[test]
fn a_last_minibatch_with_room_left_is_dropped() {
    let all = read("ending-all", r#""maxSweeps": 1"#, 6);
    let full = read("ending-full", r#""maxSweeps": 1, "dropLast": true"#, 6);
    assert_eq!(all.iter().map(Vec::len).collect::<Vec<_>>(), [6, 5, 5, 4]);
    assert_eq!(full, all[..3]);
}

#[test]
fn ranks_that_share_by_position_end_together_whoever_has_sequences_that_are_left_out() {
    // The last sequence is left out: the rank that it falls to has nothing in the last minibatch.
    let text = "0 |x 0 |y 1:1\n1 |x 100 |y 1:1\n2 |y 1:1\n";
    let options = r#", "randomize": false, "maxSweeps": 1, "sharing": "position""#;
    let (_, config) = source("ending-together", text, options, r#", "emptyInputs": "skip""#);
    let steps = |workers: u64, rank| {
        let mut source = tesson::open(&config).expect("the file is right");
        let demand = Demand { samples: 2, workers, rank };
        let step = || source.next(demand).expect("the data are right").map(|m| (values(&m), m.sweep_end()));
        std::iter::from_fn(step).collect::<Vec<_>>()
    };
    assert_eq!(steps(1, 0), [(vec![0., 100.], false), (vec![], true)]);
    assert_eq!(steps(2, 0), [(vec![0.], false), (vec![], true)]);
    assert_eq!(steps(2, 1), [(vec![100.], false), (vec![], true)]);
}
