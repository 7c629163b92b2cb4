//! The consequences that the specification names, and the edges.

use super::*;
use crate::{BatchPlan, Cursor, Progress};

/// Own lengths of the next minibatch, and its ends.
fn next(planner: &mut Planner, index: &Index, demand: Demand) -> (Vec<u32>, bool, bool) {
    let mut plan = BatchPlan::default();
    planner.next_batch(index, demand, &mut plan).unwrap();
    let length = |p: &SequenceId| index.length(*p);
    (plan.own.iter().map(length).collect(), plan.sweep_end, plan.data_end)
}

#[test]
fn a_longer_sequence_than_the_minibatch_comes_alone() {
    let index = index_of(&[vec![9], vec![9]]);
    for order in [OrderSpec::AsStored, chunk_window(1, 0)] {
        let mut planner = Planner::new(spec(order));
        assert_eq!(next(&mut planner, &index, demand(4, 1, 0)), (vec![9], false, false));
        assert_eq!(next(&mut planner, &index, demand(4, 1, 0)), (vec![9], true, false));
    }
}

#[test]
fn after_a_sweep_end_inside_a_minibatch_nothing_is_forced() {
    let index = index_of(&[vec![2, 9]]);
    let mut planner = Planner::new(spec(OrderSpec::Global(Global { seed: 0 })));
    planner.resume(&index, Cursor::default(), None).unwrap();
    let sizes: Vec<_> = (0..6).map(|_| next(&mut planner, &index, demand(11, 1, 0)).0).collect();
    assert!(sizes.iter().all(|lengths| lengths.iter().sum::<u32>() <= 11), "{sizes:?}");
}

#[test]
fn foreign_sequences_after_the_last_own_one_are_passed_over_in_the_same_call() {
    // One chunk a rank; rank 0 has the first place.
    let index = index_of(&[vec![1, 1], vec![1, 1, 1]]);
    let mut planner = Planner::new(spec(chunk_window(1, 0)));
    let mut plan = BatchPlan::default();
    planner.next_batch(&index, demand(20, 2, 0), &mut plan).unwrap();
    assert!(plan.sweep_end && plan.after.position >= 5, "{plan:?}");
}

#[test]
fn the_sequence_that_starts_before_the_end_is_given_whole() {
    let index = index_of(&[vec![4, 4, 4]]);
    for order in [OrderSpec::AsStored, chunk_window(1, 0), OrderSpec::Global(Global { seed: 1 })] {
        let mut planner = Planner::new(PlanSpec { limit: Limit::Samples(5), ..spec(order) });
        assert_eq!(next(&mut planner, &index, demand(100, 1, 0)), (vec![4, 4], false, true));
        assert_eq!(next(&mut planner, &index, demand(100, 1, 0)), (vec![], false, true));
    }
}

#[test]
fn a_rank_without_chunks_is_at_the_end_even_of_endless_data() {
    let index = index_of(&[vec![1, 1], vec![1]]);
    for order in [chunk_window(1, 0), OrderSpec::Global(Global { seed: 0 })] {
        let mut planner = Planner::new(spec(order));
        let cursor = planner.start(&index, demand(5, 3, 2)).unwrap().unwrap();
        assert_eq!(cursor.position, (1 << 63) - 1);
        let (own, _, data_end) = next(&mut planner, &index, demand(5, 3, 2));
        assert!(own.is_empty() && data_end);
    }
}

#[test]
fn a_rank_without_chunks_that_becomes_another_rank_stays_at_the_end() {
    let index = index_of(&[vec![1, 1], vec![1]]);
    let mut planner = Planner::new(PlanSpec { limit: Limit::Sweeps(2), ..spec(chunk_window(1, 0)) });
    let cursor = planner.start(&index, demand(5, 3, 2)).unwrap().unwrap();
    planner.resume(&index, cursor, Some(demand(5, 2, 0))).unwrap();
    assert!(next(&mut planner, &index, demand(5, 2, 0)).2);
}

#[test]
fn an_empty_share_of_a_minibatch_is_not_the_end() {
    let index = index_of(&[vec![3, 3]]);
    let sharing = Sharing::Position;
    let limit = Limit::Sweeps(1);
    let mut planner =
        Planner::new(PlanSpec { sharing, limit, ..spec(OrderSpec::Global(Global { seed: 0 })) });
    let mut plan = BatchPlan::default();
    planner.next_batch(&index, demand(10, 4, 3), &mut plan).unwrap();
    assert!(plan.own.is_empty() && plan.foreign.len() == 2 && plan.data_end && !plan.is_end());
    planner.next_batch(&index, demand(10, 4, 3), &mut plan).unwrap();
    assert!(plan.is_end());
}

#[test]
fn sizes_and_positions_beyond_32_bits_are_exact() {
    let mut index = Index::new();
    (0..8).for_each(|_| index.push(CompactLengths::constant(u32::MAX, 2), 1));
    index.seal();
    let n = u64::from(u32::MAX);
    for order in [OrderSpec::AsStored, chunk_window(2, 3), OrderSpec::Global(Global { seed: 3 })] {
        let mut planner = Planner::new(spec(order));
        let (own, sweep_end, _) = next(&mut planner, &index, demand(16 * n - 1, 1, 0));
        assert_eq!((own.len(), sweep_end), (15, false));
        let cursor = planner.seek(&index, 1_000_000 * 16 * n + n + 1, None).unwrap().unwrap();
        assert_eq!(
            cursor,
            Cursor {
                position: 1_000_000 * 16 * n + 2 * n,
                sweep: 1_000_000,
                sequence: 2,
                ..Cursor::default()
            }
        );
        let (own, ..) = next(&mut planner, &index, demand(1 << 40, 3, 2));
        assert!(own.len() > 50);
    }
}

#[test]
fn the_beginning_is_found_again_whatever_has_been_forgotten_of_its_sweep() {
    let index = index_of(&[vec![1, 2, 3], vec![4, 5, 6], vec![7, 8, 9]]);
    let spec = PlanSpec { local_timeline: false, ..spec(chunk_window(1, 3)) };
    let mut planner = Planner::new(spec);
    let take = |planner: &mut Planner, n: usize| -> Vec<u32> {
        (0..n).flat_map(|_| next(planner, &index, demand(1, 1, 0)).0).collect()
    };
    let first = take(&mut planner, 5);
    // Once the next sweep has begun, nothing before this may be resumed any more.
    planner.released(planner.cursor());
    take(&mut planner, 5);
    planner.seek(&index, 0, None).unwrap();
    assert_eq!(take(&mut planner, 5), first);
}

#[test]
fn a_billion_sequences_are_sought_at_once_in_the_global_order() {
    let mut index = Index::new();
    (0..1000).for_each(|_| index.push(CompactLengths::constant(1, 1_000_000), 1));
    index.seal();
    let mut planner = Planner::new(spec(OrderSpec::Global(Global { seed: 9 })));
    let cursor = planner.seek(&index, 77_777_777_777, None).unwrap().unwrap();
    assert_eq!(
        cursor,
        Cursor { position: 77_777_777_777, sweep: 77, sequence: 777_777_777, ..Cursor::default() }
    );
    let mut plan = BatchPlan::default();
    planner.next_batch(&index, demand(3, 1, 0), &mut plan).unwrap();
    let found = plan.own.clone();
    planner.resume(&index, cursor, None).unwrap();
    planner.next_batch(&index, demand(3, 1, 0), &mut plan).unwrap();
    assert_eq!(plan.own, found);
    assert!(planner.bytes() < 40_000, "{} bytes", planner.bytes());
}

#[test]
fn a_small_window_over_many_sequences_holds_little_more_than_it() {
    let mut index = Index::new();
    (0..400).for_each(|_| index.push(CompactLengths::constant(1, 5000), 1));
    index.seal();
    let window = 8 * 5000 * 4;
    let order = chunk_window(8, 0);
    for (local_timeline, windows) in [(true, 6), (false, 3)] {
        let mut planner = Planner::new(PlanSpec { local_timeline, ..spec(order) });
        let mut plan = BatchPlan::default();
        let mut most = 0;
        for _ in 0..900 {
            planner.next_batch(&index, demand(5000, 1, 0), &mut plan).unwrap();
            planner.released(plan.after);
            most = most.max(planner.bytes());
        }
        assert!(most < windows * window, "{most} bytes, a window has {window}");
        assert!(local_timeline || most as u64 <= order.working_bytes(&index));
    }
}

/// Minibatches of three sweeps over 20,000 sequences, all shuffled together, of which the oldest that may be resumed is `behind`
/// minibatches back: the most memory that planning takes, and that it goes back there at the end of a sweep.
fn most_bytes_of_whole_sweeps(behind: usize) -> usize {
    let mut index = Index::new();
    (0..40).for_each(|_| index.push(CompactLengths::constant(1, 500), 1));
    index.seal();
    let mut planner = Planner::new(spec(chunk_window(40, 0)));
    let (mut plan, mut past, mut most) = (BatchPlan::default(), vec![Cursor::default()], 0);
    let mut planned = Vec::new();
    for step in 0..60 {
        planner.next_batch(&index, demand(1000, 1, 0), &mut plan).unwrap();
        past.push(plan.after);
        planned.push(plan.own.clone());
        most = most.max(planner.bytes());
        let oldest = (step + 1usize).saturating_sub(behind);
        planner.released(past[oldest]);
        if step % 20 == 1 {
            planner.resume(&index, past[oldest], None).unwrap();
            for (again, own) in planned.iter().enumerate().skip(oldest) {
                planner.next_batch(&index, demand(1000, 1, 0), &mut plan).unwrap();
                assert_eq!(&plan.own, own, "minibatch {again} after {step}");
            }
        }
    }
    most
}

#[test]
fn of_a_sweep_that_is_left_only_the_end_stays_in_memory() {
    // Beside the lists two generators and two tables of chunks.
    let (list, beside) = (4 * 20_000, 12_000);
    for behind in [0, 4, 10, 19, 30] {
        let most = most_bytes_of_whole_sweeps(behind);
        assert!(
            (list..list + 4 * 4096 + beside).contains(&most),
            "{most} bytes, {behind} minibatches behind"
        );
    }
}

fn check_refused(spec: PlanSpec, chunks: &[Vec<u32>], demand: Demand, expected: &str) {
    let found = Planner::new(spec).start(&index_of(chunks), demand).unwrap_err();
    assert_eq!(found.to_string(), expected);
}

#[test]
fn what_can_never_be_read_is_refused() {
    let one = [vec![1]];
    let all = demand(1, 1, 0);
    let block = || spec(chunk_window(1, 0));
    check_refused(
        PlanSpec { limit: Limit::Samples(0), ..block() },
        &one,
        all,
        "the data are limited to 0 samples, at least 1 is expected",
    );
    check_refused(
        PlanSpec { limit: Limit::Samples(1 << 63), ..block() },
        &one,
        all,
        "the data end after 9223372036854775808 samples, at most 9223372036854775807 are possible",
    );
    check_refused(block(), &[], all, "the corpus has no samples");
    check_refused(
        spec(chunk_window(0, 0)),
        &one,
        all,
        "the randomization window is 0 chunks, at least 1 is expected",
    );
    check_refused(
        block(),
        &one,
        demand(0, 1, 0),
        "the minibatch size is 0 samples, from 1 to 9223372036854775807 are possible",
    );
    let mut planner = Planner::new(PlanSpec { limit: Limit::Samples(1 << 63), ..spec(OrderSpec::AsStored) });
    assert!(planner.start(&index_of(&one), all).unwrap().is_some());
}

#[test]
fn a_cursor_of_a_larger_corpus_is_refused() {
    let mut planner = Planner::new(spec(chunk_window(1, 0)));
    let cursor = Cursor { position: 9, sequence: 9, ..Cursor::default() };
    let error = planner.resume(&index_of(&[vec![1]]), cursor, None).unwrap_err();
    assert_eq!(error.to_string(), "the state's next sequence is 9, the corpus has 1");
}

#[test]
fn no_sweeps_end_at_once() {
    for order in [OrderSpec::AsStored, chunk_window(1, 0)] {
        let mut planner = Planner::new(PlanSpec { limit: Limit::Sweeps(0), ..spec(order) });
        assert_eq!(next(&mut planner, &index_of(&[vec![1]]), demand(1, 1, 0)), (vec![], false, true));
    }
}

#[test]
fn shuffled_orders_wait_for_the_whole_index() {
    let mut index = Index::new();
    index.push(CompactLengths::constant(1, 5), 1);
    let mut planner = Planner::new(spec(chunk_window(1, 0)));
    assert_eq!(planner.start(&index, demand(1, 1, 0)).unwrap(), None);
    let progress = planner.next_batch(&index, demand(1, 1, 0), &mut BatchPlan::default()).unwrap();
    assert_eq!(progress, Progress::NeedIndex);
}

#[test]
fn an_epoch_ends_with_the_sequence_that_starts_before_its_end() {
    let index = index_of(&[vec![4, 4, 4]]);
    for order in [OrderSpec::AsStored, chunk_window(1, 0), OrderSpec::Global(Global { seed: 1 })] {
        let limit = Limit::Samples(20);
        let mut planner = Planner::new(PlanSpec { epoch_size: Some(6), limit, ..spec(order) });
        // Epochs begin at 0, 6, 12 and 18; the sequence from 4 to 8 belongs to the first.
        assert_eq!(next(&mut planner, &index, demand(100, 1, 0)), (vec![4, 4], false, false));
        assert_eq!(next(&mut planner, &index, demand(100, 1, 0)), (vec![4], true, false));
        assert_eq!(next(&mut planner, &index, demand(100, 1, 0)), (vec![4, 4], false, true));
    }
}

#[test]
fn an_epoch_that_a_long_sequence_covers_is_empty() {
    let index = index_of(&[vec![9, 1]]);
    let mut planner = Planner::new(PlanSpec { epoch_size: Some(2), ..spec(OrderSpec::AsStored) });
    assert_eq!(next(&mut planner, &index, demand(5, 1, 0)), (vec![9], false, false));
    assert_eq!(next(&mut planner, &index, demand(5, 1, 0)), (vec![1], true, false));
}

#[test]
fn a_limit_of_no_samples_is_refused_by_reading_and_not_by_a_seek_before_it() {
    let index = index_of(&[vec![1, 2]]);
    for order in [OrderSpec::AsStored, chunk_window(1, 0)] {
        let mut planner = Planner::new(PlanSpec { limit: Limit::Samples(0), ..spec(order) });
        for position in [0, 1] {
            planner.seek(&index, position, None).expect("nothing is read yet");
            let e = planner.next_batch(&index, demand(1, 1, 0), &mut BatchPlan::default()).unwrap_err();
            assert_eq!(e.to_string(), "the data are limited to 0 samples, at least 1 is expected");
        }
    }
}
