//! Calls that do something besides reading: cancelling, closing, stores that fail, demands that make no sense.

use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::kit::{config_of, config_with, folder, rest, rows, source};
use tesson::store::{MemoryStore, Resource, Store};
use tesson::{Demand, Error, OpenOptions, ResumeState, Share, Source};
use tesson_engine::store::{FakeStore, FileStore, InjectedFault};

const IN_ORDER: &str = r#", "randomize": false, "maxSweeps": 1"#;

#[test]
fn a_demand_that_makes_no_sense_changes_nothing() {
    let (_, config) = source("calls-demand", &rows(10), IN_ORDER, "");
    let mut source = tesson::open(&config).expect("the file is right");
    let first = source.next_minibatch(4).expect("data").map(|m| crate::kit::values(&m));
    let state = source.state().clone();
    for (samples, workers, rank) in [(0, 1, 0), (4, 0, 0), (4, 2, 2)] {
        let e = source.next(Demand { samples, workers, rank }).expect_err("no sense");
        assert!(matches!(e, Error::Usage(_)), "{e}");
    }
    assert_eq!(source.state(), &state);
    let mut other = tesson::open(&config).expect("the file is right");
    assert_eq!(rest(&mut other, 4), first.into_iter().chain(rest(&mut source, 4)).collect::<Vec<_>>());
}

#[test]
fn streams_are_paired_sample_by_sample_or_the_first_that_is_not_is_named() {
    let read = |text: &str| {
        let (_, config) = source("calls-paired", text, IN_ORDER, "");
        tesson::open(&config).and_then(|mut source| source.next_minibatch(9)).expect("the file is right")
    };
    let pairs = read("1 |x 1 |y 3:1\n2 |x 2 |y 0:1\n2 |x 3 |y 6:1\n").expect("data");
    let [x, y] = pairs.paired(["x", "y"]).expect("as many of both");
    assert_eq!((x.n_samples(), y.n_samples()), (3, 3));
    assert_eq!(pairs.class_indices("y").expect("one entry each"), [3, 0, 6]);

    let odd = read("1 |x 1 |y 3:1\n2 |x 2 |y 0:1\n2 |x 3\n").expect("data");
    let told = |e: tesson_engine::pairing::PairingError| e.to_string();
    let error = told(odd.paired(["x", "y"]).expect_err("a sample of y is missing"));
    assert!(error.starts_with("sequence 2: streams `x` and `y` have 2 and 1 samples, expected"), "{error}");
    let error = told(odd.paired(["x", "yy"]).expect_err("no such stream"));
    assert_eq!(error, "no stream `yy`, there are x, y, did you mean `y`?");
    let error = told(odd.class_indices("x").expect_err("a dense stream"));
    assert_eq!(error, "stream `x` is dense, expected a sparse one, whose entries have columns");
}

#[test]
fn a_demand_that_the_plan_refuses_changes_nothing() {
    let options = r#", "equalSteps": "repeat", "maxSweeps": 1"#;
    let (_, config) = source("calls-refused", &rows(10), options, "");
    let mut source = tesson::open(&config).expect("the file is right");
    let demand = |samples| Demand { samples, workers: 2, rank: 0 };
    source.next(demand(4)).expect("data");
    let state = source.state().clone();
    let e = source.next(demand(2)).expect_err("steps are of equal size");
    assert!(matches!(e, Error::Usage(_)), "{e}");
    assert_eq!(source.state(), &state);
    assert!(source.next(demand(4)).expect("data").is_some());
}

#[test]
fn a_state_is_restored_for_the_rank_that_reads_next_whatever_the_last_one_had() {
    let options = r#", "randomize": true, "maxSweeps": 1"#;
    let (_, config) = source("calls-restored", &rows(10), options, "");
    let open = || tesson::open(&config).expect("the file is right");
    let bare =
        ResumeState::from_json(&serde_json::json!({"minibatchSourcePosition": 0})).expect("a position");
    let mut alone = open();
    let first = alone.next_minibatch(4).expect("data").map(|m| crate::kit::values(&m));
    let saved = alone.state().clone();
    let second = rest(&mut alone, 4);
    // One chunk: the second of two ranks has no data and stands at the end.
    let mut source = open();
    let nothing = Demand { samples: 4, workers: 2, rank: 1 };
    for (state, expected) in [(&saved, second.clone()), (&bare, first.into_iter().chain(second).collect())] {
        assert!(source.next(nothing).expect("no data are no error").is_none());
        source.restore(state).expect("the state is this source's");
        assert_eq!(rest(&mut source, 4), expected);
        source.restore(&bare).expect("any source has a beginning");
    }
}

#[test]
fn a_rank_without_a_chunk_keeps_the_state_that_it_was_given() {
    let options = r#", "randomize": true, "maxSweeps": 1"#;
    let (_, config) = source("calls-no-chunk", &rows(10), options, "");
    let open = || tesson::open(&config).expect("the file is right");
    let mut alone = open();
    alone.next_minibatch(4).expect("data");
    let saved = alone.state().clone();
    let left = rest(&mut alone, 4);
    let nothing = Demand { samples: 4, workers: 2, rank: 1 };
    // Before the first call, and after one that found no data.
    for is_read in [false, true] {
        let mut source = open();
        if is_read {
            assert!(source.next(nothing).expect("no data are no error").is_none());
            assert_eq!(
                source.state().share,
                Some(Share { workers: 2, rank: 1 }),
                "this end is that of its rank alone"
            );
        }
        source.restore(&saved).expect("the state is this source's");
        let kept = source.state().clone();
        assert_eq!(kept, saved);
        assert!(source.next(nothing).expect("no data are no error").is_none());
        let mut elsewhere = open();
        assert!(elsewhere.restore(source.state()).and_then(|()| elsewhere.next_minibatch(4)).is_err());
        elsewhere.restore(&kept).expect("the state is this source's");
        assert_eq!(rest(&mut elsewhere, 4), left);
    }
}

#[test]
fn states_of_ranks_without_a_chunk_are_merged_with_those_of_the_others() {
    let options = r#", "randomize": true, "maxSweeps": 1"#;
    let (_, config) = source("calls-merged-without", &rows(10), options, "");
    let open = || tesson::open(&config).expect("the file is right");
    let expected = rest(&mut open(), 4);
    let mut read = Vec::new();
    let states: Vec<ResumeState> = (0..3)
        .map(|rank| {
            let mut source = open();
            let minibatch =
                source.next(Demand { samples: 12, workers: 3, rank }).expect("no data are no error");
            read.extend(minibatch.map(|minibatch| crate::kit::values(&minibatch)));
            source.state().clone()
        })
        .collect();
    let mut source = open();
    source.restore(&tesson::merge_states(&states).expect("states of all ranks")).expect("its state");
    read.extend(rest(&mut source, 4));
    assert_eq!(read, expected);
}

#[test]
fn a_minibatch_that_is_put_back_comes_again_in_every_order() {
    let truncated = r#""truncated": true, "truncationLength": 3, "#;
    let orders = [
        (r#""randomize": false"#, 1),
        (r#""randomize": true"#, 1),
        (r#""randomize": "global""#, 2),
        (r#""randomize": true, "sharing": "position", "equalSteps": "empty""#, 2),
    ];
    for ((order, workers), truncated) in
        orders.into_iter().flat_map(|order| [(order, ""), (order, truncated)])
    {
        let (_, config) =
            source("calls-back", &rows(23), &format!(", {truncated}{order}, \"maxSweeps\": 2"), "");
        let open = || tesson::open(&config).expect("the file is right");
        let demand = |samples| Demand { samples, workers, rank: 0 };
        let (mut straight, mut source) = (open(), open());
        let mut step = 0;
        while let Some(expected) = straight.next(demand(6)).expect("data") {
            let before = source.state().clone();
            for _ in 0..1 + step % 3 {
                let minibatch = source.next(demand(6)).expect("data").expect("data");
                assert!(source.put_back(minibatch.resume()), "{order}");
                assert_eq!(source.state(), &before, "{order}");
                assert!(!source.put_back(minibatch.resume()), "{order}");
            }
            let again = source.next(demand(6)).expect("data").expect("data");
            assert_eq!(crate::kit::values(&again), crate::kit::values(&expected), "{order}");
            assert_eq!(
                (again.sweep_end(), again.resume()),
                (expected.sweep_end(), expected.resume()),
                "{order}"
            );
            step += 1;
        }
        assert!(step > 3 && source.next(demand(6)).expect("data").is_none());
    }
}

#[test]
fn a_cancelled_source_says_so() {
    let (_, config) = source("calls-cancelled", &rows(10), IN_ORDER, "");
    let mut source = tesson::open(&config).expect("the file is right");
    source.canceller().cancel();
    assert!(matches!(source.next_minibatch(1), Err(Error::Cancelled)));
}

#[test]
fn a_closed_source_says_so_and_its_minibatches_stay() {
    let (_, config) = source("calls-closed", &rows(10), IN_ORDER, "");
    let mut source = tesson::open(&config).expect("the file is right");
    let minibatch = source.next_minibatch(3).expect("data").expect("data");
    let before = crate::kit::values(&minibatch);
    source.close();
    assert!(matches!(source.next_minibatch(1), Err(Error::Cancelled)));
    assert_eq!(crate::kit::values(&minibatch), before);
}

#[test]
fn an_interrupted_call_loses_nothing() {
    let file = folder("calls-interrupted").join("train.ctf");
    std::fs::write(&file, rows(50)).expect("the folder can be written");
    let config = config_of(&file, IN_ORDER, "");
    let expected = rest(&mut tesson::open(&config).expect("the file is right"), 8);
    // Reads wait until the first call has been interrupted.
    let held = Arc::new(AtomicBool::new(false));
    let gate = held.clone();
    let store = FakeStore::new(Arc::new(FileStore), move |_| {
        if gate.load(Ordering::SeqCst) {
            InjectedFault::Error(ErrorKind::WouldBlock)
        } else {
            InjectedFault::None
        }
    });
    let mut source = OpenOptions::in_store(&store).open(&config).expect("the file is right");
    held.store(true, Ordering::SeqCst);
    let first = source.next_interruptible(Demand { samples: 8, workers: 1, rank: 0 }, &mut || true);
    assert!(matches!(first, Err(Error::Cancelled)));
    held.store(false, Ordering::SeqCst);
    assert_eq!(rest(&mut source, 8), expected);
}

#[test]
fn an_interruption_is_told_also_where_nothing_was_left_to_wait_for() {
    let (_, config) = source("calls-told", &rows(50), IN_ORDER, "");
    let mut first = tesson::open(&config).expect("the file is right");
    let expected = rest(&mut tesson::open(&config).expect("the file is right"), 8);
    (0..3).for_each(|_| drop(first.next_minibatch(8).expect("data")));
    let mut other = tesson::open(&config).expect("the file is right");
    other.num_sequences().expect("the file is right");
    // The way to the state needs an index, which is there already.
    let restored = other.restore_interruptible(first.state(), &mut || true);
    assert!(matches!(restored, Err(Error::Cancelled)), "{restored:?}");
    assert_eq!(rest(&mut other, 8), expected, "it is as it was");
    other.restore(first.state()).expect("it is this source's");
    assert_eq!(rest(&mut other, 8), expected[3..]);
}

#[test]
fn a_store_that_fails_for_good_is_an_error_with_its_place() {
    let file = folder("calls-store").join("train.ctf");
    std::fs::write(&file, rows(50)).expect("the folder can be written");
    let config = config_of(&file, r#", "randomizationWindow": 2"#, r#", "chunkSizeInBytes": 100"#);
    let broken = Arc::new(AtomicBool::new(false));
    let switch = broken.clone();
    let store = FakeStore::new(Arc::new(FileStore), move |_| {
        if switch.load(Ordering::SeqCst) {
            InjectedFault::Error(ErrorKind::PermissionDenied)
        } else {
            InjectedFault::None
        }
    });
    let mut source = OpenOptions::in_store(&store).open(&config).expect("the file is right");
    broken.store(true, Ordering::SeqCst);
    let Err(Error::Store(e)) = source.next_minibatch(8) else { panic!("the store fails") };
    assert_eq!((&*e.file, e.source.kind()), (file.as_path(), ErrorKind::PermissionDenied));
    assert!(e.offset.is_some());
}

/// A store of files with a byte that cannot be read.
struct BrokenAt(Arc<dyn Store>, u64);

struct BrokenFile(Box<dyn Resource>, u64);

impl Store for BrokenAt {
    fn open(&self, path: &Path) -> io::Result<Box<dyn Resource>> {
        Ok(Box::new(BrokenFile(self.0.open(path)?, self.1)))
    }

    fn shared(&self) -> Arc<dyn Store> {
        Arc::new(BrokenAt(self.0.clone(), self.1))
    }
}

impl Resource for BrokenFile {
    fn size(&self) -> u64 {
        self.0.size()
    }

    fn modified_ns(&self) -> Option<u128> {
        None
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        if (offset..offset + into.len() as u64).contains(&self.1) {
            Err(ErrorKind::PermissionDenied.into())
        } else {
            self.0.read_at(offset, into)
        }
    }
}

#[test]
fn what_was_planned_before_a_corpus_outgrows_memory_comes_before_the_errors_of_its_index() {
    // Of the rows of one value so many fit a piece of the file that decoding makes more of it than there is memory for.
    let wide = format!("|x {}|y 0:1\n", "1 ".repeat(5000));
    let text = wide.repeat(400) + &"|x 1 |y 0:1\n".repeat(50_000);
    let broken = text.len() as u64 - 100_000;
    let store = BrokenAt(Arc::new(MemoryStore::new().with("train.ctf", text.into_bytes())), broken);
    let delivered = |threads: u32, prefetch: bool, samples: u64| {
        let options = format!(
            r#", "randomize": false, "maxSweeps": 1, "threads": {threads}, "prefetch": {prefetch}, "memoryLimit": "32MiB""#
        );
        let config = config_with("train.ctf".as_ref(), 5000, &options, "");
        let mut source = OpenOptions::in_store(&store).open(&config).expect("that is not read yet");
        for n in 0.. {
            match source.next_minibatch(samples) {
                Ok(minibatch) => assert!(minibatch.is_some(), "the file cannot be read to its end"),
                Err(Error::Store(_)) => return n,
                Err(other) => panic!("{other}"),
            }
        }
        unreachable!("a file has an end")
    };
    for samples in [1, 4] {
        let expected = delivered(1, false, samples);
        assert!(expected >= 200 / samples, "{expected} minibatches");
        // With more threads pieces are smaller, so that an error is met elsewhere.
        for (threads, prefetch) in [(1, true), (2, false), (2, true), (2, true), (2, true), (2, true)] {
            let found = delivered(threads, prefetch, samples);
            assert_eq!(found, expected, "{threads} threads, prefetch {prefetch}");
        }
    }
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let file = folder("calls-missing").join("missing.ctf");
    let Err(Error::Store(e)) = tesson::open(&config_of(&file, "", "")) else { panic!("there is no file") };
    assert_eq!((&*e.file, e.source.kind()), (file.as_path(), ErrorKind::NotFound));
}

#[test]
fn a_folder_is_no_input() {
    let folder = folder("calls-folder");
    let Err(Error::Store(e)) = tesson::open(&config_of(&folder, "", "")) else { panic!("it is a folder") };
    assert!(
        e.to_string().ends_with("is a directory, a file that can be read at any position is expected"),
        "{e}"
    );
    let named = MemoryStore::new().with("train.ctf", rows(1).into_bytes());
    let Err(e) = OpenOptions::in_store(&named).open(&config_of("tarin.ctf".as_ref(), "", "")) else {
        panic!("there is no such name")
    };
    assert!(e.to_string().ends_with("; did you mean `train.ctf`?"), "{e}");
}

#[test]
fn data_may_lie_in_memory() {
    let store = MemoryStore::new().with("train.ctf", rows(20).into_bytes());
    let config = config_of("train.ctf".as_ref(), IN_ORDER, "");
    let mut source = OpenOptions::in_store(&store).open(&config).expect("the text is right");
    assert_eq!(rest(&mut source, 7).concat().len(), rows(20).lines().count());
}

#[test]
fn counters_tell_what_has_been_done() {
    let (_, config) = source("calls-stats", &rows(20), IN_ORDER, "");
    let mut source = tesson::open(&config).expect("the file is right");
    let minibatches = rest(&mut source, 7).len() as u64;
    let stats = source.stats();
    let samples = rows(20).lines().count() as u64;
    assert_eq!((stats.minibatches, stats.sequences, stats.samples), (minibatches, 20, samples));
    assert!(stats.bytes_read >= rows(20).len() as u64);
    assert_eq!(
        (source.num_sequences().expect("right"), source.num_samples_per_sweep().expect("right")),
        (20, samples)
    );
    let demand = Demand { samples: 7, workers: 1, rank: 0 };
    assert_eq!(source.steps_per_sweep(demand).expect("right"), minibatches);
}

#[test]
fn a_minibatch_larger_than_memory_is_refused() {
    for order in [r#""randomize": false"#, r#""randomize": true"#, r#""randomize": "global""#] {
        let options = format!(r#", {order}, "memoryLimit": "1MiB""#);
        let (_, config) = source("calls-too-large", &rows(1000), &options, "");
        let mut source = tesson::open(&config).expect("the file is right");
        let Err(Error::Usage(e)) = source.next_minibatch(1 << 60) else {
            panic!("data that repeat for ever fill any memory")
        };
        assert!(e.to_string().contains("`memoryLimit`"), "{e}");
    }
}

#[test]
fn a_first_sweep_that_does_not_fit_into_one_minibatch_is_refused() {
    let options = r#", "randomize": false, "maxSweeps": 1, "memoryLimit": "1MiB""#;
    let (_, config) =
        source("calls-sweep-too-large", &"|x 1 |y 0:1 1:1.5 2:1.5\n".repeat(200_000), options, "");
    let mut source = tesson::open(&config).expect("the file is right");
    let Err(Error::Usage(e)) = source.next_minibatch(1 << 40) else {
        panic!("4.8 MB of text do not fit into 1 MiB")
    };
    assert!(e.to_string().contains("`memoryLimit`"), "{e}");
}

#[test]
fn a_restore_that_is_called_off_changes_nothing() {
    // So little memory that what is far has not been read when a caller seeks there.
    let options = format!(r#"{IN_ORDER}, "memoryLimit": "1MiB", "threads": 1"#);
    let (_, config) = source("calls-restore-off", &rows(20_000), &options, "");
    let open = || tesson::open(&config).expect("the file is right");
    let next = |source: &mut Source| {
        source.next_minibatch(1000).expect("the file is right").map(|m| crate::kit::values(&m))
    };
    let mut far = open();
    for _ in 0..40 {
        next(&mut far).expect("there are 50,000 samples");
    }
    let state = far.state().clone();
    let mut source = open();
    let first = next(&mut source);
    let before = source.state().clone();
    let e = source.restore_interruptible(&state, &mut || true).expect_err("it takes an index");
    assert!(matches!(e, Error::Cancelled), "{e}");
    assert_eq!(source.state(), &before);
    let mut other = open();
    assert_eq!([next(&mut other), next(&mut other)], [first, next(&mut source)]);
    source.restore(&state).expect("it is a state of this corpus");
    assert_eq!(rest(&mut source, 1000), rest(&mut far, 1000));
}

/// Bytes of a sequence of [`wide`] in a minibatch: 1,000 values; two lengths, one row, one pair and a key.
const WIDE_BYTES: u64 = 1000 * 4 + 2 * 4 + 4 + 8 + 8;

/// `n` sequences of one sample of 1,000 values.
fn wide(n: u32) -> String {
    let row = |id| format!("{id} |x {id}{} |y 0:1\n", " 0.5".repeat(999));
    (0..n).map(row).collect()
}

#[test]
fn how_large_a_minibatch_may_be_depends_on_the_limit_alone() {
    let limit = 1_u64 << 20;
    let largest = limit / WIDE_BYTES;
    let n = 1200;
    let folder = folder("calls-largest");
    let file = folder.join("train.ctf");
    std::fs::write(&file, wide(n)).expect("the folder for temporary files can be written");
    let all = |samples, workers| Demand { samples: samples * workers, workers, rank: 0 };
    for order in [r#""randomize": false"#, r#""randomize": true"#, r#""randomize": "global""#] {
        for (threads, cache) in [(1, false), (2, false), (8, false), (2, true), (2, true)] {
            let options =
                format!(r#", {order}, "memoryLimit": {limit}, "threads": {threads}, "maxSweeps": 1"#);
            let ctf = format!(r#", "cacheIndex": {cache}"#);
            let config = config_with(&file, 1000, &options, &ctf);
            let open = || tesson::open(&config).expect("the file is right");
            let keys = |source: &mut Source, demand| {
                let minibatch = source.next(demand).expect("it is within the limit").expect("data");
                (0..minibatch.n_sequences()).map(|i| minibatch.keys().get(i).to_string()).collect::<Vec<_>>()
            };
            let place = format!("{order}, {threads} threads, index kept: {cache}");
            assert_eq!(keys(&mut open(), all(largest, 1)).len() as u64, largest, "{place}");
            // Those of the other ranks count for nothing.
            assert_eq!(keys(&mut open(), all(largest, 4)).len() as u64, largest, "{place}");
            let mut source = open();
            let first = keys(&mut source, all(100, 1));
            for demand in [all(largest + 1, 1), all(u64::from(n), 1)] {
                let e = source.next(demand).expect_err("it is beyond the limit");
                assert!(
                    matches!(e, Error::Usage(_)) && e.to_string().contains("`memoryLimit`"),
                    "{place}: {e}"
                );
            }
            // It can be had in smaller ones, from where it would have begun.
            let second = keys(&mut source, all(100, 1));
            let mut other = open();
            assert_eq!(
                [keys(&mut other, all(100, 1)), keys(&mut other, all(100, 1))],
                [first, second],
                "{place}"
            );
        }
    }
}

#[test]
fn long_rows_are_read_under_any_limit_that_has_room_for_them() {
    let n = 99_995;
    let row = |i: usize| {
        format!("|x {} |y 0:1\n", (0..n).map(|j| ((i + j) % 10).to_string()).collect::<Vec<_>>().join(" "))
    };
    let text: String = (0..3).map(row).collect();
    let folder = folder("calls-long-rows");
    let file = folder.join("train.ctf");
    std::fs::write(&file, text).expect("the folder for temporary files can be written");
    for order in [r#""randomize": false"#, r#""randomize": true"#] {
        for limit in (500_000..3_000_000).step_by(100_000) {
            let options = format!(r#", {order}, "maxSweeps": 1, "threads": 1, "memoryLimit": {limit}"#);
            let mut source = tesson::open(&config_with(&file, n, &options, "")).expect("the file is right");
            let read = || source.next_minibatch(1).map(|minibatch| minibatch.is_some());
            let read: Result<Vec<bool>, Error> = std::iter::repeat_with(read).take(4).collect();
            assert_eq!(read.expect("a row takes 200 kB"), [true, true, true, false], "{order}, {limit}");
        }
    }
}

#[test]
fn a_row_beyond_the_limit_is_refused_with_what_is_needed_for_it() {
    let folder = folder("calls-too-long");
    let file = folder.join("train.ctf");
    let row = |n: usize| format!("|x {} |y 0:1\n", "5 ".repeat(n));
    std::fs::write(&file, row(1) + &row(500_000)).expect("the folder for temporary files can be written");
    for order in [r#""randomize": false"#, r#""randomize": true"#] {
        let mut failed = false;
        for limit in (1..30_u64).rev().map(|n| 400_000 * n) {
            let options = format!(r#", {order}, "maxSweeps": 1, "threads": 1, "memoryLimit": {limit}"#);
            let read = tesson::open(&config_with(&file, 500_000, &options, "")).and_then(|mut source| {
                while source.next_minibatch(1)?.is_some() {}
                Ok(())
            });
            // What is too little stays so with less.
            assert!(!failed || read.is_err(), "{order}, {limit}");
            if let Err(e) = read {
                assert!(e.to_string().contains("`memoryLimit`"), "{order}, {limit}: {e}");
                failed = true;
            }
        }
        assert!(failed, "{order}");
    }
}

#[test]
fn a_limit_of_no_samples_is_refused_at_the_first_read_and_not_by_restoring() {
    let (_, config) = source("calls-no-samples", &rows(20), r#", "maxSamples": 0"#, "");
    let mut source = tesson::open(&config).expect("the file is right");
    let state = source.state().clone();
    source.restore(&state).expect("that is not read yet");
    let e = source.next_minibatch(1).expect_err("nothing can be read").to_string();
    assert_eq!(e, "the data are limited to 0 samples, at least 1 is expected");
}
