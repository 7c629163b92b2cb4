//! What must hold for every source: how reads are cut, how many threads work, how far they read ahead, how little
//! memory there is and in which process it goes on changes nothing; shares add up; sweeps hold each sequence once.

#![forbid(unsafe_code)]
// What tests share is not known as a test to clippy.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, LazyLock};

use proptest::prelude::*;
use tesson::convert::{
    self, ConvertError, Corpus, Form, Sequence, SequenceData, Sequences, StreamSpec, Written,
};
use tesson::files::Existing;
use tesson::store::Store;
use tesson::{Demand, Element, Key, ResumeState, Source};
use tesson_conformance::corpus::{
    self, BINARY, BINARY_JOINED, BINARY_TRUNCATED, Delivered, FAULTY_ROWS, FAULTY_ROWS_JOINED, JOINED, LOCAL,
    PREPARED, PREPARED_JOINED, PREPARED_TRUNCATED, SEVERAL, TRUNCATED, config, dawdling, rest,
};

/// The orders, as options of a source; and joins and formats, which are options here too.
static ORDERS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let orders = [
        r#""randomize": false"#,
        r#""randomizationWindow": 4, "randomizationSeed": 3"#,
        r#""randomizationWindow": 128"#,
        r#""randomizationWindow": 150, "sampleBasedRandomizationWindow": true, "randomizationSeed": 9"#,
        r#""randomize": "global", "randomizationSeed": 5"#,
        r#""randomizationWindow": 4, "minibatchSizeInSequences": 5"#,
        r#""randomizationWindow": 4, "randomizationSeed": 3, "bucketing": 20"#,
    ];
    let in_order_shuffled_and_global = || [0, 1, 4].map(|i| orders[i]).into_iter();
    let joined = in_order_shuffled_and_global().map(|order| format!("{JOINED}, {order}"));
    let binary = in_order_shuffled_and_global().map(|order| format!("{BINARY}, {order}"));
    orders.iter().map(|order| order.to_string()).chain(joined).chain(binary).collect()
});

/// Three of the orders, of a prepared dataset.
static PREPARED_ORDERS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let orders = [
        r#""randomize": false"#,
        r#""randomizationWindow": 4, "randomizationSeed": 3"#,
        r#""randomize": "global", "randomizationSeed": 5"#,
    ];
    orders.iter().map(|order| format!("{PREPARED}, {order}")).collect()
});

/// All that a source can be asked for, as options: the orders, and what does not hold whole sequences of a timeline of all
/// ranks.
static WAYS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let truncated = [
        r#""randomize": false"#,
        r#""randomizationWindow": 4, "randomizationSeed": 3"#,
        r#""randomize": "global", "rightSplice": 2"#,
        r#""randomizationWindow": 4, "sharing": "position", "transforms": {"x": [7, 8], "x2": [7]}"#,
        r#""randomize": false, "maxSamples": 2000, "maxSamplesEnd": "inside", "transforms": {"x": [1]}"#,
        r#""randomizationWindow": 4, "rightSplice": 1, "maxSamples": 2003, "maxSamplesEnd": "inside""#,
        r#""randomizationWindow": 4, "randomizationSeed": 3, "equalSteps": "drop", "transforms": {"x": [7]}"#,
        r#""randomizationWindow": 4, "equalSteps": "repeat", "rightSplice": 1, "transforms": {"x": [7]}"#,
        r#""randomize": false, "equalSteps": "repeat", "maxSamples": 2003, "maxSamplesEnd": "inside""#,
        r#""randomize": "global", "equalSteps": "empty", "sharing": "chunk""#,
        r#""randomizationWindow": 4, "equalSteps": "drop", "sharing": "position""#,
    ];
    let local = [
        r#""randomize": false"#,
        r#""randomizationWindow": 3, "randomizationSeed": 3"#,
        r#""randomizationWindow": 90, "sampleBasedRandomizationWindow": true"#,
        r#""randomizationWindow": 3, "truncationLength": 4"#,
        r#""randomizationWindow": 3, "truncationLength": 4, "maxSamples": 1999, "maxSamplesEnd": "inside",
            "transforms": {"x": [5]}"#,
        r#""randomize": false, "sharing": "position""#,
    ];
    let binary = [
        format!(r#"{BINARY_TRUNCATED}, "randomizationWindow": 4"#),
        format!(r#"{BINARY_JOINED}, "randomize": false"#),
        format!(r#"{BINARY_JOINED}, "randomizationWindow": 4"#),
        format!(r#"{PREPARED_TRUNCATED}, "randomizationWindow": 4"#),
        format!(r#"{PREPARED_JOINED}, "randomize": false"#),
        format!(r#"{PREPARED_JOINED}, "randomizationWindow": 4"#),
    ];
    let several = ORDERS[..5].iter().map(|order| format!("{SEVERAL}, {order}"));
    let equal = [
        r#""randomizationWindow": 4, "randomizationSeed": 3, "equalSteps": "drop""#,
        r#""randomizationWindow": 4, "randomizationSeed": 3, "equalSteps": "repeat""#,
        r#""randomizationWindow": 4, "randomizationSeed": 3, "equalSteps": "empty""#,
        r#""randomize": false, "equalSteps": "repeat""#,
        r#""randomize": "global", "equalSteps": "drop", "minibatchSizeInSequences": 7"#,
    ];
    let faulty = [FAULTY_ROWS, FAULTY_ROWS_JOINED]
        .into_iter()
        .flat_map(|rows| [0, 1, 2, 4].map(|i| format!("{rows}, {}", ORDERS[i])));
    let whole = [
        r#""randomizationWindow": 4, "maxSamples": 2001, "maxSamplesEnd": "inside", "transforms": {"x": [1]}"#,
    ];
    let truncated = truncated.iter().map(|order| format!("{TRUNCATED}, {order}"));
    let local = local.iter().map(|order| format!("{LOCAL}, {order}"));
    let equal = equal.iter().map(|order| order.to_string());
    let prepared = PREPARED_ORDERS.iter().cloned();
    let whole = whole.iter().map(|order| order.to_string());
    let others = several
        .chain(faulty)
        .chain(whole)
        .chain(truncated)
        .chain(local)
        .chain(equal)
        .chain(binary)
        .chain(prepared);
    ORDERS.iter().cloned().chain(others).collect()
});

/// Less than the decoded corpus takes, so that blocks are given up and come back.
const LITTLE_MEMORY: &str = r#""memoryLimit": 40000"#;

fn corpus_store() -> Arc<dyn Store> {
    corpus::store(&corpus::text(&corpus::lengths()))
}

fn open(options: &str, store: &dyn Store) -> Source {
    Source::open_in(&config(options), store).expect("the data are right")
}

/// An order until the data end: after so many sweeps, unless it says something else.
fn ending(order: &str, sweeps: u32) -> String {
    match order.contains("maxSamples") {
        true => order.into(),
        false => format!(r#"{order}, "maxSweeps": {sweeps}"#),
    }
}

/// All minibatches until the data end, read plainly: one thread, nothing ahead, all in memory.
fn plainly(order: &str, samples: u64, workers: u64, rank: u64) -> Vec<Delivered> {
    let options = format!(r#"{}, "threads": 1, "prefetch": false"#, ending(order, 2));
    rest(&mut open(&options, &*corpus_store()), samples, workers, rank)
}

fn busy(order: &str, more: &str) -> String {
    format!("{}, {LITTLE_MEMORY}, {more}", ending(order, 2))
}

#[test]
fn the_corpus_has_chunks_enough() {
    let mut source = open(r#""randomize": false"#, &*corpus_store());
    let n_chunks = source.indexed().unwrap().index.n_chunks();
    assert!(n_chunks >= 20, "{n_chunks} chunks");
}

#[test]
fn a_source_with_little_memory_gives_up_blocks() {
    for order in ORDERS.iter() {
        let mut source = open(&busy(order, r#""threads": 2"#), &*corpus_store());
        rest(&mut source, 20, 1, 0);
        let stats = source.stats();
        assert!(stats.blocks_evicted + stats.rows_loaded > 0, "{order}: {stats:?}");
    }
}

#[test]
fn rows_with_faults_are_left_out_of_all_streams() {
    for order in WAYS.iter().filter(|way| way.contains("rows.ctf")) {
        let delivered = plainly(order, 20, 1, 0);
        let lengths = delivered.iter().map(|m| (&m.streams[0].lengths, &m.streams[1].lengths));
        let mut n = 0;
        for (x, y) in lengths {
            // A second good sample in a row is a fault that keeps both.
            assert!(x.len() == y.len() && !x.contains(&0) && !y.contains(&0), "{order}");
            n += x.len();
        }
        assert!((500..2000).contains(&n), "{order}: {n} sequences in two sweeps");
    }
}

#[test]
fn threads_and_prefetching_change_nothing() {
    for order in WAYS.iter() {
        let expected = plainly(order, 20, 1, 0);
        for threads in [1, 2, 8] {
            for prefetch in [false, true] {
                let options = busy(order, &format!(r#""threads": {threads}, "prefetch": {prefetch}"#));
                let found = rest(&mut open(&options, &dawdling(corpus_store(), threads)), 20, 1, 0);
                assert!(found == expected, "{options}");
            }
        }
    }
}

/// A corpus that is written minibatch by minibatch.
struct ByMinibatch(Corpus);

impl Sequence for ByMinibatch {
    fn key(&self) -> Key {
        self.0.key()
    }

    fn stream(&self, stream: usize) -> SequenceData<'_> {
        self.0.stream(stream)
    }
}

impl Sequences for ByMinibatch {
    fn streams(&self) -> Vec<StreamSpec> {
        self.0.streams()
    }

    fn advance(&mut self) -> Result<bool, ConvertError> {
        self.0.advance()
    }

    fn bytes_read(&self) -> u64 {
        self.0.bytes_read()
    }
}

/// What is written of sequences in chunks of so many bytes.
fn written(input: &mut dyn Sequences, chunk_bytes: u64) -> (Written, Vec<u8>) {
    let file = folder("written").join("out.cbf");
    let written = convert::write(input, &file, Existing::Replace, Form::Binary { chunk_bytes }, &mut |_| ());
    (written.expect("the data are right"), fs::read(file).unwrap())
}

#[test]
fn one_pass_writes_what_minibatches_hold() {
    let corpus = |source: Source, element: Element| source.into_sequences(move |_| element);
    let mut passes = 0;
    for way in WAYS.iter().map(|way| ending(way, 1)) {
        let plain = || open(&format!(r#"{way}, "threads": 1"#), &*corpus_store());
        if !plain().is_one_pass() {
            continue;
        }
        passes += 1;
        for (chunk_bytes, element) in [(1, Element::F32), (3000, Element::F64), (1 << 20, Element::F32)] {
            let expected = written(&mut ByMinibatch(corpus(plain(), element)), chunk_bytes);
            for threads in [1, 2, 8] {
                let options = format!(r#"{way}, {LITTLE_MEMORY}, "threads": {threads}"#);
                let source = open(&options, &dawdling(corpus_store(), threads));
                let found = written(&mut corpus(source, element), chunk_bytes);
                assert!(found == expected, "{options}, chunks of {chunk_bytes} bytes");
            }
        }
    }
    assert_eq!(passes, 4, "text with and without faults, binary, and several files, in order");
}

#[test]
fn how_reads_are_cut_changes_nothing() {
    for order in WAYS.iter() {
        let expected = plainly(order, 33, 1, 0);
        for seed in 0..5 {
            let found =
                rest(&mut open(&busy(order, r#""threads": 2"#), &dawdling(corpus_store(), seed)), 33, 1, 0);
            assert!(found == expected, "{order}, reads by schedule {seed}");
        }
    }
}

/// Reads on, and lets a fresh source read on from the state after each minibatch.
fn check_resumes(order: &str, samples: u64, workers: u64, rank: u64) {
    let expected = plainly(order, samples, workers, rank);
    let options = busy(order, r#""threads": 2"#);
    let mut source = open(&options, &*corpus_store());
    let demand = Demand { samples, workers, rank };
    for behind in 1..=expected.len() {
        let minibatch = source.next(demand).unwrap().expect("as many as were read plainly");
        let state = source.state();
        assert_eq!(minibatch.resume(), state);
        let by_bytes = ResumeState::from_bytes(&state.to_bytes()).unwrap();
        let by_json = ResumeState::from_json(&state.to_json()).unwrap();
        assert_eq!(by_bytes, by_json);
        let mut fresh = open(&options, &dawdling(corpus_store(), behind as u64));
        fresh.restore(&by_bytes).unwrap();
        let found = rest(&mut fresh, samples, workers, rank);
        assert!(found == expected[behind..], "{order}, rank {rank} of {workers}, behind minibatch {behind}");
    }
}

#[test]
fn a_fresh_source_goes_on_behind_every_minibatch() {
    for order in WAYS.iter() {
        check_resumes(order, 40, 1, 0);
    }
}

#[test]
fn a_rank_goes_on_behind_every_minibatch_of_its_share() {
    for order in WAYS.iter() {
        check_resumes(order, 80, 3, 1);
    }
}

#[test]
fn a_source_goes_back_to_any_of_its_states() {
    for order in WAYS.iter() {
        let expected = plainly(order, 40, 1, 0);
        let mut source = open(&busy(order, r#""threads": 2"#), &*corpus_store());
        let mut states = vec![source.state().clone()];
        while source.next_minibatch(40).unwrap().is_some() {
            states.push(source.state().clone());
        }
        for behind in (0..expected.len()).rev().step_by(5) {
            source.restore(&states[behind]).unwrap();
            let next = source.next_minibatch(40).unwrap().expect("it is not the last");
            assert!(Delivered::of(&next) == expected[behind], "{order}, back to {behind}");
        }
    }
}

/// A folder of its own with the corpus in it.
fn folder(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    std::fs::create_dir_all(&folder).unwrap();
    for (name, bytes) in corpus::files(&corpus::text(&corpus::lengths())) {
        std::fs::write(folder.join(name), bytes).unwrap();
    }
    folder
}

/// What the program prints of all that is left behind a state.
fn in_another_process(folder: &Path, config: &str, state: Option<&ResumeState>, samples: u64) -> Vec<String> {
    let (config_file, state_file) = (folder.join("config.json"), folder.join("state.json"));
    std::fs::write(&config_file, config).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_tesson-under-test"));
    command.arg("read").arg(config_file).args(["--json", "--minibatch-size", &samples.to_string()]);
    command.arg("--base-dir").arg(folder);
    if let Some(state) = state {
        std::fs::write(&state_file, state.to_json().to_string()).unwrap();
        command.arg("--state").arg(state_file);
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_string).collect()
}

#[test]
fn a_fresh_process_goes_on_behind_every_tenth_minibatch() {
    let folder = folder("fresh-process");
    // The program knows no transforms of others.
    let cut = |order: &&String| order.contains("maxSamplesEnd") && !order.contains("transforms");
    let orders: Vec<&String> = ORDERS.iter().chain(WAYS.iter().filter(cut)).collect();
    assert!(orders.len() > ORDERS.len());
    for order in orders {
        let options = busy(order, r#""threads": 2"#);
        let text = corpus::config_text(&options);
        let expected = in_another_process(&folder, &text, None, 30);
        let mut config = config(&options);
        config.resolve_paths(&folder, &tesson::registry()).unwrap();
        let mut source = Source::open(&config).unwrap();
        let mut behind = 0;
        while source.next_minibatch(30).unwrap().is_some() {
            behind += 1;
            if behind % 10 == 0 {
                let found = in_another_process(&folder, &text, Some(source.state()), 30);
                assert!(found == expected[behind..], "{order}, behind minibatch {behind}");
            }
        }
        assert!(behind >= 20);
    }
}

fn keys(all: &[Delivered]) -> Vec<String> {
    all.iter().flat_map(|m| m.keys.iter().cloned()).collect()
}

fn sorted(mut keys: Vec<String>) -> Vec<String> {
    keys.sort();
    keys
}

/// The keys of a corpus of `n` sequences, each `times` times.
fn all_keys(order: &str, n: usize, times: usize) -> Vec<String> {
    // The binary format numbers its sequences.
    let step = if order.contains(BINARY) { 1 } else { 3 };
    sorted((0..n * times).map(|i| (i / times * step).to_string()).collect())
}

#[test]
fn the_shares_of_all_ranks_are_the_whole() {
    for order in ORDERS.iter().chain(&*PREPARED_ORDERS) {
        let whole = all_keys(order, corpus::lengths().len(), 2);
        for sharing in ["chunk", "position"] {
            let order = format!(r#"{order}, "sharing": "{sharing}""#);
            for workers in [1, 2, 5] {
                let shares = (0..workers).flat_map(|rank| keys(&plainly(&order, 60, workers, rank)));
                assert_eq!(sorted(shares.collect()), whole, "{order}, {workers} workers");
            }
        }
    }
}

#[test]
fn equal_steps_are_as_many_for_every_rank() {
    // Of each way how many orders it makes a difference in.
    let (mut dropped, mut repeated, mut empty) = (0, 0, 0);
    for order in ORDERS.iter() {
        for (mode, sharing) in
            [("drop", "chunk"), ("repeat", "chunk"), ("empty", "chunk"), ("repeat", "position")]
        {
            let order = format!(r#"{order}, "equalSteps": "{mode}", "sharing": "{sharing}""#);
            let shares: Vec<_> = (0..5).map(|rank| plainly(&order, 60, 5, rank)).collect();
            let ends = |share: &[Delivered]| share.iter().map(|m| m.sweep_end).collect::<Vec<_>>();
            assert!(shares.iter().all(|share| ends(share) == ends(&shares[0])), "{order}");
            let is_empty = shares.iter().flatten().any(|m| m.keys.is_empty());
            assert!(!is_empty || mode == "empty", "{order}");
            let found = sorted(shares.iter().flat_map(|share| keys(share)).collect());
            let all = all_keys(&order, corpus::lengths().len(), 2);
            match mode {
                "empty" => assert_eq!(found, all, "{order}"),
                "drop" => assert!(found.len() <= all.len(), "{order}"),
                _ => assert!(found.len() >= all.len(), "{order}"),
            }
            dropped += usize::from(found.len() < all.len());
            repeated += usize::from(found.len() > all.len());
            empty += usize::from(is_empty);
        }
    }
    let n = ORDERS.len();
    assert!(dropped > n / 2 && repeated > n / 2 && empty > n / 2, "{dropped}, {repeated}, {empty} of {n}");
}

/// The keys of all pieces, each as often as it has samples.
fn keys_of_samples(all: &[Delivered]) -> Vec<String> {
    let of_minibatch = |m: &Delivered| {
        let pieces = m.keys.iter().zip(m.streams[0].lengths.clone());
        pieces.flat_map(|(key, n)| std::iter::repeat_n(key.clone(), n as usize)).collect::<Vec<_>>()
    };
    all.iter().flat_map(of_minibatch).collect()
}

#[test]
fn equal_steps_of_rows_are_as_many_for_every_rank() {
    // Of each way how many orders it makes a difference in.
    let (mut dropped, mut repeated, mut empty) = (0, 0, 0);
    let orders = [
        r#""randomize": false"#,
        r#""randomizationWindow": 4, "randomizationSeed": 3"#,
        r#""randomize": "global", "randomizationSeed": 5"#,
    ];
    for order in orders.map(|order| format!("{TRUNCATED}, {order}")) {
        let all = sorted(keys_of_samples(&plainly(&order, 60, 1, 0)));
        for (mode, sharing) in [
            ("drop", "chunk"),
            ("repeat", "chunk"),
            ("empty", "chunk"),
            ("drop", "position"),
            ("empty", "position"),
        ] {
            let order = format!(r#"{order}, "equalSteps": "{mode}", "sharing": "{sharing}""#);
            let shares: Vec<_> = (0..5).map(|rank| plainly(&order, 60, 5, rank)).collect();
            assert!(shares.iter().all(|share| share.len() == shares[0].len()), "{order}");
            let is_empty = shares.iter().flatten().any(|m| m.keys.is_empty());
            assert!(!is_empty || mode == "empty", "{order}");
            let found = sorted(shares.iter().flat_map(|share| keys_of_samples(share)).collect());
            match mode {
                "empty" => assert_eq!(found, all, "{order}"),
                "drop" => assert!(found.len() <= all.len(), "{order}"),
                _ => assert!(found.len() >= all.len(), "{order}"),
            }
            if sharing == "chunk" {
                // Every rank is told the ends of sweeps with the same step, and nothing of one comes in the next.
                let ends = |share: &[Delivered]| share.iter().map(|m| m.sweep_end).collect::<Vec<_>>();
                assert!(shares.iter().all(|share| ends(share) == ends(&shares[0])), "{order}");
                assert_eq!(ends(&shares[0]).iter().filter(|end| **end).count(), 2, "{order}");
            }
            dropped += usize::from(found.len() < all.len());
            repeated += usize::from(found.len() > all.len());
            empty += usize::from(is_empty);
        }
    }
    let n = orders.len();
    assert!(dropped >= n && repeated >= n - 1 && empty >= n, "{dropped}, {repeated}, {empty} of {n}");
}

#[test]
fn shares_by_position_make_up_the_minibatches_of_one_worker() {
    for order in ORDERS.iter() {
        let order = format!(r#"{order}, "sharing": "position""#);
        let whole = plainly(&order, 60, 1, 0);
        let shares: Vec<_> = (0..3).map(|rank| plainly(&order, 60, 3, rank)).collect();
        for (i, minibatch) in whole.iter().enumerate() {
            for (place, key) in minibatch.keys.iter().enumerate() {
                assert_eq!(
                    &shares[place % 3][i].keys[place / 3],
                    key,
                    "{order}, minibatch {i}, place {place}"
                );
            }
        }
        assert!(
            shares.iter().all(|share| share.len() == whole.len()),
            "{order}: as many steps on every rank"
        );
    }
}

/// What a row of a truncated minibatch holds: of each piece the key, the steps between which its sequence lies, and the bits
/// of its samples in each stream.
type Row = Vec<(String, i64, i64, Vec<Vec<u64>>)>;

/// The rows of a minibatch of dense streams.
fn rows_of(minibatch: &Delivered) -> Vec<Row> {
    let layout = minibatch.layout.as_ref().expect("it is truncated");
    let mut rows = vec![Row::new(); layout.rows as usize];
    let mut first = 0;
    for (i, place) in layout.places.iter().enumerate() {
        let samples = minibatch.streams.iter().map(|stream| {
            let n: u32 = stream.lengths.iter().sum();
            let dim = stream.bits.len() / n.max(1) as usize;
            stream.bits[first * dim..(first + stream.lengths[i] as usize) * dim].to_vec()
        });
        let piece = (minibatch.keys[i].clone(), place.begin, place.end, samples.collect());
        rows[place.row as usize].push(piece);
        first += minibatch.streams[0].lengths[i] as usize;
    }
    rows
}

#[test]
fn by_position_the_rows_of_all_ranks_are_those_of_one() {
    let mut transformed = 0;
    let truncated = |order: &&String| order.contains("truncationLength") && !order.contains("equalSteps");
    for order in WAYS.iter().filter(truncated) {
        let sharing = if order.contains("sharing") { "" } else { r#", "sharing": "position""# };
        let order = format!("{order}{sharing}");
        let whole = plainly(&order, 40, 1, 0);
        let ranks: Vec<_> = (0..3).map(|rank| plainly(&order, 40, 3, rank)).collect();
        assert!(ranks.iter().all(|rank| rank.len() == whole.len()), "{order}: as many steps on every rank");
        for (i, minibatch) in whole.iter().enumerate() {
            let ranks: Vec<_> = ranks.iter().map(|rank| rows_of(&rank[i])).collect();
            for (row, expected) in rows_of(minibatch).iter().enumerate() {
                assert_eq!(&ranks[row % 3][row / 3], expected, "{order}, minibatch {i}, row {row}");
            }
        }
        transformed += usize::from(order.contains("transforms"));
    }
    assert!(transformed > 1, "with transforms too");
}

#[test]
fn every_sweep_holds_every_sequence_once() {
    let n = corpus::lengths().len();
    for order in ORDERS.iter() {
        let all = keys(&plainly(order, 7, 1, 0));
        assert_eq!(all.len(), 2 * n);
        for sweep in all.chunks(n) {
            assert_eq!(sorted(sweep.to_vec()), all_keys(order, n, 1), "{order}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_corpus_is_delivered_whole_whatever_the_order_the_shares_and_the_memory(
        lengths in prop::collection::vec(1u32..12, 1..120),
        order in 0..ORDERS.len(),
        samples in 1u64..70,
        workers in 1u64..4,
        threads in 1u64..4,
        seed: u64,
    ) {
        let order = &ORDERS[order];
        let store = corpus::store(&corpus::text(&lengths));
        let options = busy(order, &format!(r#""threads": {threads}"#));
        let mut all = Vec::new();
        for rank in 0..workers {
            let mut source = open(&options, &dawdling(store.clone(), seed));
            let share = rest(&mut source, samples, workers, rank);
            let by_position = order.contains("global") || order.contains("bucketing");
            let most = if by_position { samples } else { samples / workers + u64::from(rank < samples % workers) };
            for minibatch in &share {
                let counted: u32 = minibatch.streams[0].lengths.iter().sum();
                prop_assert!(minibatch.keys.len() <= 1 || u64::from(counted) <= most, "{counted} of {most}");
            }
            all.extend(keys(&share));
        }
        prop_assert_eq!(sorted(all), all_keys(order, lengths.len(), 2));
    }

    #[test]
    fn any_corpus_is_gone_on_with_exactly(
        lengths in prop::collection::vec(1u32..12, 1..60),
        order in 0..ORDERS.len(),
        first in 1u64..70,
        then in 1u64..70,
        behind in 0usize..20,
    ) {
        let store = corpus::store(&corpus::text(&lengths));
        let options = busy(&ORDERS[order], r#""threads": 2"#);
        let mut source = open(&options, &*store);
        for _ in 0..behind {
            source.next_minibatch(first).unwrap();
        }
        let state = ResumeState::from_bytes(&source.state().to_bytes()).unwrap();
        // The size of minibatches may change at any time, and changes nothing else.
        let here = rest(&mut source, then, 1, 0);
        let mut fresh = open(&options, &*store);
        fresh.restore(&state).unwrap();
        prop_assert_eq!(rest(&mut fresh, then, 1, 0), here);
    }
}
