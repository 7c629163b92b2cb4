//! Streams against a plain model of the specification, and against themselves: every place is found again.

use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use proptest::prelude::*;

use super::*;
use crate::rng::Words;

fn one_or_more(n: u64) -> NonZeroU64 {
    NonZeroU64::new(n).unwrap()
}

fn seeding(seed: i128, reshuffle: bool) -> Seeding {
    Seeding { pair: SeedPair::new(seed, None), reshuffle }
}

/// Files of these lengths, one after the other, and nothing done with them.
fn spec(lengths: &[u64]) -> StreamSpec {
    let mut first = 0;
    let span = |&len: &u64| {
        first += len;
        Span { first: first - len, len }
    };
    StreamSpec {
        files: lengths.iter().map(span).collect(),
        shuffle_files: None,
        repeat_files: false,
        cycle: one_or_more(1),
        block: one_or_more(1),
        expected: None,
        ops: Vec::new(),
    }
}

/// A traversal of at most a number of examples.
fn read(stream: &mut Stream, most: usize) -> Vec<u64> {
    let mut records = Vec::new();
    stream.fill(most, &mut records).unwrap();
    records
}

#[test]
fn passes_of_a_shuffle_are_those_of_the_specification() {
    let check = |n: u64, buffer: u64, seed: i128, reshuffle: bool, passes: &[&[u64]]| {
        let shuffle = StreamOp::Shuffle { buffer: one_or_more(buffer), seeding: seeding(seed, reshuffle) };
        let mut stream = Stream::new(StreamSpec { ops: vec![shuffle], ..spec(&[n]) }).unwrap();
        for pass in passes {
            assert!(read(&mut stream, usize::MAX).starts_with(pass), "{n} {buffer} {seed}");
            stream.begin();
        }
    };
    let small: [&[u64]; 3] =
        [&[9, 7, 6, 5, 0, 2, 3, 1, 4, 8], &[3, 7, 1, 9, 0, 6, 8, 2, 4, 5], &[9, 8, 2, 1, 6, 5, 3, 4, 0, 7]];
    check(10, 10, 32, true, &small);
    let large: [&[u64]; 3] = [
        &[141, 568, 582, 652, 969, 516, 650, 889],
        &[777, 46, 87, 451, 885, 399, 622, 277],
        &[445, 809, 568, 208, 558],
    ];
    check(1024, 1024, 32, true, &large);
    let same: [&[u64]; 2] = [&[113, 163, 709, 305, 419, 445]; 2];
    check(1024, 1024, 32, false, &same);
    check(10, 4, 5, true, &[&[1, 4, 5, 6, 2, 7, 0, 3, 9, 8], &[0, 4, 5, 1, 7, 6, 2, 9, 8, 3]]);
}

#[test]
fn buffers_are_taken_where_they_belong_and_nowhere_else() {
    let shuffle = |buffer| StreamOp::Shuffle { buffer: one_or_more(buffer), seeding: seeding(3, true) };
    let spec =
        StreamSpec { ops: vec![shuffle(50), StreamOp::Repeat(-1), shuffle(20)], ..spec(&[100, 200, 300]) };
    let mut stream = Stream::new(spec.clone()).unwrap();
    // So far that drawing one by one would never end.
    let far = 600 * (1 << 50) + 123;
    let mut near = Stream::new(spec.clone()).unwrap();
    near.skip(1000).unwrap();
    let (buffers, state) = (near.buffers(), near.state());
    let mut asked = 0;
    stream
        .restore_with(&state, &buffers, &mut || {
            asked += 1;
            false
        })
        .unwrap();
    assert_eq!(asked, 0);
    assert_eq!(read(&mut stream, 300), read(&mut near, 300));
    let moved = StreamState { delivered: 1001, ..state.clone() };
    let later = StreamState { started: vec![1, 1, 1], ..state.clone() };
    let before = StreamState { delivered: 999, ..state.clone() };
    let mut check = |state: &StreamState, buffers: &[u8], why: &str| {
        let before = stream.state();
        let error = stream.restore_with(state, buffers, &mut || true).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
        assert_eq!(stream.state(), before);
    };
    check(&later, &buffers, "`buffers`");
    check(&before, &buffers, "`buffers`");
    check(&state, &buffers[..buffers.len() - 1], "`buffers`");
    check(&StreamState { delivered: far, ..moved }, &[], "interrupted");
    // A record of no file.
    let mut foreign = buffers.clone();
    let last = foreign.len() - 1;
    foreign[last] = 0x80;
    foreign.extend([0xff, 0xff, 0x7f]);
    check(&state, &foreign, "`buffers`");
}

#[test]
fn a_long_skip_counts_what_it_has_passed_also_in_clones() {
    let shuffle = StreamOp::Shuffle { buffer: one_or_more(50), seeding: seeding(3, true) };
    let spec = StreamSpec { ops: vec![StreamOp::Repeat(-1), shuffle], ..spec(&[100, 200]) };
    let mut stream = Stream::new(spec).unwrap();
    let passed = Arc::new(AtomicU64::new(7));
    stream.count_passed(Arc::clone(&passed));
    let far = StreamState { delivered: (3 << 20) + 5, ..stream.state() };
    let mut seen = Vec::new();
    let mut look = || {
        seen.push(passed.load(Ordering::Relaxed) - 7);
        false
    };
    stream.clone().restore_with(&far, &[], &mut look).unwrap();
    assert_eq!(seen, [1 << 20, 2 << 20, 3 << 20]);
}

#[test]
fn buffers_of_two_shuffles_are_found_whatever_stands_between_them() {
    let shuffle = |buffer| StreamOp::Shuffle { buffer: one_or_more(buffer), seeding: seeding(3, true) };
    let shard = |count, index| StreamOp::Shard { count: one_or_more(count), index };
    let between = [shard(3, 0), shard(3, 2), StreamOp::Skip(2), StreamOp::Take(3), StreamOp::Repeat(2)];
    for (op, len, buffer) in between.iter().flat_map(|op| (1..9).flat_map(move |n| [(op, n, 2), (op, n, 9)]))
    {
        let spec = StreamSpec { ops: vec![shuffle(2), *op, shuffle(buffer)], ..spec(&[len]) };
        let mut stream = Stream::new(spec.clone()).unwrap();
        while let Some(record) = stream.next().unwrap() {
            let mut kept = Stream::new(spec.clone()).unwrap();
            let restored = kept.restore_with(&stream.state(), &stream.buffers(), &mut || false);
            assert!(restored.is_ok(), "{op:?} of {len}, behind {record}: {restored:?}");
            assert_eq!(
                ahead(&mut stream.clone(), 60),
                ahead(&mut kept, 60),
                "{op:?} of {len}, behind {record}"
            );
        }
    }
}

#[test]
fn a_position_deep_in_many_files_is_found_in_few_steps() {
    let end = |i: u64| ((1281167.0 * i as f64) / 1024.0).round_ties_even() as u64;
    let lengths: Vec<u64> = (0..1024).map(|i| end(i + 1) - end(i)).collect();
    let spec = StreamSpec {
        shuffle_files: Some(seeding(32, true)),
        cycle: one_or_more(16),
        block: one_or_more(16),
        ops: vec![StreamOp::Repeat(-1)],
        ..spec(&lengths)
    };
    let (mut one, mut other) = (Stream::new(spec.clone()).unwrap(), Stream::new(spec).unwrap());
    let position = 1281167 * 2 + 1200000;
    assert_eq!(read(&mut one, position).len(), position);
    assert_eq!(other.skip(position as u64), Ok(position as u64));
    assert_eq!(read(&mut one, 100), read(&mut other, 100));
}

#[test]
fn counts_that_differ_fail_where_the_reference_does() {
    let counted = |expected| StreamSpec { expected: Some(expected), ..spec(&[3, 2]) };
    for (expected, found, given) in [(4, 5, 4), (6, 5, 5)] {
        let mut stream = Stream::new(counted(expected)).unwrap();
        let mut records = Vec::new();
        assert_eq!(stream.fill(100, &mut records), Err(CountMismatch { expected, found }));
        assert_eq!(records.len(), given);
        assert!(stream.next().is_err(), "it stays failed");
        let mut other = Stream::new(counted(expected)).unwrap();
        assert_eq!(other.skip(100), Err(CountMismatch { expected, found }));
        assert_eq!(other.state(), stream.state());
    }
    assert_eq!(read(&mut Stream::new(counted(5)).unwrap(), 100).len(), 5);
}

#[test]
fn a_traversal_begins_after_the_passes_that_are_named() {
    let shuffle = StreamOp::Shuffle { buffer: one_or_more(10), seeding: seeding(32, true) };
    let mut stream = Stream::new(StreamSpec { ops: vec![shuffle], ..spec(&[10]) }).unwrap();
    stream.begin_after(&[7, 1]).unwrap();
    assert_eq!(read(&mut stream, 4), [3, 7, 1, 9]);
    assert!(stream.begin_after(&[7]).is_err());
}

#[test]
fn only_what_is_shuffled_anew_reshuffles() {
    let shuffle = |buffer, anew| StreamOp::Shuffle { buffer: one_or_more(buffer), seeding: seeding(1, anew) };
    let check = |lengths: &[u64], files: Option<Seeding>, ops: Vec<StreamOp>, expected: bool| {
        let stream = Stream::new(StreamSpec { shuffle_files: files, ops, ..spec(lengths) }).unwrap();
        assert_eq!(stream.reshuffles(), expected);
    };
    check(&[5, 5], None, vec![], false);
    check(&[5, 5], Some(seeding(1, true)), vec![], true);
    check(&[5], Some(seeding(1, true)), vec![], false);
    check(&[5, 5], Some(seeding(1, false)), vec![shuffle(4, false), shuffle(1, true)], false);
    check(&[5], None, vec![shuffle(4, true), StreamOp::Take(2)], true);
}

#[test]
fn a_stream_tells_what_it_has_taken_of_which_file() {
    let ops = vec![StreamOp::Skip(2), StreamOp::Repeat(-1)];
    let mut stream = Stream::new(StreamSpec { ops, ..spec(&[3, 2, 4]) }).unwrap();
    let taken = |records, ended| Taken { records, ended };
    assert_eq!(stream.taken(), []);
    read(&mut stream, 1);
    assert_eq!(stream.taken(), [(0, taken(3, false))]);
    read(&mut stream, 1);
    assert_eq!(stream.taken(), [(0, taken(3, true)), (1, taken(1, false))]);
    // Into the second pass: nothing is news of the first file, of which no more can be taken.
    read(&mut stream, 7);
    assert_eq!(stream.taken(), [(1, taken(2, true)), (2, taken(4, true)), (1, taken(1, false))]);
    // Whole passes are gone past without a look at the files, unless that is asked for.
    for (follows, known) in [(false, 1), (true, 3)] {
        let ops = vec![StreamOp::Repeat(-1)];
        let mut stream = Stream::new(StreamSpec { ops, ..spec(&[3, 2, 4]) }).unwrap();
        stream.follow_passes(follows);
        stream.skip(9 * 5 + 2).unwrap();
        let mut files: Vec<usize> = stream.taken().into_iter().map(|(file, _)| file).collect();
        files.sort_unstable();
        files.dedup();
        assert_eq!(files.len(), known);
    }
}

#[test]
fn files_without_examples_never_repeat() {
    let empty = StreamSpec { repeat_files: true, ops: vec![StreamOp::Repeat(-1)], ..spec(&[0, 0]) };
    assert_eq!(read(&mut Stream::new(empty).unwrap(), 5), [0u64; 0]);
}

#[test]
fn no_buffers_are_kept_of_the_traversal_before() {
    let shuffle = || StreamOp::Shuffle { buffer: one_or_more(2), seeding: seeding(1, true) };
    let ops = vec![shuffle(), shuffle()];
    let mut stream = Stream::new(StreamSpec { ops, ..spec(&[3]) }).unwrap();
    assert_eq!(read(&mut stream, 9).len(), 3);
    stream.begin();
    assert!(stream.buffers().is_empty());
    let mut other = stream.clone();
    other.restore_with(&stream.state(), &stream.buffers(), &mut || false).unwrap();
    assert_eq!(read(&mut other, 9), read(&mut stream, 9));
}

#[test]
fn a_state_that_says_the_end_where_there_is_none_is_refused() {
    let mut stream = Stream::new(StreamSpec { ops: vec![StreamOp::Repeat(-1)], ..spec(&[2]) }).unwrap();
    let state = StreamState { ended: true, ..stream.state() };
    let found = stream.restore(&state).unwrap_err();
    assert_eq!((found.state.as_str(), found.source.as_str()), ("0, the end", "not the end"));
    assert_eq!(read(&mut stream, 3), [0, 1, 0]);
}

#[test]
fn a_state_of_another_stream_is_refused() {
    let shuffle = StreamOp::Shuffle { buffer: one_or_more(3), seeding: seeding(1, true) };
    let mut shuffled = Stream::new(StreamSpec { ops: vec![shuffle], ..spec(&[5]) }).unwrap();
    let mut plain = Stream::new(spec(&[5])).unwrap();
    assert!(plain.restore(&shuffled.state()).is_err());
    let beyond = StreamState { started: vec![0, 0], delivered: 6, ended: false };
    assert_eq!(shuffled.restore(&beyond).unwrap_err().source, "at most 5");
}

/// The model: whole traversals as lists, as spec/tfds.md §8 says it, with as little cleverness as possible.
struct Model {
    spec: StreamSpec,
    passes: Vec<u64>,
}

impl Model {
    fn new(mut spec: StreamSpec) -> Model {
        spec.ops.retain(|op| !op.is_idle());
        Model { spec, passes: vec![0; 9] }
    }

    /// The number of the pass that begins.
    fn begin(&mut self, source: usize) -> u64 {
        self.passes[source] += 1;
        self.passes[source] - 1
    }

    fn traverse(&mut self) -> Vec<u64> {
        let files = self.spec.files.clone();
        let order: Vec<u64> = (0..files.len() as u64).collect();
        self.layer(self.spec.ops.len(), &files, &order)
    }

    fn layer(&mut self, n_ops: usize, files: &[Span], order: &[u64]) -> Vec<u64> {
        let Some(last) = n_ops.checked_sub(1) else { return self.files(files, order) };
        let source =
            |ops: &[StreamOp]| ops.iter().filter(|op| matches!(op, StreamOp::Shuffle { .. })).count();
        match self.spec.ops[last] {
            StreamOp::Shuffle { buffer, seeding } => {
                let source = source(&self.spec.ops[..=last]);
                let pass = self.begin(source);
                let input = self.layer(last, files, order);
                shuffle(&input, buffer.get(), seeding.words(pass))
            }
            StreamOp::Repeat(n) => {
                let stands_on_shuffle =
                    last > 0 && matches!(self.spec.ops[last - 1], StreamOp::Shuffle { .. });
                let all: Vec<u64> = (0..n).flat_map(|_| self.layer(last, files, order)).collect();
                if n > 1 && !stands_on_shuffle {
                    self.begin_unread(last);
                }
                all
            }
            StreamOp::Skip(n) => self.layer(last, files, order).into_iter().skip(n as usize).collect(),
            StreamOp::Take(n) => self.layer(last, files, order).into_iter().take(n as usize).collect(),
            StreamOp::Shard { count, index } => {
                let input = self.layer(last, files, order);
                input.into_iter().skip(index as usize).step_by(count.get() as usize).collect()
            }
            StreamOp::Prefetch => self.layer(last, files, order),
        }
    }

    /// A pass that begins and of which nothing is read: it ends at the first shuffle below.
    fn begin_unread(&mut self, n_ops: usize) {
        let shuffles: Vec<usize> =
            (0..n_ops).filter(|&i| matches!(self.spec.ops[i], StreamOp::Shuffle { .. })).collect();
        self.begin(shuffles.len());
    }

    fn files(&mut self, files: &[Span], order: &[u64]) -> Vec<u64> {
        let pass = self.begin(0);
        let order = match self.spec.shuffle_files {
            None => order.to_vec(),
            Some(seeding) => shuffle(order, order.len() as u64, seeding.words(pass)),
        };
        let mut next_files = order.into_iter().map(|i| files[i as usize]);
        let (cycle, block) = (self.spec.cycle.get() as usize, self.spec.block.get());
        let mut slots: Vec<Option<Span>> = vec![None; cycle];
        let (mut c, mut k, mut done) = (0, 0, false);
        let mut out = Vec::new();
        while !done || slots.iter().any(Option::is_some) {
            let Some(slot) = &mut slots[c] else {
                if !done {
                    slots[c] = next_files.next();
                    done = slots[c].is_none();
                } else {
                    (c, k) = ((c + 1) % cycle, 0);
                }
                continue;
            };
            if slot.len == 0 {
                slots[c] = None;
                (c, k) = ((c + 1) % cycle, 0);
                continue;
            }
            out.push(slot.first);
            *slot = Span { first: slot.first + 1, len: slot.len - 1 };
            k += 1;
            if k == block {
                (c, k) = ((c + 1) % cycle, 0);
            }
        }
        out
    }
}

fn shuffle(input: &[u64], size: u64, mut words: Words) -> Vec<u64> {
    let mut buffer = vec![0; size as usize];
    let (mut a, mut b) = (0u64, 0u64);
    let mut out = Vec::new();
    loop {
        while b - a < size && (b as usize) < input.len() {
            buffer[(b % size) as usize] = input[b as usize];
            b += 1;
        }
        if a == b {
            return out;
        }
        let i = (a + u64::from(words.draw()) % (b - a)) % size;
        out.push(buffer[i as usize]);
        buffer[i as usize] = buffer[(a % size) as usize];
        a += 1;
    }
}

fn any_seeding() -> impl Strategy<Value = Seeding> {
    (0..4i128, any::<bool>()).prop_map(|(seed, reshuffle)| seeding(seed, reshuffle))
}

/// Operations that the model follows exactly: takes are last, where nothing is cut short that is traversed again.
fn finite_op() -> impl Strategy<Value = StreamOp> {
    prop_oneof![
        (1..12u64, any_seeding())
            .prop_map(|(n, seeding)| StreamOp::Shuffle { buffer: one_or_more(n), seeding }),
        (1..4i64).prop_map(StreamOp::Repeat),
        (0..9i64).prop_map(StreamOp::Skip),
        (1..4u64, 0..4u64).prop_map(|(n, i)| StreamOp::Shard { count: one_or_more(n), index: i % n }),
        Just(StreamOp::Prefetch),
    ]
}

fn any_op() -> impl Strategy<Value = StreamOp> {
    prop_oneof![
        4 => finite_op(),
        1 => (-1..30i64).prop_map(StreamOp::Take),
        1 => Just(StreamOp::Repeat(-1)),
        1 => Just(StreamOp::Repeat(0)),
        1 => Just(StreamOp::Skip(-1)),
    ]
}

prop_compose! {
    fn any_files()(
        lengths in prop::collection::vec(0..20u64, 1..9),
        shuffle_files in prop::option::of(any_seeding()),
        cycle in 1..7u64,
        block in 1..6u64,
    ) -> StreamSpec {
        StreamSpec { shuffle_files, cycle: one_or_more(cycle), block: one_or_more(block), ..spec(&lengths) }
    }
}

/// The next examples, or that there are none, or that the stream has failed.
fn ahead(stream: &mut Stream, n: usize) -> (Vec<u64>, bool) {
    let mut records = Vec::new();
    let failed = stream.fill(n, &mut records).is_err();
    (records, failed)
}

proptest! {
    #[test]
    fn traversals_are_those_of_the_model(
        files in any_files(),
        ops in prop::collection::vec(finite_op(), 0..4),
        take in prop::option::of(0..40i64),
    ) {
        let spec = StreamSpec { ops, ..files };
        let mut model = Model::new(spec.clone());
        let mut stream = Stream::new(spec.clone()).unwrap();
        for traversal in 0..3 {
            let expected = model.traverse();
            prop_assert_eq!(stream.len(), Some(expected.len() as u64));
            prop_assert_eq!(read(&mut stream, usize::MAX), expected, "traversal {}", traversal);
            stream.begin();
        }
        if let Some(n) = take {
            let mut ops = spec.ops.clone();
            ops.push(StreamOp::Take(n));
            let mut cut = Stream::new(StreamSpec { ops, ..spec.clone() }).unwrap();
            let whole = Model::new(spec).traverse();
            prop_assert_eq!(read(&mut cut, usize::MAX), &whole[..whole.len().min(n as usize)]);
        }
    }

    #[test]
    fn every_place_is_found_again(
        files in any_files(),
        repeat_files in prop::bool::weighted(0.2),
        expected in prop::option::weighted(0.2, 0..60u64),
        ops in prop::collection::vec(any_op(), 0..5),
        reads in prop::collection::vec((0..80usize, any::<bool>()), 1..5),
    ) {
        let spec = StreamSpec { repeat_files, expected, ops, ..files };
        let mut stream = Stream::new(spec.clone()).unwrap();
        for (n, begins) in reads {
            ahead(&mut stream, n);
            let state = StreamState::from_json(&stream.state().to_json()).unwrap();
            let mut other = Stream::new(spec.clone()).unwrap();
            prop_assert_eq!(&other.passes_at(&state, &mut || false).unwrap()[..], stream.passes());
            other.restore(&state).unwrap();
            prop_assert_eq!(other.state(), state.clone());
            let mut straight = stream.clone();
            prop_assert_eq!(ahead(&mut straight, 60), ahead(&mut other, 60));
            // With what the buffers held it is the same place.
            let mut kept = Stream::new(spec.clone()).unwrap();
            let buffers = stream.buffers();
            if !state.ended {
                kept.restore_with(&state, &buffers, &mut || false).unwrap();
                prop_assert_eq!(kept.state(), state.clone());
                prop_assert_eq!(kept.buffers(), buffers);
                let mut straight = stream.clone();
                prop_assert_eq!(ahead(&mut straight, 60), ahead(&mut kept, 60));
                straight.begin();
                kept.begin();
                prop_assert_eq!(straight.started(), kept.started());
                prop_assert_eq!(ahead(&mut straight, 60), ahead(&mut kept, 60));
            }
            // What has begun on the way there has begun in both.
            straight.begin();
            other.begin();
            prop_assert_eq!(straight.started(), other.started());
            prop_assert_eq!(ahead(&mut straight, 60), ahead(&mut other, 60));
            if begins {
                stream.begin();
            }
        }
    }

    #[test]
    fn states_of_anything_are_restored_or_refused(
        files in any_files(),
        ops in prop::collection::vec(any_op(), 0..4),
        started in prop::collection::vec(prop_oneof![0..5u64, any::<u64>()], 0..4),
        delivered in prop_oneof![0..100u64, any::<u64>()],
        ended: bool,
        buffers in prop::collection::vec(prop_oneof![0..4u8, any::<u8>()], 0..40),
    ) {
        let mut stream = Stream::new(StreamSpec { ops, ..files }).unwrap();
        let state = StreamState { started, delivered, ended };
        let mut patience = 3;
        let mut interrupted = || { patience -= 1; patience <= 0 };
        let before = stream.state();
        match stream.restore_with(&state, &buffers, &mut interrupted) {
            Ok(()) => prop_assert_eq!(stream.delivered(), delivered),
            Err(_) => prop_assert_eq!(stream.state(), before),
        }
        ahead(&mut stream, 20);
    }

    #[test]
    fn skipping_is_reading_without_looking(
        files in any_files(),
        repeat_files in prop::bool::weighted(0.2),
        expected in prop::option::weighted(0.2, 0..60u64),
        ops in prop::collection::vec(any_op(), 0..5),
        steps in prop::collection::vec((0..100usize, 0..5usize), 1..4),
    ) {
        let spec = StreamSpec { repeat_files, expected, ops, ..files };
        let (mut read, mut skipped) = (Stream::new(spec.clone()).unwrap(), Stream::new(spec).unwrap());
        for (skip, look) in steps {
            let (passed, failed) = ahead(&mut read, skip);
            let before = skipped.delivered();
            prop_assert_eq!(skipped.skip(skip as u64).is_err(), failed);
            prop_assert_eq!(skipped.delivered() - before, passed.len() as u64);
            prop_assert_eq!(ahead(&mut read, look), ahead(&mut skipped, look));
            prop_assert_eq!(read.state(), skipped.state());
        }
        read.begin();
        skipped.begin();
        prop_assert_eq!(read.state(), skipped.state());
    }

    #[test]
    fn runs_are_the_records_one_by_one(
        files in any_files(),
        repeat_files in prop::bool::weighted(0.2),
        expected in prop::option::weighted(0.4, 0..60u64),
        ops in prop::collection::vec(any_op(), 0..2),
        sizes in prop::collection::vec(1..20u64, 1..40),
    ) {
        let spec = StreamSpec { repeat_files, expected, ops, ..files };
        let (mut singly, mut in_runs) = (Stream::new(spec.clone()).unwrap(), Stream::new(spec).unwrap());
        for most in sizes {
            match in_runs.next_run(most) {
                Ok(Some(run)) => {
                    prop_assert!((1..=most).contains(&run.len));
                    for record in run.first..run.first + run.len {
                        prop_assert_eq!(singly.next(), Ok(Some(record)));
                    }
                }
                other => prop_assert_eq!(singly.next(), other.map(|_| None)),
            }
            prop_assert_eq!(singly.state(), in_runs.state());
        }
    }

    #[test]
    fn a_traversal_of_a_number_is_the_one_after_those_before_it(
        files in any_files(),
        ops in prop::collection::vec(finite_op(), 0..4),
        n in 0..4u64,
    ) {
        let spec = StreamSpec { ops, ..files };
        let (mut one, mut other) = (Stream::new(spec.clone()).unwrap(), Stream::new(spec).unwrap());
        for _ in 0..n {
            ahead(&mut one, usize::MAX);
            one.begin();
        }
        other.begin_traversal(n).unwrap();
        prop_assert_eq!(one.state(), other.state());
        prop_assert_eq!(ahead(&mut one, 99), ahead(&mut other, 99));
    }
}
