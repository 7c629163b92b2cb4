//! Local timelines (spec/engine.md §8), against the text.

use proptest::prelude::*;

use super::*;
use crate::rng::Mt19937_64;
use crate::{BatchPlan, Cursor, ResumeState, WindowStart};

/// The entries of spec/engine.md §8.1 or §8.2 over a number of sweeps; `None` is the end of one.
fn timeline(
    chunks: &[Vec<u32>],
    order: &OrderSpec,
    (workers, rank): (u64, u64),
    sweeps: usize,
) -> Vec<Option<SequenceId>> {
    let sequences = |c: usize| {
        (0..chunks[c].len()).map(move |s| SequenceId { chunk: ChunkId::at(c), sequence: s as u32 })
    };
    let mut all = Vec::new();
    let OrderSpec::Tumbling(Tumbling { window, seed }) = order else {
        for _ in 0..sweeps {
            let whole = (0..chunks.len()).flat_map(sequences).zip(0u64..);
            all.extend(
                whole.filter(|(_, number)| number % workers == rank).map(|(planned, _)| Some(planned)),
            );
            all.push(None);
        }
        return all;
    };
    let n = chunks.len();
    let shuffled = |v: &mut Vec<Option<SequenceId>>, start: usize, seed: u64| {
        let mut random = Mt19937_64::new(seed);
        for i in start..v.len() {
            let j = i + (random.draw() % (v.len() - i) as u64) as usize;
            v.swap(i, j);
        }
    };
    let (mut place, mut w) = (0, 0u64);
    while all.iter().filter(|entry| entry.is_none()).count() < sweeps {
        let (mut left, in_samples) = match *window {
            Window::Chunks(n) => (n as i64, false),
            Window::Samples(n) => (n as i64, true),
        };
        let (mut v, mut start, mut base) = (Vec::new(), 0, place as u64);
        while left > 0 {
            let mut order: Vec<usize> = (0..n).collect();
            let mut random = Mt19937_64::new(seed.wrapping_add(w));
            (0..n).for_each(|i| order.swap(i, (random.draw() % n as u64) as usize));
            let c = order[place];
            if place as u64 % workers == rank {
                v.extend(sequences(c).map(Some));
                left -= if in_samples { chunks[c].iter().map(|&n| i64::from(n)).sum() } else { 1 };
            }
            if place == n - 1 {
                shuffled(&mut v, start, base.wrapping_add(w).wrapping_add(*seed));
                v.push(None);
                (start, base, w) = (v.len(), 0, w + 1);
            }
            place = (place + 1) % n;
        }
        shuffled(&mut v, start, base.wrapping_add(w).wrapping_add(*seed));
        all.extend(v);
    }
    all
}

/// spec/engine.md §8, `read`, on a timeline that is long enough: sequences, the end of a sweep and of the data, samples
/// after it.
type Read = (Vec<SequenceId>, bool, bool, u64);

fn reads(chunks: &[Vec<u32>], spec: &PlanSpec, demand: Demand) -> Vec<Read> {
    let share = match spec.sharing {
        Sharing::Position => (1, 0),
        Sharing::Chunk => (demand.workers, demand.rank),
    };
    // Every sweep has a sample of every rank, and no limit here is more than 60.
    let entries = timeline(chunks, &spec.order, share, 62);
    let limit = demand.samples / share.0 + u64::from(share.1 < demand.samples % share.0);
    let (mut at, mut samples, mut sweeps) = (0, 0, 0);
    let mut all = Vec::new();
    loop {
        let ended = |sweeps: u64, samples: u64| match spec.limit {
            Limit::Sweeps(n) => sweeps >= n,
            Limit::Samples(n) => samples >= n / share.0 + u64::from(share.1 < n % share.0),
            Limit::Endless => false,
        };
        let (mut own, mut l, mut sweep_end) = (Vec::new(), 0, false);
        while l < limit.max(1) && !ended(sweeps, samples) {
            match entries[at] {
                None => (sweeps, sweep_end, at) = (sweeps + 1, true, at + 1),
                Some(planned) => {
                    let n = u64::from(chunks[planned.chunk.index()][planned.sequence as usize]);
                    if !own.is_empty() && l + n > limit.max(1) {
                        break;
                    }
                    own.push(planned);
                    (l, samples, at) = (l + n, samples + n, at + 1);
                }
            }
        }
        let end = ended(sweeps, samples);
        all.push((own, sweep_end, end, samples));
        if end {
            return all;
        }
    }
}

fn any_local() -> impl Strategy<Value = OrderSpec> {
    let window = prop_oneof![(1u64..16).prop_map(Window::Chunks), (1u64..60).prop_map(Window::Samples)];
    let seed = prop_oneof![0u64..4, Just(u64::MAX)];
    prop_oneof![
        Just(OrderSpec::LocalPlain),
        (window, seed).prop_map(|(window, seed)| OrderSpec::Tumbling(Tumbling { window, seed })),
    ]
}

fn read(plan: &BatchPlan, workers: u64, rank: u64) -> Read {
    let mut places: Vec<_> = plan.own_slots().chain(plan.foreign_slots()).collect();
    places.sort_by_key(|place| place.number);
    let mine = places.iter().filter(|p| plan.foreign.is_empty() || p.number % workers == rank);
    assert_eq!(mine.count(), plan.own.len());
    (places.iter().map(|p| p.planned).collect(), plan.sweep_end, plan.data_end, plan.after.position)
}

proptest! {
    #[test]
    fn local_timelines_are_read_as_the_specification_says_and_resumed_from_anywhere(
        chunks in any_chunks(), order in any_local(), sharing in any_sharing(), demand in any_demand(),
        limit in prop_oneof![(0u64..3).prop_map(Limit::Sweeps), (1u64..60).prop_map(Limit::Samples)],
    ) {
        let index = index_of(&chunks);
        let spec = PlanSpec { sharing, limit, ..spec(order) };
        let n = if order == OrderSpec::LocalPlain { index.n_sequences() } else { index.n_chunks() as u64 };
        let mut planner = Planner::new(spec.clone());
        let mut plan = BatchPlan::default();
        if sharing == Sharing::Chunk && demand.rank >= n {
            prop_assert!(planner.start(&index, demand).is_err());
            return Ok(());
        }
        planner.start(&index, demand).unwrap();
        for expected in reads(&chunks, &spec, demand) {
            let before = planner.cursor();
            planner.next_batch(&index, demand, &mut plan).unwrap();
            prop_assert_eq!(&read(&plan, demand.workers, demand.rank), &expected);
            let mut fresh = Planner::new(spec.clone());
            let state = ResumeState { cursor: before, ..states::full() };
            fresh.restore(&index, &state, Some(demand)).unwrap().unwrap();
            let after = plan.after;
            fresh.next_batch(&index, demand, &mut plan).unwrap();
            prop_assert_eq!(&read(&plan, demand.workers, demand.rank), &expected);
            prop_assert_eq!(plan.after, after);
        }
    }
}

#[test]
fn a_cursor_that_no_window_has_is_refused() {
    let index = index_of(&[vec![1, 1], vec![1]]);
    let mut planner = Planner::new(spec(OrderSpec::LocalPlain));
    let window = WindowStart { place: 2, sweep: 0 };
    assert!(planner.resume(&index, Cursor { window, ..Cursor::default() }, None).is_err());
    planner.resume(&index, Cursor { sequence: 9, ..Cursor::default() }, None).unwrap();
    let refused = planner.next_batch(&index, demand(1, 1, 0), &mut BatchPlan::default());
    assert_eq!(refused.unwrap_err().to_string(), "the state's next entry is 9, its window has 2");
}
